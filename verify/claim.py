"""A claim: a statement of a paper, the procedure that tries it, and the expected verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bounds.statement import Assumption, Statement, latex
from trials.checks import InvalidParameter
from verify.evidence import Verdict
from verify.procedures.base import PROFILES, Procedure, Profile, tex_number


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What is claimed, how it is tried, and what is known about the outcome.

    Attributes
    ----------
    build : the pre-registered procedure for a profile: cells, budget, constants' box.
    expected : the catalogue's verdict; a statement known to be false is expected to be refuted.
    weight : share of its paper's error level, relative to the paper's other statistical claims.
    smallest_profile : the smallest profile at which the claim is run; at smaller ones it is listed
        as not run, with ``why_not_smaller``.
    hidden : values of the assumptions' hidden constants with which every cell meets them.
    """

    statement: Statement
    build: Callable[[Profile], Procedure]
    expected: Verdict = Verdict.SUPPORTED
    weight: float = 1.0
    smallest_profile: str = "quick"
    why_not_smaller: str = ""
    hidden: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = list(PROFILES)
        if self.smallest_profile not in names:
            raise InvalidParameter(
                f"{self.id}: smallest_profile={self.smallest_profile!r} must be one of "
                f"{', '.join(names)}"
            )
        if self.smallest_profile != names[0] and not self.why_not_smaller:
            raise InvalidParameter(
                f"{self.id}: a claim that is not run below {self.smallest_profile!r} must say why "
                "(why_not_smaller)"
            )

    @property
    def id(self) -> str:
        """``paper.statement``."""
        return self.statement.id

    def not_run_at(self, profile: str) -> str:
        """Why the claim is not run at a profile; empty where it is run."""
        names = list(PROFILES)
        if names.index(profile) >= names.index(self.smallest_profile):
            return ""
        return f"not run below {self.smallest_profile}: {self.why_not_smaller}"

    def document(self, procedure: Procedure) -> dict[str, Any]:
        """The claim's static part as plain data for the store, typeset fields in LaTeX."""
        statement = self.statement
        return {
            "id": self.id,
            "title": statement.title,
            "paper": statement.paper,
            "source": statement.source,
            "kind": statement.kind,
            "quantifiers": statement.quantifiers,
            "bound_latex": statement.latex(),
            "failure_latex": statement.failure_latex(),
            "assumptions": [
                {"name": a.name, "latex": a.latex(), "note": self._note(a)}
                for a in statement.assumptions
            ],
            "constants": [
                {
                    "latex": latex(c.symbol),
                    "low": c.low,
                    "high": c.high,
                    "generous": c.generous,
                    "meaning": c.meaning,
                }
                for c in statement.constants
            ],
            "reading": statement.reading,
            "procedure": procedure.describe(),
            "expected": str(self.expected),
        }

    def _note(self, assumption: Assumption) -> str:
        """What the hidden constants of an assumption are here, and its own note."""
        symbols = assumption.left.free_symbols | assumption.right.free_symbols
        values = [
            f"${latex(symbol)}={tex_number(self.hidden[symbol.name])}$"
            for symbol in (assumption.constant, *sorted(symbols, key=str))
            if symbol is not None and symbol.name in self.hidden
        ]
        met = "in every cell with " + ", ".join(values) if values else ""
        return "; ".join(text for text in (met, assumption.note) if text)
