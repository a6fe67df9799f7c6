"""The catalogue: every statement has its claim, every id is its own."""

from dataclasses import replace

import pytest

from tests.stated import stated
from verify.evidence import Verdict
from verify.papers import Paper, catalogue

IFCA = catalogue().paper("ifca")


def test_ids_are_those_of_the_statements():
    for name, claim in catalogue().items():
        assert name == claim.id == claim.statement.id


def test_every_statement_of_the_papers_is_a_claim():
    for paper in catalogue().papers:
        assert {s.id for s in paper.statements} == set(stated(paper.id))


def test_the_expected_verdict_is_recorded_and_printed_falsehoods_are_expected_to_fall():
    for claim in catalogue().values():
        assert isinstance(claim.expected, Verdict)
        assert claim.weight > 0
        printed = claim.id.endswith("-as-printed")
        assert (claim.expected is Verdict.REFUTED) == printed, claim.id


def test_an_id_registered_twice_is_refused():
    with pytest.raises(ValueError, match=r"claim id 'ifca\.lemma1' is registered twice"):
        replace(IFCA, claims=(*IFCA.claims, IFCA.claims[0]))


def test_a_paper_with_foreign_claims_is_refused():
    with pytest.raises(ValueError, match=r"claim 'ifca\.lemma1' of paper 'toy' must have an id"):
        Paper(id="toy", title="", publications=IFCA.publications, claims=IFCA.claims)
