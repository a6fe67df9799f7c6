"""A claim under the checks: built once, with the questions that several checks ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, TypeAlias

from bounds.statement import Statement
from verify.claim import Claim
from verify.mutation.fingerprint import fingerprint
from verify.papers import Catalogue
from verify.procedures.base import PROFILES
from verify.procedures.interface import Procedure
from verify.procedures.rate import Rate
from verify.procedures.search import Search
from verify.procedures.threshold import Threshold

QUICK = PROFILES["quick"]


class Case:
    """A claim of a catalogue, and its procedure at the profile quick."""

    def __init__(self, found: Catalogue, name: str) -> None:
        self.catalogue = found
        self.name = name
        self.claim: Claim = found[name]
        self.statement: Statement = self.claim.statement

    @cached_property
    def built(self) -> Procedure:
        """The procedure, built when it is first asked for."""
        return self.claim.build(QUICK)

    @cached_property
    def tested(self) -> Any:
        """What the procedure tests, its fingerprint."""
        return fingerprint(self.built)

    @property
    def search(self) -> Search | None:
        """The procedure where it is a search."""
        return self.built if isinstance(self.built, Search) else None

    @property
    def reads_exponents(self) -> bool:
        """Whether the procedure compares exponents, so that a factor leaves it alone."""
        return isinstance(self.built, Rate) or (
            isinstance(self.built, Threshold) and bool(self.built.scaling)
        )


Check: TypeAlias = Callable[[Case], Iterator[str]]
