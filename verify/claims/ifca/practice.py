r"""IFCA's algorithms in practice: one-shot clustering, fresh data, subsets and floats sent.

Problem. Section IV compares its algorithms in sentences without numbers, and Section V says that
fresh data are not needed.  Do the methods compare like this on the same data?

Guarantee. `bounds.ifca.practice`: contrasts of errors, and exact numbers of floats.

Algorithm. Algorithm 2 with its options and Algorithm 1, on the same drawn data and from the same
start (experiments ``ifca.one-shot``, ``ifca.resampling`` and ``ifca.economies``).

Computation. Paired errors, by the share of trials in which one exceeds the other.  Floats and steps
are compared exactly, in searches over sizes.

Reference. TIT 2022, Sections IV and V.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from bounds.ifca import practice as bp
from bounds.statement import Statement
from trials.experiments.ifca.paired import (
    CHECKPOINTS,
    COMMUNICATION,
    ECONOMIES,
    ONE_SHOT,
    RESAMPLING,
)
from trials.ifca.options import IfcaOptions, run_ifca_options
from trials.ifca.options_records import OptionsResult
from trials.models.clients import ClientData
from trials.run.cell import Params
from trials.run.experiment import Experiment
from trials.run.store import Table
from verify.claim import Finding, claim, row, table
from verify.claims.common import Point
from verify.claims.ifca.options import factor_between
from verify.claims.searching import search
from verify.decisions.domain import IntRange, LogInterval, Ranges
from verify.decisions.means import SHARE, Knowledge
from verify.evidence import Figure, Panel
from verify.procedures.base import FloatArray, Observed, Presentation, Profile, Sampling
from verify.procedures.comparison import Comparison
from verify.procedures.mean_bound import MeanBound
from verify.procedures.pages import of_finished, spread
from verify.procedures.search import Search

#: For claims whose runs are long.
_LONG = {
    "smallest_profile": "standard",
    "why_not_smaller": "its runs are long: 10 to 25 CPU seconds",
}


def compared(
    statement: Statement,
    _profile: Profile,
    *,
    experiment: Experiment,
    cells: tuple[Params, ...],
    columns: dict[str, str],
    unit: str = "error",
) -> Comparison:
    """Paired errors by the share of trials in which one exceeds the other."""
    return Comparison(
        statement=statement,
        sampling=Sampling(experiment=experiment, max_trials=256, first=32),
        cells=cells,
        columns=columns,
        knowledge=lambda _cell: Knowledge(low=0.0),
        unit=unit,
        scale="sign",
    )


#: One or two clients of each cluster in another one.
_PLANTED: tuple[Params, ...] = tuple(
    {"k": k, "m": m, "n": n, "d": d, "Delta": 2.0, "sigma": 1.0, "planted": planted, "T": 40}
    for k, m, n, d, planted in ((2, 20, 40, 10, 2), (4, 40, 40, 10, 2), (3, 12, 200, 5, 1))
)
#: A start at a quarter of the separation, as in Theorem 1.
_RESAMPLED: tuple[Params, ...] = tuple(
    {"k": k, "m": m, "n": n, "d": d, "Delta": delta, "T": 20, "closeness": 0.25}
    for k, m, n, d, delta in ((2, 8, 4, 4, 2.0), (2, 8, 16, 16, 2.0), (4, 16, 8, 4, 4.0))
)
COMPARED = table(
    compared,
    row(
        "ifca.alg1-one-shot",
        bp.ONE_SHOT,
        experiment=ONE_SHOT,
        cells=_PLANTED,
        columns={"OneShot": "one_shot", "IFCA": "ifca", "truth": "truth"},
    ),
    row(
        "ifca.alg1-one-shot-identities",
        bp.ONE_SHOT_IDENTITIES,
        experiment=ONE_SHOT,
        cells=_PLANTED,
        columns={"OneShot": "one_shot_wrong", "IFCA": "ifca_wrong"},
        unit="share of clients in a wrong cluster",
    ),
    row(
        "ifca.resampling-not-needed",
        bp.RESAMPLING,
        experiment=RESAMPLING,
        cells=_RESAMPLED,
        columns={"reused": "reused", "resampled": "split", "truth": "truth"},
    ),
)


def _economy(k: int, m: int, gamma: float, rounds: int, **more: object) -> Params:
    return {"k": k, "m": m, "n": 20, "d": 10, "gamma": gamma, "T": rounds, "Delta": 2.0, **more}


def as_good(
    statement: Statement,
    _profile: Profile,
    *,
    cells: tuple[Params, ...],
    column: str,
    factor: float,
    trials: int = 256,
) -> MeanBound:
    """How often an error is at most ``factor`` times that of the plain run."""

    def within(table: Table, _cell: Params) -> FloatArray:
        return np.asarray(table[column] <= factor * table["plain"], dtype=np.float64)

    return MeanBound(
        statement=statement,
        sampling=Sampling(experiment=ECONOMIES, max_trials=trials, first=16),
        cells=cells,
        statistic=within,
        knowledge=lambda _cell: SHARE,
        observable=f"runs with an error of at most {factor:g} times that of the plain run",
    )


SLOW_IDENTITIES = Finding(
    id="ifca-stable-identities",
    where="TIT 2022, Section IV-C",
    headline="Identities that did not change for several iterations can still be wrong, and "
    "are then kept for ever.",
    printed="Once the identities do not change for several iterations, the centre can send each "
    "client the model of its own cluster only.",
    found="With small steps the identities can stay the same for many iterations before models "
    "have moved far enough to change them. Five iterations are then too few: wrong identities are "
    "kept for ever, and the error is larger.",
    corrected="The iterations to wait must grow like the inverse of the step size.",
    severity="strong",
)


ECONOMY = table(
    as_good,
    row(
        "ifca.alg2-participation-runs",
        bp.SUBSETS,
        cells=(
            _economy(2, 20, 0.5, 30, closeness=0.25),
            _economy(2, 20, 0.1, 60, closeness=0.25),
            _economy(4, 40, 0.5, 30, closeness=0.25),
        ),
        column="subset",
        factor=1.25,
        **_LONG,
    ),
    # A label changes late in one trial of six of the first two cells, whose clients hold few
    # samples.  With steps of half the way none does, and the last cell is void.
    row(
        "ifca.comm-saving",
        bp.STABLE,
        cells=(
            {**_economy(2, 40, 0.2, 30, closeness=0.5), "n": 10},
            {**_economy(2, 40, 0.2, 30, closeness=0.6), "n": 10},
            _economy(4, 40, 0.5, 30, closeness=0.25),
        ),
        column="stable",
        factor=1.01,
        trials=1024,
        **_LONG,
        finding=SLOW_IDENTITIES,
    ),
    # steps of a fiftieth of the way, from a start that is not close
    row(
        "ifca.comm-saving-as-printed",
        bp.STABLE_SMALL_STEPS,
        cells=(_economy(2, 20, 0.02, 200, closeness=0.8),),
        column="stable",
        factor=1.01,
        **_LONG,
        refuted=SLOW_IDENTITIES,
    ),
)


_RUNS = {
    "plain": "all models",
    "stable": "one model",
    "subset": "half of the clients",
    "shared": "shared coordinates",
}


@of_finished
def _errors_by_floats(observed: Sequence[Observed]) -> Presentation:
    """Each run's error against the floats that it may send: a panel for a cell."""
    checkpoints = range(1, CHECKPOINTS + 1)
    panels = []
    for o in observed:
        floats = [float(o.table[f"floats_{i}"].mean()) for i in checkpoints]
        panels.append(
            Panel(
                title=f"$k={o.params['k']}$, $m={o.params['m']}$",
                xlabel="floats sent, of those of all models (dimensionless)",
                ylabel="mean distance from the optima (units of the models)",
                yscale="log",
                series=[
                    spread(
                        label,
                        floats,
                        [o.table[f"{run}_{i}"] for i in checkpoints],
                        "line",
                    )
                    for run, label in _RUNS.items()
                ],
            )
        )
    drawn = Figure(
        name="communication",
        title="Error against communication",
        panels=panels,
        caption="Lines are means of the trials, bands reach from their 5th to their 95th "
        "percentile. All runs have the same data and the same start. The floats of both "
        "directions count.",
    )
    return Presentation(figures=(drawn,))


@claim(
    "ifca.comm-saving-equal-floats",
    bp.COMMUNICATION,
    smallest_profile="standard",
    why_not_smaller="its runs are long: a trial repeats them at eight points",
)
def equal_floats(statement: Statement, profile: Profile) -> Comparison:
    """Steps of a tenth of the way, little noise, and half of the coordinates shared."""
    procedure = compared(
        statement,
        profile,
        experiment=COMMUNICATION,
        cells=(
            _economy(2, 20, 0.1, 40, closeness=0.25, sigma=0.1, n_shared=5),
            _economy(4, 40, 0.1, 40, closeness=0.25, sigma=0.1, n_shared=5),
        ),
        columns={"OneModel": "stable_4", "AllModels": "plain_4"},
    )
    return replace(procedure, present=_errors_by_floats)


SHARED_STEP = Finding(
    id="ifca-shared-step",
    where="TIT 2022, Section IV-C, with option I of Algorithm 2",
    printed="Run IFCA on a subset of the coordinates, and vanilla gradient averaging on the "
    "others, with the step size of Algorithm 2.",
    found="The shared coordinates get the gradients of all clients, a model those of its own. "
    "Their step is $k$ times as long, and may be unstable where the others are not.",
    corrected="A step size of its own for the shared coordinates, or model averaging.",
    severity="slip",
)


SHARING = table(
    compared,
    # with a step that is stable on the shared coordinates
    row(
        "ifca.weight-sharing",
        bp.SHARING,
        experiment=ECONOMIES,
        cells=(
            _economy(2, 20, 0.4, 40, closeness=0.25, n_shared=8),
            _economy(4, 40, 0.2, 60, closeness=0.25, n_shared=5),
        ),
        columns={"shared": "shared", "separate": "plain"},
        finding=SHARED_STEP,
    ),
)

# --- floats and steps, exactly ------------------------------------------------------------------

_SIZES: Ranges = {
    "k": IntRange(1, 4),
    "m": IntRange(4, 12),
    "n": IntRange(2, 8),
    "d": IntRange(2, 8),
    "gamma": LogInterval(1e-3, 1e-1),
    "seed": IntRange(0, 1000),
}


def _data(point: Point) -> tuple[ClientData, np.random.Generator]:
    rng = np.random.default_rng(point["seed"])
    shape = (point["m"], point["n"])
    features = rng.standard_normal((*shape, point["d"]))
    return ClientData.equal(features, rng.standard_normal(shape)), rng


@claim("ifca.comm-saving-floats", bp.STABLE_FLOATS)
def stable_floats(statement: Statement, profile: Profile) -> Search:
    """Counted along runs, whose identities become stable by themselves."""

    def run(point: Point) -> OptionsResult:
        data, rng = _data(point)
        return run_ifca_options(
            data=data,
            starts=rng.standard_normal((1, point["k"], point["d"])),
            step_sizes=np.array([point["gamma"]]),
            n_iterations=point["rounds"],
            options=IfcaOptions(stable_after=2),
        )

    return search(
        statement,
        profile,
        lambda point: float(run(point).down.sum()),
        {**_SIZES, "rounds": IntRange(1, 12, meaning="iterations of the run")},
        at=lambda point: {**point, "early": int(run(point).settled_at[0])},
        budget=profile.searches // 16,
    )


def _shared(point: Point, n_shared: int) -> tuple[np.ndarray, float]:
    """Displacements (k, d) in one step, and floats down, with models equal on shared ones."""
    data, rng = _data(point)
    start = rng.standard_normal((point["k"], point["d"]))
    start[:, : point["shared"]] = start[0, : point["shared"]]
    found = run_ifca_options(
        data=data,
        starts=start[None],
        step_sizes=np.array([point["gamma"]]),
        n_iterations=1,
        options=IfcaOptions(shared=np.arange(point["d"]) < n_shared),
    )
    return found.models[0] - start, float(found.down.sum())


def _floats_of_one_step(point: Point) -> float:
    return _shared(point, point["shared"])[1]


def _length_of_one_step(point: Point) -> float:
    """The step of the shared coordinates along the mean step without sharing."""
    n_shared = point["shared"]
    together = _shared(point, n_shared)[0][0, :n_shared]
    mean = _shared(point, 0)[0][:, :n_shared].mean(axis=0)
    return factor_between(together, mean)


def shared(statement: Statement, profile: Profile, *, observed: Callable[[Point], float]) -> Search:
    """One step with some shared and some separate coordinates."""
    return search(
        statement,
        profile,
        observed,
        {**_SIZES, "shared": IntRange(1, 8, meaning="number of shared coordinates")},
        where=lambda point: point["shared"] < point["d"],
        budget=profile.searches // 16,
    )


SHARED = table(
    shared,
    row("ifca.weight-sharing-floats", bp.SHARING_FLOATS, observed=_floats_of_one_step),
    row("ifca.weight-sharing-step", bp.SHARING_STEP, observed=_length_of_one_step),
    finding=SHARED_STEP,
)
