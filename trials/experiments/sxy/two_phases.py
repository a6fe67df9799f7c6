r"""Experiment on both phases of Su, Xu & Yang, and on IFCA with restarts.

``sxy.two-phases`` (design 247): optima at distance Delta, clients of Phase 2 of n rows, fresh
clients of two rows for Phase 1.  Anchors descend from one start, their groups start Phase 2.  IFCA
starts on the same clients from models that are uniform in the ball of radius R, several times.

* ``phases``: the distance (6) after both phases, over Delta.
* ``coarse``: the same after Phase 1.
* ``once``, ``best``: the same for IFCA's first start, and the best of its starts.
* ``fail_phases``, ``fail_once``, ``fail_best``: 1 where that exceeds one tenth.

``sxy.one-start`` (design 248): one start of IFCA alone.

* ``error``: its distance (6) over Delta at the end.
* ``ball``: 1 where the start lies within Delta/4 of the optima.

``sxy.restarts`` (design 307): clients of Phase 2, and several starts of FedAvg with clustering on
them.  Each start has models that are uniform in the ball of radius R, which holds the optima.

* ``n_successful``: starts that end within a tenth of Delta of the optima, by the distance (6).
* ``n_inside``: starts within Delta/4 of the optima, the ball of IFCA's theorem.
* ``best``: the smallest distance at the end, over Delta.
"""

from __future__ import annotations

import numpy as np

from trials.checks import FloatArray, InvalidParameter
from trials.experiments.sxy.clients import CLIENTS, Clients, draw_clients
from trials.mixed_regression.anchor_groups import group_anchors
from trials.mixed_regression.batches import MomentBatch
from trials.mixed_regression.fed_regression import LocalSpectra, local_spectra, run_fed_regression
from trials.mixed_regression.moment_descent import DescentOptions, run_moment_descent
from trials.models.matching import bottleneck_distance
from trials.parameters import Integer, Options
from trials.run.cell import Params
from trials.run.experiment import add_experiment, each_trial, on_faster_stream

STARTS = ("zero", "optimum", "mean", "edge")
SUCCESS = 0.1
#: The local step of Phase 2 over the largest one that is stable.
STEP = 0.9


def subspace_fits(cell: Params) -> None:
    """k <= d: Phase 1 looks for k directions."""
    if cell["k"] > cell["d"]:
        raise InvalidParameter(f"k={cell['k']} must be <= d={cell['d']}")


TWO_PHASES = CLIENTS.extended(
    {
        "fresh": Integer(1, 10**7, default=4000, meaning="clients of a round of Phase 1"),
        "anchors": Integer(1, 1000, default=16, meaning="anchor clients"),
        "pairs": Integer(1, 10**6, default=60, meaning="pairs of rows of an anchor and round"),
        "rounds_1": Integer(1, 1000, default=8, meaning="rounds of Phase 1"),
        "rounds_2": Integer(1, 10_000, default=40, meaning="rounds of Phase 2 and of IFCA"),
        "restarts": Integer(1, 10_000, default=4, meaning="random starts of IFCA"),
        "s": Integer(1, 1000, default=5, meaning="local steps of Phase 2"),
        "start": Options(STARTS, default="zero", meaning="start of all anchors"),
    }
)


def phase_one(params: Params, theta_star: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The centres of the anchors' groups, (k, d), zero where there are fewer groups."""
    k, d = theta_star.shape
    m, pairs, anchors = params["fresh"], params["pairs"], params["anchors"]
    own = theta_star[np.arange(anchors) % k]

    def draw(_t: int) -> MomentBatch:
        # The moments are sums over the clients, so that these may come cluster by cluster.
        ends = np.cumsum(rng.multinomial(m, np.full(k, 1.0 / k)))
        x, y = rng.standard_normal((2, m, d)), params["sigma"] * rng.standard_normal((2, m))
        for j, end in enumerate(ends):
            cluster = slice(ends[j - 1] if j else 0, end)
            y[:, cluster] += x[:, cluster] @ theta_star[j]
        rows = rng.standard_normal((anchors, 2 * pairs, d))
        answers = (rows @ own[:, :, None])[:, :, 0]
        answers += params["sigma"] * rng.standard_normal(answers.shape)
        return MomentBatch(
            first=x[0],
            second=x[1],
            first_y=y[0],
            second_y=y[1],
            anchor_features=rows,
            anchor_responses=answers,
        )

    starts = {
        "zero": np.zeros(d),
        "optimum": theta_star[0],
        "mean": theta_star.mean(axis=0),
        "edge": np.eye(d)[0] * np.linalg.norm(theta_star, axis=1).max(),
    }
    found = run_moment_descent(
        draw=draw,
        k=k,
        start=starts[params["start"]],
        options=DescentOptions(
            alpha=1.0,
            beta=1.0,
            threshold=0.1 * params["Delta"],
            n_rounds=params["rounds_1"],
            subspace_iterations=8,
            power_iterations=12,
        ),
        rng=rng,
    )
    centres = group_anchors(found.theta, params["Delta"]).centres[:k]
    return np.vstack([centres, np.zeros((k - len(centres), d))])


def refine(
    params: Params, clients: Clients, spectra: LocalSpectra, start: FloatArray, s: int
) -> float:
    """The distance (6) over Delta after FedAvg with clustering from ``start`` (k, d)."""
    found = run_fed_regression(
        data=clients.data,
        start=start,
        update="fedavg",
        step_size=STEP / float(spectra.largest.max()),
        n_rounds=params["rounds_2"],
        n_local_steps=s,
        spectra=spectra,
    )
    return float(bottleneck_distance(found.models, clients.theta_star) / params["Delta"])


def random_models(theta_star: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Models (k, d) uniform in the ball that holds the optima."""
    k, d = theta_star.shape
    radius = float(np.linalg.norm(theta_star, axis=1).max())
    x = rng.standard_normal((k, d))
    lengths = radius * rng.random(k) ** (1.0 / d) / np.linalg.norm(x, axis=1)
    return np.asarray(x * lengths[:, None])


def _one_trial(params: Params, rng: np.random.Generator) -> tuple[float, ...]:
    clients = draw_clients(params, rng)
    spectra = local_spectra(clients.data)
    coarse = phase_one(params, clients.theta_star, rng)
    phases = refine(params, clients, spectra, coarse, params["s"])
    errors = [
        refine(params, clients, spectra, random_models(clients.theta_star, rng), params["s"])
        for _ in range(params["restarts"])
    ]
    once, best = errors[0], min(errors)
    first = bottleneck_distance(coarse, clients.theta_star) / params["Delta"]
    return phases, first, once, best, *(float(e > SUCCESS) for e in (phases, once, best))


PHASES = add_experiment(
    name="sxy.two-phases",
    design=247,
    columns=("phases", "coarse", "once", "best", "fail_phases", "fail_once", "fail_best"),
    simulate=on_faster_stream(each_trial(_one_trial)),
    parameters=TWO_PHASES.extended({}, subspace_fits),
    block_size=4,
)


def _one_start(params: Params, rng: np.random.Generator) -> tuple[float, float]:
    clients = draw_clients(params, rng)
    start = random_models(clients.theta_star, rng)
    inside = bottleneck_distance(start, clients.theta_star) <= 0.25 * params["Delta"]
    error = refine(params, clients, local_spectra(clients.data), start, params["s"])
    return error, float(inside)


ONE_START = add_experiment(
    name="sxy.one-start",
    design=248,
    columns=("error", "ball"),
    simulate=each_trial(_one_start),
    parameters=TWO_PHASES,
    block_size=8,
)


# -- IFCA with restarts ----------------------------------------------------------------------------


def _with_restarts(params: Params, rng: np.random.Generator) -> tuple[float, float, float]:
    clients = draw_clients(params, rng)
    spectra = local_spectra(clients.data)
    errors, n_inside = [], 0
    for _ in range(params["restarts"]):
        start = random_models(clients.theta_star, rng)
        n_inside += bottleneck_distance(start, clients.theta_star) <= 0.25 * params["Delta"]
        errors.append(refine(params, clients, spectra, start, params["s"]))
    n_successful = sum(error <= SUCCESS for error in errors)
    return float(n_successful), float(n_inside), min(errors)


def _restart_seconds(cell: Params) -> float:
    """CPU seconds of a trial: each round multiplies the features with all models."""
    numbers = cell["M"] * cell["n"] * cell["d"]
    return float(0.005 + 2.5e-10 * cell["restarts"] * cell["rounds_2"] * cell["k"] * numbers)


RESTARTS = add_experiment(
    name="sxy.restarts",
    design=307,
    columns=("n_successful", "n_inside", "best"),
    simulate=each_trial(_with_restarts),
    parameters=CLIENTS.extended(
        {
            "rounds_2": Integer(1, 10_000, default=80, meaning="rounds of a start"),
            "restarts": Integer(1, 10_000, default=8, meaning="random starts"),
            "s": Integer(1, 1000, default=5, meaning="local steps"),
        }
    ),
    block_size=4,
    cost=_restart_seconds,
)
