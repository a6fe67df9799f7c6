"""A claim with a fault is named with that fault, and a claim without one is not."""

import json
import math
import re
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import sympy as sp
from click.testing import CliRunner

from bounds.statement import Assumption, Constant, Term
from trials.checks import InvalidParameter
from trials.parameters import Parameters
from verify.claim import Claim
from verify.claims.common import CannotTry
from verify.cli.app import application
from verify.conformance import CHECKS, Case, depending, examine
from verify.conformance.depending import contradicted, nonsenses, room
from verify.evidence import Verdict
from verify.papers import Catalogue, catalogue
from verify.procedures.base import PROFILES, Sampling, UnknownParameter
from verify.procedures.search import Search
from verify.procedures.vacuity import Vacuity

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


def unregistered_experiment(procedure):
    experiment = replace(procedure.sampling.experiment)
    return replace(procedure, sampling=replace(procedure.sampling, experiment=experiment))


def search_by_its_annotation(statement, profile) -> Search:
    return FOUND[HOEFFDING].builder(statement, profile)


HOEFFDING, SEARCH = "hoeffding.tail", "kantorovich.inequality"
PLANTED = {
    "the-statement-is-complete": with_statement(HOEFFDING, quantifiers=" "),
    "each-experiment-is-registered-with-its-parameters": with_procedure(
        HOEFFDING, unregistered_experiment
    ),
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


def test_a_void_claim_is_lost_by_a_trivial_bound_or_by_a_false_one():
    """A bound on a probability stays void where it is larger.  Before, no such claim passed."""
    check = CHECKS["nonsense-does-not-keep-the-verdict"]
    assert not list(check(Case(with_claim(SEARCH, expected=Verdict.VACUOUS), SEARCH)))
    void = with_procedure(HOEFFDING, lambda p: replace(p, delta=lambda cell: 1e3 * p.delta(cell)))
    found = Catalogue(
        [
            replace(
                void.paper(HOEFFDING),
                claims=(replace(void[HOEFFDING], expected=Verdict.VACUOUS),),
            )
        ]
    )
    assert not list(check(Case(found, HOEFFDING)))
    always = with_procedure(HOEFFDING, lambda p: replace(p, delta=lambda _cell: 2.0))
    paper = replace(
        always.paper(HOEFFDING), claims=(replace(always[HOEFFDING], expected=Verdict.VACUOUS),)
    )
    assert list(check(Case(Catalogue([paper]), HOEFFDING)))  # whatever the statement says


@pytest.mark.parametrize("changed", [{"kind": "probabilty"}, {"relation": "<="}])
def test_a_kind_or_a_relation_that_nobody_knows_is_named_with_the_known_ones(changed):
    (field,) = changed
    check = CHECKS["the-statement-is-complete"]
    (told,) = check(Case(with_statement(HOEFFDING, **changed), HOEFFDING))
    assert told.startswith(f"its statement's {field} is '{changed[field]}', and must be one of ")
    assert {"kind": "probability", "relation": r"\le"}[field] in told


def test_a_parameter_of_another_type_is_named():
    experiment = FOUND[HOEFFDING].build(PROFILES["quick"]).sampling.experiment
    entries = {**experiment.parameters.entries, "t": (0, 1)}
    wrong = replace(experiment, parameters=Parameters(entries))
    found = with_procedure(
        HOEFFDING, lambda p: replace(p, sampling=replace(p.sampling, experiment=wrong))
    )
    told = list(CHECKS["each-experiment-is-registered-with-its-parameters"](Case(found, HOEFFDING)))
    assert "the parameter t of its experiment is (0, 1), and must be Integer" in told[1]


def test_a_symbol_of_the_failure_probability_alone_must_vary_in_the_cells_too():
    """All cells have one n, which the other terms do not name."""
    check = CHECKS["parameters-that-the-statement-names-are-varied"]
    found = with_procedure(
        HOEFFDING, lambda p: replace(p, cells=({"n": 10, "t": 0.1}, {"n": 10, "t": 0.5}))
    )[HOEFFDING]
    for failure, n_told in ((None, 0), (sp.exp(-sp.Symbol("n")), 1), (sp.exp(-sp.Symbol("t")), 0)):
        stated = replace(found.statement, terms=(), failure=failure)
        paper = replace(FOUND.paper(HOEFFDING), claims=(replace(found, statement=stated),))
        told = list(check(Case(Catalogue([paper]), HOEFFDING)))
        assert len(told) == n_told
        assert all(" names n," in each for each in told)


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


@pytest.mark.parametrize(
    ("builder", "told"),
    [
        (lambda _statement, _profile: len(5), "TypeError: object of type 'int' has no len()"),
        (lambda _statement, _profile: {}["n"], "KeyError: 'n'"),
        (lambda _statement, _profile: None, "its builder returns None, which is no procedure"),
    ],
    ids=["type", "key", "none"],
)
def test_an_error_of_any_kind_in_a_builder_is_one_fault(builder, told):
    """A wrong type ended check-paper as a fault of cfl-verify that check-paper should explain."""
    found = with_claim(HOEFFDING, builder=builder)
    (fault,) = examine(found, [HOEFFDING])
    assert str(fault) == f"hoeffding.tail: it cannot be built: {told}  [builds]"


@pytest.mark.parametrize("name", ["rows.csv", "rows", "rows.py.txt", "rows.pyc"])
def test_a_file_of_another_kind_is_refused_before_its_text_is_run(tmp_path, monkeypatch, name):
    """A table was run as Python: the error was that of its first line, or none."""
    file = tmp_path / name
    file.write_text("raise SystemExit(99)\n")
    monkeypatch.chdir(tmp_path)
    for command in (["check-paper", name], ["list", "--claims", name]):
        done = CliRunner().invoke(application, command)
        assert done.exit_code == 3, done.output
        assert f"{name}: is no file of claims, whose name ends in .py" in done.output
        assert len(done.output.splitlines()) == 1


def test_a_paper_without_claims_does_not_pass(tmp_path):
    """It had no fault, and the exit status 0."""
    file = tmp_path / "mine.py"
    text = Path("docs/example_paper.py").read_text().replace("claims=(tail,)", "claims=()")
    file.write_text(text.replace("hoeffding", "nothing"))
    done = CliRunner().invoke(application, ["check-paper", str(file)])
    assert done.exit_code == 3, done.output
    assert ": has no claim, so that nothing can be checked" in done.output


def test_a_check_that_ends_in_an_error_is_a_fault_and_the_others_are_asked_all_the_same(tmp_path):
    """Before, a misspelt column was "a fault of cfl-verify", and nothing else was told."""
    text = (DOCS / "papers" / "averaging.py").read_text()
    text = text.replace('table["error"]', 'table["eror"]').replace("averaging", "misspelt")
    text = text.replace('title="The average', 'title="" and "The average')
    file = tmp_path / "misspelt.py"
    file.write_text(text)
    number = next(i for i, line in enumerate(text.splitlines(), 1) if "eror" in line)
    done = CliRunner().invoke(application, ["check-paper", str(file)])
    assert done.exit_code == 1, done.output
    first, second, last = done.stdout.splitlines()
    assert first.startswith("misspelt.rate: its statement's title is empty")
    assert second == (
        "misspelt.rate: the check ends in KeyError: \"unknown column 'eror'; known: error\" "
        f"(misspelt.py, line {number})  [nonsense-does-not-keep-the-verdict]"
    )
    assert last.endswith("1 with faults")


@pytest.mark.parametrize(
    ("series", "told"),
    [
        ("api.Series(label='s', x=[1, 2], y=[1, 2])", ""),
        ("api.Series(label='s', x=[1, 2], y=[1])", "y has 1 values and x has 2"),
        ("api.Series(label='s', x=['a'], y=[1])", "x[0]='a' must be a number"),
        ("seen[0].nothing", "AttributeError: 'Observed' object has no attribute 'nothing'"),
    ],
)
def test_a_figure_that_cannot_be_drawn_is_a_fault(tmp_path, series, told):
    """Nothing of a figure was looked at: a run failed with it after all its trials."""
    name = f"drawn{len(series)}"
    text = (DOCS / "example_paper.py").read_text().replace("hoeffding", name)
    file = tmp_path / "mine.py"
    file.write_text(
        text.replace(
            "validate=statement.require,",
            "validate=statement.require, present=lambda seen: api.Presentation(figures="
            f"(api.Figure(name='f', title='t', series=({series},)),)),",
        )
    )
    found = catalogue([file])
    faults = list(examine(found, [f"{name}.tail"]))
    assert [f.check for f in faults] == ["what-it-shows-can-be-stored-and-drawn"] * bool(told)
    assert all(told in f.told and "(mine.py, line " in f.told for f in faults)


def test_trials_that_leave_nonsense_open_are_drawn_again_in_larger_numbers(monkeypatch):
    """A right claim of heavy tails had a fault that nobody could mend."""
    check, budgets = CHECKS["nonsense-does-not-keep-the-verdict"], []
    for larger, told in (
        (Verdict.REFUTED, []),
        (Verdict.SUPPORTED, ["it is SUPPORTED"]),
        (Verdict.INCONCLUSIVE, ["it is INCONCLUSIVE: its trials cannot tell, so take more"]),
    ):

        def verdicts(_case, _lost, profile, larger=larger):
            budgets.append(profile.max_trials)
            return [Verdict.INCONCLUSIVE if profile.max_trials < 1024 else larger]

        monkeypatch.setattr(depending, "verdicts_of_nonsense", verdicts)
        found = list(check(Case(FOUND, HOEFFDING)))
        assert len(found) == len(told)
        assert all(part in sentence for part, sentence in zip(told, found, strict=True))
    assert budgets == [64, 1024] * 3


@pytest.mark.parametrize("trivial", [None, sp.Integer(1)])
def test_a_claim_that_is_void_by_its_conditions_passes(trivial):
    """No bound makes n = 50 at least 100, and so no nonsense was found that lost the verdict."""
    n = sp.Symbol("n")
    stated = replace(
        FOUND[SEARCH].statement,
        terms=(Term(name="tail", expr=10**4 / sp.sqrt(n)),),
        assumptions=(Assumption(name="enough", left=n, right=sp.Integer(100)),),
    )

    def builder(statement, _profile):
        return Vacuity(statement=statement, settings={"a": {"n": 50.0}}, along="n", trivial=trivial)

    found = with_claim(SEARCH, statement=stated, expected=Verdict.VACUOUS, builder=builder)
    case = Case(found, SEARCH)
    assert not list(CHECKS["nonsense-does-not-keep-the-verdict"](case))


@pytest.mark.parametrize("error", [MemoryError, OSError])
def test_an_error_of_the_machine_is_no_fault_of_a_claim(monkeypatch, error):
    def broken(_case):
        raise error("no room")
        yield

    monkeypatch.setitem(CHECKS, "the-statement-is-complete", broken)
    with pytest.raises(error, match="no room"):
        list(examine(FOUND, [HOEFFDING]))


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
    twice = run(application, ["check-paper", str(file), *skip, *skip])
    assert twice.stdout == f"1 claim, {len(CHECKS) - 1} checks each: no fault\n"
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


def described(text):
    """Hoeffding's claim with another description of its procedure."""

    @dataclass(frozen=True, kw_only=True)
    class Described(type(FOUND[HOEFFDING].build(PROFILES["quick"]))):  # type: ignore[misc]
        def describe(self):
            return text

    return with_procedure(
        HOEFFDING,
        lambda p: Described(**{f.name: getattr(p, f.name) for f in fields(p) if f.init}),
    )


def of_hoeffding(**changes):
    return replace(FOUND[HOEFFDING].statement, **changes)


SOME = next(FOUND[name].findings for name in FOUND if FOUND[name].findings)
TERM, CONDITION = FOUND[HOEFFDING].statement.terms[0], FOUND[HOEFFDING].statement.assumptions[0]
BOX = Constant(symbol=sp.Symbol("C"), low=1.0, high=2.0, generous="high", meaning="a factor")
COMPLETE, LATEX = "the-statement-is-complete", "formulas-print-as-latex-and-as-one-readable-line"
SENTENCES = "the-procedure-describes-itself-in-sentences"
SENTENCE = "In each of 8 cells the share of trials is compared with the bound."
TOLD = [
    (COMPLETE, {"title": ""}, "its statement's title is empty"),
    (COMPLETE, {"source": " "}, "its statement's source is empty"),
    (COMPLETE, {"observed": ""}, "its statement's observed is empty"),
    (COMPLETE, {"terms": ()}, "its statement asserts nothing"),
    (COMPLETE, {"terms": (), "assertion": "it holds"}, ""),
    (COMPLETE, {"terms": (TERM, TERM)}, "two of its terms have the same name"),
    (COMPLETE, {"assumptions": (CONDITION, CONDITION)}, "two of its assumptions have the same"),
    (COMPLETE, {"constants": (replace(BOX, high=1.0),)}, "the box of the constant C is empty"),
    (COMPLETE, {"constants": (replace(BOX, low=-1.0),)}, "the box of the constant C is empty"),
    (COMPLETE, {"constants": (replace(BOX, meaning=""),)}, "the constant C has no meaning"),
    (COMPLETE, {"constants": (BOX,)}, ""),
    (COMPLETE, {"source": "(2.3), corrected"}, "its source says that it is corrected"),
    (COMPLETE, {"source": "(2.3), corrected", "reading": "a minus sign"}, ""),
    (LATEX, {"quantifiers": "n**2"}, "the formula 'n**2' is not LaTeX"),
    (LATEX, {"quantifiers": r"\frac{1}{n"}, "is not LaTeX"),
    (LATEX, {"quantifiers": r"\frac{1}{n}"}, ""),
]


@pytest.mark.parametrize(("check", "changes", "told"), TOLD)
def test_what_a_statement_lacks_is_told_in_its_own_sentence(check, changes, told):
    found = list(CHECKS[check](Case(with_statement(HOEFFDING, **changes), HOEFFDING)))
    assert len(found) == bool(told)
    assert all(told in line for line in found)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Too short.", "is shorter than a sentence"),
        (SENTENCE.lower(), "begins with 'i'"),
        (SENTENCE[:-1], "does not end with a full stop"),
        (SENTENCE.replace("bound", "bound $b"), "has a formula without an end"),
        (SENTENCE.replace("bound", "<Bound object at 0x1>"), "holds '<Bound '"),
        (SENTENCE.replace("bound", "None"), "holds 'None'"),
        (SENTENCE.replace("bound", "nan"), "holds 'nan'"),
        (SENTENCE.replace("bound", "nanny of Nonette"), ""),
        (SENTENCE.replace("In each of 8", "8"), ""),
        ("$n$ " + SENTENCE, ""),
        (SENTENCE + " ", ""),
    ],
)
def test_a_description_is_of_whole_sentences(text, told):
    found = list(CHECKS[SENTENCES](Case(described(text), HOEFFDING)))
    assert len(found) == bool(told)
    assert all(told in line for line in found)


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        ("hoeffding.tail", True),
        ("hoeffding.tail-2.3", True),
        ("hoeffding.Tail", False),
        ("hoeffding", False),
        ("2hoeffding.tail", False),
        ("hoeffding.-tail", False),
        ("hoeffding.tail_2", False),
    ],
)
def test_an_id_is_a_paper_and_a_statement_in_small_letters(name, whole):
    case = SimpleNamespace(
        name=name,
        statement=FOUND[HOEFFDING].statement,
        catalogue=SimpleNamespace(paper=lambda _name: FOUND.paper(HOEFFDING)),
    )
    found = list(CHECKS["the-id-names-the-paper-and-the-statement"](case))
    assert found == [] if whole else "in small letters" in found[0]


def test_a_claim_belongs_to_the_paper_of_its_statement():
    other = SimpleNamespace(
        name=HOEFFDING,
        statement=FOUND[SEARCH].statement,
        catalogue=SimpleNamespace(paper=lambda _name: FOUND.paper(HOEFFDING)),
    )
    assert list(CHECKS["the-id-names-the-paper-and-the-statement"](other)) == [
        "its paper is 'hoeffding', and its statement's is 'kantorovich'",
        "'Kantorovich, Uspekhi Mat. Nauk 1948' is no publication of its paper",
    ]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"expected": "SUPPORTED?"}, "its expected verdict 'SUPPORTED?' is no verdict"),
        ({"weight": 0.0}, "its weight 0.0 must be above 0"),
        ({"weight": 2.0}, ""),
        ({"expected": Verdict.REFUTED}, "names no finding"),
        ({"expected": Verdict.REFUTED, "findings": SOME}, ""),
    ],
)
def test_what_is_expected_is_a_verdict_with_a_weight_and_a_finding(changes, told):
    check = "the-expected-verdict-is-recorded-and-a-refuted-statement-has-a-finding"
    found = list(CHECKS[check](Case(with_claim(HOEFFDING, **changes), HOEFFDING)))
    assert len(found) == bool(told)
    assert all(told in line for line in found)


def raising(error):
    def refuse(_values):
        raise error

    return refuse


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (raising(UnknownParameter("no")), "does not list the known ones: no"),
        (raising(InvalidParameter("no")), "by another error than UnknownParameter: no"),
        (raising(KeyError("zzz")), "by another error than UnknownParameter: 'zzz'"),
        (lambda _values: None, "it accepts values for the parameter 'zzz'"),
        (raising(UnknownParameter("h has no parameter 'zzz'; its parameters: n, t")), ""),
    ],
)
def test_an_unknown_parameter_is_refused_by_its_own_error(change, told):
    case = SimpleNamespace(built=SimpleNamespace(override=change))
    found = list(CHECKS["an-unknown-parameter-is-refused-with-the-list-of-names"](case))
    assert len(found) == bool(told)
    assert all(told in line for line in found)


def test_two_equal_cells_and_an_impossible_one_are_told():
    check = CHECKS["every-cell-is-inside-the-assumptions"]
    cell = {"n": 10, "t": 0.1}
    for cells, told in (
        ((cell, {"t": 0.1, "n": 10}), ["two of its cells are equal"]),
        ((cell, {**cell, "t": -1.0}), ["a cell is impossible or outside the assumptions"]),
        ((cell, {**cell, "t": 0.2}), []),
    ):
        found = with_procedure(HOEFFDING, lambda p, own=cells: replace(p, cells=own))
        lines = list(check(Case(found, HOEFFDING)))
        assert len(lines) == len(told)
        assert all(line.startswith(start) for line, start in zip(lines, told, strict=True))


def test_a_builder_gives_one_procedure_whatever_it_is_asked():
    check = CHECKS["the-builder-is-deterministic-and-cells-do-not-depend-on-the-profile"]
    builder, calls = FOUND[HOEFFDING].builder, []

    def often(statement, profile):
        calls.append(profile)
        return replace(builder(statement, profile), event=f"event {len(calls)}")

    def by_profile(statement, profile):
        built = builder(statement, profile)
        return replace(built, cells=built.cells[: 2 + (profile.name == "full")])

    (line,) = check(Case(with_claim(HOEFFDING, builder=often), HOEFFDING))
    assert line == "its builder makes another procedure each time"
    (line,) = check(Case(with_claim(HOEFFDING, builder=by_profile), HOEFFDING))
    assert line.startswith("its cells change")


def test_a_small_profile_limits_what_is_drawn_and_evaluated():
    """A number of trials or points that no profile changes is allowed."""
    check = CHECKS["a-small-profile-limits-a-claim-unless-its-numbers-are-fixed"]
    tail, search = FOUND[HOEFFDING].builder, FOUND[SEARCH].builder

    def drawing(most):
        def build(statement, profile):
            built = tail(statement, profile)
            return replace(built, sampling=replace(built.sampling, max_trials=most(profile)))

        return Case(with_claim(HOEFFDING, builder=build), HOEFFDING)

    def evaluating(budget):
        def build(statement, profile):
            return replace(search(statement, profile), budget=budget(profile))

        return Case(with_claim(SEARCH, builder=build), SEARCH)

    assert not list(check(drawing(lambda profile: profile.max_trials)))
    assert not list(check(drawing(lambda _profile: 500)))
    (line,) = check(drawing(lambda profile: profile.max_trials + 1))
    assert line == "it draws 17 trials a cell where the profile allows 16"
    assert not list(check(evaluating(lambda profile: profile.searches)))
    assert not list(check(evaluating(lambda _profile: 100)))
    (line,) = check(evaluating(lambda profile: profile.searches + 8))
    assert line == "it evaluates 32 points where the profile allows 24"
    keeps = CHECKS["it-keeps-to-the-trials-and-the-evaluations-of-its-profile"]
    assert list(keeps(evaluating(lambda profile: profile.searches + 1)))
    assert list(keeps(evaluating(lambda _profile: 0)))
    assert not list(keeps(evaluating(lambda profile: profile.searches)))
    most = PROFILES["quick"].max_trials
    assert not list(keeps(drawing(lambda profile: profile.max_trials)))
    (line,) = keeps(drawing(lambda profile: profile.max_trials + 1))
    assert line == f"it draws {most + 1} trials a cell, more than {most}, the profile's"


def test_a_search_whose_sides_and_violation_disagree_is_told_in_both_ways():
    check = CHECKS["the-violation-of-a-search-is-what-its-sides-show"]

    def told(expected=Verdict.SUPPORTED, **changes):
        builder = FOUND[SEARCH].builder
        found = with_claim(
            SEARCH,
            expected=expected,
            builder=lambda statement, profile: replace(builder(statement, profile), **changes),
        )
        return list(check(Case(found, SEARCH)))

    assert told() == []
    (line,) = told(constraints=lambda _point: False)
    assert line == "its search finds no point that meets the assumptions"
    violated = {"violation": lambda _point: 2.0}
    assert all(line.startswith("it is violated by 2 at") for line in told(**violated))
    sides = {"sides": lambda _point: (1.0, 3.0)}
    lines = told(Verdict.REFUTED, **violated, **sides)
    assert lines
    assert all(line.endswith("and its sides 1, 3 are not") for line in lines)
    for both in ((3.0, 1.0), (0.0, 0.0)):
        assert told(Verdict.REFUTED, **violated, sides=lambda _point, own=both: own) == []
    lines = told(violation=lambda _point: -1.0, sides=lambda _point: (3.0, 1.0))
    assert lines
    assert all("its sides 3, 1 contradict it" in line for line in lines)
    assert told(violation=lambda _point: -1.0, sides=lambda _point: (1.0005, 1.0)) == []


@pytest.mark.parametrize(
    ("relation", "observed", "bound", "expected"),
    [
        (r"\le", 1.0, 4.0, 0.75),
        (r"\le", 4.0, 1.0, -0.75),
        (r"\ge", 4.0, 1.0, 0.75),
        (r"\ge", -4.0, 1.0, -1.25),
        ("=", 4.0, 1.0, -0.75),
        ("=", 1.0, 4.0, -0.75),
        ("=", 0.0, 0.0, 0.0),
        (r"\le", 0.0, 0.0, 0.0),
        (r"\le", 1.0, math.inf, math.inf),
        (r"\ge", 1.0, math.inf, -math.inf),
    ],
)
def test_the_room_of_a_relation_is_a_share_of_the_larger_side(relation, observed, bound, expected):
    assert room(relation, observed, bound) == expected


def test_a_builder_that_breaks_on_a_changed_statement_is_told_and_a_refusal_is_not():
    check = CHECKS["a-changed-statement-is-built-or-refused"]
    builder, own = FOUND[HOEFFDING].builder, FOUND[HOEFFDING].statement

    def build(error):
        def build(statement, profile):
            if statement != own:
                raise error
            return builder(statement, profile)

        return Case(with_claim(HOEFFDING, builder=build), HOEFFDING)

    assert not list(check(build(InvalidParameter("refused"))))
    for error in (TypeError("no"), AttributeError("no"), IndexError("no")):
        lines = list(check(build(error)))
        assert lines
        assert all(line.endswith(f"ends in {type(error).__name__}: no") for line in lines)
        assert any("dropped" in line for line in lines)


@pytest.mark.parametrize(
    "error", [CannotTry("this alone"), ValueError("this alone"), ZeroDivisionError("this alone")]
)
def test_a_procedure_that_refuses_another_statement_is_told(error):
    """Another error than a refusal by name would end the check of the whole paper."""
    builder, own = FOUND[HOEFFDING].builder, of_hoeffding(failure=TERM.expr)

    def build(statement, profile):
        if statement != own:
            raise error
        return builder(statement, profile)

    case = Case(with_claim(HOEFFDING, statement=own, builder=build), HOEFFDING)
    for check, what in (
        ("another-right-hand-side-changes-the-test", "right-hand side"),
        ("another-failure-probability-changes-the-test", "failure probability"),
    ):
        assert list(CHECKS[check](case)) == [f"its procedure refuses another {what}: this alone"]


def test_a_failure_probability_that_is_not_read_is_told():
    check = CHECKS["another-failure-probability-changes-the-test"]
    builder = FOUND[HOEFFDING].builder
    stated = of_hoeffding(failure=TERM.expr)

    def reading(statement, profile):
        return replace(builder(statement, profile), delta=statement.failure_probability)

    found = {"read": reading, "not read": lambda _s, profile: reading(stated, profile)}
    lines = {
        name: list(check(Case(with_claim(HOEFFDING, statement=stated, builder=build), HOEFFDING)))
        for name, build in found.items()
    }
    assert lines["read"] == []
    assert len(lines["not read"]) == 1


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (None, "its proof of the refutation proves nothing at the points nearest to one"),
        ([], "its proof of the refutation proves nothing at the points nearest to one"),
        (["1 < 2", "1 < 2"], "two inequalities of its proof say the same"),
        (["1 < 2", "1 < 3"], ""),
    ],
)
def test_a_refutation_with_a_certificate_must_say_different_things(said, told, monkeypatch):
    made = None if said is None else {"inequalities": [{"says": text} for text in said]}
    monkeypatch.setattr(depending, "proof", lambda certify: certify() and made)
    check = CHECKS["a-refutation-with-a-certificate-is-proved"]
    builder = FOUND[SEARCH].builder
    for expected in (Verdict.REFUTED, Verdict.SUPPORTED):
        found = with_claim(
            SEARCH,
            expected=expected,
            builder=lambda statement, profile: replace(
                builder(statement, profile), certify=lambda point: point
            ),
        )
        lines = list(check(Case(found, SEARCH)))
        assert lines == ([told] if told and expected is Verdict.REFUTED else [])


EXPECTED = "the-expected-verdict-is-recorded-and-a-refuted-statement-has-a-finding"


def test_the_claims_behind_one_that_cannot_be_built_are_examined_too():
    def broken(_statement, _profile):
        raise ValueError("no cells")

    paper = FOUND.paper(HOEFFDING)
    first = replace(FOUND[HOEFFDING], builder=broken)
    second = replace(FOUND[OWN[1]], expected=Verdict.REFUTED)
    found = Catalogue([replace(paper, claims=(first,)),
                       replace(FOUND.paper(OWN[1]), claims=(second,))])  # fmt: skip
    names = [HOEFFDING, OWN[1]]
    told = list(examine(found, names))
    assert [(each.claim, each.check) for each in told[:2]] == [
        (HOEFFDING, "builds"), (OWN[1], EXPECTED),
    ]  # fmt: skip
    left = list(examine(found, names, [EXPECTED]))
    assert left == [each for each in told if each.check != EXPECTED]
