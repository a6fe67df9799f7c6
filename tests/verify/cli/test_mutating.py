"""``mutate``: scores of a finished run, on a copy of its trials."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from trials.run.store import RunStore
from verify.cli.app import application

CLAIM = "ifca.cor1-burn-in"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    directory = tmp_path_factory.mktemp("mutate") / "run"
    result = CliRunner().invoke(application, ["run", CLAIM, "--output", str(directory)])
    assert result.exit_code == 0
    return directory


def trials_of(run):
    with RunStore.open(run / "store.sqlite", readonly=True) as store:
        return store.verify(), store.document("claim", CLAIM)


def power_of(run):
    with RunStore.open(run / "store.sqlite", readonly=True) as store:
        return store.document("power", CLAIM)


def test_a_sample_is_stored_and_does_not_replace_the_score_of_all_mutants(finished):
    sample = ["mutate", str(finished), "--sample", "1", "--jobs", "1"]
    assert CliRunner().invoke(application, sample).exit_code == 0
    stored = power_of(finished)
    assert len(stored["judged"]) == 1 < stored["n_mutants"] == 2
    assert stored["refuted"] == ["eighth: 0.25 times as large"]
    assert CliRunner().invoke(application, ["mutate", str(finished)]).exit_code == 0
    whole = power_of(finished)
    assert (whole["n_caught"], whole["n_false"], len(whole["judged"])) == (2, 2, 2)
    assert CliRunner().invoke(application, sample).exit_code == 0
    assert power_of(finished) == whole


def test_a_sample_of_nothing_is_refused(finished):
    result = CliRunner().invoke(application, ["mutate", str(finished), "--sample", "0"])
    assert result.exit_code == 3
    assert "--sample=0 must be at least 1" in result.stderr


def test_false_statements_lose_their_support(finished):
    before = trials_of(finished)
    result = CliRunner().invoke(application, ["mutate", str(finished), "--json"])
    found = json.loads(result.stdout)
    (claim,) = found["claims"]
    assert result.exit_code == 0
    assert claim["original"] == "SUPPORTED"
    assert found["tried"] >= 2
    assert found["caught"] == found["tried"]
    assert {j["outcome"] for j in claim["judged"]} <= {"refuted", "unsupported", "asks less"}
    assert trials_of(finished) == before


def test_the_score_is_printed_claim_by_claim(finished):
    result = CliRunner().invoke(application, ["mutate", str(finished), CLAIM])
    assert f"{CLAIM}: SUPPORTED; caught" in result.stdout
    assert "false mutants that lost their support: " in result.stdout


def test_claims_that_the_run_has_not_decided_are_refused(finished):
    result = CliRunner().invoke(application, ["mutate", str(finished), "ifca.eq3"])
    assert result.exit_code == 3
    assert "has decided none of these claims" in result.stderr
