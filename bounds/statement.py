r"""Statements as data.

The right-hand side of a theorem is a sum of named terms.  Each term is a sympy expression in
declared symbols and named constants.  One object is evaluated (`Statement.bound`), printed
(`Statement.latex`) and taken apart (`Statement.exponent`), so the formula that is printed is the
formula that was tested.

Assumptions are relations ``left >= C * right``.  `Assumption.margin` is the largest ``C`` with
which a cell meets the relation: the "sufficiently large constant" of the paper.
"""

from __future__ import annotations

import builtins
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from types import CodeType
from typing import Any, Literal

import mpmath
import numpy as np
import sympy as sp

from bounds.readable import readable
from bounds.render import PLAIN_NOTATION, Notation, latex

Kind = Literal[
    "deterministic",
    "probability",
    "law",
    "upper bound",
    "rate",
    "expectation",
    "threshold",
    "supremum",
    "comparison",
    "reproduction",
    "vacuity",
]
Values = Mapping[str, Any]
_NUMBER = (float, int)


class OutsideTheorem(ValueError):
    """The parameters violate an assumption.  The message gives its name, shortfall and source."""


@dataclass(frozen=True, kw_only=True)
class Publication:
    """A printed text with its citation and its letters.

    Attributes
    ----------
    label : the citation in running text, ``Authors, Journal Year``.
    bibtex : the BibTeX entry.
    notation : the letters in which its formulas are printed.
    """

    label: str
    bibtex: str
    notation: Notation = PLAIN_NOTATION

    def __post_init__(self) -> None:
        if not re.match(r"\s*@\w+\{\s*[^,\s]+\s*,", self.bibtex):
            raise ValueError(
                f"bibtex of {self.label!r} must start like @article{{key, ; it starts "
                f"{self.bibtex.strip()[:20]!r}"
            )

    @property
    def key(self) -> str:
        """The BibTeX entry's key."""
        return self.bibtex[self.bibtex.index("{") + 1 : self.bibtex.index(",")].strip()


@dataclass(frozen=True, kw_only=True)
class Constant:
    """A universal constant of a statement, with the declared box in which it is looked for.

    ``generous`` is the end of the box that makes the statement easiest to meet.  ``choose`` marks a
    constant that the algorithm's user picks, such as a step size.  It has no generous end.
    """

    symbol: sp.Symbol
    low: float
    high: float
    generous: Literal["high", "low", "choose"]
    meaning: str

    @property
    def name(self) -> str:
        """The symbol's name, the key under which values are passed."""
        return str(self.symbol.name)

    @property
    def most_generous(self) -> float:
        """The end of the box at which the statement is easiest to meet."""
        if self.generous == "choose":
            raise ValueError(f"{self.name} is chosen by the algorithm's user: no end is generous")
        return self.high if self.generous == "high" else self.low


@dataclass(frozen=True, kw_only=True)
class Term:
    """One summand of a bound."""

    name: str
    expr: sp.Expr


@dataclass(frozen=True, kw_only=True)
class Assumption:
    r"""``left >= C right`` (or ``left > right`` where no constant is hidden).

    Attributes
    ----------
    constant : the hidden constant of a ``\gtrsim``, or None where the paper's condition is exact.
    strict : whether equality violates the condition.
    added : whether the condition is not in the paper.
    """

    name: str
    left: sp.Expr
    right: sp.Expr
    constant: sp.Symbol | None = None
    strict: bool = False
    note: str = ""
    added: bool = False

    def margin(self, values: Values) -> float:
        """``left / right``: the largest constant with which the condition holds (inf: always)."""
        left, right = self._sides(values)
        if right <= 0.0:
            met = left > right if self.strict else left >= right
            return np.inf if met else 0.0
        return left / right

    def holds(self, values: Values) -> bool:
        """Whether the condition holds, hidden constants taken from ``values`` (default 1)."""
        needed = float(values.get(self.constant.name, 1.0)) if self.constant is not None else 1.0
        left, right = self._sides(values)
        if right > 0.0:
            left /= right
        else:  # a quotient would turn the relation around
            needed *= right
        return left > needed if self.strict else left >= needed

    def _sides(self, values: Values) -> tuple[float, float]:
        return float(evaluate(self.left, values)), float(evaluate(self.right, values))

    def latex(self, notation: Notation = PLAIN_NOTATION) -> str:
        r"""The condition as LaTeX, ``\gtrsim`` where a constant is hidden."""
        relation = r"\gtrsim" if self.constant is not None else (">" if self.strict else r"\ge")
        return f"{latex(self.left, notation)} {relation} {latex(self.right, notation)}"


@dataclass(frozen=True, kw_only=True)
class Contrast:
    r"""``left relation (1 + margin) right`` between the means of two methods on the same data.

    Attributes
    ----------
    left, right : names of the methods, letters and digits, typeset upright.
    relation : with ``"<"`` the left mean is smaller.  With ``"<="`` it exceeds the right one by a
        share ``margin`` at most.  With ``"="`` the two agree up to a share ``margin`` in both
        directions.
    margin : declared share of the right mean, of its size where it is negative.  It is zero where
        ``relation`` is ``"<"``.
    """

    left: str
    relation: Literal["<", "<=", "="]
    right: str
    margin: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a margin that the relation cannot use."""
        if self.relation == "<" and self.margin != 0.0:
            raise ValueError(f"margin={self.margin} must be 0 where the relation is '<'")
        if not 0.0 <= self.margin < np.inf or (self.relation == "=" and self.margin == 0.0):
            raise ValueError(
                f"margin={self.margin} must be finite and >= 0, and > 0 where the relation is '=': "
                "no sample proves exact equality"
            )

    def latex(self) -> str:
        """The contrast in mathematics: the margin is printed as a factor."""
        sign = {"<": "<", "<=": r"\le", "=": r"\approx"}[self.relation]
        left, right = (rf"\mathrm{{{name}}}" for name in (self.left, self.right))
        if self.relation == "<=" and self.margin > 0:
            return f"{left} {sign} {1 + self.margin:g}\\,{right}"
        share = f"\\ (\\pm{100 * self.margin:g}\\%)" if self.relation == "=" else ""
        return f"{left} {sign} {right}{share}"


@dataclass(frozen=True, kw_only=True)
class Trend:
    r"""A mean that grows or falls with one parameter while all others are fixed.

    Attributes
    ----------
    symbol : the parameter.
    direction : of the mean as the parameter grows.
    margin : the largest step in the wrong direction that is ignored, > 0, in the mean's own unit.
    """

    symbol: sp.Symbol
    direction: Literal["increases", "decreases"]
    margin: float

    def __post_init__(self) -> None:
        """Refuse a margin that no sample can resolve."""
        if not 0.0 < self.margin < np.inf:
            raise ValueError(f"margin={self.margin} must be finite and > 0")

    def latex(self, notation: Notation = PLAIN_NOTATION) -> str:
        """The trend as an arrow."""
        arrow = r"\uparrow" if self.direction == "increases" else r"\downarrow"
        return rf"{arrow}\ \text{{in}}\ {latex(self.symbol, notation)}"


@dataclass(frozen=True, kw_only=True)
class Printed:
    """A number that the paper prints, or reads off its figure, at one setting.

    Attributes
    ----------
    at : the setting, by the names of the experiment's parameters.
    value : as printed.
    tolerance : half a unit of the last printed digit, or the error of reading a figure.  It is
        absolute and > 0.
    se : standard error of the paper's own number where it is a mean of few runs, else zero.
    runs : the number of these runs, two or more where ``se`` is not zero.
    """

    at: Mapping[str, Any]
    value: float
    tolerance: float
    se: float = 0.0
    runs: int = 0

    def __post_init__(self) -> None:
        """Refuse a number that cannot be compared with anything."""
        if not (np.isfinite(self.value) and 0 < self.tolerance < np.inf and 0 <= self.se < np.inf):
            raise ValueError(
                f"printed value {self.value} +- {self.tolerance} (se {self.se}) must be finite, "
                "with a tolerance > 0 and a standard error >= 0"
            )
        if self.se > 0 and self.runs < 2:
            raise ValueError(
                f"printed value {self.value} has a standard error of {self.runs} runs: give the "
                "number of runs that it comes from (runs=, two or more)"
            )


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A checkable statement of a paper, or a corrected reading of one.

    Attributes
    ----------
    id : ``paper.statement``.
    publication : where it is printed, and in which letters.
    source : the place in the publication, with the number of the theorem or equation.
    quantifiers : LaTeX, in the paper's order.
    observed : LaTeX of the quantity on the left of the inequality.
    terms : the summands of the right-hand side.  It is empty for statements that are not about a
        sum.
    contrasts : which method does better than which, for the kind *comparison*.
    trends : in which parameters a mean grows or falls, also for the kind *comparison*.
    printed : numbers of the paper, for the kind *reproduction*.
    assertion : LaTeX of the assertion where there are no terms and no contrasts.
    definitions : symbols that the statement itself defines, such as the number of steps T.
    failure : the probability with which the statement may fail (None: never).
    reading : the chosen reading and its reason, where the print is ambiguous or contradicts its
        proof.
    uses : ids of the statements on which the proof of this one rests.
    """

    id: str
    title: str
    publication: Publication
    source: str
    kind: Kind
    quantifiers: str
    observed: str
    terms: Sequence[Term] = ()
    relation: Literal[r"\le", r"\ge", "=", r"\propto"] = r"\le"
    contrasts: Sequence[Contrast] = ()
    trends: Sequence[Trend] = ()
    printed: Sequence[Printed] = ()
    assertion: str = ""
    definitions: Mapping[sp.Symbol, sp.Expr] = field(default_factory=dict)
    failure: sp.Expr | None = None
    constants: Sequence[Constant] = ()
    assumptions: Sequence[Assumption] = ()
    reading: str = ""
    uses: Sequence[str] = ()

    def variant(self, id: str, title: str, source: str, **changed: Any) -> Statement:
        """Another form of this statement, such as a corrected one.

        What is not given is as here, but the reading and the uses, which belong to one form only.
        """
        fields = {"reading": "", "uses": (), **changed}
        return replace(self, id=id, title=title, source=source, **fields)

    @property
    def paper(self) -> str:
        """The id of the paper: the part of the statement's id before the first dot."""
        return self.id.partition(".")[0]

    @cached_property
    def expr(self) -> sp.Expr:
        """The right-hand side as one expression.  A statement without terms raises an error."""
        if not self.terms:
            raise ValueError(f"{self.id} has no terms: it states no bound")
        return sp.Add(*(term.expr for term in self.terms))

    def constant(self, name: str) -> Constant:
        """The constant of that name.  The error for an unknown name lists the valid ones."""
        for constant in self.constants:
            if constant.name == name:
                return constant
        known = ", ".join(c.name for c in self.constants) or "none"
        raise KeyError(f"{self.id} has no constant {name!r}; it has: {known}")

    def require(self, values: Values) -> None:
        """Raise `OutsideTheorem` unless every assumption holds at ``values``."""
        for assumption in self.assumptions:
            if not assumption.holds(values):
                left, right = (
                    float(evaluate(e, values)) for e in (assumption.left, assumption.right)
                )
                requirement = f"{right:.6g} = {plain(assumption.right)}"
                if assumption.constant is not None:
                    needed = float(values.get(assumption.constant.name, 1.0))
                    requirement = (
                        f"{needed:g} * {right:.6g} = {needed:g} * ({plain(assumption.right)})"
                    )
                elif assumption.right.is_number:
                    requirement = f"{right:g}"
                raise OutsideTheorem(
                    f"{assumption.name}: {plain(assumption.left)}={left:.6g} must be "
                    f"{'>' if assumption.strict else '>='} {requirement} "
                    f"({self.publication.label}, {self.source})"
                )

    def margins(self, values: Values) -> dict[str, float]:
        """The largest hidden constant with which each assumption holds at ``values``."""
        return {a.name: a.margin(values) for a in self.assumptions}

    def bound(self, values: Values, *, unchecked: bool = False) -> Any:
        """Evaluate the right-hand side.  Raise `OutsideTheorem` outside the assumptions.

        Values may be arrays where only the terms (not the assumptions) use them.
        """
        if not unchecked:
            self.require(values)
        return evaluate(self.expr, values)

    def term_values(self, values: Values) -> dict[str, Any]:
        """Each summand's value, by name (assumptions not checked)."""
        return {term.name: evaluate(term.expr, values) for term in self.terms}

    def failure_probability(self, values: Values) -> float:
        """The probability with which the statement may fail at ``values``."""
        return 0.0 if self.failure is None else float(evaluate(self.failure, values))

    def term(self, name: str) -> Term:
        """The summand of that name.  The error for an unknown name lists the valid ones."""
        for term in self.terms:
            if term.name == name:
                return term
        known = ", ".join(t.name for t in self.terms) or "none"
        raise KeyError(f"{self.id} has no term {name!r}; it has: {known}")

    def exponent(self, term: str, symbol: sp.Symbol) -> sp.Expr:
        r"""``d log(term) / d log(symbol)``: the exponent that the statement claims."""
        return exponent(self.term(term).expr, symbol)

    def power(self, term: str, symbol: sp.Symbol) -> float:
        """The exponent of a symbol in a term that is a product of powers.

        Raises
        ------
        ValueError
            When the exponent depends on a symbol.  The message names both.
        """
        found = self.exponent(term, symbol)
        if not found.is_number:
            raise ValueError(
                f"{self.id}: the exponent of {symbol} in term {term} is {plain(found)}, which must "
                "be a number"
            )
        return float(found)

    def latex(self) -> str:
        """The statement as LaTeX in the letters of its publication.

        The inequality where it has terms, otherwise its contrasts, printed number or assertion.
        """
        if not self.terms:
            return self._latex_without_terms()
        right = " + ".join(latex(t.expr, self.publication.notation) for t in self.terms)
        return f"{self.observed} {self.relation} {right}"

    def readable(self) -> str:
        """The statement as one line of readable text, for a terminal."""
        return readable(self.latex())

    def _latex_without_terms(self) -> str:
        if self.contrasts or self.trends:
            contrasts = [contrast.latex() for contrast in self.contrasts]
            trends = [trend.latex(self.publication.notation) for trend in self.trends]
            relations = r",\quad ".join(contrasts + trends)
            return rf"{self.observed}:\ {relations}"
        if len(self.printed) == 1:
            (printed,) = self.printed
            return rf"{self.observed} = {printed.value:g}\pm{printed.tolerance:g}"
        return self.assertion or self.observed

    def failure_latex(self) -> str:
        """The failure probability as LaTeX, empty for statements that never fail."""
        return "" if self.failure is None else latex(self.failure, self.publication.notation)


def exponent(expr: sp.Expr, symbol: sp.Symbol) -> sp.Expr:
    r"""``d log(expr) / d log(symbol)``: the exponent of a symbol in a product of powers."""
    log = sp.expand_log(sp.log(expr.doit()), force=True)
    return sp.simplify(symbol * sp.diff(log, symbol))


@lru_cache(maxsize=4096)
def _compile(expr: sp.Expr) -> tuple[tuple[str, ...], Any]:
    """NumPy code for an expression, with the sorted names of its free symbols."""
    symbols = tuple(sorted(expr.free_symbols, key=lambda s: s.name))
    names = tuple(s.name for s in symbols)
    function = _function(symbols, expr, "numpy")
    function.__globals__["range"] = _indices
    return names, function


#: Code by the `id` of an expression, which is kept as well, so that no other one has this `id`.
_CODE: dict[int, tuple[sp.Basic, tuple[tuple[str, ...], Any]]] = {}
_MOST_CODE = 8192


def _code_of(expr: Any) -> tuple[tuple[str, ...], Any]:
    """`_compile` of an expression or of a number.

    The hash of an expression and the comparison with an equal one take longer than most
    evaluations, so an expression that was seen is known by its `id`.
    """
    kept = _CODE.get(id(expr))
    if kept is None:
        if not isinstance(expr, sp.Basic):
            return _compile(sp.sympify(expr))
        if len(_CODE) >= _MOST_CODE:
            _CODE.clear()
        kept = _CODE[id(expr)] = expr, _compile(expr)
    return kept[1]


def _function(symbols: Sequence[sp.Symbol], expr: sp.Expr, module: str) -> Any:
    """The code of an expression.  A symbol hides no constant and no function of its name.

    In SymPy's code a symbol pi would take the place of the number, and gamma that of the function.
    """
    shared = [s for s in symbols if s.name in _outside(module)]
    if shared:
        new = {s: sp.Symbol(f"{s.name}__") for s in shared}
        own = tuple(new.get(s, s) for s in symbols)
        renamed = _code(own, expr.xreplace(new), module)
        if {s.name for s in shared} & _globals_of(renamed.__code__):
            return renamed
    return _code(symbols, expr, module)


def _code(symbols: Sequence[sp.Symbol], expr: sp.Expr, module: str) -> Any:
    try:
        return sp.lambdify(symbols, expr, module, docstring_limit=0)
    except (NotImplementedError, KeyError):  # their messages show classes and options of a printer
        raise ValueError(f"{plain(expr)} must be built of operations of NumPy") from None


@lru_cache(maxsize=2)
def _outside(module: str) -> frozenset[str]:
    """The names that an expression's code can use without being given them."""
    given = sp.lambdify((), sp.Integer(0), module).__globals__
    return frozenset((*given, *dir(builtins), *dir(math)))


def _globals_of(code: CodeType) -> set[str]:
    """The names from outside that a function's code uses, and the sums in it."""
    inner = (part for part in code.co_consts if isinstance(part, CodeType))
    return {*code.co_names}.union(*map(_globals_of, inner))


def _indices(first: Any, end: Any) -> range:
    """The index of a sum.  Its limits may be whole numbers of any type."""
    if not (float(first).is_integer() and float(end).is_integer()):
        raise ValueError(f"a sum from {first} to {end - 1} must have whole numbers as its limits")
    return range(int(first), int(end))


def _exact_indices(first: Any, end: Any) -> Iterator[Any]:
    """`_indices` in mpmath, so that a quotient of an index keeps all its digits."""
    return map(mpmath.mpf, _indices(first, end))


def evaluate(expr: sp.Expr, values: Values) -> Any:
    """Evaluate a sympy expression at named values.

    Raises
    ------
    KeyError, ValueError
        When a value is missing, NaN or no number, or the result is no real number.  The message
        names it.
    """
    # Searches and calibrations call this half a million times, so the common case, numbers in and
    # a number out, asks each question by the cheapest test.
    names, function = _code_of(expr)
    try:
        arguments = [values[name] for name in names]
    except KeyError:
        raise _no_value(names, values) from None
    for value in arguments:
        if value != value if isinstance(value, _NUMBER) else _is_nan(value):
            name = next(each for each in names if _is_nan(values[each]))
            wrong = values[name]
            told = "nan" if isinstance(wrong, float | np.ndarray) else f"{wrong!r:.60}"
            raise ValueError(f"{name}={told} must be a number")
    try:
        found = function(*arguments)
    except OverflowError:  # a power of Python's numbers raises where NumPy's is infinite
        with np.errstate(all="ignore"):
            found = function(*map(np.float64, arguments))
    except ZeroDivisionError:
        raise ZeroDivisionError(
            f"{plain(expr)} divides by zero at {_given(names, values)}"
        ) from None
    except (TypeError, AttributeError):  # NumPy has no functions of SymPy's numbers
        if not any(isinstance(value, sp.Basic) for value in arguments):
            raise
        return evaluate(expr, {**values, **{name: _plain_number(values[name]) for name in names}})
    except NameError:  # a function of SymPy that NumPy has not
        raise ValueError(f"{plain(expr)} must be built of operations of NumPy") from None
    if isinstance(found, _NUMBER) and found == found:
        return found
    # A root of a negative number is complex or NaN, by the type of the argument.
    is_complex = np.iscomplexobj(found) or getattr(found, "is_extended_real", True) is False
    if is_complex or _is_nan(found):
        given = _given(names, values)
        raise ValueError(f"{plain(expr)} must be a real number; it is not at {given}")
    return found


def _no_value(names: Sequence[str], values: Values) -> KeyError:
    """The error that names the symbols without a value."""
    missing = [name for name in names if name not in values]
    return KeyError(f"no value for {', '.join(missing)}; given: {', '.join(sorted(values))}")


def _plain_number(value: Any) -> Any:
    """A number of SymPy or NumPy as one of Python, complex where it is.  Others are unchanged."""
    if isinstance(value, sp.Basic):
        found = complex(value)
        return found.real if found.imag == 0 else found
    return value.item() if isinstance(value, np.generic) else value


def _given(names: Sequence[str], values: Values) -> str:
    """The values of some symbols for a message."""
    return ", ".join(f"{name}={values[name]}" for name in names)[:200]


def _is_nan(value: Any) -> bool:
    """Whether a value is NaN or no number, or an entry of an array is."""
    if isinstance(value, _NUMBER):
        return value != value
    try:
        if isinstance(value, sp.Basic):
            return _is_nan(_plain_number(value))
        numbers = np.asarray(value)
        if numbers.ndim and numbers.dtype == object:
            return any(map(_is_nan, numbers.flat))
        return bool(np.count_nonzero(np.isnan(numbers)))  # faster than `any`
    except (TypeError, ValueError):
        return True


@lru_cache(maxsize=1024)
def _compiled_mp(expr: sp.Expr) -> tuple[tuple[str, ...], Any]:
    symbols = tuple(sorted(expr.free_symbols, key=lambda s: s.name))
    function = _function(symbols, expr, "mpmath")
    function.__globals__["range"] = _exact_indices
    return tuple(s.name for s in symbols), function


def evaluate_mp(expr: sp.Expr, values: Values) -> Any:
    """`evaluate` in mpmath at its working precision: for the re-check of a counterexample."""
    names, function = _compiled_mp(sp.sympify(expr))
    if any(name not in values for name in names):
        raise _no_value(names, values)
    return mpmath.mpf(function(*(mpmath.mpf(_plain_number(values[name])) for name in names)))


@lru_cache(maxsize=4096, typed=True)
def plain(expr: sp.Expr) -> str:
    """An expression as one line of plain text, for error messages."""
    return str(sp.sstr(expr))
