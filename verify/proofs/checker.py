r"""Checks a proof that a statement holds at every point of its domain.

The module needs python-flint and the standard library only.  A statement is JSON:

    {"variables": ["x", "n"], "given": [[">", "x", "0"]], "claim": [">=", LEFT, RIGHT]}

It says: at all real values of the variables at which the given relations hold, with every term in
them defined, the claim holds, with every term in it defined.  A term is a rational as text, the
name of a variable, or a list of an operation and its terms.  A certificate is a tree of steps.

============  ====================================================================================
``let``       a variable as a function of a new one that takes every value of the domain
``name``      a term as a new variable, of which only the given relations are known
``cases``     one goal where a term is >= 0, one where it is <= 0
``cut``       a relation is proved and then given
``lemma``     log x <= x - 1, or e^x >= 1 + x
``monotone``  the claim at the smallest value of a variable, and a derivative >= 0
``sum``       a positive multiple of the claim equals a term that is >= 0 by the signs of its parts
``boxes``     a tree of splits, with an enclosure of the claim by balls in each part
============  ====================================================================================
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any

import flint

Term = Any  # a rational or a name as text, or a list of an operation and its terms
Relation = tuple[str, Term]  # ``term relation 0``
Poly = flint.fmpq_mpoly
Quotient = tuple[Poly, Poly]
Box = Mapping[str, tuple[Fraction, Fraction]]

NUMBER = re.compile(r"-?[0-9]{1,300}(/[0-9]{1,300})?")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,40}")
_ATOMS, _EXPONENT, _SIZE, _PRECISION = 16, 64, 20_000, 128


class Rejected(ValueError):
    """The certificate does not prove the statement.  The message says why."""


def require(condition: object, message: str) -> None:
    """Raise `Rejected` unless the condition holds."""
    if not condition:
        raise Rejected(message)


def digest(statement: Mapping[str, Any]) -> str:
    """The hash of a statement, by which its certificate is found."""
    text = json.dumps(statement, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def check(statement: Mapping[str, Any], certificate: Any) -> None:
    """Raise `Rejected` unless the certificate proves the statement."""
    try:
        prove(goal_of(statement), certificate)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError,
            RuntimeError) as error:  # fmt: skip
        raise Rejected(str(error)[:200] or "the certificate is malformed") from None


# -- Terms -----------------------------------------------------------------------------------------


def number(term: Term) -> Fraction | None:
    """The value of a rational, None for another term."""
    return Fraction(term) if isinstance(term, str) and NUMBER.fullmatch(term) else None


def parts_of(term: Term) -> tuple[str, list[Term]]:
    """The operation of a term and its terms, in the right number."""
    op, *parts = term
    arity = {"+": len(parts), "*": len(parts), "max": 2, "min": 2, "^": 2}.get(op, 1)
    require(op in _BALLS and parts and len(parts) == arity, f"operation {op!r} is malformed")
    if op == "^" and number(parts[1]) is None:  # x^y = exp(y log x)
        return "exp", [["*", parts[1], ["log", parts[0]]]]
    return op, parts


def names(term: Term) -> set[str]:
    """The variables of a term."""
    if isinstance(term, str):
        return set() if NUMBER.fullmatch(term) else {term}
    return set().union(*map(names, term[1:]))


def put(term: Term, old: Term, new: Term) -> Term:
    """The term with another one in the place of a part of it."""
    if term == old:
        return new
    return term if isinstance(term, str) else [term[0], *(put(part, old, new) for part in term[1:])]


def minus(left: Term, right: Term) -> Term:
    """The difference of two terms."""
    return left if right == "0" else ["+", left, ["*", "-1", right]]


def slope(term: Term, x: str) -> Term:
    """The derivative of a term by x."""
    if x not in names(term) or term == x:
        return "1" if term == x else "0"
    op, parts = parts_of(term)
    inner = [slope(part, x) for part in parts]
    if op == "+":
        return ["+", *inner]
    if op == "*":
        return ["+", *(["*", d, *parts[:i], *parts[i + 1 :]] for i, d in enumerate(inner))]
    if op == "^":
        return ["*", parts[1], ["^", parts[0], str(Fraction(parts[1]) - 1)], inner[0]]
    outer = {"exp": ["exp", *parts], "log": ["^", parts[0], "-1"]}
    require(op in outer, f"{op} has no derivative everywhere")
    return ["*", outer[op], inner[0]]


def smooth(term: Term) -> bool:
    """Whether a term holds no extremum."""
    return isinstance(term, str) or (term[0] not in ("max", "min") and all(map(smooth, term[1:])))


def enclose(term: Term, values: Mapping[str, flint.arb]) -> flint.arb:
    """A ball that holds every value of a term.  It is not finite where a value is undefined."""
    if isinstance(term, str):
        exact = number(term)
        return values[term] if exact is None else flint.arb(flint.fmpq(*exact.as_integer_ratio()))
    op, parts = parts_of(term)
    return _BALLS[op](*(enclose(part, values) for part in parts[: 1 if op == "^" else None]),
                      *(map(Fraction, parts[1:]) if op == "^" else ()))  # fmt: skip


def _power(base: flint.arb, exponent: Fraction) -> flint.arb:
    root = base if exponent.denominator == 1 else base.root(exponent.denominator)
    power = root ** abs(exponent.numerator) if exponent else 1 + 0 * root  # undefined, not 1
    return power if exponent >= 0 else 1 / power


_BALLS: dict[str, Callable[..., flint.arb]] = {
    "+": lambda *balls: reduce(lambda x, y: x + y, balls),
    "*": lambda *balls: reduce(lambda x, y: x * y, balls),
    "max": lambda x, y: x.max(y),
    "min": lambda x, y: x.min(y),
    "^": _power,
    "exp": lambda x: x.exp(),
    "log": lambda x: x.log(),
}


# -- Goals -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Goal:
    """The claim for all values of the variables at which the given relations hold."""

    variables: tuple[str, ...]
    given: tuple[Relation, ...]
    claim: Relation

    def __post_init__(self) -> None:
        """Refuse a name of no variable: a later step could give it to one."""
        for _, term in (*self.given, self.claim):
            require(names(term) <= {*self.variables}, "a name is of no variable")

    def put(self, old: Term, new: Term, variables: Sequence[str], *more: Relation) -> Goal:
        """The goal with a term in the place of another, in other variables."""
        given = tuple((relation, put(term, old, new)) for relation, term in self.given)
        claim = self.claim[0], put(self.claim[1], old, new)
        return Goal(tuple(variables), (*more, *given), claim)

    def knowing(self, relation: str, term: Term) -> Goal:
        """The goal with one more given relation."""
        return replace(self, given=(*self.given, (relation, term)))

    def others(self, x: str) -> tuple[str, ...]:
        """The variables but one."""
        require(x in self.variables, f"{x} is no variable")
        return tuple(name for name in self.variables if name != x)


def goal_of(statement: Mapping[str, Any]) -> Goal:
    """The statement as a goal."""
    variables, (relation, left, right) = tuple(statement["variables"]), statement["claim"]
    require(all(NAME.fullmatch(x) for x in variables), "a variable has a bad name")
    require(len(set(variables)) == len(variables), "a variable is named twice")
    given = tuple((each, minus(a, b)) for each, a, b in statement["given"])
    require({relation, *(each for each, _ in given)} <= {">=", ">", "="}, "no relation")
    return Goal(variables, given, (relation, minus(left, right)))


# -- Algebra ---------------------------------------------------------------------------------------


class Algebra:
    """The terms of a goal as quotients of polynomials in its variables and in atoms.

    An atom is a root, a logarithm, an exponential, or an extremum that the signs do not decide.
    Roots split into those of factors >= 0, logarithms into those of factors > 0.  What is given
    is kept as signs of polynomials.
    """

    def __init__(self, goal: Goal) -> None:
        self.context = flint.fmpq_mpoly_ctx.get(
            (*goal.variables, *(f"_{i}" for i in range(_ATOMS))), "lex"
        )
        self.gens = self.context.gens()
        self.variables = dict(zip(goal.variables, self.gens, strict=False))
        self.one = self.context.constant(1)
        self.atoms: dict[tuple[str, str], int] = {}
        self.logs: dict[int, Poly] = {}  # a logarithm -> the polynomial of which it is one
        self.powers: dict[int, tuple[int, Poly]] = {}  # a root -> q and its q-th power
        self.signs: dict[str, tuple[str, Poly]] = {}  # ">", ">=" or "!=", which is not zero
        for relation, term in (*goal.given, *goal.given):  # the later ones simplify the first
            top, bottom = self.quotient(term)  # it is defined, so the bottom is not zero
            self.learn(relation, top if self.sign(bottom) == ">" else top * bottom)

    def learn(self, relation: str, poly: Poly) -> None:
        """Note the sign of a polynomial, and of what is left of it without positive factors."""
        if relation == "=":
            self.note(-poly, ">=")
        self.note(poly, ">" if relation == ">" else ">=")
        if relation == "=" or poly.is_constant():
            return
        unit, factors = poly.factor()
        left = self.one if unit > 0 else -self.one
        for factor, times in factors:
            if relation == ">":
                self.note(factor, "!=")
            if self.sign(-factor) == ">":
                left = left * (-1) ** times
            elif self.sign(factor) != ">" and (times % 2 or relation == ">="):
                left = left * factor ** (times % 2 or 2)
        self.note(left, relation)

    def note(self, poly: Poly, sign: str) -> None:
        """Keep the strongest that is known of a polynomial.  Factors > 0 do not count."""
        order = ("", ">=", "!=", ">")
        for s, side in ((sign, poly), *((sign, -poly) for _ in range(sign == "!="))):
            old = self.known(side)
            best = ">" if {old, s} == {">=", "!="} else max(old, s, key=order.index)
            self.signs[self.key(side)] = best, side

    def key(self, poly: Poly) -> str:
        """A name of a polynomial up to a positive factor."""
        return str(poly if poly.is_zero() else poly / abs(poly.leading_coefficient()))

    def known(self, poly: Poly) -> str:
        """What is noted of a polynomial."""
        return self.signs.get(self.key(poly), ("",))[0]

    def sign(self, poly: Poly) -> str:
        """``">"`` or ``">="`` where the polynomial is known to be so, else empty."""
        found = self._plain(poly)
        if found == ">" or poly.is_constant():
            return found
        unit, factors = poly.factor()
        positive, strict = unit > 0, True
        for factor, times in factors:
            up, down = self._plain(factor), self._plain(-factor)
            if times % 2 and not (up or down):
                return found
            positive ^= bool(times % 2 and not up)
            strict &= ">" in (up, down) or self.known(factor) == "!="
        return (">" if strict else ">=") if positive else found

    def _plain(self, poly: Poly) -> str:
        """The sign that is noted, or that all monomials have."""
        noted, strict = self.known(poly), False
        if noted in (">", ">="):
            return noted
        for exponents, coefficient in poly.terms():
            signs = [(self.known(g), e) for g, e in zip(self.gens, exponents, strict=True) if e]
            if coefficient < 0 or any(e % 2 and sign not in (">", ">=") for sign, e in signs):
                return ""
            strict |= all(sign in (">", "!=") for sign, _ in signs)
        return ">" if strict else ">="

    def atom(self, op: str, *parts: Poly, sign: str = "") -> Poly:
        """The generator that stands for an operation."""
        name = op, ";".join(map(str, parts))
        if name not in self.atoms:
            require(len(self.atoms) < _ATOMS, "a goal has too many atoms")
            self.atoms[name] = len(self.variables) + len(self.atoms)
            if sign:
                self.note(self.gens[self.atoms[name]], sign)
        return self.gens[self.atoms[name]]

    def reduced(self, poly: Poly) -> Poly:
        """The polynomial with high powers of roots replaced by what they are powers of."""
        require(len(poly) <= _SIZE and poly.total_degree() <= 4 * _EXPONENT, "too large")
        for i, (q, value) in self.powers.items():
            while poly.degrees()[i] >= q:
                parts, poly = poly.to_dict(), 0 * self.one
                for e, coefficient in parts.items():
                    times, left = divmod(e[i], q)
                    single = self.context.from_dict({(*e[:i], left, *e[i + 1 :]): coefficient})
                    poly = poly + single * value**times
        return poly

    def over(self, top: Poly, bottom: Poly) -> Quotient:
        """A quotient in lowest terms."""
        top, bottom = self.reduced(top), self.reduced(bottom)
        require(not bottom.is_zero(), "a term divides by zero")
        common = top.gcd(bottom)
        unit = (bottom / common).leading_coefficient()
        return top / common / unit, bottom / common / unit

    def quotient(self, term: Term) -> Quotient:
        """The numerator and the denominator of a term at points where the term is defined."""
        exact = number(term)
        if exact is not None:
            return self.one * flint.fmpq(*exact.as_integer_ratio()), self.one
        if isinstance(term, str):
            return self.variables[term], self.one
        op, parts = parts_of(term)
        pairs = [self.quotient(part) for part in parts]
        if op == "+":
            return reduce(lambda p, q: self.over(p[0] * q[1] + q[0] * p[1], p[1] * q[1]), pairs)
        if op == "*":
            return reduce(lambda p, q: self.over(p[0] * q[0], p[1] * q[1]), pairs)
        if op == "^":
            return self.power(*pairs[0], Fraction(parts[1]))
        if op == "exp":
            return self.exp(*pairs[0])
        return self.log(*pairs[0]) if op == "log" else self.extremum(op, *pairs)

    def extremum(self, op: str, p: Quotient, q: Quotient) -> Quotient:
        """A maximum or minimum: one of two quotients where the signs say which."""
        difference = (p[0] * q[1] - q[0] * p[1]) * p[1] * q[1]
        for poly, first in ((difference, op == "max"), (-difference, op == "min")):
            if self.sign(poly):
                return p if first else q
        return self.atom(op, *p, *q), self.one

    def split(self, top: Poly, bottom: Poly, sign: str) -> list[tuple[Poly, int]] | None:
        """The factors of a quotient, primes among them, if all of them have the sign."""
        found: list[tuple[Poly, int]] = []
        for poly, side in ((top, 1), (bottom, -1)):
            unit, factors = poly.factor()
            if unit <= 0 or any(self.sign(factor) not in (">", sign) for factor, _ in factors):
                return None
            found += [(factor, side * times) for factor, times in factors]
            for whole, turn in ((unit.p, side), (unit.q, -side)):
                found += [(self.one * prime, turn * times) for prime, times in whole.factor()]
        return found

    def power(self, top: Poly, bottom: Poly, e: Fraction) -> Quotient:
        """A rational power of a quotient, as a product of powers and roots of its factors."""
        require(abs(e) <= _EXPONENT and e.denominator <= _EXPONENT, "an exponent is too large")
        if e < 0:
            return self.power(bottom, top, -e)
        if e.denominator == 1:
            return self.over(top ** int(e), bottom ** int(e))
        factors = self.split(top, bottom, ">=")
        if factors is None:
            root = self.atom(f"root {e.denominator}", top, bottom, sign=">=")
            return root**e.numerator, self.one
        sides = [self.one, self.one]
        for factor, times in factors:
            whole, rest = divmod(abs(times) * e, 1)
            root = self.one
            if rest:
                root = self.atom(f"root {rest.denominator}", factor, sign=self.sign(factor))
                self.powers[self.gens.index(root)] = rest.denominator, factor
            sides[times < 0] *= factor ** int(whole) * root**rest.numerator
        return self.over(*sides)

    def log(self, top: Poly, bottom: Poly) -> Quotient:
        """A logarithm, as a sum over factors > 0."""
        factors = self.split(top, bottom, ">")
        total = self.atom("log", top, bottom) if factors is None else 0 * self.one
        for factor, times in factors or ():
            gen = self.atom("log", factor, sign=">" if factor.is_constant() else "")
            self.logs[self.gens.index(gen)] = factor
            total = total + times * gen
        return total, self.one

    def exp(self, top: Poly, bottom: Poly) -> Quotient:
        """An exponential, as a product over the monomials of its exponent."""
        sides = [self.one, self.one]
        for exponents, coefficient in top.terms():
            single = self.context.from_dict({exponents: flint.fmpq(1, coefficient.q)})
            require(abs(coefficient.p) <= _EXPONENT, "an exponent is too large")
            index = self.gens.index(single) if bottom.is_one() and single in self.gens else -1
            base = self.logs.get(index)  # e^(log x) = x
            base = self.atom("exp", single, bottom, sign=">") if base is None else base
            sides[coefficient < 0] *= base ** abs(int(coefficient.p))
        return self.over(*sides)

    def sign_of(self, term: Term) -> str:
        """The sign of a term, from the signs of its parts or from its quotient."""
        op, parts = parts_of(term) if isinstance(term, list) else ("", [])
        if op in ("+", "*"):
            signs = [self.sign_of(part) for part in parts]
            if all(signs):
                return ">" if (all if op == "*" else any)(s == ">" for s in signs) else ">="
        if op == "^" and parts[1] == "2":
            return ">" if self.sign_of(parts[0]) == ">" else ">="
        top, bottom = self.quotient(term)
        return self.sign(top if bottom.is_one() else top * bottom)

    def defined(self, *terms: Term) -> None:
        """Refuse terms that may be undefined somewhere."""
        for term in terms:
            if isinstance(term, str):
                continue
            op, parts = parts_of(term)
            self.defined(*parts)
            if op == "log":
                require(self.sign_of(parts[0]) == ">", "a logarithm of what may be <= 0")
            elif op == "^":
                top, exponent = self.quotient(parts[0])[0], Fraction(parts[1])
                nonzero = exponent >= 0 or ">" in map(self.sign, (top, -top, top**2))
                require(nonzero, "a denominator may be zero")
                real = exponent.denominator == 1 or self.sign_of(parts[0])
                require(real, "a root of what may be < 0")

    def range(self, x: str) -> tuple[Fraction | None, Fraction | None]:
        """The largest lower and the smallest upper limit of a variable that are given."""
        low, high, gen = list[Fraction](), list[Fraction](), self.variables[x]
        for sign, poly in self.signs.values():
            if sign != "!=" and sum(poly.degrees()) == poly.degrees()[self.gens.index(gen)] == 1:
                unit = poly.derivative(x).leading_coefficient()
                end = (gen - poly / unit).leading_coefficient()
                (low if unit > 0 else high).append(Fraction(str(end)))
        return max(low, default=None), min(high, default=None)


# -- Steps -----------------------------------------------------------------------------------------


def prove(goal: Goal, step: Mapping[str, Any]) -> None:
    """Raise `Rejected` unless a step and those below it prove a goal."""
    goals, below = left_by(goal, step), step.get("then", ())
    require(len(goals) == len(below), "a step has another number of steps below it")
    for each, following in zip(goals, below, strict=True):
        prove(each, following)


def left_by(goal: Goal, step: Mapping[str, Any]) -> tuple[Goal, ...]:
    """The goals that prove a goal, by a step.  `Rejected` where the step does not apply."""
    rest = {name: value for name, value in step.items() if name not in ("step", "then")}
    return _STEPS[step["step"]](goal, Algebra(goal), **rest)


def _let(goal: Goal, algebra: Algebra, x: str, new: str, kind: str, by: Term) -> tuple[Goal, ...]:
    """``x`` as ``by + new``, ``by * new``, ``new ** by`` or ``exp(new)``."""
    others = goal.others(x)
    require(NAME.fullmatch(new) and new not in others, f"{new} is not new")
    require(names(by) <= {*others}, f"{x} cannot depend on itself")
    algebra.defined(by)
    sign = algebra.sign_of(x if kind in ("power", "exp") else by)
    require(kind == "shift" or sign == ">" or (kind == "power" and sign), "not known to be > 0")
    require(kind != "power" or Fraction(by) > 1, "a power must be above 1")
    value = {"shift": ["+", by, new], "scale": ["*", by, new], "power": ["^", new, by],
             "exp": ["exp", new]}[kind]  # fmt: skip
    return (goal.put(x, value, (*others, new), *([(sign, new)] if kind == "power" else [])),)


def _name(goal: Goal, algebra: Algebra, term: Term, new: str) -> tuple[Goal, ...]:
    require(NAME.fullmatch(new) and new not in goal.variables, f"{new} is not new")
    require(isinstance(term, list), "a name of a number would change powers")
    algebra.defined(term)
    return (goal.put(term, new, (*goal.variables, new)),)


def _cases(goal: Goal, algebra: Algebra, on: Term) -> tuple[Goal, ...]:
    algebra.defined(on)
    return goal.knowing(">=", on), goal.knowing(">=", ["*", "-1", on])


def _cut(goal: Goal, _algebra: Algebra, relation: str, term: Term) -> tuple[Goal, ...]:
    require(relation in (">=", ">", "="), "no relation")
    return replace(goal, claim=(relation, term)), goal.knowing(relation, term)


def _lemma(goal: Goal, algebra: Algebra, of: Term, says: str) -> tuple[Goal, ...]:
    fact = {"log": ["+", of, "-1", ["*", "-1", ["log", of]]],
            "exp": ["+", ["exp", of], "-1", ["*", "-1", of]]}[says]  # fmt: skip
    algebra.defined(fact)
    return (goal.knowing(">=", fact),)


def _monotone(goal: Goal, algebra: Algebra, x: str, start: Term) -> tuple[Goal, ...]:
    """The claim's term has the sign at ``start``, and grows from there to each value of x."""
    (relation, term), others = goal.claim, goal.others(x)
    require(relation != "=" and names(start) <= {*others}, "the claim cannot grow from there")
    algebra.defined(start)
    require(algebra.sign_of(minus(x, start)), f"{x} may be below its start")
    free = replace(goal, given=tuple(each for each in goal.given if x not in names(each[1])))
    segment = free.knowing(">=", minus(x, start))
    Algebra(segment).defined(term)
    return free.put(x, start, others), replace(segment, claim=(">=", slope(term, x)))


def _sum(goal: Goal, algebra: Algebra, factor: Term = "1", parts: Term = None) -> tuple[Goal, ...]:
    relation, term = goal.claim
    parts = term if parts is None else parts
    algebra.defined(term, factor, parts)
    left = algebra.quotient(minus(["*", factor, term], parts))[0]
    require(left.is_zero(), "the sum is another")
    require(algebra.sign_of(factor) == ">", "the factor may be <= 0")
    holds = algebra.quotient(parts)[0].is_zero() if relation == "=" else algebra.sign_of(parts)
    require(holds in (True, ">", relation), "the sum may have another sign")
    return ()


def _boxes(goal: Goal, algebra: Algebra, splits: str, order: Sequence[str]) -> tuple[Goal, ...]:
    """The splits as text: a variable's place in the order halves its range, a stop ends it."""
    (relation, term), left = goal.claim, iter(splits)
    require(relation != "=", "balls prove no equation")
    box = {x: (low, high) for x in order for low, high in [algebra.range(x)]
           if low is not None and high is not None}  # fmt: skip
    require(box.keys() == {*order}, "a variable has no limits")
    slopes = {x: slope(term, x) for x in order} if smooth(term) else {}

    def cover(box: Box) -> None:
        mark = next(left, "")
        if mark == ".":
            require(holds(goal, box, slopes), "an enclosure does not exclude a violation")
            return
        x = order[int(mark)]
        (low, high) = box[x]
        cover({**box, x: (low, (low + high) / 2)})
        cover({**box, x: ((low + high) / 2, high)})

    before, flint.ctx.prec = flint.ctx.prec, _PRECISION
    try:
        cover(box)
    finally:
        flint.ctx.prec = before
    require(next(left, None) is None, "the splits go on after the cover")
    return ()


def holds(goal: Goal, box: Box, slopes: Mapping[str, Term]) -> bool:
    """Whether enclosures show the claim in a box, or that something given fails in all of it."""
    relation, term = goal.claim
    balls = {x: _ball(*ends) for x, ends in box.items()}
    near, change = dict(balls), flint.arb(0)
    for x, by in slopes.items():
        steep, ends = enclose(by, balls), [_ball(end, end) for end in box[x]]
        near[x] = ends[0] if steep > 0 else ends[1] if steep < 0 else balls[x]
    middle = {x: near[x].mid() for x in slopes}
    for x, by in slopes.items():
        change += enclose(by, near) * (near[x] - middle[x])
    values = [enclose(term, near), *([enclose(term, middle) + change] if slopes else [])]
    shown = any(value > 0 or (relation == ">=" and value >= 0) for value in values)
    void = any(names(each) <= {*box} and enclose(each, balls) < 0 for _, each in goal.given)
    return void or (shown and enclose(term, balls).is_finite())


def _ball(low: Fraction, high: Fraction) -> flint.arb:
    ends = [flint.arb(flint.fmpq(*end.as_integer_ratio())) for end in (low, high)]
    return ends[0].union(ends[1])


_STEPS: dict[str, Callable[..., tuple[Goal, ...]]] = {
    "let": _let, "name": _name, "cases": _cases, "cut": _cut, "lemma": _lemma,
    "monotone": _monotone, "sum": _sum, "boxes": _boxes,
}  # fmt: skip
