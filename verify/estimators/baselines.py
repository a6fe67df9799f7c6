"""The baselines: a model for each client, one for all, and the oracles, which know the clusters."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from trials.checks import (
    FloatArray,
    IntArray,
    InvalidParameter,
    integer_between,
    one_of,
    require_open,
    shown,
)
from trials.ifca.options import IfcaOptions, run_global
from trials.mixed_regression.fed_regression import LARGEST_BOUND, run_fed_regression
from trials.models.clients import ClientData
from trials.models.losses import SquaredLoss
from trials.models.run_status import RunStatus
from verify.estimators.base import FederatedEstimator, Outcome
from verify.estimators.losses import (
    is_compiled,
    largest_norm,
    mean_loss,
    minimisers,
    pooled,
    step_of,
)
from verify.estimators.rows import is_missing, plain_id, shown_id


def floats_of_rows(data: ClientData, loss: Any) -> int:
    """Floats with which all clients make an exact pooled fit possible.

    A client sends its rows, or for the squared loss the entries of X'X and X'y where these are
    fewer.
    """
    sizes, d = np.diff(data.offsets), data.dimension
    rows = sizes * (d + 1)
    if isinstance(loss, SquaredLoss):
        rows = np.minimum(rows, d * (d + 3) // 2)
    return int(rows.sum())


class LocalModels(FederatedEstimator):
    """Every client fits alone, and nothing is sent: k = m models.

    Parameters
    ----------
    loss : "squared", "logistic", or an object with ``values`` and ``gradients`` (`OwnLoss`).
    l2 : weight of the penalty l2 |theta|^2 / 2.  None means 0, and 1e-5 with the logistic loss,
        whose minimiser need not exist without.
    fit_intercept : whether a column of ones is added.  The penalty is also on its coefficient.

    Notes
    -----
    Exact minimisers.  A client with fewer rows than features gets the one of least norm.
    """

    def __init__(
        self, *, loss: Any = "squared", l2: float | None = None, fit_intercept: bool = False
    ) -> None:
        self.loss = loss
        self.l2 = l2
        self.fit_intercept = fit_intercept

    def _solve(self, data: ClientData, loss: Any, rng: np.random.Generator) -> Outcome:
        models, labels = minimisers(data, loss, self._names()), np.arange(data.n_clients)
        return Outcome(
            models=models, labels=labels, history={"loss": [mean_loss(data, models, labels, loss)]}
        )


class GlobalModel(FederatedEstimator):
    """One model for all clients.

    Parameters
    ----------
    algorithm : "exact", the minimiser over all rows together, "fedavg", or "fedprox".
    n_rounds : rounds of FedAvg and FedProx, from zero.
    step_size : theirs.  "auto" is one over the largest curvature of a client's loss.
    local_steps : gradient steps of a client in a round of FedAvg.
    loss, l2, fit_intercept : as in `LocalModels`.

    Notes
    -----
    With the squared loss and no penalty FedAvg and FedProx weight clients by their rows (kernel
    `trials.mixed_regression.fed_regression`).  FedAvg with any other compiled loss weights clients
    equally, as section 6.2 of IFCA (kernel `trials.ifca.options`).  FedProx has no other loss.
    "exact" counts the floats of the rows, or of X'X and X'y where these are fewer.
    """

    def __init__(
        self, *, algorithm: str = "exact", n_rounds: int = 100, step_size: float | str = "auto",
        local_steps: int = 1, loss: Any = "squared", l2: float | None = None,
        fit_intercept: bool = False,
    ) -> None:  # fmt: skip
        self.algorithm = algorithm
        self.n_rounds = n_rounds
        self.step_size = step_size
        self.local_steps = local_steps
        self.loss = loss
        self.l2 = l2
        self.fit_intercept = fit_intercept

    def _solve(self, data: ClientData, loss: Any, rng: np.random.Generator) -> Outcome:
        algorithm = one_of("algorithm", self.algorithm, ("exact", "fedavg", "fedprox"))
        m, d = data.n_clients, data.dimension
        labels = np.zeros(m, dtype=np.int64)
        if algorithm == "exact":
            models, n_rounds = minimisers(pooled(data, labels, 1), loss), 1
            up = floats_of_rows(data, loss)
        else:
            n_rounds = integer_between("n_rounds", self.n_rounds, 0)
            models = self._rounds(data, loss, algorithm, n_rounds)
            up = n_rounds * m * d
        return Outcome(
            models=models, labels=labels, n_rounds=n_rounds, floats_up=up,
            floats_down=n_rounds * m * d, history={"loss": [mean_loss(data, models, labels, loss)]},
        )  # fmt: skip

    def _rounds(self, data: ClientData, loss: Any, algorithm: str, n_rounds: int) -> FloatArray:
        plain = isinstance(loss, SquaredLoss) and loss.l2 == 0.0 and loss.scale == 1.0
        if not is_compiled(loss) or (algorithm == "fedprox" and not plain):
            raise InvalidParameter(
                f"algorithm={algorithm} must be exact with loss={shown(self.loss)}, l2={self.l2}"
            )
        step, start = step_of(self.step_size, data, loss), np.zeros((1, data.dimension))
        if plain:
            found = run_fed_regression(
                data=data, start=start, update=algorithm, step_size=step, n_rounds=n_rounds,
                n_local_steps=self.local_steps, divergence_bound=largest_norm(data, LARGEST_BOUND),
            )  # fmt: skip
            diverged, models = found.status == RunStatus.DIVERGED, found.models
        else:
            options = IfcaOptions(averaging="model", local_steps=self.local_steps)
            result = run_global(
                data=data, starts=start, step_sizes=np.array([step]), n_iterations=n_rounds,
                options=options, loss=loss, divergence_bound=largest_norm(data),
            )  # fmt: skip
            diverged, models = bool(result.status[0] == RunStatus.DIVERGED), result.models[0]
        if diverged:
            raise InvalidParameter(f"step_size={step:g} must be smaller: the rounds diverged")
        return models


class ClusterOracle(FederatedEstimator):
    """One model for each true cluster, fitted exactly to all rows of its clients.

    Parameters
    ----------
    labels : the true clusters: a mapping from client to cluster, or one cluster a client in the
        order of ``clients_``.  A column of pandas whose index holds all clients is a mapping.  The
        cluster -1 means a client without one, which is fitted alone.
    loss, l2, fit_intercept : as in `LocalModels`.

    Notes
    -----
    With Gaussian features and the squared loss, E |theta_j - theta*_j|^2 = sigma^2 tr(Sigma^-1) /
    (N_j - d - 1) for a cluster of N_j > d + 1 rows.
    """

    def __init__(
        self, labels: Any = None, *, loss: Any = "squared", l2: float | None = None,
        fit_intercept: bool = False,
    ) -> None:  # fmt: skip
        self.labels = labels
        self.loss = loss
        self.l2 = l2
        self.fit_intercept = fit_intercept

    def _solve(self, data: ClientData, loss: Any, rng: np.random.Generator) -> Outcome:
        labels, k = known_clusters(self.labels, self._names())
        models = self._models(data, loss, labels, k)
        return Outcome(
            models=models, labels=labels, n_rounds=1, floats_up=self._floats_up(data, loss),
            floats_down=data.n_clients * data.dimension,
            history={"loss": [mean_loss(data, models, labels, loss)]},
        )  # fmt: skip

    def _models(self, data: ClientData, loss: Any, labels: IntArray, k: int) -> FloatArray:
        return minimisers(pooled(data, labels, k), loss)

    def _floats_up(self, data: ClientData, loss: Any) -> int:
        return floats_of_rows(data, loss)


class OracleAverage(ClusterOracle):
    """The mean of the local models of each true cluster: one-shot clustering without an error.

    Parameters and attributes are those of `ClusterOracle`.  Clients count equally, as in ODCL.
    """

    def _models(self, data: ClientData, loss: Any, labels: IntArray, k: int) -> FloatArray:
        return cluster_means(minimisers(data, loss, self._names()), labels, k)

    def _floats_up(self, data: ClientData, loss: Any) -> int:
        return data.n_clients * data.dimension


def cluster_means(points: FloatArray, labels: IntArray, k: int) -> FloatArray:
    """Means (k, d) of the points (m, d) of each cluster, none of them empty."""
    sums = np.zeros((k, points.shape[1]))
    np.add.at(sums, labels, points)
    return np.asarray(sums / np.bincount(labels, minlength=k)[:, None])


def known_clusters(labels: Any, names: list[Any]) -> tuple[IntArray, int]:
    """Clusters (m,) as numbers 0..k-1 in the order of their names, and k."""
    if labels is None:
        raise InvalidParameter("labels=None must hold the true cluster of each client")
    require_open("labels", labels)
    if not isinstance(labels, Mapping) and hasattr(labels, "to_dict"):  # a column of pandas
        table = {plain_id(name): value for name, value in labels.to_dict().items()}
        labels = table if all(name in table for name in names) else labels
    if isinstance(labels, Mapping):
        given_by_name = {plain_id(name): value for name, value in labels.items()}
        lost = [name for name in names if name not in given_by_name]
        if lost:
            raise InvalidParameter(f"labels has no cluster for client {shown_id(lost[0])}")
        values = [given_by_name[name] for name in names]
    else:  # an array of a list of numbers and texts would make the number -1 a text
        values = list(labels) if isinstance(labels, list | tuple) else np.asarray(labels).tolist()
    if not isinstance(values, list) or len(values) != len(names):
        raise InvalidParameter(f"labels must hold {len(names)} clusters, one a client")
    for name, value in zip(names, values, strict=True):
        if is_missing(value) or not isinstance(value, Hashable):
            raise InvalidParameter(
                f"labels={shown(value)} names no cluster for client {shown_id(name)}"
            )
    given = list(dict.fromkeys(v for v in values if v != -1))
    with contextlib.suppress(TypeError):  # names of several types keep the order of their clients
        given.sort()
    numbers = {name: j for j, name in enumerate(given)}
    alone = iter(range(len(given), len(values) + len(given)))
    found = [numbers[v] if v != -1 else next(alone) for v in values]
    return np.asarray(found, dtype=np.int64), max(found) + 1
