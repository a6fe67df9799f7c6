"""Certificates: inequalities that interval arithmetic proves, and the check of a stored one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import flint

from trials.checks import InvalidParameter
from verify.proofs.terms import Term, enclose

PRECISIONS = (64, 128, 256, 512, 1024, 4096)


class NotProved(ValueError):
    """Interval arithmetic does not prove an inequality.  The message names it."""


@dataclass(frozen=True, kw_only=True)
class Inequality:
    """``left relation right``, in words and as exact terms."""

    says: str
    left: Term
    relation: Literal["<", ">"]
    right: Term


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """A proof that a statement fails.

    Attributes
    ----------
    argument : why the inequalities contradict the statement, in sentences with inline math.
    inequalities : the inequalities of the argument.  Each is proved by enclosing both sides.
    """

    argument: str
    inequalities: tuple[Inequality, ...]

    def as_dict(self) -> dict[str, Any]:
        """The certificate as JSON-ready data."""
        return asdict(self)


def certificate(argument: str, inequalities: Iterable[Inequality]) -> Certificate:
    """A certificate whose inequalities have been proved.

    Raises
    ------
    NotProved
        When an inequality is false, or stays undecided at the highest precision.
    """
    made = Certificate(argument=argument, inequalities=tuple(inequalities))
    if not made.inequalities:
        raise NotProved("a certificate must hold an inequality")
    for inequality in made.inequalities:
        if not proved(inequality.left, inequality.relation, inequality.right):
            raise NotProved(f"interval arithmetic does not prove: {inequality.says}")
    return made


def proof(certify: Callable[[], Certificate] | None) -> dict[str, Any] | None:
    """The certificate that ``certify`` makes, as plain data, None where it proves nothing."""
    if certify is None:
        return None
    try:
        return certify().as_dict()
    except NotProved:
        return None


def proved(left: Term, relation: str, right: Term) -> bool:
    """Whether the enclosures of both sides lie apart, at some precision, in the stated order."""
    before = flint.ctx.prec
    try:
        for flint.ctx.prec in PRECISIONS:
            a, b = enclose(left), enclose(right)
            if (relation == "<" and a < b) or (relation == ">" and a > b):
                return True
            if a < b or a > b:
                return False
    finally:
        flint.ctx.prec = before
    return False


def check(document: Mapping[str, Any]) -> Sequence[str]:
    """Check a stored certificate again and return the proved inequalities as sentences.

    Raises
    ------
    NotProved
        When the document is not a certificate, or an inequality is not proved.

    Examples
    --------
    >>> made = certificate("Half is more.", [Inequality(
    ...     says="1/2 exceeds 1/3", left="1/2", relation=">", right="1/3")])
    >>> check(made.as_dict())
    ['1/2 exceeds 1/3']
    """
    shown = []
    try:
        for item in document["inequalities"]:
            says, left, relation, right = (item[k] for k in ("says", "left", "relation", "right"))
            if not proved(left, relation, right):
                raise NotProved(f"interval arithmetic does not prove: {str(says)[:200]}")
            shown.append(str(says))
    except (KeyError, TypeError, ValueError, ZeroDivisionError, InvalidParameter) as error:
        if isinstance(error, NotProved):
            raise
        raise NotProved(f"the document is no certificate: {str(error)[:200]}") from None
    if not shown:
        raise NotProved("a certificate must hold an inequality")
    return shown
