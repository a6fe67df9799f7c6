r"""The logistic experiment of ODCL, Appendix D.1, as near to its text as can be drawn.

``odcl.logistic`` (design 226): 100 users in four clusters fit two weights and an intercept to n
samples each with the penalty :math:`C=10^{-5}`.  The third covariance of the text has a negative
eigenvalue.  Its absolute value takes its place, which is what NumPy's ``multivariate_normal`` draws
from (with a warning).  All samples are independent, because 100,000 points a cluster do not last.

* ``clusters``: clusters of convex clustering with the penalty of D.1.
* ``same``: 1 where they are the true ones, else 0.
* ``cc``, ``averaging``, ``local``: the users' mean of the squared error over the squared length of
  the optimum, for ODCL-CC, the means of the true clusters and the local fits.
"""

from __future__ import annotations

import numpy as np

from trials.checks import FloatArray
from trials.clustering.selection import convex_partition, interval_lambda
from trials.experiments.odcl.linear import group_means, normalise_error
from trials.experiments.odcl.one_shot import same_partition
from trials.local_erm import logistic
from trials.parameters import Integer, Parameters, Real
from trials.run.cell import Params
from trials.run.experiment import add_experiment, each_trial

#: Optima and covariances of Appendix D.1.
OPTIMA = np.array([[1.0, -1.0], [1.0, 0.0], [-1.0, 1.0], [0.0, -1.0]])
COVARIANCES = np.array(
    [[[1.0, 0.0], [0.0, 1.0]], [[2.0, 1.0], [1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]], 2.0 * np.eye(2)]
)
_USERS = 25  # of a cluster


def roots() -> FloatArray:
    """(4, 2, 2) symmetric square roots of the covariances' absolute values."""
    values, vectors = np.linalg.eigh(COVARIANCES)
    scaled = vectors * np.sqrt(np.abs(values))[:, None, :]
    return np.asarray(scaled @ vectors.transpose(0, 2, 1))


def _one(params: Params, rng: np.random.Generator) -> list[float]:
    n, k = params["n"], len(OPTIMA)
    truth = np.repeat(np.arange(k), _USERS)
    x = rng.standard_normal((truth.size, n, 2)) @ roots()[truth]
    margins = np.einsum("ind,id->in", x, OPTIMA[truth])
    y = np.where(rng.random(margins.shape) < 1.0 / (1.0 + np.exp(-margins)), 1.0, -1.0)
    fit = logistic(x, y, l2=params["ridge"], intercept=True)
    fits = np.column_stack([fit.theta, fit.intercept])
    own = np.column_stack([OPTIMA[truth], np.zeros(truth.size)])
    penalty, _ = interval_lambda(fits[None], truth[None], rng)
    labels = convex_partition(fits, float(penalty[0]))
    found = np.unique(labels).size
    same = float(found == k and same_partition(labels[None], truth, k)[0])
    return [
        float(found),
        same,
        normalise_error(group_means(fits, labels), own),
        normalise_error(group_means(fits, truth), own),
        normalise_error(fits, own),
    ]


LOGISTIC = add_experiment(
    name="odcl.logistic",
    design=226,
    columns=("clusters", "same", "cc", "averaging", "local"),
    simulate=each_trial(_one),
    parameters=Parameters(
        {
            "n": Integer(10, 10**5, default=1000, meaning="samples of a user"),
            "ridge": Real(
                0.0, 1e3, open_low=True, default=1e-5, meaning="penalty C of the weights"
            ),
        }
    ),
    block_size=8,
    cost=lambda cell: 2e-5 * cell["n"] + 0.01,
)
