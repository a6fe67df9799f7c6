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

import numpy as np

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
from trials.run.experiment import add_experiment, each_trial

HALF_STEPS = 12
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


def _round(params: Params, rng: np.random.Generator) -> tuple[float, ...]:
    k, d, m, n_pairs = params["k"], params["d"], params["m"], params["l"]
    u, shares = _errors(params, rng), shares_of(params)
    sigma = params["sigma"] * params["unit"]
    features, noise = Law(name=params["features"]), Law(name=params["noise"])
    low = params["condition"]
    spectra = np.where(rng.random((k, d)) < 0.5, low, 1.0)
    v = spectra * u
    scale = float((u**2).sum(axis=1).max() + sigma**2)

    z = rng.choice(k, m, p=shares)
    x = features.draw(rng, (2, m, d)) * np.sqrt(spectra)[z]
    residual = np.einsum("smd,md->sm", x, u[z]) + sigma * noise.draw(rng, (2, m))
    weights = residual[0] * residual[1]
    n_columns = min(k, d)
    basis = _iterate(
        first=x[0], second=x[1], weights=weights[None], start=random_basis(d, n_columns, rng),
        n_iterations=HALF_STEPS,
    ).bases[0]  # fmt: skip
    inside = v @ basis
    squares, kept = (v**2).sum(axis=1), (inside**2).sum(axis=1)
    lost = np.maximum(squares - kept, 0.0)
    deviation = _norm(x[0], x[1], weights, v, shares, rng)

    own = features.draw(rng, (2, n_pairs, d)) * np.sqrt(spectra[-1])
    answers = own @ u[-1] + sigma * noise.draw(rng, (2, n_pairs))
    projected = answers[:, :, None] * (own @ basis)
    moments = projected[0].T @ projected[1] / n_pairs
    left, values, _ = np.linalg.svd(moments)
    direction = basis @ left[:, 0]
    direction *= 1.0 if projected.sum(axis=(0, 1)) @ left[:, 0] >= 0 else -1.0
    after = v[-1] - 0.5 * low * np.sqrt(values[0]) * spectra[-1] * direction
    return (
        deviation / scale,
        float((shares * lost).max() / scale),
        float(shares[-1] * lost[-1] / scale),
        float((kept / squares).min()),
        float(abs(values[0] - squares[-1]) / scale),
        float((after**2).sum() / squares[-1]),
    )


def round_cost(params: Params) -> float:
    """CPU seconds of a trial: random numbers and passes over the features."""
    return float(1.5e-3 + 6e-8 * params["d"] * (params["m"] + params["l"]))


ROUND = add_experiment(
    name="sxy.round",
    design=302,
    columns=("deviation", "lost", "lost_last", "kept", "length_error", "after"),
    simulate=each_trial(_round),
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


def _anchor(params: Params, rng: np.random.Generator) -> tuple[float, ...]:
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
    moments = projected[0].T @ projected[1] / n_pairs
    # The singular vectors of a matrix of low rank did not converge in LAPACK's gesdd.
    left = np.linalg.eigh(moments @ moments.T)[1][:, -1]
    sign = projected.sum(axis=(0, 1)) @ left
    length = float(u @ u)
    return (
        float(np.linalg.norm(moments - np.outer(u, u), 2)) / (length + beyond**2 + sigma**2),
        float((left @ u) ** 2 / length),
        float(sign * (left @ u) > 0),
    )


ANCHOR = add_experiment(
    name="sxy.anchor",
    design=303,
    columns=("deviation", "kept", "right_sign"),
    simulate=each_trial(_anchor),
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
