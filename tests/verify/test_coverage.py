"""Every assertion on a paper's list has a claim or a reason, and the page shows the lists."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from trials.checks import InvalidParameter
from verify import coverage, paper_files
from verify.papers import catalogue

PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"
LISTED = [paper.id for paper in catalogue().papers if coverage.lines(paper.id)]


def line(**changes):
    return coverage.Line(**{"id": "x.a", "source": "Lemma 1", "says": "a | b < c", **changes})


@pytest.mark.parametrize("paper", LISTED)
def test_every_line_has_its_claims_or_a_reason(paper):
    assert list(coverage.problems(coverage.lines(paper), catalogue())) == []


def test_the_page_is_up_to_date():
    assert PAGE.read_text("utf-8") == coverage.page(catalogue())


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([line()], "give its claims"),
        ([line(claims=("ifca.no-such",))], "'ifca.no-such' is no claim"),
        ([line(reason="r"), line(reason="s")], "occurs twice"),
    ],
)
def test_a_faulty_list_is_refused(lines, words):
    (problem,) = coverage.problems(lines, catalogue())
    assert words in problem
    assert problem.startswith("x.a: ")


def test_a_line_may_have_claims_and_a_reason():
    both = line(claims=("ifca.thm1",), reason="The second display is not tried")
    assert list(coverage.problems([both], catalogue())) == []


def test_a_file_that_is_no_list_is_refused_in_one_line(tmp_path, monkeypatch):
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / coverage.FILE).write_text("[[line]]\nid = 3\n", "utf-8")
    monkeypatch.setattr(paper_files, "files", lambda _package: tmp_path)
    with pytest.raises(InvalidParameter, match=r"^verify/claims/toy/coverage.toml: .*\.id`$"):
        coverage.lines("toy")


def test_a_paper_without_a_list_has_no_lines():
    assert coverage.lines("no-such-paper") == ()


def test_the_page_keeps_a_table_whole_and_names_the_claims_on_no_line(monkeypatch):
    paper = replace(catalogue().papers[0], findings=())
    first = paper.claims[0].id
    monkeypatch.setattr(coverage, "lines", lambda _paper: (line(claims=(first,)),))
    text = coverage.page(catalogue())
    (row,) = [each for each in text.splitlines() if each.startswith("| x.a")][:1]
    assert row == f"| x.a | Lemma 1 | a \\| b &lt; c | `{first}` {paper.claims[0].expected} |"
    assert f"{len(paper.claims) - 1} further claims are on no line" in text


def test_a_line_cannot_hold_an_unknown_field():
    with pytest.raises(msgspec.ValidationError, match="unknown field `claim`"):
        msgspec.convert({"id": "a", "source": "", "says": "", "claim": []}, coverage.Line)
