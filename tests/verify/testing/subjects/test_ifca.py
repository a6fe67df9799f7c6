"""The checks of ``ifca.step`` and ``ifca.run``: the laws of their errors, and composition."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from scipy import stats

from tests.verify.testing.subjects.laws_seen import (
    SEED,
    answers,
    exponential,
    recorded,
    rng,
    seen,
)
from verify.testing import examples
from verify.testing.case import Case
from verify.testing.check import Clustered, Scope, Violation
from verify.testing.subjects import ifca, laws

CENTRES = np.array([[10.0, 0.0], [-10.0, 0.0]])
START = np.array([[10.3, 0.4], [-10.0, -0.5]])
OWNERS = [0, 0, 0, 1, 1]


def require_problem(stream: np.random.Generator, case: Case, n: int, step_size: float) -> None:
    """The clients follow the stream: their features come first, and then their noise."""
    assert case["models"] == pytest.approx(START, rel=1e-15)
    assert case["step_size"] == step_size
    assert len(case["clients"]) == 5
    for j, (x, y) in zip(OWNERS, case["clients"], strict=True):
        assert x.tolist() == stream.standard_normal((n, 2)).tolist()
        noise = 0.5 * stream.standard_normal(n)
        assert y == pytest.approx(x @ CENTRES[j] + noise, rel=1e-13)


def test_the_distances_after_a_step_are_compared_with_draws_from_their_law(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[dict[str, Any]] = []
    others = np.random.default_rng(1).random((300, 2, 2)) + np.array([[0.0, 0.3], [0.1, -0.2]])

    def trajectories(**given: Any) -> Any:
        drawn.append(given)
        return others, None

    monkeypatch.setattr(ifca, "simulate_trajectories", trajectories)
    tested = seen(monkeypatch, ifca, "require_p_value")
    call = recorded(examples.ifca_step, "ifca.step")
    ifca._step_law(call, {"data_seed": SEED})
    assert len(call.cases) == 200
    stream, found = rng(), np.empty((200, 2))
    for row, case in zip(found, call.cases, strict=True):
        require_problem(stream, case, 20, 0.4)
        new = START.copy()
        for j, (x, y) in zip(OWNERS, case["clients"], strict=True):
            new[j] -= 0.4 / 5 * 2.0 / 20 * x.T @ (x @ START[j] - y)
        row[:] = [np.hypot(*(new[j] - CENTRES[j])) for j in (0, 1)]
    (given,) = drawn
    assert given.pop("theta").tolist() == [START.tolist()] * 4000
    assert given.pop("theta_star").tolist() == CENTRES.tolist()
    assert given.pop("cluster_sizes").tolist() == [3, 2]
    assert given.pop("rng").random() == stream.random()
    assert given == {"d": 2, "sigma": 0.5, "n_samples": 20, "gamma": 0.4, "n_steps": 1}
    for j, (p, level, words) in enumerate(tested):
        right = stats.ks_2samp(found[:, j], others[:, 1, j], method="asymp").pvalue
        assert p == pytest.approx(right, rel=1e-6)
        assert p < 0.99
        assert (level, words) == (5e-7, f"the distance of model {j} after a step has another law")
    assert len(tested) == 2


def test_a_step_that_is_a_third_too_long_is_refused() -> None:
    ifca._step_law(recorded(examples.ifca_step, "ifca.step"), {"data_seed": SEED})
    for factor in (0.7, 1.4):
        wrong = recorded(
            lambda models, clients, step, f=factor: examples.ifca_step(models, clients, f * step),
            "ifca.step",
        )
        with pytest.raises(Violation, match="the distance of model 0 after a step"):
            ifca._step_law(wrong, {"data_seed": SEED})


def least_squares(models: Any, clients: Any, step_size: float, n_steps: int) -> Any:
    """The estimates of the clusters, which many steps lead to."""
    labels = examples.choices(models, clients)
    new = models.copy()
    for j in np.unique(labels):
        own = [pair for pair, label in zip(clients, labels, strict=True) if label == j]
        x, y = (np.concatenate(parts) for parts in zip(*own, strict=True))
        new[j] = np.linalg.lstsq(x, y, rcond=None)[0]
    return new, labels


def test_after_many_steps_the_errors_are_those_of_least_squares(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tested = seen(monkeypatch, laws)
    call = recorded(least_squares, "ifca.run")
    ifca._run_law(call, {"data_seed": SEED})
    assert len(call.cases) == 60
    stream, right = rng(), []
    for case in call.cases:
        require_problem(stream, case, 30, 0.6)
        assert case["n_steps"] == 60
        for j, rows in enumerate((slice(0, 3), slice(3, 5))):
            own = case["clients"].pairs[rows]
            x, y = (np.concatenate(parts) for parts in zip(*own, strict=True))
            gap = np.linalg.solve(x.T @ x, x.T @ y) - CENTRES[j]
            right.append(exponential(((x @ gap) ** 2).sum() / 0.25 / 2))
    ((values, level, words),) = tested
    assert values == pytest.approx(np.array(right), abs=1e-9)
    assert (level, words) == (1e-6, "the error after many steps is not that of least squares")


def test_sixty_steps_are_enough_and_an_estimate_that_is_drawn_in_is_refused() -> None:
    for function in (least_squares, examples.ifca_run):
        ifca._run_law(recorded(function, "ifca.run"), {"data_seed": SEED})

    def ridge(models: Any, clients: Any, step_size: float, n_steps: int) -> Any:
        new, labels = least_squares(models, clients, step_size, n_steps)
        return 0.99 * new, labels

    with pytest.raises(Violation, match="is not that of least squares"):
        ifca._run_law(recorded(ridge, "ifca.run"), {"data_seed": SEED})


MODELS = np.array([[1.0], [2.0]])
LABELS = np.array([0, 1])


def test_a_run_is_compared_with_one_step_and_the_others() -> None:
    expected = SimpleNamespace(models=MODELS, errors=np.zeros(2))
    asked: list[Any] = []

    def expect(case: Case, labels: np.ndarray, unit: float) -> Any:
        asked.append((case, labels, unit))
        return expected

    rule: Any = SimpleNamespace(expect=expect)
    case: Case = {"models": 3.0 * MODELS, "n_steps": 4, "step_size": 0.5}
    total, middle = Clustered(MODELS, LABELS), Clustered(2.0 * MODELS, LABELS)
    call = answers(total, middle, total, unit=0.25)
    ifca._composition(rule)(call, case)
    assert asked == [(case, LABELS, 0.25)]
    first, second, third = call.cases
    assert first is case
    assert second == {**case, "n_steps": 1}
    assert third["models"] is middle.models
    assert (third["n_steps"], third["step_size"]) == (3, 0.5)
    halves = Clustered(np.array([[1.0], [2.5]]), LABELS)
    with pytest.raises(Violation, match=r"^model 1 is \[2\.0\]; 1 and 3 more steps give \[2\.5\]"):
        ifca._composition(rule)(answers(total, middle, halves), case)
    expected.errors = np.array([0.1, 0.2])
    ifca._composition(rule)(answers(total, middle, Clustered(MODELS + 0.199, LABELS)), case)
    with pytest.raises(Violation, match=r"^model 0 is .* rounding explains 0\.2$"):
        ifca._composition(rule)(answers(total, middle, Clustered(MODELS + 0.201, LABELS)), case)
    expected = None  # type: ignore[assignment]
    ifca._composition(rule)(answers(total), case)


def test_composition_is_tried_on_two_steps_and_more() -> None:
    found = set()

    @settings(
        max_examples=60, derandomize=True, database=None, deadline=None,
        phases=[Phase.generate], suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(ifca._several(Scope(simple=True)))
    def run(case: Case) -> None:
        found.add(case["n_steps"])

    run()
    assert found == {2, 3, 4, 5}
    assert ifca.SUBJECTS[0].example.get("n_steps") is None
    assert ifca.SUBJECTS[1].example["n_steps"] >= 2
