r"""Finds certificates for `verify.proofs.checker`.

The search works on goals.  A tactic reduces a goal to others by a step of the checker, and gives up
by `Rejected`.  Nothing here is trusted: the checker reads the statement and the certificate only.

1. A variable with an upper limit becomes a share of it in [0, 1], one under a root becomes a power,
   one with a lower limit is counted from there.
2. The expanded claim then often has coefficients >= 0: as it is, in Bernstein's form in the
   variables in [0, 1] (Farouki 2012), or after a few case distinctions.
3. Logarithms and exponentials are bounded by their tangents, or removed by the sign of a
   derivative.  What depends on few variables with limits is covered by boxes.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from fractions import Fraction
from functools import partial, reduce
from typing import Any

import flint

from trials.checks import InvalidParameter
from verify.proofs import handelman
from verify.proofs.algebra_terms import Terms, product, ratio, total
from verify.proofs.checker import (
    Goal,
    Poly,
    Rejected,
    Term,
    enclose,
    goal_of,
    holds,
    left_by,
    minus,
    names,
    parts_of,
    put,
    slope,
    smooth,
)

Step = dict[str, Any]
_BOXES = 400  # at most, of a cover


#: The steps that a search may still try.
_LEFT: ContextVar[int] = ContextVar("_LEFT")


#: The CPU time at which a search ends.
_END: ContextVar[float] = ContextVar("_END", default=math.inf)
_SECONDS = 20.0  # of CPU time, of a search


class Stopped(Exception):
    """A search has tried as many steps as it may."""


def find(
    statement: Mapping[str, Any],
    effort: int = 4,
    steps: int = 300,
    *,
    hints: Sequence[Sequence[Any]] = (),
    unchecked: bool = False,
) -> Step | None:
    """A certificate of the statement, None where no tactic proves it.

    Parameters
    ----------
    effort : nested case distinctions and derivatives, twice their number.
    hints : facts on the way to the claim, in their order, as `with_hints` has them.
    steps : steps of the checker that are tried.
    unchecked : whether the tactics are tried although some points show that the statement is false.

    Raises
    ------
    InvalidParameter
        When a hint cannot be used.
    """
    _LEFT.set(steps)
    _END.set(time.process_time() + _SECONDS)
    try:
        goal = goal_of(statement)
        if not unchecked and goal.sums is None and not goal.runs and is_false(goal):
            return None
        return with_hints(goal, hints, effort)
    except (Rejected, Stopped):
        return None


ERRORS = (LookupError, TypeError, ValueError, ArithmeticError, RuntimeError, AttributeError)


def reduce_by(goal: Goal, step: Step, *tactics: Callable[[Goal], Step]) -> Step:
    """The step, with the steps that the tactics find for the goals that it leaves."""
    if _LEFT.get() <= 0 or time.process_time() > _END.get():
        raise Stopped("too many steps")
    _LEFT.set(_LEFT.get() - 1)
    below = left_by(goal, step)
    if len(below) > 1 and len(tactics) == 1:
        tactics = tactics * len(below)
    found = [tactic(each) for tactic, each in zip(tactics, below, strict=True)]
    return {**step, "then": found} if found else step


def first(goal: Goal, *tactics: Callable[[Goal], Step]) -> Step:
    """What the first tactic finds that proves the goal."""
    for tactic in tactics:
        try:
            return tactic(goal)
        except ERRORS:
            continue
    raise Rejected("no tactic proves the goal")


def let(goal: Goal, x: str, kind: str, by: Term, then: Callable[[Goal], Step]) -> Step:
    """A substitution, and what proves the goal after it."""
    stem = x.rstrip("0123456789").rstrip("_")
    new = next(y for i in itertools.count(1) if (y := f"{stem}_{i}") not in goal.variables)
    step = {"step": "let", "x": x, "new": new, "kind": kind, "by": by}
    if kind != "shift":
        return reduce_by(goal, step, then)
    # The limit is given in plain form, so that the new variable's sign is.
    above = {"step": "cut", "relation": ">=", "term": minus(x, by)}
    return reduce_by(goal, above, by_signs, lambda g: reduce_by(g, step, then))


def by_signs(goal: Goal) -> Step:
    """The claim as it is, or expanded."""
    return reduce_by(goal, {"step": "sum"})


# -- Algebraic claims ------------------------------------------------------------------------------


def points_of(goal: Goal, n_points: int = 300) -> Iterator[dict[str, flint.arb]]:
    """Points, drawn evenly in the logarithm, at which what is given holds."""
    draw = random.Random(0)
    for _ in range(n_points):
        decades = draw.choice((0.5, 2.0, 6.0))
        values = {x: flint.arb(10 ** draw.uniform(-decades, decades)) for x in goal.variables}
        if all(enclose(each, values) > 0 for _, each in goal.given):
            yield values


def fails_at(goal: Goal, values: Mapping[str, flint.arb]) -> bool:
    """Whether the claim fails at a point, rounding included."""
    relation, term = goal.claim
    value = enclose(term, values)
    return bool(value < 0 or (relation == "=" and value > 0))


def is_false(goal: Goal, n_points: int = 300) -> bool:
    """Whether the claim fails at one of the points that are drawn."""
    return any(fails_at(goal, values) for values in points_of(goal, n_points))


#: Hints whose parts are not all terms.
_NAMED = ("fact", "log", "exp", "grow", "let")


def with_hints(goal: Goal, hints: Sequence[Sequence[Any]], effort: int) -> Step:
    """The hints as steps, then all tactics.

    A hint is one of these.  Where a step leaves several goals, the hints behind it are for the last
    one.

    * ``(">=", a, b, *hints)``: a relation that is proved and then given,
    * ``("fact", at, left, *hints)``: the same of ``left >= 0`` in a variable Y, with a term at its
      place,
    * ``("log", of)`` or ``("exp", of)``: a lemma,
    * ``("grow", x, start)``: a value from which the claim grows,
    * ``("cases", on)``: two cases,
    * ``("name", term, new)`` or ``("let", x, new, kind, by)``: a new variable,
    * ``("square", a, b)``: the two sides of the claim,
    * ``("sum", factor, parts)``: the terms >= 0 of which a multiple of the claim is the sum,
    * ``("boxes",)``: a cover by boxes, of one box where the claim has no variable.
    * ``("gram", u)`` or ``("gram", u, v)``: vectors with a square or a determinant >= 0,
    * ``("each", F, left, *hints)``: ``left >= 0`` at each member of F, and so its sum,
    * ``("induct", T, left, *hints)``: ``left >= 0`` after a step of the run T if before it,
    * ``("both", *hints)``: an equation by the two inequalities >= and <=.

    Raises
    ------
    InvalidParameter
        When a hint is none of these, or has a name that is unknown at its place.
    """
    if not hints:
        return attempt(goal, effort)
    try:
        return _by_hint(goal, *hints[0], others=hints[1:], effort=effort)
    except (Rejected, InvalidParameter):
        raise
    except ERRORS as error:
        told = f"{type(error).__name__}: {error}"
        raise InvalidParameter(f"the hint {list(hints[0])!r:.120} cannot be used: {told}") from None


def _by_hint(
    goal: Goal, kind: str, *rest: Any, others: Sequence[Sequence[Any]], effort: int
) -> Step:
    """The step of a hint, then the others."""
    if kind == "gram":
        after_gram = lambda g: with_hints(g, others, effort)  # noqa: E731
        return reduce_by(goal, {"step": "gram", "of": list(rest)}, after_gram)
    if kind == "each":
        step = {"step": "each", "of": rest[0], "term": rest[1]}
        return reduce_by(goal, step, lambda g: with_hints(g, rest[2:], effort),
                         lambda g: with_hints(g, others, effort))  # fmt: skip
    if kind == "induct":
        step = {"step": "induct", "of": rest[0], "term": rest[1]}
        return reduce_by(goal, step, lambda g: attempt(g, effort),
                         lambda g: with_hints(g, rest[2:], effort),
                         lambda g: with_hints(g, others, effort))  # fmt: skip
    if kind == "both":
        return reduce_by(goal, {"step": "both"}, lambda g: with_hints(g, rest, effort),
                         lambda g: with_hints(g, others, effort))  # fmt: skip
    if goal.sums is not None:
        rest = tuple(goal.sums.plain(part) if kind not in _NAMED and i < 2 else part
                     for i, part in enumerate(rest))  # fmt: skip
    after = lambda g: with_hints(g, others, effort)  # noqa: E731
    if kind == "fact":  # in the variable Y, at a term in its place
        at, fact, *inner = rest
        cut = {"step": "cut", "relation": ">=", "term": put(fact, "Y", at)}
        named = {"step": "name", "term": at, "new": "Y"}
        shown = lambda g: reduce_by(g, named, lambda h: with_hints(h, inner, effort))  # noqa: E731
        return reduce_by(goal, cut, shown, after)
    if kind in (">=", ">", "="):
        left, right, *inner = rest
        cut = {"step": "cut", "relation": kind, "term": minus(left, right)}
        return reduce_by(goal, cut, lambda g: with_hints(g, inner, effort), after)
    if kind in ("log", "exp"):
        return reduce_by(goal, {"step": "lemma", "says": kind, "of": rest[0]}, after)
    if kind == "boxes":
        return by_boxes(goal)
    if kind == "sum":
        return reduce_by(goal, {"step": "sum", "factor": rest[0], "parts": rest[1]})
    names_of = {"grow": ("x", "start"), "cases": ("on",), "name": ("term", "new"),
                "let": ("x", "new", "kind", "by"), "square": ("larger", "smaller")}  # fmt: skip
    step = {"step": {"grow": "monotone"}.get(kind, kind)}
    step |= dict(zip(names_of[kind], rest, strict=True))
    first_goal = after if kind == "cases" else lambda g: attempt(g, effort)
    return reduce_by(goal, step, *([first_goal] * (len(left_by(goal, step)) - 1)), after)


def attempt(goal: Goal, effort: int) -> Step:
    """What proves a goal, by all tactics."""
    return first(
        goal,
        by_signs,
        by_terms,
        lambda g: by_roots(g, effort),
        lambda g: with_signs(g, lambda h: simplified(h, effort)),
        lambda g: with_roots(g, lambda h: by_squares(h, effort)),
        lambda g: by_concave_log(g, effort),
        lambda g: with_signs(g, lambda h: by_tangents(h, effort)),
        lambda g: with_signs(g, lambda h: by_boxes(h)),
        lambda g: with_signs(g, lambda h: by_growth(h, effort)),
    )


def with_signs(goal: Goal, then: Callable[[Goal], Step]) -> Step:
    """The signs of variables that follow from limits by others, such as b > 0 from b >= a > 0."""
    algebra = Terms(goal)
    for x, gen in algebra.variables.items():
        if algebra.sign(gen) == ">":
            continue
        for sign, poly in list(algebra.signs.values()):
            i = algebra.gens.index(gen)
            if sign == "!=" or poly.degrees()[i] != 1:
                continue
            unit = poly.derivative(i)
            rest = unit * gen - poly  # unit x - rest >= 0
            if algebra.sign(unit) != ">" or not algebra.sign(rest):
                continue
            strict = ">" if ">" in (algebra.sign(rest), sign) else ">="
            if strict == algebra.sign(gen):
                continue
            u, r = algebra.term(unit), algebra.term(rest)
            cut = {"step": "cut", "relation": strict, "term": x}
            parts = ["+", minus(["*", u, x], r), r]
            by_sum = partial(reduce_by, step={"step": "sum", "factor": u, "parts": parts})
            try:
                return reduce_by(goal, cut, by_sum, lambda g: with_signs(g, then))
            except Rejected as error:
                if "no tactic" in str(error):
                    raise
    return then(goal)


def simplified(goal: Goal, effort: int) -> Step:
    """Variables as shares of their limits, as powers, and counted from their lower limits."""
    try:
        return by_signs(goal)
    except ERRORS:
        pass
    algebra = Terms(goal)
    algebra.quotient(goal.claim[1])
    moves = sorted(_moves(algebra), key=lambda move: -move[0])
    for _, x, kind, by in moves[:2]:
        try:
            return let(goal, x, kind, by, lambda g: with_signs(g, lambda h: simplified(h, effort)))
        except ERRORS:
            continue
    if moves:
        raise Rejected("no tactic proves the goal")
    return finished(goal, effort)


def _moves(algebra: Terms) -> Iterator[tuple[int, str, str, Term]]:
    """Substitutions with their urgency."""
    for q, factor in algebra.powers.values():
        for x, gen in algebra.variables.items():
            if factor == gen:
                yield 20, x, "power", str(q)
    for x, gen in algebra.variables.items():
        low, high = algebra.limits(x)
        starts = [limit for limit in low if limit != "0"]
        if algebra.sign(gen):  # a lower limit below zero says nothing more
            starts = [limit for limit in starts if not algebra.sign_of(["*", "-1", limit])]
        for limit in high if algebra.sign(gen) and not starts else ():
            if limit != "1" and algebra.sign_of(limit) == ">":
                yield 40 + len(names(limit)), x, "scale", limit
        for limit in starts:
            if len(starts) == 1 or not names(limit):
                yield (30 if high else 10) + len(names(limit)), x, "shift", limit


def finished(goal: Goal, effort: int) -> Step:
    """A claim in variables >= 0, of which some are at most 1."""
    return first(goal, by_signs, by_products, bernstein, lambda g: by_cases(g, effort))


def open_part(algebra: Terms, claim: Term) -> tuple[Poly, Term]:
    """What is left of a claim's numerator without factors > 0, and by which the claim grows."""
    top, bottom = algebra.quotient(claim)
    if algebra.sign(bottom) != ">":
        if algebra.sign(-bottom) != ">":
            raise Rejected("the denominator has no sign")
        top, bottom = -top, -bottom
    factors = [(p, t) for p, t in top.factor()[1] if algebra.sign(p) != ">"]
    unit = algebra.one * 1
    for p, t in factors:
        unit = unit * p**t
    done = top / unit
    if algebra.sign(done) != ">":
        unit, done = -unit, -done
    return unit, ratio(algebra.term(bottom), algebra.term(done))


def by_terms(goal: Goal) -> Step:
    """Products of what is given, of roots as variables, and of the tangents of logarithms."""
    near, far = (
        lambda g, extra=extra: with_denominators(g, partial(by_products, extra=extra))
        for extra in (0, 1)
    )
    return with_roots(goal, lambda known: first(
        known,
        lambda g: by_powers(g, near),
        lambda g: with_tangents(g, lambda h: with_log_signs(h, near)),
        lambda g: by_powers(g, far),
        lambda g: with_tangents(g, lambda h: with_log_signs(h, far)),
    ))  # fmt: skip


def _reduced(step: Step, tactics: Sequence[Callable[[Goal], Step]], goal: Goal) -> Step:
    return reduce_by(goal, step, *tactics)


def with_log_signs(goal: Goal, then: Callable[[Goal], Step]) -> Step:
    """The signs of logarithms of what is at least or at most one, after their tangents."""
    for log in dict.fromkeys(map(_frozen, parts_with(goal.claim[1], "log"))):
        term = json.loads(log)
        of = term[1]
        for near, sign in ((["^", of, "-1"], term), (of, ["*", "-1", term])):
            room = minus("1", near)
            try:
                if not names(of) or Terms(goal).sign_of(sign):
                    continue
                tangent = ["+", near, "-1", sign]
                last = {"step": "sum", "parts": ["+", tangent, room]}
                short = {"step": "cut", "relation": ">=", "term": room}
                cut = {"step": "cut", "relation": ">=", "term": sign}
                prove = partial(first_of, by_signs, by_products, partial(by_products, extra=1))
                following = (partial(reduce_by, step=last), partial(with_log_signs, then=then))
                known = partial(_reduced, cut, following)
                return reduce_by(goal, short, prove, known)
            except ERRORS:
                continue
    return then(goal)


def with_tangents(goal: Goal, then: Callable[[Goal], Step]) -> Step:
    """What log x <= x - 1 and e^x >= 1 + x say of the claim's logarithms and exponentials."""
    logs = list(dict.fromkeys(map(_frozen, parts_with(goal.claim[1], "log"))))
    exps = list(dict.fromkeys(map(_frozen, parts_with(goal.claim[1], "exp"))))
    lemmas = [
        {"step": "lemma", "says": "log", "of": of}
        for log in map(json.loads, logs) for of in (log[1], ["^", log[1], "-1"])
    ] + [
        {"step": "lemma", "says": "exp", "of": of}
        for exp in map(json.loads, exps) for of in (["+", exp[1], "-1"], ["*", "-1", exp[1]])
    ]  # fmt: skip
    if not lemmas or len(lemmas) > 8:
        raise Rejected("no logarithm")
    return _known(goal, lemmas, then)


def _frozen(term: Term) -> str:
    return json.dumps(term)


def with_denominators(goal: Goal, then: Callable[[Goal], Step]) -> Step:
    """The signs of denominators that are sums of products of what is given."""
    algebra = Terms(goal)
    _, bottom = algebra.quotient(goal.claim[1])
    for factor, times in bottom.factor()[1]:
        for side in (factor, -factor) if times and not (
                algebra.sign(factor) or algebra.sign(-factor)) else ():  # fmt: skip
            cut = {"step": "cut", "relation": ">", "term": algebra.term(side)}
            prove = partial(first_of, by_signs, by_products, partial(by_products, extra=1))
            try:
                return reduce_by(goal, cut, prove, lambda g: with_denominators(g, then))
            except ERRORS:
                continue
    return then(goal)


def with_products(goal: Goal) -> Step:
    """Products of what is given, with the signs of denominators."""
    return with_denominators(goal, lambda g: first(g, by_products, partial(by_products, extra=1)))


def first_of(*tactics_and_goal: Any) -> Step:
    """What the first of some tactics finds for the goal behind them."""
    *tactics, goal = tactics_and_goal
    return first(goal, *tactics)


def by_products(goal: Goal, extra: int = 0) -> Step:
    """The claim as a sum of products of what is known to be >= 0."""
    if goal.claim[0] == "=":
        raise Rejected("a sum of products proves no equation")
    algebra = Terms(goal)
    unit, factor = open_part(algebra, goal.claim[1])
    if unit.is_constant():  # positive factors only
        return reduce_by(goal, {"step": "sum", "factor": factor, "parts": algebra.term(unit)})
    if sum(map(int, unit.degrees())) > 40:
        raise Rejected("the degree is too high")
    factors = [p for sign, p in algebra.signs.values() if sign != "!=" and not p.is_constant()]
    factors = [p for p in factors if not splits(algebra, p)]
    factors += handelman.squares(algebra, unit)
    found, more = _decomposed(algebra, unit, factors, extra)
    factor = factor if more.is_one() else product([algebra.term(more), factor])
    shown = [_shown(algebra, p) for p in factors]
    parts = [
        product([str(c), *(x if k == 1 else ["^", x, str(k)]
                           for x, k in zip(shown, powers, strict=True) if k)])
        for c, powers in found
    ]  # fmt: skip
    return reduce_by(goal, {"step": "sum", "factor": factor, "parts": total(parts)})


def _decomposed(
    algebra: Terms, unit: Poly, factors: list[Poly], extra: int
) -> tuple[handelman.Sum, Poly]:
    """A sum of products that is a positive multiple of a polynomial, with the multiple."""
    seen = [unit, *factors]
    used = [any(p.degrees()[i] for p in seen) for i in range(len(algebra.gens))]
    own = [bool(d) for d in unit.degrees()]
    known = [algebra.known(g) == ">" for g in algebra.gens]
    by_use = [i for i, mine in enumerate(own) if mine][::-1]
    by_use += [i for i, any_ in enumerate(used) if any_ and i not in by_use][::-1]
    positive = [algebra.gens[i] for i in by_use if known[i]]
    for n, k in ((0, 0),) if extra == 0 else ((0, 1), (1, 1)) if extra == 1 else ((2, 2),):
        for some in itertools.islice(itertools.combinations_with_replacement(positive, n), 6):
            more = reduce(lambda p, q: p * q, some, algebra.one)
            try:
                return handelman.decompose(algebra, unit * more, factors, k), more
            except Rejected:
                continue
    raise Rejected("no sum of products is the claim")


def by_powers(goal: Goal, then: Callable[[Goal], Step]) -> Step:
    """Variables under roots as powers of others."""
    algebra = Terms(goal)
    algebra.quotient(goal.claim[1])
    for q, factor in algebra.powers.values():
        for x, gen in algebra.variables.items():
            if factor == gen:
                return let(goal, x, "power", str(q), lambda g: by_powers(g, then))
    return then(goal)


def splits(algebra: Terms, poly: Poly) -> bool:
    """Whether the sign of a polynomial follows from those of its factors."""
    unit, factors = poly.factor()
    return len(factors) > 1 and unit > 0 and all(algebra.sign(f) for f, t in factors if t % 2)


def _shown(algebra: Terms, poly: Poly) -> Term:
    """A polynomial as a term, a square as the square of its root."""
    unit, factors = poly.factor()
    if len(factors) == 1 and factors[0][1] == 2 and unit == 1:
        return ["^", algebra.term(factors[0][0]), "2"]
    return algebra.term(poly)


def bernstein(goal: Goal) -> Step:
    """The claim times its denominator as a sum of products of x, 1 - x and other variables."""
    algebra = Terms(goal)
    unit, factor = open_part(algebra, goal.claim[1])
    shares = [
        i for i, gen in enumerate(algebra.gens) if algebra.sign(1 - gen) and algebra.sign(gen)
    ]
    degrees = unit.degrees()
    shares = [i for i in shares if degrees[i]]
    if sum(degrees) > 60:
        raise Rejected("the degree is too high")
    for more in (0, 2, 5):
        size = {i: degrees[i] + more for i in shares}
        table = _bernstein(algebra, unit, size)
        if all(c >= 0 for _, c in table.terms()):
            parts = []
            for e, c in table.terms():
                pieces = []
                for i, k in enumerate(e):
                    name = algebra.term(algebra.gens[i]) if k or i in size else ""
                    if i in size:
                        rest = size[i] - k
                        pieces += [["^", ["+", "1", ["*", "-1", name]], str(rest)]] if rest else []
                    pieces += [["^", name, str(k)]] if k else []
                parts.append(product([str(c), *pieces]))
            return reduce_by(goal, {"step": "sum", "factor": factor, "parts": total(parts)})
        if not shares:
            break
    raise Rejected("a coefficient is negative")


def _bernstein(algebra: Terms, poly: Poly, size: Mapping[int, int]) -> Poly:
    """p(x/(1+x)) (1+x)^n in each of some variables: its coefficients are those of Bernstein."""
    for i, n in size.items():
        gen, made = algebra.gens[i], algebra.context.constant(0)
        by_power: dict[int, dict[Any, Any]] = {}
        for e, c in poly.terms():
            by_power.setdefault(e[i], {})[(*e[:i], 0, *e[i + 1 :])] = c
        for k, rest in by_power.items():
            made = made + algebra.context.from_dict(rest) * gen**k * (1 + gen) ** (n - k)
        poly = made
    return poly


def by_cases(goal: Goal, effort: int) -> Step:
    """Two ranges of a variable."""
    if effort <= 0:
        raise Rejected("no tactic proves the goal")
    algebra = Terms(goal)
    top, _ = algebra.quotient(goal.claim[1])
    for x, gen in algebra.variables.items():
        if not top.degrees()[algebra.gens.index(gen)]:
            continue
        share = algebra.sign(1 - gen)
        on = minus(x, "1/2" if share else "1")
        try:
            return reduce_by(goal, {"step": "cases", "on": on}, lambda g: simplified(g, effort - 2))
        except ERRORS:
            continue
    raise Rejected("no tactic proves the goal")


# -- Logarithms and exponentials -------------------------------------------------------------------


def by_tangents(goal: Goal, effort: int) -> Step:
    """A logarithm or exponential as a variable between its limits and tangents."""
    algebra = Terms(goal)
    algebra.quotient(goal.claim[1])
    term = next((t for t in algebra.made.values() if t[0] in ("log", "exp")), None)
    if term is None:
        raise Rejected("no logarithm")
    lemmas = _lemmas(term)
    return _known(goal, lemmas, lambda g: _named(g, term, lambda h: attempt_named(h, effort)))


def attempt_named(goal: Goal, effort: int) -> Step:
    """What proves a goal after a logarithm or exponential became a variable."""
    return first(
        goal,
        by_signs,
        lambda g: with_signs(g, lambda h: by_tangents(h, effort)),
        lambda g: with_signs(g, lambda h: simplified(h, effort)),
    )


def _lemmas(term: Term) -> list[Step]:
    """Steps that give limits of a logarithm or an exponential."""
    op, (of,) = parts_of(term)
    if op == "exp":
        return [{"step": "lemma", "says": "exp", "of": of}]
    if not names(of):  # a constant
        value = flint.arb(flint.fmpq(*Fraction(of).as_integer_ratio())).log()
        low = Fraction(int(float(value) * 1000) - 1, 1000)
        return [
            {"step": "cut", "relation": ">", "term": minus(term, str(low))},
            {"step": "cut", "relation": ">", "term": minus(str(low + Fraction(1, 250)), term)},
        ]
    return [{"step": "lemma", "says": "log", "of": each} for each in (of, ["^", of, "-1"])]


def _known(goal: Goal, lemmas: list[Step], then: Callable[[Goal], Step]) -> Step:
    """The lemmas, and what follows."""
    if not lemmas:
        return then(goal)
    head, *rest = lemmas
    after = lambda g: _known(g, rest, then)  # noqa: E731
    if head["step"] == "cut":
        boxes = {"step": "boxes", "splits": ".", "order": []}
        return reduce_by(goal, head, lambda g: reduce_by(g, boxes), after)
    return reduce_by(goal, head, after)


def _named(goal: Goal, term: Term, then: Callable[[Goal], Step]) -> Step:
    stem = term[0][0]
    new = next(y for i in itertools.count(1) if (y := f"{stem}_{i}") not in goal.variables)
    return reduce_by(goal, {"step": "name", "term": term, "new": new}, then)


def parts_with(term: Term, op: str) -> Iterator[Term]:
    """The parts of a term that are an operation, outermost first."""
    if isinstance(term, list):
        if term[0] == op:
            yield term
        for part in term[1:]:
            yield from parts_with(part, op)


def easily(goal: Goal) -> Step:
    """What proves a goal by signs, without case distinctions."""
    return first(goal, by_signs, by_terms, lambda g: with_signs(g, lambda h: simplified(h, 0)))


def by_concave_log(goal: Goal, effort: int) -> Step:
    """log(1 + y) >= 2y/(2 + y) for y >= 0, where log(1 + y) >= y/(1 + y) is too low."""
    logs = [t for t in parts_with(goal.claim[1], "log") if t[1][0] == "+" and "1" in t[1]]
    if not logs or effort <= 0:
        raise Rejected("no logarithm of 1 + y")
    log, of = logs[0], logs[0][1]
    others = list(of[1:])
    others.remove("1")
    y = total(others)
    new = next(z for i in itertools.count(1) if (z := f"y_{i}") not in goal.variables)
    inner = put(of, y, new) if len(others) == 1 else None
    if inner is None or isinstance(y, str):
        raise Rejected("no logarithm of 1 + y")
    bound = ["+", ["*", log, ["+", "2", y]], ["*", "-2", y]]

    def grown(below: Goal) -> Step:
        slow = {"step": "lemma", "says": "log", "of": ["^", inner, "-1"]}
        growth = {"step": "monotone", "x": new, "start": "0"}
        named = {"step": "name", "term": y, "new": new}
        slope_of = lambda g: reduce_by(g, slow, lambda h: by_tangents(h, 0))  # noqa: E731
        return reduce_by(below, named, lambda g: reduce_by(g, growth, by_signs, slope_of))

    def used(below: Goal) -> Step:
        return _named(below, log, lambda g: attempt_named(g, effort - 2))

    known = {"step": "cut", "relation": ">=", "term": bound}
    sign = {"step": "cut", "relation": ">=", "term": y}
    return reduce_by(goal, sign, easily, lambda g: reduce_by(g, known, grown, used))


# -- Roots -----------------------------------------------------------------------------------------


def with_roots(goal: Goal, then: Callable[[Goal], Step]) -> Step:
    """The sign of what stands under a square root, where its parts show it."""
    algebra = Terms(goal)
    for _, of, power in parts_with(goal.claim[1], "^"):
        if not (power in ("1/2", "-1/2") and isinstance(of, list)):
            continue
        top, bottom = algebra.quotient(of)
        if algebra.sign(top * bottom):
            continue
        cut = {"step": "cut", "relation": ">=", "term": of}
        shown = partial(first_of, by_signs, with_products)
        try:
            return reduce_by(goal, cut, shown, lambda g: with_roots(g, then))
        except Rejected as error:
            if "no tactic" in str(error):
                raise
    return with_signs(goal, then)


def by_roots(goal: Goal, effort: int) -> Step:
    """A claim with a root as one about squares."""
    powers = [term[2] for term in parts_with(goal.claim[1], "^")]
    if not {"1/2", "-1/2"} & {power for power in powers if isinstance(power, str)}:
        raise Rejected("no root")
    return with_roots(goal, lambda known: by_squares(known, effort))


def by_squares(goal: Goal, effort: int) -> Step:
    """A claim a >= b of two sides that are not negative, by a^2 >= b^2."""
    algebra = Terms(goal)
    top, bottom = algebra.quotient(goal.claim[1])
    if algebra.sign(bottom) != ">" or effort <= 0:
        raise Rejected("the denominator has no sign")
    for plus, less in _sides(algebra, top):
        larger, smaller = algebra.term(plus), algebra.term(less)
        cut = {"step": "cut", "relation": goal.claim[0], "term": minus(larger, smaller)}
        square = {"step": "square", "larger": larger, "smaller": smaller}
        last = {"step": "sum", "factor": algebra.term(bottom), "parts": minus(larger, smaller)}
        squared = partial(_reduced, square, (easily, partial(attempt, effort=effort - 2)))
        try:
            return reduce_by(goal, cut, squared, partial(_reduced, last, ()))
        except ERRORS:
            continue
    raise Rejected("no squares")


def _sides(algebra: Terms, top: Poly) -> Iterator[tuple[Poly, Poly]]:
    """Two polynomials whose difference is the claim's numerator, of which the second is >= 0."""
    for i in algebra.powers:
        if top.degrees()[i] == 1:
            root = top.derivative(i) * algebra.gens[i]
            if algebra.sign(-root):
                yield top - root, -root
    plus = algebra.context.from_dict({e: c for e, c in top.terms() if c > 0})
    if algebra.sign(plus - top) and not top.is_zero():
        yield plus, plus - top


# -- Growth and boxes ------------------------------------------------------------------------------


def by_growth(goal: Goal, effort: int) -> Step:
    """The claim at the smallest value of a variable, and its derivative."""
    if effort <= 0:
        raise Rejected("no tactic proves the goal")
    algebra = Terms(goal)
    for x in sorted(names(goal.claim[1])):
        low, _ = algebra.limits(x)
        for start in low:
            step = {"step": "monotone", "x": x, "start": start}
            try:
                return reduce_by(goal, step, lambda g: attempt(g, effort - 2))
            except ERRORS:
                continue
    raise Rejected("no tactic proves the goal")


def by_boxes(goal: Goal) -> Step:
    """A cover by boxes of a claim in at most three variables with limits."""
    algebra = Terms(goal)
    order = sorted(names(goal.claim[1]))
    box = {x: algebra.range(x) for x in order}
    if len(order) > 3 or any(None in ends for ends in box.values()):
        raise Rejected("a variable has no limits")
    slopes = {x: slope(goal.claim[1], x) for x in order} if smooth(goal.claim[1]) else {}
    splits: list[str] = []

    def cover(box: dict[str, Any], depth: int) -> None:
        if holds(goal, box, slopes):
            splits.append(".")
            return
        if depth > 40 or len(splits) > _BOXES or not order:
            raise Rejected("too many boxes")
        x = max(order, key=lambda y: box[y][1] - box[y][0])
        low, high = box[x]
        splits.append(str(order.index(x)))
        cover({**box, x: (low, (low + high) / 2)}, depth + 1)
        cover({**box, x: ((low + high) / 2, high)}, depth + 1)

    cover(box, 0)
    return reduce_by(goal, {"step": "boxes", "splits": "".join(splits), "order": order})
