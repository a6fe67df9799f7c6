"""References in words, and the BibTeX entries as they are stored."""

from __future__ import annotations

from reports.bibliography import bibtex, reference, references
from reports.schema import Paper
from verify.papers import catalogue

ENTRY = """@article{k,
  author  = {Doe, Jo and Poe, Al and Plato},
  title   = {A Theorem of 100% &
             more},
  journal = {J. Th.}, volume = {68}, pages = {8076--8091}, year = {2022}
}"""


def test_an_entry_is_told_in_words() -> None:
    assert reference("k", ENTRY) == (
        r"Jo Doe, Al Poe and Plato. \emph{A Theorem of 100\% \& more}. "
        "J. Th. 68, pp. 8076--8091, 2022."
    )


def test_an_entry_that_says_nothing_is_named_by_its_label() -> None:
    assert reference("Doe & Poe 2020", "@misc{k}") == r"Doe \& Poe 2020."


def test_every_publication_of_the_papers_has_authors_a_title_and_a_year() -> None:
    papers = {
        paper.id: Paper(publications=[(p.label, p.bibtex) for p in paper.publications])
        for paper in catalogue().papers
    }
    told = references(papers)
    assert len(told) >= 4
    assert all(r"\emph{" in text and " 20" in text and " and " in text for text in told)
    assert bibtex(papers).count("@") == len(told)
