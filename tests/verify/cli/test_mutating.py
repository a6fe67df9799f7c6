"""``mutate``: scores of a finished run, on a copy of its trials."""

from __future__ import annotations

import hashlib
import json

import pytest
from click.testing import CliRunner

from verify.cli.app import application

CLAIM = "ifca.cor1-burn-in"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    directory = tmp_path_factory.mktemp("mutate") / "run"
    result = CliRunner().invoke(application, ["run", CLAIM, "--output", str(directory)])
    assert result.exit_code == 0
    return directory


def test_false_statements_lose_their_support(finished):
    before = hashlib.sha256((finished / "store.sqlite").read_bytes()).hexdigest()
    result = CliRunner().invoke(application, ["mutate", str(finished), "--json"])
    found = json.loads(result.stdout)
    (claim,) = found["claims"]
    assert result.exit_code == 0
    assert claim["original"] == "SUPPORTED"
    assert found["tried"] >= 2
    assert found["caught"] == found["tried"]
    assert {j["outcome"] for j in claim["judged"]} <= {"refuted", "unsupported", "asks less"}
    assert hashlib.sha256((finished / "store.sqlite").read_bytes()).hexdigest() == before


def test_the_score_is_printed_claim_by_claim(finished):
    result = CliRunner().invoke(application, ["mutate", str(finished), CLAIM])
    assert f"{CLAIM}: SUPPORTED; caught" in result.stdout
    assert "false mutants that lost their support: " in result.stdout


def test_claims_that_the_run_has_not_decided_are_refused(finished):
    result = CliRunner().invoke(application, ["mutate", str(finished), "ifca.eq3"])
    assert result.exit_code == 3
    assert "has decided none of these claims" in result.stderr
