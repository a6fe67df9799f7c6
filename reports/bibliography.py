"""The papers of a run as references, told in words from their BibTeX entries."""

from __future__ import annotations

import re
from collections.abc import Mapping

from reports.characters import Latex
from reports.schema import Paper
from reports.text import enumerate_items, escape_text, sentence

_FIELD = re.compile(r"(\w+)\s*=\s*\{((?:[^{}]|\{[^{}]*\})*)\}")


def bibtex(papers: Mapping[str, Paper]) -> str:
    """All entries, for a ``.bib`` file."""
    entries = (entry.strip() for paper in papers.values() for _, entry in paper.publications)
    return "\n\n".join(entries) + "\n"


def references(papers: Mapping[str, Paper]) -> list[Latex]:
    """A reference for each publication: authors, title, where, year.

    An entry that gives neither authors nor title is named by its label.
    """
    return [reference(*entry) for paper in papers.values() for entry in paper.publications]


def reference(label: str, entry: str) -> Latex:
    r"""One BibTeX entry in words.

    >>> entry = "@article{a, author={Doe, Jo and Poe, Al}, title={T}, year={2020}}"
    >>> print(reference("A 2020", entry))
    Jo Doe and Al Poe. \emph{T}. 2020.
    """
    found = {name.lower(): " ".join(value.split()) for name, value in _FIELD.findall(entry)}
    names = [_person(name) for name in found.get("author", "").split(" and ") if name]
    place = [found.get("journal") or found.get("booktitle") or "", found.get("volume", "")]
    where = " ".join(part for part in place if part)
    pages = found.get("pages", "").replace("--", "–")
    published = ", ".join(part for part in (where, pages and f"pp. {pages}") if part)
    parts = [
        enumerate_items([str(escape_text(name)) for name in names]),
        rf"\emph{{{escape_text(found['title'])}}}" if "title" in found else "",
        escape_text(", ".join(part for part in (published, found.get("year", "")) if part)),
    ]
    if not names and "title" not in found:
        return Latex(sentence(escape_text(label)))
    return Latex(" ".join(sentence(part) for part in parts if part))


def _person(name: str) -> str:
    """``Doe, Jo`` as ``Jo Doe``."""
    last, comma, first = name.partition(",")
    return f"{first.strip()} {last.strip()}" if comma else name.strip()
