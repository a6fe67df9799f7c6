"""Polynomials of the checker's algebra, written as terms of a certificate."""

from __future__ import annotations

from verify.proofs.checker import Algebra, Goal, Poly, Term, names


class Terms(Algebra):
    """An algebra that can write its polynomials as terms."""

    def __init__(self, goal: Goal) -> None:
        self.made: dict[int, Term] = {}
        super().__init__(goal.variables, goal.given)

    def atom(self, op: str, *parts: Poly, sign: str = "") -> Poly:
        """The generator, whose term is kept."""
        gen = super().atom(op, *parts, sign=sign)
        first = ratio(self.term(parts[0]), self.term(parts[1]) if len(parts) > 1 else "1")
        root = op.removeprefix("root ")
        if op in ("log", "exp"):
            self.made[self.gens.index(gen)] = [op, first]
        elif root != op:
            self.made[self.gens.index(gen)] = ["^", first, f"1/{root}"]
        else:
            self.made[self.gens.index(gen)] = [op, first, ratio(*map(self.term, parts[2:]))]
        return gen

    def term(self, poly: Poly) -> Term:
        """The polynomial as a term."""
        monomials = []
        by_index = [
            *self.variables,
            *(self.made.get(i) for i in range(len(self.variables), len(self.gens))),
        ]
        for exponents, coefficient in poly.terms():
            powers = [by_index[i] if e == 1 else ["^", by_index[i], str(e)]
                      for i, e in enumerate(exponents) if e]  # fmt: skip
            unit = [] if coefficient == 1 and powers else [str(coefficient)]
            monomials.append(product([*unit, *powers]))
        return total(monomials)

    def limits(self, x: str) -> tuple[list[Term], list[Term]]:
        """Lower and upper limits of a variable, as terms in the others."""
        low: list[Term] = []
        high: list[Term] = []
        i = self.gens.index(self.variables[x])
        inside = {j for j, term in self.made.items() if x in names(term)}
        for sign, poly in list(self.signs.values()):
            if sign == "!=" or poly.degrees()[i] != 1 or any(poly.degrees()[j] for j in inside):
                continue
            unit = poly.derivative(i)
            rest = poly - unit * self.variables[x]
            for s, limits in ((1, low), (-1, high)):
                limit = self.over(-rest, unit) if self.sign(s * unit) == ">" else None
                term = ratio(*map(self.term, limit)) if limit else None
                if term is not None and term not in limits:
                    limits.append(term)
        return low, high


def product(factors: list[Term]) -> Term:
    """A product of terms."""
    return factors[0] if len(factors) == 1 else ["*", *factors] if factors else "1"


def total(parts: list[Term]) -> Term:
    """A sum of terms."""
    return parts[0] if len(parts) == 1 else ["+", *parts] if parts else "0"


def ratio(top: Term, bottom: Term) -> Term:
    """A quotient of terms."""
    return top if bottom == "1" else ["*", top, ["^", bottom, "-1"]]
