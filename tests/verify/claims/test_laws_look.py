"""An exact law that supports a claim looks at the stated bound.

The probability that a bound is exceeded depends on the bound.  A law that does not look at it
would support every changed statement in the same cells.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from trials.checks import InvalidParameter
from verify.evidence import Verdict
from verify.papers import catalogue
from verify.procedures.base import PROFILES
from verify.procedures.probability import Probability

#: A bound that is so many times stricter is false wherever it says anything.
STRICTER = 1e-12

#: A law is one function for all cells, and that of a whole run takes 40 ms: one cell of so many.
FEW = 4

#: A claim that refuses such a bound: its experiment records nothing but whether an error grew.
REFUSED = {"ifca.alpha-increases"}


def supported_by_laws() -> list[str]:
    names = []
    for name, claim in catalogue().items():
        if claim.expected is Verdict.SUPPORTED and not claim.not_run_at("quick"):
            procedure = claim.build(PROFILES["quick"])
            if isinstance(procedure, Probability) and claim.statement.relation in (r"\le", r"\ge"):
                names.append(name)
    return names


def laws(name: str, factor: float) -> tuple[list[float], list[float]]:
    """Logs of the limits and of the stated probabilities below one, in some of the cells."""
    claim = catalogue()[name]
    terms = tuple(replace(t, expr=factor * t.expr) for t in claim.statement.terms)
    changed = replace(claim, statement=replace(claim.statement, terms=terms))
    procedure = changed.build(PROFILES["quick"])
    assert isinstance(procedure, Probability)
    with np.errstate(all="ignore"):
        stated = [(cell, procedure._log_delta(cell)) for cell in procedure.cells]
        stated = [(cell, delta) for cell, delta in stated if delta < 0]
        found = [(procedure._log_limit(cell), delta) for cell, delta in stated[::FEW]]
    return [limit for limit, _ in found], [delta for _, delta in found]


def laws_of_a_stricter_bound(name: str) -> tuple[list[float], list[float]]:
    at_most = catalogue()[name].statement.relation == r"\le"
    return laws(name, STRICTER if at_most else 1 / STRICTER)


def law_supports_a_stricter_bound(name: str) -> bool:
    limits, deltas = laws_of_a_stricter_bound(name)
    return any(limit <= delta for limit, delta in zip(limits, deltas, strict=True))


def test_no_law_supports_a_bound_that_is_far_stricter():
    """One test of all, because a list of them would build every claim while tests are collected."""
    names = [name for name in supported_by_laws() if name not in REFUSED]
    assert len(names) >= 40
    assert [name for name in names if law_supports_a_stricter_bound(name)] == []


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_bound_that_leaves_the_claim_is_refused(name):
    with pytest.raises(InvalidParameter):
        laws_of_a_stricter_bound(name)
