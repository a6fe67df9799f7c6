"""Records of the checks of implementations: how far an answer may be moved before a check fails.

A plain implementation answers, and one of its answers is moved by a share of a fixed direction.
The largest share that passes is found by bisection.  It is the check's allowance for this input.
The inputs are drawn by Hypothesis when the records are written, and kept.  Statistical checks are
left out: they draw thousands of inputs.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.records.values import number, plain, told
from tests.verify.testing.planted import PLAIN
from verify.testing import examples, implementation
from verify.testing.case import Case, Clients
from verify.testing.check import Check, Clustered, Scope, Violation
from verify.testing.subjects import SUBJECTS

KIND = "subjects"
#: As in the tests of allowances: both the accuracy and the rounding show.
ACCURACY, UNIT = 1e-6, 2.0**-22
#: Moved answers: that of the first call or of the second.
CALLS = (0, 1)
LOWEST, HIGHEST, STEPS = -45.0, 12.0, 28
#: Inputs of a check, letters of one, and the CPU seconds of a check.
INPUTS, LETTERS, LONGEST = 2, 1500, 0.3


def names() -> list[str]:
    """The checks of the subjects, by subject and check."""
    return [
        f"{subject.name} {check.name}"
        for subject in SUBJECTS.values()
        for check in subject.checks
        if check.kind != "statistical"
    ]


def again(name: str, recorded: Mapping[str, Any]) -> dict[str, Any]:
    """The allowances at the recorded inputs."""
    subject, check = named(name)
    found = {}
    for i, each in recorded.items():
        case = as_case(each["input"])
        found[i] = {"input": each["input"], "states": plain(check.states)}
        for call in CALLS:
            found[i][f"call {call}"] = allowance(subject, check, case, call)
    return found


def fresh(name: str, recorded: Mapping[str, Any]) -> dict[str, Any]:
    """The same, with inputs that are drawn where there are none."""
    if recorded:
        return again(name, recorded)
    _subject, check = named(name)
    inputs = [as_data(case) for case in drawn(check)]
    short = [each for each in inputs if len(repr(each)) < LETTERS]
    chosen = sorted(short, key=lambda each: -len(repr(each)))[: 3 * INPUTS]
    while chosen:
        begin = time.process_time()
        found = again(name, {f"{i}": {"input": v} for i, v in enumerate(chosen[:INPUTS])})
        if time.process_time() - begin < LONGEST or len(chosen) == 1:
            return found
        chosen = chosen[1:]
    return {}


def named(name: str) -> tuple[str, Check]:
    """The subject and the check."""
    subject, _, check = name.partition(" ")
    return subject, next(each for each in SUBJECTS[subject].checks if each.name == check)


class Moved:
    """An implementation one of whose answers is moved."""

    accuracy, unit = ACCURACY, UNIT

    def __init__(self, subject: str, call: int, size: float) -> None:
        self._right = implementation(getattr(examples, PLAIN[subject]), subject)
        self._left, self._size = call, size

    def __getattr__(self, name: str) -> Any:
        return getattr(self._right, name)

    def __call__(self, case: Case) -> Any:
        """The right answer, or the moved one."""
        answer = self._right(case)
        self._left -= 1
        return moved(answer, self._size) if self._left == -1 else answer


def moved(answer: Any, size: float) -> Any:
    """An answer moved by a share of a fixed direction.  Labels stay."""
    if isinstance(answer, Clustered):
        return Clustered(moved(answer.models, size), answer.labels)
    if answer.dtype.kind != "f":
        return answer
    place = np.arange(1.0, 1.0 + answer.size).reshape(answer.shape)
    return answer + size * np.cos(place)


def allowance(subject: str, check: Check, case: Case, call: int) -> Any:
    """The largest share that passes, or the word for none and for every one."""

    def passes(size: float) -> bool:
        try:
            check.judge(Moved(subject, call, size), case)  # type: ignore[arg-type]
        except Violation:
            return False
        return True

    try:
        if not passes(0.0):
            return "refused"
        if passes(2.0**HIGHEST):
            return "any"
        low, high = LOWEST, HIGHEST
        for _ in range(STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if passes(2.0**middle) else (low, middle)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
        return told(error)
    return number(2.0**low) if low > LOWEST else "none"


def drawn(check: Check) -> list[Case]:
    """Some inputs of a check."""
    found: list[Case] = []
    for scope in (Scope(), Scope(simple=True)):

        @settings(
            max_examples=12, database=None, deadline=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @seed(5)
        @given(check.cases(scope))
        def run(case: Case) -> None:
            found.append(case)

        run()
    return found


# -- inputs as data --------------------------------------------------------------------------------


def as_data(value: Any) -> Any:
    """An input as JSON-ready data, with all digits."""
    if isinstance(value, Clients):
        return {"clients": [[as_data(x), as_data(y)] for x, y in value]}
    if isinstance(value, dict):
        return {"case": {name: as_data(part) for name, part in value.items()}}
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "shape": list(value.shape), "type": str(value.dtype)}
    if isinstance(value, np.generic):
        return value.item()
    return value


def as_case(data: Any) -> Any:
    """The input back from data."""
    if not isinstance(data, dict):
        return data
    if "clients" in data:
        return Clients(tuple((as_case(x), as_case(y)) for x, y in data["clients"]))
    if "array" in data:
        return np.array(data["array"], dtype=data["type"]).reshape(data["shape"])
    return {name: as_case(part) for name, part in data["case"].items()}
