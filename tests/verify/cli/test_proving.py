"""``prove`` writes certificates, and ``check-proof`` checks those of a run."""

import json
from dataclasses import asdict

import pytest
from click.testing import CliRunner

from trials.run.directory import STORE_NAME
from trials.run.store import RunStore
from verify.cli.app import application
from verify.session import RunConfig

CLAIM = "odcl.remark19-own"


def invoke(*arguments):
    return CliRunner().invoke(application, [str(a) for a in arguments])


def test_a_certificate_is_found_and_one_line_says_why_another_is_not(tmp_path):
    result = invoke("prove", CLAIM, "odcl.lemma2-one", "--output", tmp_path)
    assert result.exit_code == 0
    assert "PROVED" in result.stdout
    assert "not proved: its two sides are not formulas" in result.stdout
    (path,) = tmp_path.glob("*.json")
    assert json.loads(path.read_text())["claim"] == CLAIM


def test_a_run_stores_the_certificate_and_checks_it_again(tmp_path):
    result = invoke("run", CLAIM, "--output", tmp_path / "run", "--executor", "serial")
    assert "PROVED" in result.stdout
    result = invoke("check-proof", tmp_path / "run", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == [{"claim": CLAIM, "result": "PROVED"}]


X = {"variables": ["x"], "given": [[">=", "x", "0"]], "claim": [">=", "x", "0"]}
FALSE = {**X, "claim": [">=", "x", "1"]}
SUM = {"step": "sum"}
PROVED = {"statement": X, "certificate": SUM, "narrowed": [], "by": ""}
THIRD = {"says": "it is PROVED, proved", "left": "1/3", "relation": "<", "right": "1/2"}
FAILURE = {"statement": FALSE, "values": {"x": "0"}, "by": ""}
COQ = {"coq": "8.16", "narrowed": [], "by": "", "kind": "theorem", "axioms": []}


def checked(folder, evidence, *claims):
    """Exit code and results of ``check-proof`` on a run of one claim with this evidence."""
    config = asdict(RunConfig(claims=("p.a",)))
    with RunStore.create(folder / STORE_NAME, root_seed=0, config=config, code={}) as store:
        evidence = {"verdict": "SUPPORTED", "cells": [], **evidence}
        store.put_document("claim", "p.a", {"evidence": evidence})
    result = invoke("check-proof", folder, *claims, "--json")
    return result.exit_code, [each["result"] for each in json.loads(result.stdout)]


@pytest.mark.parametrize(
    ("evidence", "shown"),
    [
        ({"proved": PROVED}, "PROVED"),
        ({"proved": {**PROVED, "by": "A lemma."}}, "PROVED UP TO A LEMMA"),
        ({"proved": {**PROVED, "others": [PROVED, PROVED]}}, "PROVED"),
        ({"proof": {"inequalities": [THIRD]}}, "REFUTED, proved"),
        ({"failure": FAILURE}, "REFUTED, proved"),
        ({"proof": {"inequalities": [THIRD]}, "coq": COQ}, "REFUTED, proved"),
        ({"coq": COQ}, "PROVED, recorded as compiled by Coq 8.16"),
        ({"coq": {**COQ, "kind": "negation"}}, "REFUTED, recorded as compiled by Coq 8.16"),
    ],
)
def test_each_kind_of_certificate_is_checked_and_named(tmp_path, evidence, shown):
    assert checked(tmp_path, evidence) == (0, [shown])


@pytest.mark.parametrize(
    "evidence",
    [
        {"proved": {**PROVED, "statement": FALSE}},
        {"proved": {**PROVED, "certificate": {"step": "PROVED"}}},
        {"proved": {**PROVED, "others": [PROVED, {**PROVED, "statement": FALSE}]}},
        {"proved": PROVED, "proof": {"inequalities": [{**THIRD, "relation": ">"}]}},
        {"proof": {"inequalities": [THIRD, {**THIRD, "right": "1/3"}]}},
        {"proof": {"inequalities": []}, "coq": COQ},
        {"failure": {**FAILURE, "statement": X}},
        {"failure": {**FAILURE, "values": {"x": "1"}}},
        {"proof": {"inequalities": [THIRD]}, "failure": {**FAILURE, "values": {"x": "-1"}}},
        {"proved": {"narrowed": []}},
        {"failure": {"values": {}}},
        {"proved": [X]},
    ],
)
def test_a_certificate_that_shows_nothing_is_rejected_whatever_words_it_holds(tmp_path, evidence):
    code, (result,) = checked(tmp_path, evidence)
    assert code == 1
    assert result.startswith("rejected: ")


def test_a_claim_without_a_certificate_is_told_only_where_it_is_named(tmp_path):
    assert checked(tmp_path / "all", {}) == (0, [])
    assert checked(tmp_path / "one", {}, "p.a") == (1, ["the run stores no certificate"])
    result = invoke("check-proof", tmp_path / "one", "p.b")
    assert result.exit_code == 3
    assert "p.b: the run has not decided this claim" in result.stderr


def test_a_statement_is_printed_for_a_solver():
    result = invoke("prove", CLAIM, "--format", "smt2")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"; {CLAIM}\n(set-logic QF_NRA)")
    assert result.stdout.endswith("(check-sat)\n")
    result = invoke("prove", "odcl.lemma2-one", "--format", "smt2")
    assert result.exit_code == 3
    assert "its two sides are not formulas" in result.stderr
