"""How many changes of meaning the evidence of runs tells from the statement, as Markdown.

The outcomes are those that ``cfl-verify mutate RUN --meaning`` stored in the runs.

    python -m verify.mutation.meaning_page RUN ... > docs/meaning.md
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from trials.run.directory import find_run
from verify import session
from verify.evidence import Verdict
from verify.mutation.outcomes import CAUGHT, FALSE
from verify.mutation.page import plain, share
from verify.papers import Catalogue, catalogue
from verify.stored import claim_documents, read_scores

#: The outcomes of a claim as they are stored.
Document = Mapping[str, Any]

_HEAD = """\
# Changes of meaning

`cfl-verify mutate RUN --meaning` puts another symbol of the same range into each supported
statement, drops a symbol or a factor, inserts a count as a factor, or takes the largest term for a
sum. The claim's own procedure decides the changed statement. *Caught* are those that lost their
support: they are refuted, or the evidence leaves them open. A change that keeps it is tried by
other oracles (`docs/mutation.md`): *missed* are those that one of them refutes, *true here* those
that hold there, *open* those of which neither is shown. *Equivalent* are inserted counts that the
claim does not vary, where a hidden constant makes up for them. Changes that are nowhere below the
stated bound ask for less. *Not tried* are refused by the procedure.

`python -m verify.mutation.meaning_page RUN` writes this page from one run. It has {claims} claims
with {false:,} false changes, of which {caught:,} are caught ({share}).
"""
_COLUMNS = ("true here", "open", "equivalent", "asks less", "not tried")
_CONDITIONS = """\
## Conditions

A condition is dropped, or has another symbol. It is tried where only the changed statement speaks,
and it is false where the bound fails there. *Caught* are refuted in cells near the condition's edge
or in some 80 far outside, in which the claim's exhibited constants keep their values. *Missed* are
refuted only in 12 control places, which have no part in the choice of the others, or by a search
with four times the budget. *True without* hold in all of them. *Not tried* have no such cell: most
of them ask for more than the printed condition. The conditions of {tried} claims are tried in some
cell, those of {none} claims in none.
"""
#: Reasons that differ in their numbers alone, each with one sentence for all.
_CAUSES = (
    (
        "equal at every place",
        "The changed term has no weight: both bounds are one number wherever "
        "the conditions let the claim be tried",
    ),
    (
        "supported as well",
        "The verdict is about all cells or points together, so that no further cell can be asked",
    ),
    (
        "asks for",
        "The cell in which the change asks for most wants more trials than a scan may draw",
    ),
    (
        "SUPPORTED TO",
        "It holds in the cell in which it asks for most, but for failures that are "
        "rarer than its trials show",
    ),
    ("CPU seconds were too few", "A scan has too few CPU seconds for its cells"),
    ("INCONCLUSIVE", "The trials of the cell in which it asks for most do not decide"),
    ("VACUOUS", "The changed statement says nothing in the cell in which it asks for most"),
    (
        "not refuted there",
        "It is below the sharper statement somewhere, and no trial refutes it there",
    ),
    (
        "statement itself fails|trials fail",
        "The cell in which it asks for most breaks the statement or its trials",
    ),
    ("supported with", "The claim supports its constant with the value zero"),
    ("nowhere below", "It is nowhere below a sharper statement that has a proof or a claim"),
    ("limits in every cell", "The limits lie below it in every cell of the claim"),
    (
        "at every place of the claim",
        "The claim does not vary the inserted symbol, and a hidden constant makes up for it",
    ),
    ("holds with", "The limits lie below it in the cell in which it asks for most"),
    ("of the stated bound at", "The cell in which it asks for most cannot be simulated"),
)


_NOT_REACHED = """\
## Not reached

Supported claims of the run that trials decide, and of which the scan holds no outcome. It goes from
claim to claim and keeps what it has, so that the same command goes on with these.
"""
#: The changes of each kind of document, in words.
_CHANGES = {"meaning": "formulas", "conditions": "conditions"}


def meaning_page(
    found: Mapping[str, Document],
    conditions: Mapping[str, Document],
    known: Catalogue,
    lacking: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """The page for the outcomes of some claims: of their formulas, and of their conditions.

    ``lacking`` names for each kind of changes the claims of which a scan holds no outcome.

    Examples
    --------
    >>> judged = [{"mutant": "term a: k for d", "outcome": "refuted", "why": ""}]
    >>> found = {"ifca.eq3": {"procedure": "Search", "judged": judged}}
    >>> meaning_page(found, {}, catalogue()).splitlines()[-1]
    '* `ifca.eq3`: term a: k for d.'
    """
    false, caught = (_count(found, outcomes) for outcomes in (FALSE, CAUGHT))
    part = share(caught, false)
    return "\n".join(
        [
            _HEAD.format(claims=len(found), false=false, caught=caught, share=part),
            *_table(found, known),
            "",
            *_conditions(conditions, known),
            *_not_reached(lacking or {}),
            "## Claims that tell less than 70 % apart\n",
            *_weak(found),
            "\n## Missed\n",
            *(_each("survived", found) + _each("unseen", found) or ["There are none."]),
            *_by_cause("Open", "open", found),
            *_by_cause("True here", "true here", found),
            *_by_cause("Equivalent", "equivalent", found),
            "\n## Caught\n",
            *_names(found, CAUGHT),
            "",
        ]
    )


def _count(found: Mapping[str, Document], outcomes: Collection[str]) -> int:
    return sum(j["outcome"] in outcomes for doc in found.values() for j in doc["judged"])


def _table(found: Mapping[str, Document], known: Catalogue) -> Iterator[str]:
    """Counts by paper and procedure."""
    titles = {paper.id: paper.title for paper in known.papers}
    head = ("paper", "procedure", "claims", "false", "caught", "share", *_COLUMNS)
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    of = {claim: (known[claim].statement.paper, doc["procedure"]) for claim, doc in found.items()}
    for paper, procedure in sorted(set(of.values())):
        documents = {c: doc for c, doc in found.items() if of[c] == (paper, procedure)}
        false, caught = (_count(documents, outcomes) for outcomes in (FALSE, CAUGHT))
        rest = (_count(documents, [column]) for column in _COLUMNS)
        counts = (len(documents), false, caught, share(caught, false), *rest)
        yield f"| {titles[paper]} | {procedure} | " + " | ".join(map(str, counts)) + " |"


def _conditions(found: Mapping[str, Document], known: Catalogue) -> Iterator[str]:
    """The table of changed conditions and the needless ones, nothing where there are none."""
    if not found:
        return
    tried = {c for c, doc in found.items() if any(_tried(j) for j in doc["judged"])}
    yield _CONDITIONS.format(tried=len(tried), none=len(found) - len(tried))
    rows = list(_table(found, known))
    yield from (row.replace("true here", "true without") for row in rows)
    for outcomes, words in (
        (CAUGHT, "Dropped conditions that are needed (caught)"),
        (["true here"], "Dropped conditions that are not needed where they are tried"),
    ):
        yield f"\n{words}:\n"
        yield from _names(found, outcomes, dropped=True) or ["There are none."]
    yield "\nMissed:\n"
    yield from _names(found, ["survived"]) or ["There are none."]
    yield ""


def _not_reached(lacking: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The section of the claims without an outcome, nothing where every claim has one."""
    if any(lacking.values()):
        yield _NOT_REACHED
        for kind, names in lacking.items():
            if names:
                listed = ", ".join(f"`{name}`" for name in names)
                yield f"* {_CHANGES[kind].capitalize()} of {len(names)} claims: {listed}."
        yield ""


def _tried(judged: Mapping[str, Any]) -> bool:
    return judged["outcome"] not in ("not tried", "asks less")


def _names(
    found: Mapping[str, Document], outcomes: Collection[str], *, dropped: bool = False
) -> list[str]:
    """The changes with some outcomes, one line a claim: all, or the whole conditions alone."""
    lines = []
    for claim, doc in found.items():
        names = [j["mutant"] for j in doc["judged"] if j["outcome"] in outcomes]
        if dropped:
            whole = re.compile(r"condition ([^:]*): dropped")
            names = [of[1] for name in names if (of := whole.fullmatch(name))]
        if names:
            lines.append(f"* `{claim}`: {'; '.join(map(plain, names))}.")
    return lines


def _weak(found: Mapping[str, Document]) -> list[str]:
    """Claims with few caught changes among those that are false or open."""
    lines = []
    for claim, doc in found.items():
        n = Counter(j["outcome"] for j in doc["judged"])
        caught, asked = (sum(n[o] for o in out) for out in (CAUGHT, (*FALSE, "open")))
        if caught < 0.7 * asked:
            lines.append(f"* `{claim}`: {caught} of {asked} that are false or open.")
    return lines or ["There are none."]


def _each(outcome: str, found: Mapping[str, Document]) -> list[str]:
    """Every change of one outcome with its reason."""
    return [
        f"* `{claim}`, {plain(j['mutant'])}: {plain(j['why'])}."
        for claim, doc in found.items()
        for j in doc["judged"]
        if j["outcome"] == outcome
    ]


def _by_cause(title: str, outcome: str, found: Mapping[str, Document]) -> Iterator[str]:
    """A section with every change of one outcome, those of one cause together."""
    yield f"\n## {title}\n"
    causes: dict[str, dict[str, list[str]]] = {}
    for claim, doc in found.items():
        for j in doc["judged"]:
            if j["outcome"] == outcome:
                names = causes.setdefault(_cause(j["why"]), {}).setdefault(claim, [])
                names.append(plain(j["mutant"]))
    if not causes:
        yield "There are none."
    for cause, claims in sorted(causes.items()):
        yield f"{cause} ({sum(map(len, claims.values()))}):\n"
        yield from (f"* `{claim}`: {'; '.join(names)}." for claim, names in claims.items())
        yield ""


def _cause(why: str) -> str:
    """One sentence for a reason, the reason itself where there is none."""
    return next((words for pattern, words in _CAUSES if re.search(pattern, why)), plain(why))


def main(runs: Sequence[str]) -> None:
    """Print the page of some runs."""
    found: dict[str, dict[str, Document]] = {kind: {} for kind in _CHANGES}
    supported: dict[str, None] = {}
    for run in runs:
        store, _ = session.open_run(find_run(run), readonly=True)
        with store:
            decided = claim_documents(store)
            supported |= dict.fromkeys(name for name, d in decided.items() if _by_trials(d))
            for kind, documents in found.items():
                stored = read_scores(store, kind)
                documents |= {name: d for name, d in stored.items() if not d.get("part")}
    lacking = {kind: [n for n in supported if n not in docs] for kind, docs in found.items()}
    meaning, conditions = ({n: d for n, d in f.items() if d["judged"]} for f in found.values())
    print(meaning_page(meaning, conditions, catalogue(), lacking), end="")


def _by_trials(decided: Document) -> bool:
    """Whether a claim is supported, and by trials in cells."""
    evidence = decided["evidence"]
    return evidence["verdict"] == Verdict.SUPPORTED and bool(evidence["cells"])


if __name__ == "__main__":
    main(sys.argv[1:])
