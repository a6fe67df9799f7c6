"""Which claims a method that does nothing would pass, as a table in Markdown.

The verdicts and void cells are those that the runs stored.

    python -m verify.mutation.placebo_page RUN ... > docs/placebos.md
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from trials.run.directory import find_run
from verify import session
from verify.evidence import Verdict
from verify.papers import Catalogue, catalogue
from verify.procedures.base import PROFILES
from verify.stored import claim_documents

#: A claim's evidence as it is stored.
Document = Mapping[str, Any]

#: Verdicts on which placebos have a say.
_ASKED = {str(v) for v in (Verdict.SUPPORTED, Verdict.INCONCLUSIVE, Verdict.VACUOUS)}
_HEAD = (
    "paper",
    "procedure",
    "claims",
    "with placebos",
    "placebos",
    "cells",
    "void",
    "in no cell",
    "in some",
    "in all",
)


def placebo_page(found: Mapping[str, Document], known: Catalogue, profile: str) -> str:
    """The table for the evidence of some claims: those that trials decide, by paper and procedure.

    The last three columns count the claims with void cells.
    """
    counts: dict[tuple[str, str], list[int]] = {}
    for name, document in found.items():
        procedure = known[name].build(PROFILES[profile])
        evidence = document["evidence"]
        if procedure.experiment() is None or evidence["verdict"] not in _ASKED:
            continue
        key = known[name].statement.paper, type(procedure).__name__
        row = counts.setdefault(key, [0] * 8)
        placebos, cells = known.placebos_of(name), evidence["cells"]
        row[0] += 1
        if not placebos:
            continue
        void = sum(bool(cell.get("void")) for cell in cells)
        whole = evidence["verdict"] == Verdict.VACUOUS
        kind = 7 if whole else 6 if void else 5
        for i, more in enumerate((1, len(placebos), len(cells), len(cells) if whole else void)):
            row[1 + i] += more
        row[kind] += 1
    titles = {paper.id: paper.title for paper in known.papers}
    rows = [
        f"| {titles[paper]} | {procedure} | " + " | ".join(map(str, row)) + " |"
        for (paper, procedure), row in sorted(counts.items())
    ]
    return "\n".join(["| " + " | ".join(_HEAD) + " |", "|" + " --- |" * len(_HEAD), *rows, ""])


def main(runs: list[str]) -> None:
    """Print the table of some runs.  A later run's evidence counts where two have one claim's."""
    found: dict[str, Document] = {}
    profile = "quick"
    for run in runs:
        store, config = session.open_run(find_run(run), readonly=True)
        with store:
            found |= claim_documents(store)
        profile = config.profile
    print(placebo_page(found, catalogue(), profile), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
