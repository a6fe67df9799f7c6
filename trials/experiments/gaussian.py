r"""Experiments on Gaussian matrices: operator norm (104), noise (105), least squares (109).

*Least squares on data* (design 109) is the oracle that knows all identities.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trials.checks import (
    FloatArray,
    InvalidParameter,
    check_drawn,
    integer,
    integer_at_most,
    known_names,
    real,
)
from trials.laws.least_squares import squared_error_cdf
from trials.laws.noise import noise_norms, operator_norms
from trials.run.cell import Params
from trials.run.experiment import Experiment, register


def _check_matrix(params: Params) -> dict[str, Any]:
    known_names(params, {"N", "d"})
    return {name: integer_at_most(name, params.get(name, 100), 1, 10**9) for name in ("N", "d")}


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
    sigma = real("sigma", params.get("sigma", 1.0), 0.0)
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


def _check_least_squares(params: Params) -> dict[str, Any]:
    unknown = sorted(set(params) - {"N", "d", "sigma"})
    if unknown:
        raise InvalidParameter(f"unknown parameter {unknown[0]!r}; known: N, d, sigma")
    d = integer("d", params.get("d", 10), 1)
    n = integer("N", params.get("N", 100), d + 1)
    check_drawn("features N d", n * d)
    return {
        "d": d,
        "N": n,
        "sigma": real("sigma", params.get("sigma", 1.0), 0.0, strict=True),
    }


def _simulate_least_squares(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    n, d, sigma = params["N"], params["d"], params["sigma"]
    squared = np.empty(n_trials)
    for trial in range(n_trials):
        x = rng.standard_normal((n, d))
        noise = sigma * rng.standard_normal(n)
        # theta* = 0 loses nothing: the error of least squares does not depend on theta*
        squared[trial] = np.sum(np.linalg.lstsq(x, noise, rcond=None)[0] ** 2)
    return np.column_stack([squared, squared_error_cdf(squared, n, d, sigma)])


LEAST_SQUARES = register(
    Experiment(
        name="least-squares.data",
        design=109,
        # |theta_hat - theta*|^2 from drawn data, and the exact law's distribution function there
        columns=("squared_error", "law"),
        simulate=_simulate_least_squares,
        check=_check_least_squares,
        block_size=128,
    )
)
