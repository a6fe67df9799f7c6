"""How much of a paper the claims cover: every assertion of the paper, with its claims or a reason.

A paper's folder holds ``coverage.toml``, one table for each line of the paper's reading list:

    [[line]]
    id = "odcl.lemma1"           # the name of the line
    source = "Lemma 1"           # its place in print
    says = "some lambda recovers every data set with ..."
    second = false               # true for a line of second rank
    claims = ["odcl.lemma1"]     # ids of the claims that try it
    reason = ""                  # why no claim tries it, where none does

``docs/coverage.md`` shows all lines of all papers.  This command writes it:

    python -m verify.coverage > docs/coverage.md
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from verify.claim import Claim
from verify.paper_files import read_toml
from verify.papers import Catalogue, Paper, catalogue

FILE = "coverage.toml"


class Line(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """An assertion of a paper, and the claims that try it.

    A line has claims, or a reason for having none.  It may have both: the reason then says which
    part of the line is not tried.
    """

    id: str
    source: str
    says: str
    second: bool = False
    claims: tuple[str, ...] = ()
    reason: str = ""


class _File(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    line: tuple[Line, ...]


def lines(paper: str) -> tuple[Line, ...]:
    """The lines of a paper of the suite, in the paper's order, empty for a paper without the file.

    Raises
    ------
    InvalidParameter
        When the file is no such list.  The message names the file and the place.
    """
    found = read_toml(paper, FILE, _File)
    return () if found is None else found.line


def problems(lines: Collection[Line], known: Collection[str]) -> Iterator[str]:
    """Name the faults of the lines.

    A line may lack both claims and a reason, name an unknown claim, or occur twice.

    ``known`` are the ids of all claims.
    """
    seen = set()
    for line in lines:
        if line.id in seen:
            yield f"{line.id}: the line occurs twice"
        seen.add(line.id)
        if not line.claims and not line.reason:
            yield f"{line.id}: give its claims, or the reason why none tries it"
        for name in line.claims:
            if name not in known:
                yield f"{line.id}: {name!r} is no claim"


def find_unlisted(paper: Paper, lines: Iterable[Line]) -> tuple[str, ...]:
    """Ids of the claims of a paper that no line names."""
    listed = {name for line in lines for name in line.claims}
    return tuple(claim.id for claim in paper.claims if claim.id not in listed)


def page(found: Catalogue) -> str:
    """The Markdown page with all lines of all papers that have a list."""
    listed = ((paper, lines(paper.id)) for paper in found.papers)
    return "\n".join([_HEAD, *(_section(paper, its, found) for paper, its in listed if its)])


_HEAD = """\
# Coverage

Each paper has a list of the assertions that it makes. This page shows every line of the lists. A
line shows the claims that try it and the verdict that each claim is expected to get, or the reason
why no claim tries it. A run may say more than SUPPORTED: PROVED where a certificate proves the
statement, and SUPPORTED TO r where the trials resolve failures down to the probability r only.
"Second" marks lines of second rank. `python -m verify.coverage` writes this page.
"""


def _section(paper: Paper, its: tuple[Line, ...], claims: Mapping[str, Claim]) -> str:
    covered = sum(bool(line.claims) for line in its)
    first = [line for line in its if not line.second]
    covered_first = sum(bool(line.claims) for line in first)
    rows = [
        f"| {line.id}{' (second)' if line.second else ''} | {_cell(line.source)} | "
        f"{_cell(line.says)} | {_claims(line, claims)} |"
        for line in its
    ]
    text = (
        f"## {paper.title}\n\n{covered} of {len(its)} lines have claims "
        f"({covered_first} of {len(first)} of first rank).\n\n"
        "| line | source | the paper says | claims |\n| --- | --- | --- | --- |\n"
    )
    text += "\n".join(rows) + "\n"
    if rest := find_unlisted(paper, its):
        names = ", ".join(_expect(name, claims) for name in rest)
        text += f"\n{len(rest)} further claims are on no line: {names}.\n"
    return text


def _claims(line: Line, claims: Mapping[str, Claim]) -> str:
    named = ", ".join(_expect(name, claims) for name in line.claims)
    return ". ".join(part for part in (named, _cell(line.reason)) if part)


def _expect(name: str, claims: Mapping[str, Claim]) -> str:
    return f"`{name}` {claims[name].expected}"


def _cell(text: str) -> str:
    """Text for a cell of a Markdown table: no line break, no column separator, no HTML."""
    one = " ".join(text.split()).rstrip(".")
    for character, written in (("|", "\\|"), ("<", "&lt;"), ("*", "\\*"), ("_", "\\_")):
        one = one.replace(character, written)
    return one


if __name__ == "__main__":
    print(page(catalogue()), end="")
