"""Subjects and their checks, and how a check calls an implementation."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from hypothesis import strategies as st

from trials.checks import FloatArray, IntArray, InvalidParameter, shown
from verify.testing.arrays import Border, changed_argument, own_arguments
from verify.testing.case import Case

Kind = Literal["property", "differential", "statistical"]


class Violation(AssertionError):
    """An implementation differs from the definition of its subject."""


class WrongForm(Violation):
    """An implementation raises an error, or returns a value of the wrong form."""


class DoesNotFit(InvalidParameter):
    """A function that cannot be called as its subject is, or that returns something else."""


class Clustered(NamedTuple):
    """Models or centres (k, d) with the labels (m,) of clients or points."""

    models: FloatArray
    labels: IntArray


@dataclass(frozen=True)
class Scope:
    """Which inputs an implementation is for.

    Attributes
    ----------
    equal_sizes : all clients have the same number of rows.
    simple : only whole numbers and plain layouts.  They are tried first, because a failure among
        them shrinks to an input that one can read.
    """

    equal_sizes: bool = False
    simple: bool = False


@dataclass(frozen=True, kw_only=True)
class Check:
    """One statement about an implementation, with the inputs on which it is tried.

    Attributes
    ----------
    name : a word or two, used in names of files and tests.
    kind : ``property`` (relations between calls), ``differential`` (against our kernels and
        certificates) or ``statistical`` (against an exact law).
    states : the statement in one sentence.
    cases : the inputs that belong to a scope.  A statistical check has one input, its seed.
    judge : raises `Violation` for an input on which the statement is false.
    level : the probability that a statistical check rejects a correct implementation.
    """

    name: str
    kind: Kind
    states: str
    cases: Cases
    judge: Callable[[Implementation, Case], None]
    level: float = 0.0


Read = Callable[[Any, Case, Border], Any]
Cases = Callable[[Scope], st.SearchStrategy[Case]]


@dataclass(frozen=True, kw_only=True)
class Subject:
    """An algorithm that others implement.

    Attributes
    ----------
    name : e.g. ``ifca.step``.
    protocol : the class of `verify.testing.protocols` with the signature and its meaning.
    read : turns what a call returned into NumPy arrays.  It raises `Violation` for a wrong form.
    example : a first input, which shows whether the function fits.
    checks : everything that an implementation has to pass.
    accuracy : relative accuracy beyond rounding.  Zero means that only rounding is allowed.
    """

    name: str
    protocol: type
    read: Read
    example: Case
    checks: tuple[Check, ...] = field(default=())
    accuracy: float = 0.0

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of the arguments, in their order."""
        return tuple(inspect.signature(self.protocol.__call__).parameters)[1:]

    @property
    def signature(self) -> str:
        """The call and its result, e.g. ``(points, centres) -> labels``."""
        return self.text.splitlines()[2].strip("`")

    @property
    def text(self) -> str:
        """The definition."""
        return inspect.getdoc(self.protocol) or ""


@dataclass(frozen=True, kw_only=True)
class Implementation:
    """Somebody's function for a subject.  Calling it checks the form of what it returns.

    Attributes
    ----------
    function : the implementation.
    subject : its definition.
    border : the arrays that it works with.
    accuracy : relative accuracy that it claims beyond rounding.
    scope : the inputs that it is for.
    """

    function: Callable[..., Any]
    subject: Subject
    border: Border
    accuracy: float
    scope: Scope

    @property
    def unit(self) -> float:
        """The unit roundoff of its arrays."""
        return self.border.unit

    def __call__(self, case: Case) -> Any:
        """Call the function with the subject's arguments out of a case.

        Raises
        ------
        Violation : an exception of the function, a changed argument, a result of another form.
        """
        arguments = {name: case[name] for name in self.subject.arguments}
        given = own_arguments(self.border, arguments)
        try:
            value = self.function(*given.values())
        except (Exception, SystemExit) as error:  # the program would end as if all checks passed
            raise WrongForm(f"it raised {type(error).__name__}: {shown(str(error))}") from error
        changed = changed_argument(self.border, arguments, given)
        if changed is not None:
            raise Violation(f"it changed its argument {changed!r} in place")
        return self.subject.read(value, arguments, self.border)


# -- reading results -----------------------------------------------------------------------------


def _array(name: str, value: Any, shape: tuple[int, ...], border: Border) -> Any:
    try:
        array = border.take(value)
    except Exception as error:
        raise WrongForm(f"{name} cannot be read as an array: {error}") from error
    if array.dtype.kind not in "iuf":
        raise WrongForm(f"{name} must be an array of numbers; its type is {array.dtype}")
    if array.shape != shape:
        raise WrongForm(f"{name} has the shape {array.shape}; it must be {shape}")
    return array


def read_reals(name: str, value: Any, shape: tuple[int, ...], border: Border) -> FloatArray:
    """A returned array of finite numbers as float64."""
    array = _array(name, value, shape, border).astype(np.float64)
    if not np.isfinite(array).all():
        raise Violation(f"{name} holds {array[~np.isfinite(array)][0]}")
    return np.asarray(array)


def read_labels(value: Any, m: int, k: int, border: Border) -> IntArray:
    """Returned labels as int64."""
    array = _array("labels", value, (m,), border)
    if array.dtype.kind == "f":
        raise WrongForm(f"labels must be integers; their type is {array.dtype}")
    if array.size and not (array.min() >= 0 and array.max() < k):
        raise Violation(f"labels={array.tolist()} must lie in 0..{k - 1}")
    return np.asarray(array, dtype=np.int64)


def read_clustered(
    value: Any, shape: tuple[int, int], m: int, border: Border, name: str = "models"
) -> Clustered:
    """A returned pair of models (or centres) and labels."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise WrongForm(f"it returned {shown(value)}; it must return two arrays ({name}, labels)")
    models = read_reals(name, value[0], shape, border)
    return Clustered(models, read_labels(value[1], m, shape[0], border))


# -- making checks -------------------------------------------------------------------------------

Judge = Callable[[Implementation, Case], None]

LEVEL = 1e-6
"""Probability that a statistical check rejects a correct implementation, over all its tests."""


def property_check(name: str, states: str, cases: Cases, judge: Judge) -> Check:
    """A relation between calls."""
    return Check(name=name, kind="property", states=states, cases=cases, judge=judge)


def differential_check(name: str, states: str, cases: Cases, judge: Judge) -> Check:
    """A comparison with our kernels, with a certificate or with exact arithmetic."""
    return Check(name=name, kind="differential", states=states, cases=cases, judge=judge)


def law_check(states: str, judge: Judge) -> Check:
    """A test against an exact law at the level `LEVEL`, on data of the case's ``data_seed``."""
    return Check(
        name="law", kind="statistical", states=states, cases=_seed, judge=judge, level=LEVEL
    )


def _seed(_scope: Scope) -> st.SearchStrategy[Case]:
    return st.builds(lambda seed: {"data_seed": seed}, st.integers(0, 2**31 - 1))


def require_p_value(p: float, level: float, what: str) -> None:
    """Raise `Violation` where a test rejects at its level."""
    if not p >= level:
        raise Violation(f"{what}: the p-value is {p:.1e}, below the level {level:g}")
