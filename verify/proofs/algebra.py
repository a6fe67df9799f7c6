r"""Terms as data, and the algebra in which `verify.proofs.checker` compares them and finds signs.

The module needs `verify.proofs.limits`, python-flint and the standard library only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial, reduce
from typing import Any

import flint

from verify.proofs.limits import (
    BITS,
    DEGREE,
    FACTORED,
    PAIRS,
    PRIMES,
    TERMS,
    Rejected,
    bound,
    charge,
    require,
)

Term = Any  # a rational or a name as text, or a list of an operation and its terms
Relation = tuple[str, Term]  # ``term relation 0``
Poly = flint.fmpq_mpoly
Quotient = tuple[Poly, Poly]
Factored = tuple[flint.fmpq, list[tuple[Poly, int]]]  # a unit, and factors with their powers

NUMBER = re.compile(r"-?[0-9]{1,300}(/[0-9]{1,300})?")
_ATOMS, _EXPONENT = 16, 64
TAIL = "chi-square"  # of q and x: the probability that a chi-square of q degrees exceeds x
_ARITY = {"max": 2, "min": 2, "^": 2, TAIL: 2}


# -- Terms -----------------------------------------------------------------------------------------


def number(term: Term) -> Fraction | None:
    """The value of a rational, None for another term."""
    return _rational(term) if isinstance(term, str) else None


@lru_cache(maxsize=4096)
def _rational(text: str) -> Fraction | None:
    return Fraction(text) if NUMBER.fullmatch(text) else None


def parts_of(term: Term) -> tuple[str, list[Term]]:
    """The operation of a term and its terms, in the right number."""
    op, *parts = term
    arity = len(parts) if op in ("+", "*") else _ARITY.get(op, 1)
    if op not in _BALLS or not parts or len(parts) != arity:
        raise Rejected(f"operation {op!r} is malformed")
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
    if isinstance(term, str):
        return "1" if term == x else "0"
    op, parts = parts_of(term)
    inner = [slope(part, x) for part in parts]
    if all(part == "0" for part in inner):  # the term does not hold x
        return "0"
    if op == "+":
        return ["+", *inner]
    if op == "*":
        bound("the size of a derivative", len(parts) ** 2, PAIRS)
        return ["+", *(["*", d, *parts[:i], *parts[i + 1 :]] for i, d in enumerate(inner))]
    if op == "^":
        return ["*", parts[1], ["^", parts[0], str(Fraction(parts[1]) - 1)], inner[0]]
    outer = {"exp": ["exp", *parts], "log": ["^", parts[0], "-1"]}
    require(op in outer, f"{op} has no derivative everywhere")
    return ["*", outer[op], inner[0]]


def smooth(term: Term) -> bool:
    """Whether a term holds no extremum and no tail."""
    return isinstance(term, str) or (
        term[0] not in ("max", "min", TAIL) and all(map(smooth, term[1:]))
    )


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


def _tail(degrees: flint.arb, x: flint.arb) -> flint.arb:
    charge(300)  # it takes up to 2 milliseconds
    defined = degrees > 0 and x >= 0
    return (x / 2).gamma_upper(degrees / 2, regularized=1) if defined else flint.arb("nan")


_BALLS: dict[str, Callable[..., flint.arb]] = {
    "+": lambda *balls: reduce(lambda x, y: x + y, balls),
    "*": lambda *balls: reduce(lambda x, y: x * y, balls),
    "max": lambda x, y: x.max(y),
    "min": lambda x, y: x.min(y),
    "^": _power,
    "exp": lambda x: x.exp(),
    "log": lambda x: x.log(),
    "sin": lambda x: x.sin(),
    "cos": lambda x: x.cos(),
    TAIL: _tail,
}


# -- Algebra ---------------------------------------------------------------------------------------


def widest(poly: Poly) -> int:
    """The bits of the largest numerator or denominator of a coefficient."""
    return max(map(flint.fmpq.height_bits, poly.coeffs()), default=0)


#: Polynomials that were factored, by their context and their text.
_FACTORED: dict[tuple[flint.fmpq_mpoly_ctx, str], Factored] = {}
_KEPT = 4096  # of them


class Algebra:
    """The terms of a goal as quotients of polynomials in its variables and in atoms.

    An atom is a root, a logarithm, an exponential, or an extremum that the signs do not decide.
    Roots split into those of factors >= 0, logarithms into those of factors > 0.  What is given
    is kept as signs of polynomials.
    """

    def __init__(self, variables: Sequence[str], given: Sequence[Relation]) -> None:
        atoms = (f"_{i}" for i in range(_ATOMS))
        self.context = flint.fmpq_mpoly_ctx.get((*variables, *atoms), "lex")
        self.gens = self.context.gens()
        self.variables = dict(zip(variables, self.gens, strict=False))
        self.one = self.context.constant(1)
        self.atoms: dict[tuple[str, str], int] = {}
        self.logs: dict[int, Poly] = {}  # a logarithm -> the polynomial of which it is one
        self.exps: dict[int, Poly] = {}  # an exponential -> its exponent
        self.powers: dict[int, tuple[int, Poly]] = {}  # a root -> q and its q-th power
        self.signs: dict[str, tuple[str, Poly]] = {}  # ">", ">=" or "!=", which is not zero
        self.names = [*map(str, self.gens)]
        self.factorings: dict[str, Factored] = {}
        self.decided: dict[str, str] = {}  # a polynomial -> its sign, while no sign is learned
        #: Quotients for which no sign was asked, by the `id` of their terms.
        self.settled, self.n_asked = dict[int, tuple[Term, Quotient]](), 0
        for relation, term in (*given, *given):  # the later ones simplify the first
            top, bottom = self.quotient(term)  # it is defined, so the bottom is not zero
            side = self.one if self.sign(bottom) == ">" else bottom
            self.learn(relation, self.multiplied(top, side))

    def learn(self, relation: str, poly: Poly) -> None:
        """Note the sign of a polynomial, and of what is left of it without positive factors."""
        charge(20)
        if relation == "=":
            self.note(-poly, ">=")
        self.note(poly, ">" if relation == ">" else ">=")
        if relation == "=" or poly.is_constant():
            return
        unit, factors = self.factored(poly)
        left = self.one if unit > 0 else -self.one
        for factor, times in factors:
            if relation == ">":
                self.note(factor, "!=")
            if self.sign(-factor) == ">":
                left = left * (-1) ** times
            elif self.sign(factor) != ">" and (times % 2 or relation == ">="):
                left = self.multiplied(left, self.raised(factor, times % 2 or 2))
        if not left.is_one():  # what is known of 1 is more than that it is >= 0
            self.note(left, relation)

    def factored(self, poly: Poly) -> Factored:
        """The factors of a polynomial, which is factored once, as its factors are not at all."""
        name = str(poly)
        if name not in self.factorings:
            bound("the number of terms to factor", len(poly), FACTORED)
            # The charge is that of any check, whatever others have left in the memory.
            charge(len(poly) ** 2 // 10)
            if len(_FACTORED) >= _KEPT:
                _FACTORED.clear()
            key = self.context, name
            self.factorings[name] = _FACTORED.get(key) or _FACTORED.setdefault(key, poly.factor())
            for factor, _ in self.factorings[name][1]:
                for side, turn in ((factor, flint.fmpq(1)), (-factor, flint.fmpq(-1))):
                    self.factorings.setdefault(str(side), (turn, [(factor, 1)]))
        return self.factorings[name]

    def note(self, poly: Poly, sign: str) -> None:
        """Keep the strongest that is known of a polynomial.  Factors > 0 do not count."""
        order = ("", ">=", "!=", ">")
        for s, side in ((sign, poly), *((sign, -poly) for _ in range(sign == "!="))):
            old = self.signs.get(name := self.key(side), ("",))[0]
            best = ">" if {old, s} == {">=", "!="} else max(old, s, key=order.index)
            self.signs[name] = best, side
            if best != old:
                self.decided.clear()

    def key(self, poly: Poly) -> str:
        """A name of a polynomial up to a positive factor."""
        lead = abs(poly.leading_coefficient()) if poly else 1
        return str(poly if lead == 1 else poly / lead)

    def known(self, poly: Poly) -> str:
        """What is noted of a polynomial."""
        return self.signs.get(self.key(poly), ("",))[0]

    def sign(self, poly: Poly) -> str:
        """``">"`` or ``">="`` where the polynomial is known to be so, else empty.

        It is kept until more is known, which never takes a sign back.
        """
        self.n_asked += 1
        if (name := str(poly)) not in self.decided:
            self.decided[name] = self._decided(poly)
        return self.decided[name]

    def _decided(self, poly: Poly) -> str:
        """The sign that is noted, or that the signs of the factors give."""
        found = self._plain(poly)
        if found == ">" or poly.is_constant():
            return found
        unit, factors = self.factored(poly)
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
        if any(coefficient < 0 for coefficient in poly.coeffs()):
            return ""
        for exponents in poly.monoms():
            present = [(x, e) for x, e in zip(self.names, exponents, strict=True) if e]
            signs = [(self.signs.get(x, ("",))[0], e) for x, e in present]
            if any(e % 2 and sign not in (">", ">=") for sign, e in signs):
                return ""
            strict |= all(sign in (">", "!=") for sign, _ in signs)
        return ">" if strict else ">="

    def atom(self, op: str, *parts: Poly, sign: str = "") -> Poly:
        """The generator that stands for an operation."""
        if (name := (op, ";".join(map(str, parts)))) not in self.atoms:
            require(len(self.atoms) < _ATOMS, "a goal has too many atoms")
            self.atoms[name] = len(self.variables) + len(self.atoms)
            if sign:
                self.note(self.gens[self.atoms[name]], sign)
        return self.gens[self.atoms[name]]

    def reduced(self, poly: Poly) -> Poly:
        """The polynomial with r^q replaced by v, for each root r of order q of a value v."""
        bound("the number of terms", len(poly), TERMS)
        bound("a degree", poly.total_degree(), DEGREE)
        bound("the bits of a number", widest(poly), BITS)
        for i, (q, value) in reversed(self.powers.items()):
            while poly.degrees()[i] >= q:
                self.afford(poly, self.raised(value, poly.degrees()[i] // q))
                parts, poly = poly.to_dict(), 0 * self.one
                for e, coefficient in parts.items():
                    times, left = divmod(e[i], q)
                    single = self.context.from_dict({(*e[:i], left, *e[i + 1 :]): coefficient})
                    poly = poly + single * value**times
        return poly

    def over(self, top: Poly, bottom: Poly) -> Quotient:
        """A quotient in lowest terms."""
        charge(len(top) + len(bottom))
        top = self.reduced(top)
        if bottom.is_one():
            return top, bottom
        bottom = self.reduced(bottom)
        require(not bottom.is_zero(), "a term divides by zero")
        self.afford(top, bottom)
        common = top.gcd(bottom)
        unit = (bottom / common).leading_coefficient()
        return top / common / unit, bottom / common / unit

    def quotient(self, term: Term) -> Quotient:
        """The numerator and the denominator of a term at points where the term is defined."""
        charge(1)
        if isinstance(term, str):
            exact = number(term)
            value = None if exact is None else flint.fmpq(*exact.as_integer_ratio())
            return self.variables[term] if value is None else self.one * value, self.one
        if id(term) not in self.settled:
            n_before, found = self.n_asked, self._made(term)
            if self.n_asked > n_before:
                return found
            self.settled[id(term)] = term, found  # it lives on, so no other term has its `id`
        return self.settled[id(term)][1]

    def _made(self, term: Term) -> Quotient:
        """The quotient of an operation."""
        op, parts = parts_of(term)
        require(op != TAIL, "a tail is only enclosed")
        pairs = [self.quotient(part) for part in parts]
        if op in ("+", "*"):
            return reduce(partial(self.joined, op), pairs)
        if op == "^":
            return self.power(*pairs[0], Fraction(parts[1]))
        if op == "exp":
            return self.exp(*pairs[0])
        if op in ("sin", "cos"):
            return self.atom(op, *pairs[0]), self.one
        return self.log(*pairs[0]) if op == "log" else self.extremum(op, *pairs)

    def joined(self, op: str, p: Quotient, q: Quotient) -> Quotient:
        """The sum or the product of two quotients."""
        self.afford(p[1], q[1])
        if op == "+":
            self.afford(p[0], q[1])
            self.afford(q[0], p[1])
            return self.over(p[0] * q[1] + q[0] * p[1], p[1] * q[1])
        self.afford(p[0], q[0])
        return self.over(p[0] * q[0], p[1] * q[1])

    def afford(self, p: Poly, q: Poly) -> None:
        """Refuse a product, or a common factor, of two polynomials with too many pairs of terms."""
        bound("the size of a product", len(p) * len(q), PAIRS)
        charge(len(p) * len(q) // 20)  # FLINT is that much faster for a pair

    def multiplied(self, *factors: Poly) -> Poly:
        """The product of polynomials."""
        found, *others = factors
        for factor in others:
            self.afford(found, factor)
            found = found * factor
        return found

    def raised(self, poly: Poly, e: int) -> Poly:
        """A power with a whole exponent, unless it may be too large, which is told beforehand."""
        if e == 1 or poly.is_one():
            return poly
        n = len(poly)
        # It has at most one term for each way to draw e of the n terms, with repetition and in no
        # order, and at most one for each monomial in its degrees.
        terms = math.comb(n + e - 1, e) if n else 0
        if terms > TERMS:
            terms = min(terms, math.prod(e * d + 1 for d in poly.degrees()))
        bound("the number of terms of a power", terms, TERMS)
        bound("the degree of a power", e * poly.total_degree(), DEGREE)
        bound("the bits of a power", e * (widest(poly) + n.bit_length()), BITS)
        charge(terms)
        return poly**e

    def extremum(self, op: str, p: Quotient, q: Quotient) -> Quotient:
        """A maximum or minimum: one of two quotients where the signs say which."""
        self.afford(p[0], q[1])
        self.afford(q[0], p[1])
        between = p[0] * q[1] - q[0] * p[1]
        difference = self.multiplied(between, p[1], q[1])
        for poly, first in ((difference, op == "max"), (-difference, op == "min")):
            if self.sign(poly):
                return p if first else q
        return self.atom(op, *p, *q), self.one

    def split(self, top: Poly, bottom: Poly, sign: str) -> list[tuple[Poly, int]] | None:
        """The factors of a quotient, whole numbers among them, if all of them have the sign."""
        if top.is_zero():
            return None
        found: list[tuple[Poly, int]] = []
        positive = True
        for poly, side in ((top, 1), (bottom, -1)):
            unit, factors = self.factored(poly)
            for factor, times in factors:
                up = self.sign(factor) in (">", sign)
                if not up and self.sign(-factor) not in (">", sign):
                    return None
                positive ^= not up and bool(times % 2)
                found.append((factor if up else -factor, side * times))
            positive ^= unit < 0
            for whole, turn in ((abs(unit.p), side), (unit.q, -side)):
                # What is left without the small primes may be a product of large ones.  That is
                # sound: of a whole number m > 1 the rest asks that m > 0, log m > 0 and
                # (m^(1/q))^q = m, prime or not.  Only a proof that needs its factors is not found.
                found += [(self.one * m, turn * times) for m, times in whole.factor(PRIMES)]
        return found if positive else None

    def power(self, top: Poly, bottom: Poly, e: Fraction) -> Quotient:
        """A rational power of a quotient, as a product of powers and roots of its factors."""
        require(abs(e) <= _EXPONENT and e.denominator <= _EXPONENT, "an exponent is too large")
        require(not bottom.is_zero(), "a term divides by zero")
        if e < 0:
            return self.power(bottom, top, -e)
        if e.denominator == 1:
            return self.over(self.raised(top, int(e)), self.raised(bottom, int(e)))
        if top.is_zero():  # it has no factors, as 1 has none
            return top, self.one
        factors = self.split(top, bottom, ">=")
        if factors is None:
            root = self.atom(f"root {e.denominator}", top, bottom, sign=">=")
            return self.raised(root, e.numerator), self.one
        sides = [self.one, self.one]
        for factor, times in factors:
            whole, rest = divmod(abs(times) * e, 1)
            root = self.one
            if rest:
                root = self.atom(f"root {rest.denominator}", factor, sign=self.sign(factor))
                self.powers[self.gens.index(root)] = rest.denominator, factor
            powers = self.raised(factor, int(whole)), self.raised(root, rest.numerator)
            sides[times < 0] = self.multiplied(sides[times < 0], *powers)
        return self.over(*sides)

    def log(self, top: Poly, bottom: Poly) -> Quotient:
        """A logarithm, as a sum over factors > 0."""
        factors = self.split(top, bottom, ">")
        total = self.atom("log", top, bottom) if factors is None else 0 * self.one
        for factor, times in factors or ():
            index = self.gens.index(factor) if factor in self.gens else -1
            if index in self.exps:
                total = total + times * self.exps[index]  # log e^x = x
                continue
            if index in self.powers:  # the logarithm of a root
                q, value = self.powers[index]
                total = total + self.log(value, self.one)[0] * flint.fmpq(times, q)
                continue
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
            part, below = self.over(single, bottom)
            index = self.gens.index(part) if below.is_one() and part in self.gens else -1
            base = self.logs.get(index)  # e^(log x) = x
            if base is None:
                base = self.atom("exp", part, below, sign=">")
                if below.is_one():
                    self.exps[self.gens.index(base)] = part
            power = self.raised(base, abs(int(coefficient.p)))
            sides[coefficient < 0] = self.multiplied(sides[coefficient < 0], power)
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
        return self.sign(top if bottom.is_one() else self.multiplied(top, bottom))

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
                nonzero = exponent >= 0 or ">" in (self.sign(top), self.sign(-top))
                nonzero = nonzero or self.sign(self.raised(top, 2)) == ">"
                require(nonzero, "a denominator may be zero")
                real = exponent.denominator == 1 or self.sign_of(parts[0])
                require(real, "a root of what may be < 0")
            elif op == TAIL:
                inside = self.sign_of(parts[0]) == ">" and self.sign_of(parts[1])
                require(inside, "a tail of no law")

    def range(self, x: str) -> tuple[Fraction | None, Fraction | None]:
        """The largest lower and the smallest upper limit of a variable that are given."""
        low, high, gen = list[Fraction](), list[Fraction](), self.variables[x]
        for sign, poly in self.signs.values():
            if sign != "!=" and sum(poly.degrees()) == poly.degrees()[self.gens.index(gen)] == 1:
                unit = poly.derivative(x).leading_coefficient()
                end = (gen - poly / unit).leading_coefficient()
                (low if unit > 0 else high).append(Fraction(str(end)))
        return max(low, default=None), min(high, default=None)
