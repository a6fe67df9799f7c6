"""Tables of parameters: the domain, the default and the meaning of each.

A table is data.  The validation, the error messages, the rows that ``info`` prints and the tests
with bad values are all made from it.  `Parameters` is the table of an experiment, `validated` puts
one in front of a driver.

>>> table = Parameters({"n": Integer(1, 100, default=10, meaning="samples of a client")})
>>> table.check({"n": 1e1})
{'n': 10}
>>> print(*table.rows()[0])
n integer in [1, 100] 10 samples of a client
>>> table.check({"n": 0})
Traceback (most recent call last):
    ...
trials.checks.InvalidParameter: n=0 must be an integer in [1, 100]
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from types import EllipsisType
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

import numpy as np

from trials.checks import (
    LARGEST_ENTRY,
    WHOLE_IN_FLOAT,
    InvalidParameter,
    bounded_entries,
    check_drawn,
    check_rng,
    flag,
    function_of,
    integer_between,
    interval,
    one_of,
    real_array,
    real_between,
    real_or_infinite,
    record_of,
    shown,
    whole_array,
)

P = ParamSpec("P")
R = TypeVar("R")
Rule = Callable[[Mapping[str, Any]], None]


class _Required:
    def __repr__(self) -> str:
        return "required"


REQUIRED = _Required()


class Domain(Protocol):
    """What a value may be."""

    @property
    def text(self) -> str:
        """The domain in words."""

    def check(self, name: str, value: Any) -> Any:
        """Return the value in its standard form.

        `InvalidParameter` is raised where it lies outside the domain.
        """


# -- domains -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Integer:
    """Whole numbers in [low, high].

    ``why`` is the reason of the upper limit, printed in the error.

    ``default`` is REQUIRED, None, or a function of the cell as far as it is known.  A parameter
    with the default None may be left out and then stays out.
    """

    low: int
    high: int | None = None
    _: KW_ONLY
    default: Any = REQUIRED
    meaning: str = ""
    why: str = ""

    @property
    def text(self) -> str:
        """The domain in words."""
        return f"integer {interval(self.low, self.high)}"

    def check(self, name: str, value: Any) -> int:
        """The value as an int."""
        return integer_between(name, value, self.low, self.high, self.why)


@dataclass(frozen=True)
class Real:
    """Finite numbers in [low, high], or in (low, high] when ``open_low``.

    ``exhibited`` marks a constant whose existence statements assert, or on which the constants that
    they assert depend.  A claim exhibits one value, and no other value tests its statement.
    """

    low: float = -math.inf
    high: float = math.inf
    _: KW_ONLY
    open_low: bool = False
    default: Any = REQUIRED
    meaning: str = ""
    why: str = ""
    exhibited: bool = False

    @property
    def text(self) -> str:
        """The domain in words."""
        if self.low == -math.inf:
            return "number"
        return f"number {interval(self.low, self.high, open_low=self.open_low)}"

    def check(self, name: str, value: Any) -> float:
        """The value as a float."""
        return real_between(name, value, self.low, self.high, open_low=self.open_low, why=self.why)


@dataclass(frozen=True)
class RealOrInfinity:
    """Numbers, minus infinity and infinity.  NaN is refused."""

    @property
    def text(self) -> str:
        """The domain in words."""
        return "number or infinity"

    def check(self, name: str, value: Any) -> float:
        """The value as a float."""
        return real_or_infinite(name, value)


@dataclass(frozen=True)
class Options:
    """One of several names."""

    options: tuple[str, ...]
    _: KW_ONLY
    default: Any = REQUIRED
    meaning: str = ""

    @property
    def text(self) -> str:
        """The domain in words."""
        return "one of " + ", ".join(self.options)

    def check(self, name: str, value: Any) -> str:
        """The value, if it is an option."""
        return one_of(name, value, self.options)


@dataclass(frozen=True)
class ListOf:
    """A list of at least one value, each of the domain ``each``."""

    each: Integer | Real
    _: KW_ONLY
    default: Any = REQUIRED
    meaning: str = ""

    @property
    def text(self) -> str:
        """The domain in words."""
        return f"list, each {self.each.text}"

    def check(self, name: str, value: Any) -> list[Any]:
        """The values as a list."""
        if not isinstance(value, list | tuple) or not value:
            raise InvalidParameter(
                f"{name}={shown(value)} must be a list of at least one {self.each.text}"
            )
        return [self.each.check(name, v) for v in value]


Parameter = Integer | Real | Options | ListOf


# -- the table of an experiment ------------------------------------------------------------------


class ParameterRow(NamedTuple):
    """One line of a table for people: all fields are text."""

    name: str
    domain: str
    default: str
    meaning: str


_PLAIN = frozenset({int, float, str, bool, type(None)})
_MOST_KNOWN = 20_000  # cells that a table remembers, a few hundred bytes each


def _is_plain(params: Mapping[str, Any]) -> bool:
    """Whether this is a dictionary of numbers and words, whose `repr` is exact."""
    return type(params) is dict and all(type(value) in _PLAIN for value in params.values())


@dataclass(frozen=True)
class Parameters:
    """The parameters of an experiment, by name, and the rules that tie several of them.

    Attributes
    ----------
    entries : name -> `Integer`, `Real`, `Options` or `ListOf`.
    rules : functions of the complete cell that raise `InvalidParameter`.  The first line of the
        docstring of a rule states the requirement.
    """

    entries: Mapping[str, Parameter]
    rules: tuple[Rule, ...] = field(default=())
    _known: dict[str, dict[str, Any]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def check(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the complete cell in its one spelling.  Checking it again changes nothing.

        A run asks for the same cells again and again, so cells of plain values are remembered.

        Raises
        ------
        InvalidParameter : an unknown name, a value outside its domain, a broken rule.
        """
        if not _is_plain(params):
            return self._complete(params)
        spelled = repr(params)  # it tells 1, 1.0 and True apart, which are equal as keys
        found = self._known.get(spelled)
        if found is None:
            found = self._complete(params)
            if not _is_plain(found):
                return found
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[spelled] = found
        return dict(found)

    def _complete(self, params: Mapping[str, Any]) -> dict[str, Any]:
        unknown = sorted(map(str, set(params) - set(self.entries)))
        if unknown:
            raise InvalidParameter(
                f"unknown parameter {shown(unknown[0])}; known: {', '.join(sorted(self.entries))}"
            )
        cell: dict[str, Any] = {}
        for name, parameter in self.entries.items():
            value = params.get(name)
            if value is None and (name not in params or parameter.default is None):
                value = (
                    parameter.default(cell) if callable(parameter.default) else (parameter.default)
                )
                if value is None and parameter.default is None:
                    continue  # it may be left out
                if value is REQUIRED:
                    raise InvalidParameter(f"{name} must be given: {parameter.text}")
            cell[name] = parameter.check(name, value)
        for rule in self.rules:
            rule(cell)
        return cell

    def extended(self, entries: Mapping[str, Parameter], *rules: Rule) -> Parameters:
        """This table with further (or other) parameters and further rules."""
        return Parameters({**self.entries, **entries}, (*self.rules, *rules))

    def without(self, *names: str) -> Parameters:
        """This table without some parameters, which its rules must not read."""
        rest = {name: p for name, p in self.entries.items() if name not in names}
        return Parameters(rest, self.rules)

    def exhibited(self) -> frozenset[str]:
        """The names of the constants that a claim exhibits."""
        return frozenset(
            name for name, p in self.entries.items() if isinstance(p, Real) and p.exhibited
        )

    def rows(self) -> tuple[ParameterRow, ...]:
        """The table for people, a row a parameter."""
        return tuple(
            ParameterRow(name, p.text, _default_text(p.default), p.meaning)
            for name, p in self.entries.items()
        )

    def requirements(self) -> tuple[str, ...]:
        """What the rules require, a sentence each."""
        return tuple((inspect.getdoc(rule) or rule.__name__).split("\n")[0] for rule in self.rules)


def fits_in_memory(what: str, *names: str) -> Rule:
    """The rule that so many numbers, the product of some parameters, are few enough to be drawn.

    >>> fits_in_memory("features", "n", "d").__doc__
    'n d features fit into memory.'
    """
    letters = " ".join(names)

    def rule(cell: Mapping[str, Any]) -> None:
        check_drawn(f"{what} {letters}", math.prod(cell[name] for name in names))

    rule.__doc__ = f"{letters} {what} fit into memory."
    return rule


def at_least(name: str, other: str, says: str) -> Rule:
    """The rule that one parameter is not below another.  ``says`` is its sentence."""

    def rule(cell: Mapping[str, Any]) -> None:
        if cell[name] < cell[other]:
            value, least = (
                f"{v:g}" if isinstance(v, float) else v for v in (cell[name], cell[other])
            )
            raise InvalidParameter(f"{name}={value} must be >= {other}={least}")

    rule.__doc__ = says
    return rule


def _default_text(default: Any) -> str:
    if default is None:
        return "left out"
    if callable(default):
        return (inspect.getdoc(default) or default.__name__).split("\n")[0]
    return str(default)


# -- the arguments of a driver -------------------------------------------------------------------


@dataclass(frozen=True)
class Stream:
    """A `numpy.random.Generator`."""

    @property
    def text(self) -> str:
        """The domain in words."""
        return "numpy.random.Generator"

    def check(self, name: str, value: Any) -> np.random.Generator:
        """The stream."""
        return check_rng(value, name)


@dataclass(frozen=True)
class Flag:
    """True or False."""

    @property
    def text(self) -> str:
        """The domain in words."""
        return "True or False"

    def check(self, name: str, value: Any) -> bool:
        """The value as a bool."""
        return flag(name, value)


@dataclass(frozen=True)
class Record:
    """An object of one of the classes."""

    kinds: tuple[type, ...]

    def __init__(self, *kinds: type) -> None:
        object.__setattr__(self, "kinds", kinds)

    @property
    def text(self) -> str:
        """The domain in words."""
        return " or ".join(kind.__name__ for kind in self.kinds)

    def check(self, name: str, value: Any) -> Any:
        """The record."""
        return record_of(name, value, *self.kinds)


@dataclass(frozen=True)
class Function:
    """A function."""

    @property
    def text(self) -> str:
        """The domain in words."""
        return "function"

    def check(self, name: str, value: Any) -> Any:
        """The function."""
        return function_of(name, value)


@dataclass(frozen=True)
class Maybe:
    """None, or a value of a domain."""

    domain: Domain

    @property
    def text(self) -> str:
        """The domain in words."""
        return f"None or {self.domain.text}"

    def check(self, name: str, value: Any) -> Any:
        """None, or the value."""
        return None if value is None else self.domain.check(name, value)


@dataclass(frozen=True)
class Array:
    """An array of finite real numbers with named axes.

    Axes of one name must have one length in a call.

    A first axis ``...`` stands for any number of leading axes.  Empty axes are refused.

    Attributes
    ----------
    axes : names of the axes.  An axis with the name of an `Integer` argument has that argument's
        value as its length.
    low, high : limits of the entries.  ``open_low`` excludes the lower one.
    """

    axes: tuple[str | EllipsisType, ...]
    _: KW_ONLY
    low: float = -LARGEST_ENTRY
    high: float = LARGEST_ENTRY
    open_low: bool = False
    whole: bool = False

    @property
    def text(self) -> str:
        """The domain in words."""
        return f"array {self._shape}"

    @property
    def _shape(self) -> str:
        names = ["..." if a is ... else str(a) for a in self.axes]
        return f"({', '.join(names)}{',' if len(names) == 1 and names != ['...'] else ''})"

    def check(self, name: str, value: Any) -> Any:
        """Return the array in C order and writable, as float64 or (``whole``) int64.

        It is copied only where that is needed.  A read-only array is another type to the compiler,
        which would compile a kernel anew for it, for up to twenty seconds.
        """
        array = self._checked(name, value)
        return array if array.flags.writeable else array.copy()

    def _checked(self, name: str, value: Any) -> Any:
        array: Any
        if self.whole:
            low, high = max(self.low, -WHOLE_IN_FLOAT), min(self.high, WHOLE_IN_FLOAT)
            array = whole_array(name, value, int(low), int(high))
        else:
            array = real_array(name, value)
        free = self.axes[:1] == (...,)
        named = len(self.axes) - free
        if array.ndim < named or (array.ndim > named and not free) or 0 in array.shape:
            raise InvalidParameter(
                f"{name}.shape={array.shape} must be {self._shape} with every axis >= 1"
            )
        if self.whole:
            return array
        if (self.low, self.high) == (-LARGEST_ENTRY, LARGEST_ENTRY):
            bounded_entries(name, array)
            return array
        least, most = array.min(), array.max()
        if not (self.low <= least and most <= self.high) or (self.open_low and least == self.low):
            limits = interval(self.low, self.high, open_low=self.open_low)
            outside = ~((array >= self.low) & (array <= self.high))
            if self.open_low:
                outside |= array == self.low
            bad = tuple(int(i) for i in np.argwhere(outside)[0])
            place = f"[{', '.join(map(str, bad))}]" if bad else ""
            raise InvalidParameter(f"{name}{place}={array[bad]} must be a finite number {limits}")
        return array


def validated(**domains: Domain) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Check the named arguments of a driver, in their order, before it runs.

    The driver receives the values in their standard form: ints, floats, C-contiguous arrays.  Axes
    of one name must have one length.  Where an argument has that name, its value is the length.

    >>> @validated(theta=Array(("k", "d")), d=Integer(1))
    ... def norms(theta, d):
    ...     return (theta**2).sum(axis=1).tolist()
    >>> norms([[3.0, 4.0]], d=2)
    [25.0]
    >>> norms([[3.0, 4.0]], d=3)
    Traceback (most recent call last):
        ...
    trials.checks.InvalidParameter: theta has d=2, must be d=3
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        unknown = set(domains) - set(signature.parameters)
        if unknown:
            raise TypeError(f"{function.__name__} has no argument {', '.join(sorted(unknown))}")

        parameters = signature.parameters.values()
        if any(p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) for p in parameters):
            raise TypeError(f"{function.__name__} has an argument that cannot be given by name")
        known = signature.parameters.keys()
        required = {p.name for p in parameters if p.default is p.empty}
        positional = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        named = [(name, domains[name]) for name in known if name in domains]
        in_order = [(name, domain.check, *_lengths(domain)) for name, domain in named]

        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            # `signature.bind` would cost more than the checks, so it is called for its errors only.
            given: dict[str, Any] = {**dict(zip(positional, args, strict=False)), **kwargs}
            if len(given) < len(args) + len(kwargs) or not required <= given.keys() <= known:
                signature.bind(*args, **kwargs)
            lengths: dict[str, tuple[str, int]] = {}
            for name, check, is_length, axes in in_order:
                if name not in given:
                    continue
                given[name] = value = check(name, given[name])
                if value is None:
                    continue
                if is_length:
                    _agree(lengths, name, "", value)
                for axis, length in zip(axes, value.shape[::-1] if axes else (), strict=False):
                    _agree(lengths, axis, name, length)
            try:
                return function(**given)  # type: ignore[call-arg]
            except MemoryError:
                raise InvalidParameter(
                    f"{function.__name__}: arguments of these sizes need more memory than there is"
                ) from None

        checked.domains = domains  # type: ignore[attr-defined]
        return checked

    return decorate


def unchecked(driver: Callable[P, R]) -> Callable[P, R]:
    """A `validated` driver without its checks, for arguments that were checked before.

    An experiment's ``check`` validates a cell once.  Blocks of the cell need not do it again.
    """
    return driver.__wrapped__  # type: ignore[attr-defined, no-any-return]


def _lengths(domain: Domain) -> tuple[bool, tuple[str, ...]]:
    """Whether a value is itself the length of an axis, and the names of its axes, last first."""
    inner = domain.domain if isinstance(domain, Maybe) else domain
    axes = inner.axes if isinstance(inner, Array) else ()
    return isinstance(inner, Integer), tuple(a for a in reversed(axes) if isinstance(a, str))


def _agree(lengths: dict[str, tuple[str, int]], axis: str, owner: str, length: int) -> None:
    """Refuse a second length of an axis."""
    first, known = lengths.setdefault(axis, (owner, length))
    if known != length:
        array, got, wanted = (owner, length, known) if owner else (first, known, length)
        of = f" of {first}" if owner and first else ""
        raise InvalidParameter(f"{array} has {axis}={got}, must be {axis}={wanted}{of}")
