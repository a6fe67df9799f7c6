"""Losses of the estimators, and what every driver asks of them, on ragged clients."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy.optimize import minimize

from trials.checks import FloatArray, IntArray, InvalidParameter, real_array, real_between, shown
from trials.ifca.linear import LARGEST_BOUND
from trials.ifca.one_shot import local_erms
from trials.mixed_regression.fed_regression_kernels import smaller_grams
from trials.models.clients import ClientData
from trials.models.losses import LogisticLoss, SquaredLoss
from trials.models.run_status import DIVERGENCE_BOUND
from verify.estimators.rows import shown_id

#: The penalty of the logistic loss where none is given: separable labels have no minimiser without.
LOGISTIC_L2 = 1e-5

#: Within these limits of a table's largest entry, squares and steps times residuals are floats.
_SMALLEST_ENTRY, _LARGEST_ENTRY = 1e-100, 1e100


@runtime_checkable
class OwnLoss(Protocol):
    """A loss of one's own for linear models, sample by sample."""

    def values(self, features: FloatArray, responses: FloatArray, theta: FloatArray) -> FloatArray:
        """The (n,) losses at ``theta`` (d,)."""

    def gradients(
        self, features: FloatArray, responses: FloatArray, theta: FloatArray
    ) -> FloatArray:
        """The (n, d) gradients at ``theta`` (d,)."""


@dataclass(frozen=True, repr=False)
class _Checked:
    """A loss of one's own whose results are looked at: a mean in their place would be spread."""

    loss: OwnLoss

    def values(self, features: FloatArray, responses: FloatArray, theta: FloatArray) -> FloatArray:
        found = self.loss.values(features, responses, theta)
        return _of_shape("loss.values", found, responses.shape)

    def gradients(
        self, features: FloatArray, responses: FloatArray, theta: FloatArray
    ) -> FloatArray:
        found = self.loss.gradients(features, responses, theta)
        return _of_shape("loss.gradients", found, features.shape)

    def __repr__(self) -> str:
        return repr(self.loss)


def _of_shape(name: str, found: Any, shape: tuple[int, ...]) -> FloatArray:
    array = real_array(f"the result of {name}", found)
    if array.shape != shape:
        raise InvalidParameter(
            f"the result of {name} has shape {array.shape}, and must be {shape}: one entry a row"
        )
    return array


def loss_of(loss: Any, l2: float | None) -> Any:
    r"""The loss of an estimator's parameters.

    ``"squared"`` is :math:`\tfrac12(y-\langle x,\theta\rangle)^2+\tfrac{l2}2|\theta|^2`, and
    ``"logistic"`` is :math:`\log(1+e^{-y\langle x,\theta\rangle})+\tfrac{l2}2|\theta|^2`.  An
    object with ``values`` and ``gradients`` is taken as it is, and their shapes are checked.

    >>> loss_of("squared", None)
    SquaredLoss(l2=0.0, scale=1.0)
    """
    if isinstance(loss, str) and loss in ("squared", "logistic"):
        logistic = loss == "logistic"
        given = (LOGISTIC_L2 if logistic else 0.0) if l2 is None else real_between("l2", l2, 0.0)
        return LogisticLoss(l2=given) if logistic else SquaredLoss(l2=given)
    if isinstance(loss, str) or not isinstance(loss, OwnLoss):
        raise InvalidParameter(
            f"loss={shown(loss)} must be squared, logistic, or an object with values and gradients"
        )
    if l2 is not None:
        raise InvalidParameter(f"l2={shown(l2)} must be None: a loss of one's own has its penalty")
    return loss if is_compiled(loss) else _Checked(loss)


def is_compiled(loss: Any) -> bool:
    """Whether the compiled kernels know the loss."""
    return isinstance(loss, SquaredLoss | LogisticLoss)


def client_losses(data: ClientData, models: FloatArray, loss: Any) -> FloatArray:
    """Mean loss (m, k) of each client under each model, with the penalty."""
    sizes = np.diff(data.offsets)
    values = np.empty((len(data.responses), len(models)))
    if is_compiled(loss):
        predictions = data.features @ models.T
        bare, one = replace(loss, l2=0.0), np.ones(1)
        for j, theta in enumerate(models):
            values[:, j] = bare.values(predictions[:, j : j + 1], data.responses, one)
            values[:, j] += 0.5 * loss.l2 * (theta @ theta)
    else:
        for j, theta in enumerate(models):
            values[:, j] = loss.values(data.features, data.responses, theta)
    return np.asarray(np.add.reduceat(values, data.offsets[:-1], axis=0) / sizes[:, None])


def mean_loss(data: ClientData, models: FloatArray, labels: IntArray, loss: Any) -> float:
    """Mean loss, without a penalty of ours, of all rows whose client has a label >= 0."""
    of_row = np.repeat(labels, np.diff(data.offsets))
    if is_compiled(loss):
        if len(models) > 8:
            predictions = np.einsum("nd,nd->n", data.features, models[of_row])
        else:
            predictions = (data.features @ models.T)[np.arange(len(of_row)), of_row]
        bare = replace(loss, l2=0.0)
        values = bare.values(predictions[:, None], data.responses, np.ones(1))
    else:
        values = np.zeros(len(of_row))
        for j in np.unique(of_row[of_row >= 0]):
            own = of_row == j
            values[own] = loss.values(data.features[own], data.responses[own], models[j])
    return float(values[of_row >= 0].mean())


def minimisers(data: ClientData, loss: Any, names: Sequence[object] | None = None) -> FloatArray:
    """(m, d) minimisers of the clients' mean losses.

    Exact for the compiled losses (`trials.ifca.one_shot.local_erms`, one call for each size), and
    of L-BFGS from zero for a loss of one's own.  An error gives a client its name.
    """
    if not is_compiled(loss):
        found = np.empty((data.n_clients, data.dimension))
        for i in range(data.n_clients):
            own = slice(data.offsets[i], data.offsets[i + 1])
            found[i] = _minimiser(data.features[own], data.responses[own], loss)
            if not np.isfinite(found[i]).all():
                name = i if names is None else names[i]
                raise InvalidParameter(
                    f"loss={shown(loss)} has no finite minimiser on client {shown_id(name)}"
                )
        return found
    try:
        return local_erms(data, loss)
    except InvalidParameter as error:
        if names is None:
            raise
        ids = [f"client {shown_id(name)}" for name in names]
        known = re.sub(r"client (\d+)", lambda i: ids[int(i[1])], str(error))
        raise InvalidParameter(known) from None


def _minimiser(x: FloatArray, y: FloatArray, loss: Any) -> FloatArray:
    def objective(theta: FloatArray) -> tuple[float, FloatArray]:
        return float(loss.values(x, y, theta).mean()), loss.gradients(x, y, theta).mean(axis=0)

    options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 10_000}
    result = minimize(objective, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(result.x if np.isfinite(result.fun) else np.full(x.shape[1], np.nan))


def pooled(data: ClientData, labels: IntArray, k: int) -> ClientData:
    """The rows of each of k clusters, none of them empty, as those of one client."""
    sizes = np.diff(data.offsets)
    of_row = np.repeat(labels, sizes)
    order = np.argsort(of_row, kind="stable")
    counts = np.bincount(of_row, minlength=k)
    return ClientData(
        features=data.features[order],
        responses=data.responses[order],
        offsets=np.concatenate([[0], np.cumsum(counts)]),
    )


def require_squares(data: ClientData) -> None:
    """Refuse rows with which steps would vanish or overflow, and models stay where they were."""
    for name, table in (("X", data.features), ("y", data.responses)):
        largest = max(float(table.max()), -float(table.min()))
        if largest and not _SMALLEST_ENTRY <= largest <= _LARGEST_ENTRY:
            raise InvalidParameter(
                f"the largest entry of {name}, {largest:.3g} in size, must be in "
                f"[{_SMALLEST_ENTRY:g}, {_LARGEST_ENTRY:g}]: choose another unit"
            )


def largest_norm(data: ClientData, most: float = LARGEST_BOUND) -> float:
    """The norm above which models of these data have diverged: 1e12 in their unit, if above 1.

    ``most`` is the largest that a kernel takes.
    """
    require_squares(data)
    bound = data.divergence_bound
    if bound > most:
        raise InvalidParameter(
            f"y over X has the unit {data.model_unit:.3g}: choose units in which it is at most "
            f"{most / DIVERGENCE_BOUND:.3g}"
        )
    return bound


def smoothness(data: ClientData, loss: Any) -> float:
    """The largest curvature of a client's mean loss, at any model.

    It bounds that of every mean of clients.  So gradient steps of its inverse never raise the mean
    loss, whatever the clusters.
    """
    if not is_compiled(loss):
        raise InvalidParameter("step_size='auto' must be a number with a loss of one's own")
    orders = np.minimum(np.diff(data.offsets), data.dimension)
    largest = 0.0
    for q in np.unique(orders):
        same = np.flatnonzero(orders == q)
        step = max(1, 2**22 // int(q) ** 2)
        for top in range(0, len(same), step):
            clients = same[top : top + step]
            grams = np.empty((len(clients), q, q))
            smaller_grams(data.arrays, clients, grams)
            largest = max(largest, float(np.linalg.eigvalsh(grams)[:, -1].max()))
    scale = loss.scale if isinstance(loss, SquaredLoss) else 0.25
    return float(scale * largest + loss.l2)


def step_of(step_size: Any, data: ClientData, loss: Any) -> float:
    """A step size as a number.  ``"auto"`` is one over `smoothness`."""
    if isinstance(step_size, str) and step_size == "auto":
        require_squares(data)
        curvature = smoothness(data, loss)
        return 1.0 / curvature if curvature > 0.0 else 1.0
    return real_between("step_size", step_size, 0.0, open_low=True)
