r"""A polynomial as a sum of products of polynomials that are known to be >= 0.

Such a sum proves that the polynomial is >= 0 (Krivine 1964, Handelman 1988).  Its coefficients
solve a linear program.  A vertex of the program names the products, and rational arithmetic solves
for their coefficients, so that nothing of the floats is left.  The squares of differences among
the factors let it prove what needs a sum of squares with at most two terms in each square (Ahmadi &
Majumdar 2019).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

import flint
import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csc_matrix

from verify.proofs.checker import Algebra, Poly, Rejected

_PRODUCTS, _ROWS, _VISITED = 1_500, 2_000, 30_000
Exponents = tuple[int, ...]
_Number = TypeVar("_Number", int, Fraction)
#: A sum: pairs of a coefficient and of the powers of the factors.
Sum = list[tuple[flint.fmpq, tuple[int, ...]]]


def decompose(algebra: Algebra, target: Poly, factors: Sequence[Poly], extra: int = 0) -> Sum:
    """Coefficients >= 0 and powers of the factors whose products sum to the target.

    Parameters
    ----------
    extra : by how much a product may exceed the degree of the target in each generator.

    Raises
    ------
    Rejected
        When no such sum is found.
    """
    products = _products(algebra, target, factors, extra)
    rows: dict[Exponents, int] = {}
    entries = [
        {rows.setdefault(tuple(e), len(rows)): c for e, c in poly.terms()} for _, poly in products
    ]
    goal = {tuple(e): c for e, c in target.terms()}
    if not goal.keys() <= rows.keys() or len(rows) > _ROWS:
        raise Rejected("no product has a monomial of the claim")
    right = {rows[e]: c for e, c in goal.items()}
    columns = _vertex(entries, right, len(rows))
    for _ in range(4):
        values = _solved([entries[j] for j in columns], right)
        if all(value >= 0 for value in values):
            return [
                (value, products[j][0])
                for j, value in zip(columns, values, strict=True) if value
            ]  # fmt: skip
        columns = [j for j, value in zip(columns, values, strict=True) if value > 0]
    raise Rejected("the sum has a coefficient below zero")


def gradings(*polys: Poly) -> list[list[Fraction]]:
    """Weights of the generators in which all monomials of each polynomial weigh the same."""
    differences = []
    for poly in polys:
        (first, _), *rest = poly.terms()
        differences += [[int(a) - int(b) for a, b in zip(e, first, strict=True)] for e, _ in rest]
    n = len(polys[0].degrees())
    table, rank = flint.fmpq_mat(differences or [[0] * n]).rref()
    pivots = [next(j for j in range(n) if table[i, j]) for i in range(rank)]
    found = []
    for j in sorted({*range(n)} - {*pivots}):
        weights = [Fraction(0)] * n
        weights[j] = Fraction(1)
        for i, pivot in enumerate(pivots):
            weights[pivot] = -Fraction(int(table[i, j].p), int(table[i, j].q))
        found.append(weights)
    return found


def _products(
    algebra: Algebra, target: Poly, factors: Sequence[Poly], extra: int
) -> list[tuple[tuple[int, ...], Poly]]:
    """Products of the factors that weigh as much as the target.

    With ``extra`` the factors may have generators that the target does not have.
    """
    used = [int(d) for d in target.degrees()]
    near = [f for f in factors if any(d and n for d, n in zip(f.degrees(), used, strict=True))]
    linked = {i for f in near if extra for i, d in enumerate(f.degrees()) if d}
    limits = [d + extra if d else extra * (i in linked) for i, d in enumerate(used)]
    usable = [
        i for i, f in enumerate(factors)
        if all(d <= most for d, most in zip(map(int, f.degrees()), limits, strict=True))
    ]  # fmt: skip
    known = [factors[i] for i in usable] if extra else []
    weights = [_whole(w) for w in gradings(target, *known)
               if any(w[i] for i, d in enumerate(limits) if d)]  # fmt: skip
    usable = [i for i in usable if all(
        len({_weight(e, w) for e, _ in factors[i].terms()}) == 1 for w in weights)]  # fmt: skip
    start = [_weight(next(iter(target.terms()))[0], w) for w in weights]
    own = {i: [_weight(next(iter(factors[i].terms()))[0], w) for w in weights] for i in usable}
    degrees = {i: [int(d) for d in factors[i].degrees()] for i in usable}
    found: list[tuple[int, ...]] = []
    # The products of few factors first, because a sum that a person would write has few.
    level: list[tuple[tuple[int, ...], list[int], list[int]]] = [((), start, limits)]
    n_visited = 0
    while level:
        found += [chosen for chosen, rest, _ in level if not any(rest)]
        n_visited += len(level)
        if len(found) > _PRODUCTS or n_visited > _VISITED:
            break  # the next level may have millions
        level = [
            ((*chosen, i), [a - b for a, b in zip(rest, own[i], strict=True)], left)
            for chosen, rest, room in level
            for i in usable
            if not chosen or i >= chosen[-1]
            if min(left := [a - b for a, b in zip(room, degrees[i], strict=True)]) >= 0
        ]
    made: dict[tuple[int, ...], Poly] = {(): algebra.one}

    def product(chosen: tuple[int, ...]) -> Poly:
        if chosen not in made:
            made[chosen] = algebra.reduced(product(chosen[:-1]) * factors[chosen[-1]])
        return made[chosen]

    return [(tuple(c.count(i) for i in range(len(factors))), product(c)) for c in found[:_PRODUCTS]]


def _whole(weights: Sequence[Fraction]) -> list[int]:
    """The weights times a number, so that they add up fast."""
    common = math.lcm(*(w.denominator for w in weights))
    return [int(w * common) for w in weights]


def _weight(exponents: Sequence[int], weights: Sequence[_Number]) -> _Number | int:
    return sum(int(e) * w for e, w in zip(exponents, weights, strict=True) if e)


def _vertex(
    entries: Sequence[Mapping[int, flint.fmpq]], right: Mapping[int, flint.fmpq], n_rows: int
) -> list[int]:
    """The columns of a vertex of the program, with as small a sum as there is."""
    if not entries:
        raise Rejected("no product weighs as much as the claim")
    scale = [max(abs(_float(c)) for c in column.values()) for column in entries]
    triples = [
        (i, j, _float(c) / scale[j]) for j, column in enumerate(entries) for i, c in column.items()
    ]
    row, column, data = zip(*triples, strict=True)
    table = csc_matrix((data, (row, column)), shape=(n_rows, len(entries)))
    goal = np.zeros(n_rows)
    for i, c in right.items():
        goal[i] = _float(c)
    goal /= np.abs(goal).max()
    found = linprog(
        np.ones(len(entries)), A_eq=table, b_eq=goal, bounds=(0, None), method="highs-ds",
        options={"time_limit": 20.0},
    )  # fmt: skip
    if found.x is None:
        raise Rejected("no sum of products is the claim")
    return [j for j, value in enumerate(found.x) if value > 1e-9]


def _float(value: flint.fmpq) -> float:
    return int(value.p) / int(value.q)


def _solved(
    columns: Sequence[Mapping[int, flint.fmpq]], right: Mapping[int, flint.fmpq]
) -> list[flint.fmpq]:
    """The exact coefficients of some columns whose sum is the right-hand side."""
    rows = sorted({i for column in columns for i in column} | right.keys())
    if not columns:
        raise Rejected("no sum of products is the claim")
    table = flint.fmpq_mat(
        [[*(column.get(i, 0) for column in columns), right.get(i, 0)] for i in rows]
    )
    reduced, rank = table.rref()
    pivots = [next(j for j in range(table.ncols()) if reduced[i, j]) for i in range(rank)]
    if pivots and pivots[-1] == len(columns):
        raise Rejected("the products do not sum to the claim")
    values = [flint.fmpq(0)] * len(columns)
    for i, j in enumerate(pivots):
        values[j] = reduced[i, len(columns)]
    return values


def squares(algebra: Algebra, target: Poly) -> Iterator[Poly]:
    """Squares of generators without a sign, and of differences of two that weigh the same."""
    used = [g for g, d in zip(algebra.gens, target.degrees(), strict=True) if d]
    weights = gradings(target)
    yield from (x**2 for x in used if not algebra.sign(x))
    for x, y in itertools.combinations([*used, algebra.one], 2):
        pair = [next(iter(p.terms()))[0] for p in (x, y)]
        if all(_weight(pair[0], w) == _weight(pair[1], w) for w in weights):
            yield (x - y) ** 2
