"""The catalogue: papers that come with the suite, from installed packages and from own files."""

import importlib
import os
import re
import tomllib
from dataclasses import replace
from graphlib import TopologicalSorter
from importlib import metadata
from pathlib import Path

import pytest

from tests.stated import stated
from trials.checks import InvalidParameter
from trials.run.executors import make_executor
from trials.run.store import StoreError
from verify import papers, session
from verify.claim import SEVERITIES, Finding
from verify.evidence import Verdict
from verify.papers import Paper, catalogue
from verify.procedures.placebos import Placebo
from verify.session import RunConfig

CLAIM = ("ifca.eq3",)
OWN_CLAIMS = ("sxy.anchors", "sxy.subspace")

pytestmark = pytest.mark.usefixtures("forked_workers")
IFCA = catalogue().paper("ifca")
OURS = [paper.id for paper in catalogue().papers]
EXAMPLE = Path(__file__).parents[2] / "docs" / "example_paper.py"


def test_ids_are_those_of_the_statements():
    for name, claim in catalogue().items():
        assert name == claim.id == claim.statement.id


def test_every_statement_of_the_papers_is_a_claim():
    for paper in catalogue().papers:
        assert {s.id for s in paper.statements} == set(stated(paper.id))


def test_a_printed_form_beside_a_corrected_one_is_expected_to_fall_with_a_finding():
    for claim in catalogue().values():
        assert isinstance(claim.expected, Verdict)
        assert claim.weight > 0
        if claim.id.endswith("-as-printed"):
            assert claim.expected in (Verdict.REFUTED, Verdict.VACUOUS), claim.id
        if claim.expected is Verdict.REFUTED:
            assert claim.findings, claim.id


# -- what a paper refuses --------------------------------------------------------------------------


def test_a_reason_for_having_no_placebo_is_no_placebo():
    """Nor is the lack of an entry: only a tuple of them voids cells."""
    start = Placebo(name="a run that stays at its start", columns={"error": "start"})
    registry = {"ifca.eq3": "a search", "ifca.eq4": "", "ifca.thm1": (start,), "ifca.eq5": ()}
    known = papers.Catalogue([replace(IFCA, placebos=registry)])
    found = {name: known.placebos_of(name) for name in (*registry, "ifca.eq8")}
    assert found == {**dict.fromkeys(found, ()), "ifca.thm1": (start,)}


def test_an_id_registered_twice_is_refused():
    with pytest.raises(ValueError, match=r"claim id 'ifca\.lemma1' is registered twice"):
        replace(IFCA, claims=(*IFCA.claims, IFCA.claims[0]))


def test_a_paper_with_foreign_claims_is_refused():
    with pytest.raises(ValueError, match=r"claim 'ifca\.lemma1' of paper 'toy' must have an id"):
        Paper(id="toy", title="", publications=IFCA.publications, claims=IFCA.claims)


def test_a_publication_that_the_paper_lacks_is_refused():
    with pytest.raises(ValueError, match=r"its publication '.*NeurIPS 2020' must be one of"):
        replace(IFCA, publications=IFCA.publications[:1])


def test_an_edge_to_a_statement_that_is_not_there_is_refused():
    first = IFCA.claims[0]
    loose = replace(first, statement=replace(first.statement, uses=("ifca.nowhere",)))
    with pytest.raises(ValueError, match=r"ifca\.lemma1 uses 'ifca\.nowhere', which is no"):
        replace(IFCA, claims=(loose, *IFCA.claims[1:]))


# -- what a run stores about its papers ------------------------------------------------------------


def test_only_papers_and_findings_of_the_claims_that_ran_are_stored():
    documents = list(catalogue([EXAMPLE]).documents(["hoeffding.tail"]))
    assert {(kind, key) for kind, key, _ in documents} == {
        ("paper", "hoeffding"),
        ("symbol", "hoeffding"),
    }
    some = {key for kind, key, _ in catalogue().documents(["ifca.eq2"]) if kind == "finding"}
    slips = {"ifca-gradient-sign", "ifca-indices", "ifca-sc-floor-k", "ifca-sc-variance"}
    assert some == {"ifca-absolute-value"} | slips


def test_findings_name_the_claims_that_show_them():
    for finding in IFCA.all_findings:
        shown = IFCA.evidence(finding)
        assert bool(shown) != (finding in IFCA.findings)
        if finding.severity == "statement":
            refuted = [catalogue()[name].expected is Verdict.REFUTED for name in shown]
            assert any(refuted), finding.id


# -- installed packages ----------------------------------------------------------------------------


class _Point:
    """An entry point of a stranger's package."""

    name, value = "toy", "toy.claims:PAPER"
    dist = type("Dist", (), {"name": "toy-papers"})

    def __init__(self, value):
        self.loaded = value

    def load(self):
        if isinstance(self.loaded, Exception):
            raise self.loaded
        return self.loaded


@pytest.fixture
def entry_point(monkeypatch):
    def install(value):
        papers.from_files.cache_clear()
        monkeypatch.setattr(metadata, "entry_points", lambda group: [_Point(value)])

    yield install
    papers.from_files.cache_clear()


def test_every_paper_of_the_suite_is_offered_through_the_same_group():
    project = tomllib.loads((EXAMPLE.parents[1] / "pyproject.toml").read_text("utf-8"))
    offered = project["project"]["entry-points"][papers.GROUP]
    found = {
        name: metadata.EntryPoint(name=name, value=value, group=papers.GROUP).load()
        for name, value in offered.items()
    }
    assert found == {paper.id: paper for paper in catalogue().papers}


def test_a_paper_of_an_installed_package_joins_the_catalogue(entry_point):
    toy = catalogue([EXAMPLE]).papers[-1]
    entry_point(toy)
    assert "hoeffding.tail" in catalogue()
    assert [p.id for p in catalogue().papers] == [*OURS, "hoeffding"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (ImportError("no module toy"), r"cannot be loaded \(ImportError: no module toy\); mend or"),
        ("PAPER", "is a str; it must be a verify.papers.Paper"),
        (replace(IFCA), "paper id 'ifca' of toy-papers .* is taken by verify.claims.ifca; give"),
    ],
)
def test_a_package_that_offers_no_paper_is_named(entry_point, value, message):
    entry_point(value)
    with pytest.raises(InvalidParameter, match=message) as caught:
        catalogue()
    assert "\n" not in str(caught.value)


# -- files of one's own ----------------------------------------------------------------------------


def test_a_file_of_ones_own_joins_the_catalogue_last():
    found = catalogue([EXAMPLE])
    assert list(found)[-1] == "hoeffding.tail"
    assert found.paper("hoeffding.tail").id == "hoeffding"
    assert [file.path for file in found.files] == [EXAMPLE.resolve()]
    assert "hoeffding.tail" not in catalogue()
    with pytest.raises(
        InvalidParameter, match=f"unknown paper 'toy'; known: {', '.join(OURS)}, hoeffding"
    ):
        found.paper("toy.x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", r"holds no paper; put PAPER = Paper\(\.\.\.\) at its top level"),
        ("x = 1\ny = x / 0\n", r"line 2: ZeroDivisionError"),
        ("def broken(:\n", r"line 1: "),
        ("from verify.claims.ifca import PAPER as OTHER\nfrom dataclasses import replace\n"
         "PAPER = replace(OTHER)\n", "paper id 'ifca' of .* is taken by verify.claims.ifca"),
    ],
)  # fmt: skip
def test_a_file_without_a_usable_paper_is_refused_in_one_line(tmp_path, text, message):
    path = tmp_path / "own.py"
    path.write_text(text)
    with pytest.raises(InvalidParameter, match=message) as caught:
        catalogue([path])
    assert "\n" not in str(caught.value)
    with pytest.raises(InvalidParameter, match="no such file"):
        catalogue([tmp_path / "missing.py"])


def ran(files, claims, directory, kind="serial", n=1):
    found = catalogue(files)
    config = RunConfig(claims=claims)
    with session.create(directory, config) as store, make_executor(kind, n) as executor:
        papers.record_files(store, found.files)
        return session.execute(store, config, executor, papers=found)


@pytest.mark.parametrize(("kind", "n"), [("serial", 1), ("threads", 2), ("processes", 2)])
def test_own_claims_run_and_are_decided_wherever_work_is_done(tmp_path, kind, n):
    (outcome,) = ran([EXAMPLE], ("hoeffding.*",), tmp_path / "run", kind, n)
    assert outcome.verdict is outcome.expected


def test_a_continued_run_finds_its_file_and_refuses_a_changed_one(tmp_path):
    own = tmp_path / "own.py"
    own.write_text(EXAMPLE.read_text().replace("hoeffding", "kept"))
    ran([os.path.relpath(own)], ("kept.*",), tmp_path / "run")
    store, _ = session.open_run(tmp_path / "run", readonly=True)
    with store:
        assert papers.recorded_files(store) == (own.resolve(),)
        stored = store.documents(papers.FILE_KIND)[str(own.resolve())]
        assert stored["source"] == own.read_text()
        moved = own.rename(tmp_path / "moved.py")
        with pytest.raises(StoreError, match=r"needs .*own\.py, which is not there; name the file"):
            papers.recorded_files(store)
        assert papers.recorded_files(store, [moved]) == (moved.resolve(),)
        own.write_text(moved.read_text() + "\n")
        # To name a file is to trust it, and not to say that it is the one of the run.
        for named in ((), [own]):
            with pytest.raises(StoreError, match=r"own\.py has changed since the run was made"):
                papers.recorded_files(store, named)


def test_a_run_of_two_files_goes_on_with_both_of_them(tmp_path):
    """Naming one of them says nothing about the other."""
    written = {name: tmp_path / f"{name}.py" for name in ("first", "second")}
    for name, path in written.items():
        path.write_text(EXAMPLE.read_text().replace("hoeffding", name))
    first, second = (path.resolve() for path in written.values())
    with session.create(tmp_path / "run", RunConfig(claims=CLAIM)) as store:
        papers.record_files(store, [papers.ClaimsFile.read(path) for path in written.values()])
        for named in ((), (first,), (second,), (first, second), (second, first, first)):
            assert set(papers.recorded_files(store, named)) == {first, second}
            assert len(papers.recorded_files(store, named)) == 2
        second.write_text(second.read_text() + "\n")
        for named in ((), (first,)):
            with pytest.raises(StoreError, match=r"second\.py has changed since the run was made"):
                papers.recorded_files(store, named)
        second.unlink()
        with pytest.raises(StoreError, match=r"needs .*second\.py, which is not there"):
            papers.recorded_files(store, [first])


def test_what_rests_on_what_has_no_circle_and_theorems_rest_on_the_steps_of_their_proofs():
    order = list(TopologicalSorter(IFCA.uses).static_order())  # raises at a circle
    assert set(order) <= {s.id for s in IFCA.statements}
    assert IFCA.uses["ifca.thm1-as-printed"] == ("ifca.eq5-as-printed", "ifca.eq8", "ifca.eq12")
    leaves = {s.id for s in IFCA.statements} - set(IFCA.uses)
    assert {"ifca.eq16", "ifca.eq17", "ifca.lemma2-opnorm"} <= leaves
    assert not leaves & {s.id for s in IFCA.statements if "thm1" in s.id or "cor1-as" in s.id}


FINDINGS = [
    finding
    for paper in catalogue().papers
    for finding in paper.all_findings
    if finding.severity in ("statement", "proof")
]


#: Refuted claims of a paper whose findings are all graded as slips.  A slip refutes nothing, so
#: each of them still waits for its grade.
UNGRADED = {"ifca": 0, "odcl": 0, "sxy": 0}


@pytest.mark.parametrize("paper", catalogue().papers, ids=lambda paper: paper.id)
def test_a_refuted_claim_names_how_grave_its_finding_is(paper: Paper) -> None:
    ungraded = [
        claim.id
        for claim in paper.claims
        if claim.expected is Verdict.REFUTED and claim.severity in (None, "slip")
    ]
    assert len(ungraded) == UNGRADED.get(paper.id, 0), ungraded


def test_a_claim_has_the_severity_of_its_gravest_finding() -> None:
    graded = {
        severity: Finding(
            id=severity, where="", printed="", found="", corrected="", severity=severity
        )
        for severity in SEVERITIES
    }
    one = next(iter(IFCA.claims))
    assert replace(one, findings=()).severity is None
    assert replace(one, findings=(graded["slip"], graded["edge"])).severity == "edge"
    assert replace(one, findings=tuple(graded.values())).severity == "statement"
    with pytest.raises(InvalidParameter, match="severity='constant' must be one of statement, pro"):
        replace(graded["slip"], severity="constant")


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: finding.id)
def test_a_finding_has_a_headline_that_is_read_alone(finding: Finding) -> None:
    """The first page prints it: one sentence of at most two lines that begins with words."""
    assert re.fullmatch(r"[A-Z].{30,150}\.", finding.headline)
    assert not re.search(r"\.\s+[A-Z]", finding.headline)
    assert not re.match(r"(No|Yes|True|False|This|That|It|They)\b[ :,]*(:|is|of)", finding.headline)


def test_a_claim_that_a_module_imports_is_not_its_own(monkeypatch):
    """Also where it stands in a table of the importing module."""
    first, second = (importlib.import_module(f"verify.claims.{name}") for name in OWN_CLAIMS)
    before = papers.collect(first), papers.collect(second)
    assert before[0]
    assert before[1]
    monkeypatch.setattr(first, "borrowed", before[1][0], raising=False)
    monkeypatch.setattr(first, "borrowed_table", before[1][:2], raising=False)
    assert papers.collect(first) == before[0]
    assert papers.collect(second, first) == before[1] + before[0]


def test_every_paper_of_an_own_file_is_read_and_each_has_its_claims(tmp_path):
    """Two papers stand in one file: that of the example, and another one without a claim.

    The names differ from the example's, which another test of this process may have loaded.
    """
    path = tmp_path / "two.py"
    more = 'OTHER = api.Paper(id="later", title="Later", publications=(HOEFFDING,), claims=())\n'
    path.write_text(EXAMPLE.read_text().replace("hoeffding", "earlier") + more)
    found = catalogue([path])
    assert [paper.id for paper in found.papers[len(OURS) :]] == ["earlier", "later"]
    assert found.paper("earlier.tail").id == "earlier"
