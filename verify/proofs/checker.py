r"""Checks a proof that a statement holds at every point of its domain.

The module needs four others of this folder, `algebra`, `sums`, `runs` and `limits`, python-flint
and the standard library only.  A statement is JSON:

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
``gram``      the square of a vector is >= 0, or (x, x)(y, y) >= (x, y)^2
``each``      a relation that is proved at any member of a family is given of its sum
``induct``    a relation at the start of a recursion and after each step is given of its end
``both``      an equation, by two inequalities
``monotone``  the claim at the smallest value of a variable, and a derivative >= 0
``square``    a >= b from a >= 0 and a^2 >= b^2
``sum``       a positive multiple of the claim equals a term that is >= 0 by the signs of its parts
``boxes``     a tree of splits, with an enclosure of the claim by balls in each part
============  ====================================================================================
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import flint

from verify.proofs.algebra import (
    Algebra,
    Poly,
    Relation,
    Term,
    enclose,
    minus,
    names,
    number,
    parts_of,
    put,
    slope,
    smooth,
)
from verify.proofs.limits import (
    NODES,
    VARIABLES,
    Rejected,
    TooLarge,
    bound,
    charge,
    limited,
    nodes,
    require,
)
from verify.proofs.runs import Run, runs_of
from verify.proofs.sums import Sums, made_in, sums_of

__all__ = ["Algebra", "Goal", "Poly", "Rejected", "Relation", "Term", "check", "digest", "enclose",
           "goal_of", "holds", "left_by", "minus", "names", "number", "parts_of", "put", "slope",
           "smooth"]  # fmt: skip

Box = Mapping[str, tuple[Fraction, Fraction]]

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,40}")
_PRECISION = 128


def digest(statement: Mapping[str, Any]) -> str:
    """The hash of a statement, by which its certificate is found."""
    text = json.dumps(statement, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def check(statement: Mapping[str, Any], certificate: Any) -> None:
    """Raise `Rejected` unless the certificate proves the statement.

    It is `TooLarge` where the check would exceed one of `verify.proofs.limits`.
    """
    try:
        with limited():
            prove(goal_of(statement), certificate)
    except TooLarge:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError,
            RuntimeError) as error:  # fmt: skip
        raise Rejected(str(error)[:200] or "the certificate is malformed") from None


# -- Goals -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Goal:
    """The claim for all values of the variables at which the given relations hold.

    ``sums`` says which vectors and families the variables come from, and ``runs`` which recursions.
    A substitution drops them.
    """

    variables: tuple[str, ...]
    given: tuple[Relation, ...]
    claim: Relation
    sums: Sums | None = None
    runs: Mapping[str, Run] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a name of no variable, which a later step could give to one, and large terms."""
        bound("the number of variables", len(self.variables), VARIABLES)
        size = nodes(self.claim[1], *(term for _, term in self.given))
        bound("the size of a goal", size, NODES)
        charge(size)
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

    def learning(self, relation: str, term: Term) -> Goal:
        """The goal with one more given relation, between products and sums new to it as well."""
        new = tuple(x for x in made_in(term) if x not in self.variables)
        wider = replace(self, variables=(*self.variables, *new))
        algebra_of(wider).defined(term)
        return wider.knowing(relation, term)

    def others(self, x: str) -> tuple[str, ...]:
        """The variables but one."""
        require(x in self.variables, f"{x} is no variable")
        return tuple(name for name in self.variables if name != x)


def algebra_of(goal: Goal) -> Algebra:
    """The algebra of a goal's variables, with the signs that its given relations say."""
    return Algebra(goal.variables, goal.given)


def goal_of(statement: Mapping[str, Any]) -> Goal:
    """The statement as a goal."""
    (relation, left, right), runs = statement["claim"], runs_of(statement)
    variables = (*statement["variables"], *(x for run in runs.values() for x in run.own))
    later = (x for run in runs.values() for x in run.later)
    require(all(NAME.fullmatch(x) for x in (*variables, *later)), "a variable has a bad name")
    given = tuple((each, minus(a, b)) for each, a, b in statement["given"])
    require({relation, *(each for each, _ in given)} <= {">=", ">", "="}, "no relation")
    sums, claim = sums_of(statement), minus(left, right)
    require(sums is None or not runs, "a recursion has no vectors and no families")
    if sums is not None:
        given, claim = tuple((each, sums.plain(a)) for each, a in given), sums.plain(claim)
        variables = (*variables, *made_in(claim, *(a for _, a in given)))
    counts = tuple((">=", count) for count in runs)
    return Goal(variables, (*given, *counts), (relation, claim), sums, runs)


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
    name = step["step"]
    if name in _WITHOUT_ALGEBRA:
        return _WITHOUT_ALGEBRA[name](goal, **rest)
    return _STEPS[name](goal, algebra_of(goal), **rest)


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


def _cut(goal: Goal, relation: str, term: Term) -> tuple[Goal, ...]:
    require(relation in (">=", ">", "="), "no relation")
    return replace(goal, claim=(relation, term)), goal.knowing(relation, term)


def _lemma(goal: Goal, algebra: Algebra, of: Term, says: str) -> tuple[Goal, ...]:
    fact = {"log": ["+", of, "-1", ["*", "-1", ["log", of]]],
            "exp": ["+", ["exp", of], "-1", ["*", "-1", of]]}[says]  # fmt: skip
    algebra.defined(fact)
    return (goal.knowing(">=", fact),)


def _sums_in(goal: Goal) -> Sums:
    """The vectors and families of a goal that still has them."""
    if goal.sums is None:
        raise Rejected("no vectors and no families")
    return goal.sums


def _gram(goal: Goal, of: Sequence[Term]) -> tuple[Goal, ...]:
    """The determinant of the products of one vector or of two."""
    sums = _sums_in(goal)
    require(len(of) in (1, 2), "no vectors, or too many")
    table = [[sums.plain(["dot", u, v]) for v in of] for u in of]
    if len(of) == 1:
        return (goal.learning(">=", table[0][0]),)
    crossed = minus(["*", table[0][0], table[1][1]], ["*", table[0][1], table[1][0]])
    return (goal.learning(">=", crossed),)


def _each(goal: Goal, of: str, term: Term, relation: str = ">=") -> tuple[Goal, ...]:
    """A relation at any member, and then the goal with that of the sum over the members."""
    sums = _sums_in(goal)
    require(relation in (">=", "="), "no relation")
    family = sums.families[of]
    inside, total = sums.over(family, term)
    own = tuple((each, sums.over(family, a)[0]) for each, a in family.given)
    names_of = made_in(inside, *(a for _, a in own))
    new = (*family.variables, *(x for x in names_of if x not in goal.variables))
    member = Goal((*goal.variables, *new), (*goal.given, *own), (relation, inside),
                  sums.with_member(family))  # fmt: skip
    return member, goal.learning(relation, total)


def _induct(goal: Goal, of: str, term: Term, relation: str = ">=") -> tuple[Goal, ...]:
    """A relation at the start of a run, after a step if before it, and then the goal with it."""
    run, known = goal.runs[of], (relation, term)
    require(relation in (">=", ">", "="), "no relation")
    fixed = tuple(each for each in goal.given if not names(each[1]) & {*run.own})
    start = Goal(goal.others(of), (*fixed, *run.start), (relation, run.before(term)))
    step = Goal((*goal.variables, *run.later), (*fixed, (">=", of), known, *run.steps),
                (relation, run.after(term)))  # fmt: skip
    always = {**goal.runs, of: replace(run, steps=(*run.steps, known))}
    return start, step, replace(goal.knowing(relation, term), runs=always)


def _both(goal: Goal) -> tuple[Goal, ...]:
    relation, term = goal.claim
    require(relation == "=", "no equation")
    return replace(goal, claim=(">=", term)), replace(goal, claim=(">=", ["*", "-1", term]))


def _monotone(goal: Goal, algebra: Algebra, x: str, start: Term) -> tuple[Goal, ...]:
    """The claim's term has the sign at ``start``, and grows from there to each value of x."""
    (relation, term), others = goal.claim, goal.others(x)
    require(relation != "=" and names(start) <= {*others}, "the claim cannot grow from there")
    algebra.defined(start)
    require(algebra.sign_of(minus(x, start)), f"{x} may be below its start")
    # On the way to its value x is no product, no sum and nothing that a family or a run knows.
    given = tuple(each for each in goal.given if x not in names(each[1]))
    free = replace(goal, given=given, sums=None, runs={})
    segment = free.knowing(">=", minus(x, start))
    algebra_of(segment).defined(term)
    return free.put(x, start, others), replace(segment, claim=(">=", slope(term, x)))


def _square(goal: Goal, algebra: Algebra, larger: Term, smaller: Term) -> tuple[Goal, ...]:
    """The claim is ``larger >= smaller``, whatever the sign of the smaller one is."""
    relation, term = goal.claim
    require(relation != "=", "squares prove no equation")
    algebra.defined(term, larger, smaller)
    left = algebra.quotient(minus(term, minus(larger, smaller)))[0]
    require(left.is_zero(), "the difference is another")
    squares = minus(["^", larger, "2"], ["^", smaller, "2"])
    return replace(goal, claim=(">=", larger)), replace(goal, claim=(relation, squares))


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
    size = nodes(term, *slopes.values(), *(each for _, each in goal.given))
    bound("the size of a claim with its derivatives", size, NODES)

    def cover(box: Box) -> None:
        mark = next(left, "")
        if mark == ".":
            charge(size)
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


_WITHOUT_ALGEBRA: dict[str, Callable[..., tuple[Goal, ...]]] = {
    "cut": _cut, "gram": _gram, "each": _each, "induct": _induct, "both": _both,
}  # fmt: skip
_STEPS: dict[str, Callable[..., tuple[Goal, ...]]] = {
    "let": _let, "name": _name, "cases": _cases, "lemma": _lemma, "monotone": _monotone,
    "square": _square, "sum": _sum, "boxes": _boxes,
}  # fmt: skip
