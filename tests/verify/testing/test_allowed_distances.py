"""A check refuses models that are a little further apart than rounding explains, and no others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from verify.testing.check import Clustered, Violation
from verify.testing.subjects.ifca import _composition
from verify.testing.subjects.rounds import _differential, _fixed_point
from verify.testing.subjects.rules import Expectation

MODELS = np.array([[3.0, 4.0], [0.0, 1.0]])
LABELS = np.array([0, 1])
ACCURACY, ROUNDING = 1e-3, np.array([0.25, 0.5])
#: What one answer may be off by, model by model: rounding, and the accuracy of its size.
ALLOWED = ROUNDING + ACCURACY * np.array([5.0, 1.0])
RULE: Any = SimpleNamespace(
    expect=lambda _case, _labels, _unit: Expectation(
        MODELS, ROUNDING, np.eye(2, dtype=bool), np.eye(2)
    )
)


class Program:
    """It answers with these distances from the models, call by call, for one of them."""

    accuracy, unit = ACCURACY, 2.0**-53

    def __init__(self, model: int, distances: list[float]) -> None:
        self._left: Iterator[float] = iter(distances)
        self._model = model

    def __call__(self, _case: Any) -> Clustered:
        models = MODELS.copy()
        models[self._model, 0] += next(self._left)
        return Clustered(models, LABELS)


@pytest.mark.parametrize("model", [0, 1])
@pytest.mark.parametrize(
    ("judge", "calls", "most"),
    [
        (_differential(RULE), [1.0], 1.0),  # ours is taken for exact
        (_fixed_point(RULE), [1.0], 2.0),  # the models that are given are rounded, too
        (_composition(RULE), [1.0, 0.0, 0.0], 2.0),  # two answers, each off by what is allowed
        (_composition(RULE), [0.0, 0.0, -1.0], 2.0),
    ],
)
def test_the_distance_that_is_allowed_is_a_sum_over_the_answers(
    judge: Callable[[Any, Any], None], calls: list[float], most: float, model: int
) -> None:
    case = {"models": MODELS, "n_steps": 7}

    def tried(share: float) -> None:
        distances = [share * most * ALLOWED[model] * call for call in calls]
        judge(Program(model, distances), case)

    tried(0.99)
    with pytest.raises(Violation, match=rf"model {model} is .* rounding explains"):
        tried(1.01)
