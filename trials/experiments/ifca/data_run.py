"""The experiment of NeurIPS 2020, section 6.1 (Fig. 2): whole runs of IFCA on drawn data.

``ifca.data-run`` (design 121): a few starts times a few step sizes run on one data set, the same in
every iteration.  A run succeeds when it ends within 0.6 sigma of the truth.

* ``best_dist``: the smallest distance from the truth over the runs that did not diverge, models
  matched over permutations (`trials.models.matching.model_distance`).  It is infinite where all
  diverged.
* ``success``: 1 where some run succeeded by that distance.
* ``n_starts_successful``: starts with a step size that succeeded.
* ``best_dist_nearest``, ``success_nearest``: the same with each model measured from its nearest
  centre, as in the authors' published code.
* ``best_step_size``: the step size of the best run.
* ``n_diverged``: runs that diverged.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from trials.checks import FloatArray
from trials.experiments.ifca.drawn_clients import clients_fit, draw_clients
from trials.experiments.ifca.geometry import every_cluster_has_a_client
from trials.ifca.linear import run_ifca
from trials.models import mixture as mx
from trials.models.matching import model_distance, nearest_distance
from trials.models.run_status import RunStatus
from trials.parameters import Integer, ListOf, Options, Parameters, Real
from trials.run.cell import Params
from trials.run.experiment import Experiment, register

Scaling = Literal["norm", "coordinate"]
PAPER_STEP_SIZES = {2: (0.01, 0.1, 1.0), 4: (0.5, 1.0, 2.0)}
SUCCESS = 0.6  # a run succeeds at dist <= 0.6 sigma


def paper_step_sizes(cell: Params) -> tuple[float, ...] | None:
    """the paper's: 0.01, 0.1, 1 for k = 2, and 0.5, 1, 2 for k = 4"""
    return PAPER_STEP_SIZES.get(cell["k"])


def centres_are_distinct(cell: Params) -> None:
    """d >= log2(k + 1): there are k distinct 0/1 centres."""
    mx.check_bernoulli(cell["k"], cell["d"])


PARAMETERS = Parameters(
    {
        "k": Integer(2, 256, default=2, meaning="clusters of equal size, up to one client"),
        "m": Integer(2, 2**31, default=100, meaning="clients"),
        "n": Integer(1, 2**31, default=100, meaning="samples of a client"),
        "d": Integer(1, 2**31, default=1000, meaning="dimension"),
        "norm": Real(0.0, open_low=True, default=1.0, meaning="the paper's R"),
        "sigma": Real(0.0, open_low=True, default=0.1, meaning="noise level"),
        "scaling": Options(
            get_args(Scaling),
            default="norm",
            meaning="norm: the 0/1 centres are rescaled to norm R, as printed; coordinate: they "
            "are R times 0/1, as in the authors' published code, of norm about R sqrt(d / 2)",
        ),
        "start": Options(
            get_args(mx.Start),
            default="bernoulli",
            meaning="bernoulli: raw 0/1, as printed and published; bernoulli-rescaled: to norm R",
        ),
        "n_starts": Integer(1, 10**6, default=10, meaning="starts"),
        "n_iterations": Integer(1, 10**9, default=300, meaning="iterations of a run"),
        "step_sizes": ListOf(
            Real(0.0, open_low=True), default=paper_step_sizes, meaning="step sizes of each start"
        ),
    },
    (every_cluster_has_a_client, centres_are_distinct, clients_fit),
)


def _simulate_data_run(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    k, d, norm, sigma = params["k"], params["d"], params["norm"], params["sigma"]
    sizes = mx.cluster_sizes(params["m"], mx.fractions(k))
    n_starts, step_sizes = params["n_starts"], np.asarray(params["step_sizes"])
    out = np.empty((n_trials, len(_RUN_COLUMNS)))
    for trial in range(n_trials):
        theta_star = mx.bernoulli_vectors(rng, k, d)
        if params["scaling"] == "norm":
            theta_star = mx.random_centres(theta_star, norm=norm)
        else:
            theta_star = norm * theta_star
        starts = np.stack(
            [mx.random_start(params["start"], k, d, rng, norm) for _ in range(n_starts)]
        )
        result = run_ifca(
            data=draw_clients(theta_star, sizes, params["n"], sigma, rng),
            starts=np.repeat(starts, len(step_sizes), axis=0),
            step_sizes=np.tile(step_sizes, n_starts),
            n_iterations=params["n_iterations"],
        )
        diverged = result.status == RunStatus.DIVERGED
        matched = np.where(diverged, np.inf, model_distance(result.models, theta_star))
        nearest = np.where(diverged, np.inf, nearest_distance(result.models, theta_star))
        succeeded = matched <= SUCCESS * sigma
        out[trial] = (
            matched.min(),
            succeeded.any(),
            succeeded.reshape(n_starts, -1).any(axis=1).sum(),
            nearest.min(),
            (nearest <= SUCCESS * sigma).any(),
            step_sizes[matched.argmin() % len(step_sizes)],
            diverged.sum(),
        )
    return out


_RUN_COLUMNS = (
    "best_dist",
    "success",
    "n_starts_successful",
    "best_dist_nearest",
    "success_nearest",
    "best_step_size",
    "n_diverged",
)


def _seconds(cell: Params) -> float:
    """CPU seconds of a trial: each iteration multiplies the features with all models, twice."""
    models = cell["k"] * cell["n_starts"] * len(cell["step_sizes"])
    return float(4e-11 * cell["n_iterations"] * models * cell["m"] * cell["n"] * cell["d"])


DATA_RUN = register(
    Experiment(
        name="ifca.data-run",
        design=121,
        columns=_RUN_COLUMNS,
        simulate=_simulate_data_run,
        parameters=PARAMETERS,
        block_size=1,
        cost=_seconds,
    )
)
