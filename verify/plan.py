"""The plan of a run: the selected claims with their procedures, built and checked.

All bad input is refused here, before a run directory exists.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from numbers import Real
from typing import Any

from bounds.statement import OutsideTheorem
from trials.checks import InvalidParameter
from trials.run.engine import Demand
from verify.claim import Claim
from verify.decisions.domain import Box, as_domain
from verify.evidence import Evidence, with_failure, with_record
from verify.papers import Catalogue
from verify.procedures.base import DroppedCell, Profile, Trials, dropped_cells
from verify.procedures.interface import Procedure
from verify.procedures.placebos import Occurs, Placebo, decide, demands
from verify.proofs.algebra import number
from verify.proofs.coq.asked import recorded
from verify.proofs.failures import shown
from verify.proofs.propositions import decimal
from verify.selection import Selection, select


class LackingSymbol(InvalidParameter):
    """A claim's own cells give no value to a symbol of its statement.  No wild card passes it."""


@dataclass(frozen=True, kw_only=True)
class OwnValues:
    """The effect of a user's own values on a claim's procedure.

    Attributes
    ----------
    dropped : pre-registered cells that leave the theorem at these values, with the reason of each.
    weaker : the parts that are no longer tested, one phrase each, empty when all remain.
    """

    dropped: tuple[DroppedCell, ...] = ()
    weaker: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """Plain data for the run's store."""
        return {
            "dropped": [{"params": dict(c.params), "reason": c.reason} for c in self.dropped],
            "weaker": list(self.weaker),
        }


@dataclass(frozen=True, kw_only=True)
class Planned:
    """One claim of a run, ready to be tried."""

    selection: Selection
    claim: Claim
    procedure: Procedure
    own_values: OwnValues | None = None
    placebos: tuple[Placebo | Occurs, ...] = ()

    def demands(self, store: Trials, level: float) -> list[Demand]:
        """The trials that are still missing, those of placebos included."""
        return demands(self.procedure, self.placebos, store, level)

    def decide(self, store: Trials, level: float) -> Evidence:
        """The verdict, over the cells that no placebo passes, with what checkers verified."""
        found = decide(self.procedure, self.placebos, store, level)
        failure = shown(self.procedure, self.claim)
        record = recorded(self.procedure, self.claim)
        chosen = self.selection.values
        if chosen and failure is not None and not _is_at(failure["values"], chosen):
            failure = None
        if chosen and record is not None and record["kind"] == "negation":
            record = None  # the statement fails somewhere, perhaps at other values
        return with_record(with_failure(found, failure), record)


def _is_at(failing: Mapping[str, Any], chosen: Mapping[str, Any]) -> bool:
    """Whether the values at which a statement fails are the user's, for each that the user gave."""
    return all(
        isinstance(value, Real)
        and math.isfinite(value)
        and number(failing.get(name)) == Fraction(decimal(value))
        for name, value in chosen.items()
    )


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The claims of a run, and those that were named but are not tried, each with the reason.

    Attributes
    ----------
    skipped : claims that a wild card named but that lack a parameter.
    not_run : claims that are not run at a profile as small as this one.
    """

    claims: tuple[Planned, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)
    not_run: Mapping[str, str] = field(default_factory=dict)


def plan(catalogue: Mapping[str, Claim], texts: Sequence[str], profile: Profile) -> Plan:
    """Build every selected claim's procedure and check all of its parameters.

    A wild card (``ifca.*[alpha=0.4]``) passes over the claims that have no such parameter, or for
    which it cannot have this value.

    Raises
    ------
    InvalidParameter, OutsideTheorem
        For an unknown claim, an unknown parameter, values at which nothing can be tried, or when
        every claim named needs a larger profile.
    """
    planned, skipped, not_run = [], {}, {}
    lacking: InvalidParameter | OutsideTheorem | None = None
    for selection, claim in select(catalogue, texts):
        if reason := claim.not_run_at(profile.name):
            not_run[str(selection)] = reason
            continue
        try:
            found = _plan(selection, claim.at(profile.name), profile)
            if isinstance(catalogue, Catalogue):
                found = replace(found, placebos=catalogue.placebos_of(claim.id))
            planned.append(found)
        except (InvalidParameter, OutsideTheorem) as error:
            if not selection.wild or isinstance(error, LackingSymbol):
                raise
            lacking = lacking or error
            skipped[selection.claim] = str(error)
    if lacking is not None and not planned:
        raise lacking
    if not_run and not planned:
        name, reason = next(iter(not_run.items()))
        raise InvalidParameter(f"{name}: {reason}; choose a larger --profile")
    return Plan(claims=tuple(planned), skipped=skipped, not_run=not_run)


def _plan(selection: Selection, claim: Claim, profile: Profile) -> Planned:
    procedure = claim.build(profile)
    if not selection.values:
        try:
            procedure.check()
        except KeyError as error:
            told = str(error.args[0]) if error.args else ""
            if not told.startswith("no value for "):  # not of a formula: exits names the line
                raise
            raise LackingSymbol(
                f"{selection}: the claim's statement has {told}; name the symbol in every cell, or "
                "leave it out of the statement"
            ) from None
        return Planned(selection=selection, claim=claim, procedure=procedure)
    try:
        with dropped_cells() as dropped:
            changed = procedure.override(selection.values)
            changed.check()
            claim.document(changed)  # a value that cannot be typeset is refused now, too
    except (InvalidParameter, OutsideTheorem, MemoryError):
        raise
    except (ArithmeticError, ValueError, TypeError, LookupError, RecursionError) as error:
        # The value reached a formula that it breaks: 1/alpha at alpha=0, an integer beyond floats.
        raise InvalidParameter(
            f"{selection}: cannot be tried at these values ({type(error).__name__}: {error})"
        ) from error
    own = OwnValues(dropped=tuple(dropped), weaker=weaker(procedure, changed))
    return Planned(selection=selection, claim=claim, procedure=changed, own_values=own)


def weaker(before: Any, after: Any) -> tuple[str, ...]:
    """The parts that a procedure at the user's values no longer tries, in short phrases."""
    lost = []
    cells_before, cells_after = len(before.every_cell()), len(after.every_cell())
    if cells_after < cells_before:
        lost.append(f"{cells_after} of {cells_before} cells")
    if getattr(before, "drift", None) and not getattr(after, "drift", None):
        lost.append("no test of drift")
    stated, left = getattr(before, "stated", None), getattr(after, "stated", None)
    if isinstance(stated, Mapping) and isinstance(left, Mapping) and len(left) < len(stated):
        lost.append("no exponent of " + ", ".join(sorted(set(stated) - set(left))))
    grown, kept = getattr(before, "scaling", ()), getattr(after, "scaling", ())
    if fewer := sorted(set(grown) - set(kept)):
        lost.append("no growth with " + ", ".join(fewer))
    domain, rest = getattr(before, "domain", None), getattr(after, "domain", None)
    if domain is not None and rest is not None:
        parts = as_domain(domain), as_domain(rest)
        if all(isinstance(part, Box) for part in parts):
            ranges = [dict(part.ranges) for part in parts if isinstance(part, Box)]
            fixed = sorted(name for name in ranges[0] if ranges[0][name] != ranges[1][name])
            lost += ["a search with " + ", ".join(fixed) + " held fixed"] if fixed else []
    return tuple(lost)
