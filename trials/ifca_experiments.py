r"""Experiments on IFCA for the linear model: exact laws, and real data in ``ifca.labels.data``.

Geometry.  Every experiment draws centres at separation exactly ``Delta`` and starts at closeness
exactly ``alpha``; both enter only through inner products, so that they are held in at most ``2k``
coordinates whatever ``d`` is.  Parameters common to 101 and 102:

=========== ======== ===========================================================================
m           int      clients
n           int      fresh samples per client and stage (the papers' n')
d, k        int      dimension, clusters (k >= 2)
profile     str      ``equal``, ``one-small``, ``one-large``, ``geometric`` (ascending sizes)
p_min       float    smallest fraction; or
ratio       float    p_max / p_min (one of the two unless ``profile`` is ``equal``)
Delta       float    separation
sigma       float    noise level
alpha       float    closeness of the start, 0 <= alpha <= 1/2
centers     str      ``simplex``, ``random`` (equal norms), ``line``, ``bernoulli``
init        str      ``random``, ``adversarial``, ``orthogonal``, ``translation`` (the last two
                     have a victim: the largest cluster)
step_rule   str      step size ``c/p``, ``c/p_j`` (one for each cluster) or ``c/p_max``
c1          float    its constant
=========== ======== ===========================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from trials import mixture as mx
from trials.experiment import Experiment, FloatArray, InvalidParameter, Params, register
from trials.laws.noise import noise_norms, operator_norms
from trials.laws.pairwise import log_tail_probability, margin
from trials.laws.step import gradient_norms, simulate_trajectories

StepRule = Literal["c/p", "c/p_j", "c/p_max"]
N_STEPS = 24
_CHUNK = 2_000_000  # doubles of client data held at once by the data experiment
#: Largest sizes: beyond them memory or 64-bit counts would give out, in the middle of a run.
MAX_CLIENTS, MAX_SAMPLES, MAX_DIMENSION, MAX_CLUSTERS = 10**12, 10**15, 10**12, 256
MAX_DRAWN = 10**7  # doubles of one trial, where data or vectors are drawn in full


def _known(params: Params, names: set[str]) -> None:
    unknown = sorted(set(params) - names)
    if unknown:
        raise InvalidParameter(
            f"unknown parameter {unknown[0]!r}; known: {', '.join(sorted(names))}"
        )


def _size(name: str, value: object, minimum: int, maximum: int) -> int:
    """An integer; that it is too large is said only of one that is."""
    number = mx.integer(name, value, minimum)
    if number > maximum:
        raise InvalidParameter(f"{name}={value!r} must be <= {maximum}")
    return number


def check_drawn(what: str, n_values: int) -> None:
    """Refuse a trial whose data do not fit into memory."""
    if n_values > MAX_DRAWN:
        raise InvalidParameter(
            f"{what}={n_values} must be <= {MAX_DRAWN}: they are drawn in full in every trial"
        )


def _check_geometry(params: Params) -> dict[str, Any]:
    """d, k, Delta, sigma, alpha, centers, init: validated and complete."""
    k = _size("k", params.get("k", 2), 2, MAX_CLUSTERS)
    d = _size("d", params.get("d", 20), 1, MAX_DIMENSION)
    centers = mx.choice("centers", params.get("centers", "simplex"), mx.Centers)
    init = mx.choice("init", params.get("init", "random"), mx.Init)
    if centers == "simplex":
        mx.simplex(k, min(d, k), 1.0)  # refuses d < k - 1
    elif centers == "random" and d < 2:
        raise InvalidParameter(f"d={d} must be >= 2 for centers='random'")
    elif centers == "bernoulli" and d < 60 and 2**d - 1 < k:
        raise InvalidParameter(f"d={d} must be >= log2(k + 1) for {k} distinct 0/1 centres")
    if centers == "bernoulli":
        check_drawn("coordinates k d", k * d)
    if init == "orthogonal" and d < 2:
        raise InvalidParameter(f"d={d} must be >= 2 for init='orthogonal'")
    return {
        "d": d,
        "k": k,
        "Delta": mx.real("Delta", params.get("Delta", 1.0), 0.0, strict=True),
        "sigma": mx.real("sigma", params.get("sigma", 1.0), 0.0),
        "alpha": mx.real("alpha", params.get("alpha", 0.25), 0.0, 0.5),
        "centers": centers,
        "init": init,
    }


def _check_step(params: Params) -> dict[str, Any]:
    names = {"m", "n", "profile", "p_min", "ratio", "step_rule", "c1"}
    full = _check_geometry(params)
    _known(params, names | set(full))
    full |= {
        "m": mx.integer("m", params.get("m", 100), full["k"], MAX_CLIENTS),
        "n": _size("n", params.get("n", 100), 1, MAX_SAMPLES),
        "profile": mx.choice("profile", params.get("profile", "equal"), mx.Profile),
        "step_rule": mx.choice("step_rule", params.get("step_rule", "c/p"), StepRule),
        "c1": mx.real("c1", params.get("c1", 0.25), 0.0, strict=True),
    }
    given = {name: params[name] for name in ("p_min", "ratio") if params.get(name) is not None}
    if full["profile"] != "equal" and len(given) != 1:
        raise InvalidParameter(f"profile={full['profile']!r} must come with one of p_min and ratio")
    full |= {name: mx.real(name, value, 0.0, strict=True) for name, value in given.items()}
    sizes_of(full)
    return full


def sizes_of(params: Params) -> NDArray[np.int64]:
    """Cluster sizes of a cell, ascending fractions turned into whole clients, (k,)."""
    if "ratio" in params:
        weights = mx.fractions_with_ratio(params["k"], params["ratio"], params["profile"])
    else:
        weights = mx.fractions(params["k"], params.get("p_min"), params["profile"])
    return mx.cluster_sizes(params["m"], weights)


def step_sizes_of(params: Params, sizes: NDArray[np.int64]) -> FloatArray:
    shares = sizes / sizes.sum()
    base = {"c/p": shares.min(), "c/p_j": shares, "c/p_max": shares.max()}[params["step_rule"]]
    return np.asarray(np.broadcast_to(params["c1"] / base, shares.shape))


def draw_geometry(
    params: Params, rng: np.random.Generator, n_trials: int, victim: int = -1
) -> tuple[FloatArray, FloatArray, int]:
    """Centres and starts up to rotation.

    Returns
    -------
    theta, theta_star : (n_trials, k, D), D = min(d, n_fixed + k).
    n_fixed : coordinates that hold the centres.
    """
    k, d, centers, delta = params["k"], params["d"], params["centers"], params["Delta"]
    if centers == "random":
        fixed = mx.random_centres(mx.gaussian_frame(rng, (n_trials, k), d), Delta=delta)
    elif centers == "bernoulli":
        fixed = np.empty((n_trials, k, min(k, d)))
        for trial in range(n_trials):
            vectors = mx.random_centres(mx.bernoulli_vectors(rng, k, d), Delta=delta)
            fixed[trial] = np.asarray(np.linalg.qr(vectors.T, mode="r")).T
    else:
        one = mx.simplex(k, k - 1, delta) if centers == "simplex" else mx.line(k, 1, delta)
        fixed = np.broadcast_to(one, (n_trials, *one.shape))
    n_fixed = fixed.shape[-1]
    free = mx.gaussian_frame(rng, (n_trials, k), d - n_fixed)
    within = rng.standard_normal((n_trials, k, n_fixed))
    theta_star = np.concatenate([fixed, np.zeros_like(free)], axis=-1)
    directions = mx.init_directions(
        theta_star, params["init"], np.concatenate([within, free], axis=-1), victim
    )
    return mx.displaced(theta_star, params["alpha"], directions), theta_star, n_fixed


def _run(
    params: Params, rng: np.random.Generator, n_trials: int, n_steps: int
) -> tuple[FloatArray, FloatArray]:
    sizes = sizes_of(params)
    theta, theta_star, n_fixed = draw_geometry(params, rng, n_trials)
    return simulate_trajectories(
        theta=theta,
        theta_star=theta_star,
        d=params["d"],
        cluster_sizes=sizes,
        sigma=params["sigma"],
        n_samples=params["n"],
        gamma=step_sizes_of(params, sizes),
        n_steps=n_steps,
        rng=rng,
        n_fixed=n_fixed,
    )


def _simulate_step(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    errors, moved = _run(params, rng, n_trials, 1)
    before, after = errors[:, 0], errors[:, 1]
    return np.column_stack(
        [
            before.max(axis=1),
            after.max(axis=1),
            (after - 0.5 * before).max(axis=1),
            after[:, 0],
            after[:, -1],
            moved[:, 0].sum(axis=1),
            moved[:, 0, 0],
        ]
    )


STEP = register(
    Experiment(
        name="ifca.step",
        design=101,
        # err_before is the same for every cluster; excess_half is the largest
        # |theta_j^+ - theta*_j| - |theta_j - theta*_j| / 2
        columns=(
            "err_before",
            "err_after_max",
            "excess_half",
            "err_after_smallest",
            "err_after_largest",
            "n_misidentified",
            "n_misidentified_into_smallest",
        ),
        simulate=_simulate_step,
        check=_check_step,
    )
)


def _simulate_trajectory(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    errors, moved = _run(params, rng, n_trials, N_STEPS)
    before, after = errors[:, :-1], errors[:, 1:]
    grew_from = np.where(after > before, before, 0.0).max(axis=(1, 2))
    return np.column_stack([after.max(axis=2), moved.sum(axis=2), grew_from, after[:, -1, 0]])


TRAJECTORY = register(
    Experiment(
        name="ifca.trajectory",
        design=102,
        # err_t: largest error of a cluster after step t; misidentified_t: clients misassigned in
        # step t; grew_from: the largest error of any single cluster that a step made larger, 0 if
        # no step did; floor_smallest: last error of the smallest cluster
        columns=(
            *(f"err_{t}" for t in range(1, N_STEPS + 1)),
            *(f"misidentified_{t}" for t in range(1, N_STEPS + 1)),
            "grew_from",
            "floor_smallest",
        ),
        simulate=_simulate_trajectory,
        check=_check_step,
    )
)


def _check_labels(params: Params) -> dict[str, Any]:
    full = _check_geometry(params)
    _known(params, {"n"} | set(full))
    return full | {"n": _size("n", params.get("n", 10), 1, MAX_SAMPLES)}


def _check_labels_data(params: Params) -> dict[str, Any]:
    full = _check_labels(params)
    check_drawn("features n d", full["n"] * full["d"])
    return full


def _simulate_labels(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    """Real data of one client of cluster 0 a trial; nothing is projected or compressed."""
    n, d, sigma = params["n"], params["d"], params["sigma"]
    theta, theta_star, _ = draw_geometry(params, rng, n_trials, victim=0)
    width = theta.shape[-1]
    rivals = mx.nearest_other(theta_star)[:, 0]
    out = np.empty((n_trials, 3))
    chunk = max(1, _CHUNK // (n * d))
    for first in range(0, n_trials, chunk):
        rows = slice(first, min(first + chunk, n_trials))
        models, truth = theta[rows], theta_star[rows, 0]
        size = len(models)
        x = rng.standard_normal((size, n, d))
        y = np.einsum("tnd,td->tn", x[..., :width], truth)
        y += sigma * rng.standard_normal((size, n))
        predictions = x[..., :width] @ models.swapaxes(1, 2)
        losses = np.mean((y[..., None] - predictions) ** 2, axis=1)
        rival_losses = np.take_along_axis(losses, rivals[rows, None], axis=1)[:, 0]
        out[rows, 0] = losses.argmin(axis=1) != 0
        out[rows, 1] = rival_losses < losses[:, 0]
    margins = [
        margin(theta[t, 0], theta[t, rivals[t]], theta_star[t, 0], sigma)[0]
        for t in range(n_trials)
    ]
    out[:, 2] = np.exp(log_tail_probability(margins, n))
    return out


LABELS = register(
    Experiment(
        name="ifca.labels.data",
        design=103,
        # of one client of cluster 0 (the orthogonal start's victim): label is not 0; the nearest
        # other cluster's model is preferred to model 0; the exact probability of the latter
        columns=("misidentified", "pairwise", "probability"),
        simulate=_simulate_labels,
        check=_check_labels_data,
    )
)


def _check_matrix(params: Params) -> dict[str, Any]:
    _known(params, {"N", "d"})
    return {name: _size(name, params.get(name, 100), 1, 10**9) for name in ("N", "d")}


def _check_opnorm(params: Params) -> dict[str, Any]:
    full = _check_matrix(params)
    check_drawn("entries min(N, d)^2", min(full.values()) ** 2)
    return full


def _simulate_opnorm(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    rows, columns = params["N"], params["d"]
    s_max, s_min = operator_norms(rows, columns, rng, n_trials)
    # X^T X has d - N further eigenvalues, zero, where N < d
    smallest_sq = np.zeros(n_trials) if rows < columns else s_min**2
    deviation = np.maximum(s_max**2 - rows, rows - smallest_sq)
    return np.column_stack([s_max, s_min, deviation])


OPNORM = register(
    Experiment(
        name="gauss.opnorm",
        design=104,
        # of X (N, d) standard Gaussian: extreme singular values and |X^T X - N I|_op
        columns=("s_max", "s_min", "gram_deviation"),
        simulate=_simulate_opnorm,
        check=_check_opnorm,
    )
)


def _check_noise(params: Params) -> dict[str, Any]:
    matrix = {name: value for name, value in params.items() if name != "sigma"}
    sigma = mx.real("sigma", params.get("sigma", 1.0), 0.0)
    return {**_check_matrix(matrix), "sigma": sigma}


def _simulate_noise(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    return np.column_stack(noise_norms(params["N"], params["d"], params["sigma"], rng, n_trials))


NOISE = register(
    Experiment(
        name="gauss.noise",
        design=105,
        # |X^T eps| and |X|_F, jointly
        columns=("xt_eps_norm", "frobenius"),
        simulate=_simulate_noise,
        check=_check_noise,
    )
)


def _check_start(params: Params) -> dict[str, Any]:
    _known(params, {"k", "d", "norm", "centers", "start"})
    full: dict[str, Any] = {
        "k": _size("k", params.get("k", 2), 2, MAX_CLUSTERS),
        "d": _size("d", params.get("d", 100), 1, MAX_DIMENSION),
        "norm": mx.real("norm", params.get("norm", 1.0), 0.0, strict=True),
        "centers": mx.choice("centers", params.get("centers", "bernoulli"), mx.Centers),
        "start": mx.choice("start", params.get("start", "bernoulli"), mx.Start),
    }
    _check_geometry({name: full[name] for name in ("k", "d", "centers")})
    check_drawn("coordinates k d", full["k"] * full["d"])
    return full


def bottleneck(distances: FloatArray) -> float:
    """Smallest, over permutations, of the largest assigned distance; (k, k) in, O(k^3 log k)."""
    levels = np.unique(distances)
    low, high = 0, levels.size - 1
    while low < high:
        middle = (low + high) // 2
        graph = csr_array((distances <= levels[middle]).astype(np.int8))
        if np.all(maximum_bipartite_matching(graph) >= 0):
            high = middle
        else:
            low = middle + 1
    return float(levels[low])


def _random_centres(params: Params, rng: np.random.Generator) -> FloatArray:
    k, d, norm = params["k"], params["d"], params["norm"]
    if params["centers"] == "bernoulli":
        return mx.random_centres(mx.bernoulli_vectors(rng, k, d), norm=norm)
    if params["centers"] == "random":
        return mx.random_centres(mx.gaussian_vectors(rng, (k,), d), norm=norm)
    shape: Callable[[int, int, float], FloatArray] = (
        mx.simplex if params["centers"] == "simplex" else mx.line
    )
    centres = shape(k, d, 1.0)
    return np.asarray(centres * (norm / np.linalg.norm(centres, axis=1).max()))


def _simulate_start(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    out = np.empty((n_trials, 2))
    for trial in range(n_trials):
        centres = _random_centres(params, rng)
        start = mx.random_start(params["start"], params["k"], params["d"], rng, params["norm"])
        distances = np.linalg.norm(start[:, None] - centres[None], axis=-1)
        delta = float(mx.separation(centres))
        out[trial] = 0.5 - bottleneck(distances) / delta, delta
    return out


RANDOM_START = register(
    Experiment(
        name="ifca.random-start",
        design=106,
        # alpha = 1/2 - min over matchings of max_j |theta_j - theta*_j| / Delta (Assumption 1 asks
        # alpha > 0), and Delta; ``norm`` is the papers' R
        columns=("alpha", "Delta"),
        simulate=_simulate_start,
        check=_check_start,
    )
)


def _simulate_gradient(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    theta, theta_star, _ = draw_geometry(params, rng, n_trials, victim=0)
    wrong = mx.nearest_other(theta_star)[:, 0]
    centre = np.take_along_axis(theta_star, wrong[:, None, None], axis=1)[:, 0]
    gap = np.linalg.norm(theta[:, 0] - centre, axis=1)
    norms = gradient_norms(gap, params["d"], params["n"], params["sigma"], rng)
    return np.column_stack([norms, norms / max(1.0, params["d"] / params["n"]), gap])


GRADIENT = register(
    Experiment(
        name="ifca.gradient-norm",
        design=107,
        # of a client whose true centre is the nearest other one, at model 0: |grad F_i|, the same
        # over max(1, d/n) (the constant of (7)), and the distance of the model from that centre
        columns=("gradient_norm", "ratio_7", "distance"),
        simulate=_simulate_gradient,
        check=_check_labels,
    )
)
