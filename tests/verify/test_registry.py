"""The catalogue: every statement has its claim, every id is its own."""

import pytest

from bounds.ifca import linear as ifca
from bounds.ifca import neurips as ifca_neurips
from verify import registry
from verify.evidence import Verdict
from verify.registry import catalogue


def test_ids_are_those_of_the_statements_in_the_catalogues_order():
    for name, claim in catalogue().items():
        assert name == claim.id == claim.statement.id


def test_every_statement_of_the_papers_is_a_claim():
    stated = {s.id for s in (*ifca.STATEMENTS, *ifca_neurips.STATEMENTS)}
    assert set(catalogue()) == stated


def test_the_expected_verdict_is_recorded_and_printed_falsehoods_are_expected_to_fall():
    for claim in catalogue().values():
        assert isinstance(claim.expected, Verdict)
        assert claim.weight > 0
        printed = claim.id.endswith("-as-printed")
        assert (claim.expected is Verdict.REFUTED) == printed, claim.id


def test_an_id_registered_twice_is_refused(monkeypatch):
    claims = list(catalogue().values())
    monkeypatch.setattr(registry, "ifca_claims", lambda: [*claims, claims[0]])
    registry.catalogue.cache_clear()
    try:
        with pytest.raises(ValueError, match=r"'ifca\.lemma1' is registered twice"):
            registry.catalogue()
    finally:
        registry.catalogue.cache_clear()
