"""Experiments whose laws are known in closed form, for the tests of claims and procedures.

Their design numbers start at 4_000_000_101, far from those of the catalogue.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trials.checks import InvalidParameter, integer_between, real_between
from trials.parameters import Integer, Parameters, Real
from trials.run.cell import Params
from trials.run.engine import ensure
from trials.run.executors import make_executor
from trials.run.experiment import Experiment, register
from trials.run.store import RunStore
from verify.evidence import Evidence


def _coin(params: Params, rng: np.random.Generator, n_trials: int) -> Any:
    values = (rng.random((n_trials, 1)) < params["p"]).astype(np.float64)
    values[rng.random(n_trials) < params["lost"]] = np.nan  # such a trial is recorded as failed
    return values


#: One column, ``bad``: 1 with probability exactly ``p``.  A share ``lost`` of the trials diverges.
COIN = register(
    Experiment(
        name="test.coin",
        design=4_000_000_101,
        columns=("bad",),
        simulate=_coin,
        parameters=Parameters(
            {
                "p": Real(0.0, 1.0, default=0.1),
                "lost": Real(0.0, 1.0, default=0.0),
                "tag": Integer(0, default=0),
            }
        ),
        block_size=128,
    )
)


def _power(params: Params, rng: np.random.Generator, n_trials: int) -> Any:
    size = np.sqrt(params["d"]) / params["m"] ** params["b"]
    values = size * np.abs(1.0 + 0.1 * rng.standard_normal((n_trials, 1)))
    values[rng.random(n_trials) < params["lost"]] = np.inf
    return values


#: One column, ``error``: ``d^(1/2) m^(-b)`` times a factor near one.
POWER = register(
    Experiment(
        name="test.power",
        design=4_000_000_102,
        columns=("error",),
        simulate=_power,
        parameters=Parameters(
            {
                **{name: Real(0.0, open_low=True, default=1.0) for name in ("m", "d", "c1")},
                "b": Real(0.0, default=0.5),
                "lost": Real(0.0, 1.0, default=0.0),
            }
        ),
        block_size=128,
    )
)

N_STEPS = 12


def _decay(params: Params, rng: np.random.Generator, n_trials: int) -> Any:
    errors = np.empty((n_trials, N_STEPS + 1))
    errors[:, 0] = 1.0
    for t in range(N_STEPS):
        jitter = 1.0 + 0.02 * rng.standard_normal(n_trials)
        noise = params["floor"] * np.abs(rng.standard_normal(n_trials))
        errors[:, t + 1] = params["factor"] * np.abs(jitter) * errors[:, t] + noise
    return errors


#: Errors that contract by ``factor`` a step down to a floor.  The start is column ``err_0``.
DECAY = register(
    Experiment(
        name="test.decay",
        design=4_000_000_103,
        columns=tuple(f"err_{t}" for t in range(N_STEPS + 1)),
        simulate=_decay,
        parameters=Parameters(
            {"factor": Real(0.0, 1.0, default=0.5), "floor": Real(0.0, default=1e-4)}
        ),
        block_size=128,
    )
)


LAWS = {
    "uniform": lambda rng, size: rng.random(size),
    "coin": lambda rng, size: (rng.random(size) < 0.5).astype(np.float64),
    "rare": lambda rng, size: 50.0 * (rng.random(size) < 0.01),
    "exponential": lambda rng, size: 0.5 * rng.standard_exponential(size),
    "pareto": lambda rng, size: 0.25 * (1.0 + rng.pareto(2.0, size)),
}


def _check_value(params: Params) -> dict[str, Any]:
    law = str(params.get("law", "uniform"))
    if law not in LAWS:
        raise InvalidParameter(f"law={law!r} must be one of {', '.join(LAWS)}")
    return {
        "law": law,
        "scale": real_between("scale", params.get("scale", 1.0), 0.0),
        "lost": real_between("lost", params.get("lost", 0.0), 0.0, 1.0),
        "tag": integer_between("tag", params.get("tag", 0), 0),
    }


def _value(params: Params, rng: np.random.Generator, n_trials: int) -> Any:
    values = params["scale"] * LAWS[params["law"]](rng, (n_trials, 1))
    values[rng.random(n_trials) < params["lost"]] = np.nan
    return values


#: One column, ``value``, with mean ``scale / 2`` for any law.
VALUE = register(
    Experiment(
        name="test.value",
        design=4_000_000_104,
        columns=("value",),
        simulate=_value,
        check=_check_value,
        block_size=128,
    )
)


def _check_dose(params: Params) -> dict[str, Any]:
    return {
        "n": integer_between("n", params.get("n", 100), 1),
        "need": real_between("need", params.get("need", 100.0), 0.0, open_low=True),
        "slope": real_between("slope", params.get("slope", 4.0), 0.0),
        "law": str(params.get("law", "logit")),
        "lost": real_between("lost", params.get("lost", 0.0), 0.0, 1.0),
        "tag": integer_between("tag", params.get("tag", 0), 0),
    }


def dose_probability(params: Params) -> float:
    """The success probability of `DOSE`: it crosses one half at ``n = need``, for any law."""
    z = params["slope"] * np.log(params["n"] / params["need"])
    if params["law"] == "step":
        return float(params["n"] >= params["need"])
    if params["law"] == "low step":
        return 0.55 if params["n"] >= params["need"] else 0.3
    if params["law"] == "cloglog":
        return float(-np.expm1(-np.log(2.0) * np.exp(z)))
    return float(1.0 / (1.0 + np.exp(-z)))


def _dose(params: Params, rng: np.random.Generator, n_trials: int) -> Any:
    values = (rng.random((n_trials, 1)) < dose_probability(params)).astype(np.float64)
    values[rng.random(n_trials) < params["lost"]] = np.nan
    return values


#: One column, ``success``, whose probability grows with ``n`` and is one half at ``need``.
DOSE = register(
    Experiment(
        name="test.dose",
        design=4_000_000_105,
        columns=("success",),
        simulate=_dose,
        check=_check_dose,
        block_size=16,
    )
)


def _check_methods(params: Params) -> dict[str, Any]:
    return {
        "gain": real_between("gain", params.get("gain", 0.8), 0.0, open_low=True),
        "size": real_between("size", params.get("size", 1.0), 0.0, open_low=True),
        "lost": real_between("lost", params.get("lost", 0.0), 0.0, 1.0),
        "tag": integer_between("tag", params.get("tag", 0), 0),
    }


def _methods(params: Params, rng: np.random.Generator, n_trials: int) -> Any:
    shared = params["size"] * rng.gamma(4.0, 0.25, n_trials)
    a = shared * rng.gamma(16.0, 1 / 16, n_trials) * params["gain"]
    b = shared * rng.gamma(16.0, 1 / 16, n_trials)
    values = np.column_stack([a, b, shared])
    values[rng.random(n_trials) < params["lost"], 0] = np.nan
    return values


#: Errors of two methods on shared data: mean ``gain * size`` for ``a``, ``size`` for ``b``, ``c``.
METHODS = register(
    Experiment(
        name="test.methods",
        design=4_000_000_106,
        columns=("a", "b", "c"),
        simulate=_methods,
        check=_check_methods,
        block_size=128,
    )
)


def stored(folder: Path, experiment: Experiment, trials: Sequence[Any], first: int = 0) -> RunStore:
    """A new store below a folder that holds trials written by hand.

    Parameters
    ----------
    trials : (params, values, failed rows) of each cell, the rows optional.  Values are
        (n_trials, n_columns), n_trials a multiple of the experiment's block.
    first : the number of the first block.
    """
    path = folder / f"{len(list(folder.iterdir()))}"
    store = RunStore.create(path, root_seed=1, config={})
    size = experiment.block_size
    for params, values, *failed in trials:
        rows = np.array(sorted(failed[0]) if failed else [], dtype=int)
        for i, part in enumerate(np.split(np.asarray(values, float), len(values) // size)):
            own = [(int(row), "raised: by hand") for row in rows[rows // size == i] % size]
            store.put_block(experiment, experiment.check(params), first + i, part, own)
    return store


def tried(
    procedure: Any, folder: Path, *, seed: int = 0, level: float = 0.05, after: Any = None
) -> tuple[Evidence, list[int]]:
    """Run a procedure to its verdict as a session does.  Also returns the number of demands of each
    round.

    ``folder`` gets a store named after the seed.  It holds the trials of ``after`` already.
    """
    rounds = []
    with (
        RunStore.create(folder / f"{seed}.sqlite", root_seed=seed, config={}) as store,
        make_executor("serial", 1) as executor,
    ):
        while after is not None and (demands := after.demands(store, level)):
            ensure(store, demands, executor)
        while demands := procedure.demands(store, level):
            rounds.append(len(demands))
            ensure(store, demands, executor)
        return procedure.decide(store, level), rounds


def verdicts(build: Any, folder: Path, seeds: Sequence[int], level: float = 0.05) -> list[str]:
    """The verdicts of a procedure over independent root seeds."""
    return [str(tried(build(), folder, seed=seed, level=level)[0].verdict) for seed in seeds]
