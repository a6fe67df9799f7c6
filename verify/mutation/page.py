"""How many false statements the evidence of a run refutes, as a page of Markdown.

The scores are those that ``cfl-verify mutate RUN`` stored in the run.  Samples are left out.

    python -m verify.mutation.page RUN > docs/mutation.md
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from trials.run.directory import find_run
from verify import session
from verify.mutation.mutants import CONDITIONS
from verify.mutation.outcomes import CAUGHT, FALSE
from verify.papers import Catalogue, catalogue
from verify.stored import read_scores

#: A score as it is stored.
Document = Mapping[str, Any]

_HEAD = """\
# Mutation of statements

`cfl-verify mutate` changes each supported statement in one exponent, factor, term, failure
probability, quantifier or condition. It decides the changed statement again, on the stored trials
where they are enough. *False* counts the changes that ask for more than the paper and are not
shown to be true where they are tried. *Caught* are those that lost their support. *Refuted* are
those of them that are shown to be false. The evidence leaves the others open, so that some may be
true. *True here* are established by limits in every cell or by a search with four times the budget.
*Too few trials* cannot be told from the original, which is supported only down to some probability
too. *Not tried* are refused by the procedure. Changes that follow from the original are not shown.

The `mutation` task writes this page with `python -m verify.mutation.page RUN`. This one is for the
profile {profile}: {claims} claims, {false:,} false statements, {caught:,} caught ({share}), of
which {refuted:,} are refuted.
"""

_CONDITIONS = """\
## Conditions

A weaker condition is tried in new cells, or at points of a larger domain, where only the changed
statement speaks. Only a refutation shows there that the condition is needed, so that these changes
have no score. *Dropped* includes "for every hidden constant, not for one".

"""

_SURVIVORS = """\
## Survivors

"""


def page(scores: Mapping[str, Document], known: Catalogue, profile: str) -> str:
    """The page for the scores of a run, by claim.

    Examples
    --------
    >>> judged = [{"kind": "factor", "outcome": "refuted", "mutant": "term a: times 1/4"}]
    >>> score = {"procedure": "Search", "n_mutants": 1, "judged": judged}
    >>> print(page({"ifca.eq3": score}, catalogue(), "quick").splitlines()[12])
    profile quick: 1 claims, 1 false statements, 1 caught (100.0 %), of
    """
    whole = {name: s for name, s in scores.items() if len(s["judged"]) == s["n_mutants"] > 0}
    papers = {paper.id: paper.title for paper in known.papers}
    rows = [
        (papers[known[name].statement.paper], str(s["procedure"]), name, j)
        for name, s in whole.items()
        for j in s["judged"]
    ]
    scored = [row for row in rows if row[3]["kind"] not in CONDITIONS]
    conditions = [row for row in rows if row[3]["kind"] in CONDITIONS]
    false, caught = (sum(j["outcome"] in out for *_, j in scored) for out in (FALSE, CAUGHT))
    part = share(caught, false)
    refuted = sum(j["outcome"] == "refuted" for *_, j in scored)
    head = _HEAD.format(profile=profile, claims=len(whole), false=false, caught=caught, share=part,
                        refuted=refuted)  # fmt: skip
    return "\n".join(
        [
            head,
            _table("paper", scored, lambda row: row[0]),
            _table("procedure", scored, lambda row: row[1]),
            _table("change", scored, lambda row: row[3]["kind"]),
            _CONDITIONS + _condition_table(conditions),
            _SURVIVORS + _survivors(scored),
        ]
    )


_Row = tuple[str, str, str, Document]


def _table(title: str, rows: Sequence[_Row], of: Callable[[_Row], str]) -> str:
    """Counts of outcomes by paper, procedure or kind, in the order of first occurrence."""
    lines = [
        f"| {title} | false | caught | share | refuted | true here | too few trials | not tried |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in dict.fromkeys(of(row) for row in rows):
        n = Counter(row[3]["outcome"] for row in rows if of(row) == name)
        false, caught = (sum(n[o] for o in out) for out in (FALSE, CAUGHT))
        rest = (n[o] for o in ("refuted", "true here", "few trials", "not tried"))
        shown = (false, caught, share(caught, false), *rest)
        lines.append(f"| {name} | " + " | ".join(map(_cell, shown)) + " |")
    return "\n".join(lines) + "\n"


def _condition_table(rows: Sequence[_Row]) -> str:
    """Counts of weaker conditions by paper and change."""
    lines = [
        "| paper | change | needed | true without | undecided | not tried |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for paper, change in dict.fromkeys((row[0], _change(row)) for row in rows):
        n = Counter(r[3]["outcome"] for r in rows if (r[0], _change(r)) == (paper, change))
        shown = (n["refuted"], n["true here"], n["few trials"], n["not tried"])
        lines.append(f"| {paper} | {change} | " + " | ".join(map(_cell, shown)) + " |")
    return "\n".join(lines) + "\n"


def _change(row: _Row) -> str:
    return str(row[3]["mutant"]).rpartition(": ")[2]


def _survivors(rows: Iterable[_Row]) -> str:
    """Every false statement that kept its support, with the reason."""
    kept = [
        f"* `{name}`, {j['mutant']} ({j['outcome']}): {plain(j.get('why', ''))}."
        for _, _, name, j in rows
        if j["outcome"] in FALSE and j["outcome"] not in CAUGHT
    ]
    return "\n".join(kept or ["There are none."]) + "\n"


def plain(text: str) -> str:
    """Text of a mutant in Markdown."""
    return text.rstrip(".").replace("|", r"\|").replace("*", r"\*").replace("_", r"\_")


def share(part: int, whole: int) -> str:
    """A share in per cent."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def main(run: str) -> None:
    """Print the page of a run."""
    store, config = session.open_run(find_run(run), readonly=True)
    with store:
        scores = {
            name: document
            for name, document in read_scores(store, "power").items()
            if document["profile"] == config.profile
        }
    print(page(scores, catalogue(), config.profile), end="")


if __name__ == "__main__":
    main(sys.argv[1])
