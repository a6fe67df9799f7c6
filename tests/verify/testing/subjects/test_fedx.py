"""The checks of ``fedavg.round`` and ``fedprox.round``: the law, and much local work."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from tests.verify.testing.draws import made_of
from tests.verify.testing.subjects.laws_seen import (
    SEED,
    answers,
    exponential,
    recorded,
    rng,
    seen,
)
from verify.testing import examples
from verify.testing import strategies as own
from verify.testing.case import Case, Clients
from verify.testing.check import Clustered, Scope, Violation
from verify.testing.subjects import fedx, laws


def only_model(clients: Any, start: Any, prox: bool) -> Any:
    if prox:
        return examples.fedprox_round(start, clients, 0.4)[0][0]
    return examples.fedavg_round(start, clients, 0.4, 3)[0][0]


@pytest.mark.parametrize(
    ("prox", "equal", "sizes"),
    [(False, False, [2, 3, 7]), (True, False, [2, 3, 7]), (True, True, [4, 4, 4])],
)
def test_the_error_of_a_round_is_normal_given_the_features(
    monkeypatch: pytest.MonkeyPatch, prox: bool, equal: bool, sizes: list[int]
) -> None:
    """The error is affine in the noise, so a round without noise and one for each unit vector of
    the noise tell its mean and its covariance.
    """
    tested = seen(monkeypatch, laws)
    name = "fedprox.round" if prox else "fedavg.round"
    function: Any = examples.fedprox_round if prox else examples.fedavg_round
    call = recorded(function, name, equal_sizes=equal)
    fedx._round_law(prox)(call, {"data_seed": SEED})
    ((values, level, words),) = tested
    assert len(values) == len(call.cases) == 150
    assert (level, words) == (1e-6, "the error after a round has another law")
    stream = rng()
    for value, case in list(zip(values, call.cases, strict=True))[:12]:
        truth = stream.standard_normal((1, 2))
        start = truth + np.array([[0.5, -0.5]])
        assert case["models"].tolist() == start.tolist()
        assert (case["step_size"], case["n_local_steps"]) == (0.4, 0 if prox else 3)
        features, noises = [], []
        for n, (x, y) in zip(sizes, case["clients"], strict=True):
            features.append(stream.standard_normal((n, 2)))
            noises.append(stream.standard_normal(n))
            assert x.tolist() == features[-1].tolist()
            assert y == pytest.approx(x @ truth[0] + 0.5 * noises[-1], rel=1e-12)

        def after(noise: Any, truth: Any = truth, features: Any = features) -> Any:
            parts = np.split(noise, np.cumsum(sizes)[:-1])
            pairs = [(x, x @ truth[0] + e) for x, e in zip(features, parts, strict=True)]
            return only_model(pairs, truth + np.array([[0.5, -0.5]]), prox)

        count = sum(sizes)
        mean = after(np.zeros(count))
        factor = np.array([after(unit) - mean for unit in np.eye(count)]).T
        gap = after(0.5 * np.concatenate(noises)) - mean
        square = gap @ np.linalg.solve(0.25 * factor @ factor.T, gap)
        assert value == pytest.approx(exponential(square / 2), abs=1e-9)


@pytest.mark.parametrize("prox", [False, True])
def test_a_third_of_the_step_size_is_refused(prox: bool) -> None:
    name = "fedprox.round" if prox else "fedavg.round"

    def tried(factor: float) -> None:
        def run(models: Any, clients: Any, step_size: float, *count: int) -> Any:
            function: Any = examples.fedprox_round if prox else examples.fedavg_round
            return function(models, clients, factor * step_size, *count)

        def three(models: Any, clients: Any, step_size: float) -> Any:
            return run(models, clients, step_size)

        def four(models: Any, clients: Any, step_size: float, n_local_steps: int) -> Any:
            return run(models, clients, step_size, n_local_steps)

        fedx._round_law(prox)(recorded(three if prox else four, name), {"data_seed": SEED})

    tried(1.0)
    with pytest.raises(Violation, match="the error after a round has another law"):
        tried(1.0 / 3.0)


@pytest.mark.parametrize(("steps", "more"), [(100, {"n_local_steps": 100}), (None, {})])
def test_clients_of_full_rank_are_scaled_frames_with_normal_responses(
    steps: int | None, more: Case
) -> None:
    scope, counts = Scope(equal_sizes=True), np.array([2, 5])
    found = made_of(
        fedx._full_rank(scope, steps),
        (st.integers(1, 3), 2),
        (st.integers(1, 4), 2),
        (own.sizes(2, 6, min_n=2, equal=True), counts),
        (own.seeds, 5),
        (own.whole((1, 2)), np.array([[3.0, -4.0]])),
    )
    stream = np.random.default_rng(5)
    for n, (x, y) in zip((2, 5), found["clients"], strict=True):
        normal = stream.standard_normal((n, 2))
        assert x.T @ x == pytest.approx(n * np.eye(2), abs=1e-12)
        assert np.linalg.matrix_rank(np.column_stack([x, normal]), tol=1e-9) == 2  # one span
        assert y.tolist() == stream.standard_normal(n).tolist()
    rest = {name: found[name] for name in found if name not in ("clients", "models")}
    assert rest == {"step_size": 2.0**30 if steps is None else 0.5, **more}
    assert found["models"].tolist() == [[3.0, -4.0]]


def test_much_local_work_is_the_mean_of_the_estimates_by_their_rows() -> None:
    """Estimates 3 and -2, the second from three rows: the mean is -3/4."""
    clients = Clients(
        ((np.ones((1, 1)), np.array([3.0])), (np.ones((3, 1)), np.array([-1.0, -2.0, -3.0])))
    )
    case: Case = {"models": np.array([[4.0]]), "clients": clients}

    def answered(value: float) -> Any:
        return answers(Clustered(np.array([[value]]), np.zeros(2, dtype=int)))

    fedx._local_limit(answered(-0.75), case)
    for wrong in (0.5, -0.749, -3.0):
        says = rf"^model 0 is \[{wrong}\]; the mean of the clients' estimates is \[-0\.75\]"
        with pytest.raises(Violation, match=says):
            fedx._local_limit(answered(wrong), case)


@pytest.mark.parametrize(("unit", "left"), [(2.0**-53, 2.0**-28), (2.0**-24, 2.0**-15)])
def test_what_local_work_leaves_is_small_in_units_of_estimates_and_models(
    unit: float, left: float
) -> None:
    """Estimates 3 and -4 and the model 12 have the sizes 5 and 12."""
    clients = Clients(tuple((np.ones((1, 1)), np.array([e])) for e in (3.0, -4.0)))
    case: Case = {"models": np.array([[12.0]]), "clients": clients}
    for share in (0.99, 1.01):
        off = np.array([[-0.5 + share * left * (1.0 + 5.0 + 12.0)]])
        call = answers(Clustered(off, np.zeros(2, dtype=int)), unit=unit)
        if share < 1:
            fedx._local_limit(call, case)
        else:
            with pytest.raises(Violation, match="the mean of the clients' estimates"):
                fedx._local_limit(call, case)


def test_the_checks_of_both_rounds_take_a_hundred_steps_or_an_exact_one() -> None:
    avg, prox = ({c.name: c for c in subject.checks} for subject in fedx.SUBJECTS)
    scope = Scope()
    for checks, steps in ((avg, 100), (prox, None)):
        assert repr(checks["local-limit"].cases(scope)) == repr(fedx._full_rank(scope, steps))
    assert fedx.SUBJECTS[0].example["n_local_steps"] >= 2
    assert "n_local_steps" not in fedx.SUBJECTS[1].example
    asked: list[Any] = []

    def call(case: Case) -> Any:
        asked.append(case.get("n_local_steps"))
        raise Violation("seen")

    program: Any = SimpleNamespace(scope=scope, border=SimpleNamespace(rounded=call))
    for checks in (avg, prox):
        with pytest.raises(Violation, match="seen"):
            checks["law"].judge(program, {"data_seed": 0})
    assert asked == [3, 0]
