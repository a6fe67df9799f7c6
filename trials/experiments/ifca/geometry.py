r"""What every experiment on linear IFCA shares: parameters, centres, starts, sizes and steps.

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

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trials.checks import (
    FloatArray,
    InvalidParameter,
    check_drawn,
    choice,
    integer,
    integer_at_most,
    known_names,
    real,
)
from trials.models import mixture as mx
from trials.run.cell import Params

StepRule = Literal["c/p", "c/p_j", "c/p_max"]
#: Largest sizes: beyond them memory or 64-bit counts would give out, in the middle of a run.
MAX_CLIENTS, MAX_SAMPLES, MAX_DIMENSION, MAX_CLUSTERS = 10**12, 10**15, 10**12, 256


def check_geometry(params: Params) -> dict[str, Any]:
    """d, k, Delta, sigma, alpha, centers, init: validated and complete."""
    k = integer_at_most("k", params.get("k", 2), 2, MAX_CLUSTERS)
    d = integer_at_most("d", params.get("d", 20), 1, MAX_DIMENSION)
    centers = choice("centers", params.get("centers", "simplex"), mx.Centers)
    init = choice("init", params.get("init", "random"), mx.Init)
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
        "Delta": real("Delta", params.get("Delta", 1.0), 0.0, strict=True),
        "sigma": real("sigma", params.get("sigma", 1.0), 0.0),
        "alpha": real("alpha", params.get("alpha", 0.25), 0.0, 0.5),
        "centers": centers,
        "init": init,
    }


def check_step(params: Params) -> dict[str, Any]:
    names = {"m", "n", "profile", "p_min", "ratio", "step_rule", "c1"}
    full = check_geometry(params)
    known_names(params, names | set(full))
    full |= {
        "m": integer("m", params.get("m", 100), full["k"], MAX_CLIENTS),
        "n": integer_at_most("n", params.get("n", 100), 1, MAX_SAMPLES),
        "profile": choice("profile", params.get("profile", "equal"), mx.Profile),
        "step_rule": choice("step_rule", params.get("step_rule", "c/p"), StepRule),
        "c1": real("c1", params.get("c1", 0.25), 0.0, strict=True),
    }
    given = {name: params[name] for name in ("p_min", "ratio") if params.get(name) is not None}
    if full["profile"] != "equal" and len(given) != 1:
        raise InvalidParameter(f"profile={full['profile']!r} must come with one of p_min and ratio")
    full |= {name: real(name, value, 0.0, strict=True) for name, value in given.items()}
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
