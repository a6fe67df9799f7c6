"""What rounding may change, against formulas typed a second time for one number or two."""

from __future__ import annotations

import math

import numpy as np
import pytest

from verify.testing.case import Case, Clients
from verify.testing.subjects import points as pts
from verify.testing.subjects import rounding
from verify.testing.subjects.rules import FedAvgRule, FedProxRule, IfcaRunRule, IfcaStepRule

UNIT = 2.0**-20
#: Two clients of one feature: the numbers of their rows, and all numbers, differ.
FIRST = (np.array([[2.0], [-3.0]]), np.array([5.0, 7.0]))
SECOND = (np.array([[0.5], [1.0], [4.0]]), np.array([1.0, -2.0, 0.25]))
CLIENTS = Clients((FIRST, SECOND))
#: 8 (N + 2 d + m + 8) with N = 5 rows, one feature and two clients.
OPERATIONS = 8.0 * (5 + 2 + 2 + 8)
SHIFT = 0.75
THETA = 1.5


def test_the_number_of_roundings_counts_rows_features_and_clients() -> None:
    assert rounding.operations(CLIENTS, 1) == OPERATIONS
    assert rounding.operations(CLIENTS, 10) == 8.0 * (5 + 20 + 2 + 8)


def test_the_numbers_in_a_residual_are_bounded_by_lengths() -> None:
    x, y = np.array([[3.0, 4.0], [0.0, 2.0]]), np.array([-1.0, 6.0])
    models = np.array([[0.6, 0.8], [5.0, 12.0], [0.0, 0.0]])
    lengths, a = rounding.magnitudes(x, y, models, SHIFT)
    assert lengths.tolist() == [5.0, 2.0]
    rows = [(5.0, 1.0), (2.0, 6.0)]
    right = [[r * (t + SHIFT) + abs_y + r * SHIFT for t in (1.0, 13.0, 0.0)] for r, abs_y in rows]
    assert a == pytest.approx(np.array(right), rel=1e-14)


def test_losses_are_mean_squares_with_the_errors_of_sums_and_of_models() -> None:
    models, error = np.array([[THETA], [-0.5]]), np.array([0.0, 0.01])
    values, bounds = rounding.losses(models, CLIENTS, UNIT, error, SHIFT)
    for i, (x, y) in enumerate(CLIENTS):
        n = len(y)
        features, responses = x[:, 0].tolist(), y.tolist()
        for j, theta in enumerate((THETA, -0.5)):
            pairs = list(zip(features, responses, strict=True))
            value = sum((b - a * theta) ** 2 for a, b in pairs) / n
            sizes = [abs(a) * (abs(theta) + SHIFT) + abs(b) + abs(a) * SHIFT for a, b in pairs]
            moved = math.sqrt(sum(a * a for a in features) / n) * error[j]
            right = 8.0 * (n + 2 + 8) * UNIT * sum(s * s for s in sizes) / n
            right += 2.0 * math.sqrt(value) * moved + moved * moved
            assert values[i, j] == pytest.approx(value, rel=1e-14)
            assert bounds[i, j] == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize(
    ("second", "admissible"),
    [(1.29, True), (1.31, False), (0.71, True), (0.69, True)],
)
def test_a_label_is_admissible_where_the_intervals_of_losses_overlap(
    second: float, admissible: bool
) -> None:
    values, bounds = np.array([[1.0, second, 9.0]]), np.array([[0.1, 0.2, 0.3]])
    found = rounding.admissible(values, bounds)[0]
    assert found[1] == admissible
    assert found[0] == (second != 0.69)  # there 0.69 + 0.2 lies below 1 - 0.1
    assert not found[2]


def gradient_size(client: tuple[np.ndarray, np.ndarray], theta: float, shift: float) -> float:
    x, y = client
    terms = [
        abs(a) * (abs(a) * (abs(theta) + shift) + abs(b) + abs(a) * shift)
        for a, b in zip(x[:, 0], y, strict=True)
    ]
    return float(sum(terms)) / len(y)


def gram(client: tuple[np.ndarray, np.ndarray]) -> float:
    x, y = client
    return float((x[:, 0] ** 2).sum()) / len(y)


def test_the_terms_of_a_gradient_are_averaged_over_the_rows() -> None:
    found = rounding.gradient_size(*SECOND, np.array([THETA]), SHIFT)
    assert found == pytest.approx(gradient_size(SECOND, THETA, SHIFT), rel=1e-14)


def test_a_matrix_is_as_long_as_its_largest_singular_value() -> None:
    assert rounding.length(np.diag([2.0, -3.0])) == pytest.approx(3.0, rel=1e-14)


MODELS = np.array([[THETA], [-2.0]])
CASE: Case = {"models": MODELS, "clients": CLIENTS, "step_size": 0.3, "n_local_steps": 3}


def test_the_error_of_an_ifca_step_is_that_of_its_matrix_and_its_own() -> None:
    """Both clients belong to the first model: the matrix is 1 - 2 eta/m (G_1 + G_2)."""
    before = np.array([0.01, 0.02])
    found = IfcaStepRule().errors(CASE, np.array([0, 0]), UNIT, before, SHIFT)
    eta, m = 0.3, 2
    matrix = 1.0 - 2.0 * eta / m * (gram(FIRST) + gram(SECOND))
    size = THETA + SHIFT
    size += 2.0 * eta / m * gradient_size(FIRST, THETA, SHIFT)
    size += 2.0 * eta / m * gradient_size(SECOND, THETA, SHIFT)
    right = [
        abs(matrix) * 0.01 + OPERATIONS * UNIT * size,
        0.02 + OPERATIONS * UNIT * (2.0 + SHIFT),
    ]
    assert found == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize(("theta", "label"), [(THETA, 0), (-2.0, 1)])
def test_the_error_of_a_fedavg_round_is_a_sum_over_local_steps(theta: float, label: int) -> None:
    """The step size 0.5 is too long for both clients: their errors grow from step to step."""
    found = FedAvgRule().errors(
        {**CASE, "step_size": 0.5}, np.array([label, label]), UNIT, np.zeros(2), SHIFT
    )
    right = 2.0 * OPERATIONS * UNIT * (abs(theta) + SHIFT)
    for client in (FIRST, SECOND):
        x, y = client
        growth = 0.5 * gram(client) - 1.0
        assert growth > 1.5
        total, current = 0.0, theta
        for _ in range(3):
            total = growth * total + abs(current) + SHIFT
            total += 0.5 * gradient_size(client, current, SHIFT)
            current -= 0.5 * float((x[:, 0] * (x[:, 0] * current - y)).sum()) / len(y)
        local = total * (1.0 + 3 * 0.5 * gram(client)) + abs(current)
        right += len(y) / 5 * OPERATIONS * UNIT * local
    assert found[label] == pytest.approx(right, rel=1e-12)
    other = abs(float(MODELS[1 - label, 0]))
    assert found[1 - label] == pytest.approx(2.0 * OPERATIONS * UNIT * (other + SHIFT), rel=1e-12)


def test_a_stable_local_step_does_not_shrink_what_rounding_did() -> None:
    """At eta = 0.01 the matrix is shorter than one, and one is counted."""
    case = {**CASE, "step_size": 0.01, "n_local_steps": 2}
    x, y = FIRST
    total, current = 0.0, THETA
    for _ in range(2):
        total += abs(current) + SHIFT + 0.01 * gradient_size(FIRST, current, SHIFT)
        current -= 0.01 * float((x[:, 0] * (x[:, 0] * current - y)).sum()) / 2
    right = total * (1.0 + 2 * 0.01 * gram(FIRST)) + abs(current)
    found = FedAvgRule().local(case, *FIRST, np.array([THETA]), SHIFT)
    assert found == pytest.approx(right, rel=1e-12)


def test_the_error_of_a_fedprox_round_grows_with_the_condition_of_its_system() -> None:
    found = FedProxRule().local(CASE, *SECOND, np.array([THETA]), SHIFT)
    size = THETA + SHIFT + 0.3 * gradient_size(SECOND, THETA, SHIFT)
    assert found == pytest.approx((1.0 + 0.3 * gram(SECOND)) * size, rel=1e-12)


def test_a_run_of_ifca_carries_its_errors_from_step_to_step() -> None:
    """One model of one client: e_t = |1 - 2 eta G| e_{t-1} + u c s_{t-1}."""
    clients, eta = Clients((FIRST,)), 0.05
    case = {"models": np.array([[THETA]]), "clients": clients, "step_size": eta, "n_steps": 3}
    expected = IfcaRunRule().expect(case, np.array([0]), UNIT)
    assert expected is not None
    x, y = FIRST
    current, error = THETA, 0.0
    for _ in range(3):
        own = 8.0 * (2 + 2 + 1 + 8) * UNIT
        own *= abs(current) + 2.0 * eta * gradient_size(FIRST, current, 0.0)
        error = abs(1.0 - 2.0 * eta * gram(FIRST)) * error + own
        current -= eta * 2.0 * float((x[:, 0] * (x[:, 0] * current - y)).sum()) / 2
    assert expected.models[0, 0] == pytest.approx(current, rel=1e-12)
    assert expected.errors[0] == pytest.approx(error, rel=1e-12)


# -- points --------------------------------------------------------------------------------------


def test_squared_distances_have_bounds_of_the_squared_lengths() -> None:
    points, centres = np.array([[3.0, 4.0], [0.0, 1.0]]), np.array([[6.0, 8.0], [0.0, 0.0]])
    values, bounds = pts.squared_distances(points, centres, UNIT, SHIFT)
    assert values.tolist() == [[25.0, 25.0], [85.0, 1.0]]
    right = [[8.0 * (2 + 8) * UNIT * (a + b + 2 * SHIFT) ** 2 for b in (10, 0)] for a in (5, 1)]
    assert bounds == pytest.approx(np.array(right), rel=1e-14)


def test_a_mean_is_off_by_roundings_of_the_longest_point() -> None:
    points = np.array([[3.0, 4.0], [0.0, 1.0], [1.0, 1.0]])
    assert pts.mean_rounding(points, UNIT, SHIFT) == 8.0 * (3 + 8) * UNIT * (5.0 + SHIFT)
    assert pts.mean_rounding(points, UNIT) == 8.0 * (3 + 8) * UNIT * 5.0


def test_a_point_is_turned_stretched_and_then_shifted_and_goes_back() -> None:
    frame: Case = {
        "turn": np.array([[0.0, 1.0], [1.0, 0.0]]),
        "unit": -4.0,
        "move": np.array([10.0, 20.0]),
    }
    points = np.array([[1.0, 2.0], [3.0, 5.0]])
    image = pts.moved(points, frame)
    assert image.tolist() == [[2.0, 16.0], [-10.0, 8.0]]
    assert pts.moved_back(image, frame).tolist() == points.tolist()
    third = {**frame, "turn": np.array([[0.0, 1.0], [-1.0, 0.0]])}  # not its own inverse
    assert pts.moved_back(pts.moved(points, third), third).tolist() == points.tolist()
