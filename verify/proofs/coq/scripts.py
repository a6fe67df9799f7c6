"""Proof scripts for Coq from the certificates of the suite's checker, step by step.

Each step of a certificate becomes a few tactics: ``let`` a substitution, ``cases`` and ``cut`` the
tactics of these names, ``sum`` the equation of two expressions and the signs of the second one's
parts, ``boxes`` interval arithmetic.  Coq trusts none of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from verify.proofs.algebra_terms import Terms, product, ratio
from verify.proofs.checker import (
    Goal,
    Poly,
    Rejected,
    Term,
    goal_of,
    left_by,
    minus,
    number,
    parts_of,
    slope,
)
from verify.proofs.coq.gallina import identifier, operations, text_of

Lines = Iterator[str]
Below = list[tuple[Goal, Mapping[str, Any]]]
_SIGNS = {">=": "<=", ">": "<", "=": "="}


def from_certificate(
    statement: Mapping[str, Any], certificate: Mapping[str, Any], conditions: Sequence[str]
) -> str:
    """Tactics that prove the claim of a statement, its hypotheses in the context.

    Parameters
    ----------
    conditions : of definedness, which the theorem states beside its claim.

    Raises
    ------
    Rejected
        When a step has no form in Coq.
    """
    goal = goal_of(statement)
    lines = [f"cut ({fact(goal.claim)}); [lra |]."]
    if conditions:
        both = " /\\ ".join([fact(goal.claim), *conditions])
        lines = [f"cut ({both}); [intros [? ?]; split; [lra | assumption] |]."]
    given = dict.fromkeys(fact(each) for each in goal.given if isinstance(each[1], list))
    lines += [f"assert ({text}) by lra." for text in given]
    lines += _known(goal)
    lines += _proof(goal, certificate, bool(conditions))
    return "\n".join(lines)


def fact(relation: tuple[str, Term]) -> str:
    """A relation of a goal, ``0 <= term``."""
    sign, term = relation
    return f"{text_of(term)} = 0" if sign == "=" else f"0 {_SIGNS[sign]} {text_of(term)}"


def _known(goal: Goal) -> Lines:
    """What is given with quotients, times its denominators."""
    algebra = Terms(goal)
    for relation, term in goal.given:
        if isinstance(term, str):
            continue
        top, bottom = algebra.quotient(term)
        if relation == "=" or bottom.is_constant() or algebra.sign(bottom) != ">":
            continue
        whole, above = text_of(term), text_of(algebra.term(top))
        below = text_of(_factored(algebra, bottom))
        yield from _signs_of_parts(algebra, term)
        yield (f"assert (0 {_SIGNS[relation]} {above}) by (replace ({above}) with "
               f"(({whole}) * ({below})) by ({_equal(algebra, term)}); sign).")  # fmt: skip


def _proof(goal: Goal, step: Mapping[str, Any], whole: bool = False) -> Lines:
    """The tactics of a step and of those below it.

    ``whole`` says that the goal of Coq is the claim and that its terms are defined.
    """
    if step["step"] not in _STEPS:
        raise Rejected(f"a step {step['step']!r} has no form in Coq")
    below = list(zip(left_by(goal, step), step.get("then", ()), strict=True))
    if whole and step["step"] in ("sum", "square", "monotone", "boxes", "name"):
        yield from _signs_of_parts(Terms(goal), goal.claim[1])
        yield "split; [| repeat split; defined]."
        whole = False
    yield from _STEPS[step["step"]](goal, step, below, whole)


def _let(goal: Goal, step: Mapping[str, Any], below: Below, whole: bool) -> Lines:
    x, new = identifier(step["x"]), identifier(step["new"])
    by, kind = step["by"], step["kind"]
    if kind == "shift":
        yield f"destruct (shifted {x} ({text_of(by)})) as [{new} ?]. subst {x}."
    elif kind == "scale":
        yield from _sign_of(Terms(goal), minus(by, step["x"]))
        known = f"(scaled {x} ({text_of(by)}) ltac:(sign))"
        yield f"destruct {known} as [{new} ?]. subst {x}."
    elif kind == "exp":
        yield f"destruct (exponential {x} ltac:(sign)) as [{new} ?]. subst {x}."
    else:
        strict = Terms(goal).sign_of(step["x"]) == ">"
        lemma = "root_pos" if strict else "root_nonneg"
        if Fraction(by).denominator > 1:
            raise Rejected("a power that is no whole number has no form in Coq")
        yield f"destruct ({lemma} {by} {x} ltac:(lia) ltac:(sign)) as [{new} [? ?]]. subst {x}."
    if kind == "scale":  # signs of the share follow from those of the variable
        yield from _signs_of_share(below[0][0], new, by)
    yield from _proof(*below[0], whole)


def _signs_of_share(goal: Goal, new: str, by: Term) -> Lines:
    """What is known of by * y, said of y."""
    algebra = Terms(goal)
    gen = algebra.variables[next(x for x in algebra.variables if identifier(x) == new)]
    sign = algebra.sign(gen)
    if sign:
        yield (f"assert (0 {_SIGNS[sign]} {new}) by (refine (by_sum{'_strict' * (sign == '>')} "
               f"({text_of(by)}) _ _ ltac:(sign) eq_refl _); sign).")  # fmt: skip
    if algebra.sign(1 - gen):
        strict = algebra.sign(1 - gen) == ">"
        yield (f"assert (0 {'<' if strict else '<='} 1 - {new}) by "
               f"(refine (by_sum{'_strict' * strict} ({text_of(by)}) _ (({text_of(by)}) - "
               f"(({text_of(by)}) * {new})) ltac:(sign) _ _); [ring | sign]).")  # fmt: skip


def _name(goal: Goal, step: Mapping[str, Any], below: Below, whole: bool) -> Lines:
    new = identifier(step["new"])
    yield f"set ({new} := {text_of(step['term'])}) in *. clearbody {new}."
    yield from _proof(*below[0], whole)


def _cases(goal: Goal, step: Mapping[str, Any], below: Below, whole: bool) -> Lines:
    on = text_of(step["on"])
    yield f"destruct (Rle_or_lt 0 ({on})) as [? | ?]."
    for i in (0, 1):
        yield "{"
        if i:
            yield f"assert (0 <= {text_of(['*', '-1', step['on']])}) by lra."
        yield from _proof(*below[i], whole)
        yield "}"


def _cut(goal: Goal, step: Mapping[str, Any], below: Below, whole: bool) -> Lines:
    yield f"assert ({fact((step['relation'], step['term']))}). {{"
    yield from _proof(*below[0])
    yield "}"
    yield from _proof(*below[1], whole)


def _lemma(goal: Goal, step: Mapping[str, Any], below: Below, whole: bool) -> Lines:
    of = text_of(step["of"])
    added = fact(below[0][0].given[-1])
    known = f"exp_tangent ({of})" if step["says"] == "exp" else f"ln_tangent ({of}) ltac:(sign)"
    yield f"assert ({added}) by (pose proof ({known}); lra)."
    yield from _proof(*below[0], whole)


def _monotone(goal: Goal, step: Mapping[str, Any], below: Below, whole: bool) -> Lines:
    x, start = identifier(step["x"]), text_of(step["start"])
    relation, term = goal.claim
    by = f"fun {x} => {text_of(term)}", f"fun {x} => {text_of(slope(term, step['x']))}"
    first = f"0 {_SIGNS[relation]} ({by[0]}) ({start})"
    yield f"cut ({first} /\\ ({by[0]}) ({start}) <= ({by[0]}) {x})."
    yield "{ cbv beta. intros [? ?]. lra. }"
    yield "split. { cbv beta."
    yield from _proof(*below[0], whole)
    yield "}"
    yield f"refine (grows ({by[0]}) ({by[1]}) _ _ _ _ _); [sign | |]; cbv beta."
    equal = _equal(Terms(below[1][0]), term)
    yield f"{{ intros ? [? ?]. auto_derive; [repeat split; sign | {equal}]. }}"
    yield "{"
    yield f"let y := fresh in intros y [? ?]; rename {x} into {x}_old, y into {x}."
    yield f"assert ({fact(below[1][0].given[-1])}) by lra."
    yield from _proof(*below[1], whole)
    yield "}"


def _square(goal: Goal, step: Mapping[str, Any], below: Below, whole: bool) -> Lines:
    larger, smaller = step["larger"], step["smaller"]
    strict = goal.claim[0] == ">"
    for part in below:
        yield f"assert ({fact(part[0].claim)}). {{"
        yield from _proof(*part)
        yield "}"
    difference = f"(({text_of(larger)}) - ({text_of(smaller)}))"
    equal = _equal(Terms(goal), goal.claim[1], larger, smaller)
    yield f"replace ({text_of(goal.claim[1])}) with {difference} by ({equal})."
    yield f"apply by_squares{'_strict' * strict}; [assumption | lra]."


def _sum(goal: Goal, step: Mapping[str, Any], below: Below, whole: bool) -> Lines:
    relation, term = goal.claim
    factor, parts = step.get("factor", "1"), step.get("parts")
    algebra = Terms(goal)
    shown = [term, factor, *([] if parts is None else [parts])]
    yield from _signs_of_parts(algebra, *shown)
    equal = _equal(algebra, *shown)
    if relation == "=":
        yield f"refine (by_sum_zero ({text_of(factor)}) _ _ _); [sign | {equal}]."
        return
    if parts is None or not _obvious(algebra, parts):
        top, bottom = algebra.quotient(term if parts is None else parts)
        if algebra.sign(bottom) != ">" and algebra.sign(-bottom) == ">":
            top, bottom = -top, -bottom
        unit, under = _turned(algebra, bottom)
        if [p for p, _, _ in under] == [p for p, _ in bottom.factor()[1]]:  # none is below zero
            under = [(bottom, 1, "")]
        else:
            under = [(algebra.one * unit, 1, ">"), *under]
        signed = list(_signed(algebra, top))
        yield from (f"assert (0 {_SIGNS[sign]} {text_of(algebra.term(p))}) by first [sign | nra]."
                    for p, _, sign in (*signed, *under) if sign and len(p) > 1)  # fmt: skip
        parts = ratio(_powers(algebra, signed), _powers(algebra, under))
    for leaf in {text_of(leaf): leaf for leaf in _leaves(parts)}.values():
        yield from _sign_of(algebra, leaf)
    lemma = "by_sum" + "_strict" * (relation == ">")
    yield f"refine ({lemma} ({text_of(factor)}) _ ({text_of(parts)}) _ _ _);"
    yield f"  [sign | {equal} | sign]."


def _signs_of_parts(algebra: Terms, *terms: Term) -> Lines:
    """The signs of sums that are divided by, or stand under a root or a logarithm."""
    said: set[str] = set()
    for part in (part for term in terms for part in _delicate(term)):
        text = text_of(part)
        if isinstance(part, str) or text in said or number(part) is not None:
            continue
        said.add(text)
        top, bottom = algebra.quotient(part)
        sides = [] if bottom.is_constant() else [bottom]
        for poly in (p for side in (top, *sides) for p, _ in side.factor()[1]):
            up, down = algebra.sign(poly), algebra.sign(-poly)
            poly, sign = (poly, up) if up else (-poly, down)
            shown = text_of(algebra.term(poly))
            if sign and len(poly) > 1 and shown not in said:
                said.add(shown)
                yield f"assert (0 {_SIGNS[sign]} {shown}) by first [sign | nra]."
        if part[0] == "+":
            yield from _sign_of(algebra, part)


def _factored(algebra: Terms, poly: Poly) -> Term:
    """A polynomial as the product of its factors."""
    unit, factors = poly.factor()
    powers = [algebra.term(p) if n == 1 else ["^", algebra.term(p), str(n)] for p, n in factors]
    return product([str(unit), *powers] if unit != 1 else powers)


def _powers(algebra: Terms, factors: Sequence[tuple[Poly, int, str]]) -> Term:
    """The product of powers of polynomials."""
    return product([algebra.term(p) if n == 1 else ["^", algebra.term(p), str(n)]
                    for p, n, _ in factors])  # fmt: skip


def _sign_of(algebra: Terms, term: Term) -> Lines:
    """That a term is >= 0 or > 0, where the algebra knows it."""
    top, bottom = algebra.quotient(term)
    sign, text = algebra.sign(top * bottom), text_of(term)
    if sign and not top.is_zero():
        whole = text_of(ratio(_factored(algebra, top), _factored(algebra, bottom)))
        equal = _equal(algebra, term)
        yield (f"assert (0 {_SIGNS[sign]} {text}) by first [sign | "
               f"replace ({text}) with ({whole}) by ({equal}); sign | nra].")  # fmt: skip


def _delicate(term: Term) -> Iterator[Term]:
    """The parts that must have a sign, the inner ones first."""
    for part in operations(term):
        exponent = number(part[2]) if part[0] == "^" else None
        if part[0] == "log" or (
            exponent is not None and (exponent < 0 or exponent.denominator > 1)
        ):
            yield part[1]


def _leaves(term: Term) -> Iterator[Term]:
    """The parts whose signs make up that of a term, but variables and numbers."""
    if isinstance(term, str):
        return
    op, *parts = term
    if op == "+" and any(number(part) is not None for part in parts):
        yield term
    elif op in ("+", "*") or (op == "^" and parts[1] != "2"):
        for part in parts:
            yield from _leaves(part)


def _obvious(algebra: Terms, parts: Term) -> bool:
    """Whether the parts themselves show the sign of a sum."""
    if isinstance(parts, str):
        return True
    op, inner = parts_of(parts)
    if op in ("+", "*"):
        return all(_obvious(algebra, part) for part in inner)
    if op == "^" and inner[1] == "2":
        return True
    return bool(algebra.sign_of(parts))


def _signed(algebra: Terms, poly: Poly) -> Iterator[tuple[Poly, int, str]]:
    """Factors with a power and a sign, whose product is the polynomial."""
    if poly.is_zero():
        yield poly, 1, ""
        return
    plainly = algebra._plain(poly)
    if plainly or poly.is_constant():
        yield poly, 1, plainly
        return
    unit, made = _turned(algebra, poly)
    if unit < 0 or any(not up and times % 2 for _, times, up in made):
        yield poly, 1, algebra.sign(poly)
        return
    yield algebra.one * unit, 1, ">"
    yield from made


def _turned(algebra: Terms, poly: Poly) -> tuple[Any, list[tuple[Poly, int, str]]]:
    """A number and factors with a power and a sign, those below zero turned."""
    unit, factors = poly.factor()
    made = []
    for factor, times in factors:
        up, down = algebra.sign(factor), algebra.sign(-factor)
        if down and not up:
            unit, factor, up = unit * (-1) ** times, -factor, down
        made.append((factor, int(times), up))
    return unit, made


def _boxes(goal: Goal, step: Mapping[str, Any], below: Below, whole: bool) -> Lines:
    algebra = Terms(goal)
    bisected = []
    for x in step["order"]:
        low, high = algebra.range(x)
        name = identifier(x)
        yield f"assert ({text_of(str(low))} <= {name} <= {text_of(str(high))}) by lra."
        bisected.append(f"i_bisect {name}")
    if not bisected:
        yield "number."
        return
    smooth = [f"i_autodiff {identifier(step['order'][0])}"] if len(bisected) == 1 else []
    ways = [bisected, *([[*bisected, *smooth]] if smooth else [])]
    yield (
        "first ["
        + " | ".join(f"interval with ({', '.join(way)}, i_prec 64, i_depth 24)" for way in ways)
        + "]."
    )


_STEPS = {"let": _let, "name": _name, "cases": _cases, "cut": _cut, "lemma": _lemma,
          "monotone": _monotone, "square": _square, "sum": _sum, "boxes": _boxes}  # fmt: skip


def _equal(algebra: Terms, *terms: Term) -> str:
    """A tactic for an equation of terms: their roots and exponentials become those of factors."""
    rewrites: dict[str, str] = {}
    for part in (part for term in terms for part in _atoms_of(term)):
        text = text_of(part)
        if text in rewrites:
            continue
        normal = ratio(*map(algebra.term, algebra.quotient(part)))
        shown = text_of(normal)
        if shown == text:
            continue
        if part[0] == "^" and number(part[2]) is not None:
            base = f"({text_of(part[1])})"
            rewrites[text] = f"try rewrite (sqrt_is {base} ({shown}) ltac:(sign) ltac:({{}}))"
        else:
            rewrites[text] = f"try replace ({text}) with ({shown}) by (logs; {{}})"
    squares = []
    for index, (q, factor) in algebra.powers.items():
        root, value = algebra.made.get(index), text_of(algebra.term(factor))
        if q == 2 and root is not None:
            squares.append(f"pose proof (pow2_sqrt ({value}) ltac:(sign)) as Root{index}")
    hints = " ".join(each.rpartition(" ")[2] for each in squares)
    last = "equal"
    if squares:
        hints = f"[{hints}]"
        last = f"first [ring {hints} | field {hints}; repeat split; defined | equal]"
    return "; ".join([*squares, *(each.format(last) for each in rewrites.values()), last])


def _atoms_of(term: Term) -> Iterator[Term]:
    """Square roots, exponentials and logarithms in a term, the inner ones first."""
    for part in operations(term):
        exponent = number(part[2]) if part[0] == "^" else "1"
        if part[0] in ("exp", "log") or exponent is None:
            yield part
        elif isinstance(exponent, Fraction) and exponent.denominator == 2:
            yield ["^", part[1], "1/2"]
