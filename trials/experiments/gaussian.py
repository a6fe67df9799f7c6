r"""Experiments on Gaussian matrices and on least squares.

``gauss.opnorm`` (design 104): X is N x d standard Gaussian.

* ``s_max``, ``s_min``: its largest and its smallest singular value.
* ``gram_deviation``: the operator norm of :math:`X^\top X-NI`.

``gauss.noise`` (design 105): X as above, eps a noise vector :math:`N(0,\sigma^2I_N)`.

* ``xt_eps_norm``: the length of :math:`X^\top\epsilon`.
* ``frobenius``: the Frobenius norm of the same X.

``least-squares.data`` (design 109): least squares on drawn data, as an oracle does that knows the
cluster of every client.

* ``squared_error``: the squared distance of the estimate from the truth.
* ``law``: the exact law's distribution function at that value, which is uniform when the law is
  right.
"""

from __future__ import annotations

import numpy as np

from trials.checks import MAX_DRAWN, FloatArray, InvalidParameter, check_drawn
from trials.laws.least_squares import squared_error_cdf
from trials.laws.noise import gaussian_singular_values, noise_norms
from trials.parameters import Integer, Parameters, Real, fits_in_memory
from trials.run.cell import Params
from trials.run.experiment import add_experiment, on_faster_stream

_MOST_NUMBERS = 2**20  # of data that are drawn at once


def entries_fit(cell: Params) -> None:
    """min(N, d)^2 entries fit into memory."""
    check_drawn("entries min(N, d)^2", min(cell["N"], cell["d"]) ** 2)


def rows_exceed_columns(cell: Params) -> None:
    """N > d: least squares needs more rows than columns."""
    if cell["N"] <= cell["d"]:
        raise InvalidParameter(f"N={cell['N']} must exceed d={cell['d']}")


MATRIX = Parameters(
    {
        "N": Integer(1, 10**9, default=100, meaning="rows"),
        "d": Integer(1, 10**9, default=100, meaning="columns"),
    }
)


def _simulate_opnorm(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    rows, columns = params["N"], params["d"]
    s_max, s_min = gaussian_singular_values(rows, columns, rng, n_trials)
    # X^T X has d - N further eigenvalues, zero, where N < d
    smallest_sq = np.zeros(n_trials) if rows < columns else s_min**2
    deviation = np.maximum(s_max**2 - rows, rows - smallest_sq)
    return np.column_stack([s_max, s_min, deviation])


OPNORM = add_experiment(
    name="gauss.opnorm",
    design=104,
    columns=("s_max", "s_min", "gram_deviation"),
    simulate=_simulate_opnorm,
    parameters=MATRIX.extended({}, entries_fit),
)


def _simulate_noise(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    return np.column_stack(noise_norms(params["N"], params["d"], params["sigma"], rng, n_trials))


NOISE = add_experiment(
    name="gauss.noise",
    design=105,
    columns=("xt_eps_norm", "frobenius"),
    simulate=_simulate_noise,
    parameters=MATRIX.extended({"sigma": Real(0.0, default=1.0, meaning="noise level")}),
)


def _simulate_least_squares(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    n, d, sigma = params["N"], params["d"], params["sigma"]
    squared = np.empty(n_trials)
    at_once = max(1, _MOST_NUMBERS // (n * (d + 1)))
    for first in range(0, n_trials, at_once):
        part = squared[first : first + at_once]
        # The features, and the noise as a further column.  theta* = 0 loses nothing: the error of
        # least squares does not depend on theta*.
        data = rng.standard_normal((part.size, n, d + 1))
        data[..., d] *= sigma
        factor = np.asarray(np.linalg.qr(data, mode="r"))
        estimate = np.linalg.solve(factor[:, :d, :d], factor[:, :d, d:])
        part[:] = np.sum(estimate[..., 0] ** 2, axis=1)
    return np.column_stack([squared, squared_error_cdf(squared, n, d, sigma)])


LEAST_SQUARES = add_experiment(
    name="least-squares.data",
    design=109,
    columns=("squared_error", "law"),
    simulate=on_faster_stream(_simulate_least_squares),
    parameters=Parameters(
        {
            "d": Integer(1, MAX_DRAWN, default=10, meaning="dimension"),
            "N": Integer(2, MAX_DRAWN, default=100, meaning="rows"),
            "sigma": Real(0.0, open_low=True, default=1.0, meaning="noise level"),
        },
        (rows_exceed_columns, fits_in_memory("features", "N", "d")),
    ),
    block_size=128,
)
