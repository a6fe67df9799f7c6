"""From stored documents to what the templates print.

Nothing is estimated here: values are chosen (the worst cell is the one of the largest stored
ratio), rounded and put into words.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from reports import figures, tables
from reports.latex import (
    Latex,
    code,
    display_source,
    escape_text,
    estimate,
    formula,
    interval,
    latex_field,
    number,
    paragraphs,
    parameter,
    value,
)

MAX_ROWS = 24
VERDICTS = ("SUPPORTED", "REFUTED", "INCONCLUSIVE", "VACUOUS")
Document = Mapping[str, Any]


class Reader(Protocol):
    """What the report needs of a run store: the documents of a kind, by key."""

    def documents(self, kind: str) -> Mapping[str, Document]:
        """All documents of a kind; empty when there is none."""
        ...


@dataclass(kw_only=True)
class Report:
    """The template's variables and the files that go beside the report."""

    context: dict[str, Any]
    files: dict[str, str | bytes] = field(default_factory=dict)


def slug(text: str) -> str:
    """A name for files and labels: letters, digits, dots and dashes."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.") or "claim"


def _natural(text: str) -> list[Any]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)]


def _ordered(documents: Mapping[str, Document], summary: Document) -> list[Document]:
    """Claims in the order of the run's allocation, then by name; each knows its key."""
    place = {str(entry[0]): i for i, entry in enumerate(summary.get("allocation") or ())}
    keys = sorted(documents, key=lambda key: (place.get(key, len(place)), _natural(key)))
    claims = [{"id": key, **documents[key], "key": key} for key in keys]
    papers = list(dict.fromkeys(str(claim.get("paper", "")) for claim in claims))
    return sorted(claims, key=lambda claim: papers.index(str(claim.get("paper", ""))))


def _verdict(claim: Document) -> str:
    return str((claim.get("evidence") or {}).get("verdict") or "NOT RUN").upper()


def _colour(verdict: str) -> Latex:
    return Latex(verdict.lower() if verdict in VERDICTS else "notrun")


def _verdict_word(verdict: str) -> Latex:
    return Latex(rf"\verdictword{{{_colour(verdict)}}}{{{verdict}}}")


def _as_expected(claim: Document) -> bool | None:
    expected = claim.get("expected")
    return None if not expected else str(expected).upper() == _verdict(claim)


def _ratio(cell: Document) -> float:
    ratio = cell.get("ratio")
    return -math.inf if ratio is None or math.isnan(ratio) else float(ratio)


def _worst(claim: Document) -> Document | None:
    cells = (claim.get("evidence") or {}).get("cells") or ()
    rated = [cell for cell in cells if _ratio(cell) > -math.inf]
    return max(rated, key=_ratio) if rated else None


def _plural(n: int, one: str, many: str | None = None) -> str:
    word = one if n == 1 else many or f"{one}s"
    return f"{number(n)} {word}"


def _listed(items: Sequence[str]) -> Latex:
    items = list(items)
    if len(items) < 2:
        return Latex("".join(items))
    return Latex(", ".join(items[:-1]) + " and " + items[-1])


# -- one claim -----------------------------------------------------------------------------------


def _shared(cells: Sequence[Document]) -> tuple[list[str], list[str]]:
    """Parameter names that vary over the cells, and those that all cells share."""
    names = list(dict.fromkeys(name for cell in cells for name in cell.get("params") or {}))
    spellings = {
        name: {json.dumps(cell["params"].get(name), sort_keys=True, default=str) for cell in cells}
        for name in names
    }
    varying = [name for name in names if len(spellings[name]) > 1]
    return varying, [name for name in names if name not in varying]


def _assignment(params: Document, names: Sequence[str]) -> Latex:
    """``m = 400, d = 100`` in math."""
    shown = []
    for name in names:
        if name in params:
            symbol, amount = parameter(name), value(params[name])
            if symbol[0] == symbol[-1] == amount[0] == amount[-1] == "$":
                shown.append(f"${symbol[1:-1]}={amount[1:-1]}$")
            else:
                shown.append(f"{symbol} = {amount}")
    return Latex(", ".join(shown))


_MEASURES = (
    "n_trials",
    "n_failed",
    "observed",
    "se",
    "lower",
    "upper",
    "bound",
    "ratio",
    "verdict",
    "note",
)


def _cells_csv(cells: Sequence[Document]) -> str:
    names = list(dict.fromkeys(name for cell in cells for name in cell.get("params") or {}))
    rows = [
        [
            *(
                json.dumps(v) if isinstance(v := cell["params"].get(n), (list, dict)) else v
                for n in names
            ),
            *(cell.get(m) for m in _MEASURES),
        ]
        for cell in cells
    ]
    return tables.csv_text([*names, *_MEASURES], rows)


def _remark(cell: Document, with_verdict: bool) -> Latex:
    words = [str(cell.get("verdict") or "--")] if with_verdict else []
    return escape_text("; ".join([*words, *([str(cell["note"])] if cell.get("note") else [])]))


def _cell_table(claim: Document, name: str) -> Latex:
    """The claim's cells, worst ratio first; long lists are cut, and the caption says so."""
    cells = claim["evidence"]["cells"]
    ranked = sorted(cells, key=_ratio, reverse=True)
    shown = ranked if len(ranked) <= MAX_ROWS + 6 else ranked[:MAX_ROWS]
    varying, constant = _shared(cells)
    measures: list[tuple[str, str, Any]] = [("trials", "r", lambda c: number(c.get("n_trials")))]
    if any(c.get("n_failed") for c in cells):
        measures.append(("failed", "r", lambda c: number(c.get("n_failed"))))
    measures.append(("observed", "r", lambda c: estimate(c.get("observed"), c.get("se"))))
    if any(c.get("lower") is not None or c.get("upper") is not None for c in cells):
        measures.append(("interval", "r", lambda c: interval(c.get("lower"), c.get("upper"))))
    if any(c.get("bound") is not None for c in cells):
        measures.append(("bound", "r", lambda c: number(c.get("bound"))))
    if any(c.get("ratio") is not None for c in cells):
        measures.append(("ratio", "r", lambda c: number(c.get("ratio"))))
    mixed = len({c.get("verdict") for c in cells}) > 1
    noted = any(c.get("note") for c in shown)
    if mixed or noted:
        title = ", ".join(["verdict"] * mixed + ["note"] * noted)
        measures.append((title, "l", lambda c: _remark(c, mixed)))
    numbers = [[pick(c) for _, _, pick in measures] for c in shown]
    head = [m[0] for m in measures]
    align = "".join(m[1] for m in measures)
    split = [[value(c["params"].get(n)) for n in varying] for c in shown]
    apart = [a + b for a, b in zip(split, numbers, strict=True)]
    if not varying:
        rows = numbers
    elif len(varying) <= 7 and tables.fits([*map(parameter, varying), *head], apart):
        kinds = tables.alignment(
            [[c["params"].get(n) for n in varying] for c in shown], len(varying)
        )
        rows, head, align = apart, [*map(parameter, varying), *head], kinds + align
    else:
        rows = [
            [_assignment(c["params"], varying), *r] for c, r in zip(shown, numbers, strict=True)
        ]
        head, align = ["cell", *head], "l" + align
    parts = ["Cells"]
    if len(shown) < len(cells):
        parts = [f"Showing the {number(len(shown))} worst of {number(len(cells))} cells by ratio"]
    if constant:
        common = _assignment(cells[0]["params"], constant)
        parts.append(f"common to all: {common}" if varying else common)
    caption = (
        "; ".join(parts)
        + ". All cells, at full precision: "
        + code(f"tables/{name}-cells.csv")
        + "."
    )
    return tables.typeset(head, rows, align, caption=caption, label=f"{name}-cells")


def _evidence_table(table: Document, name: str, index: int) -> tuple[Latex, str]:
    """A table of the evidence, and its CSV."""
    rows = table.get("rows") or ()
    columns = table["columns"]
    shown = rows if len(rows) <= 2 * MAX_ROWS else rows[: 2 * MAX_ROWS]
    caption = str(escape_text(str(table.get("title", ""))).rstrip(".")) + "."
    if table.get("note"):
        caption += " " + escape_text(str(table["note"]))
    path = f"tables/{name}-{index}.csv"
    if len(shown) < len(rows):
        cut = f"Showing the first {number(len(shown))} of {number(len(rows))} rows"
        caption += f" {cut}; all in {code(path)}."
    return (
        tables.typeset(
            [escape_text(str(c)) for c in columns],
            [[tables.cell(v) for v in row] for row in shown],
            tables.alignment(shown, len(columns)),
            caption=caption,
            label=f"{name}-{index}",
        ),
        tables.csv_text(columns, rows),
    )


def _sentence(text: str) -> str:
    text = text.rstrip()
    return type(text)(text if not text or text[-1] in ".!?" else text + ".")


def _caption(figure: Document) -> Latex:
    """Title and caption, and what the marks mean where the caption does not say it."""
    title, caption = str(figure.get("title", "")), str(figure.get("caption", ""))
    parts = [_sentence(title), _sentence(caption)]
    limited = any(s.get("lower") or s.get("upper") for s in figure["series"])
    if limited and not re.search(r"\b(bars?|bands?|shad\w+)\b", caption):
        parts.append("Bars and bands span the lower and upper confidence limits.")
    parts.append(figures.undrawn(figure))
    return escape_text(" ".join(part for part in parts if part))


def _witness(witness: Document) -> Latex:
    params = witness.get("params") or {}
    text = escape_text(_sentence(str(witness.get("description", ""))))
    if params:
        text = Latex(f"{text} At {_assignment(params, list(params))}:")
    observed, stated = number(witness.get("observed"), 4), number(witness.get("bound"), 4)
    text = Latex(f"{text} observed {observed}, stated {stated}.")
    if witness.get("trial"):
        text = Latex(f"{text} Trial {code(str(witness['trial']))}.")
    return text


def _commands(commands: Sequence[str]) -> Latex:
    lines = "\n\n".join(code(str(command)) for command in commands)
    return Latex(f"\\begin{{quote}}\\raggedright\\small\n{lines}\n\\end{{quote}}")


def _constants(claim: Document) -> list[Latex]:
    ends = {"high": "the upper end is the generous one", "low": "the lower end is the generous one"}
    items = []
    for c in claim.get("constants") or ():
        meaning = escape_text(str(c.get("meaning", "")))
        generous = ends.get(str(c.get("generous")), "chosen by the algorithm's user")
        low, high = number(c.get("low")), number(c.get("high"))
        items.append(
            Latex(
                f"{formula(str(c.get('latex', '')))} in {{[}}{low}, {high}{{]}}: "
                f"{meaning} ({generous})"
            )
        )
    return items


def _assumption(item: Document) -> Latex:
    text = escape_text(str(item.get("name", "")))
    if item.get("latex"):
        text = Latex(f"{text}: {formula(str(item['latex']), display=True)}")
    if item.get("note"):
        text = Latex(f"{text}; {escape_text(str(item['note']))}")
    return text


def _facts(claim: Document, evidence: Document) -> Latex:
    parts = [escape_text(f"{claim.get('source', '')}, {claim.get('paper', '')}".strip(", "))]
    if claim.get("kind"):
        parts.append(escape_text(f"kind: {claim['kind']}"))
    if evidence:
        failed = evidence.get("n_failed") or 0
        trials = _plural(int(evidence.get("n_trials") or 0), "trial")
        parts.append(Latex(f"{trials}, {number(failed)} failed"))
        parts.append(Latex(f"level {number(evidence.get('level'), 2)}"))
    if claim.get("profile"):
        parts.append(escape_text(f"profile {claim['profile']}"))
    return Latex("; ".join(part for part in parts if part) + ".")


def _claim(claim: Document, report: Report, name: str) -> dict[str, Any]:
    """One claim's page, its figures and CSV files added to the report."""
    evidence: Document = claim.get("evidence") or {}
    verdict = _verdict(claim)
    expected = _as_expected(claim)
    shown_tables = []
    if evidence.get("cells"):
        shown_tables.append(_cell_table(claim, name))
        report.files[f"tables/{name}-cells.csv"] = _cells_csv(evidence["cells"])
    for i, table in enumerate(evidence.get("tables") or (), 1):
        source, text = _evidence_table(table, name, i)
        shown_tables.append(source)
        report.files[f"tables/{name}-{i}.csv"] = text
    for i, source in enumerate(shown_tables, 0 if evidence.get("cells") else 1):
        report.files[f"tables/{name}-{'cells' if i == 0 else i}.tex"] = source + "\n"
    drawn = []
    for figure in evidence.get("figures") or ():
        path = f"figures/{name}-{slug(str(figure.get('name', 'figure')))}.pdf"
        report.files[path] = figures.render(figure)
        drawn.append(
            {
                "path": Latex(path),
                "width": Latex("1.0"),
                "caption": _caption(figure),
                "label": Latex(f"fig:{slug(path)}"),
            }
        )
    prose = [
        ("Reading", paragraphs(str(claim.get("reading") or ""))),
        ("Cells", paragraphs(str(claim.get("cells_description") or ""))),
        ("Procedure", paragraphs(str(claim.get("procedure") or ""))),
        ("Evidence", paragraphs(str(evidence.get("summary") or ""))),
    ]
    return {
        "id": code(str(claim["key"])),
        "title": escape_text(str(claim.get("title") or claim["id"])),
        "label": Latex(f"sec:{name}"),
        "statement_label": Latex(f"st:{name}"),
        "verdict": verdict,
        "colour": _colour(verdict),
        "expectation": {True: "as expected", False: f"expected {claim.get('expected')}", None: ""}[
            expected
        ],
        "facts": _facts(claim, evidence),
        "statement": latex_field(str(claim.get("statement") or "")),
        "quantifiers": latex_field(str(claim.get("quantifiers") or "")),
        "bound": display_source(str(claim.get("bound_latex") or "")),
        "failure": _sentence(formula(str(claim.get("failure_latex") or ""), display=True)),
        "constants": _constants(claim),
        "assumptions": [_assumption(item) for item in claim.get("assumptions") or ()],
        "prose": [(heading, text) for heading, text in prose if text],
        "witness": _witness(evidence["witness"]) if evidence.get("witness") else "",
        "tables": shown_tables,
        "figures": drawn,
        "sharpness": [escape_text(str(item)) for item in evidence.get("sharpness") or ()],
        "notes": [escape_text(str(item)) for item in evidence.get("notes") or ()],
        "replay": _commands(claim["replay"]) if claim.get("replay") else "",
    }


# -- the whole report ----------------------------------------------------------------------------


def _lines(*parts: str) -> str:
    """The parts that are not empty, each on a line of the cell."""
    return r"\newline ".join(part for part in parts if part)


def _verdict_table(paper: str, claims: Sequence[Document], names: Mapping[str, str]) -> Latex:
    rows = []
    for claim in claims:
        evidence: Document = claim.get("evidence") or {}
        name = names[claim["key"]]
        worst = _worst(claim)
        expected = _as_expected(claim)
        mark = {True: "as expected", None: "", False: f"expected {claim.get('expected')}"}[expected]
        verdict = _verdict_word(_verdict(claim))
        if mark:
            style = r"\emph" if expected is False else r"\textcolor{muted}"
            verdict = Latex(rf"{verdict}\newline {style}{{{escape_text(mark)}}}")
        rows.append(
            [
                _lines(
                    rf"\hyperref[sec:{name}]{{{code(str(claim['key']))}}}",
                    escape_text(str(claim.get("title", ""))),
                ),
                _lines(
                    escape_text(str(claim.get("source", ""))),
                    escape_text(str(claim.get("kind", ""))),
                ),
                verdict,
                number(worst.get("observed"), 2) if worst else "--",
                number(worst.get("bound"), 2) if worst else "--",
                number(worst.get("ratio"), 2) if worst else "--",
                number(evidence.get("level"), 2),
                rf"\pageref{{sec:{name}}}",
            ]
        )
    gap = r"@{\hspace{6pt}}"
    shares = gap.join(
        rf">{{{tables.RAGGED}}}p{{{share}\linewidth}}" for share in (0.215, 0.125, 0.205)
    )
    spec = "@{}" + shares + gap + gap.join("rrrrr") + "@{}"
    return tables.typeset(
        ["claim", "source, kind", "verdict", "observed", "bound", "ratio", "level", "page"],
        rows,
        "lllrrrrr",
        caption=str(
            escape_text(_sentence(f"Verdicts: {paper}" if paper else "Verdicts"))
            + " Observed value, bound and their ratio are those of the cell with the largest ratio."
        ),
        label=f"verdicts-{slug(paper)}",
        spec=spec,
    )


def _abstract(claims: Sequence[Document], summary: Document) -> Latex:
    counts = Counter(_verdict(claim) for claim in claims)
    known = [v for v in VERDICTS if counts[v]] + [v for v in sorted(counts) if v not in VERDICTS]
    words = _listed([f"{number(counts[v])} {_verdict_word(v)}" for v in known])
    if not claims:
        return Latex("This run holds no claim yet.")
    trials = sum(int((c.get("evidence") or {}).get("n_trials") or 0) for c in claims)
    failed = sum(int((c.get("evidence") or {}).get("n_failed") or 0) for c in claims)
    surprising = [c for c in claims if _as_expected(c) is False]
    parts = [
        f"{_plural(len(claims), 'claim was', 'claims were')} tried with {_plural(trials, 'trial')}"
        f" ({number(failed)} failed): {words}."
    ]
    if surprising:
        listed = _listed([str(code(str(c["key"]))) for c in surprising[:5]])
        more = f" and {number(len(surprising) - 5)} more" if len(surprising) > 5 else ""
        parts.append(f"Not as the catalogue expects: {listed}{more}.")
    elif any(_as_expected(c) for c in claims):
        parts.append("Every verdict is the one that the catalogue expects.")
    if summary.get("familywise_level") is not None:
        parts.append(
            f"The family-wise error level of the batch is {number(summary['familywise_level'])}."
        )
    parts.append(
        "A verdict is about the cells that were fixed before the run, and about nothing else."
    )
    return Latex(" ".join(parts))


def _date(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{moment.day} {moment:%B %Y, %H:%M}{' UTC' if moment.tzinfo else ''}"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def _environment(summary: Document, engine: str) -> Latex:
    facts: list[tuple[str, Any]] = [
        ("run", summary.get("run_id")),
        ("profile", summary.get("profile")),
        ("root seed", summary.get("seed")),
        ("executor", summary.get("executor")),
        ("jobs", summary.get("n_jobs")),
        ("started", _date(str(summary.get("started") or ""))),
        ("finished", _date(str(summary.get("finished") or ""))),
    ]
    if summary.get("wall_seconds") is not None:
        facts.append(("wall time", _duration(float(summary["wall_seconds"]))))
    facts += sorted((summary.get("environment") or {}).items())
    if summary.get("content_digest"):
        facts.append(("digest of the stored blocks", summary["content_digest"]))
    facts.append(("report typeset by", engine))
    rows = [[escape_text(str(k)), escape_text(str(v))] for k, v in facts if v not in (None, "")]
    return tables.typeset(
        ["item", "value"], rows, "ll", caption="Seed, machine and software.", label="environment"
    )


def _symbols(documents: Mapping[str, Document]) -> Latex | str:
    pairs: dict[str, str] = {}
    for key in sorted(documents):
        document = documents[key]
        listed = document.get("symbols")
        for entry in listed if listed is not None else [document]:
            symbol, meaning = (
                (entry["symbol"], entry["meaning"]) if isinstance(entry, Mapping) else entry
            )
            pairs.setdefault(str(symbol), str(meaning))
    if not pairs:
        return ""
    rows = [[formula(s), escape_text(m)] for s, m in pairs.items()]
    return tables.typeset(["symbol", "meaning"], rows, "ll", caption="Symbols.", label="symbols")


def _discrepancy(document: Document, known: Mapping[str, str]) -> dict[str, Any]:
    evidence = document.get("evidence") or ()
    if isinstance(evidence, str):
        evidence = [evidence]
    links = [
        rf"\hyperref[sec:{known[e]}]{{{code(e)}}}" if e in known else str(code(str(e)))
        for e in map(str, evidence)
    ]
    return {
        "where": escape_text(str(document.get("where", ""))),
        "evidence": Latex(", ".join(links) + ".") if links else "",
        **{
            key: paragraphs(str(document.get(key) or ""))
            for key in ("printed", "found", "corrected", "severity")
        },
    }


def collect(reader: Reader, *, engine: str) -> Report:
    """Everything that the templates need, from the documents of a run.

    Missing kinds leave their sections out; a claim without evidence is listed as not run.
    """
    summary: Document = reader.documents("run").get("summary", {})
    claims = _ordered(reader.documents("claim"), summary)
    names: dict[str, str] = {}
    for claim in claims:
        name = slug(claim["key"])
        while name in names.values():
            name += "-x"
        names[claim["key"]] = name
    report = Report(context={})
    papers = list(dict.fromkeys(str(claim.get("paper", "")) for claim in claims))
    by_paper = {p: [c for c in claims if str(c.get("paper", "")) == p] for p in papers}
    verdicts = [_verdict_table(paper, group, names) for paper, group in by_paper.items()]
    for paper, source in zip(papers, verdicts, strict=True):
        report.files[f"tables/verdicts-{slug(paper)}.tex"] = source + "\n"
    subtitle = "run {run_id}, profile {profile}, seed {seed}"
    described = all(summary.get(key) is not None for key in ("run_id", "profile", "seed"))
    level = summary.get("familywise_level")
    discrepancies = reader.documents("discrepancy")
    report.context = {
        "title": escape_text(str(summary.get("title") or "Verification report")),
        "subtitle": escape_text(subtitle.format(**summary) if described else ""),
        "date": escape_text(_date(str(summary.get("finished") or summary.get("started") or ""))),
        "abstract": _abstract(claims, summary),
        "n_claims": number(len(claims)),
        "papers": _listed([str(escape_text(p)) for p in papers if p]),
        "familywise": number(level) if level is not None else "",
        "multiple_tables": len(verdicts) > 1,
        "verdict_note": Latex(
            "Each claim links to its page. A statement known to be false is expected to be refuted."
            if claims
            else "No claim has been tried."
        ),
        "verdict_tables": verdicts,
        "claims": [_claim(claim, report, names[claim["key"]]) for claim in claims],
        "discrepancies": [_discrepancy(discrepancies[key], names) for key in sorted(discrepancies)],
        "environment": _environment(summary, engine),
        "commands": _commands(summary["commands"]) if summary.get("commands") else "",
        "symbols": _symbols(reader.documents("symbol")),
    }
    return report
