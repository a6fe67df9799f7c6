"""A federated round by our kernels, with bounds on its rounding error."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from trials.checks import BoolArray, FloatArray, IntArray
from trials.ifca.linear import run_ifca
from trials.ifca.options import run_ifca_options
from trials.mixed_regression.fed_regression import run_fed_regression
from trials.models.run_status import RunStatus
from verify.testing.case import Case, Clients
from verify.testing.subjects import rounding


class Expectation(NamedTuple):
    """What an implementation may return.

    Attributes
    ----------
    models : (k, d) those of our kernel.
    errors : (k,) the distances from them that rounding allows.
    admissible : (m, k) the labels that rounding allows.
    losses : (m, k) the clients' losses, for messages.
    """

    models: FloatArray
    errors: FloatArray
    admissible: BoolArray
    losses: FloatArray


class Rule(ABC):
    """One round: labels by the least loss, then new models for these labels."""

    @abstractmethod
    def kernel(self, case: Case, labels: IntArray) -> FloatArray:
        """The models (k, d) after the round by our kernel, for given labels."""

    @abstractmethod
    def errors(
        self, case: Case, labels: IntArray, unit: float, error: FloatArray, shift: float
    ) -> FloatArray:
        """Bounds (k,) on the rounding error of the models, which were wrong by ``error``."""

    def expect(
        self, case: Case, labels: IntArray, unit: float, shift: float = 0.0
    ) -> Expectation | None:
        """What is allowed for an implementation with these labels.

        None where rounding decides about labels before the last round.
        """
        exact = np.zeros(len(case["models"]))
        values, bounds = rounding.losses(case["models"], case["clients"], unit, exact, shift)
        return Expectation(
            self.kernel(case, labels),
            self.errors(case, labels, unit, exact, shift),
            rounding.admissible(values, bounds),
            values,
        )


# -- IFCA ----------------------------------------------------------------------------------------


class IfcaStepRule(Rule):
    """One step of IFCA: gradients of the mean squares, summed and divided by m."""

    def kernel(self, case: Case, labels: IntArray) -> FloatArray:
        """One iteration of `run_ifca_options` with known labels."""
        fit = run_ifca_options(
            data=case["clients"].data,
            starts=case["models"][None],
            step_sizes=np.array([case["step_size"]]),
            n_iterations=1,
            known_labels=labels,
            divergence_bound=1e100,
        )
        return np.asarray(fit.models[0])

    def errors(
        self, case: Case, labels: IntArray, unit: float, error: FloatArray, shift: float
    ) -> FloatArray:
        """Every error is multiplied by the step's matrix, and the step's own rounding is added."""
        models, clients, m = case["models"], case["clients"], len(case["clients"])
        d = models.shape[1]
        out = np.empty(len(models))
        for j, model in enumerate(models):
            matrix, size = np.eye(d), np.linalg.norm(model) + shift
            for label, (x, y) in zip(labels, clients, strict=True):
                if label == j:
                    matrix -= 2.0 * case["step_size"] / m * (x.T @ x) / len(y)
                    gradient = rounding.gradient_size(x, y, model, shift)
                    size += 2.0 * case["step_size"] / m * gradient
            own = rounding.operations(clients, d) * unit * size
            out[j] = rounding.length(matrix) * error[j] + own
        return out


class IfcaRunRule(IfcaStepRule):
    """Several steps of IFCA."""

    def expect(
        self, case: Case, labels: IntArray, unit: float, shift: float = 0.0
    ) -> Expectation | None:
        """The kernel's run, where rounding decides about no label but those of a single step."""
        if case["n_steps"] == 1:
            return super().expect(case, labels, unit, shift)
        current, error = case["models"], np.zeros(len(case["models"]))
        for _ in range(case["n_steps"]):
            values, bounds = rounding.losses(current, case["clients"], unit, error, shift)
            allowed = rounding.admissible(values, bounds)
            if (allowed.sum(axis=1) > 1).any():
                return None
            chosen = allowed.argmax(axis=1)
            error = self.errors({**case, "models": current}, chosen, unit, error, shift)
            current = _plain_step(current, case["clients"], case["step_size"], chosen)
        fit = run_ifca(
            data=case["clients"].data,
            starts=case["models"][None],
            step_sizes=np.array([case["step_size"]]),
            n_iterations=case["n_steps"],
            divergence_bound=1e100,
        )
        if fit.status[0] != RunStatus.COMPLETED:
            return None
        return Expectation(np.asarray(fit.models[0]), error, allowed, values)


def _plain_step(
    models: FloatArray, clients: Clients, step_size: float, labels: IntArray
) -> FloatArray:
    new = models.copy()
    for j, (x, y) in zip(labels, clients, strict=True):
        gradient = 2.0 * x.T @ (x @ models[j] - y) / len(y)
        new[j] -= step_size / len(clients) * gradient
    return new


# -- FedAvg and FedProx --------------------------------------------------------------------------


class _FedRule(Rule):
    update: str

    def kernel(self, case: Case, labels: IntArray) -> FloatArray:
        """One round of `run_fed_regression` with these labels."""
        chosen = np.eye(len(case["models"]))[labels]
        fit = run_fed_regression(
            data=case["clients"].data,
            start=case["models"],
            update=self.update,
            step_size=case["step_size"],
            n_rounds=1,
            n_local_steps=case.get("n_local_steps", 1),
            label_rule=lambda _losses, _sizes: chosen,
            divergence_bound=1e30,
        )
        return fit.models

    def errors(
        self, case: Case, labels: IntArray, unit: float, error: FloatArray, shift: float
    ) -> FloatArray:
        """The clients' errors with the server's weights, and the rounding of the server's mean."""
        models, clients = case["models"], case["clients"]
        weights = clients.sizes / clients.sizes.sum()
        count = rounding.operations(clients, models.shape[1])
        out = 2.0 * count * unit * (np.linalg.norm(models, axis=1) + shift)
        for weight, label, (x, y) in zip(weights, labels, clients, strict=True):
            out[label] += weight * count * unit * self.local(case, x, y, models[label], shift)
        return np.asarray(out)

    @abstractmethod
    def local(
        self, case: Case, x: FloatArray, y: FloatArray, model: FloatArray, shift: float
    ) -> float:
        """The rounding of one client's version of its model, in units of the roundings' number."""


class FedAvgRule(_FedRule):
    """Local gradient steps."""

    update = "fedavg"

    def local(
        self, case: Case, x: FloatArray, y: FloatArray, model: FloatArray, shift: float
    ) -> float:
        """The sum over the local steps, and that of the kernel's filter, which costs s eta |G|."""
        eta, gram = case["step_size"], x.T @ x / len(y)
        matrix = np.eye(len(model)) - eta * gram
        growth, total, current = max(rounding.length(matrix), 1.0), 0.0, model
        for _ in range(case["n_local_steps"]):
            size = np.linalg.norm(current) + shift
            size += eta * rounding.gradient_size(x, y, current, shift)
            total = growth * total + float(size)
            current = current - eta * x.T @ (x @ current - y) / len(y)
        lost = case["n_local_steps"] * eta * rounding.length(gram)
        return float(total * (1.0 + lost) + np.linalg.norm(current))


class FedProxRule(_FedRule):
    """Exact proximal steps."""

    update = "fedprox"

    def local(
        self, case: Case, x: FloatArray, y: FloatArray, model: FloatArray, shift: float
    ) -> float:
        """The error of solving with I + eta G, whose condition number enters."""
        eta, gram = case["step_size"], x.T @ x / len(y)
        step = eta * rounding.gradient_size(x, y, model, shift)
        condition = 1.0 + eta * rounding.length(gram)
        return float(condition * (np.linalg.norm(model) + shift + step))
