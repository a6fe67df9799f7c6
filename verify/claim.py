"""A claim: a statement of a paper, the procedure that tries it, and the expected verdict."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bounds.statement import Assumption, Statement, latex
from trials.checks import InvalidParameter
from verify.evidence import Verdict
from verify.procedures.base import Procedure, Profile, tex_number


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What is claimed, how it is tried, and what is known about the outcome.

    Attributes
    ----------
    build : the pre-registered procedure for a profile: cells, budget, constants' box.
    expected : the catalogue's verdict; a statement known to be false is expected to be refuted.
    weight : share of the family-wise level, relative to the other claims of the run.
    hidden : values of the assumptions' hidden constants with which every cell meets them.
    """

    statement: Statement
    build: Callable[[Profile], Procedure]
    expected: Verdict = Verdict.SUPPORTED
    weight: float = 1.0
    hidden: Mapping[str, float] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """``paper.statement``."""
        return self.statement.id

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


@dataclass(frozen=True, kw_only=True)
class Selection:
    """A claim id with parameter values put into its cells: ``ifca.thm1[m=400,d=100]``."""

    claim: str
    values: Mapping[str, Any]

    def __str__(self) -> str:
        inside = ",".join(f"{k}={v}" for k, v in self.values.items())
        return f"{self.claim}[{inside}]" if inside else self.claim


_SELECTION = re.compile(r"^(?P<claim>[^\[\]]+)(\[(?P<values>[^\[\]]*)\])?$")


def parse_selection(text: str) -> Selection:
    """Read ``CLAIM`` or ``CLAIM[param=value,...]``; values are integers, floats or words."""
    match = _SELECTION.match(text.strip())
    if match is None:
        raise InvalidParameter(f"claim {text!r} must look like CLAIM or CLAIM[param=value,...]")
    values: dict[str, Any] = {}
    for part in filter(None, (match["values"] or "").split(",")):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not (name and equals and value):
            raise InvalidParameter(f"{part.strip()!r} in {text!r} must look like param=value")
        if name in values:
            raise InvalidParameter(f"{name} is given twice in {text!r}")
        values[name] = _number(value)
    return Selection(claim=match["claim"].strip(), values=values)


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def select(catalogue: Mapping[str, Claim], texts: Sequence[str]) -> list[tuple[Selection, Claim]]:
    """Claims named on the command line (all when none is); unknown names list the valid ones.

    A name may hold ``*`` and ``?`` wild cards; a claim that is named twice is tried once.
    """
    if not texts:
        return [(Selection(claim=name, values={}), claim) for name, claim in catalogue.items()]
    chosen = []
    for text in texts:
        selection = parse_selection(text)
        names = fnmatch.filter(catalogue, selection.claim)
        if not names:
            close = difflib.get_close_matches(selection.claim, catalogue, n=3)
            hint = f" (did you mean {' or '.join(close)}?)" if close else ""
            raise InvalidParameter(
                f"unknown claim {selection.claim!r}{hint}; known: {', '.join(catalogue)}"
            )
        chosen += [
            (Selection(claim=name, values=selection.values), catalogue[name]) for name in names
        ]
    return list({str(selection): (selection, claim) for selection, claim in chosen}.values())
