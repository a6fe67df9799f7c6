"""The report's pages about the whole run: summary, verdict tables, findings, environment."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from reports.characters import Latex
from reports.reading import VERDICTS, Tried, slug, slugs, verdict_word
from reports.schema import Finding, Paper, Summary, Symbols, Witness
from reports.tables import PrintedTable
from reports.text import (
    capital,
    code,
    enumerate_items,
    escape_text,
    formula,
    number,
    paragraphs,
    plural,
    prose,
    sentence,
)


def at_worst(claim: Tried) -> tuple[float | None, float | None, float | None]:
    """Observed value, bound and ratio of the worst cell, or else of the witness."""
    cell, witness = claim.worst, claim.evidence.witness
    if cell is not None:
        return cell.observed, cell.bound, cell.ratio
    if witness is not None:
        return witness.observed, witness.bound, None
    return None, None, None


def counted(mark: str) -> str:
    """The mark without its number or sizes."""
    mark = re.sub(r"^SUPPORTED TO .+", "SUPPORTED TO r", mark)
    return re.sub(r"^PROVED FOR .+", "PROVED FOR SIZES", mark)


def tally(claims: Sequence[Tried]) -> list[tuple[tuple[str, str], int]]:
    """How many claims have each verdict, as ((verdict, its mark without the number), count).

    ``SUPPORTED TO r`` and ``PROVED FOR SIZES`` are words of their own.  Identities of formulas
    are not counted.
    """
    counts = Counter(
        (claim.verdict, counted(claim.mark)) for claim in claims if not claim.claim.identity
    )

    def rank(item: tuple[tuple[str, str], int]) -> tuple[int, str]:
        (verdict, mark), _ = item
        return VERDICTS.index(verdict) if verdict in VERDICTS else len(VERDICTS), mark

    return sorted(counts.items(), key=rank)


def coarse_supports(claims: Sequence[Tried]) -> int:
    """How many claims the tally counts as ``SUPPORTED TO r``."""
    return dict(tally(claims)).get(("SUPPORTED", "SUPPORTED TO r"), 0)


def _first_five(claims: Sequence[Tried]) -> str:
    """The keys of the first five claims, and the number of the others."""
    names = enumerate_items([str(code(claim.key)) for claim in claims[:5]])
    more = f" and {number(len(claims) - 5)} more" if len(claims) > 5 else ""
    return f"{names}{more}"


def unfinished(pending: Sequence[str], n_planned: int) -> str:
    """A sentence on a run that was stopped or still goes on, empty for one that has ended."""
    if not pending:
        return ""
    has = "has" if len(pending) == 1 else "have"
    return (
        f"This run has not ended: {number(len(pending))} of {plural(n_planned, 'claim')} {has} no "
        f"verdict yet. {code('cfl-verify resume')} continues it. "
    )


def abstract(
    claims: Sequence[Tried], summary: Summary, pending: Sequence[str] = (), n_planned: int = 0
) -> Latex:
    """The numbers of claims, trials and verdicts, and the verdicts that are not expected ones.

    ``pending`` are the claims that the run has not decided, of ``n_planned`` ones.
    """
    if not claims:
        return Latex(unfinished(pending, n_planned) or "This run holds no claim yet.")
    words = enumerate_items(
        [f"{number(n)} {verdict_word(verdict, mark)}" for (verdict, mark), n in tally(claims)]
    )
    identities = sum(bool(claim.claim.identity) for claim in claims)
    trials = sum(claim.evidence.n_trials for claim in claims)
    failed = sum(claim.evidence.n_failed for claim in claims)
    surprising = [claim for claim in claims if claim.as_expected is False]
    parts = [
        f"{unfinished(pending, n_planned)}"
        f"{plural(len(claims), 'claim was', 'claims were')} tried with {plural(trials, 'trial')}"
        f" ({number(failed)} failed){f': {words}' if words else ''}."
    ]
    if identities:
        parts.append(
            f"{plural(identities, 'claim that compares', 'claims that compare')} two forms of one "
            f"formula {'is' if identities == 1 else 'are'} left out of these counts."
        )
    if lost := [claim for claim in claims if claim.evidence.error]:
        counts = "counts" if len(lost) == 1 else "count"
        parts.append(
            f"{plural(len(lost), 'claim')} ended with an error and {counts} as inconclusive: "
            f"{_first_five(lost)}."
        )
    if surprising:
        parts.append(f"Not as the catalogue expects: {_first_five(surprising)}.")
    elif any(claim.as_expected for claim in claims):
        parts.append("Every verdict is the one that the catalogue expects.")
    if summary.familywise_level is not None:
        parts.append(
            f"The family-wise error level of the batch is {number(summary.familywise_level)}."
        )
    if coarse := coarse_supports(claims):
        parts.append(
            f"{plural(coarse, 'supported claim rests', 'supported claims rest')} on the smallest "
            f"probability that this run resolves: {'its mark' if coarse == 1 else 'their mark'} "
            "names it."
        )
    if proved := sum(claim.evidence.grade.startswith("proved") for claim in claims):
        parts.append(f"{plural(proved, 'refutation is proved', 'refutations are proved')}.")
    parts.append("A verdict is only about the cells that were fixed before the run.")
    return Latex(" ".join(parts))


def date(text: str) -> str:
    """An ISO date and time in words, of a known zone as UTC.  Other text is returned unchanged."""
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.astimezone(UTC) if moment.tzinfo else moment
    except (ValueError, OverflowError):  # no date, or one at the edge of the calendar
        return text
    return f"{moment.day} {moment:%B %Y, %H:%M}{' UTC' if moment.tzinfo else ''}"


def _duration(seconds: float) -> str:
    if not seconds < 1e9:
        return f"{seconds:g} s"
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def environment(summary: Summary, engine: str) -> PrintedTable:
    """Seed, machine and software as a table."""
    seconds = summary.wall_seconds
    wall = "" if seconds is None else _duration(float(seconds))
    stored = sorted(summary.environment.items())
    versions = [(k, v) for k, v in stored if re.fullmatch(r"\d+(\.\w+)+", v)]

    def line(facts: Sequence[tuple[str, Any]]) -> str:
        return ", ".join(f"{k} {v}".strip() for k, v in facts if v not in (None, ""))

    facts = [
        ("run", line([("", summary.run_id), ("profile", summary.profile),
                      ("root seed", summary.seed)])),
        ("executor", line([("", summary.executor), ("jobs", summary.n_jobs)])),
        ("time", " to ".join(filter(None, (date(summary.started), date(summary.finished))))),
        ("wall time", wall),
        ("versions", line(versions)),
        ("machine", line([fact for fact in stored if fact not in versions])),
        ("digest of the stored blocks", summary.content_digest),
        ("report typeset by", engine),
    ]  # fmt: skip
    rows = [[escape_text(k), escape_text(v)] for k, v in facts if v]
    return PrintedTable(
        head=["item", "value"],
        rows=rows,
        align="ll",
        caption="Seed, machine and software.",
        label="environment",
    )


def notation(documents: Mapping[str, Symbols], papers: Mapping[str, Paper]) -> list[PrintedTable]:
    """One table of symbols for each paper of the run that has symbols.

    One letter may mean different things in two papers.
    """
    found = []
    for key in sorted(documents):
        rows = [[formula(symbol), prose(meaning)] for symbol, meaning in documents[key].symbols]
        title = str(escape_text(papers[key].title)) if key in papers else ""
        caption = f"Symbols of {title.rstrip('.')}." if title else "Symbols."
        if rows:
            found.append(
                PrintedTable(
                    head=["symbol", "meaning"],
                    rows=rows,
                    align="ll",
                    caption=caption,
                    label=f"symbols-{slug(key)}",
                )
            )
    return found


def data(papers: Mapping[str, Paper]) -> Latex:
    """The data-generating mechanisms of the run's papers, a paragraph each."""
    told = [str(prose(papers[key].data)) for key in sorted(papers) if papers[key].data]
    return Latex("\n\n".join(told))


SEVERITIES = {
    "statement": "Stated results that are false",
    "proof": "Steps of proofs that are false",
    "edge": "False in a unit or at an edge",
    "strong": "Sentences that are too strong",
    "slip": "Misprints and open points",
}
#: The severities that the first page prints finding by finding.  It counts the others.
HEADLINED = ("statement", "proof")


def _evidence(finding: Finding, claims: Mapping[str, Tried]) -> Latex:
    """The claims that show a finding: those of the run with links and verdicts, then the others."""
    tried = [claims[key] for key in finding.claims if key in claims]
    shown = [
        rf"\hyperref[sec:{c.name}]{{{code(c.key)}}} {verdict_word(c.verdict, c.mark)}"
        for c in tried
    ]
    others = [str(code(key)) for key in finding.claims if key not in claims]
    parts = [", ".join(shown), f"not in this run: {', '.join(others)}" if others else ""]
    return Latex("; ".join(filter(None, parts)))


def first_sentence(text: str) -> Latex:
    """The text up to the first full stop that ends a sentence outside a formula."""
    for stop in re.finditer(r"\.(?=\s+[A-Z$])", text):
        if text.count("$", 0, stop.start()) % 2 == 0:
            return prose(text[: stop.end()])
    return prose(sentence(text))


def summarise(finding: Finding) -> Latex:
    """A finding in one sentence: its headline, or else the first sentence of its text."""
    return first_sentence(finding.headline or finding.found)


def is_search(claim: Tried) -> bool:
    """Whether a counterexample of the claim comes from a search, and not from trials."""
    return claim.claim.kind in ("identity", "deterministic") or not claim.evidence.cells


def relation(witness: Witness) -> str:
    """The relation that a statement has and that a counterexample of a search breaks."""
    left, right = float(witness.observed or 0), float(witness.bound or 0)
    return "$<$" if left == right else r"$\le$" if left > right else r"$\ge$"


def apart(first: float, second: float) -> tuple[Latex, Latex]:
    """Two numbers with two digits, or with as many as tell them apart."""
    shown = number(first, 2), number(second, 2)
    for digits in range(3, 9):
        if first == second or shown[0] != shown[1]:
            break
        shown = number(first, digits), number(second, digits)
    return shown


def _by_severity(documents: Mapping[str, Finding]) -> list[tuple[Latex, list[tuple[str, Finding]]]]:
    """The findings by severity, the most serious first.  More claims show a graver finding."""
    groups: dict[str, list[tuple[str, Finding]]] = {name: [] for name in SEVERITIES}
    for key in sorted(documents, key=lambda key: (-len(documents[key].claims), key)):
        groups.setdefault(documents[key].severity, []).append((key, documents[key]))
    return [
        (escape_text(SEVERITIES.get(name, capital(name))), group)
        for name, group in groups.items()
        if group
    ]


def _finding(anchor: str, finding: Finding, claims: Mapping[str, Tried]) -> dict[str, Any]:
    evidence = capital(_evidence(finding, claims))
    return {
        "anchor": anchor,
        "where": prose(capital(finding.where)),
        "evidence": Latex(f"{evidence}.") if evidence else "",
        "printed": paragraphs(sentence(finding.printed)),
        "found": paragraphs(sentence(finding.found)),
        "corrected": paragraphs(sentence(finding.corrected)),
    }


def findings(
    documents: Mapping[str, Finding], claims: Mapping[str, Tried]
) -> list[tuple[Latex, list[dict[str, Any]]]]:
    """Findings by severity, the most serious first.  ``claims`` are those of the run, by key."""
    anchors = slugs(documents)
    return [
        (heading, [_finding(anchors[key], finding, claims) for key, finding in group])
        for heading, group in _by_severity(documents)
    ]
