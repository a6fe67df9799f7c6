r"""What every experiment on linear IFCA shares: parameters, centres, starts, sizes and steps.

Every experiment draws centres whose smallest distance is exactly ``Delta``, and starts at closeness
exactly ``alpha``.  Both enter only through inner products.  So at most ``2k`` coordinates hold
them, for any ``d``.

`GEOMETRY` is the table of the centres and starts, `STEP_PARAMETERS` that of a whole step.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from trials.checks import FloatArray, IntArray, InvalidParameter, check_drawn
from trials.models import mixture as mx
from trials.parameters import Integer, Options, Parameters, Real, at_least, unchecked
from trials.run.cell import Params

StepRule = Literal["c/p", "c/p_j", "c/p_max"]
#: Largest sizes: beyond them memory or 64-bit counts would give out, in the middle of a run.
MAX_CLIENTS, MAX_SAMPLES, MAX_DIMENSION, MAX_CLUSTERS = 10**12, 10**15, 10**12, 256
_MOST_COORDINATES = 2**20  # of the centres that are drawn and rotated together


# A cell went through its table before: its blocks use the drivers without their checks.
_random_centres, _gaussian_frame = unchecked(mx.random_centres), unchecked(mx.gaussian_frame)
_bernoulli_vectors, _simplex = unchecked(mx.bernoulli_vectors), unchecked(mx.simplex)
_line, _displaced = unchecked(mx.line), unchecked(mx.displace)
_init_directions = unchecked(mx.init_directions)
_fractions, _fractions_with_ratio = unchecked(mx.fractions), unchecked(mx.fractions_with_ratio)
_cluster_sizes = unchecked(mx.cluster_sizes)


def centres_fit(cell: Params) -> None:
    """The k centres exist in d dimensions and fit into memory."""
    k, d, centers = cell["k"], cell["d"], cell["centers"]
    if centers == "simplex" and d < k - 1:
        raise InvalidParameter(f"d={d} must be >= {k - 1} for {k} equidistant centres")
    if centers == "random" and d < 2:
        raise InvalidParameter(f"d={d} must be >= 2 for centers='random'")
    if centers == "bernoulli":
        mx.check_bernoulli(k, d)
        check_drawn("coordinates k d", k * d)


def orthogonal_start_fits(cell: Params) -> None:
    """d >= 2 for the orthogonal start."""
    if cell["init"] == "orthogonal" and cell["d"] < 2:
        raise InvalidParameter(f"d={cell['d']} must be >= 2 for init='orthogonal'")


every_cluster_has_a_client = at_least("m", "k", "m >= k: every cluster has a client.")


def sizes_are_given_once(cell: Params) -> None:
    """Unequal clusters come with one of p_min and ratio, and the sizes exist."""
    given = [name for name in ("p_min", "ratio") if name in cell]
    if cell["profile"] != "equal" and len(given) != 1:
        raise InvalidParameter(f"profile={cell['profile']!r} must come with one of p_min and ratio")
    sizes_of(cell)


GEOMETRY = Parameters(
    {
        "k": Integer(2, MAX_CLUSTERS, default=2, meaning="clusters"),
        "d": Integer(1, MAX_DIMENSION, default=20, meaning="dimension"),
        "centers": Options(
            get_args(mx.Centers),
            default="simplex",
            meaning="shape of the centres (random: equal norms)",
        ),
        "init": Options(
            get_args(mx.Init),
            default="random",
            meaning="direction of the start (orthogonal, translation: against the largest cluster)",
        ),
        "Delta": Real(0.0, open_low=True, default=1.0, meaning="smallest distance of two centres"),
        "sigma": Real(0.0, default=1.0, meaning="noise level"),
        "alpha": Real(0.0, 0.5, default=0.25, meaning="closeness of the start"),
    },
    (centres_fit, orthogonal_start_fits),
)

STEP_PARAMETERS = GEOMETRY.extended(
    {
        "m": Integer(1, MAX_CLIENTS, default=100, meaning="clients"),
        "n": Integer(
            1, MAX_SAMPLES, default=100, meaning="fresh samples a client and stage (the papers' n')"
        ),
        "profile": Options(
            get_args(mx.Profile), default="equal", meaning="cluster sizes, ascending"
        ),
        "step_rule": Options(
            get_args(StepRule), default="c/p", meaning="step size; c/p_j: one for each cluster"
        ),
        "c1": Real(
            0.0, open_low=True, default=0.25, meaning="constant of the step size", exhibited=True
        ),
        "p_min": Real(
            0.0, 1.0, open_low=True, default=None, meaning="smallest fraction of the clients"
        ),
        "ratio": Real(1.0, default=None, meaning="largest over smallest fraction"),
    },
    every_cluster_has_a_client,
    sizes_are_given_once,
)


def sizes_of(params: Params) -> IntArray:
    """Clients of each cluster of a cell, (k,), ascending."""
    return _sizes_of(*(params.get(name) for name in ("m", "k", "profile", "ratio", "p_min"))).copy()


@lru_cache(maxsize=4096, typed=True)  # bounds and statistics of a cell ask thousands of times
def _sizes_of(
    m: int, k: int, profile: mx.Profile, ratio: float | None, p_min: float | None
) -> IntArray:
    if ratio is not None:
        weights = mx.fractions_with_ratio(k, ratio, profile)
    else:
        weights = mx.fractions(k, p_min, profile)
    return mx.cluster_sizes(m, weights)


def read_sizes(params: Params) -> IntArray:
    """`sizes_of` (k,) of a cell that went through its table, without further checks."""
    if "ratio" in params:
        weights = _fractions_with_ratio(params["k"], params["ratio"], params["profile"])
    else:
        weights = _fractions(params["k"], params.get("p_min"), params["profile"])
    return _cluster_sizes(params["m"], weights)


def step_sizes_of(params: Params, sizes: IntArray) -> FloatArray:
    """Step size of each model by the cell's rule, (k,)."""
    shares = sizes / sizes.sum()
    base = {"c/p": shares.min(), "c/p_j": shares, "c/p_max": shares.max()}[params["step_rule"]]
    return np.broadcast_to(params["c1"] / base, shares.shape).copy()


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
        fixed = _random_centres(_gaussian_frame(rng, (n_trials, k), d), Delta=delta)
    elif centers == "bernoulli":
        fixed = _bernoulli_centres(rng, n_trials, k, d, delta)
    else:  # one for all trials
        fixed = (_simplex(k, k - 1, delta) if centers == "simplex" else _line(k, 1, delta))[None]
    n_fixed = fixed.shape[-1]
    free = _gaussian_frame(rng, (n_trials, k), d - n_fixed)
    within = rng.standard_normal((n_trials, k, n_fixed))
    theta_star = np.concatenate([fixed, np.zeros((len(fixed), *free.shape[1:]))], axis=-1)
    directions = _init_directions(
        theta_star, params["init"], np.concatenate([within, free], axis=-1), victim
    )
    theta = _displaced(theta_star, params["alpha"], directions)
    shape = (n_trials, *theta_star.shape[1:])
    # Copies, because kernels are compiled anew for arrays that may not be written.
    return np.broadcast_to(theta, shape).copy(), np.broadcast_to(theta_star, shape).copy(), n_fixed


def _bernoulli_centres(
    rng: np.random.Generator, n_trials: int, k: int, d: int, delta: float
) -> FloatArray:
    """The papers' centres (n_trials, k, min(k, d)), each trial's rotated into few coordinates."""
    fixed = np.empty((n_trials, k, min(k, d)))
    at_once = max(1, _MOST_COORDINATES // (k * d))
    for first in range(0, n_trials, at_once):
        last = min(first + at_once, n_trials)
        vectors = np.array([_bernoulli_vectors(rng, k, d) for _ in range(first, last)])
        centres = _random_centres(vectors, Delta=delta)
        factors = np.asarray(np.linalg.qr(centres.swapaxes(-1, -2), mode="r"))
        fixed[first:last] = factors.swapaxes(-1, -2)
    return fixed
