"""Each supported claim without a proof says why, and no proved claim does."""

from pathlib import Path

from verify.evidence import Verdict
from verify.papers import catalogue
from verify.proofs.unproved import KINDS, REASONS, is_proved, reason, table


def test_exactly_the_supported_claims_without_a_proof_have_a_reason():
    claims = catalogue()
    searched = {name: is_proved(claim) for name, claim in claims.items()
                if claim.expected is Verdict.SUPPORTED}  # fmt: skip
    assert {name for name, proved in searched.items() if proved is False} == set(REASONS)
    assert sum(proved is True for proved in searched.values()) >= 130
    page = Path("docs/proofs.md").read_text(encoding="utf-8")
    shown = table({name: claims[name] for name in REASONS})
    assert shown in page, "cfl-verify list --unproved has changed: put the table of it in the page"


def test_every_kind_of_reason_is_used_and_a_proved_claim_has_none():
    assert {kind for kind, _ in REASONS.values()} == set(KINDS)
    claims = catalogue()
    assert reason(claims["sxy.eq35"]) == ""
    assert reason(claims["sxy.eq35"]) == reason(claims["ifca.eq2-as-printed"])
    assert reason(claims["sxy.eq16"]).startswith("each wrong label is marked")
