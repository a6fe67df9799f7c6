"""What a statistical check computes: the numbers that it hands to its test, and its calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from verify.testing import implementation
from verify.testing.arrays import Border
from verify.testing.case import Case
from verify.testing.check import Implementation, Scope

SEED = 20


def rng() -> np.random.Generator:
    """The stream of a check on the data seed `SEED`, from its beginning."""
    return np.random.default_rng(SEED)


class _Recorded:
    def __init__(self, function: Callable[..., Any], subject: str, **declared: Any) -> None:
        self.call: Implementation = implementation(function, subject, **declared)
        self.cases: list[Case] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.call, name)

    def __call__(self, case: Case) -> Any:
        self.cases.append(case)
        return self.call(case)


def recorded(function: Callable[..., Any], subject: str, **declared: Any) -> Any:
    """An implementation that keeps its inputs in ``cases``."""
    return _Recorded(function, subject, **declared)


class _Answers:
    def __init__(self, answers: tuple[Any, ...], accuracy: float, unit: float) -> None:
        self._left = iter(answers)
        self.accuracy, self.unit, self.border, self.scope = accuracy, unit, Border(), Scope()
        self.cases: list[Case] = []

    def __call__(self, case: Case) -> Any:
        self.cases.append(case)
        return next(self._left)


def answers(*given: Any, accuracy: float = 0.0, unit: float = 2.0**-53) -> Any:
    """A program that gives these answers, call by call, and keeps its inputs in ``cases``."""
    return _Answers(given, accuracy, unit)


def seen(
    monkeypatch: pytest.MonkeyPatch, place: Any, name: str = "uniform"
) -> list[tuple[Any, float, str]]:
    """The (numbers, level, words) that a test of ``place`` is given from now on.  It accepts."""
    found: list[tuple[Any, float, str]] = []
    monkeypatch.setattr(place, name, lambda *given: found.append(given))
    return found


def exponential(half: Any) -> Any:
    """The probability that half a chi-square number of two degrees of freedom is below."""
    return -np.expm1(-np.asarray(half))
