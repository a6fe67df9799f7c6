"""The experiment of NeurIPS 2020, section 6.1 (Fig. 2), TIT 2022, Fig. 3: whole runs on drawn data.

``ifca.figure-3`` (design 305): a few starts times a few step sizes run on one data set, the same in
every iteration.  A run succeeds when it ends within 0.6 sigma of the truth.

* ``best_dist``: the smallest distance from the truth over the runs that did not diverge, models
  matched over permutations (`trials.models.matching.model_distance`).  It is infinite where all
  diverged.
* ``success``: 1 where some run succeeded by that distance.
* ``n_starts_successful``: starts with a step size that succeeded.
* ``best_dist_nearest``, ``success_nearest``, ``n_starts_nearest``: the same with each model
  measured from its nearest centre, as in the authors' published code, which adds ``slack`` to 0.6
  sigma.
* ``best_step_size``: the step size of the best run.
* ``n_diverged``: runs that diverged.
* ``oracle_dist``: the distance of least squares that knows the clusters.
* ``stability_limit``: the largest step size that is stable in every cluster, once the clusters are
  known: 2 over the largest eigenvalue of (2 / m n) X_S^T X_S.
* ``start_dist``: the smallest distance of a start from the truth, over the truth's separation.
* ``n_runs``: runs that were made.
* ``n_repeated``: runs that the plain kernel repeated.

With ``sweep`` "until success" the first step size is tried alone, and then the others together.  A
start that has succeeded by then, models matched, takes no further one.  Neither success nor the
numbers of successful starts depend on the runs that are left out.  With "until one success" the
first four starts take the first step size, then the other starts, and then all take the other step
sizes.  The trial ends with the part in which a run has succeeded.  Success does not depend on the
runs that are left out.  Four runs take little more time than one, as they share the passes over the
data.  The other columns are those of the runs that were made.

With ``kernel`` "skipping" one trial in `REPEATED`, chosen by chance, repeats all of its runs by the
plain kernel (`trials.experiments.ifca.repeated_runs`).  Where the two differ the trial raises, so
that it is stored as failed with the run and the difference.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh, get_lapack_funcs

from trials.checks import FloatArray, IntArray
from trials.experiments.ifca.drawn_clients import clients_fit, draw_clients
from trials.experiments.ifca.geometry import every_cluster_has_a_client
from trials.experiments.ifca.repeated_runs import Recorder, RunRecord, records, repeat_runs
from trials.ifca.linear import run_ifca
from trials.ifca.skipping import run_ifca_skipping
from trials.local_erm import least_squares
from trials.models import mixture as mx
from trials.models.clients import ClientData
from trials.models.matching import model_distance, nearest_distance
from trials.models.run_status import RunStatus
from trials.parameters import Integer, ListOf, Options, Parameters, Real
from trials.run.cell import Params
from trials.run.experiment import add_experiment, each_trial

Scaling = Literal["norm", "coordinate"]
Sweep = Literal["all", "until success", "until one success"]
PAPER_STEP_SIZES = {2: (0.01, 0.1, 1.0), 4: (0.5, 1.0, 2.0)}
SUCCESS = 0.6  # a run succeeds at dist <= 0.6 sigma
REPEATED = 25  # one trial of so many repeats its runs
FIRST = 4  # starts that are tried alone until one succeeds


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
        "kernel": Options(
            ("plain", "skipping"),
            default="plain",
            meaning="plain is faster on small data; runs of skipping are repeated by plain",
        ),
        "sweep": Options(
            get_args(Sweep),
            default="all",
            meaning="until success: the first step size, and then the others for the starts that "
            "have not succeeded by then; until one success: some starts first, and no more once "
            "one has succeeded",
        ),
        "slack": Real(
            0.0, default=0.0, meaning="added to 0.6 sigma for nearest centres; 0.001 in the code"
        ),
    },
    (every_cluster_has_a_client, centres_are_distinct, clients_fit),
)


def _clusters(data: ClientData, sizes: IntArray, theta_star: FloatArray) -> tuple[float, float]:
    """What the clusters' data allow: the oracle's distance, and the largest stable step size.

    The distance is the mean over the clusters' least-squares fits.  It is infinite where a cluster
    has too few rows for a unique fit.  `sizes` are the clusters' numbers of clients.
    """
    d = theta_star.shape[1]
    distances, largest = [], 0.0
    ends = data.offsets[np.cumsum(sizes)]
    for truth, first, end in zip(theta_star, [0, *ends[:-1]], ends, strict=True):
        x, y = data.features[first:end], data.responses[first:end]
        gram = x.T @ x if len(x) >= d else x @ x.T
        top = len(gram) - 1
        eigenvalue = eigh(gram, eigvals_only=True, subset_by_index=(top, top))[0]
        largest = max(largest, 2.0 * float(eigenvalue) / len(data.features))
        fit = _least_squares(x, y, gram) if len(x) >= d else np.full(d, np.inf)
        distances.append(float(np.linalg.norm(fit - truth)))
    return float(np.mean(distances)), 2.0 / largest


def _least_squares(x: FloatArray, y: FloatArray, gram: FloatArray) -> FloatArray:
    """Least squares (d,) by LAPACK, refined once, or by `least_squares` if it is ill-conditioned.

    For hundreds of columns LAPACK takes a tenth of the time of `least_squares`.
    """
    try:
        factor = cho_factor(gram)
    except np.linalg.LinAlgError:
        inverse_condition = 0.0
    else:
        pocon = get_lapack_funcs("pocon", (gram,))
        inverse_condition = float(pocon(factor[0], np.linalg.norm(gram, 1))[0])
    if inverse_condition < 1e-6:
        return np.asarray(least_squares(x[None], y[None]).theta[0])
    theta = cho_solve(factor, x.T @ y)
    return np.asarray(theta + cho_solve(factor, x.T @ (y - x @ theta)))


def _parts(
    sweep: Sweep, n_starts: int, step_sizes: FloatArray
) -> list[tuple[IntArray, FloatArray]]:
    """The starts and step sizes that are tried together, one part after the other."""
    every = np.arange(n_starts)
    if sweep == "all":
        return [(every, step_sizes)]
    first = [every] if sweep == "until success" else [every[:FIRST], every[FIRST:]]
    return [*((starts, step_sizes[:1]) for starts in first), (every, step_sizes[1:])]


def _run(params: Params, rng: np.random.Generator) -> list[float]:
    k, d, norm, sigma = params["k"], params["d"], params["norm"], params["sigma"]
    sizes = mx.cluster_sizes(params["m"], mx.fractions(k))
    n_starts, step_sizes = params["n_starts"], np.asarray(params["step_sizes"])
    theta_star = mx.bernoulli_vectors(rng, k, d)
    if params["scaling"] == "norm":
        theta_star = mx.random_centres(theta_star, norm=norm)
    else:
        theta_star = norm * theta_star
    starts = np.stack([mx.random_start(params["start"], k, d, rng, norm) for _ in range(n_starts)])
    data = draw_clients(theta_star, sizes, params["n"], sigma, rng)
    repeats = params["kernel"] == "skipping" and int(rng.integers(REPEATED)) == 0
    repeated: list[RunRecord] = []
    made: list[FloatArray] = []  # rows: start, step size, matched and nearest distance, diverged
    succeeded = np.zeros(n_starts, dtype=np.bool_)
    for group, part in _parts(params["sweep"], n_starts, step_sizes):
        if params["sweep"] == "until one success" and succeeded.any():
            break
        tried = group[~succeeded[group]]
        if not tried.size * len(part):
            continue
        owners = np.repeat(tried, len(part))
        run: dict[str, Any] = {"starts": starts[owners], "step_sizes": np.tile(part, len(tried))}
        whole = {"data": data, "n_iterations": params["n_iterations"], **run}
        if params["kernel"] == "plain":
            result = run_ifca(**whole)
        else:
            recorder = Recorder(np.arange(len(owners) if repeats else 0))
            result = run_ifca_skipping(**whole, observe=recorder, excess=np.inf)
            repeated += records(result, recorder, **run)
        diverged = result.status == RunStatus.DIVERGED
        matched = np.where(diverged, np.inf, model_distance(result.models, theta_star))
        nearest = np.where(diverged, np.inf, nearest_distance(result.models, theta_star))
        made.append(np.stack([owners, run["step_sizes"], matched, nearest, diverged]))
        succeeded[owners[matched <= SUCCESS * sigma]] = True
    repeat_runs(repeated, data, params["n_iterations"])
    owner, steps, matched, nearest, diverged = np.concatenate(made, axis=1)
    by_code = np.unique(owner[nearest <= SUCCESS * sigma + params["slack"]])
    oracle, stability_limit = _clusters(data, sizes, theta_star)
    return [
        float(matched.min()),
        float(succeeded.any()),
        float(succeeded.sum()),
        float(nearest.min()),
        float(by_code.size > 0),
        float(by_code.size),
        float(steps[matched.argmin()]),
        float(diverged.sum()),
        oracle,
        stability_limit,
        float(model_distance(starts, theta_star).min() / mx.separation(theta_star)),
        float(len(steps)),
        float(len(repeated)),
    ]


_RUN_COLUMNS = (
    "best_dist",
    "success",
    "n_starts_successful",
    "best_dist_nearest",
    "success_nearest",
    "n_starts_nearest",
    "best_step_size",
    "n_diverged",
    "oracle_dist",
    "stability_limit",
    "start_dist",
    "n_runs",
    "n_repeated",
)


def _seconds(cell: Params) -> float:
    """CPU seconds of a trial: each iteration multiplies the features with all models, twice."""
    models = cell["k"] * cell["n_starts"] * len(cell["step_sizes"])
    return float(4e-11 * cell["n_iterations"] * models * cell["m"] * cell["n"] * cell["d"])


DATA_RUN = add_experiment(
    name="ifca.figure-3",
    design=305,
    columns=_RUN_COLUMNS,
    simulate=each_trial(_run),
    parameters=PARAMETERS,
    block_size=1,
    cost=_seconds,
)
