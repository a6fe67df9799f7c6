"""The conformance suite over every claim of every paper, the documentation's examples included.

A claim that passes is complete, prints, stays inside its assumptions, varies the parameters that it
names, is built the same way twice, and depends on its statement (`verify.conformance`).
"""

from __future__ import annotations

import os
import zlib
from functools import cache
from pathlib import Path

import pytest

from verify.conformance import CHECKS, Case
from verify.papers import catalogue

DOCS = Path(__file__).parents[1] / "docs"
CATALOGUE = catalogue([DOCS / "example_paper.py", *sorted((DOCS / "papers").glob("*.py"))])
every_claim = pytest.mark.parametrize("name", CATALOGUE)
#: Every claim, not the seeded share that needs trials, is decided where this is set.
WHOLE = os.environ.get("CFL_MUTATION") == "all"


@cache
def case(name):
    """A claim under the checks.  Its procedure is built once."""
    return Case(CATALOGUE, name)


#: The faults that a check finds in a claim by design, with the reason.
BY_DESIGN = {
    "it-keeps-to-the-trials-and-the-evaluations-of-its-profile": dict.fromkeys(
        (
            "ifca.eq30",
            "ifca.eq30-sharp",
            "ifca.eq32",
            "ifca.eq32-sharp",
            "ifca.thm2",
            "ifca.thm2-sharp",
            "ifca.lemma1-law",
            "ifca.oracle-mse",
        ),
        "exact laws whose probabilities take more trials than the smallest profile has",
    ),
    "another-right-hand-side-changes-the-test": {
        **dict.fromkeys(
            ("ifca.alpha-increases-as-printed", "ifca.alpha-increases"),
            "the experiment records whether an error grew",
        ),
        "ifca.near-optimal": "every cell is read after the same number of steps",
        **dict.fromkeys(
            ("sxy.prop1-rate-gap", "sxy.prop1-rate-no-gap", "sxy.prop1-gap", "sxy.prop1-gap-law"),
            "the sampled error has the factor delta^2 + sigma^2",
        ),
    },
}
#: Claims whose procedure refuses a nonsense, and why.  All others must decide it.
BY_DESIGN["nonsense-does-not-keep-the-verdict"] = {
    **BY_DESIGN["another-right-hand-side-changes-the-test"],
    **dict.fromkeys(
        ("ifca.thm1-as-printed", "ifca.thm1-factor-three-as-printed",
         "ifca.neurips-thm1-as-printed"),
        "the contraction must be a number times the error",
    ),
    **dict.fromkeys(
        ("ifca.cor2", "ifca.neurips-thm2"), "the accuracy must lie below the radius of the starts"
    ),
    "ifca.cor1-own-step": "a tiny accuracy asks for more steps than a run has",
}  # fmt: skip


#: Claims whose nonsense takes four to five CPU seconds to decide. The task mutation decides it.
DEAR = ("odcl.cc-vs-km-single-users", "odcl.thm1-threshold-km")


def in_share(name):
    """Whether a claim that draws trials is among the fifth that every test run decides.

    Claims that are too dear for the profile quick are not, nor are `DEAR` ones.
    """
    cheap = CATALOGUE[name].smallest_profile == "quick" and name not in DEAR
    return WHOLE or (cheap and zlib.crc32(name.encode()) % 5 == 0)


def is_asked(name, check):
    """Whether a check is asked of a claim here.  The dear one is, of searches and of a share."""
    dear = check == "nonsense-does-not-keep-the-verdict" and case(name).search is None
    return not dear or in_share(name)


@every_claim
def test_a_claim_is_complete(name):
    """All checks in one test, because each takes milliseconds.  A check's name says what holds."""
    for check in CHECKS:
        if check == "another-right-hand-side-changes-the-test" or not is_asked(name, check):
            continue
        found = list(CHECKS[check](case(name)))
        if name in BY_DESIGN.get(check, {}):
            assert found, f"{check}: no fault, so that the exception can go"
        else:
            assert not found, check


def test_an_exception_is_made_for_claims_and_checks_that_there_are():
    assert set(BY_DESIGN) <= set(CHECKS)
    assert [name for names in BY_DESIGN.values() for name in names if name not in CATALOGUE] == []


@every_claim
def test_another_right_hand_side_changes_the_test_or_is_refused(name):
    check = "another-right-hand-side-changes-the-test"
    found = list(CHECKS[check](case(name)))
    assert bool(found) == (name in BY_DESIGN[check]), found
    assert not any("whatever" in told for told in found), "an exception refuses, and does not pass"


def test_the_checks_of_searches_reach_many_claims():
    """A check that asks nothing of a claim would pass on a catalogue of others."""
    searches = [case(name).search for name in CATALOGUE if case(name).search is not None]
    assert len(searches) >= 200
    assert sum(search.certify is not None for search in searches) >= 40
    assert sum(search.recheck is not None for search in searches) >= 10
    assert sum(claim.statement.failure is not None for claim in CATALOGUE.values()) >= 40
    assert sum(in_share(name) and case(name).search is None for name in CATALOGUE) >= 20
