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
from trials.run.experiment import add_experiment, each_trial, on_faster_stream

HALF_STEPS = 12
#: Dimensions up to which a moment matrix is formed and decomposed in full.
LARGEST_FORMED = 160
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
    ends = np.cumsum(rng.multinomial(m, shares_of(params)))
    first, second = rng.standard_normal((2, m))
    rows = rng.standard_normal((m, d))
    moments, squares = np.zeros((d, d)), np.empty((k, d, d))
    for j, end in enumerate(ends):
        own = slice(ends[j - 1] if j else 0, end)
        share, v = lengths[j] / spreads[j], rows[own]
        v[:, j] *= sigma / spreads[j]
        v[:, j] += share * second[own]
        v *= (spreads[j] ** 2 * first[own] * second[own])[:, None]
        moments[j] = share * (first[own] @ v)
        squares[j] = v.T @ v
    shrunk = np.ones((k, k))
    np.fill_diagonal(shrunk, (sigma / spreads) ** 2)
    roots = _roots(np.tensordot(shrunk, squares, 1))
    moments[:k] += (roots @ rng.standard_normal((k, d, 1)))[:, :, 0]
    moments[k:] = rng.standard_normal((d - k, d)) @ np.linalg.cholesky(squares.sum(axis=0)).T
    return np.asarray(moments / m)


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


def _anchor_step(
    drawn: Round, basis: FloatArray, params: Params, rng: np.random.Generator
) -> tuple[float, float]:
    """The anchor's estimate of its squared residual, and the squared residual after its step."""
    n_pairs, d = params["l"], len(basis)
    sigma, low = params["sigma"] * params["unit"], params["condition"]
    u, spectrum = drawn.u[-1], drawn.spectra[-1]
    features, noise = Law(name=params["features"]), Law(name=params["noise"])
    own = features.draw(rng, (2, n_pairs, d)) * np.sqrt(spectrum)
    answers = own @ u + sigma * noise.draw(rng, (2, n_pairs))
    projected = answers[:, :, None] * (own @ basis)
    left, values, _ = np.linalg.svd(projected[0].T @ projected[1] / n_pairs)
    direction = basis @ left[:, 0]
    direction *= 1.0 if projected.sum(axis=(0, 1)) @ left[:, 0] >= 0 else -1.0
    after = spectrum * u - 0.5 * low * np.sqrt(values[0]) * spectrum * direction
    return float(values[0]), float((after**2).sum())


def _simulate_rounds(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    isotropic = params["features"] == "gaussian" and params["condition"] == 1.0
    draw = draw_isotropic_round if isotropic and params["k"] <= params["d"] else draw_round
    rounds, shares = [draw(params, rng) for _ in range(n_trials)], shares_of(params)
    bases, deviations = _subspaces(rounds, shares, rng)
    rows = []
    for each, basis, deviation in zip(rounds, bases, deviations, strict=True):
        scale = float((each.u**2).sum(axis=1).max() + (params["sigma"] * params["unit"]) ** 2)
        squares, kept = (each.v**2).sum(axis=1), ((each.v @ basis) ** 2).sum(axis=1)
        lost = np.maximum(squares - kept, 0.0)
        length, after = _anchor_step(each, basis, params, rng)
        rows.append(
            (
                deviation / scale,
                (shares * lost).max() / scale,
                shares[-1] * lost[-1] / scale,
                (kept / squares).min(),
                abs(length - squares[-1]) / scale,
                after / squares[-1],
            )
        )
    return np.array(rows)


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
    first, second = rng.standard_normal((2, n_pairs))
    x = rng.standard_normal((n_pairs, k))  # the second half
    x[:, 0] *= noise / spread
    x[:, 0] += second / spread
    v = np.empty((n_pairs, k + 1))
    np.multiply(x, (first * second)[:, None], out=v[:, :k])
    v[:, k] = first
    squares = v.T @ v
    drawn = rng.standard_normal((k, k + 1)) @ np.linalg.cholesky(squares).T
    drawn[0] *= noise / spread
    drawn[0] += squares[k] / spread
    scale = unit * spread
    u = unit * np.eye(1, k)[0]
    return Pairs(u, scale**2 / n_pairs * drawn[:, :k], scale * (drawn[:, k] + second @ x))


def _anchor(params: Params, rng: np.random.Generator) -> tuple[float, ...]:
    gaussian = params["features"] == params["noise"] == "gaussian"
    draw = draw_gaussian_pairs if gaussian and params["l"] > params["k"] else draw_pairs
    u, moments, pull = draw(params, rng)
    k, length = len(u), float(u @ u)
    # The singular vectors of a matrix of low rank did not converge in LAPACK's gesdd.
    last = {"subset_by_index": (k - 1, k - 1), "check_finite": False}
    left = scipy.linalg.eigh(moments @ moments.T, **last)[1][:, 0]
    gap = moments - np.outer(u, u)
    largest = scipy.linalg.eigh(gap @ gap.T, eigvals_only=True, **last)[0]
    scale = length * (1.0 + params["outside"] ** 2 + params["sigma"] ** 2)
    return (
        float(np.sqrt(max(largest, 0.0))) / scale,
        float((left @ u) ** 2 / length),
        float((pull @ left) * (left @ u) > 0),
    )


ANCHOR = add_experiment(
    name="sxy.anchor",
    design=303,
    columns=("deviation", "kept", "right_sign"),
    simulate=on_faster_stream(each_trial(_anchor)),
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
