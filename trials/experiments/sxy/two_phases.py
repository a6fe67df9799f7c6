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

from trials.checks import BoolArray, FloatArray, InvalidParameter
from trials.experiments.sxy.clients import (
    CLIENTS,
    Clients,
    draw_clients,
    draw_gram_trials,
    optima_of,
    stable_step,
)
from trials.mixed_regression.anchor_groups import group_anchors
from trials.mixed_regression.fed_regression import LocalSpectra, local_spectra, run_fed_regression
from trials.mixed_regression.gram_rounds import client_steps, gram_rounds, gram_spectra
from trials.mixed_regression.subspaces import (
    orthogonal_iteration,
    power_iteration,
    random_basis,
)
from trials.models.matching import bottleneck_distance, bottleneck_distances
from trials.models.run_status import DIVERGENCE_BOUND
from trials.parameters import Integer, Options, unchecked
from trials.run.cell import Params
from trials.run.experiment import add_experiment, on_faster_stream

STARTS = ("zero", "optimum", "mean", "edge")
SUCCESS = 0.1
#: The local step of Phase 2 over the largest one that is stable.
STEP = 0.9
#: Dimensions up to which Phase 2 runs on Gram matrices.
MOST_DIMENSIONS = 16
#: Half steps of Algorithm 3, and steps of an anchor's power iteration.
_HALF_STEPS, _POWER_STEPS = 8, 12
_leading, _iterate = unchecked(power_iteration), unchecked(orthogonal_iteration)
_random_basis, _groups = unchecked(random_basis), unchecked(group_anchors)


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


def phase_one(
    params: Params, theta_star: FloatArray, rng: np.random.Generator, n_trials: int
) -> FloatArray:
    """The centres of the anchors' groups in T trials, (T, k, d), zero where there are fewer."""
    centres = np.zeros((n_trials, *theta_star.shape))
    for t, anchors in enumerate(descend(params, theta_star, rng, n_trials)):
        found = _groups(anchors, params["Delta"]).centres[: len(theta_star)]
        centres[t, : len(found)] = found
    return centres


def descend(
    params: Params, theta_star: FloatArray, rng: np.random.Generator, n_trials: int
) -> FloatArray:
    """The anchors' estimates (T, H, d) after the rounds of Phase 1 in T trials.

    These are those of `run_moment_descent` with alpha = beta = 1, and of all trials at once.  Where
    k = d, every basis spans the whole space, and the fresh clients are not drawn: an anchor's power
    iteration starts in a uniformly random direction for any of the bases.
    """
    k, d = theta_star.shape
    n_anchors, n_pairs, sigma = params["anchors"], params["pairs"], params["sigma"]
    own = theta_star[np.arange(n_anchors) % k]
    theta = np.tile(_start(params, theta_star), (n_trials, n_anchors, 1))
    going = np.ones((n_trials, n_anchors), dtype=bool)
    for _ in range(params["rounds_1"]):
        t, h = np.nonzero(going)
        if not t.size:
            break
        bases = _bases(params, theta_star, theta, going, rng) if k < d else None
        first = rng.standard_normal((n_trials, k))[t]
        rows = rng.standard_normal((t.size, 2 * n_pairs, d))
        residual = (rows @ (own[h] - theta[t, h])[:, :, None])[:, :, 0]
        residual += sigma * rng.standard_normal(residual.shape)
        projected = rows if bases is None else rows @ bases
        projected *= residual[:, :, None]
        halves = projected[:, :n_pairs].swapaxes(1, 2), projected[:, n_pairs:]
        beta, squares = _leading(halves[0] @ halves[1] / n_pairs, first, _POWER_STEPS)
        along = (projected.sum(axis=1) * beta).sum(axis=1)
        beta = np.where(along < 0, -1.0, 1.0)[:, None] * beta
        direction = beta if bases is None else (bases @ beta[:, :, None])[:, :, 0]
        length = np.sqrt(squares)
        stepped = theta[t, h] + 0.5 * length[:, None] * direction
        taken = length > 0.1 * params["Delta"]
        taken &= np.linalg.norm(stepped, axis=1) <= DIVERGENCE_BOUND
        theta[t[taken], h[taken]] = stepped[taken]
        going[t, h] = taken
    return theta


def _start(params: Params, theta_star: FloatArray) -> FloatArray:
    """The start (d,) of all anchors."""
    starts = {
        "zero": np.zeros(theta_star.shape[1]),
        "optimum": theta_star[0],
        "mean": theta_star.mean(axis=0),
        "edge": np.eye(theta_star.shape[1])[0] * np.linalg.norm(theta_star, axis=1).max(),
    }
    return np.asarray(starts[params["start"]])


def _bases(
    params: Params,
    theta_star: FloatArray,
    theta: FloatArray,
    going: BoolArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Bases (G, d, k) of the subspaces of the anchors that are going, one trial after the other.

    Each trial draws fresh clients, and its anchors with equal estimates share one iteration.
    """
    k, d = theta_star.shape
    m, found = params["fresh"], []
    for anchors, still in zip(theta, going, strict=True):
        if not still.any():
            continue
        # The moments are sums over the clients, so that these may come cluster by cluster.
        ends = np.cumsum(rng.multinomial(m, np.full(k, 1.0 / k)))
        x, y = rng.standard_normal((2, m, d)), params["sigma"] * rng.standard_normal((2, m))
        for j, end in enumerate(ends):
            cluster = slice(ends[j - 1] if j else 0, end)
            y[:, cluster] += x[:, cluster] @ theta_star[j]
        distinct, who = np.unique(anchors[still], axis=0, return_inverse=True)
        residuals = y[:, None] - distinct @ x.swapaxes(1, 2)
        spans = _iterate(
            first=x[0],
            second=x[1],
            weights=residuals[0] * residuals[1],
            start=_random_basis(d, k, rng),
            n_iterations=_HALF_STEPS,
        )
        found.append(spans.bases[who.reshape(-1)])
    return np.concatenate(found)


def refine(
    params: Params, clients: Clients, spectra: LocalSpectra, start: FloatArray, s: int
) -> float:
    """The distance (6) over Delta after FedAvg with clustering from ``start`` (k, d)."""
    found = run_fed_regression(
        data=clients.data,
        start=start,
        update="fedavg",
        step_size=float(stable_step(STEP, spectra.largest.max())),
        n_rounds=params["rounds_2"],
        n_local_steps=s,
        spectra=spectra,
    )
    return float(bottleneck_distance(found.models, clients.theta_star) / params["Delta"])


def end_errors(params: Params, starts: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The distances (6) over Delta, (T, S), that Phase 2 reaches from S starts in each of T trials.

    The starts are (T, S, k, d).  Each trial draws clients, which all its starts share.
    """
    if params["d"] <= MOST_DIMENSIONS:
        return _ends_on_grams(params, starts, rng)
    ends = np.empty(starts.shape[:2])
    for t in range(len(starts)):
        clients = draw_clients(params, rng)
        spectra = local_spectra(clients.data)
        ends[t] = [refine(params, clients, spectra, start, params["s"]) for start in starts[t]]
    return ends


def _ends_on_grams(params: Params, starts: FloatArray, rng: np.random.Generator) -> FloatArray:
    clients = draw_gram_trials(params, rng, len(starts))
    spectra = gram_spectra(clients)
    if params["s"] > 1:
        spectra.decompose()
    eta = stable_step(STEP, spectra.largest)
    steps = client_steps(clients, spectra, eta, params["s"])
    ends = []
    for each in starts.swapaxes(0, 1):
        last = gram_rounds(clients, steps, each, eta, params["rounds_2"])[:, -1]
        ends.append(bottleneck_distances(last, clients.theta_star) / params["Delta"])
    return np.column_stack(ends)


def random_models(
    theta_star: FloatArray, rng: np.random.Generator, shape: tuple[int, ...] = ()
) -> FloatArray:
    """Models (..., k, d) uniform in the ball that holds the optima."""
    k, d = theta_star.shape
    radius = float(np.linalg.norm(theta_star, axis=1).max())
    x = rng.standard_normal((*shape, k, d))
    lengths = radius * rng.random((*shape, k)) ** (1.0 / d) / np.linalg.norm(x, axis=-1)
    return np.asarray(x * lengths[..., None])


def _distances(models: FloatArray, theta_star: FloatArray, Delta: float) -> FloatArray:
    """The distances (6) over Delta, (...), of models (..., k, d)."""
    found = bottleneck_distances(models.reshape(-1, *theta_star.shape), theta_star)
    return found.reshape(models.shape[:-2]) / Delta


def _simulate_phases(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    theta_star = optima_of(params)
    coarse = phase_one(params, theta_star, rng, n_trials)
    starts = random_models(theta_star, rng, (n_trials, params["restarts"]))
    ends = end_errors(params, np.concatenate([coarse[:, None], starts], axis=1), rng)
    phases, once, best = ends[:, 0], ends[:, 1], ends[:, 1:].min(axis=1)
    failed = [(errors > SUCCESS).astype(np.float64) for errors in (phases, once, best)]
    first = _distances(coarse, theta_star, params["Delta"])
    return np.column_stack([phases, first, once, best, *failed])


PHASES = add_experiment(
    name="sxy.two-phases",
    design=247,
    columns=("phases", "coarse", "once", "best", "fail_phases", "fail_once", "fail_best"),
    simulate=on_faster_stream(_simulate_phases),
    parameters=TWO_PHASES.extended({}, subspace_fits),
    block_size=4,
)


def _simulate_starts(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    theta_star = optima_of(params)
    starts = random_models(theta_star, rng, (n_trials, 1))
    inside = _distances(starts, theta_star, params["Delta"]) <= 0.25
    return np.column_stack([end_errors(params, starts, rng), inside])


ONE_START = add_experiment(
    name="sxy.one-start",
    design=248,
    columns=("error", "ball"),
    simulate=_simulate_starts,
    parameters=TWO_PHASES,
    block_size=8,
)


# -- IFCA with restarts ----------------------------------------------------------------------------


def _with_restarts(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    theta_star = optima_of(params)
    starts = random_models(theta_star, rng, (n_trials, params["restarts"]))
    n_inside = (_distances(starts, theta_star, params["Delta"]) <= 0.25).sum(axis=1)
    errors = end_errors(params, starts, rng)
    return np.column_stack([(errors <= SUCCESS).sum(axis=1), n_inside, errors.min(axis=1)])


def _restart_seconds(cell: Params) -> float:
    """CPU seconds of a trial: each round multiplies the features with all models."""
    numbers = cell["M"] * cell["n"] * cell["d"]
    return float(0.005 + 2.5e-10 * cell["restarts"] * cell["rounds_2"] * cell["k"] * numbers)


RESTARTS = add_experiment(
    name="sxy.restarts",
    design=307,
    columns=("n_successful", "n_inside", "best"),
    simulate=_with_restarts,
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
