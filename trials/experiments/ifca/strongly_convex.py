r"""Steps and runs of IFCA on quadratic losses with bounded variance, at no cost in m and n.

The mean losses are :math:`F^j(\theta)=\frac12(\theta-\theta_j^*)^\top A(\theta-\theta_j^*)`.  A has
the eigenvalue lam on the span of the centred simplex of the optima and L on its complement, which
is empty for d = k - 1.  All models err by the same length towards the mean of the optima, so all
gaps of a cluster are equal.  Losses have rare spikes (`trials.laws.spike`): a client is mislabelled
with a closed probability, and each rival gets the same share.  The numbers of labels are binomial
and multinomial.  The mean gradient of N clients is Gaussian around that of A, with variance
v^2/(N n).  Labels and gradients come from separate samples, as in the paper's resampling.
A client with spikes of two rivals goes to either with the same chance, which is exact where the
gaps are equal.

With ``rare`` > 0 the gradients of a step have rare jumps.  The noise of one sample is then a
centred compound Poisson variable along the line from the mean of the optima to the optimum: with
rate q it jumps by v/sqrt(q) to the inside.  Its variance is v^2 for every q.  The followed
cluster's clients have the q with which ``rare`` jumps are expected in all their samples, other
clusters' clients that with which ``rare`` are expected in all samples of strangers.  So Chebyshev's
inequality is nearly attained at probabilities near ``rare``.

``ifca.sc-step`` (design 112), one step of length 1/L of the smallest or the largest cluster:

* ``before``, ``after``: the error of the model.  ``after_squared``: its square.
* ``strangers``: other clusters' clients with its label.  ``right``: its own.
* ``stranger_share``: ``strangers / m``.
* ``pull``: norm of the strangers' part of the step.
* ``cross_squared``: squared norm of the noise in that part.

``ifca.sc-run`` (design 113), T such steps of all models with one law of the losses, whose spikes
close every gap that occurs:

* ``largest``: the largest final error.  ``smallest_squared``: squared final error of the smallest
  cluster's model.
* ``farthest_error``: the largest error of any model after any step.  ``farthest``: over the radius.
* ``rises``: 1 where the largest error rose in some step, else 0.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy import special

from trials.checks import FloatArray, IntArray, InvalidParameter
from trials.laws.spike import wrong_label
from trials.models import mixture as mx
from trials.parameters import Integer, Options, Parameters, Real
from trials.run.cell import Params
from trials.run.experiment import add_experiment


def geometry_fits(cell: Params) -> None:
    """Dimension, curvatures and shares agree."""
    if cell["d"] < cell["k"] - 1:
        raise InvalidParameter(f"d={cell['d']} must be >= k-1={cell['k'] - 1}")
    if cell["L"] < cell["lam"]:
        raise InvalidParameter(f"L={cell['L']} must be >= lam={cell['lam']}")
    if cell["m"] < cell["k"]:
        raise InvalidParameter(f"m={cell['m']} must be >= k={cell['k']}")


DELTA = Real(
    0.0,
    1.0,
    default=0.1,
    meaning="failure probability at which a claim reads its bound; the trials do not use it",
    open_low=True,
)
_COMMON: dict[str, Integer | Real | Options] = {
    "m": Integer(2, 10**15, default=1000, meaning="clients"),
    "n": Integer(1, 10**15, default=1000, meaning="fresh samples of a client"),
    "k": Integer(2, 1000, default=2, meaning="clusters"),
    "d": Integer(1, 1000, default=2, meaning="dimension"),
    "ratio": Real(1.0, 1e9, default=1.0, meaning="size of the largest cluster over the smallest"),
    "Delta": Real(0.0, 1e6, default=1.0, meaning="distance of two optima", open_low=True),
    "lam": Real(0.0, 1e6, default=1.0, meaning="strong convexity", open_low=True),
    "L": Real(0.0, 1e9, default=1.0, meaning="smoothness and inverse step size", open_low=True),
    "eta": Real(0.0, 1e12, default=1.0, meaning="deviation of the loss of one sample"),
    "v": Real(0.0, 1e12, default=1.0, meaning="deviation of the gradient of one sample"),
    "alpha": Real(0.0, 0.4999, default=0.25, meaning="closeness of the start", open_low=True),
    "start": Options(("edge", "optimum"), default="edge", meaning="where the models start"),
}


def radius(cell: Params) -> float:
    """The initial error that Assumption 6 allows."""
    return float((0.5 - cell["alpha"]) * math.sqrt(cell["lam"] / cell["L"]) * cell["Delta"])


def sizes(cell: Params) -> IntArray:
    """Whole cluster sizes (k,), the smallest first."""
    profile = cell.get("shape", "one-small") if cell["ratio"] > 1.0 else "equal"
    return _whole_sizes(cell["m"], cell["k"], cell["ratio"], profile).copy()


@lru_cache(maxsize=4096)
def _whole_sizes(m: int, k: int, ratio: float, profile: mx.Profile) -> IntArray:
    return mx.cluster_sizes(m, mx.fractions_with_ratio(k, ratio, profile))


def models(cell: Params) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Optima (k, d), models (k, d) and the diagonal of A (d,)."""
    optima = mx.simplex(cell["k"], cell["d"], cell["Delta"])
    curvature = np.full(cell["d"], cell["L"])
    curvature[: cell["k"] - 1] = cell["lam"]
    if cell["start"] == "optimum":
        return optima, optima.copy(), curvature
    inward = -optima / np.linalg.norm(optima, axis=1, keepdims=True)
    return optima, optima + radius(cell) * inward, curvature


def gap(cell: Params) -> float:
    """The difference of the mean losses of a rival and of the own model."""
    optima, start, curvature = models(cell)
    own, rival = start[0] - optima[0], start[1] - optima[0]
    return float(0.5 * curvature @ (rival**2 - own**2))


def _jumps(cell: Params, rng: np.random.Generator, clients: FloatArray, mean: float) -> FloatArray:
    """The summed noise of the mean gradients of so many ``clients`` in each trial, (n_trials,).

    ``mean`` is the number of clients that is expected.
    """
    if mean <= 0.0:
        return np.zeros_like(clients)
    expected = cell["rare"] * clients / mean
    jump = cell["v"] * math.sqrt(mean / (cell["rare"] * cell["n"]))
    return np.asarray(jump * (rng.poisson(expected) - expected))


def _simulate_step(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    optima, start, curvature = models(params)
    counts = sizes(params)
    wrong = wrong_label(gap(params), params["eta"], params["n"], params["k"])
    own = 0 if params["cluster"] == "smallest" else params["k"] - 1
    share = np.full(params["k"], wrong / (params["k"] - 1))
    share[own] = 1.0 - wrong
    labelled = rng.binomial(counts, share, (n_trials, params["k"])).astype(float)
    right = labelled[:, own].copy()
    labelled[:, own] = 0.0
    strangers = labelled.sum(axis=1)
    unit = 1.0 / (params["m"] * params["L"])
    if params["rare"] > 0.0:
        expected = counts * share
        means = (expected[own], expected.sum() - expected[own])
        inward = -optima[own] / np.linalg.norm(optima[own])
        noise = [
            _jumps(params, rng, clients, mean)[:, None] * inward
            for clients, mean in zip((right, strangers), means, strict=True)
        ]
    else:
        per_client = params["v"] / math.sqrt(params["n"] * params["d"])
        normal = per_client * rng.standard_normal((2, n_trials, params["d"]))
        noise = [-np.sqrt(right)[:, None] * normal[0], -np.sqrt(strangers)[:, None] * normal[1]]
    error = start[own] - optima[own]
    kept = error - unit * right[:, None] * curvature * error + unit * noise[0]
    cross = -unit * noise[1]
    pull = unit * (labelled @ ((start[own] - optima) * curvature)) + cross
    after = np.linalg.norm(kept - pull, axis=1)
    return np.column_stack(
        [
            np.full(n_trials, np.linalg.norm(error)),
            after,
            after**2,
            strangers,
            right,
            strangers / params["m"],
            np.linalg.norm(pull, axis=1),
            (cross**2).sum(axis=1),
        ]
    )


def log_tail_of_a_step(cell: Params, bound: float) -> tuple[float, float]:
    """Logs of a lower and an upper limit on P(``after`` > bound), for noise with rare jumps.

    Without a stranger and without a lost client the number of jumps alone is random: Poisson of
    mean ``rare``.  Labels come from other samples, so that the two are independent, and any wrong
    label counts as a failure from above.
    """
    optima, start, curvature = models(cell)
    counts = sizes(cell)
    wrong = wrong_label(gap(cell), cell["eta"], cell["n"], cell["k"])
    if wrong >= 1.0:
        return -math.inf, 0.0
    own = 0 if cell["cluster"] == "smallest" else cell["k"] - 1
    clients, others = float(counts[own]), float(cell["m"] - counts[own])
    log_right = clients * math.log1p(-wrong) + others * math.log1p(-wrong / (cell["k"] - 1))
    unit = 1.0 / (cell["m"] * cell["L"])
    error = start[own] - optima[own]
    kept = error - unit * clients * curvature * error
    inward = -optima[own] / np.linalg.norm(optima[own])
    mean = clients * (1.0 - wrong)
    expected = cell["rare"] * clients / mean
    jump = unit * cell["v"] * math.sqrt(mean / (cell["rare"] * cell["n"]))
    # (along + jump (N - expected))^2 + across^2 > bound^2, for the number N of jumps
    along = float(kept @ inward)
    across = float(np.linalg.norm(kept - along * inward))
    if bound < across:
        return log_right, 0.0
    if jump == 0.0:  # no noise
        tail = float(math.hypot(along, across) > bound)
        return log_right + _log(tail), _log(min(1.0, tail - math.expm1(log_right)))
    reach = math.sqrt(bound * bound - across * across)
    first = math.floor((reach - along) / jump + expected) + 1  # jumps from which it is too far
    last = math.ceil((-reach - along) / jump + expected) - 1  # jumps up to which it is behind
    tail = float(special.pdtrc(first - 1, expected)) if first > 0 else 1.0
    tail = min(1.0, tail + (float(special.pdtr(last, expected)) if last >= 0 else 0.0))
    most = min(1.0, tail - math.expm1(log_right))
    return log_right + _log(tail), _log(most)


def _log(chance: float) -> float:
    return math.log(chance) if chance > 0.0 else -math.inf


SC_STEP = add_experiment(
    name="ifca.sc-step",
    design=112,
    columns=(
        "before",
        "after",
        "after_squared",
        "strangers",
        "right",
        "stranger_share",
        "pull",
        "cross_squared",
    ),
    simulate=_simulate_step,
    parameters=Parameters(
        {
            **_COMMON,
            "cluster": Options(
                ("smallest", "largest"), default="smallest", meaning="whose model is followed"
            ),
            "shape": Options(
                ("one-small", "one-large"),
                default="one-small",
                meaning="whether one cluster is smaller than all others, or one is larger",
            ),
            "delta": DELTA,
            "rare": Real(
                0.0,
                1e6,
                default=0.0,
                meaning="jumps of the gradients' noise that are expected in a step, zero for "
                "Gaussian noise",
            ),
        },
        (geometry_fits,),
    ),
    cost=lambda cell: 1e-6 * (1.0 + 0.2 * cell["k"] + 0.1 * cell["d"]),
)


def widest_gap(cell: Params) -> float:
    """The largest gap while every model stays within the initial radius of its optimum."""
    return float(0.5 * cell["L"] * (cell["Delta"] + radius(cell)) ** 2)


def _simulate_run(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    optima, start, curvature = models(params)
    k, counts = params["k"], sizes(params)
    wrong = wrong_label(widest_gap(params), params["eta"], params["n"], k)
    table = np.full((k, k), wrong / (k - 1))
    np.fill_diagonal(table, 1.0 - wrong)
    theta = np.broadcast_to(start, (n_trials, k, params["d"])).copy()
    unit = 1.0 / (params["m"] * params["L"])
    per_client = params["v"] / math.sqrt(params["n"] * params["d"])
    before = np.linalg.norm(theta - optima, axis=2).max(axis=1)
    farthest, rises = np.zeros(n_trials), np.zeros(n_trials)
    for _ in range(params["T"]):
        labelled = np.stack(
            [rng.multinomial(counts[j], table[j], n_trials) for j in range(k)], axis=1
        ).astype(float)  # (trials, true cluster, label)
        total = labelled.sum(axis=1)
        step = total[:, :, None] * theta - np.einsum("tjl,jd->tld", labelled, optima)
        noise = per_client * np.sqrt(total)[:, :, None] * rng.standard_normal(theta.shape)
        theta -= unit * (curvature * step + noise)
        now = np.linalg.norm(theta - optima, axis=2).max(axis=1)
        farthest = np.maximum(farthest, now)
        rises = np.maximum(rises, now > before)
        before = now
    last = np.linalg.norm(theta - optima, axis=2)
    return np.column_stack(
        [last.max(axis=1), last[:, 0] ** 2, farthest, farthest / radius(params), rises]
    )


SC_RUN = add_experiment(
    name="ifca.sc-run",
    design=113,
    columns=("largest", "smallest_squared", "farthest_error", "farthest", "rises"),
    simulate=_simulate_run,
    parameters=Parameters(
        {**_COMMON, "T": Integer(1, 100_000, default=100, meaning="steps"), "delta": DELTA},
        (geometry_fits,),
    ),
    cost=lambda cell: 1e-7 * cell["T"] * cell["k"] * (cell["k"] + cell["d"]),
)
