"""References in words, and the BibTeX entries as they are stored."""

from __future__ import annotations

import itertools

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


#: Field -> its value, and how it is printed, in the order of print.
FIELDS = {
    "author": ("Doe, Jo", "Jo Doe"),
    "title": ("T", r"\emph{T}"),
    "journal": ("J", "J"),
    "booktitle": ("Proc", "Proc"),
    "volume": ("7", "7"),
    "pages": ("1--2", "pp. 1--2"),
    "year": ("2020", "2020"),
}


def test_every_field_that_an_entry_has_is_told_in_its_place_and_no_other() -> None:
    """All sets of fields.  A journal goes before the proceedings, and only one of them is told."""
    for chosen in itertools.product((False, True), repeat=len(FIELDS)):
        given = [name for name, on in zip(FIELDS, chosen, strict=True) if on]
        if not {"author", "title"} & set(given):
            continue
        entry = "@misc{k, " + ", ".join(f"{n} = {{{FIELDS[n][0]}}}" for n in given) + "}"
        told = reference("k", entry)
        shown = [n for n in given if n != "booktitle" or "journal" not in given]
        rest = told
        for name in shown:
            before, found, rest = rest.partition(FIELDS[name][1])
            assert found, (name, told)
            assert before.strip(" .,") == "", (name, told)
        assert rest == "."


def test_every_publication_of_the_papers_has_authors_a_title_and_a_year() -> None:
    papers = {
        paper.id: Paper(publications=[(p.label, p.bibtex) for p in paper.publications])
        for paper in catalogue().papers
    }
    told = references(papers)
    assert len(told) >= 4
    assert all(r"\emph{" in text and " 20" in text and " and " in text for text in told)
    assert bibtex(papers).count("@") == len(told)
