"""How verdicts are printed: one line each while a run goes on, a table and a tally at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape

from bounds.readable import readable_text
from verify.cli import exits
from verify.cli.screen import broken, columns_of, pack, paint, paragraph, say, table
from verify.evidence import Verdict, counted_mark
from verify.session import Outcome


def mark(document: Mapping[str, Any]) -> str:
    """The word or words for a verdict.  The evidence may hold a finer mark."""
    evidence = document["evidence"]
    return str(evidence.get("mark") or evidence["verdict"])


def exit_code(outcomes: Sequence[Outcome], own: Collection[str] = ()) -> int:
    """0 all as expected, 1 some verdict is not, 2 nothing worse than an inconclusive claim.

    A claim that failed in one of the user's ``own`` files, by their names, is an error of input: 3.
    """
    unexpected = [o for o in outcomes if not as_expected(o)]
    errors = [str(error) for o in outcomes if (error := o.document["evidence"].get("error"))]
    if any(f"({name}, line " in error for error in errors for name in own):
        return exits.USAGE
    if errors or any(o.verdict != Verdict.INCONCLUSIVE for o in unexpected):
        return exits.UNEXPECTED
    return exits.INCONCLUSIVE if unexpected else exits.EXPECTED


def as_expected(outcome: Outcome) -> bool:
    """Whether a claim was decided, and its verdict is the catalogue's."""
    if outcome.document["evidence"].get("error"):
        return False
    return bool(outcome.verdict == outcome.expected)


def worst_cell(evidence: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The live cell whose observed value comes closest to the bound, or exceeds it most."""
    cells = [c for c in evidence["cells"] if c["observed"] is not None and not c.get("void")]
    if not cells:
        return None
    found: Mapping[str, Any] = max(
        cells, key=lambda c: c["ratio"] if c["ratio"] is not None else -1.0
    )
    return found


def fields(outcome: Outcome) -> list[str]:
    """``claim, trials, failed, observed +- se, bound, ratio, VERDICT`` for the worst cell."""
    evidence = outcome.document["evidence"]
    parts = [
        f"{outcome.selection:<36}",
        f"{evidence['n_trials']:>9,}",
        f"failed {evidence['n_failed']}",
    ]
    worst = worst_cell(evidence)
    if worst is not None:
        spread = f" ± {worst['se']:.2g}" if worst["se"] is not None else ""
        parts.append(f"observed {worst['observed']:.3g}{spread}")
        if worst["bound"] is not None:
            parts.append(f"bound {worst['bound']:.3g}")
        if worst["ratio"] is not None:
            parts.append(f"ratio {worst['ratio']:.2g}")
    if void := sum(bool(c.get("void")) for c in evidence["cells"]):
        parts.append(f"void {void}/{len(evidence['cells'])}")
    parts.append(mark(outcome.document))
    if outcome.document.get("identity"):
        parts.append("(identity of formulas)")
    if error := evidence.get("error"):
        parts.append(f"(failed: {error})")
    elif not as_expected(outcome):
        parts.append(f"(expected {outcome.expected})")
    weaker = (outcome.document.get("own_values") or {}).get("weaker", ())
    if weaker:
        parts.append(f"(weaker test: {'; '.join(weaker)})")
    return parts


def print_line(outcome: Outcome, to: Console) -> None:
    """One claim's verdict.  On a narrow terminal it continues in indented lines."""
    columns = columns_of(to)
    parts = fields(outcome)
    if columns is not None and len("  ".join(parts)) > columns:
        parts[:2] = [outcome.selection, parts[1].strip()]
    verdict = mark(outcome.document)
    for line in pack(parts, columns):
        before, found, after = line.rpartition(verdict)
        shown = escape(before) + paint(verdict) + escape(after) if found else escape(line)
        say(shown, markup=True, to=to)


def print_closing(outcomes: Sequence[Outcome], to: Console) -> None:
    """All verdicts, the unexpected ones last, and how many there are of each."""
    if not outcomes:
        return
    ordered = sorted(outcomes, key=lambda o: not as_expected(o))
    rows = []
    for outcome in ordered:
        evidence = outcome.document["evidence"]
        verdict = mark(outcome.document)
        if not as_expected(outcome):
            verdict += f" (expected {outcome.expected})"
        summary = readable_text(evidence["summary"])
        rows.append((outcome.selection, verdict, f"{evidence['n_trials']:,}", summary))
    say(to=to)
    say("Verdicts", to=to)
    for line in _fit(rows, columns_of(to)):
        say(_colour_first(line, ordered), markup=True, to=to)
    say(to=to)
    for line in tally(outcomes):
        paragraph(line, to=to)


def _fit(rows: Sequence[Sequence[str]], columns: int | None) -> Iterator[str]:
    """The table, or one claim a paragraph where not even two columns fit."""
    widest = [max(len(row[i]) for row in rows) for i in (0, 1)]
    if columns is None or sum(widest) + 2 <= columns:
        yield from table(("claim", "verdict", "trials", "in short"), rows, right={2})
        return
    for row in rows:
        yield from broken(row[0], columns)
        yield from ("    " + line for line in broken(row[1], columns - 4))


def _colour_first(line: str, outcomes: Sequence[Outcome]) -> str:
    """The line with the verdict that it shows in its colour."""
    for verdict in sorted({mark(o.document) for o in outcomes}, key=len, reverse=True):
        before, found, after = line.partition(f"  {verdict}")
        if found:
            return f"{escape(before)}  {paint(verdict)}{escape(after)}"
    return escape(line)


def tally(outcomes: Sequence[Outcome]) -> list[str]:
    """How many verdicts of each word, and which ones are not as expected."""
    apart = [o for o in outcomes if o.document.get("identity")]
    counts = Counter(counted_mark(mark(o.document)) for o in outcomes if o not in apart)
    words = ", ".join(f"{n} {word}" for word, n in sorted(counts.items(), key=lambda x: -x[1]))
    unexpected = [o for o in outcomes if not as_expected(o)]
    n = len(outcomes) - len(apart)
    lines = [f"{n} claim{'s' * (n != 1)}: {words}" if n else "no claim"]
    if apart:
        lines[0] += f"; and {len(apart)} identit{'ies' if len(apart) > 1 else 'y'} of formulas"
    if not unexpected:
        return [f"{lines[0]}; all as expected"]
    lines.append(
        f"{len(unexpected)} not as expected: " + ", ".join(o.selection for o in unexpected)
    )
    return lines


def as_data(outcome: Outcome) -> dict[str, Any]:
    """One verdict as plain data for ``--json``."""
    evidence = outcome.document["evidence"]
    own = outcome.document.get("own_values") or {}
    return {
        "claim": outcome.selection,
        "verdict": str(outcome.verdict),
        "mark": mark(outcome.document),
        "identity": outcome.document.get("identity", ""),
        "expected": str(outcome.expected),
        "as_expected": as_expected(outcome),
        "summary": readable_text(evidence["summary"]),
        "n_trials": evidence["n_trials"],
        "n_failed": evidence["n_failed"],
        "level": evidence["level"],
        "worst_cell": worst_cell(evidence),
        "weaker": list(own.get("weaker", ())),
        "dropped_cells": len(own.get("dropped", ())),
        "replay": list(outcome.document.get("replay", ())),
    }
