r"""Experiments on the uniform deviation of wrong labels.

``sxy.weighted-sup`` (design 241): M weights on V points at random, and the class of all subsets of
the points, whose VC dimension is V.

* ``sup``: :math:`\sup_f|G(f)-EG(f)|`, which is half the sum of the points' deviations.
* ``centred``: the same less its expectation, which is exact.
* ``norm``: :math:`\sqrt{\sum_i\lambda_i^2}`.

``sxy.uniform-deviation`` (design 242): one feature, two clusters.  With
:math:`r_i=\langle x_i,y_i\rangle/|x_i|^2` a client prefers the model on its side of the middle of
both models.  So :math:`G_j` depends on the middle alone, and :math:`(r_i-\theta^*)/\sigma` times
:math:`\sqrt{n_i}` is a Student variable of :math:`n_i` degrees: the data are never drawn.

* ``lower``, ``upper``: limits of :math:`\sup_\theta|G_1-EG_1|/N`.  They differ by what the
  expectation may do between two neighbouring clients.

``sxy.ball`` (design 250): the same clients, of which only those in the ball are drawn one by one.

* ``ball``: the largest :math:`N_{S_j}/N` over models within ``near`` Delta of their optima.  The
  counts on its two sides are multinomial, and the places inside are drawn given their number.

``sxy.deviation-direction`` (design 243): two clusters in d + 1 dimensions, models v and -v with v
orthogonal to both optima, where every label is wrong with probability one half.  Given a client's
responses y, the sum of its rows times y is |y| times a Gaussian vector in the d other dimensions.
So a label depends on the sign of the product of v with such a vector.  The data choose v as the
sum of these vectors z_i, weighted by the clients' rows n.  With :math:`a=n/|n|` the part of Z along
a is :math:`g^\top\sim N(0,I_d)`, :math:`v=|n|g`, and the rest of Z is independent of it.  So
:math:`Zv/(|n||g|)` is :math:`a|g|` plus a Gaussian vector orthogonal to a, from M + 1 numbers.

* ``found``: :math:`|G_1-EG_1|/N` for the direction v that the data choose.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import scipy
from scipy import special

from trials.checks import MAX_DRAWN, FloatArray, IntArray, InvalidParameter
from trials.experiments.sxy.clients import in_parts
from trials.kernel import kernel
from trials.parameters import Integer, Parameters, Real
from trials.run.cell import Params
from trials.run.experiment import add_experiment, each_trial, on_faster_stream


def large_fit(cell: Params) -> None:
    """At most M clients are large."""
    if cell["n_many"] > cell["M"]:
        raise InvalidParameter(f"n_many={cell['n_many']} must be <= M={cell['M']}")


SIZES = Parameters(
    {
        "M": Integer(2, MAX_DRAWN, default=100, meaning="clients"),
        "n": Integer(1, 10**9, default=1, meaning="rows of a client"),
        "n_many": Integer(0, MAX_DRAWN, default=0, meaning="clients with more rows"),
        "n_large": Integer(1, 10**9, default=1, meaning="rows of these clients"),
    },
    (large_fit,),
)


def sizes_of(params: Params) -> FloatArray:
    """(M,) rows of the clients, the large ones first."""
    small = np.full(params["M"] - params["n_many"], float(params["n"]))
    return np.concatenate([np.full(params["n_many"], float(params["n_large"])), small])


def skewness(params: Params) -> float:
    r""":math:`\chi^2(n)+1` of a cell of `SIZES`, by its definition."""
    sizes = sizes_of(params)
    return float(((sizes / sizes.mean() - 1.0) ** 2).mean() + 1.0)


# -- weights on V points -------------------------------------------------------------------------


def expected_supremum(params: Params) -> float:
    """The expectation of ``sup``: V/2 times the mean absolute deviation of one point's weight."""
    chance, many = 1.0 / params["V"], params["n_many"]
    (large, p), (small, q) = _likely(many, chance), _likely(params["M"] - many, chance)
    weight = params["n_large"] * large[:, None] + params["n"] * small
    deviation = np.abs(weight - sizes_of(params).sum() * chance)
    return float(0.5 * params["V"] * np.sum(np.outer(p, q) * deviation))


def log_tail_on_two_points(params: Params, deviation: float) -> float:
    """Log of the probability that ``centred`` exceeds a deviation, for V = 2.

    The supremum is then the distance of one point's weight from its mean.  The weight is a sum of
    two binomial counts, and the law is exact to rounding down to probabilities of 1e-35.
    """
    many = params["n_many"]
    (large, p), (small, q) = _likely(many, 0.5), _likely(params["M"] - many, 0.5)
    weight = params["n_large"] * large[:, None] + params["n"] * small
    distance = np.abs(weight - 0.5 * sizes_of(params).sum())
    beyond = distance - expected_supremum(params) > deviation
    chance = float(np.outer(p, q)[beyond].sum())
    return math.log(chance) if chance > 0.0 else -80.0  # what was left out is below e^-80


def _likely(n: int, chance: float) -> tuple[IntArray, FloatArray]:
    """Counts of successes in n tries with their probabilities, down to 1e-40.

    Deviations are below 1e16 times their mean, so the rest is lost in rounding.
    """
    counts = np.arange(n + 1)
    p = scipy.stats.binom.pmf(counts, n, chance)
    return counts[p > 1e-40], p[p > 1e-40]


def _simulate_weights(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    sizes, points = sizes_of(params), params["V"]
    where = rng.integers(0, points, (n_trials, params["M"]))
    where += points * np.arange(n_trials)[:, None]
    weights = np.broadcast_to(sizes, where.shape).ravel()
    total = np.bincount(where.ravel(), weights, n_trials * points).reshape(n_trials, points)
    sup = 0.5 * np.abs(total - sizes.sum() / points).sum(axis=1)
    norm = np.full(n_trials, np.sqrt(np.sum(sizes**2)))
    return np.column_stack([sup, sup - expected_supremum(params), norm])


WEIGHTED_SUP = add_experiment(
    name="sxy.weighted-sup",
    design=241,
    columns=("sup", "centred", "norm"),
    simulate=_simulate_weights,
    parameters=SIZES.extended(
        {"V": Integer(2, 10**6, default=2, meaning="points, the VC dimension")}
    ),
    block_size=64,
)


# -- one feature, two clusters -------------------------------------------------------------------

_NODES = 2048
_FAR = 9.0  # beyond, a tail is below 1e-18
_LEAST_KEPT = 0.2  # of uniform points in an interval: below, its points are found by inversion
_FEW = 12.0  # degrees of freedom from which the density in s is smooth enough


@cache
def _pieces(n: float) -> FloatArray:
    """(nodes - 1, 6) coefficients of the quintics that meet F, F' and F'' at the nodes."""
    s = np.linspace(-_FAR, _FAR, _NODES) if n > _FAR**2 else np.sqrt(n) * np.linspace(-1, 1, _NODES)
    step = s[1] - s[0]
    inner = np.maximum(1.0 - s * s / n, 0.0)
    tails = special.stdtr(n, s / np.sqrt(np.maximum(inner, 1e-300)))
    top = 1.0 / (np.sqrt(n) * special.beta(0.5, 0.5 * n))  # the density at zero
    slope = top * inner ** (0.5 * n - 1.0) * step
    bend = -top * (n - 2.0) / n * s * inner ** (0.5 * n - 2.0) * step**2
    a, da, d2a = tails[:-1], slope[:-1], bend[:-1]
    rise, dz, d2z = np.diff(tails), slope[1:], bend[1:]
    return np.stack([
        a, da, 0.5 * d2a,
        10.0 * rise - 6.0 * da - 4.0 * dz - 1.5 * d2a + 0.5 * d2z,
        -15.0 * rise + 8.0 * da + 7.0 * dz + 1.5 * d2a - d2z,
        6.0 * rise - 3.0 * da - 3.0 * dz - 0.5 * d2a + 0.5 * d2z,
    ], axis=1)  # fmt: skip


def student_cdf(n: float, t: FloatArray) -> FloatArray:
    r"""Student's distribution function with n degrees of freedom, to 1e-14 up to n = 1e4.

    In :math:`s=t/\sqrt{1+t^2/n}` the density is :math:`c(1-s^2/n)^{n/2-1}`, close to a Gaussian
    for every n.  So quintic pieces between 2,048 nodes are exact to rounding.  Few degrees have
    closed forms.
    """
    if n < _FEW:
        return _of_few_degrees(int(n), t)
    values = np.empty(t.shape)
    within = np.clip(t, -1e150, 1e150)  # squares do not overflow
    _read_pieces(_pieces(n), n, min(_FAR, math.sqrt(n)), within, values)
    return values


def _of_few_degrees(n: int, t: FloatArray) -> FloatArray:
    r"""The same from the finite sums in :math:`\theta=\arctan(t/\sqrt n)`.

    Abramowitz & Stegun, 26.7.3 and 26.7.4.
    """
    tangent = np.clip(t / math.sqrt(n), -1e150, 1e150)  # its square does not overflow
    square = 1.0 / (1.0 + tangent * tangent)  # of the cosine
    cosine = np.sqrt(square)
    # 1 + 2/3 c^2 + (2 4)/(3 5) c^4 + ... for odd n, 1 + 1/2 c^2 + (1 3)/(2 4) c^4 + ... for even n
    total = np.ones_like(square)
    for power in range(n - 3, 0, -2):
        total = 1.0 + total * square * (power / (power + 1.0))
    if n % 2 == 0:
        return np.asarray(0.5 + 0.5 * tangent * cosine * total)
    inside = np.arctan(tangent)
    if n > 1:
        inside += tangent * square * total
    return np.asarray(0.5 + inside / math.pi)


@kernel(error_model="numpy")
def _read_pieces(
    pieces: FloatArray, n: float, reach: float, t: FloatArray, out: FloatArray
) -> None:
    """The values (m,) of the quintics between -reach and reach at the places s of t (m,)."""
    last = len(pieces)  # of the nodes
    for i in range(t.size):
        s = t[i] / math.sqrt(1.0 + t[i] * t[i] / n)
        place = min(max((s + reach) * (last / (2.0 * reach)), 0.0), float(last))
        at = min(int(place), last - 1)
        place -= at
        value = pieces[at, 5]
        for power in range(4, -1, -1):
            value = value * place + pieces[at, power]
        out[i] = value


def _draw_sides(
    params: Params, rng: np.random.Generator
) -> tuple[FloatArray, IntArray, FloatArray]:
    """The clients' rows, labels, and r, (M,) each."""
    sizes = sizes_of(params)
    labels = np.arange(params["M"]) % 2
    if params["n_many"]:  # the large clients come first
        labels = rng.permutation(labels)
    optima = params["Delta"] * (labels - 0.5)
    degrees = sizes if params["n_many"] else sizes[0]
    noise = params["sigma"] * rng.standard_t(degrees, params["M"])
    return sizes, labels, optima + noise / np.sqrt(degrees)


def _one_supremum(params: Params, rng: np.random.Generator) -> tuple[float, float]:
    sizes, labels, r = _draw_sides(params, rng)
    half, sigma = 0.5 * params["Delta"], params["sigma"]
    order = np.argsort(r)
    at, own = r[order], labels[order]
    # theta_1 < theta_2 with the middle at c: cluster 1 errs where r >= c, cluster 2 where r <= c
    jumps = np.where(own == 0, -sizes[order], sizes[order])
    first = sizes[labels == 0].sum()
    after = first + np.cumsum(jumps)  # the count for c just above each point
    before = after - jumps
    expected, moved = np.full(at.size, 0.0), np.zeros(at.size)
    for n in np.unique(sizes):
        scale = np.sqrt(n) / sigma
        for j, sign in ((0, -1.0), (1, 1.0)):
            rows = n * np.count_nonzero((sizes == n) & (labels == j))
            cdf = student_cdf(n, scale * (at - (-half if j == 0 else half)))
            expected += rows * (cdf if sign > 0 else 1.0 - cdf)
            moved += rows * cdf  # both parts are monotone in c
    total = sizes.sum()
    lower = max(np.abs(after - expected).max(), np.abs(before - expected).max())
    between = np.diff(moved, prepend=0.0, append=total).max()
    return lower / total, (lower + between) / total


LINE = SIZES.extended(
    {
        "Delta": Real(0.0, 1e6, open_low=True, default=1.0, meaning="distance"),
        "sigma": Real(0.0, 1e9, open_low=True, default=1.0, meaning="noise level"),
    }
)
UNIFORM = add_experiment(
    name="sxy.uniform-deviation",
    design=242,
    columns=("lower", "upper"),
    simulate=each_trial(_one_supremum),
    parameters=LINE,
    block_size=32,
)


def _between(rng: np.random.Generator, n: float, low: float, high: float, count: int) -> FloatArray:
    """``count`` values of Student's law with n degrees between 0 <= low and high.

    The density falls from ``low`` on.  So uniform points are kept in proportion to it, unless most
    would be lost.
    """
    if not count:
        return np.empty(0)
    far, near = special.stdtr(n, [-high, -low])
    peak = math.exp(-0.5 * (n + 1.0) * math.log1p(low * low / n))
    peak /= math.sqrt(n) * special.beta(0.5, 0.5 * n)
    if near - far < _LEAST_KEPT * peak * (high - low):
        return np.asarray(-special.stdtrit(n, rng.uniform(far, near, count)))
    kept, found = (near - far) / (peak * (high - low)), np.empty(0)
    while found.size < count:
        at = rng.uniform(low, high, int(1.05 * (count - found.size) / kept) + 16)
        falls = np.log1p((at * at - low * low) / (n + low * low)) * (-0.5 * (n + 1.0))
        found = np.append(found, at[rng.random(at.size) < np.exp(falls)])
    return found[:count]


def _largest_in_ball(params: Params, rng: np.random.Generator) -> tuple[float]:
    """The largest error with the middle in the ball, from the clients that the ball holds.

    The others count by the side on which they are.  Clients of the second cluster are those of the
    first one, mirrored.
    """
    m, many = params["M"], params["n_many"]
    in_first = (m + 1) // 2
    large = int(rng.hypergeometric(in_first, m - in_first, many)) if many else 0
    counts = {params["n_large"]: (large, many - large)} if many else {}
    rest = in_first - large, m - in_first - (many - large)
    half, reach = 0.5 * params["Delta"], params["near"] * params["Delta"]
    start, places, jumps = 0.0, [], []
    for size, of_clusters in (*counts.items(), (params["n"], rest)):
        scale = params["sigma"] / math.sqrt(size)
        low, high = (half - reach) / scale, (half + reach) / scale
        far, near = special.stdtr(size, [-high, -low])
        for count, side in zip(of_clusters, (1.0, -1.0), strict=True):
            _, inside, beyond = rng.multinomial(count, [1.0 - near, near - far, far])
            start += size * (beyond + (inside if side > 0 else 0))
            places.append(side * (scale * _between(rng, size, low, high, inside) - half))
            jumps.append(np.full(inside, -side * size))
    order = np.argsort(np.concatenate(places))
    steps = np.cumsum(np.concatenate(jumps)[order])
    return ((start + steps.max(initial=0.0)) / sizes_of(params).sum(),)


BALL = add_experiment(
    name="sxy.ball",
    design=250,
    columns=("ball",),
    simulate=each_trial(_largest_in_ball),
    parameters=LINE.extended(
        {"near": Real(0.0, 0.5, default=0.1, meaning="radius of the ball over Delta")}
    ),
    block_size=32,
)


# -- a direction that the data choose ------------------------------------------------------------


def _simulate_directions(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    sizes = sizes_of(params)
    unit = sizes / np.linalg.norm(sizes)
    noise = rng.standard_normal((n_trials, params["M"]))
    length = np.sqrt(rng.chisquare(params["d"], n_trials))
    wrong = noise + (length - noise @ unit)[:, None] * unit >= 0
    found = np.abs((wrong - 0.5) @ sizes) / sizes.sum()
    return np.asarray(found[:, None])


DIRECTION = add_experiment(
    name="sxy.deviation-direction",
    design=243,
    columns=("found",),
    simulate=on_faster_stream(in_parts(_simulate_directions, lambda params: params["M"])),
    parameters=SIZES.extended(
        {"d": Integer(1, MAX_DRAWN, default=5, meaning="dimension less one")}
    ),
    block_size=32,
)
