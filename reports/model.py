"""From stored documents to what the templates print.

Nothing is estimated here: values are chosen (the worst cell is the one of the largest stored
ratio), rounded and put into words.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import product
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
    prose,
    value,
    visible_length,
)

MAX_ROWS = 16
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


def _severity(cell: Document) -> tuple[float, float]:
    """Cells are ranked by ratio; equal ones by what the confidence limit still allows."""
    upper, bound = cell.get("upper"), cell.get("bound")
    return _ratio(cell), upper / bound if upper is not None and bound else -math.inf


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
                shown.append(f"{symbol} {amount}")
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


def _derived(cells: Sequence[Document], names: Sequence[str]) -> list[str]:
    """Names whose values follow from others that are shown: p from the sizes, rho from Delta."""
    sizes = {"profile", "k"} <= {name for cell in cells for name in cell["params"]}
    return [*(["p"] if sizes and "p" in names else []), *_derived_rho(cells, names)]


def _derived_rho(cells: Sequence[Document], names: Sequence[str]) -> list[str]:
    """rho, where it is the square of Delta over sigma and both are shown."""
    if not {"rho", "Delta", "sigma"} <= set(names):
        return []
    rows = [[cell["params"].get(name) for name in ("rho", "Delta", "sigma")] for cell in cells]
    follows = all(
        all(isinstance(v, (int, float)) for v in row)
        and row[2]
        and math.isclose(row[0], (row[1] / row[2]) ** 2, rel_tol=1e-9)
        for row in rows
    )
    return ["rho"] if follows else []


def _notes(cells: Sequence[Document]) -> tuple[list[Latex], Latex]:
    """A column of notes and its legend: notes that are long and repeat become letters."""
    texts = [str(c.get("note") or "") for c in cells]
    distinct = list(dict.fromkeys(text for text in texts if text))
    if len(distinct) == 1 and all(texts):
        return [], prose(distinct[0])
    if len(distinct) > 8 or max(map(len, distinct), default=0) <= 12:
        return [prose(text) for text in texts] if distinct else [], Latex("")
    letters = {text: f"$^{{{chr(ord('a') + i)}}}$" for i, text in enumerate(distinct)}
    legend = " ".join(f"{letters[text]} {_sentence(_capital(prose(text)))}" for text in distinct)
    return [Latex(letters.get(text, "")) for text in texts], Latex(legend)


def _short(item: Any) -> Latex:
    """A value for crowded tables: three digits, or the first letters of a word."""
    if isinstance(item, str):
        return escape_text(f"{item[:4]}." if item.isalpha() and len(item) > 6 else item)
    if isinstance(item, (int, float)) and (abs(item) >= 1e6 or not float(item).is_integer()):
        return number(float(item) if abs(item) >= 1e6 else item)
    return value(item)


def _layout(
    shown: Sequence[Document],
    varying: Sequence[str],
    measures: Sequence[tuple[str, str, list[str]]],
) -> tuple[list[str], list[list[str]], str, bool]:
    """Head, rows, alignment, and whether words are cut; a column a parameter where that fits.

    What does not fit is made smaller step by step: words and digits are cut, then the interval (it
    is in the CSV file) goes; at last the parameters share one column.
    """
    kinds = tables.alignment([[c["params"].get(n) for n in varying] for c in shown], len(varying))
    written = [
        [[show(c["params"].get(n)) for n in varying] for c in shown] for show in (value, _short)
    ]
    words = any(cell.endswith(".") for row in written[1] for cell in row)
    names = [str(parameter(n)) for n in varying]
    lean = [m for m in measures if m[0] != "interval"]
    for chosen, split in product((measures, lean), written):
        rows: list[list[str]] = [
            [*left, *(m[2][i] for m in chosen)] for i, left in enumerate(split)
        ]
        head = [*names, *(m[0] for m in chosen)]
        if tables.fits(head, rows):
            cut = words and split is written[1]
            return head, rows, kinds + "".join(m[1] for m in chosen), cut
    rows = [
        [_assignment(c["params"], varying), *(m[2][i] for m in measures)]
        for i, c in enumerate(shown)
    ]
    align = "l" + "".join(m[1] for m in measures)
    return ["cell", *(m[0] for m in measures)], rows, align, False


def _measured(
    shown: Sequence[Document], cells: Sequence[Document]
) -> tuple[list[tuple[str, str, list[str]]], list[str]]:
    """The columns of what was measured, and the sentences about those that are constant."""
    measures: list[tuple[str, str, list[str]]] = []
    common: list[str] = []

    def put(title: str, key: str, show: Callable[[Any], Latex], phrase: str) -> None:
        values = [c.get(key) for c in cells]
        if all(v is None for v in values):
            return
        if len(cells) > 1 and phrase and len(set(values)) == 1:
            common.append(phrase.format(show(values[0])))
        else:
            measures.append((title, "r", [show(c.get(key)) for c in shown]))

    put("trials", "n_trials", number, "{} trials each")
    if any(c.get("n_failed") for c in cells):
        put("failed", "n_failed", number, "")
    idle = len(cells) > 1 and all(c.get("observed") == 0 for c in cells)
    if idle:
        common.append("observed $0$")
    else:
        seen = [estimate(c.get("observed"), c.get("se")) for c in shown]
        measures.append(("observed", "r", [str(text) for text in seen]))
    if any(c.get("lower") is not None or c.get("upper") is not None for c in cells):
        limits = [str(interval(c.get("lower"), c.get("upper"))) for c in shown]
        measures.append(("interval", "r", limits))
    put("bound", "bound", number, "bound {}")
    if not idle:
        put("obs./bound", "ratio", number, "")
    if len({c.get("verdict") for c in cells}) > 1:
        words = [str(escape_text(str(c.get("verdict") or "--").lower())) for c in shown]
        measures.append(("verdict", "l", words))
    return measures, common


def _cell_table(claim: Document, name: str) -> Latex:
    """The claim's cells, worst ratio first; long lists are cut, and the caption says so."""
    cells = claim["evidence"]["cells"]
    ranked = sorted(cells, key=_severity, reverse=True)
    shown = ranked if len(ranked) <= MAX_ROWS + 2 else ranked[:MAX_ROWS]
    varying, constant = _shared(cells)
    derived = _derived(cells, varying)
    measures, common = _measured(shown, cells)
    marks, legend = _notes(shown)
    if marks:
        wide = max(map(visible_length, marks)) > 3
        measures.append(("note" if wide else "", "l", [str(mark) for mark in marks]))
    head, rows, align, cut = _layout(shown, [n for n in varying if n not in derived], measures)
    if not varying:
        head, align = head[1:], align[1:]
        rows = [row[1:] for row in rows]
    parts = ["Cells"]
    if len(shown) < len(cells):
        parts = [f"The {number(len(shown))} worst of {number(len(cells))} cells"]
    if constant:
        common.insert(0, _assignment(cells[0]["params"], constant))
    caption = parts[0] + (f"; common to all: {', '.join(common)}" if common else "") + "."
    if cut:
        caption += f" Words are cut; in full in {code(f'tables/{name}-cells.csv')}."
    if legend:
        caption += f" {_sentence(_capital(legend))}"
    return tables.typeset(head, rows, align, caption=caption, label=f"{name}-cells")


def _tally(table: Document) -> Latex:
    """A small table of counts as one sentence, or nothing when it is not one."""
    rows = table.get("rows") or ()
    counts = len(table["columns"]) == 2 and 0 < len(rows) <= 10
    if not counts or not all(isinstance(a, str) and isinstance(b, int) for a, b in rows):
        return Latex("")
    listed = ", ".join(f"{prose(str(a))} {number(b)}" for a, b in rows)
    note = f" {_sentence(_capital(prose(str(table['note']))))}" if table.get("note") else ""
    return Latex(f"{_capital(prose(str(table['columns'][1])))}: {listed}.{note}")


def _evidence_table(table: Document, name: str, index: int) -> tuple[Latex, str]:
    """A table of the evidence, and its CSV."""
    rows = table.get("rows") or ()
    columns = table["columns"]
    shown = rows if len(rows) <= 2 * MAX_ROWS else rows[: 2 * MAX_ROWS]
    caption = str(prose(str(table.get("title", ""))).rstrip(".")) + "."
    if table.get("note"):
        caption += " " + _sentence(_capital(prose(str(table["note"]))))
    path = f"tables/{name}-{index}.csv"
    if len(shown) < len(rows):
        cut = f"Showing the first {number(len(shown))} of {number(len(rows))} rows"
        caption += f" {cut}; all in {code(path)}."
    return (
        tables.typeset(
            [prose(str(c)) for c in columns],
            [[tables.cell(v) for v in row] for row in shown],
            tables.alignment(shown, len(columns)),
            caption=caption,
            label=f"{name}-{index}",
        ),
        tables.csv_text(columns, rows),
    )


def _sentence(text: str) -> str:
    text = text.rstrip()
    return text if not text or text[-1] in ".!?" else text + "."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# A caption that says what the bars are: quantiles of trials are not confidence limits.
_SPREAD = re.compile(r"\b(bars?|bands?|shad\w+|percent|quantiles?|standard errors?|limits)\b")


def _caption(figure: Document) -> Latex:
    """Title and caption, and what the marks mean where the caption does not say it."""
    title, caption = str(figure.get("title", "")), str(figure.get("caption", ""))
    parts = [_sentence(title), _sentence(caption)]
    limited = any(s.get("lower") or s.get("upper") for s in figure["series"])
    if limited and not _SPREAD.search(caption):
        parts.append("Bars and bands span the lower and upper confidence limits.")
    parts.append(figures.undrawn(figure))
    return prose(" ".join(part for part in parts if part))


def _witness(witness: Document) -> Latex:
    params = witness.get("params") or {}
    text = Latex(_capital(prose(_sentence(str(witness.get("description", ""))))))
    observed, stated = number(witness.get("observed"), 4), number(witness.get("bound"), 4)
    seen = f"observed {observed}, stated bound {stated}."
    if params:
        text = Latex(f"{text} At {_assignment(params, list(params))}: {seen}")
    else:
        text = Latex(f"{text} {_capital(seen)}")
    if witness.get("trial"):
        text = Latex(f"{text} Trial {code(str(witness['trial']))}.")
    return text


def _commands(commands: Sequence[str]) -> Latex:
    return Latex("\\newline\n".join(code(str(command)) for command in commands))


def _constants(claim: Document) -> list[Latex]:
    ends = {"high": "upper end generous", "low": "lower end generous"}
    items = []
    for c in claim.get("constants") or ():
        meaning = prose(str(c.get("meaning", "")))
        generous = ends.get(str(c.get("generous")), "chosen by the user of the algorithm")
        low, high = number(c.get("low"))[1:-1], number(c.get("high"))[1:-1]
        symbol = formula(str(c.get("latex", "")))[1:-1]
        items.append(Latex(f"${symbol}\\in[{low},\\ {high}]$, {meaning} ({generous})"))
    return items


def _assumption(item: Document) -> Latex:
    text = prose(str(item.get("name", "")))
    if item.get("latex"):
        text = Latex(f"\\emph{{{text}}}: {formula(str(item['latex']))}")
    if item.get("note"):
        text = Latex(f"{text} ({prose(str(item['note']))})")
    return text


def _run_in(items: Sequence[Latex]) -> Latex:
    """Short items as one sentence."""
    return Latex(_sentence("; ".join(items)))


def _facts(claim: Document, evidence: Document) -> Latex:
    """Source, kind and effort in one line."""
    source = prose(f"{claim.get('source', '')}, {claim.get('paper', '')}".strip(", "))
    kind = str(claim.get("kind") or "")
    parts = [_capital(prose(kind))] if kind else []
    if evidence:
        search = kind in ("identity", "deterministic")
        n_trials = int(evidence.get("n_trials") or 0)
        tried = _plural(n_trials, "evaluation" if search else "trial")
        failed = evidence.get("n_failed") or 0
        parts.append(tried + (f", {number(failed)} failed" if failed or not search else ""))
        parts.append(f"level {number(evidence.get('level'), 2)}")
    return Latex(" ".join(_sentence(part) for part in (_capital(source), "; ".join(parts)) if part))


def _claim(claim: Document, report: Report, name: str) -> dict[str, Any]:
    """One claim's page, its figures and CSV files added to the report."""
    evidence: Document = claim.get("evidence") or {}
    verdict = _verdict(claim)
    expected = _as_expected(claim)
    shown_tables = []
    if evidence.get("cells"):
        shown_tables.append(_cell_table(claim, name))
        report.files[f"tables/{name}-cells.csv"] = _cells_csv(evidence["cells"])
        report.files[f"tables/{name}-cells.tex"] = shown_tables[0] + "\n"
    tallies = []
    for i, table in enumerate(evidence.get("tables") or (), 1):
        source, text = _evidence_table(table, name, i)
        report.files[f"tables/{name}-{i}.csv"] = text
        report.files[f"tables/{name}-{i}.tex"] = source + "\n"
        if tally := _tally(table):
            tallies.append((str(table.get("title") or "Counts"), tally))
        else:
            shown_tables.append(source)
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
    runs = [
        ("Assumptions", _run_in([_assumption(item) for item in claim.get("assumptions") or ()])),
        ("Constants", _run_in(_constants(claim))),
        ("Reading", paragraphs(str(claim.get("reading") or ""))),
        ("Cells", paragraphs(str(claim.get("cells_description") or ""))),
        ("Procedure", paragraphs(str(claim.get("procedure") or ""))),
        ("Evidence", Latex(_sentence(_capital(paragraphs(str(evidence.get("summary") or "")))))),
        *tallies,
        ("Witness", _witness(evidence["witness"]) if evidence.get("witness") else Latex("")),
    ]
    after = [
        (heading, Latex(" ".join(_sentence(prose(str(item))) for item in evidence.get(key) or ())))
        for heading, key in (("Sharpness", "sharpness"), ("Notes", "notes"))
    ]
    return {
        "id": code(str(claim["key"])),
        "title": prose(str(claim.get("title") or claim["id"])),
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
        "failure": _sentence(formula(str(claim.get("failure_latex") or ""))),
        "runs": [(heading, text) for heading, text in runs if text],
        "tables": shown_tables,
        "figures": drawn,
        "after": [(heading, text) for heading, text in after if text],
        "replay": _commands(claim["replay"]) if claim.get("replay") else "",
    }


# -- the whole report ----------------------------------------------------------------------------


def _lines(*parts: str) -> str:
    """The parts that are not empty, each on a line of the cell."""
    return r"\newline ".join(part for part in parts if part)


def _at_worst(claim: Document) -> list[str]:
    """Observed value, bound and ratio: of the worst cell, else of the witness."""
    evidence: Document = claim.get("evidence") or {}
    cell: Document = _worst(claim) or {}
    if not cell and evidence.get("witness"):
        cell = {key: evidence["witness"].get(key) for key in ("observed", "bound")}
    return [number(cell.get(key), 2) for key in ("observed", "bound", "ratio")]


def _verdict_table(paper: str, claims: Sequence[Document], names: Mapping[str, str]) -> Latex:
    rows = []
    levels = {(claim.get("evidence") or {}).get("level") for claim in claims}
    for claim in claims:
        name = names[claim["key"]]
        verdict = _verdict_word(_verdict(claim))
        if _as_expected(claim) is False:
            expected = escape_text(f"expected {claim.get('expected')}")
            verdict = Latex(rf"{verdict}\newline \emph{{{expected}}}")
        rows.append(
            [
                _lines(
                    rf"\hyperref[sec:{name}]{{{code(str(claim['key']))}}}\quad{{}}"
                    rf"\textcolor{{muted}}{{{prose(str(claim.get('source', '')))}}}",
                    prose(str(claim.get("title", ""))),
                ),
                verdict,
                *_at_worst(claim),
                *(
                    [number((claim.get("evidence") or {}).get("level"), 2)]
                    if len(levels) > 1
                    else []
                ),
                rf"\pageref{{sec:{name}}}",
            ]
        )
    gap = r"@{\hspace{6pt}}"
    several = len(levels) > 1
    shares = gap.join(
        rf">{{{tables.RAGGED}}}p{{{share}\linewidth}}"
        for share in (0.42 if several else 0.485, 0.145)
    )
    numbers = "r" * (5 if several else 4)
    level = next(iter(levels), None)
    return tables.typeset(
        [
            "claim, source", "verdict", "observed", "bound", "ratio",
            *(["level"] if several else []), "page",
        ],
        rows,
        "ll" + numbers,
        caption=str(
            escape_text(_sentence(f"Verdicts: {paper}" if paper else "Verdicts"))
            + " Observed value, bound and their ratio: of the cell with the largest ratio, or of "
            "the counterexample; a dash where a search found none."
            + ("" if several or level is None else f" Level of every claim: {number(level, 2)}.")
        ),
        label=f"verdicts-{slug(paper)}",
        spec="@{}" + shares + gap + gap.join(numbers) + "@{}",
    )  # fmt: skip


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
    environment = sorted((summary.get("environment") or {}).items())
    versions = [(k, v) for k, v in environment if re.fullmatch(r"\d+(\.\w+)+", str(v))]
    facts.append(("versions", ", ".join(f"{k} {v}" for k, v in versions)))
    facts += [fact for fact in environment if fact not in versions]
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
    rows = [[formula(s), prose(m)] for s, m in pairs.items()]
    return tables.typeset(["symbol", "meaning"], rows, "ll", caption="Symbols.", label="symbols")


SEVERITIES = {
    "statement": "Statements that are false as printed",
    "proof": "Steps of proofs that fail",
    "slip": "Slips and loose ends",
}


def _discrepancy(document: Document, known: Mapping[str, str]) -> dict[str, Any]:
    evidence = document.get("evidence") or ()
    if isinstance(evidence, str):
        evidence = [evidence]
    links = [
        rf"\hyperref[sec:{known[e]}]{{{code(e)}}}" if e in known else str(code(str(e)))
        for e in map(str, evidence)
    ]
    return {
        "where": prose(str(document.get("where", ""))),
        "evidence": Latex(", ".join(links) + ".") if links else "",
        **{
            key: paragraphs(_sentence(str(document.get(key) or "")))
            for key in ("printed", "found", "corrected")
        },
    }


def _discrepancies(
    documents: Mapping[str, Document], known: Mapping[str, str]
) -> list[tuple[Latex, list[dict[str, Any]]]]:
    """Findings by severity, the gravest first."""
    groups: dict[str, list[dict[str, Any]]] = {name: [] for name in SEVERITIES}
    for key in sorted(documents):
        severity = str(documents[key].get("severity") or "other")
        groups.setdefault(severity, []).append(_discrepancy(documents[key], known))
    return [
        (escape_text(SEVERITIES.get(name, _capital(name))), items)
        for name, items in groups.items()
        if items
    ]


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
        "n_claims": Latex(_plural(len(claims), "claim")),
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
        "discrepancies": _discrepancies(discrepancies, names),
        "environment": _environment(summary, engine),
        "commands": _commands(summary["commands"]) if summary.get("commands") else "",
        "symbols": _symbols(reader.documents("symbol")),
    }
    return report
