"""A claim with a fault is named with that fault, and a claim without one is not."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import sympy as sp
from click.testing import CliRunner

from verify.claim import Claim
from verify.cli.app import application
from verify.conformance import CHECKS, Case, examine
from verify.conformance.depending import contradicted, nonsenses
from verify.evidence import Verdict
from verify.papers import Catalogue, catalogue
from verify.procedures.base import Sampling
from verify.procedures.search import Search

DOCS = Path(__file__).parents[2] / "docs"
FILES = [DOCS / "example_paper.py", *sorted((DOCS / "papers").glob("*.py"))]
FOUND = catalogue(FILES)
OWN = [name for name in FOUND if FOUND.file_of(name) is not None]


def with_claim(name, **changes):
    """A catalogue with one claim, whose fields are changed."""
    paper = FOUND.paper(name)
    claim = replace(FOUND[name], **changes)
    return Catalogue([replace(paper, claims=(claim,))])


def with_statement(name, **changes):
    return with_claim(name, statement=replace(FOUND[name].statement, **changes))


def with_procedure(name, change):
    """A claim whose builder's procedure is changed."""
    builder = FOUND[name].builder
    return with_claim(name, builder=lambda statement, profile: change(builder(statement, profile)))


def same_whatever_the_statement(name):
    claim = FOUND[name]
    return with_claim(name, builder=lambda _s, profile: claim.builder(claim.statement, profile))


def budget_of_its_own(procedure):
    sampling = procedure.sampling
    return replace(procedure, sampling=Sampling(experiment=sampling.experiment, max_trials=10**6))


def search_by_its_annotation(statement, profile) -> Search:
    return FOUND[HOEFFDING].builder(statement, profile)


HOEFFDING, SEARCH = "hoeffding.tail", "kantorovich.inequality"
PLANTED = {
    "the-statement-is-complete": with_statement(HOEFFDING, quantifiers=" "),
    "the-procedure-describes-itself-in-sentences": with_procedure(
        HOEFFDING, lambda p: replace(p, event="None")
    ),
    "the-expected-verdict-is-recorded-and-a-refuted-statement-has-a-finding": with_claim(
        HOEFFDING, expected=Verdict.REFUTED
    ),
    "every-cell-is-inside-the-assumptions": with_procedure(
        HOEFFDING, lambda p: replace(p, cells=({"n": 1, "t": 0.0}, {"n": 10, "t": 0.5}))
    ),
    "parameters-that-the-statement-names-are-varied": with_procedure(
        HOEFFDING, lambda p: replace(p, cells=({"n": 10, "t": 0.1}, {"n": 10, "t": 0.5}))
    ),
    "the-builder-says-which-procedure-it-returns": with_claim(
        HOEFFDING, builder=search_by_its_annotation
    ),
    "it-keeps-to-the-trials-and-the-evaluations-of-its-profile": with_procedure(
        HOEFFDING, budget_of_its_own
    ),
    "another-right-hand-side-changes-the-test": same_whatever_the_statement(HOEFFDING),
    "nonsense-does-not-keep-the-verdict": same_whatever_the_statement(SEARCH),
    "the-violation-of-a-search-is-what-its-sides-show": with_procedure(
        SEARCH, lambda p: replace(p, sides=lambda point: p.sides(point)[::-1])
    ),
    "the-recheck-of-a-search-is-its-violation-with-more-digits": with_procedure(
        SEARCH, lambda p: replace(p, recheck=lambda point: 2 * p.recheck(point))
    ),
    "hidden-constants-of-the-assumptions-are-declared": with_statement(
        HOEFFDING,
        assumptions=(
            replace(FOUND[HOEFFDING].statement.assumptions[0], constant=sp.Symbol("C_hidden")),
        ),
    ),
}


@pytest.mark.parametrize("check", PLANTED)
def test_a_planted_fault_is_found_by_its_check(check):
    found = PLANTED[check]
    (name,) = found
    assert list(CHECKS[check](Case(found, name)))
    assert not list(CHECKS[check](Case(FOUND, name)))


@pytest.mark.parametrize(
    "lacks",
    [
        {"bound_latex": ""},
        {"quantifiers": ""},
        {"assumptions": []},
        {"assumptions": [{"name": "both positive", "latex": ""}]},
        {"title": ("a", "tuple")},
        {"id": "another.id"},
    ],
)
def test_a_document_that_lacks_something_is_found(monkeypatch, lacks):
    check = CHECKS["the-document-is-plain-data"]
    assert FOUND[SEARCH].statement.assumptions
    assert not list(check(Case(FOUND, SEARCH)))
    whole = Claim.document
    monkeypatch.setattr(Claim, "document", lambda self, built: {**whole(self, built), **lacks})
    assert list(check(Case(FOUND, SEARCH)))


def test_a_claim_of_a_void_statement_must_be_supported_by_a_trivial_bound():
    check = CHECKS["nonsense-does-not-keep-the-verdict"]
    assert not list(check(Case(with_claim(SEARCH, expected=Verdict.VACUOUS), SEARCH)))
    # a bound on a probability is void where it is plainly true, and never supported
    assert list(check(Case(with_claim(HOEFFDING, expected=Verdict.VACUOUS), HOEFFDING)))


def test_a_recheck_that_differs_by_a_thousandth_is_found():
    found = with_procedure(
        SEARCH, lambda p: replace(p, recheck=lambda point: p.recheck(point) * 1.001)
    )
    check = CHECKS["the-recheck-of-a-search-is-its-violation-with-more-digits"]
    assert list(check(Case(found, SEARCH)))


def test_the_opposite_of_a_contrast_has_its_sides_exchanged():
    stated = [claim.statement for claim in catalogue().values() if claim.statement.contrasts]
    assert len(stated) >= 5
    for statement in stated:
        for own, other in zip(
            statement.contrasts, contradicted(statement, 1e6).contrasts, strict=True
        ):
            assert (other.left, other.right) == (own.right, own.left)
            assert (other.relation, other.margin) == ("<", 0.0)


def test_no_refuted_contrast_trend_or_number_is_asked_for_a_true_one():
    """It has no terms, so that no bound could be moved where nothing exceeds it."""
    found = catalogue()
    bare = [name for name in found if not found[name].statement.terms]
    refuted = {name: found[name].expected is Verdict.REFUTED for name in bare}
    assert {*refuted.values()} == {True, False}
    for name in bare:
        made = nonsenses(Case(found, name))
        assert made == ([] if refuted[name] else [contradicted(found[name].statement, 1e6)])


def test_a_claim_that_cannot_be_built_is_one_fault():
    def broken(_statement, _profile):
        raise ValueError("no cells")

    found = with_claim(HOEFFDING, builder=broken)
    (fault,) = examine(found, [HOEFFDING])
    assert str(fault) == "hoeffding.tail: it cannot be built: no cells  [builds]"


def test_the_worked_papers_have_no_fault_and_are_short():
    assert OWN == ["hoeffding.tail", "averaging.rate", "kantorovich.inequality", "mean.norm",
                   "median.exponential"]  # fmt: skip
    assert not list(examine(FOUND, OWN))
    assert all(len(file.read_text().splitlines()) <= 60 for file in FILES)


def test_the_command_prints_faults_and_leaves_out_a_check(tmp_path):
    text = (DOCS / "papers" / "kantorovich.py").read_text()
    file = tmp_path / "mine.py"
    file.write_text(text.replace(r"\forall 0<\mu\le L,\ s\in[0,1]", ""))
    run = CliRunner().invoke
    fault = run(application, ["check-paper", str(file)])
    assert fault.exit_code == 1
    assert "kantorovich.inequality: its statement's quantifiers is empty" in fault.output
    skip = ["--without", "the-statement-is-complete"]
    passed = run(application, ["check-paper", str(file), *skip, "--json"])
    assert passed.exit_code == 0
    assert json.loads(passed.stdout)["faults"] == []
    wrong = run(application, ["check-paper", str(file), "--without", "nothing"])
    assert wrong.exit_code == 3


@pytest.mark.parametrize(
    ("wrong", "place"),
    [("statement.nothing", "line"), ("lambda point: point['mu'].nothing", "search")],
)
def test_a_mistake_in_ones_own_file_names_the_line_and_exits_with_3(tmp_path, wrong, place):
    text = (DOCS / "papers" / "kantorovich.py").read_text()
    file = tmp_path / f"mine_{place}.py"
    file.write_text(re.sub(r"left = \(s \*.*", f"left = {wrong}", text))
    number = next(i for i, line in enumerate(file.read_text().splitlines(), 1) if wrong in line)
    arguments = ["run", "kantorovich.*", "--claims", str(file), "--output", str(tmp_path / "run")]
    done = CliRunner().invoke(application, arguments)
    assert done.exit_code == 3, done.output
    assert "AttributeError" in done.output
    assert re.search(
        rf"mine_{place}\.py( \(\d+ characters\))?(:|, line ){number}",
        done.output.replace("\n", " "),
    )
