r"""Vectors and sums over families in a statement, as plain variables of `verify.proofs.checker`.

A statement may have vectors of one space of any dimension, and finite families of any number of
members.  A member has numbers and vectors of its own, of which its family's relations hold.  These
relations name nothing of another family's members, but in sums over it:

    {"variables": ["R"], "vectors": ["u"], "sums": {"F": {"variables": ["w"], "vectors": ["x"],
     "given": [[">=", "w", "0"]]}}, "given": [], "claim": [">=", LEFT, RIGHT]}

Its terms may hold ``["dot", V, W]`` and ``["sum", "F", t]``.  A vector is a name, a sum, a product
with one vector, or the sum of a vector of each member.  Products are bilinear and sums are linear.
So a term is one in the products of two vectors and in the sums of the monomials of a member, and
each of these gets a name.  A name tells what it stands for:

==============  ==================================================================================
``d__1_u_x``    the product of u and x.  The number is the length of the first name
``s__F_1_w``    the sum of w over F, ``s__F`` the number of members
``v__F_1_w__x`` the vector that is the sum of w x over F
==============  ==================================================================================

The module needs the standard library and `algebra` and `limits` of this folder only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from verify.proofs.algebra import Relation, Term, minus, names, number
from verify.proofs.limits import MONOMIAL, NODES, bound, charge, nodes, require

#: The powers and products of a member's numbers -> a term that is the same for all members.
Local = dict[tuple[str, ...], Term]
#: A vector as a sum: a basis vector's name -> its factor.
Vector = dict[str, Local]

_SIMPLE = re.compile(r"[A-Za-z][A-Za-z0-9]{0,20}")
_MOST_POWER, _MOST_SIZE = 4, 400


@dataclass(frozen=True)
class Family:
    """The numbers and the vectors of a member, and the relations between them."""

    name: str
    variables: tuple[str, ...]
    vectors: tuple[str, ...]
    given: tuple[Relation, ...]


_NONE = Family("", (), (), ())


@dataclass(frozen=True)
class Sums:
    """The vectors and the families of a statement.

    ``opened`` are families of which a member is looked at.  Inside a sum over its family a name
    stands for every member's, elsewhere for that of this one.
    """

    vectors: tuple[str, ...]
    families: Mapping[str, Family]
    opened: tuple[str, ...] = ()

    def plain(self, term: Term) -> Term:
        """A term without vectors and sums, in the names of products and sums."""
        return _small(written(self.read(term, _NONE)))

    def over(self, family: Family, term: Term) -> tuple[Term, Term]:
        """A term at one member, and its sum over the family."""
        read = self.read(term, family)
        return _small(written(read)), _small(_sum(family, read))

    def with_member(self, family: Family) -> Sums:
        """The same where a member's vectors are vectors like any other."""
        require(family.name not in self.opened, "one member of a family at a time")
        return Sums((*self.vectors, *family.vectors), self.families, (*self.opened, family.name))

    def read(self, term: Term, own: Family) -> Local:
        """A term at a member as a polynomial in what is the member's own."""
        if isinstance(term, str):
            require(not is_made(term), "a product or a sum is written out")
            return {(term,): "1"} if term in own.variables else {(): term}
        op, *parts = term
        if op == "sum":
            family, inner = self.families[parts[0]], parts[1]
            return {(): _sum(family, self.read(inner, family))}
        if op == "dot":
            u, v = (self.vector(part, own) for part in parts)
            return _added(_product(_product(u[b], v[c]), _dot(own, b, c)) for b, c in product(u, v))
        inner = parts[:1] if op == "^" else parts
        power_of = names(parts[1]) if op == "^" else set()
        require(not any(map(is_made, power_of)), "a product or a sum is written out")
        # The sum of such a power would be that of a constant.
        require(not power_of & {*own.variables, *own.vectors}, "no polynomial in a member")
        read = [self.read(part, own) for part in inner]
        if all(each.keys() == {()} for each in read):
            return {(): [op, *(each[()] for each in read), *parts[len(inner) :]]}
        if op == "+":
            return _added(read)
        power = number(parts[1]) if op == "^" else None
        require(op == "*" or power in range(1, _MOST_POWER + 1), "no polynomial in a member")
        return _times(read if power is None else read * int(power))

    def is_vector(self, term: Term, own: Family) -> bool:
        """Whether a term is a vector."""
        charge(1)
        if isinstance(term, str):
            return term in (*self.vectors, *own.vectors)
        if term[0] == "sum":
            return self.is_vector(term[2], self.families[term[1]])
        return term[0] in ("+", "*") and any(self.is_vector(part, own) for part in term[1:])

    def vector(self, term: Term, own: Family) -> Vector:
        """A vector as a sum of basis vectors."""
        require(self.is_vector(term, own), "no vector")
        if isinstance(term, str):
            return {term: {(): "1"}}
        op, *parts = term
        if op == "+":
            return _sum_of_vectors([self.vector(part, own) for part in parts])
        if op == "*":
            (along,) = (part for part in parts if self.is_vector(part, own))
            by = _times([self.read(part, own) for part in parts if part is not along])
            return {b: _product(by, each) for b, each in self.vector(along, own).items()}
        family = self.families[parts[0]]
        found: list[Vector] = []
        for b, each in self.vector(parts[1], family).items():
            for monomial, factor in each.items():
                if b in family.vectors:
                    found.append({_vector_name(family, monomial, b): {(): factor}})
                else:
                    found.append({b: {(): _sum(family, {monomial: factor})}})
        return _sum_of_vectors(found)


def sums_of(statement: Mapping[str, Any]) -> Sums | None:
    """The vectors and families of a statement, None where it has neither."""
    if not statement.keys() & {"vectors", "sums"}:
        return None
    vectors, families = tuple(statement.get("vectors", ())), {}
    for name, each in statement.get("sums", {}).items():
        given = tuple((r, minus(a, b)) for r, a, b in each.get("given", ()))
        require({r for r, _ in given} <= {">=", ">", "="}, "no relation")
        families[name] = Family(name, tuple(each["variables"]), tuple(each["vectors"]), given)
    own = [x for each in families.values() for x in (*each.variables, *each.vectors)]
    plain = [*vectors, *families, *own]
    require(all(_SIMPLE.fullmatch(x) for x in plain), "a name is not simple")
    every = [*statement["variables"], *plain]
    require(len({*every}) == len(every), "a name is used twice")
    require(not any(map(is_made, every)), "a variable has the name of a product or of a sum")
    sums = Sums(vectors, families)
    for family in families.values():
        for _, each in family.given:
            known = {*statement["variables"], *family.variables}
            unknown = {x for x in names(sums.over(family, each)[0]) if not is_made(x)} - known
            # a member of another family may be looked at later, whose number it would then be
            require(not unknown, "a member's relation has a name of no variable")
    return sums


def is_made(name: str) -> bool:
    """Whether a name is of a product or of a sum."""
    return "__" in name


def made_in(*terms: Term) -> tuple[str, ...]:
    """The names of products and sums in some terms, in alphabetical order."""
    return tuple(sorted({name for term in terms for name in names(term) if is_made(name)}))


def written(local: Local) -> Term:
    """A polynomial in a member's numbers as a term."""
    parts = [_joined("*", [factor, *monomial]) for monomial, factor in local.items()]
    return _joined("+", parts) if parts else "0"


def _joined(op: str, parts: Sequence[Term]) -> Term:
    kept = [part for part in parts if op != "*" or part != "1"] or ["1"]
    return kept[0] if len(kept) == 1 else [op, *kept]


def _added(parts: Any) -> Local:
    """The sum of polynomials."""
    found: dict[tuple[str, ...], list[Term]] = {}
    for part in parts:
        for monomial, factor in part.items():
            found.setdefault(monomial, []).append(factor)
    require(sum(map(len, found.values())) <= _MOST_SIZE, "too large")
    return {monomial: _joined("+", factors) for monomial, factors in found.items()}


def _small(term: Term) -> Term:
    """The term, whose parts are shared.  It is refused before anything goes through all of it."""
    bound("the size of a term", nodes(term), NODES)
    return term


def _product(p: Local, q: Local) -> Local:
    charge(len(p) * len(q))
    longest = max(map(len, p), default=0) + max(map(len, q), default=0)
    bound("the numbers of a member in a product", longest, MONOMIAL)
    return _added(
        {tuple(sorted((*a, *b))): _joined("*", [p[a], q[b]])} for a, b in product(p, q)
    )  # fmt: skip


def _times(parts: Sequence[Local]) -> Local:
    found: Local = {(): "1"}
    for part in parts:
        found = _product(found, part)
    return found


def _sum_of_vectors(parts: Sequence[Vector]) -> Vector:
    every = dict.fromkeys(b for part in parts for b in part)
    return {b: _added(part[b] for part in parts if b in part) for b in every}


def _pair(b: str, c: str) -> str:
    """The name of the product of two vectors."""
    first, second = sorted((b, c))
    return f"d__{len(first)}_{first}_{second}"


def _dot(own: Family, b: str, c: str) -> Local:
    is_own = b in own.vectors or c in own.vectors
    return {(_pair(b, c),): "1"} if is_own else {(): _pair(b, c)}


def _vectors_of(name: str) -> tuple[str, str] | None:
    """The two vectors of a product's name."""
    if not name.startswith("d__"):
        return None
    size, rest = name[3:].split("_", 1)
    return rest[: int(size)], rest[int(size) + 1 :]


def _listed(family: Family, monomial: Sequence[str]) -> str:
    return family.name + "".join(f"_{len(x)}_{x}" for x in monomial)


def _vector_name(family: Family, monomial: Sequence[str], x: str) -> str:
    return f"v__{_listed(family, monomial)}__{x}"


def _sum(family: Family, local: Local) -> Term:
    """The sum of a polynomial over a family.

    A product with a vector from outside the family is taken out: the sum of w (x, u) is (z, u)
    with z the sum of w x.
    """
    parts = []
    for monomial, factor in local.items():
        mixed = []
        for i, name in enumerate(monomial):
            pair = _vectors_of(name)
            if pair is not None and (pair[0] in family.vectors) != (pair[1] in family.vectors):
                mixed.append((i, pair))
        total = f"s__{_listed(family, monomial)}"
        if len(mixed) == 1:
            i, (b, c) = mixed[0]
            x, u = (b, c) if b in family.vectors else (c, b)
            total = _pair(_vector_name(family, (*monomial[:i], *monomial[i + 1 :]), x), u)
        parts.append(_joined("*", [factor, total]))
    return _joined("+", parts) if parts else "0"
