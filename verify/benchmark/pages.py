"""A benchmark's table as text, CSV, Parquet and LaTeX.

The best group, bold in LaTeX and starred in text, holds the methods that no other one is shown to
beat, oracles left out.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from trials.checks import InvalidParameter
from trials.text import spreadsheet_text
from verify.benchmark.federation import place
from verify.benchmark.figures import figures, floats
from verify.benchmark.metrics import METRICS
from verify.benchmark.running import FederationResult, MethodResult, Result
from verify.benchmark.tables import draws_clusters, response_of
from verify.evidence import Figure

#: Columns of the text, beside those that name the method and its rank.
SHOWN = ("held-out", "ari", "recovered", "rounds", "floats-up", "floats-down", "cpu")
#: Columns before them where the responses are classes.
OF_CLASSES = ("accuracy", "worst-decile")


def number(value: float | None, digits: int = 3) -> str:
    """A number for people: three digits, thousands with commas, a dash where there is none.

    >>> number(0.012345), number(123456.0), number(999.7), number(None), number(float("inf"))
    ('0.0123', '123,456', '1,000', '-', 'inf')
    """
    if value is None or math.isnan(value):
        return "-"
    if math.isfinite(value) and abs(float(f"{value:.{digits}g}")) >= 10**digits:
        return f"{value:,.0f}" if abs(value) < 1e9 else f"{value:.2e}"
    return f"{value:.{digits}g}"


def limits(row: MethodResult) -> str:
    """The median's limits."""
    return f"[{number(row.median.lower)}, {number(row.median.upper)}]"


def rank(row: MethodResult) -> str:
    """The ranks that the limits allow."""
    if row.best_rank == row.worst_rank:
        return str(row.best_rank)
    return f"{row.best_rank}-{row.worst_rank}"


def against_best(found: FederationResult, row: MethodResult) -> str:
    """The contrast with the first method of the table: how many times worse."""
    first = found.methods[0].method
    if row.method == first:
        return "1"
    for c in found.contrasts:
        e = c.estimate
        if (c.first, c.second) == (row.method, first):
            return f"{number(e.value)} [{number(e.lower)}, {number(e.upper)}]"
        if (c.second, c.first) == (row.method, first):
            low, middle, high = _inverse(e.upper), _inverse(e.value), _inverse(e.lower)
            return f"{number(middle)} [{number(low)}, {number(high)}]"
    return "-"


def _inverse(x: float) -> float:
    return math.inf if x == 0 else 1.0 / x


def of_classes(result: Result) -> tuple[str, ...]:
    """The columns of a classification, none where no method has them."""
    means = [row.means for found in result.federations for row in found.methods]
    return tuple(name for name in OF_CLASSES if any(m.get(name) is not None for m in means))


def headings(result: Result) -> list[str]:
    """The columns of the table."""
    first = ["", "method", "rank", f"median {result.benchmark.metric}", "limits", "/ first"]
    means = [mean_of(result, name) for name in (*of_classes(result), *SHOWN)]
    return [*first, *means, "failed", "theory"]


def mean_of(result: Result, name: str) -> str:
    """The heading of a metric's mean: its name, unless the column of the median has it too.

    CPU seconds say their unit.
    """
    unit = " [s]" if name == "cpu" else ""
    return f"{'mean ' if name == result.benchmark.metric else ''}{name}{unit}"


def rows(result: Result, found: FederationResult) -> list[list[str]]:
    """The table's lines, the best group marked with a star."""
    ratio = METRICS[result.benchmark.metric].scale == "ratio"
    return [
        [
            "*" if row.best else "",
            row.method,
            rank(row),
            number(row.median.value),
            limits(row),
            against_best(found, row) if ratio else "-",
            *(number(row.means[name]) for name in (*of_classes(result), *SHOWN)),
            f"{row.n_failed}/{row.n_trials}",
            row.guarantee.place if row.guarantee.place != "none" else "-",
        ]
        for row in found.methods
    ]


def answer(result: Result) -> str:
    """The answer in one sentence: the best methods where they are the same, oracles left out."""
    vary, alike = result.benchmark.vary, dict[frozenset[str], list[FederationResult]]()
    for found in result.federations:
        best = frozenset(r.method for r in found.methods if r.best)
        alike.setdefault(best, []).append(found)
    parts = []
    for there in alike.values():
        at = _enumerate([place(vary, f.params, "=") for f in there])
        where = f"at {at}" if vary else "here"
        parts.append(f"{where} {_best(there)}")
    said = "; ".join(parts)
    return f"{said[0].upper()}{said[1:]}."


def _best(there: Sequence[FederationResult]) -> str:
    """Who is best in federations with the same best methods, and who sends least of them."""
    names = [r.method for r in there[0].methods if r.best]
    if len(names) < 2:
        return f"{''.join(names) or 'no method'} is best"
    others = [r for r in there[0].methods if not (r.best or r.oracle)]
    if all(r.n_failed == r.n_trials for r in others):
        said = f"the trials do not separate {_enumerate(names)}"
    else:
        said = f"{_enumerate(names)} are best and not separated"
    told = {
        name: [floats(r) for f in there for r in f.methods if r.method == name] for name in names
    }
    if any(x is None for found in told.values() for x in found):  # a method that does not say
        return said
    sent = {name: sum(x or 0.0 for x in found) for name, found in told.items()}
    if min(sent.values()) <= 0:  # a method that sends nothing
        return said
    least = min(sent, key=sent.__getitem__)
    other = min(value for name, value in sent.items() if name != least)
    if other < 2 * sent[least]:
        return said
    return f"{said}, and {least} sends {other / sent[least]:,.0f} times fewer floats"


def _enumerate(words: Sequence[str]) -> str:
    """Words with commas, and "and" before the last.

    >>> _enumerate(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def notes(result: Result, mark: str = "with *") -> list[str]:
    """What a reader must know to read the table, in which ``mark`` shows the best methods."""
    b, found = result.benchmark, result.federations
    trials = sorted({f.n_trials for f in found})
    n_open = sum(f.open for f in found)
    total = sum(len(f.contrasts) for f in found)
    said = [
        f"Stopped: {result.stopped}; {result.cpu_seconds:.3g} CPU seconds of fits, "
        f"{'-'.join(map(str, dict.fromkeys((trials[0], trials[-1]))))} trials, "
        f"{total - n_open} of {total} contrasts decided or narrow.",
        f"Every method sees the same data in a trial. All limits hold together with probability "
        f"{1 - b.level:g}, at any stopping time. Methods {mark} are beaten by no other, "
        "oracles left out.",
        "Failed fits count as infinitely bad in ranks and limits; means are over the others.",
    ]
    said += _of_tables(result)
    said += [
        f"{row.method}: {row.n_failed} of {row.n_trials} fits failed"
        + (f" at {place(b.vary, f.params, '=')}" if b.vary else "")
        + f", the first: {row.failure}"
        for f in found
        for row in f.methods
        if row.n_failed
    ]
    without = dict.fromkeys(
        row.method for f in found for row in f.methods
        if row.means.get(b.metric, 0.0) is None and row.n_failed < row.n_trials
    )  # fmt: skip
    said += [f"{name} has no {b.metric}, which counts as infinitely bad." for name in without]
    return [*said, *theory(result), *b.notes]


def _of_tables(result: Result) -> list[str]:
    """What limits say about rows of the user's own."""
    b, params = result.benchmark, result.federations[0].params
    if draws_clusters(params):
        return []
    told = "" if b.vary == "k" else f" The methods are told {params['k']} clusters (--clusters)."
    if response_of(params) == "linear":
        told += " A held-out loss of 1 is that of the mean of the target."
    return [
        f"A trial holds out a random {params['held_share']:.0%} of each client's rows. The limits "
        f"are about such splits of these rows, and not about other rows or clients.{told}"
    ]


def theory(result: Result) -> list[str]:
    """One sentence a method and place: where its guarantee holds, fails or says nothing."""
    vary = result.benchmark.vary
    seen: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for f in result.federations:
        for row in f.methods:
            g = row.guarantee
            if g.place != "none":
                where = place(vary, f.params, "=")
                said = f"{g.claim}: {g.reason}" if g.claim else g.reason
                seen.setdefault((row.method, g.place), []).append((where, said))
    words = {
        "inside": "inside the guarantee",
        "outside": "outside the guarantee",
        "vacuous": "the guarantee is vacuous",
    }
    return [
        f"{method}: {words[place]}"
        + (f" at {', '.join(where for where, _ in found)}" if vary else "")
        + f" ({'the first, ' if len(found) > 1 else ''}{found[0][1]})"
        for (method, place), found in seen.items()
    ]


def records(result: Result) -> list[dict[str, Any]]:
    """One flat record a method and federation, for CSV and Parquet."""
    out = []
    for found in result.federations:
        for row in found.methods:
            record: dict[str, Any] = {"benchmark": result.benchmark.name}
            record |= {k: v for k, v in found.params.items() if not isinstance(v, list)}
            record |= {
                "method": row.method,
                "trials": row.n_trials,
                "failed_fits": row.n_failed,
                "oracle": row.oracle,
                "best": row.best,
                "best_rank": row.best_rank,
                "worst_rank": row.worst_rank,
                "metric": result.benchmark.metric,
                "median": row.median.value,
                "lower": row.median.lower,
                "upper": row.median.upper,
                "guarantee": row.guarantee.place,
                **{f"mean_{name.replace('-', '_')}": v for name, v in row.means.items()},
            }
            out.append(record)
    # federations of several tables have parameters of their own
    names = dict.fromkeys(name for record in out for name in record)
    return [{name: record.get(name) for name in names} for record in out]


def as_csv(result: Result) -> str:
    """The records as CSV."""
    found = records(result)
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, fieldnames=list(found[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: spreadsheet_text(v) for k, v in record.items()} for record in found)
    return buffer.getvalue()


def document(result: Result, more: Sequence[Figure] = ()) -> dict[str, Any]:
    """The result as a JSON document, with its answer and its notes as they are printed.

    ``more`` are figures beside those of the table.
    """
    return {
        **result.document(),
        "answer": answer(result),
        "notes": notes(result),
        "tables": [
            {
                "title": place(result.benchmark.vary, f.params),
                "columns": headings(result),
                "rows": rows(result, f),
                "groups": [list(g) for g in f.groups],
            }
            for f in result.federations
        ],
        "figures": [asdict(f) for f in (*figures(result), *more)],
    }


_TEX = {
    **{char: "\\" + char for char in "_&%#${}"},
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
}


def tex(text: str) -> str:
    """Text for LaTeX."""
    return "".join(_TEX.get(c, c) for c in text)


def as_latex(result: Result) -> str:
    """A booktabs table for a paper: best group bold, limits, notes."""
    shown = (*of_classes(result), "held-out", "ari", "floats-up", "cpu")
    means = [mean_of(result, name) for name in shown]
    columns = ["method", "rank", f"median {result.benchmark.metric}", "limits", *means, "failed"]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{tex(result.benchmark.question)}}}",
        rf"\begin{{tabular}}{{ll{'r' * (len(columns) - 2)}}}",
        r"\toprule",
        " & ".join(map(tex, columns)) + r" \\",
    ]
    for found in result.federations:
        lines.append(r"\midrule")
        if result.benchmark.vary:
            where = tex(place(result.benchmark.vary, found.params))
            lines.append(rf"\multicolumn{{{len(columns)}}}{{l}}{{{where}}} \\")
        for row in found.methods:
            name = tex(row.method)
            cells = [
                rf"\textbf{{{name}}}" if row.best else name,
                rank(row).replace("-", "--"),
                number(row.median.value),
                limits(row),
                *(number(row.means[c]) for c in shown),
                f"{row.n_failed}/{row.n_trials}",
            ]
            lines.append(" & ".join(cells) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", r"\par\footnotesize"]
    lines += [tex(note) + r"\par" for note in notes(result, "in bold")]
    return "\n".join([*lines, r"\end{table}", ""])


def write(result: Result, path: Path) -> Path:
    """Write the table in the form that the file's name asks for: .csv, .parquet or .tex."""
    kind = path.suffix.lower()
    if kind == ".csv":
        path.write_text(as_csv(result), encoding="utf-8")
    elif kind == ".tex":
        path.write_text(as_latex(result), encoding="utf-8")
    elif kind == ".parquet":
        _parquet(records(result), path)
    else:
        raise InvalidParameter(f"export={str(path)!r:.80} must end in .csv, .parquet or .tex")
    return path


def require_parquet(path: Path) -> None:
    """Refuse a Parquet file where the package that writes it is missing."""
    try:
        import pyarrow.parquet  # type: ignore[import-untyped]  # noqa: F401
    except ImportError:
        raise InvalidParameter(f"{path} needs pyarrow: pip install 'cfl-verify[parquet]'") from None


def _parquet(found: Sequence[dict[str, Any]], path: Path) -> None:
    require_parquet(path)
    import pyarrow  # type: ignore[import-untyped]
    import pyarrow.parquet  # type: ignore[import-untyped]

    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(found)), path)
