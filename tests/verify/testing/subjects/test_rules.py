"""What the kernels say of a round: known labels, weights, and where rounding decides."""

from __future__ import annotations

import numpy as np
import pytest

from verify.testing import examples
from verify.testing.case import Case, Clients
from verify.testing.subjects import rules
from verify.testing.subjects.rules import FedAvgRule, FedProxRule, IfcaRunRule, IfcaStepRule

UNIT = 2.0**-53
#: Clients of 2, 1 and 3 rows.  With the labels (1, 1, 0) nobody takes the nearest model.
CLIENTS = Clients(
    (
        (np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([1.0, 2.0])),
        (np.array([[2.0, 2.0]]), np.array([3.0])),
        (np.array([[1.0, 0.0], [0.0, 3.0], [1.0, -1.0]]), np.array([0.5, -1.0, 2.0])),
    )
)
MODELS = np.array([[1.0, 0.5], [-2.0, 4.0], [0.0, 3.0]])
LABELS = np.array([1, 1, 0])
CASE: Case = {"models": MODELS, "clients": CLIENTS, "step_size": 0.05, "n_local_steps": 3}


def gradient(x: np.ndarray, y: np.ndarray, model: np.ndarray) -> np.ndarray:
    """Of half the mean square."""
    return np.asarray(x.T @ (x @ model - y) / len(y))


def ifca_step(models: np.ndarray, labels: np.ndarray) -> np.ndarray:
    new = models.copy()
    for j, (x, y) in zip(labels, CLIENTS, strict=True):
        new[j] -= 0.05 / 3 * 2.0 * gradient(x, y, models[j])
    return new


def test_a_step_of_ifca_takes_the_labels_that_are_given() -> None:
    right = ifca_step(MODELS, LABELS)
    assert right[2].tolist() == MODELS[2].tolist()
    assert IfcaStepRule().kernel(CASE, LABELS) == pytest.approx(right, rel=1e-13)
    assert rules._plain_step(MODELS, CLIENTS, 0.05, LABELS) == pytest.approx(right, rel=1e-14)
    far = {**CASE, "models": 1e60 * MODELS}  # nothing has diverged before 1e100
    assert np.isfinite(IfcaStepRule().kernel(far, LABELS)).all()


@pytest.mark.parametrize("steps", [None, 1, 3])
def test_a_round_of_fedavg_is_the_mean_by_rows_of_local_work(steps: int | None) -> None:
    case = {name: CASE[name] for name in ("models", "clients", "step_size")}
    if steps is not None:
        case["n_local_steps"] = steps
    right = np.zeros_like(MODELS)
    for weight, j, (x, y) in zip((2 / 6, 1 / 6, 3 / 6), LABELS, CLIENTS, strict=True):
        own = MODELS.copy()
        for _ in range(steps or 1):
            own[j] -= 0.05 * gradient(x, y, own[j])
        right += weight * own
    assert FedAvgRule().kernel(case, LABELS) == pytest.approx(right, rel=1e-12)


def test_a_round_of_fedprox_has_exact_local_minimisers() -> None:
    case = {name: CASE[name] for name in ("models", "clients", "step_size")}
    right = np.zeros_like(MODELS)
    for weight, j, (x, y) in zip((2 / 6, 1 / 6, 3 / 6), LABELS, CLIENTS, strict=True):
        own = MODELS.copy()
        system = np.eye(2) + 0.05 * x.T @ x / len(y)
        own[j] = np.linalg.solve(system, MODELS[j] + 0.05 * x.T @ y / len(y))
        right += weight * own
    assert FedProxRule().kernel(case, LABELS) == pytest.approx(right, rel=1e-12)


def test_a_single_step_is_expected_for_the_labels_that_were_returned() -> None:
    """Its own labels are told apart by the admissible ones."""
    for rule in (IfcaStepRule(), IfcaRunRule()):
        found = rule.expect({**CASE, "n_steps": 1}, LABELS, UNIT, 0.5)
        assert found is not None
        assert found.models == pytest.approx(ifca_step(MODELS, LABELS), rel=1e-13)
        losses = [[((y - x @ m) ** 2).mean() for m in MODELS] for x, y in CLIENTS]
        assert found.losses == pytest.approx(np.array(losses), rel=1e-13)
        best = np.eye(3, dtype=bool)[np.argmin(losses, axis=1)]
        assert found.admissible.tolist() == best.tolist()
        right = rule.errors(CASE, LABELS, UNIT, np.zeros(3), 0.5)
        assert found.errors.tolist() == right.tolist()
        smaller = rule.expect({**CASE, "n_steps": 1}, LABELS, UNIT)
        assert smaller is not None
        assert (smaller.errors < found.errors).all()


@pytest.mark.parametrize("steps", [2, 4])
def test_a_run_takes_its_own_labels_in_every_step(steps: int) -> None:
    """The labels of the last step are admissible, and its losses are those before it."""
    found = IfcaRunRule().expect({**CASE, "n_steps": steps}, LABELS, UNIT)
    assert found is not None
    before, _ = examples.ifca_run(MODELS, CLIENTS, 0.05, steps - 1)
    right, labels = examples.ifca_run(MODELS, CLIENTS, 0.05, steps)
    assert found.models == pytest.approx(right, rel=1e-12)
    assert found.admissible.tolist() == np.eye(3, dtype=bool)[labels].tolist()
    losses = [[((y - x @ m) ** 2).mean() for m in before] for x, y in CLIENTS]
    assert found.losses == pytest.approx(np.array(losses), rel=1e-12)


def test_a_run_with_a_tie_or_a_shift_that_hides_a_label_is_not_expected() -> None:
    tie = {**CASE, "models": MODELS[[0, 0]], "n_steps": 2}
    assert IfcaRunRule().expect(tie, LABELS, UNIT) is None
    assert IfcaRunRule().expect({**tie, "n_steps": 1}, np.array([1, 1, 0]), UNIT) is not None
    case = {**CASE, "n_steps": 2}
    nothing = (np.zeros((1, 2)), np.array([1.0]))  # one client to which all models are equal
    one = {**case, "clients": Clients((*CLIENTS.pairs, nothing))}
    assert IfcaRunRule().expect(one, np.array([1, 1, 0, 0]), UNIT) is None
    assert IfcaRunRule().expect(case, LABELS, UNIT, 1e4) is not None
    assert IfcaRunRule().expect(case, LABELS, UNIT, 1e9) is None


def test_a_run_that_leaves_all_bounds_is_not_expected() -> None:
    """A step multiplies the distance by 1 - 2 a: fifty steps of 1e3 pass 1e100 and two do not."""
    client = Clients(((np.ones((1, 1)), np.array([0.0])),))
    case: Case = {"models": np.array([[1.0]]), "clients": client, "step_size": 500.5, "n_steps": 2}
    found = IfcaRunRule().expect(case, np.array([0]), UNIT)
    assert found is not None
    assert found.models[0, 0] == pytest.approx(1e6, rel=1e-9)
    near = IfcaRunRule().expect({**case, "n_steps": 33}, np.array([0]), UNIT)
    assert near is not None
    assert near.models[0, 0] == pytest.approx(-1e99, rel=1e-9)
    assert IfcaRunRule().expect({**case, "n_steps": 34}, np.array([0]), UNIT) is None
