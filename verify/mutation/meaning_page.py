"""How many changes of meaning the evidence of runs tells from the statement, as Markdown.

The outcomes are those that ``cfl-verify mutate RUN --meaning`` stored in the runs.

    python -m verify.mutation.meaning_page RUN ... > docs/meaning.md
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from trials.run.directory import find_run
from verify import session
from verify.mutation.mutants import CONDITIONS
from verify.mutation.page import plain, share
from verify.mutation.score import CAUGHT, FALSE
from verify.papers import Catalogue, catalogue
from verify.stored import read_scores

#: The outcomes of a claim as they are stored.
Document = Mapping[str, Any]

_HEAD = """\
# Changes of meaning

`cfl-verify mutate RUN --meaning` puts another symbol of the same range into each supported
statement, drops a symbol or a factor, or takes the largest term for a sum. The claim's own
procedure decides the changed statement. *Caught* are those that lost their support. A change that
keeps it is tried in the cell in reach in which it asks for most: *missed* are those that are
refuted there, *true here* those that hold there, *open* those of which neither is shown. Changes
that are nowhere below the stated bound ask for less. *Not tried* are refused by the procedure.

`python -m verify.mutation.meaning_page RUN ...` writes this page. This one has {claims} claims.
"""
_COLUMNS = ("true here", "open", "asks less", "not tried")
_CONDITIONS = """\

## Conditions

A condition with another symbol is tried where only the changed statement speaks. It is false where
the bound fails there. *Caught* are refuted in cells near the condition's edge, which the claim's
procedure makes. *Missed* are refuted only in one of 12 places far outside, of up to 1,500 drawn.
*Not tried* have no such cell: most of them ask for more than the printed condition.

| paper | procedure | false | caught | share | true without | open | not tried |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""


def meaning_page(found: Mapping[str, Document], known: Catalogue) -> str:
    """The page for the outcomes of some claims.

    Examples
    --------
    >>> judged = [{"mutant": "term a: k for d", "outcome": "refuted", "why": ""}]
    >>> text = meaning_page({"ifca.eq3": {"procedure": "Search", "judged": judged}}, catalogue())
    >>> text.splitlines()[-1]
    '* `ifca.eq3`: term a: k for d.'
    """
    named = {paper.id: paper.title for paper in known.papers}
    keys = sorted((known[claim].statement.paper, doc["procedure"]) for claim, doc in found.items())
    conditions = _conditions(found, known)
    found = {claim: _without(doc) for claim, doc in found.items()}
    rows = []
    for paper, procedure in dict.fromkeys(keys):
        documents = [
            doc
            for claim, doc in found.items()
            if (known[claim].statement.paper, doc["procedure"]) == (paper, procedure)
        ]
        n = Counter(j["outcome"] for doc in documents for j in doc["judged"])
        caught, false = (sum(n[o] for o in out) for out in (CAUGHT, FALSE))
        counts = (len(documents), false, caught, share(caught, false), *(n[c] for c in _COLUMNS))
        rows.append(f"| {named[paper]} | {procedure} | " + " | ".join(map(str, counts)) + " |")
    head = ("paper", "procedure", "claims", "false", "caught", "share", *_COLUMNS)
    return "\n".join(
        [
            _HEAD.format(claims=len(found)),
            "| " + " | ".join(head) + " |",
            "|" + " --- |" * len(head),
            *rows,
            "",
            *conditions,
            "## Claims that tell less than 70 % apart\n",
            *_weak(found),
            *_reasons("Missed", ("survived", "unseen"), found),
            *_reasons("Open", ("open",), found),
            *_reasons("True here", ("true here",), found),
            "\n## Caught\n",
            *(
                f"* `{claim}`: {'; '.join(map(plain, names))}."
                for claim, doc in found.items()
                if (names := [j["mutant"] for j in doc["judged"] if j["outcome"] in CAUGHT])
            ),
            "",
        ]
    )


def _without(doc: Document) -> Document:
    """The outcomes of a claim without those of its conditions."""
    return {**doc, "judged": [j for j in doc["judged"] if j.get("kind") not in CONDITIONS]}


def _conditions(found: Mapping[str, Document], known: Catalogue) -> list[str]:
    """The table of changed conditions, nothing where there are none."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for claim, doc in found.items():
        changed = [j["outcome"] for j in doc["judged"] if j.get("kind") in CONDITIONS]
        if changed:
            key = known[claim].statement.paper, str(doc["procedure"])
            counts.setdefault(key, Counter()).update(changed)
    titles = {paper.id: paper.title for paper in known.papers}
    rows = []
    for (paper, procedure), n in sorted(counts.items()):
        caught, false = (sum(n[o] for o in out) for out in (CAUGHT, FALSE))
        shown = (false, caught, share(caught, false), n["true here"], n["open"], n["not tried"])
        rows.append(f"| {titles[paper]} | {procedure} | " + " | ".join(map(str, shown)) + " |")
    return [_CONDITIONS + "\n".join(rows), ""] if rows else []


def _weak(found: Mapping[str, Document]) -> list[str]:
    """Claims with few caught changes among those that are false or open."""
    lines = []
    for claim, doc in found.items():
        n = Counter(j["outcome"] for j in doc["judged"])
        caught, asked = (sum(n[o] for o in out) for out in (CAUGHT, (*FALSE, "open")))
        if caught < 0.7 * asked:
            lines.append(f"* `{claim}`: {caught} of {asked} that are false or open.")
    return lines or ["There are none."]


def _reasons(title: str, outcomes: Sequence[str], found: Mapping[str, Document]) -> list[str]:
    """A section with every change of some outcomes and the reason."""
    lines = [
        f"* `{claim}`, {plain(j['mutant'])}: {plain(j['why'])}."
        for claim, doc in found.items()
        for j in doc["judged"]
        if j["outcome"] in outcomes
    ]
    return [f"\n## {title}\n", *(lines or ["There are none."])]


def main(runs: Sequence[str]) -> None:
    """Print the page of some runs."""
    found: dict[str, Document] = {}
    for run in runs:
        store, _ = session.open_run(find_run(run), readonly=True)
        with store:
            found |= {n: d for n, d in read_scores(store, "meaning").items() if d["judged"]}
    print(meaning_page(found, catalogue()), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
