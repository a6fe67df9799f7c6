"""Trying an implementation: whether it fits, which checks it passes, the smallest failure."""

from __future__ import annotations

import inspect
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import seed as seeded_by
from hypothesis.errors import Flaky

from trials.checks import function_of, integer_between, one_of, real_between
from verify.testing.arrays import Border
from verify.testing.case import Case
from verify.testing.check import (
    Check,
    DoesNotFit,
    Implementation,
    Scope,
    Subject,
    Violation,
    WrongForm,
)
from verify.testing.subjects import subject as named

EXAMPLES = 100


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of one check.

    Attributes
    ----------
    check : what was tried.
    message : why it failed, or an empty string.
    case : the smallest failing input that was found, or None.
    """

    check: Check
    message: str = ""
    case: Case | None = None

    @property
    def passed(self) -> bool:
        """Whether no input made the check fail."""
        return self.case is None


@dataclass(frozen=True, kw_only=True)
class Report:
    """The outcomes of all checks of an implementation."""

    implementation: Implementation
    outcomes: tuple[Outcome, ...]

    @property
    def passed(self) -> bool:
        """Whether all checks passed."""
        return all(outcome.passed for outcome in self.outcomes)

    @property
    def failures(self) -> tuple[Outcome, ...]:
        """The outcomes of the checks that failed."""
        return tuple(outcome for outcome in self.outcomes if not outcome.passed)


def implementation(
    function: Callable[..., Any],
    subject: str,
    *,
    arrays: str = "numpy",
    precision: str = "double",
    accuracy: float | None = None,
    equal_sizes: bool = False,
) -> Implementation:
    """A function as an implementation of a subject, after one call that shows that it fits.

    Parameters
    ----------
    function : the implementation.
    subject : a name such as ``ifca.step``.
    arrays : the package of the arrays that the function takes, e.g. ``torch`` or ``jax.numpy``.
    precision : of these arrays, ``double`` or ``single``.
    accuracy : relative accuracy that the function claims beyond rounding.  None means the
        subject's.
    equal_sizes : the function is for clients with equal numbers of rows only.

    Raises
    ------
    DoesNotFit : other arguments, an exception in the first call, or a result of another form.
    InvalidParameter : an unknown subject or package, an accuracy outside [0, 1].
    """
    definition = named(subject)
    function_of("function", function)
    claimed = definition.accuracy if accuracy is None else real_between("accuracy", accuracy, 0, 1)
    call = Implementation(
        function=function,
        subject=definition,
        border=Border(package=arrays, precision=precision),
        accuracy=claimed,
        scope=Scope(equal_sizes=equal_sizes),
    )
    _require_signature(function, definition)
    try:
        call(call.border.rounded(definition.example))
    except WrongForm as reason:
        raise DoesNotFit(
            f"{_name(function)} does not fit {subject}, which is {definition.signature}: "
            f"in a first call {reason}"
        ) from reason.__cause__
    except Violation:
        pass  # it fits, and a check will tell what is wrong
    return call


def _require_signature(function: Callable[..., Any], definition: Subject) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # a function of a compiled module: the first call will tell
    try:
        signature.bind(*definition.arguments)
    except TypeError as error:
        raise DoesNotFit(
            f"{_name(function)}{signature} does not fit {definition.name}, which is "
            f"{definition.signature}: {error}; arguments are given by position"
        ) from None


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", repr(function))


def try_check(
    check: Check,
    call: Implementation,
    *,
    seed: int = 0,
    examples: int = EXAMPLES,
    shrink: bool = True,
) -> Outcome:
    """Look for an input on which a check fails, and shrink it: half of the inputs are simple.

    A statistical check is tried once, on data of the seed.  Without ``shrink`` the first input is
    kept as it was drawn, which takes a tenth of the time.
    """
    found: list[tuple[Case, str]] = []
    own_seed = zlib.crc32(f"{seed} {call.subject.name} {check.name}".encode())

    def trial(case: Case) -> None:
        given_case = call.border.rounded(case)
        try:
            check.judge(call, given_case)
        except Violation as violation:
            found.append((given_case, str(violation)))
            raise

    profile = settings(
        max_examples=(examples + 1) // 2,
        database=None,
        deadline=None,
        verbosity=Verbosity.quiet,
        phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    try:
        if check.kind == "statistical":
            trial({"data_seed": own_seed % 2**31})
        else:
            for scope in (replace(call.scope, simple=True), call.scope):
                profile(seeded_by(own_seed)(given(case=check.cases(scope))(trial)))()
    except Violation:
        case, message = found[-1]
        return Outcome(check=check, message=message, case=case)
    except Flaky:
        case, message = found[-1]
        message += " (not every time: equal calls return different results)"
        return Outcome(check=check, message=message, case=case)
    return Outcome(check=check)


def verify(
    function: Callable[..., Any],
    subject: str,
    *,
    seed: int = 0,
    examples: int = EXAMPLES,
    checks: Sequence[str] | None = None,
    **declared: Any,
) -> Report:
    """Try an implementation with all checks of its subject.

    Parameters
    ----------
    function, subject : as for `implementation`.
    seed : of inputs and data.  Equal seeds give equal inputs.
    examples : inputs for each property and differential check.
    checks : names of the checks to try.  None means all.
    declared : ``arrays``, ``precision``, ``accuracy`` and ``equal_sizes`` of `implementation`.

    Returns
    -------
    Report

    Raises
    ------
    DoesNotFit, InvalidParameter : as `implementation`.

    Examples
    --------
    >>> from verify.testing.examples import assignment
    >>> verify(assignment, "assignment", examples=10).passed
    True
    >>> def wrong(points, centres):
    ...     return assignment(points, -centres)
    >>> report = verify(wrong, "assignment", examples=10, checks=["nearest"])
    >>> report.failures[0].check.name
    'nearest'
    """
    integer_between("examples", examples, 1)
    integer_between("seed", seed, 0)
    call = implementation(function, subject, **declared)
    known = {check.name: check for check in call.subject.checks}
    wanted = [one_of("check", name, known) for name in checks] if checks is not None else known
    outcomes = [try_check(known[name], call, seed=seed, examples=examples) for name in wanted]
    return Report(implementation=call, outcomes=tuple(outcomes))
