"""What is printed of verdicts, and the exit code, from outcomes alone."""

import itertools

import pytest

from verify.cli import exits
from verify.cli.verdicts import as_data, exit_code, fields, tally, worst_cell
from verify.evidence import Verdict
from verify.session import Outcome


def outcome(verdict="SUPPORTED", expected="SUPPORTED", error="", identity="", cells=(), mark=""):
    evidence = {
        "verdict": verdict, "summary": "", "n_trials": 7, "n_failed": 0, "level": 0.1,
        "cells": list(cells), "mark": mark, **({"error": error} if error else {}),
    }  # fmt: skip
    document = {"evidence": evidence, "identity": identity}
    return Outcome(selection=f"p.{verdict.lower()}", expected=Verdict(expected), document=document)


def cell(observed, ratio, void="", **more):
    return {"observed": observed, "ratio": ratio, "void": void, "se": None, "bound": 1.0, **more}


GOOD, OPEN = outcome(), outcome("INCONCLUSIVE")
WRONG, HOPED = outcome("REFUTED"), outcome("SUPPORTED", "INCONCLUSIVE")
FAILED = outcome("INCONCLUSIVE", "INCONCLUSIVE", error="ValueError: no (paper.py, line 12)")


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_gravest_outcome_decides_the_exit_code_in_any_order(order):
    for outcomes, code in (
        ((GOOD, GOOD, GOOD), exits.EXPECTED),
        ((GOOD, OPEN, GOOD), exits.INCONCLUSIVE),
        ((GOOD, OPEN, WRONG), exits.UNEXPECTED),
        ((GOOD, HOPED, OPEN), exits.UNEXPECTED),
        ((GOOD, FAILED, OPEN), exits.UNEXPECTED),  # an error is never as expected
    ):
        assert exit_code([outcomes[i] for i in order]) == code


def test_an_error_in_a_file_of_ones_own_is_one_of_input():
    for names, code in (
        (("paper.py",), exits.USAGE),
        (("other.py", "paper.py"), exits.USAGE),
        (("per.py",), exits.UNEXPECTED),  # no file of this name
        ((), exits.UNEXPECTED),
    ):
        assert exit_code([GOOD, FAILED, WRONG], names) == code
    assert exit_code([GOOD, WRONG], ("paper.py",)) == exits.UNEXPECTED


def test_identities_of_formulas_are_counted_apart():
    equal = outcome(identity="both sides are one formula")
    assert tally([GOOD, equal, GOOD]) == [
        "2 claims: 2 SUPPORTED; and 1 identity of formulas; all as expected"
    ]
    assert tally([equal, equal]) == ["no claim; and 2 identities of formulas; all as expected"]
    first, second = tally([WRONG, GOOD, OPEN, OPEN])
    assert first == "4 claims: 2 INCONCLUSIVE, 1 REFUTED, 1 SUPPORTED"
    assert second == "3 not as expected: p.refuted, p.inconclusive, p.inconclusive"


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([cell(1.0, 0.2), cell(3.0, 0.7), cell(2.0, 0.5)], 3.0),
        ([cell(1.0, None), cell(2.0, 0.0), cell(3.0, None)], 2.0),  # a ratio of zero is a ratio
        ([cell(1.0, 0.2), cell(5.0, 9.0, void="a placebo passes too")], 1.0),
        ([cell(None, 9.0), cell(4.0, -0.5)], 4.0),
        ([cell(None, 0.1), cell(2.0, 0.3, void="x")], None),
    ],
)
def test_the_worst_cell_is_live_observed_and_of_the_largest_ratio(cells, expected):
    made = outcome(cells=cells)
    found = worst_cell(made.document["evidence"])
    assert (None if found is None else found["observed"]) == expected
    assert as_data(made)["worst_cell"] == found
    shown = [part for part in fields(made) if part.startswith("observed")]
    assert shown == ([] if expected is None else [f"observed {expected:.3g}"])
    n_void = sum(bool(c["void"]) for c in cells)
    assert (f"void {n_void}/{len(cells)}" in fields(made)) == (n_void > 0)
