"""``prove`` writes certificates, and ``check-proof`` checks those of a run."""

import json
from dataclasses import asdict
from fractions import Fraction

import pytest
from click.testing import CliRunner

from trials.run.directory import STORE_NAME
from trials.run.store import RunStore
from verify.cli import certified as certified_claims
from verify.cli import proving
from verify.cli.app import application
from verify.evidence import Verdict
from verify.papers import catalogue
from verify.procedures.base import PROFILES
from verify.proofs import shelf
from verify.proofs.checker import Rejected
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


FLOORS = """
import sympy as sp
from verify import api

x = sp.Symbol("x")
NOBODY = api.Publication(label="Nobody, 2026", bibtex="@misc{nobody, title = {Floors}}")


def of(name, left, right, assumptions=()):
    stated = api.Statement(id=f"floors.{name}", title=name, publication=NOBODY, source="nowhere",
                           kind="deterministic", quantifiers="", observed="x",
                           terms=(api.Term(name="bound", expr=right),), assumptions=assumptions)

    @api.claim(stated.id, stated)
    def tried(statement, profile):
        return api.search(statement, profile, left, {"x": api.Interval(0.0, 1.0)})

    return tried


NEVER = (api.Assumption(name="below zero", left=-1, right=x),)
CLAIMS = (of("floor", sp.floor(x), x), of("never", x + 1, x, NEVER), of("sum", x, x + 1))
PAPER = api.Paper(id="floors", title="Floors", publications=(NOBODY,), claims=CLAIMS)
"""


def test_a_statement_that_the_checker_has_no_form_of_leaves_the_others_their_proofs(tmp_path):
    """A floor ended the command, so that the claims behind it were not proved.

    Of assumptions that nothing meets a certificate was written, which proves anything.
    """
    (tmp_path / "floors.py").write_text(FLOORS)
    result = invoke("prove", "floors.*", "--claims", tmp_path / "floors.py")
    assert result.exit_code == 0
    first, never, second = result.stdout.splitlines()
    assert never.startswith("floors.never  not proved: no point of its search meets the assump")
    assert first.startswith("floors.floor  not proved: floor(x) cannot be written as an exact term")
    assert second.startswith("floors.sum  PROVED")
    assert len([*(tmp_path / "certificates").iterdir()]) == 1


@pytest.mark.parametrize(("n_proved", "whole"), [(0, False), (1, False), (2, True)])
def test_a_statement_of_two_sizes_is_proved_where_both_are(tmp_path, monkeypatch, n_proved, whole):
    sizes = [f"size{i}" for i in range(2)]
    for size in sizes[:n_proved]:
        (tmp_path / size).write_text("{}")
    proved = {size: tmp_path / size for size in sizes[:n_proved]}
    monkeypatch.setattr(proving, "propositions_of", lambda _procedure: tuple(sizes))
    monkeypatch.setattr(proving, "_unwritten", lambda _sizes: "")
    monkeypatch.setattr(proving, "prove", lambda _name, size, _shelf: proved.get(size))
    monkeypatch.setattr(proving, "stored", lambda _size, _shelves: None)
    result = invoke("prove", CLAIM, "--output", tmp_path)
    assert ("not proved: no tactic proves it" in result.stdout) is not whole
    assert ("4 bytes" in result.stdout) is whole
    (told,) = json.loads(invoke("prove", CLAIM, "--output", tmp_path, "--json").stdout)
    assert told == {"claim": CLAIM, "certificate": str(tmp_path / "size0") if whole else None}


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
NEGATION = {**COQ, "kind": "negation"}


UNKNOWN = "; its statement was not compared, as this claim is not known here"


def verdict_of(evidence):
    """The verdict that certificates show."""
    coq = evidence.get("coq", {}).get("kind") == "negation"
    return "REFUTED" if coq or evidence.keys() & {"proof", "failure"} else "SUPPORTED"


def checked(folder, evidence, *claims, name="p.a"):
    """Exit code and results of ``check-proof`` on a run of one claim with this evidence."""
    config = asdict(RunConfig(claims=(name,)))
    folder.mkdir(exist_ok=True)
    with RunStore.create(folder / STORE_NAME, root_seed=0, config=config, code={}) as store:
        told = {"summary": "", "level": 0.0, "n_trials": 0, "n_failed": 0}
        evidence = {"verdict": verdict_of(evidence), "cells": [], **told, **evidence}
        store.put_document("claim", name, {"evidence": evidence})
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
        ({"proof": {"inequalities": [THIRD]}, "coq": NEGATION}, "REFUTED, proved"),
        ({"coq": COQ}, "PROVED, recorded as compiled by Coq 8.16"),
        ({"coq": NEGATION}, "REFUTED, recorded as compiled by Coq 8.16"),
    ],
)
def test_each_kind_of_certificate_is_checked_and_named(tmp_path, evidence, shown):
    assert checked(tmp_path, evidence) == (0, [shown + UNKNOWN])


@pytest.mark.parametrize(
    ("evidence", "others"),
    [
        ({"proved": PROVED}, ["REFUTED", "VACUOUS", "INCONCLUSIVE"]),
        ({"proof": {"inequalities": [THIRD]}}, ["SUPPORTED", "INCONCLUSIVE"]),
        ({"failure": FAILURE}, ["SUPPORTED"]),
        ({"coq": COQ}, ["REFUTED"]),
        ({"coq": NEGATION}, ["SUPPORTED"]),
        ({"proved": PROVED, "failure": FAILURE}, ["SUPPORTED", "REFUTED"]),
    ],
)
def test_a_certificate_of_another_verdict_than_the_stored_one_is_rejected(
    tmp_path, evidence, others
):
    for verdict in others:
        told = {**evidence, "verdict": verdict}
        expected = (1, ["rejected: it shows another verdict than the stored one"])
        assert checked(tmp_path / verdict, told) == expected


CELLS, FAILS = "sxy.lemma11-zeta", "sxy.telescope-as-printed"


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    """What a run stores of a proved claim, of one proved cell by cell, and of a false one."""
    folder = tmp_path_factory.mktemp("certified") / "run"
    invoke("run", CLAIM, CELLS, FAILS, "--output", folder, "--executor", "serial")
    with RunStore.open(folder / STORE_NAME, readonly=True) as store:
        return {name: each["evidence"] for name, each in store.documents("claim").items()}


@pytest.mark.parametrize(
    ("name", "shown"),
    [(CLAIM, "PROVED"), (CELLS, "PROVED FOR 3 cells"), (FAILS, "REFUTED, proved")],
)
def test_the_certificates_of_a_known_claim_are_its_own(tmp_path, certified, name, shown):
    assert checked(tmp_path, certified[name], name=name) == (0, [shown])


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        (CLAIM, lambda own: {"proved": PROVED}),
        (CLAIM, lambda own: {"proved": {**own["proved"], "up_to": "all d"}}),
        (CLAIM, lambda own: {"proved": {**own["proved"], "by": "A lemma."}}),
        (CLAIM, lambda own: {"proved": {**own["proved"], "others": [own["proved"]]}}),
        (CELLS, lambda own: {"proved": {**own["proved"], "up_to": "all cells"}}),
        (CELLS, lambda own: {"proved": {**own["proved"], "others": [PROVED, PROVED]}}),
        (
            CELLS,
            lambda own: {"proved": {**own["proved"], "others": own["proved"]["others"][:1] * 2}},
        ),
        (CELLS, lambda own: {"proved": {**own["proved"], "others": [own["proved"]] * 2}}),
        (CELLS, lambda own: {"proved": PROVED}),
        (FAILS, lambda own: {"failure": FAILURE}),
        (FAILS, lambda own: {"proof": {"argument": "", "inequalities": [THIRD]}}),
        (FAILS, lambda own: {"coq": {**own["coq"], "coq": "9.9"}}),
    ],
)
def test_a_valid_certificate_of_another_statement_than_the_claims_is_rejected(
    tmp_path, certified, name, changed
):
    """Each of them passes its own check, and the run's verdict is as it shows."""
    own = certified[name]
    code, (result,) = checked(tmp_path, {**own, **changed(own)}, name=name)
    assert code == 1
    assert result.startswith("rejected: ")
    assert "statement than the claim's" in result or "is recorded of the claim" in result


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


def test_a_certificate_that_asks_for_too_much_is_rejected_in_one_line(tmp_path):
    names = [*"abcdefghij"]
    power = {"variables": names, "given": [], "claim": [">=", ["^", ["+", *names], "64"], "0"]}
    code, found = checked(tmp_path, {"proved": {**PROVED, "statement": power}})
    assert code == 1
    assert found == ["rejected: too large: the number of terms of a power is above 2,500"]


def test_a_claim_without_a_certificate_is_told_only_where_it_is_named(tmp_path):
    assert checked(tmp_path / "all", {}) == (0, [])
    result = invoke("check-proof", tmp_path / "all")  # silence would look like a check that passed
    assert (result.exit_code, result.stdout) == (0, "the run stores no certificate\n")
    assert checked(tmp_path / "one", {}, "p.a") == (1, ["the run stores no certificate"])
    result = invoke("check-proof", tmp_path / "one", "p.b")
    assert result.exit_code == 3
    assert "p.b: the run has not decided this claim" in result.stderr


@pytest.mark.parametrize("asked", ["p.a[m=5,d=10]", "p.a[d=10,m=5]", "p.a[m=5.0, d=10]"])
def test_a_claim_is_found_in_whatever_order_its_values_are_named(tmp_path, asked):
    evidence = {"proved": PROVED}
    (result,) = checked(tmp_path, evidence, asked, name="p.a[m=5,d=10]")[1]
    assert result.startswith("PROVED")
    for other in ("p.a[m=5]", "p.a[m=5,d=11]", "p.a"):
        assert f"{other}: the run has not" in invoke("check-proof", tmp_path, other).stderr


OWN = """
import sympy as sp

from verify import api

x = sp.Symbol("x")
PUB = api.Publication(label="Nobody 1900", bibtex="@misc{nobody, year = {1900}}")


def stated(name, bound):
    return api.Statement(
        id=f"mine.{name}", title="A sum", publication=PUB, source="Lemma 1", kind="deterministic",
        quantifiers=r"\\forall x", observed="x + 1/x", relation=r"\\ge",
        terms=(api.Term(name="bound", expr=bound),),
    )


@api.claim("mine.sum", stated("sum", sp.Integer(2)))
def kept(statement, profile):
    return api.search(statement, profile, x + 1 / x, {"x": api.LogInterval(1e-3, 1e6)})


@api.claim("mine.false", stated("false", sp.Integer(3)), expected=api.Verdict.REFUTED)
def broken(statement, profile):
    return api.search(statement, profile, x + 1 / x, {"x": api.LogInterval(1e-3, 1e6)})


PAPER = api.Paper(id="mine", title="Mine", publications=(PUB,), claims=(kept, broken))
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A paper in a file, whose folder of certificates is forgotten after the test."""
    monkeypatch.setattr(shelf, "_OWN", {})
    path = tmp_path / "mine.py"
    path.write_text(OWN)
    return path


@pytest.mark.parametrize(
    "point",
    [{}, {"n": "many"}, {"n": 0}, {"n": -1, "d": -1, "a": 0, "s": 0}, {"n": 1e300}, [], None],
)
def test_a_counterexample_of_a_strangers_run_may_be_anything(point):
    """Its certificate is made anew at the point, and none is made of a point out of the domain."""
    planned = certified_claims.planned_of(catalogue(), "odcl.eq8-as-printed", "quick")
    evidence = {"proof": {"argument": "", "inequalities": [THIRD]}, "witness": {"params": point}}
    with pytest.raises(Rejected, match=r"another statement|no point of the claim's domain"):
        certified_claims.compare(planned, evidence)


def test_a_false_statement_gets_values_and_json_names_the_files(own):
    result = invoke("prove", "mine.*", "--claims", own, "--json")
    assert result.exit_code == 0
    kept, broken = json.loads(result.stdout)
    folder = own.parent / "certificates"
    assert kept == {"claim": "mine.sum", "certificate": str(*folder.glob("*.json"))}
    assert broken["certificate"] == str(folder / "failures" / "mine.false.json")
    values = json.loads((folder / "failures" / "mine.false.json").read_text())["values"]
    x = Fraction(values["x"])
    assert x + 1 / x < 3
    assert "fails: mine.false.json" in invoke("prove", "mine.false", "--claims", own).stdout
    assert "mine.sum  PROVED" in invoke("prove", "mine.sum", "--claims", own).stdout


@pytest.mark.parametrize("more", [["--format", "smt2"], ["--format", "coq"]])
def test_a_damaged_certificate_of_ones_own_is_no_fault_of_the_program(own, more):
    invoke("prove", "mine.sum", "--claims", own)
    (path,) = (own.parent / "certificates").glob("*.json")
    path.write_text("{")
    result = invoke("prove", "mine.sum", "--claims", own, *more, "--output", own.parent / "coq")
    assert result.exit_code == 3
    assert result.stderr.startswith(f"error: {path} holds no certificate: ")
    assert "internal" not in result.stderr


def test_what_has_no_proof_is_listed_with_the_reason_until_it_has_one(own):
    """A false statement has none to look for."""
    listed = ("list", "mine.*", "--claims", own, "--unproved")
    result = invoke(*listed)
    assert result.exit_code == 0
    told = [line.split(maxsplit=1) for line in result.stdout.splitlines()]
    why = "the prover has found no certificate"
    assert told == [["claim", "unproved"], ["mine.sum", why]]
    (entry,) = json.loads(invoke(*listed, "--json").stdout)
    assert (entry["id"], entry["unproved"]) == ("mine.sum", why)
    invoke("prove", "mine.sum", "--claims", own)
    assert json.loads(invoke(*listed, "--json").stdout) == []


def test_theorems_are_written_for_coq_with_the_libraries_that_they_need(own):
    folder = own.parent / "coq"
    result = invoke("prove", "mine.sum", "--claims", own, "--format", "coq", "--output", folder)
    assert result.exit_code == 0
    first, *others = result.stdout.splitlines()
    assert first == f"mine.sum  {folder / 'mine_sum.v'}  inequality (signs), not compiled yet"
    text = (folder / "mine_sum.v").read_text()
    assert "forall x : R,\n  0 < x ->\n  2 <= x + / x.\nProof." in text
    assert others == [f"compile first: coqc -R {folder} CFL {folder / name}.v"
                      for name in ("CFL", "Analysis")]  # fmt: skip


def test_a_statement_for_each_size_is_printed_size_by_size():
    name, claim = next(
        (n, c) for n, c in catalogue().items()
        if getattr(c.build(PROFILES["quick"]), "instances", ()) and c.expected is Verdict.SUPPORTED
    )  # fmt: skip
    result = invoke("prove", name, "--format", "smt2")
    assert result.exit_code == 0
    assert result.stdout.count(f"; {name}\n") == len(claim.build(PROFILES["quick"]).instances)


def comment_of(script):
    """The comment of a script as one line."""
    lines = script.splitlines()
    return " ".join(line.removeprefix("; ") for line in lines if line.startswith("; "))


def test_a_script_tells_what_a_solver_does_not_confirm():
    """That Cauchy and Schwarz hold for products, or that an input has the quantities."""
    script = invoke("prove", "odcl.eq24", "--format", "smt2").stdout
    products = [line for line in script.splitlines() if line.startswith("(declare-const d__")]
    assert products  # what is given of them is no part of the registered statement
    assert "is shown by the certificate, which the suite's checker verifies." in comment_of(script)
    told = comment_of(invoke("prove", "odcl.lemma11-curvature", "--format", "smt2").stdout)
    assert "Outside the statement: On $E$ the empirical Hessian" in told
    assert "Weyl's inequality" in told
    assert comment_of(invoke("prove", "sxy.eq35", "--format", "smt2").stdout) == "sxy.eq35"


def test_a_statement_is_printed_for_a_solver():
    result = invoke("prove", CLAIM, "--format", "smt2")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"; {CLAIM}\n(set-logic QF_NRA)")
    assert result.stdout.endswith("(check-sat)\n")
    result = invoke("prove", "odcl.lemma2-one", "--format", "smt2")
    assert result.exit_code == 3
    assert "its two sides are not formulas" in result.stderr
