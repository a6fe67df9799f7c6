r"""Mutants of a statement: the same theorem with one exponent, factor, term or probability changed.

Mutants are derived from the statement's own expressions, so a new claim has them without further
work:

* *exponent*: a term is multiplied by :math:`s^{e}` for each of its symbols s and
  :math:`e=\pm1/4,\pm1/2`.  Inside an exponential the argument is multiplied instead.
* *factor*: a term whose size no free constant can absorb is multiplied by 3/4 and 1/4, or by 4/3
  and 4 where this is what asks for more.
* *term*: one of several terms is dropped.
* *failure*: the failure probability is divided by 4, squared, or replaced by :math:`e^{-m}`.
* *side*: an equation is moved by 5 per cent, up and down.
* *quantifier*: "there is a constant" becomes "for every constant in its box", and "with high
  probability" becomes "always".
* *assumption*: a condition is dropped, or allows equality where it was strict.
* *boundary*: the right-hand side of a condition is multiplied by 9/10 and 1/2.

Many mutants state more than the paper, and most of those are false.  Some state less.  `asks_less`
finds these over the range in which the claim is tried.  `resize` makes the same change larger or
smaller, for the search of the nearest false statement that is refuted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any, Literal

import sympy as sp

from bounds.render import latex
from bounds.statement import Assumption, Statement, Term

Kind = Literal[
    "exponent",
    "factor",
    "term",
    "failure",
    "side",
    "quantifier",
    "assumption",
    "boundary",
    "meaning",
]
#: Kinds that change the condition and not the conclusion.
CONDITIONS: tuple[Kind, ...] = ("assumption", "boundary")
EXPONENTS = (sp.Rational(-1, 2), sp.Rational(-1, 4), sp.Rational(1, 4), sp.Rational(1, 2))
FACTORS = (sp.Rational(3, 4), sp.Rational(1, 4))
LIMITS = (sp.Rational(9, 10), sp.Rational(1, 2))
_SMALLEST = 1e-6  # stands for the end zero of a constant's box
_ZERO = 1e-300  # stands for a symbol's value zero, whose negative powers are infinite
#: Smallest and largest value of each symbol over a claim's cells or search domain.
Ranges = Mapping[str, tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A changed statement.

    Attributes
    ----------
    name : the change in one phrase, e.g. ``term floor: d^(1/4) more``.
    kind : the kind of change.
    original : the statement that is changed.
    change : makes the changed statement, with the id of the original.
    multiplier : the factor by which one term or the failure probability was multiplied.  Where
        ``inside`` is true the argument of its exponential was multiplied.  It is zero for a dropped
        term.
    turned : whether a larger multiplier makes the right-hand side smaller, as that of a term below
        zero or of the argument of a decaying exponential does.
    term : the name of the changed term or assumption, empty where the failure probability or a
        quantifier was changed.
    symbol, size : the symbol and the shift of its exponent, or None and the factor.  A quantifier
        has its constant and no size.
    """

    name: str
    kind: Kind
    original: Statement
    change: Callable[[Statement], Statement] = field(compare=False)
    multiplier: sp.Expr
    inside: bool = False
    turned: bool = False
    term: str = ""
    symbol: sp.Symbol | None = None
    size: sp.Rational | None = None

    @cached_property
    def statement(self) -> Statement:
        """The changed statement, made when it is asked for: a sample decides few of them."""
        return self.change(self.original)

    @property
    def words(self) -> str:
        """The change in words, with inline math in the letters of the paper."""
        if self.kind == "quantifier" and self.symbol is not None:
            letter = latex(self.symbol, self.original.publication.notation)
            return f"for every ${letter}$ in its box, not for one"
        if self.kind in ("failure", "quantifier", "meaning", *CONDITIONS):
            return self.name
        return f"{self.term}: {self._change()}"

    def _change(self) -> str:
        if self.size is None:
            return "dropped"
        size = float(self.size)
        if self.symbol is None:
            return f"{size:.3g} times as large"
        letter = latex(self.symbol, self.original.publication.notation)
        by = f"multiplied by ${letter}^{{{size:.3g}}}$"
        if self.inside:
            return f"argument of the exponential {by}"
        now = power_of(self.statement.term(self.term).expr, self.symbol)
        if now is None:
            return f"term {by}"
        side = "at least" if size > 0 else "at most"
        return f"exponent of ${letter}$ {side} {float(now):.3g}, not {float(now) - size:.3g}"

    @property
    def family(self) -> tuple[str, str, str, bool] | None:
        """The changes that differ in their size only, None where a change has no size."""
        if self.size is None:
            return None
        symbol = "" if self.symbol is None else self.symbol.name
        return self.kind, self.term, symbol, bool(self.size > (1 if self.symbol is None else 0))


def mutants(statement: Statement) -> list[Mutant]:
    """Every mutant of a statement, in a fixed order.

    A statement without a sum of terms (a comparison, a printed number) has mutants of its failure
    probability only.  Its procedure has controls of its own.
    """
    made: list[Mutant] = []
    for term in statement.terms:
        made += [
            exponent_mutant(statement, term, symbol, shift)
            for symbol in variables(statement, term.expr)
            for shift in EXPONENTS
        ]
        made += [factor_mutant(statement, term, factor) for factor in _factors(statement, term)]
    if len(statement.terms) > 1:
        made += [_without(statement, term) for term in statement.terms]
    made += _failures(statement)
    made += _for_every(statement)
    for assumption in statement.assumptions:
        made += _conditions(statement, assumption)
    return made


def resize(original: Statement, mutant: Mutant, size: sp.Rational) -> Mutant:
    """The same change of a statement with another size: an exponent's shift, or a factor."""
    term = original.term(mutant.term)
    if mutant.symbol is None:
        return factor_mutant(original, term, size)
    return exponent_mutant(original, term, mutant.symbol, size)


def power_of(expr: sp.Expr, symbol: sp.Symbol) -> float | None:
    """The power of a symbol in a product of powers, None where the expression is no such product.

    >>> d, m = sp.symbols("d m")
    >>> power_of(sp.sqrt(d / m), m), power_of(1 + m, m)
    (-0.5, None)
    """
    power = _power_in(_evaluated(expr), symbol)
    return None if power is None else float(power)


def _power_in(expr: sp.Expr, symbol: sp.Symbol) -> sp.Expr | None:
    """`power_of`, exact.  A sum or a function of the symbol is no power of it."""
    if symbol not in expr.free_symbols:
        return sp.Integer(0)
    if expr == symbol:
        return sp.Integer(1)
    if expr.is_Pow and expr.exp.is_number:
        inner = _power_in(expr.base, symbol)
        return None if inner is None else expr.exp * inner
    if not expr.is_Mul:
        return None
    powers = [_power_in(factor, symbol) for factor in expr.args]
    return None if None in powers else sp.Add(*powers)


def with_term(statement: Statement, name: str, expr: sp.Expr) -> Statement:
    """The statement with one term's expression replaced."""
    terms = tuple(Term(name=t.name, expr=expr) if t.name == name else t for t in statement.terms)
    return replace(statement, terms=terms)


def multiplied(statement: Statement, name: str, factor: sp.Expr) -> Statement:
    """The statement with one term multiplied by a factor."""
    return with_term(statement, name, statement.term(name).expr * factor)


def _multiplied_inside(
    statement: Statement, name: str, tails: Sequence[sp.Expr], factor: sp.Expr
) -> Statement:
    """The statement with the arguments of some exponentials of a term multiplied by a factor."""
    changed = {tail: sp.exp(tail.args[0] * factor) for tail in tails}
    return with_term(statement, name, _evaluated(statement.term(name).expr).subs(changed))


def variables(statement: Statement, expr: sp.Expr) -> list[sp.Symbol]:
    """The symbols of an expression that are no constants, by name."""
    constants = {constant.symbol for constant in statement.constants}
    return sorted(expr.free_symbols - constants, key=lambda s: s.name)


def exponent_mutant(
    statement: Statement, term: Term, symbol: sp.Symbol, shift: sp.Rational
) -> Mutant:
    """One exponent of one term shifted.  Inside an exponential its argument is multiplied."""
    change = f"{symbol.name}^({abs(shift)}) {'more' if shift > 0 else 'less'}"
    power = symbol**shift
    expr = _evaluated(term.expr)
    tails = tuple(t for t in expr.atoms(sp.exp) if symbol in t.free_symbols)
    return Mutant(
        name=f"term {term.name}: {change}{' in the exponent' if tails else ''}",
        kind="exponent",
        original=statement,
        change=partial(_multiplied_inside, name=term.name, tails=tails, factor=power)
        if tails
        else partial(multiplied, name=term.name, factor=power),
        multiplier=power,
        inside=bool(tails),
        turned=_falls_with(expr, tails) if tails else _sign(expr) < 0,
        term=term.name,
        symbol=symbol,
        size=shift,
    )


def _sign(expr: sp.Expr) -> int:
    """The sign of a sum by those of its parts, whose symbols are above zero.  0 where they differ.

    >>> a, b = sp.symbols("a b")
    >>> _sign(a + b), _sign(-a * b / 2), _sign(a - b)
    (1, -1, 0)
    """
    signs = {-1 if p.as_coeff_Mul()[0].is_negative else 1 for p in sp.Add.make_args(expr)}
    return signs.pop() if len(signs) == 1 else 0


@lru_cache(maxsize=1024)
def _falls_with(expr: sp.Expr, tails: tuple[sp.Expr, ...]) -> bool:
    """Whether larger arguments of some exponentials make a term smaller.

    They are taken to decay where nothing tells.  All shifts of a symbol ask the same.
    """
    signs = set()
    for tail in tails:
        value = sp.Dummy(positive=True)
        signs.add(_sign(sp.diff(expr.subs(tail, value), value)) * _sign(tail.args[0]))
    return signs != {1}


@lru_cache(maxsize=1024)
def _evaluated(expr: sp.Expr) -> sp.Expr:
    """``expr.doit()``, once for all changes of a term."""
    return expr.doit()


def factor_mutant(statement: Statement, term: Term, factor: sp.Rational) -> Mutant:
    """One term multiplied by a number."""
    is_law = statement.relation == "="
    return Mutant(
        name=f"term {term.name}: times {float(factor):g}"
        if is_law
        else f"term {term.name}: times {factor}",
        kind="side" if is_law else "factor",
        original=statement,
        change=partial(multiplied, name=term.name, factor=factor),
        multiplier=factor,
        turned=_sign(_evaluated(term.expr)) < 0,
        term=term.name,
        size=factor,
    )


def _factors(statement: Statement, term: Term) -> tuple[sp.Rational, ...]:
    if statement.relation == "=":
        return sp.Rational(21, 20), sp.Rational(19, 20)
    if statement.relation == r"\propto" or absorbs(statement, term):
        return ()
    return tuple(1 / f for f in FACTORS) if asks_more_when_larger(statement, term) else FACTORS


def asks_more_when_larger(statement: Statement, term: Term) -> bool:
    """Whether a factor above one makes a term ask for more: in a bound from below, or below zero.

    Not where both are so.
    """
    return (statement.relation == r"\ge") is not (_sign(_evaluated(term.expr)) < 0)


def _without(statement: Statement, term: Term) -> Mutant:
    kept = tuple(t for t in statement.terms if t is not term)
    return Mutant(
        name=f"term {term.name}: dropped",
        kind="term",
        original=statement,
        change=partial(replace, terms=kept),
        multiplier=sp.Integer(0),
        turned=_sign(_evaluated(term.expr)) < 0,
        term=term.name,
    )


def absorbs(statement: Statement, term: Term) -> bool:
    """Whether a free constant multiplies the term, so that a factor changes nothing."""
    expr = _evaluated(term.expr)
    for constant in statement.constants:
        if constant.generous == "choose" or constant.symbol not in expr.free_symbols:
            continue
        factor = expr.as_independent(constant.symbol, as_Add=False)[1]
        if factor.as_base_exp()[0] == constant.symbol and factor.as_base_exp()[1].is_number:
            return True
        ratio = factor.subs(constant.symbol, 2 * constant.symbol) / factor
        if not _varies(ratio) and (number := sp.simplify(ratio)).is_number and number != 1:
            return True
    return False


def _varies(expr: sp.Expr) -> bool:
    """Whether an expression has plainly different values at two points: then it is no number.

    That takes a tenth of the time of `sympy.simplify`.  A logarithm may have no value at the first
    pair of points.
    """
    symbols = sorted(expr.free_symbols, key=lambda s: s.name)
    return any(_differs(expr, symbols, bases) for bases in ((9, 61), (29, 61)))


def _differs(expr: sp.Expr, symbols: Sequence[sp.Symbol], bases: Sequence[int]) -> bool:
    """Whether an expression has plainly different values at points that start at these bases."""
    values = [
        expr.evalf(subs={s: sp.Rational(base + 2 * i, 16) for i, s in enumerate(symbols)})
        for base in bases
    ]
    if not all(value.is_Float for value in values):
        return False  # undefined there, or a sum that does not evaluate
    return bool(abs(values[0] - values[1]) > sp.Rational(1, 10**6) * max(map(abs, values)))


def _failures(statement: Statement) -> Iterator[Mutant]:
    delta = statement.failure
    if delta is None:
        return
    changes: list[tuple[str, sp.Expr]] = [("divided by 4", delta / 4), ("squared", delta**2)]
    if m := next((s for s in delta.free_symbols if s.name == "m"), None):
        changes.append(("replaced by e^-m", sp.exp(-m)))
    for name, changed in changes:
        yield Mutant(
            name=f"failure probability: {name}",
            kind="failure",
            original=statement,
            change=partial(replace, failure=changed),
            multiplier=changed / delta,
        )


def _for_every(statement: Statement) -> Iterator[Mutant]:
    """Each constant at the end of its box that makes the statement hardest, and no failure at all.

    A rate is about growth, so that its constant may have any value.
    """
    if statement.kind in ("rate", "threshold"):
        return
    used = set(statement.expr.free_symbols) if statement.terms else set()
    used |= statement.failure.free_symbols if statement.failure is not None else set()
    for constant in statement.constants:
        if constant.generous == "choose" or constant.symbol not in used:
            continue
        hardest = max(constant.low, _SMALLEST) if constant.generous == "high" else constant.high
        side = ">=" if constant.generous == "high" else "<="
        yield Mutant(
            name=f"for every {constant.name} {side} {hardest:g}, not for one",
            kind="quantifier",
            original=statement,
            change=partial(_with_constant, at={constant.symbol: sp.Rational(str(hardest))}),
            multiplier=sp.Integer(0),
            symbol=constant.symbol,
        )
    if statement.failure is not None:
        yield Mutant(
            name="always, not with a failure probability",
            kind="quantifier",
            original=statement,
            change=partial(replace, failure=None),
            multiplier=sp.Integer(0),
        )


def _with_constant(statement: Statement, at: Mapping[sp.Symbol, sp.Expr]) -> Statement:
    """The statement with constants replaced by their values in its terms and its probability."""
    return replace(
        statement,
        terms=tuple(Term(name=t.name, expr=t.expr.subs(at)) for t in statement.terms),
        failure=None if statement.failure is None else statement.failure.subs(at),
    )


def assumption_named(statement: Statement, name: str) -> Assumption:
    """The assumption of that name."""
    return next(a for a in statement.assumptions if a.name == name)


def _conditions(statement: Statement, assumption: Assumption) -> Iterator[Mutant]:
    """The statement with one condition dropped, moved, or without its strictness.

    A hidden constant absorbs a factor, so that such a condition is dropped only.
    """
    yield with_condition(statement, assumption, "dropped", right=-sp.oo)
    if assumption.constant is not None:
        return
    if assumption.strict:
        yield with_condition(statement, assumption, "equality allowed", strict=False)
    if assumption.right != 0 and not assumption.right.is_negative:
        for size in LIMITS:
            yield _move(statement, assumption, size)


def _move(statement: Statement, assumption: Assumption, size: sp.Rational) -> Mutant:
    """The statement with the right-hand side of one condition multiplied by a number below 1."""
    change = f"right side {float(size):.3g} times as large"
    moved = with_condition(statement, assumption, change, right=size * assumption.right)
    return replace(moved, kind="boundary", size=size)


def with_condition(
    statement: Statement, assumption: Assumption, change: str, **fields: Any
) -> Mutant:
    """The statement with other fields of one of its conditions."""
    weaker = replace(assumption, **fields)
    return Mutant(
        name=f"condition {assumption.name}: {change}",
        kind="assumption",
        original=statement,
        change=partial(
            replace,
            assumptions=tuple(weaker if a is assumption else a for a in statement.assumptions),
        ),
        multiplier=sp.Integer(1),
        term=assumption.name,
    )


def asks_less(mutant: Mutant, ranges: Ranges) -> bool:
    """Whether the mutant follows from the original wherever the claim is tried.

    A mutant of an upper bound that only enlarges a term states less.  So does one that shrinks the
    argument of a decaying exponential, or a term below zero.  An equation implies no other one.
    Unknown ranges answer False: the mutant counts as false.
    """
    if mutant.kind in ("quantifier", *CONDITIONS):
        return False
    if mutant.kind != "failure" and mutant.original.relation == "=":
        return False
    sizes = _range(mutant.multiplier, ranges)
    if sizes is None:
        return False
    low, high = sizes
    larger, smaller = low >= 1.0, high <= 1.0
    if mutant.turned:
        larger, smaller = smaller, larger
    if mutant.kind == "failure":
        return larger
    return smaller if mutant.original.relation == r"\ge" else larger


def _range(expr: sp.Expr, ranges: Ranges) -> tuple[float, float] | None:
    """Smallest and largest value of a power of one symbol, or None where it is not known."""
    symbols: Sequence[sp.Symbol] = sorted(expr.free_symbols, key=lambda s: s.name)
    if not symbols:
        return float(expr), float(expr)
    if len(symbols) > 1 or symbols[0].name not in ranges:
        return None
    low, high = ranges[symbols[0].name]
    if low < 0:
        return None
    ends = [float(expr.subs(symbols[0], max(end, _ZERO))) for end in (low, high)]
    return min(ends), max(ends)
