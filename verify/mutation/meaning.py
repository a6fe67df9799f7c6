r"""Changes of meaning: the same theorem with another symbol, or with a part of its formula lost.

`verify.mutation.mutants` moves an exponent or a factor a little.  The changes here are those that a
tired author makes: d where k belongs, 1/k for the smallest share, a union factor forgotten, the
largest term for the sum, a square root for a logarithm, a formula that holds for two clusters only.

* *replaced*: a symbol becomes another one of the same range (`find_roles`), everywhere in a term.
* *dropped*: a symbol becomes 1.  This is also "for d = 1 only" and "the union factor is lost".
* *for k = 2 only*: a number of clusters becomes 2.
* *balanced*: the smallest share becomes 1/k.
* *maximum*: a sum becomes the largest of its terms.
* *logarithm*: a logarithm becomes 1 or a square root, and a square root becomes a logarithm.
* *inserted*: a count that a term does not have becomes its factor (`verify.mutation.inserted`).

The conclusion and the failure probability are changed so, and by `change_conditions` both sides of
every condition.  What a changed condition covers is another set of cells.

`compare` compares two right-hand sides at the points where a claim is tried.  It reads formulas
alone, so that no verdict of the claim enters it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
import sympy as sp

from bounds.statement import Statement, Term, evaluate
from verify.mutation.inserted import insertions
from verify.mutation.mutants import Mutant, variables, with_condition, with_term

Role = Literal["count", "share", "size"]
#: Values of all symbols at one place where a claim is tried: in a cell, or at a point of a search.
Point = Mapping[str, Any]
#: Letters that a statement may confuse with its own even where it does not use them.
COMMON = frozenset({"m", "n", "k", "d", "p", "N", "K", "M"})
#: Letters of a number of clusters.
CLUSTERS = frozenset({"k", "K"})
#: The part of the points at which a share may exceed one.
FEW = 0.1
#: Relative difference below which two bounds are the same number.
RTOL = 1e-9

Change = tuple[str, sp.Expr]


def find_roles(points: Sequence[Point]) -> dict[str, Role]:
    """The range of every symbol: a count (integers from 1), a share (0 to 1) or another size.

    A symbol whose value is not positive at some point has no role, and is not exchanged.  A few
    cells with values above one leave a share a share, or they would hide its exchanges.

    >>> find_roles([{"m": 10, "p": 0.2, "sigma": 1.5}, {"m": 20, "p": 1.0, "sigma": 0.5}])
    {'m': 'count', 'p': 'share', 'sigma': 'size'}
    """
    ranges: dict[str, list[np.ndarray[Any, Any]]] = {}
    above: dict[str, list[bool]] = {}
    for point in points:
        for name, value in point.items():
            if isinstance(value, bool | str | None) or callable(value):
                continue
            try:
                numbers = np.atleast_1d(np.asarray(value, dtype=np.float64))
            except (TypeError, ValueError):
                continue
            ranges.setdefault(name, []).append(numbers.ravel())
            above.setdefault(name, []).append(bool(np.any(numbers > 1.0)))
    found: dict[str, Role] = {}
    for name, parts in ranges.items():
        values = np.concatenate(parts)
        if not values.size or not np.all(np.isfinite(values)) or values.min() <= 0.0:
            continue
        if values.min() >= 1.0 and np.array_equal(values, np.round(values)):
            found[name] = "count"
        else:
            found[name] = "share" if np.mean(above[name]) <= FEW else "size"
    return found


def change_meaning(statement: Statement, points: Sequence[Point]) -> list[Mutant]:
    """Every change of meaning of a statement, in a fixed order and without repetitions.

    Parameters
    ----------
    points : the values of the symbols where the claim is tried.  They tell which symbols have the
        same range, and which ones a changed formula could be evaluated with.
    """
    roles = find_roles(points)
    made: list[Mutant] = []
    for term in statement.terms:
        made += [
            Mutant(
                name=f"term {term.name}: {name}",
                kind="meaning",
                original=statement,
                change=partial(with_term, name=term.name, expr=changed),
                multiplier=sp.Integer(1),
                term=term.name,
            )
            for name, changed in changes_of(statement, term.expr, roles)
        ]
        made += insertions(statement, term, _counts(statement, roles, points))
    made += list(_largest_term(statement))
    if statement.failure is not None:
        made += [
            Mutant(
                name=f"failure probability: {name}",
                kind="meaning",
                original=statement,
                change=partial(replace, failure=changed),
                multiplier=sp.Integer(1),
            )
            for name, changed in changes_of(statement, statement.failure, roles)
        ]
    return made


def change_conditions(statement: Statement, points: Sequence[Point]) -> list[Mutant]:
    """Every change of meaning of a statement's conditions, each condition dropped first.

    No two have the same name: an interrupted scan knows by it which ones it has judged.  A change
    that both sides have says where it is the one on the right.

    Parameters
    ----------
    points : as for `change_meaning`.
    """
    roles = find_roles(points)
    made: list[Mutant] = []
    for assumption in statement.assumptions:
        made.append(with_condition(statement, assumption, "dropped", right=-sp.oo))
        left, right = (
            dict(changes_of(statement, side, roles)) for side in (assumption.left, assumption.right)
        )
        made += [with_condition(statement, assumption, n, left=new) for n, new in left.items()]
        for name, new in right.items():
            where = f"{name} on the right" if name in left else name
            made.append(with_condition(statement, assumption, where, right=new))
    return made


def changes_of(statement: Statement, expr: sp.Expr, roles: Mapping[str, Role]) -> Iterator[Change]:
    """The changed forms of one expression, each with its name."""
    expr = expr.doit()
    seen = {expr}
    for name, changed in _changes(statement, expr, roles):
        if changed not in seen and not changed.has(sp.zoo, sp.nan, sp.oo):
            seen.add(changed)
            yield name, changed


def _changes(statement: Statement, expr: sp.Expr, roles: Mapping[str, Role]) -> Iterator[Change]:
    own = symbols_of(statement)
    for symbol in variables(statement, expr):
        role = roles.get(symbol.name)
        if role is None:
            continue
        mates = sorted(
            name
            for name, other in roles.items()
            if other == role and name != symbol.name and (name in own or name in COMMON)
        )
        for mate in mates:
            yield f"{mate} for {symbol.name}", expr.subs(symbol, own.get(mate, sp.Symbol(mate)))
        yield f"{symbol.name} dropped", expr.subs(symbol, 1)
        if symbol.name in CLUSTERS:
            yield f"for {symbol.name} = 2 only", expr.subs(symbol, 2)
        if role == "share":
            for count in sorted(CLUSTERS & set(roles)):
                yield (
                    f"1/{count} for {symbol.name}",
                    expr.subs(symbol, 1 / own.get(count, sp.Symbol(count))),
                )
    for total in sorted(expr.atoms(sp.Add), key=sp.default_sort_key):
        if len(total.args) > 1 and not any(a.could_extract_minus_sign() for a in total.args):
            yield f"the largest of {sp.sstr(total)}", expr.subs(total, largest_of(total.args))
    for log in sorted(expr.atoms(sp.log), key=sp.default_sort_key):
        if log.free_symbols:
            yield f"{sp.sstr(log)} dropped", expr.subs(log, 1)
            yield f"sqrt for {sp.sstr(log)}", expr.subs(log, sp.sqrt(log.args[0]))
    for root in sorted(expr.atoms(sp.Pow), key=sp.default_sort_key):
        if abs(root.exp) == sp.Rational(1, 2) and root.free_symbols:
            logarithm = sp.log(1 + root.base) ** sp.sign(root.exp)
            yield f"log for sqrt({sp.sstr(root.base)})", expr.subs(root, logarithm)


def largest_of(parts: Sequence[sp.Expr]) -> sp.Expr:
    """The largest of real expressions, as (a + b + |a - b|)/2.

    sympy's own ``Max`` refuses symbols that are not declared to be real.
    """
    largest = parts[0]
    for part in parts[1:]:
        largest = (largest + part + sp.Abs(largest - part)) / 2
    return largest


def symbols_of(statement: Statement) -> dict[str, sp.Symbol]:
    """Every symbol that the statement uses and that is no constant of it, by name."""
    parts = [term.expr for term in statement.terms]
    parts += [] if statement.failure is None else [statement.failure]
    parts += [side for a in statement.assumptions for side in (a.left, a.right)]
    constants = {constant.symbol for constant in statement.constants}
    used: set[sp.Symbol] = set().union(*(part.free_symbols for part in parts)) - constants
    return {symbol.name: symbol for symbol in used}


def _counts(
    statement: Statement, roles: Mapping[str, Role], points: Sequence[Point]
) -> dict[str, sp.Symbol]:
    """The counts of a statement, and the common ones with values at the points.

    One that is 1 at all of them is no factor there.
    """
    own = symbols_of(statement)
    known = [name for name, role in roles.items() if role == "count"]
    varies = {name for point in points for name in known if np.any(point.get(name, 1) != 1)}
    return {
        name: own.get(name, sp.Symbol(name))
        for name in known
        if name in varies and (name in own or name in COMMON)
    }


def _largest_term(statement: Statement) -> Iterator[Mutant]:
    if len(statement.terms) < 2:
        return
    largest = Term(name="largest term", expr=largest_of([t.expr for t in statement.terms]))
    yield Mutant(
        name="the largest of the terms for their sum",
        kind="meaning",
        original=statement,
        change=partial(replace, terms=(largest,)),
        multiplier=sp.Integer(1),
    )


# -- formulas compared -----------------------------------------------------------------------------

Comparison = Literal["same", "weaker", "stronger", "unknown"]


def compare(original: Statement, changed: Statement, points: Sequence[Point]) -> Comparison:
    """Whether a changed statement asks for more at some point, from the two formulas alone.

    ``same`` and ``weaker`` hold at every point: the claim's cells cannot tell the two apart, or
    the change follows from the original there.  ``stronger``: at some point the change asks for
    more by more than rounding.  ``unknown``: a formula cannot be evaluated anywhere.
    """
    sign = -1.0 if original.relation == r"\ge" else 1.0
    tighter = looser = known = False
    for point in points:
        at = {**middle_constants(original), **point}
        pairs: list[tuple[Any, Any, float]] = []
        with np.errstate(all="ignore"):
            try:
                pairs.append(
                    (evaluate(original.expr, at), evaluate(changed.expr, at), sign)
                    if original.terms
                    else (1.0, 1.0, sign)
                )
                if original.failure is not None and changed.failure is not None:
                    before, after = (evaluate(s.failure, at) for s in (original, changed))
                    pairs.append((np.minimum(before, 1.0), np.minimum(after, 1.0), 1.0))
            except (ArithmeticError, KeyError, TypeError, ValueError):
                continue
        known = True
        for before, after, direction in pairs:
            with np.errstate(invalid="ignore"):  # of two infinite bounds there is no gap
                gap = direction * (np.asarray(after, float) - np.asarray(before, float))
            scale = RTOL * np.maximum(np.abs(before), np.abs(after))
            scale = np.where(np.isinf(scale), 0.0, scale)  # an infinite gap is no rounding
            tighter |= bool(np.any(gap < -scale))
            looser |= bool(np.any(gap > scale))
    if not known:
        return "unknown"
    if original.relation == "=":
        return "stronger" if tighter or looser else "same"
    if tighter:
        return "stronger"
    return "weaker" if looser else "same"


def same_at_zero(original: Statement, changed: Statement, points: Sequence[Point]) -> str:
    """The constants whose exhibited value zero makes two statements one formula, in one word.

    A claim that supports "there is a constant" with zero supports every change of the term that the
    constant multiplies.  Empty where the formulas differ all the same.
    """
    zero = {
        c.symbol: 0
        for c in original.constants
        if points and all(_is_zero(point.get(c.name)) for point in points)
    }
    if not zero or original.failure != changed.failure:
        return ""
    before, after = (s.expr.doit().subs(zero) for s in (original, changed))
    return ", ".join(map(str, zero)) if before == after else ""


def _is_zero(value: Any) -> bool:
    return isinstance(value, int | float) and value == 0


def middle_constants(statement: Statement) -> dict[str, float]:
    """One value for each constant of a statement: 1 where its box holds 1, else its middle."""
    found = {}
    for constant in statement.constants:
        low, high = max(constant.low, 1e-12), constant.high
        found[constant.name] = 1.0 if low <= 1.0 <= high else math.sqrt(low * high)
    return found
