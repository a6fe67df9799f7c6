"""Statements of the checker as SMT-LIB, for any solver of nonlinear real arithmetic.

The file asks for a counterexample: what is given, and that the claim fails or is undefined.
``unsat`` confirms the statement, ``sat`` would refute it.  A root is a variable of its own, with
its power given.  What is given is defined, so its roots are of numbers >= 0 and its denominators
are different from zero.  The same of the claim's own roots and denominators is a part of the claim.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from trials.checks import InvalidParameter
from verify.proofs.checker import Term, number
from verify.proofs.flattened import is_flat

#: Words of the language and of its theory of reals, which no variable may be.
_TAKEN = {
    "as", "let", "exists", "forall", "match", "par", "assert", "echo", "exit", "pop", "push",
    "reset", "BINARY", "DECIMAL", "HEXADECIMAL", "NUMERAL", "STRING", "true", "false", "not", "and",
    "or", "xor", "distinct", "ite", "abs",
}  # fmt: skip


def smt2(statement: Mapping[str, Any], about: str = "") -> str:
    """A statement as an SMT-LIB script.

    Parameters
    ----------
    about : the claim and what is outside the statement, written as a comment, line by line.

    Raises
    ------
    InvalidParameter
        When the statement has a logarithm, an exponential, a power that is no number, a vector, a
        sum over a family or a recursion.

    Examples
    --------
    >>> print(smt2({"variables": ["x"], "given": [], "claim": [">=", ["^", "x", "2"], "0"]}))
    (set-logic QF_NRA)
    (declare-const x Real)
    (assert (not (>= (* x x) 0.0)))
    (check-sat)
    """
    if not is_flat(statement):
        raise InvalidParameter("vectors, sums and recursions have no form in SMT-LIB")
    script = _Script()
    given = [script.relation(each) for each in statement["given"]]
    script.asks = True
    claim = script.relation(statement["claim"])
    parts = [each for each in dict.fromkeys(script.asked) if each not in script.facts]
    whole = f"(and {' '.join([*parts, claim])})" if parts else claim
    names = (*map(_symbol, statement["variables"]), *script.roots.values())
    lines = [f"; {line}" for line in about.splitlines()]
    lines += ["(set-logic QF_NRA)"]
    lines += [f"(declare-const {name} Real)" for name in names]
    lines += [f"(assert {fact})" for fact in dict.fromkeys((*given, *script.facts))]
    return "\n".join([*lines, f"(assert (not {whole}))", "(check-sat)"])


@dataclass
class _Script:
    """The terms of a script, with what makes them defined.

    Attributes
    ----------
    roots : base and order -> the variable that is the root.
    facts : what holds of roots, and of the denominators of what is given.
    asks : whether the terms are the claim's, so that they may be undefined.
    asked : the conditions under which they are defined.
    """

    roots: dict[tuple[str, int], str] = field(default_factory=dict)
    facts: list[str] = field(default_factory=list)
    asks: bool = False
    asked: list[str] = field(default_factory=list)

    def relation(self, relation: Any) -> str:
        """A relation between two terms."""
        sign, left, right = relation
        return f"({sign} {self.term(left)} {self.term(right)})"

    def term(self, term: Term) -> str:
        """A term, whose conditions are kept."""
        exact = number(term)
        if exact is not None:
            return _number(exact)
        if isinstance(term, str):
            return _symbol(term)
        op, *parts = term
        if op == "^":
            return self.power(parts[0], number(parts[1]))
        inner = [self.term(part) for part in parts]
        if op in ("+", "*"):
            return f"({op} {' '.join(inner)})" if len(inner) > 1 else inner[0]
        if op in ("max", "min"):
            first, second = inner if op == "max" else inner[::-1]
            return f"(ite (>= {inner[0]} {inner[1]}) {first} {second})"
        raise InvalidParameter(f"{op} has no form in SMT-LIB")

    def power(self, of: Term, exponent: Fraction | None) -> str:
        """A rational power: of a root that is a variable, and under one where it is negative."""
        if exponent is None:
            raise InvalidParameter("a power that is no number has no form in SMT-LIB")
        base = self.term(of)
        if exponent.denominator > 1:
            base = self.root(base, exponent.denominator, is_above=(number(of) or -1) > 0)
        power = _product(base, abs(exponent.numerator))
        if exponent >= 0:
            return power
        (self.asked if self.asks else self.facts).append(f"(not (= {base} 0.0))")
        return f"(/ 1.0 {power})"

    def root(self, base: str, order: int, *, is_above: bool) -> str:
        """The variable for a root.  One of the claim's is a root where its base is >= 0."""
        real = f"(>= {base} 0.0)"
        if (base, order) in self.roots:
            return self.roots[base, order]
        root = f"root.{len(self.roots) + 1}"  # no variable has a dot in its name
        self.roots[base, order] = root
        known = [f"(>= {root} 0.0)", f"(= {_product(root, order)} {base})"]
        if self.asks and not is_above:
            self.asked.append(real)
            known = [f"(=> {real} {each})" for each in known]
        self.facts += known
        return root


def _symbol(name: str) -> str:
    """The symbol of a variable.  No variable has a dot in its name."""
    return f"{name}." if name in _TAKEN else name


def _product(base: str, times: int) -> str:
    return "1.0" if times == 0 else base if times == 1 else f"(* {' '.join([base] * times)})"


def _number(value: Fraction) -> str:
    size = f"{abs(value.numerator)}.0"
    size = size if value.denominator == 1 else f"(/ {size} {value.denominator}.0)"
    return f"(- {size})" if value < 0 else size
