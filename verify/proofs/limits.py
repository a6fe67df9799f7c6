"""How much a certificate may ask of `verify.proofs.checker`.

A certificate may come from a stranger.  A short one could name a number that takes years to factor,
or a power with more terms than the memory holds.  So each size is compared with a limit before the
work is done, and all the work of one check is counted.

The limits are at least eight times the largest size in the certificates of the package, which
stands behind each of them, the degree excepted.  The module needs the standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

NODES = 16_000  # operations, numbers and names in a goal; 1,578
VARIABLES = 190  # of a goal; 19
TERMS = 2_500  # of a polynomial; 243
PAIRS = 22_000  # of terms in one product of two polynomials; 2,200
DEGREE = 256  # of a polynomial; 152.  It was the limit before there were others
BITS = 10_000  # of a coefficient; 60.  A number of a statement may have 300 digits, or 1,000 bits
FACTORED = 700  # terms of a polynomial that is factored; 70
PRIMES = 1_000  # small primes that are looked for in a number; the largest number has 6 bits
MONOMIAL = 40  # numbers of a member in a product of them; 3
WORK = 1_000_000  # of one check, in steps of about 5 microseconds; 95,889
FILE = 400_000  # bytes of a file; 36,722


class Rejected(ValueError):
    """The certificate does not prove the statement.  The message says why."""


class TooLarge(Rejected):
    """The check of the certificate asks for more than a limit.  The message says of which."""


def require(condition: object, message: str) -> None:
    """Raise `Rejected` unless the condition holds."""
    if not condition:
        raise Rejected(message)


def bound(what: str, size: int, most: int) -> None:
    """Raise `TooLarge` where a size is above its limit."""
    if size > most:
        raise TooLarge(f"too large: {what} is above {most:,}")


def nodes(*terms: Any) -> int:
    """How many operations, numbers and names are written in terms.

    A part that is shared is looked at once and counted as often as it is written: a few lines of
    code can make a term of 2^40 nodes out of 40 lists.
    """
    known: dict[int, int] = {}

    def counted(term: Any) -> int:
        if not isinstance(term, list | tuple):
            return 1
        if id(term) not in known:
            known[id(term)] = 1 + sum(map(counted, term[1:]))
        return known[id(term)]

    return sum(map(counted, terms))


#: The work that is left to the check that goes on.  Nothing is counted outside a check.
_LEFT: ContextVar[int | None] = ContextVar("left", default=None)


@contextmanager
def limited(work: int = WORK) -> Iterator[None]:
    """Count the work inside, and end it by `TooLarge` where there is more."""
    token = _LEFT.set(work)
    try:
        yield
    finally:
        _LEFT.reset(token)


def charge(work: int) -> None:
    """Count some work of the check that goes on."""
    left = _LEFT.get()
    if left is not None:
        if work > left:
            raise TooLarge("too large: the check is more work than any certificate needs")
        _LEFT.set(left - work)
