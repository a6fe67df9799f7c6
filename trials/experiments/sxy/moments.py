r"""Experiments on the moment matrices of one round of Phase 1.

``sxy.round`` (design 302): m clients with two rows each, and an anchor of the last cluster, the
smallest one, with l pairs of rows.  Residuals :math:`v_j=\Sigma_ju_j`, errors
:math:`u_j=\theta_j^*-\theta_t`, :math:`\delta` the largest :math:`\|u_j\|`.

* ``deviation``: :math:`\|Y-EY\|/(\delta^2+\sigma^2)`.
* ``lost``: the largest :math:`p_j\|(I-UU^\top)v_j\|^2/(\delta^2+\sigma^2)`.
* ``lost_last``: the same of the smallest cluster alone.
* ``kept``: the smallest :math:`\|U^\top v_j\|^2/\|v_j\|^2`.
* ``length_error``: :math:`|\hat\sigma^2-\|v_k\|^2|/(\delta^2+\sigma^2)` of the anchor.
* ``after``: the anchor's :math:`\|v\|^2` after its step over that before it, the direction's sign
  taken from its own rows.

``sxy.anchor`` (design 303): the matrix A of an anchor whose subspace is exact: k dimensions, l
pairs, residual u and a part of it outside of the subspace.

* ``deviation``: :math:`\|A-EA\|/(\|u\|^2+\sigma^2)`.
* ``kept``: :math:`\langle\hat\beta,v\rangle^2/\|v\|^2`.
* ``right_sign``: whether the anchor's own rows give the direction's sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg

from trials.checks import MAX_DRAWN, FloatArray, InvalidParameter, check_drawn
from trials.experiments.sxy.clients import in_parts
from trials.mixed_regression.deviations import deviation_norm
from trials.mixed_regression.subspaces import orthogonal_iteration, random_basis
from trials.models.federated_data import Law
from trials.parameters import (
    Integer,
    Options,
    Parameter,
    Parameters,
    Real,
    fits_in_memory,
    unchecked,
)
from trials.run.cell import Params
from trials.run.experiment import add_experiment, on_faster_stream

HALF_STEPS = 12
#: Dimensions up to which a moment matrix is formed and decomposed in full.
LARGEST_FORMED = 160
#: Numbers that are drawn and multiplied together: 256 KiB.
_AT_ONCE = 2**15
#: Order up to which LAPACK decomposes many matrices in one call, and beyond their largest
#: eigenvalues alone.
_DECOMPOSED = 32
_norm, _iterate = unchecked(deviation_norm), unchecked(orthogonal_iteration)

LAWS: dict[str, Parameter] = {
    "features": Options(
        ("gaussian", "rademacher", "uniform", "sparse"),
        default="gaussian",
        meaning="law of the features' coordinates",
    ),
    "noise": Options(
        ("gaussian", "rademacher", "uniform"), default="gaussian", meaning="law of the noise"
    ),
    "sigma": Real(0.0, 1e6, default=1.0, meaning="noise over the largest error"),
    "unit": Real(1e-9, 1e9, default=1.0, meaning="length of the largest error"),
}


def rows_fit(cell: Params) -> None:
    """m d and l d features fit into memory."""
    check_drawn("features (m + l) d", (cell["m"] + cell["l"]) * cell["d"])


def share_fits(cell: Params) -> None:
    """p k <= 1: no cluster is smaller than the last one."""
    if cell["p"] * cell["k"] > 1.0 + 1e-12:
        raise InvalidParameter(f"p={cell['p']:g} must be <= 1/k = {1 / cell['k']:g}")


def shares_of(params: Params) -> FloatArray:
    """The clusters' probabilities, (k,), the last one p and the others equal."""
    k, p = params["k"], params["p"]
    if k == 1:
        return np.ones(1)
    return np.append(np.full(k - 1, (1.0 - p) / (k - 1)), p)


def _errors(params: Params, rng: np.random.Generator) -> FloatArray:
    """The errors u_j, (k, d): orthogonal where there is room, the last one shorter."""
    k, d = params["k"], params["d"]
    u = rng.standard_normal((k, d))
    u = np.linalg.qr(u.T)[0].T if k <= d else u / np.linalg.norm(u, axis=1, keepdims=True)
    u[-1] *= params["short"]
    return np.asarray(params["unit"] * u)


class Round(NamedTuple):
    """A drawn round: the errors u, the diagonals of the covariances, and the moment matrix.

    ``matrix`` is Y.  Where it would be large, ``rows`` holds the clients' vectors (2, m, d) and
    their weights (m,) in its place.
    """

    u: FloatArray
    spectra: FloatArray
    matrix: FloatArray | None
    rows: tuple[FloatArray, FloatArray] | None

    @property
    def v(self) -> FloatArray:
        """(k, d) the residuals."""
        return self.spectra * self.u


def _clients(
    u: FloatArray, spectra: FloatArray, x: FloatArray, params: Params, rng: np.random.Generator
) -> Round:
    """A round with the directions x (2, m, d) of its clients, which may come in any order."""
    weights = _weigh(u, spectra, x, params, rng)
    if x.shape[2] > LARGEST_FORMED:
        return Round(u, spectra, None, (x, weights))
    matrix = (x[0] * weights[:, None]).T @ x[1] / len(weights)
    return Round(u, spectra, matrix, None)


def _weigh(
    u: FloatArray, spectra: FloatArray, x: FloatArray, params: Params, rng: np.random.Generator
) -> FloatArray:
    """The products (m,) of the residuals.  Directions x (2, m, d) get their covariances here."""
    sigma = params["sigma"] * params["unit"]
    residual = sigma * Law(name=params["noise"]).draw(rng, x.shape[:2])
    ends = np.cumsum(rng.multinomial(x.shape[1], shares_of(params)))
    for j, end in enumerate(ends):
        own = slice(ends[j - 1] if j else 0, end)
        if (spectra[j] != 1.0).any():
            x[:, own] *= np.sqrt(spectra[j])
        residual[:, own] += x[:, own] @ u[j]
    return np.asarray(residual[0] * residual[1])


def draw_round(params: Params, rng: np.random.Generator) -> Round:
    """The clients of one round, in full."""
    k, d, m = params["k"], params["d"], params["m"]
    u = _errors(params, rng)
    spectra = np.where(rng.random((k, d)) < 0.5, params["condition"], 1.0)
    return _clients(u, spectra, Law(name=params["features"]).draw(rng, (2, m, d)), params, rng)


def draw_isotropic_round(params: Params, rng: np.random.Generator) -> Round:
    """The same of Gaussian features with covariance I and k <= d, in at most k + m coordinates.

    The first k coordinates are those of the errors, since every column is invariant under
    rotations.  In the other d - k dimensions m rows of each half are L Q, with L Bartlett's factor
    and Q orthonormal rows that are independent of all else.  Where m < d - k they are a basis, of
    its own for each side of Y, in which the rows are L.
    """
    k, m = params["k"], params["m"]
    beyond = params["d"] - k
    u = params["unit"] * np.eye(k, k + min(beyond, m))
    u[-1] *= params["short"]
    if params["noise"] == "gaussian" and m >= 2 * params["d"] and params["d"] <= LARGEST_FORMED:
        return Round(u, np.ones_like(u), _draw_moments(u, params, rng), None)
    x = rng.standard_normal((2, m, k + min(beyond, m)))
    if m < beyond:
        x[:, :, k:] = np.tril(x[:, :, k:], -1)
        row = np.arange(m)
        x[:, row, k + row] = np.sqrt(rng.chisquare(beyond - row, (2, m)))
    return _clients(u, np.ones_like(u), x, params, rng)


def _draw_moments(u: FloatArray, params: Params, rng: np.random.Generator) -> FloatArray:
    r"""The matrix Y (d, d) of many clients with Gaussian noise, for errors u along the axes.

    With a client's residual r of variance :math:`\tau^2=\|u_j\|^2+\sigma^2`, his direction is
    :math:`ru_j/\tau^2` plus a Gaussian vector that is independent of r, with standard deviation
    :math:`\sigma/\tau` along :math:`u_j` and 1 across.  So of the first half only r is drawn.
    Given the second half times the weights, V_j of cluster j, row a of :math:`\sum_jB_j^\top V_j`
    with the vectors B is N(0, sum_j s_ja^2 V_j^T V_j), with the standard deviations s_ja.
    """
    (k, d), m = u.shape, params["m"]
    lengths = np.diagonal(u)
    sigma = params["sigma"] * params["unit"]
    spreads = np.hypot(lengths, sigma)
    moments, squares = np.zeros((d, d)), np.zeros((k, d, d))
    for j, count in enumerate(rng.multinomial(m, shares_of(params))):
        share = lengths[j] / spreads[j]
        for n in _pieces(count, d):
            first, second = rng.standard_normal((2, n))
            v = rng.standard_normal((d, n))
            v[j] *= sigma / spreads[j]
            v[j] += share * second
            v *= spreads[j] ** 2 * first * second
            moments[j] += share * (v @ first)
            squares[j] += v @ v.T
    shrunk = np.ones((k, k))
    np.fill_diagonal(shrunk, (sigma / spreads) ** 2)
    roots = _roots(np.tensordot(shrunk, squares, 1))
    moments[:k] += (roots @ rng.standard_normal((k, d, 1)))[:, :, 0]
    moments[k:] = rng.standard_normal((d - k, d)) @ np.linalg.cholesky(squares.sum(axis=0)).T
    return np.asarray(moments / m)


def _pieces(n_rows: int, d: int) -> list[int]:
    """The sizes of parts of n rows of d numbers that stay in the cache."""
    most = max(1, _AT_ONCE // d)
    return [min(most, n_rows - first) for first in range(0, n_rows, most)]


def _roots(covariances: FloatArray) -> FloatArray:
    """Matrices L (n, d, d) with L L^T = C, of matrices that may be singular where noise is zero."""
    try:
        return np.asarray(np.linalg.cholesky(covariances), dtype=np.float64)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariances)
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :])


def _subspaces(
    rounds: Sequence[Round], shares: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Bases (n, d, k) of the leading subspaces after `HALF_STEPS`, and norms (n,) of Y - EY."""
    k, d = rounds[0].u.shape
    starts = [random_basis(d, min(k, d), rng) for _ in rounds]
    if rounds[0].rows is not None:
        bases, norms = [], []
        for each, start in zip(rounds, starts, strict=True):
            assert each.rows is not None
            (first, second), weights = each.rows
            found = _iterate(
                first=first, second=second, weights=weights[None], start=start,
                n_iterations=HALF_STEPS,
            )  # fmt: skip
            bases.append(found.bases[0])
            norms.append(_norm(first, second, weights, each.v, shares, rng))
        return np.array(bases), np.array(norms)
    moments = np.array([each.matrix for each in rounds])
    leading = np.array(starts)
    for _ in range(HALF_STEPS // 2):
        leading = np.linalg.qr(moments @ (moments.transpose(0, 2, 1) @ leading))[0]
    v = np.array([each.v for each in rounds])
    expected = (v * shares[:, None]).transpose(0, 2, 1) @ v
    gaps = moments - expected
    squares = np.linalg.eigvalsh(gaps @ gaps.transpose(0, 2, 1))[:, -1]
    return leading, np.sqrt(np.maximum(squares, 0.0))


def _anchor_steps(
    u: FloatArray, spectra: FloatArray, bases: FloatArray, params: Params, rng: np.random.Generator
) -> FloatArray:
    """The anchors' estimates of their squared residuals, and these after their steps, (T, 2).

    The errors u and the covariances' diagonals are (T, d), the bases (T, d, k).
    """
    n_pairs, (n_trials, d) = params["l"], u.shape
    sigma, low = params["sigma"] * params["unit"], params["condition"]
    features, noise = Law(name=params["features"]), Law(name=params["noise"])
    own = features.draw(rng, (n_trials, 2 * n_pairs, d)) * np.sqrt(spectra)[:, None]
    answers = (own @ u[:, :, None])[:, :, 0] + sigma * noise.draw(rng, (n_trials, 2 * n_pairs))
    projected = answers[:, :, None] * (own @ bases)
    halves = projected[:, :n_pairs].swapaxes(1, 2), projected[:, n_pairs:]
    left, values, _ = np.linalg.svd(halves[0] @ halves[1] / n_pairs)
    leading = left[:, :, 0]
    leading *= np.where((projected.sum(axis=1) * leading).sum(axis=1) >= 0, 1.0, -1.0)[:, None]
    direction = (bases @ leading[:, :, None])[:, :, 0]
    after = spectra * (u - 0.5 * low * np.sqrt(values[:, :1]) * direction)
    return np.column_stack([values[:, 0], (after**2).sum(axis=1)])


def _simulate_rounds(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    isotropic = params["features"] == "gaussian" and params["condition"] == 1.0
    draw = draw_isotropic_round if isotropic and params["k"] <= params["d"] else draw_round
    rounds, shares = [draw(params, rng) for _ in range(n_trials)], shares_of(params)
    bases, deviations = _subspaces(rounds, shares, rng)
    u, spectra = (np.array([getattr(each, name) for each in rounds]) for name in ("u", "spectra"))
    v = spectra * u
    scale = (u**2).sum(axis=2).max(axis=1) + (params["sigma"] * params["unit"]) ** 2
    squares, kept = (v**2).sum(axis=2), ((v @ bases) ** 2).sum(axis=2)
    lost = np.maximum(squares - kept, 0.0)
    steps, first = [], 0
    for n in _pieces(n_trials, 2 * params["l"] * u.shape[2]):
        part = slice(first, first + n)
        steps.append(_anchor_steps(u[part, -1], spectra[part, -1], bases[part], params, rng))
        first += n
    length, after = np.concatenate(steps).T
    return np.column_stack(
        [
            deviations / scale,
            (shares * lost).max(axis=1) / scale,
            shares[-1] * lost[:, -1] / scale,
            (kept / squares).min(axis=1),
            np.abs(length - squares[:, -1]) / scale,
            after / squares[:, -1],
        ]
    )


def round_cost(params: Params) -> float:
    """CPU seconds of a trial: random numbers and passes over the features."""
    return float(1.5e-3 + 6e-8 * params["d"] * (params["m"] + params["l"]))


ROUND = add_experiment(
    name="sxy.round",
    design=302,
    columns=("deviation", "lost", "lost_last", "kept", "length_error", "after"),
    simulate=on_faster_stream(_simulate_rounds),
    block_size=32,
    cost=round_cost,
    parameters=Parameters(
        {
            "d": Integer(1, 10_000, default=10, meaning="dimension"),
            "k": Integer(1, 1000, default=2, meaning="clusters"),
            "m": Integer(1, MAX_DRAWN, default=1000, meaning="clients with two rows"),
            "l": Integer(1, MAX_DRAWN, default=100, meaning="pairs of the anchor's rows"),
            "p": Real(
                0.0,
                1.0,
                open_low=True,
                default=lambda cell: 1.0 / cell["k"],
                meaning="probability of the smallest cluster",
            ),
            "short": Real(
                0.0, 1.0, open_low=True, default=1.0, meaning="its error over the largest one"
            ),
            "condition": Real(1e-3, 1.0, default=1.0, meaning="alpha over beta = 1"),
            **LAWS,
        },
        (rows_fit, share_fits),
    ),
)


class Pairs(NamedTuple):
    """An anchor's pairs: its residual u (k,), the matrix A (k, k), and the sum of its rows (k,)."""

    u: FloatArray
    moments: FloatArray
    pull: FloatArray


def draw_pairs(params: Params, rng: np.random.Generator) -> Pairs:
    """The pairs of an anchor, in full."""
    k, n_pairs = params["k"], params["l"]
    u = rng.standard_normal(k)
    u *= params["unit"] / np.linalg.norm(u)
    sigma = params["sigma"] * params["unit"]
    features, noise = Law(name=params["features"]), Law(name=params["noise"])
    x = features.draw(rng, (2, n_pairs, k))
    beyond = params["outside"] * params["unit"]
    answers = x @ u + beyond * features.draw(rng, (2, n_pairs))
    answers += sigma * noise.draw(rng, (2, n_pairs))
    projected = answers[:, :, None] * x
    return Pairs(u, projected[0].T @ projected[1] / n_pairs, projected.sum(axis=(0, 1)))


def draw_gaussian_pairs(params: Params, rng: np.random.Generator) -> Pairs:
    r"""The same of Gaussian features and noise and l > k pairs, from half of the numbers.

    The first coordinate is the residual's, since the law is invariant under rotations.  With an
    answer a of variance :math:`\tau^2`, a row is a over :math:`\tau^2` times u plus a Gaussian
    vector that is independent of a, as in `_draw_moments`.  Of the first half only the answers are
    drawn.  Given V, which holds the second half times the weights and the answers of the first,
    :math:`B^\top V` with the vectors B has independent rows, multiples of :math:`N(0,V^\top V)`.
    """
    k, n_pairs, unit = params["k"], params["l"], params["unit"]
    noise = np.hypot(params["outside"], params["sigma"])
    spread = np.hypot(1.0, noise)
    squares, pull = np.zeros((k + 1, k + 1)), np.zeros(k)
    for n in _pieces(n_pairs, k):
        first, second = rng.standard_normal((2, n))
        x = rng.standard_normal((k, n))  # the second half
        x[0] *= noise / spread
        x[0] += second / spread
        pull += x @ second
        x *= first * second
        squares[:k, :k] += x @ x.T
        squares[k, :k] += x @ first
        squares[k, k] += first @ first
    # the lower triangle is read
    drawn = rng.standard_normal((k, k + 1)) @ np.linalg.cholesky(squares).T
    drawn[0] *= noise / spread
    drawn[0] += squares[k] / spread
    scale = unit * spread
    u = unit * np.eye(1, k)[0]
    return Pairs(u, scale**2 / n_pairs * drawn[:, :k], scale * (drawn[:, k] + pull))


def _leading(matrices: FloatArray) -> FloatArray:
    """Unit eigenvectors (T, k) of the largest eigenvalues of symmetric matrices (T, k, k)."""
    k = matrices.shape[1]
    if k <= _DECOMPOSED:
        return np.asarray(np.linalg.eigh(matrices)[1][:, :, -1])
    found = [scipy.linalg.eigh(each, subset_by_index=(k - 1, k - 1))[1] for each in matrices]
    return np.array(found)[:, :, 0]


def _largest(matrices: FloatArray) -> FloatArray:
    """The largest eigenvalues (T,) of symmetric matrices (T, k, k)."""
    k = matrices.shape[1]
    if k <= _DECOMPOSED:
        return np.asarray(np.linalg.eigvalsh(matrices)[:, -1])
    only = {"subset_by_index": (k - 1, k - 1), "eigvals_only": True}
    return np.array([scipy.linalg.eigh(each, **only)[0] for each in matrices])


def _simulate_anchors(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    gaussian = params["features"] == params["noise"] == "gaussian"
    draw = draw_gaussian_pairs if gaussian and params["l"] > params["k"] else draw_pairs
    drawn = [draw(params, rng) for _ in range(n_trials)]
    u, moments, pull = (np.array(each) for each in zip(*drawn, strict=True))
    length = (u**2).sum(axis=1)
    # The singular vectors of a matrix of low rank did not converge in LAPACK's gesdd.
    left = _leading(moments @ moments.swapaxes(1, 2))
    gap = moments - u[:, :, None] * u[:, None]
    deviation = np.sqrt(np.maximum(_largest(gap @ gap.swapaxes(1, 2)), 0.0))
    along = (left * u).sum(axis=1)
    return np.column_stack(
        [
            deviation / (length * (1.0 + params["outside"] ** 2 + params["sigma"] ** 2)),
            along**2 / length,
            (pull * left).sum(axis=1) * along > 0,
        ]
    )


ANCHOR = add_experiment(
    name="sxy.anchor",
    design=303,
    columns=("deviation", "kept", "right_sign"),
    simulate=on_faster_stream(in_parts(_simulate_anchors, lambda params: params["k"] ** 2)),
    block_size=64,
    cost=lambda params: 1.5e-4 + 5e-8 * params["l"] * params["k"],
    parameters=Parameters(
        {
            "k": Integer(1, 1000, default=2, meaning="dimensions of the subspace"),
            "l": Integer(1, MAX_DRAWN, default=100, meaning="pairs of the anchor's rows"),
            "outside": Real(
                0.0, 1e3, default=0.0, meaning="error outside of the subspace over that inside"
            ),
            **LAWS,
        },
        (fits_in_memory("features", "l", "k"),),
    ),
)
