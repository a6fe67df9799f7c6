"""Theorems for Coq are the registered statements, and Coq refuses what is false."""

import shutil
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import pytest
import sympy as sp

from bounds.statement import Term
from trials.checks import InvalidParameter
from verify.evidence import Evidence, Verdict, with_record
from verify.papers import catalogue
from verify.plan import plan
from verify.procedures.base import PROFILES
from verify.proofs.coq import asked, records, scripts, theorems
from verify.proofs.coq.compiler import AXIOMS, Coq, axioms_of, refuse_commands
from verify.proofs.coq.gallina import definedness, relation, text_of
from verify.proofs.coq.theorems import Theorem

needs_coq = pytest.mark.skipif(
    shutil.which("coqc") is None, reason="coqc is not on the path (apt-get install coq)"
)


@cache
def planned(name):
    """A claim with its procedure at the quick profile."""
    return plan(catalogue([]), [name], PROFILES["quick"]).claims[0]


def theorems_of(name, statement=None):
    """What Coq is asked about a claim, or about the claim with another statement."""
    claim = planned(name).claim
    claim = claim if statement is None else replace(claim, statement=statement)
    return list(asked.of(claim.build(PROFILES["quick"]), claim, {}))


def changed(name, by):
    """A claim's statement with its right-hand side times a factor."""
    statement = planned(name).claim.statement
    terms = tuple(Term(name=t.name, expr=t.expr * by) for t in statement.terms)
    return replace(statement, terms=terms)


# -- Terms and statements --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (["^", "x", "-1/2"], "/ sqrt x"),
        (["^", ["+", "x", "1"], "3/2"], "sqrt (x + 1) ^ 3"),
        (["^", "x", "2/5"], "Rpower x (2 / 5)"),
        (["*", "-1", "x", ["^", "y", "-1"]], "- x / y"),
        (["+", "x", ["*", "-2", "y"]], "x - (2 * y)"),
        (["*", "x", ["+", "1", ["*", "-1", "y"]]], "x * (1 - y)"),
        (["log", ["*", "2", "R"]], "ln (2 * R_)"),
        (["max", "x", ["^", "y", "2"]], "Rmax x (y ^ 2)"),
        (["^", ["*", "-1", "x"], "2"], "(- x) ^ 2"),
        (["*", ["^", "x", "-2"], ["^", "y", "-1"]], "1 / x ^ 2 / y"),
    ],
)
def test_terms_are_written_as_a_person_writes_them(term, text):
    assert text_of(term) == text


def test_the_larger_side_stands_on_the_right():
    assert relation([">=", "x", "0"]) == "0 <= x"
    assert relation([">", "0", "x"]) == "x < 0"
    assert relation(["=", "x", "y"]) == "x = y"


def test_what_coq_defines_at_every_number_is_stated_where_the_paper_divides():
    term = ["*", ["log", "x"], ["^", ["+", "y", "1"], "-1"], ["^", "z", "1/2"], ["^", "w", "1/3"]]
    assert definedness(term) == ["0 < x", "y + 1 <> 0", "0 <= z", "0 < w"]


def test_the_theorem_is_the_registered_statement_with_its_domain():
    (first, *_) = theorems_of("sxy.eq35")
    assert first.theorem.kind == "inequality"
    assert first.theorem.text.splitlines()[0] == "  forall Delta alpha beta epsilon : R,"
    assert "  epsilon <= 1 / 3 * Delta * sqrt (alpha / beta) ->" in first.theorem.text.splitlines()
    assert first.theorem.text.endswith(
        "1 / 3 * alpha * Delta ^ 2 <= alpha * (Delta - epsilon) ^ 2 - (beta * epsilon ^ 2)"
    )
    assert "Proposition" not in first.theorem.text
    assert "sxy.eq35" in first.document("certificate").splitlines()[0]


@pytest.mark.parametrize(
    "name", ["sxy.eq35", "ifca.eq27", "odcl.cc-vs-km", "ifca.thm2-contraction"]
)
def test_another_statement_is_another_theorem_without_a_record(name):
    own, other = (theorems_of(name, s) for s in (None, changed(name, sp.Rational(11, 10))))
    assert records.recorded(own[0].theorem) is not None
    assert own[0].theorem.text != other[0].theorem.text
    assert all(records.recorded(each.theorem) is None for each in other)
    claim = replace(planned(name).claim, statement=changed(name, sp.Rational(11, 10)))
    assert asked.recorded(claim.build(PROFILES["quick"]), claim) is None


def test_the_comment_names_the_hypotheses_that_the_argument_gives():
    text = " ".join(theorems_of("odcl.remark14")[0].document("certificate").split())
    assert "It uses the triangle inequality" in text
    assert "It gives these hypotheses: distance <= 2 * R_." in text
    assert "hypotheses" not in theorems_of("sxy.eq35")[0].document("certificate")


@pytest.mark.parametrize("name", ["ifca.more-general-as-printed", "ifca.eq2-as-printed"])
def test_a_false_statement_is_negated_with_rational_values(name):
    (first,) = theorems_of(name)
    assert first.theorem.kind == "negation"
    assert first.theorem.text.lstrip().startswith("exists ")
    for value in first.witness.values():
        sp.Rational(value)
    claim = planned(name).claim
    record = asked.recorded(claim.build(PROFILES["quick"]), claim)
    assert record is not None
    assert record["kind"] == "negation"
    other = replace(claim, statement=changed(name, sp.Rational(11, 10)))
    assert asked.recorded(other.build(PROFILES["quick"]), other) is None


# -- Records ---------------------------------------------------------------------------------------


def test_every_record_rests_on_the_axioms_of_the_reals_only():
    found = list(records.every())
    assert len(found) >= 60
    for path, document in found:
        assert set(document["axioms"]) <= AXIOMS
        assert path.stem == document["theorem"][:20]
        assert document["way"]


def test_a_record_with_another_axiom_or_of_another_theorem_is_refused(tmp_path):
    theorem = Theorem(kind="identity", text="  1 = 1", about="toy.one")
    fields = {"way": "nra", "registered": "", "by": "", "coq": "8.16.1"}
    path = records.write("toy.one", theorem, {**fields, "axioms": ["Mine.false"]}, tmp_path)
    with pytest.raises(InvalidParameter, match=r"Mine\.false"):
        records.recorded(theorem, tmp_path)
    path.write_text(path.read_text().replace(records.digest(theorem), "0" * 64))
    with pytest.raises(InvalidParameter, match="another theorem"):
        records.recorded(theorem, tmp_path)
    assert records.recorded(replace(theorem, text="  1 = 2"), tmp_path) is None


@pytest.mark.parametrize(
    ("verdict", "kind", "mark", "grade"),
    [
        (Verdict.SUPPORTED, "inequality", "PROVED", "checked by Coq 8.16.1"),
        (Verdict.REFUTED, "negation", "REFUTED", "proved, checked by Coq 8.16.1"),
        (Verdict.REFUTED, "inequality", "REFUTED", "in double precision"),
        (Verdict.SUPPORTED, "negation", "SUPPORTED", ""),
        (Verdict.INCONCLUSIVE, "inequality", "INCONCLUSIVE", ""),
    ],
)
def test_a_record_counts_for_the_verdict_that_it_proves(verdict, kind, mark, grade):
    record = {"kind": kind, "coq": "8.16.1", "axioms": ["Classical_Prop.classic"], "by": "",
              "narrowed": []}  # fmt: skip
    bare = Evidence(verdict=verdict, summary="", level=0.0, n_trials=0)
    found = with_record(bare, record)
    assert (found.mark, found.grade) == (mark, grade)
    assert ("classic" in " ".join(found.notes)) == (found.coq is not None)


# -- The compiler ----------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["Admitted", "admit", "Axiom", "Theorem", "Qed", "Unset", "Abort"])
def test_a_script_holds_tactics_only(word):
    with pytest.raises(InvalidParameter, match=word):
        refuse_commands(f"intros.\n{word}.")
    refuse_commands("intros. set (x := 1) in *. nra.")


def test_axioms_are_read_from_what_coq_prints():
    assert axioms_of("Closed under the global context\n") == ()
    printed = "Axioms:\nB.two\n  : forall x : nat,\n    x = x\nA.one : Set\n"
    assert axioms_of(printed) == ("A.one", "B.two")
    with pytest.raises(InvalidParameter):
        axioms_of("")


@cache
def coq(folder):
    """Coq with its compiled libraries."""
    return Coq(folder)


@pytest.fixture(scope="module")
def compiler(tmp_path_factory):
    """One folder for all tests that compile.  Coq without its packages is as good as none."""
    try:
        return coq(tmp_path_factory.mktemp("coq"))
    except InvalidParameter as error:
        if "Cannot find a physical path" not in str(error):
            raise  # a library of our own is wrong
        pytest.skip(str(error))


@needs_coq
def test_coq_compiles_true_statements_and_no_false_ones(compiler):
    (own, *_) = theorems_of("ifca.thm2-contraction")
    made = compiler.compile("own", own.document("certificate"))
    assert made.good, made.message
    for factor in (2, sp.Rational(1, 2)):
        for other in theorems_of("ifca.thm2-contraction", changed("ifca.thm2-contraction", factor)):
            for way in other.scripts:
                assert not compiler.compile("other", other.document(way)).good
        false = replace(own.theorem, text=other.theorem.text)
        assert not compiler.compile("same", false.document(own.scripts["certificate"])).good
    assert set(compiler.axioms({"own": own.theorem.text})) <= AXIOMS


@needs_coq
def test_coq_compiles_no_negation_at_values_where_the_statement_holds(compiler):
    (first,) = theorems_of("ifca.lemma1-init-as-printed")
    assert compiler.compile("fails", first.document("witness")).good
    script = theorems.proof_of_negation({"variables": ["alpha"]}, {"alpha": "1/3"})
    assert not compiler.compile("holds", first.theorem.document(script)).good


@needs_coq
def test_a_file_that_proves_another_theorem_or_assumes_it_is_found(compiler):
    easy = Theorem(kind="identity", text="  1 = 1", about="toy.one")
    assert compiler.compile("easy", easy.document("reflexivity.")).good
    with pytest.raises(InvalidParameter, match="not the one asked for"):
        compiler.axioms({"easy": "1 = 2"})
    document = easy.document("reflexivity.").replace("Theorem", "Axiom false : 1 = 2.\nTheorem")
    assumed = document.replace("1 = 1", "1 = 2").replace("reflexivity.", "exact false.")
    assert compiler.compile("assumed", assumed).good
    assert not set(compiler.axioms({"assumed": "1 = 2"})) <= AXIOMS


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("kind", sorted(scripts._STEPS))
def test_a_claim_is_parted_from_what_it_divides_by_once(kind, whole, monkeypatch):
    """Steps that rewrite the claim part it first.  Below them the goal is the claim alone."""
    told = []

    def tactics(_goal, _step, _below, still):
        told.append(still)
        yield "tactic."

    monkeypatch.setitem(scripts._STEPS, kind, tactics)
    monkeypatch.setattr(scripts, "left_by", lambda *_: [])
    monkeypatch.setattr(scripts, "Terms", lambda _goal: None)
    monkeypatch.setattr(scripts, "_signs_of_parts", lambda *_: iter(["signs."]))
    lines = list(scripts._proof(SimpleNamespace(claim=("", "")), {"step": kind}, whole))
    passes_on = kind in {"let", "cases", "cut", "lemma"}  # they leave the claim as it is
    parted = ["signs.", "split; [| repeat split; defined]."] if whole and not passes_on else []
    assert lines == [*parted, "tactic."]
    assert told == [whole and passes_on]
