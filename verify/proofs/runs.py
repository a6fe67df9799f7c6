r"""Numbers that a recursion makes, in a statement of `verify.proofs.checker`.

A run starts from some numbers and changes them in each step.  A statement speaks of what they are
after T steps, for each whole T >= 0:

    {"variables": ["q", "a"], "given": [], "runs": {"T": {"numbers": ["x"], "later": ["y"],
     "start": [[">=", "a", "x"]], "steps": [[">=", ["*", "q", "x"], "y"]]}}, "claim": ...}

In ``start`` x is the number before all steps.  In ``steps`` x is the number before a step, y the
one after it, and T the number of steps before it.  In the claim and what is given of it, x is the
number after T steps.

The module needs the standard library and `algebra` and `limits` of this folder only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from verify.proofs.algebra import Relation, Term, minus, put
from verify.proofs.limits import require


@dataclass(frozen=True)
class Run:
    """The numbers of a recursion, with what holds of them at the start and of each step."""

    count: str
    numbers: tuple[str, ...]
    later: tuple[str, ...]
    start: tuple[Relation, ...]
    steps: tuple[Relation, ...]

    @property
    def own(self) -> tuple[str, ...]:
        """The names that another value has after another number of steps."""
        return self.count, *self.numbers

    def before(self, term: Term) -> Term:
        """A term at the start.  A bare number would change the powers with it."""
        return put(term, self.count, ["+", "0"])

    def after(self, term: Term) -> Term:
        """A term after one more step."""
        for x, y in zip(self.numbers, self.later, strict=True):
            term = put(term, x, y)
        return put(term, self.count, ["+", self.count, "1"])


def runs_of(statement: Mapping[str, Any]) -> dict[str, Run]:
    """The runs of a statement by the names of their numbers of steps."""
    runs, known = dict[str, Run](), [*statement["variables"]]
    for count, each in statement.get("runs", {}).items():
        numbers, later = tuple(each["numbers"]), tuple(each["later"])
        start, steps = (
            tuple((r, minus(a, b)) for r, a, b in each[part]) for part in ("start", "steps")
        )
        require({r for r, _ in (*start, *steps)} <= {">=", ">", "="}, "no relation")
        require(len(numbers) == len(later), "a number has no later one")
        runs[count] = Run(count, numbers, later, start, steps)
        known += [count, *numbers, *later]
    require(len({*known}) == len(known), "a name is used twice")
    return runs
