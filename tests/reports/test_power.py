"""The paragraph *Power* of a claim's page."""

from __future__ import annotations

import pytest

from reports.claim_page import power_paragraph
from reports.schema import Power, decode


def power(**changes):
    judged = [
        {"words": "floor: exponent of $d$ at most 0.25, not 0.5", "outcome": "refuted"},
        {"words": "tail: dropped", "outcome": "survived"},
        {"words": "floor: exponent of $p$ at least $-0.5$, not $-1$", "outcome": "true here"},
        {"words": "failure probability: squared", "outcome": "few trials"},
        {"words": "floor: exponent of $d$ at least 1, not 0.5", "outcome": "asks less"},
    ]
    document = {
        "judged": judged,
        "refuted": ["floor: exponent of $d$ at most 0.44, not 0.5"],
        "n_false": 2,
        "n_caught": 1,
        "n_mutants": 5,
    }
    return decode(document | changes, Power, "power")


def test_every_outcome_has_its_sentence():
    text = power_paragraph(power())
    assert "$2$ statements were made from this one" in text
    assert "and 1 of them lost their support." in text
    assert "This evidence would not support: floor: exponent of $d$ at most 0.44, not 0.5." in text
    assert "It would not have seen: tail: dropped." in text
    assert "Also true where it is tried: floor: exponent of $p$" in text
    assert "Too few trials to tell from the original: failure probability: squared." in text
    assert "sample" not in text
    assert "at least 1" not in text  # a weaker statement is no test of power


def test_a_change_that_the_evidence_leaves_open_is_not_called_refuted():
    """One that lost its support may be true: the refuted ones are counted apart."""
    judged = [
        {"words": "floor: dropped", "outcome": "refuted"},
        {"words": "tail: dropped", "outcome": "unsupported"},
        {"words": "tail: squared", "outcome": "survived"},
    ]
    counts = {"n_false": 3, "n_caught": 2, "n_refuted": 1, "n_mutants": 3}
    text = power_paragraph(power(judged=judged, refuted=["tail: dropped"], **counts))
    assert "$3$ statements were made from this one" in text
    assert "which ask for more and are not shown to be true" in text
    assert "and 2 of them lost their support, 1 by a refutation." in text
    assert "have refuted" not in text


def test_a_sample_says_that_it_is_one_and_claims_no_score():
    text = power_paragraph(power(n_mutants=9))
    assert "made from this one" not in text
    assert "This is a sample of $5$ changes out of 9." in text


def test_a_kept_change_is_called_neither_true_nor_false():
    kept = [{"words": "tail: dropped", "outcome": "kept"}]
    text = power_paragraph(power(judged=kept, refuted=[], n_mutants=1, n_false=0))
    assert "the run did not ask whether they are true: tail: dropped." in text
    assert "made from this one" not in text


@pytest.mark.parametrize("nothing", [None, power(judged=[])])
def test_a_claim_without_mutants_has_no_paragraph(nothing):
    assert power_paragraph(nothing) == ""


def test_long_lists_are_cut_and_say_so():
    text = power_paragraph(power(refuted=[f"term {i}: dropped" for i in range(11)]))
    assert "term 7: dropped; and 3 more." in text
    assert "term 8" not in text


def test_conditions_that_are_needed_are_listed_apart():
    text = power_paragraph(power(needed=["condition balance: dropped"]))
    assert "It is false with a weaker condition: condition balance: dropped." in text


def test_each_outcome_is_a_paragraph_and_a_power_is_a_formula():
    text = power_paragraph(power(refuted=["failure probability: replaced by e^-m"]))
    assert text.split("\n\n")[1] == (
        "This evidence would not support: failure probability: replaced by $e^{-m}$."
    )
    assert len(text.split("\n\n")) == 5


def test_a_whole_list_with_a_kept_change_claims_no_score():
    """All changes were decided, but nobody asked whether those that kept their support are true."""
    judged = [
        {"words": "floor: twice as large", "outcome": "refuted"},
        {"words": "tail: dropped", "outcome": "kept"},
    ]
    text = power_paragraph(power(judged=judged, n_mutants=2, n_false=1, n_caught=1))
    assert "lost their support" not in text
    assert "This is a sample of $2$ changes out of 2." in text
