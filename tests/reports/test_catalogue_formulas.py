"""Every formula of the catalogue, and every formula in its prose, compiles by both engines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from bounds.render import latex
from bounds.statement import Statement
from reports.characters import MACROS
from reports.engines import Engine, latex_missing, typst_pdf, typst_source
from reports.text import escape_text, paragraphs
from tests.reports.formulas import check_formulas
from verify.papers import catalogue

missing = latex_missing()
ENGINES = [
    "embedded",
    pytest.param("latex", marks=pytest.mark.skipif(bool(missing), reason=f"needs {missing}")),
]
PAPERS = catalogue().papers
STATEMENTS: tuple[Statement, ...] = tuple(s for paper in PAPERS for s in paper.statements)


def prose() -> Iterator[str]:
    """Every text of the catalogue that a report prints."""
    for statement in STATEMENTS:
        yield from (statement.title, statement.source, statement.reading)
        yield from (a.name for a in statement.assumptions)
        yield from (a.note for a in statement.assumptions)
        yield from (c.meaning for c in statement.constants)
    for finding in (f for paper in PAPERS for f in paper.all_findings):
        fields = asdict(finding)
        yield from (str(fields[key]) for key in ("where", "printed", "found", "corrected"))
    for publication in (p for paper in PAPERS for p in paper.publications):
        yield from (text for row in publication.notation.table for text in row)
    yield from (paper.data for paper in PAPERS)


def formulas() -> list[str]:
    """Every formula of the catalogue once: of statements, and between dollars in the prose."""
    found: list[str] = []
    for statement in STATEMENTS:
        found += [statement.latex(), statement.failure_latex(), statement.quantifiers]
        notation = statement.publication.notation
        found += [a.latex(notation) for a in statement.assumptions]
        found += [latex(c.symbol, notation) for c in statement.constants]
    for text in prose():
        found += re.findall(r"\$([^$]+)\$", text)
    return [source for source in dict.fromkeys(found) if source and "$" not in source]


def test_the_catalogue_has_formulas_to_check() -> None:
    assert len(STATEMENTS) >= 30
    assert len(formulas()) > 150


@pytest.mark.parametrize("engine", ENGINES)
def test_every_formula_of_the_catalogue_compiles(engine: Engine) -> None:
    assert check_formulas(formulas(), engine) == {}


def test_dollars_in_the_catalogue_come_in_pairs_and_enclose_math() -> None:
    broken = [text for text in prose() if "\\$" in escape_text(text) or text.count("$") % 2]
    assert broken == []


def test_the_prose_of_the_catalogue_compiles_and_has_every_character(tmp_path: Path) -> None:
    texts = "\n\n".join(paragraphs(text) for text in prose() if text)
    source = f"{MACROS}\n\\begin{{document}}\n{texts}\n\\end{{document}}"
    typst = typst_source(source)
    assert "U+" not in typst  # no character without a LaTeX spelling
    assert typst_pdf(typst, tmp_path, 0).startswith(b"%PDF")


def test_titles_and_sources_read_without_tex() -> None:
    """Terminals print them as they are: ``n²`` for a power, ``N_j`` for an index."""
    raw = re.compile(r"[\^\\_{}]|[<>]=|--")
    words = {text for s in STATEMENTS for text in (s.title, s.source)}
    assert [
        text for text in words if raw.search(re.sub(r"\$[^$]*\$|\b[A-Za-z]_\w\b", "", text))
    ] == []
