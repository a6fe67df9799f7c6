r"""One round of Phase 1 from a start that is drawn before the data, and from one that they choose.

``sxy.chosen-start`` (design 309): m clients of two clusters with two rows each, identity covariance
and :math:`\Delta=1`.  Both starts have the norm R.  With :math:`\theta_0=Rw` a client's two
residuals are close to :math:`-R\langle x_{i1},w\rangle` and :math:`-R\langle x_{i2},w\rangle`.  So
a w between the two rows of one client gives it a weight of order :math:`R^2d`, and its part of Y
has the norm :math:`R^2d^2/m`.  The data choose a w between the rows of two clients, those with the
longest rows.  Then both singular vectors of Y are rows of theirs.

* ``drawn``, ``chosen``: the smallest share :math:`\|U^\top v_j\|^2/\|v_j\|^2` of a squared residual
  that the top two left singular vectors of Y keep, from each start.
"""

from __future__ import annotations

import numpy as np

from trials.checks import MAX_DRAWN, FloatArray, IntArray, check_drawn
from trials.parameters import Integer, Parameters, Real
from trials.run.cell import Params
from trials.run.experiment import add_experiment, each_trial

#: Clusters, and clients to which the chosen start is tuned.
K = 2
#: The share of the chosen start's square that lies along the first rows of these clients.
ALONG_FIRST = 0.2


def _find_kept_share(x: FloatArray, noise: FloatArray, errors: FloatArray, z: IntArray) -> float:
    """The smallest share of a squared residual in the span of the top singular vectors."""
    residuals = np.einsum("smd,md->sm", x, errors[z]) + noise
    # The two residuals of a client come from different rows, so that their product has the mean
    # of the moment without the noise's variance.
    moments = (x[0] * np.prod(residuals, axis=0)[:, None]).T @ x[1]
    # The left singular vectors, by the symmetric product: eigenvalues are in increasing order.
    inside = errors @ np.linalg.eigh(moments @ moments.T)[1][:, -K:]
    return float(((inside**2).sum(axis=1) / (errors**2).sum(axis=1)).min())


def _of_norm(vector: FloatArray, norm: float) -> FloatArray:
    return np.asarray(norm / np.linalg.norm(vector) * vector)


def _round(params: Params, rng: np.random.Generator) -> tuple[float, float]:
    d, m, radius = params["d"], params["m"], params["R"]
    drawn = _of_norm(rng.standard_normal((d,)), radius)
    models = np.eye(K, d) / np.sqrt(2.0)
    z = rng.integers(0, K, (m,))
    x = rng.standard_normal((2, m, d))
    noise = params["sigma"] * rng.standard_normal((2, m))

    lengths = np.linalg.norm(x, axis=2)
    # The chosen start is tuned to rows that are already drawn: the longest ones.
    loudest = np.argsort(-lengths[0] * lengths[1])[:K]
    first, second = (x[:, loudest] / lengths[:, loudest, None]).sum(axis=1)
    chosen = _of_norm(np.sqrt(ALONG_FIRST) * first + np.sqrt(1 - ALONG_FIRST) * second, radius)
    return _find_kept_share(x, noise, models - drawn, z), _find_kept_share(
        x, noise, models - chosen, z
    )


def features_fit(cell: Params) -> None:
    """m d features fit into memory."""
    check_drawn("features m d", cell["m"] * cell["d"])


CHOSEN_START = add_experiment(
    name="sxy.chosen-start",
    design=309,
    columns=("drawn", "chosen"),
    simulate=each_trial(_round),
    block_size=8,
    cost=lambda params: 5e-4 + 6e-8 * params["d"] * (params["m"] + 4 * params["d"]),
    parameters=Parameters(
        {
            "d": Integer(K, 10_000, default=64, meaning="dimension"),
            "m": Integer(K, MAX_DRAWN, default=1000, meaning="clients with two rows"),
            "R": Real(0.5, 1e3, default=2.0, meaning="norm of the start over the distance"),
            "sigma": Real(0.0, 1e6, default=0.5, meaning="noise over the distance"),
        },
        (features_fit,),
    ),
)
