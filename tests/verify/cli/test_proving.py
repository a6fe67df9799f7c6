"""``prove`` writes certificates, and ``check-proof`` checks those of a run."""

import json

from click.testing import CliRunner

from verify.cli.app import application

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


def test_a_statement_is_printed_for_a_solver():
    result = invoke("prove", CLAIM, "--format", "smt2")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"; {CLAIM}\n(set-logic QF_NRA)")
    assert result.stdout.endswith("(check-sat)\n")
    result = invoke("prove", "odcl.lemma2-one", "--format", "smt2")
    assert result.exit_code == 3
    assert "its two sides are not formulas" in result.stderr
