r"""What is measured of a fit: errors, recovered clusters, communication and time.

============ =================================================================================
error        :math:`\sum_i|\hat\theta_i-\theta_i^*|^2/\sum_i|\theta_i^*|^2` over the clients of a
             cluster.  The model 0 has the error 1.
worst        the largest :math:`|\hat\theta_i-\theta_i^*|^2` over the mean of
             :math:`|\theta_i^*|^2`
held-out     mean loss of the held-out rows: squared error, or logistic loss
accuracy     share of the held-out rows whose class is right
wrong        one less the accuracy, whose ratios are compared
worst-decile the accuracy's mean over the tenth of the clients that are served worst
ari          adjusted Rand index of the clients' labels (Hubert and Arabie 1985)
recovered    1 when the labels are the true clusters up to their names
============ =================================================================================

Outliers belong to no cluster: errors and labels leave them out, the held-out loss does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trials.checks import FloatArray, IntArray, InvalidParameter
from verify.benchmark.contrasts import Scale


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One column of a fit.

    ``truth`` tells whether the metric needs the truth, ``measured`` whether it is a time.
    """

    name: str
    meaning: str
    scale: Scale = "ratio"
    truth: bool = False
    measured: bool = False
    low: float = 0.0
    high: float = 1.0


METRICS: dict[str, Metric] = {
    m.name: m
    for m in (
        Metric(name="error", meaning="normalised squared error of the models", truth=True),
        Metric(name="worst", meaning="the same of the worst client", truth=True),
        Metric(name="held-out", meaning="mean loss of held-out rows"),
        Metric(
            name="accuracy",
            meaning="share of held-out rows whose class is right",
            scale="difference",
        ),
        Metric(name="wrong", meaning="share of held-out rows whose class is wrong"),
        Metric(
            name="worst-decile",
            meaning="mean accuracy of the tenth of the clients that are served worst",
            scale="difference",
        ),
        Metric(
            name="ari",
            meaning="adjusted Rand index",
            scale="difference",
            truth=True,
            low=-0.5,
        ),
        Metric(
            name="recovered",
            meaning="share of trials with all clusters recovered",
            scale="difference",
            truth=True,
        ),
        Metric(name="rounds", meaning="rounds of communication"),
        Metric(
            name="rounds-to-oracle",
            meaning="rounds until the training loss is within 10 % of the cluster oracle's, "
            "one more than all where it never is",
        ),
        Metric(name="floats-up", meaning="numbers that all clients send"),
        Metric(name="floats-down", meaning="numbers that all clients receive"),
        Metric(name="cpu", meaning="CPU seconds of a fit", measured=True),
        Metric(name="failed", meaning="0, or why the fit failed: 1 raised, 2 diverged, 3 too long"),
    )
}


def metric(name: str) -> Metric:
    """The metric of that name.  The error for an unknown one lists the known ones."""
    comparable = [m for m in METRICS if m != "failed"]
    if name not in comparable:
        raise InvalidParameter(f"metric={name!r:.60} must be one of {', '.join(comparable)}")
    return METRICS[name]


def model_errors(found: FloatArray, truth: FloatArray, labels: IntArray) -> tuple[float, float]:
    """Normalised squared error of the models (m, d): of all clients, and of the worst client."""
    inside = labels >= 0
    squared = np.sum((found[inside] - truth[inside]) ** 2, axis=1)
    scale = float(np.mean(np.sum(truth[inside] ** 2, axis=1)))
    scale = scale if scale > 0 else 1.0
    return float(squared.mean()) / scale, float(squared.max()) / scale


def contingency(found: IntArray, truth: IntArray) -> FloatArray:
    """How many clients each pair of labels has in common, a row a found label."""
    _, a = np.unique(found, return_inverse=True)
    _, b = np.unique(truth, return_inverse=True)
    columns = int(b.max()) + 1
    counts = np.bincount(a * columns + b, minlength=(int(a.max()) + 1) * columns)
    return counts.reshape(-1, columns).astype(np.float64)


def rand_index(table: FloatArray) -> float:
    """The adjusted Rand index of a `contingency` table, 1 where both are trivial and equal.

    >>> rand_index(contingency(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0])))
    1.0
    """

    def pairs(x: FloatArray) -> float:
        return float(np.sum(x * (x - 1.0)) / 2.0)

    both, size = pairs(table), float(table.sum())
    rows, columns = pairs(table.sum(1)), pairs(table.sum(0))
    total = size * (size - 1) / 2
    expected = rows * columns / total if total else 0.0
    largest = (rows + columns) / 2
    return 1.0 if largest == expected else (both - expected) / (largest - expected)


def recovered(table: FloatArray) -> float:
    """1.0 when the two labellings of a `contingency` table differ in names only, else 0.0."""
    shared = table > 0
    return float(bool((shared.sum(0) == 1).all() and (shared.sum(1) == 1).all()))


def logistic_loss(margin: FloatArray) -> FloatArray:
    """log(1 + exp(-margin))."""
    return np.asarray(np.logaddexp(0.0, -margin))


def accuracies(scores: FloatArray, classes: FloatArray, clients: IntArray) -> tuple[float, float]:
    """The share of rows with the right class, and its mean over the worst tenth of the clients.

    A row is right when its score has the sign of its class, -1 or 1.  At least one client counts.

    >>> accuracies(np.array([2.0, -1.0, 3.0]), np.array([1.0, 1.0, 1.0]), np.array([0, 0, 1]))
    (0.6666666666666666, 0.5)
    """
    right = (scores > 0.0) == (classes > 0.0)
    counts = np.bincount(clients)
    shares = np.sort(np.bincount(clients, weights=right)[counts > 0] / counts[counts > 0])
    return float(right.mean()), float(shares[: max(len(shares) // 10, 1)].mean())


Loss = Callable[[FloatArray, FloatArray], float]


def squared_loss(prediction: FloatArray, response: FloatArray) -> float:
    """Mean squared error."""
    return float(np.mean((prediction - response) ** 2))


def mean_logistic_loss(score: FloatArray, response: FloatArray) -> float:
    """Mean logistic loss of scores with responses -1 and 1."""
    return float(np.mean(logistic_loss(score * response)))


LOSSES: dict[str, Loss] = {"linear": squared_loss, "logistic": mean_logistic_loss}
