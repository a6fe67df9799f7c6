"""Records of the reports: the text of reports of made runs, and what figures draw.

Reports hold the versions of libraries.  Those lines are left out.  PDF files are not compared: the
artists of their figures are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from reports import figures, fragments
from reports.collect import collect, load
from reports.dependencies import dependency_graph
from reports.latex_template import render_tex
from reports.schema import Figure
from reports.site import site
from tests.records.values import number, plain
from tests.reports.fakes import FakeRun, cell, claim, figure, figure_record, refuted, run, undrawn

KIND = "documents"
_VERSIONS = re.compile(r"\d+\.\d+(\.\d+)+|Python|NumPy|pandoc|typst", re.IGNORECASE)


def names() -> list[str]:
    """Reports and figures."""
    return list(ENTRIES)


def again(name: str, _recorded: Mapping[str, Any]) -> Any:
    """The text of a report, or the artists of a figure."""
    return ENTRIES[name]()


# -- runs ------------------------------------------------------------------------------------------


def papers() -> FakeRun:
    """A run of two papers whose statements rest on each other, with cells of many kinds."""
    odd = [
        cell(0, params={"m": 10**9, "n": 3, "alpha": 0.25, "start": "random"}, ratio=None),
        cell(1, params={"m": 7, "n": 1e-12, "alpha": 1 / 3, "start": "random"}, lower=None),
        cell(2, params={"m": 7, "n": 2.5e7, "alpha": 0.5, "start": "a_b"}, observed=0.0, bound=0.0),
        cell(
            3, params={"m": 1, "n": 1, "alpha": 0, "start": ""}, verdict="REFUTED", note="why $x$"
        ),
        cell(4, params={"m": 1, "n": 2, "alpha": 0, "start": ""}, se=None, quantile=0.9),
    ]
    wide = [cell(i, params={f"parameter_{j}": i * 10.0**j for j in range(9)}) for i in range(12)]
    claims = {
        "p.thm1": claim("p.thm1"),
        "p.lemma1": undrawn(refuted("p.lemma1")),
        "p.thm2": undrawn(with_cells(claim("p.thm2"), odd)),
        "p.cor1": undrawn(with_cells(claim("p.cor1", source="Corollary 1"), wide)),
        "q.eq3": undrawn(claim("q.eq3", n_cells=1, paper="Others (2024)", constants=[])),
        "q.vacuous": undrawn(with_verdict(claim("q.vacuous", paper="Others (2024)"), "VACUOUS")),
        "q.open": undrawn(with_verdict(claim("q.open", paper="Others (2024)"), "INCONCLUSIVE")),
        "q.bare": {"id": "q.bare", "title": "Never run"},
    }
    made = run(**{name.replace(".", "_", 1): document for name, document in claims.items()})
    documents: Any = made._documents
    documents["paper"] = {
        "p": {
            "title": "A paper", "publications": [["p2020", "@article{p2020}"]],
            "uses": {"p.thm1": ["p.lemma1", "p.lemma2"], "p.cor1": ["p.thm1", "p.thm2"],
                     "p.thm2": ["p.lemma1"]},
        },
        "q": {"title": "Another", "publications": [], "uses": {"q.open": ["q.eq3", "q.vacuous"]}},
    }  # fmt: skip
    documents["finding"]["d2"] = {
        "where": "Lemma 1", "printed": "$x$", "found": "$y$", "evidence": ["p.lemma1"],
        "severity": "statement", "corrected": "$z$", "headline": "Lemma 1 is false.",
    }  # fmt: skip
    documents["finding"]["d3"] = {
        "where": "p. 3", "printed": "$a$", "found": "$b$", "evidence": [], "severity": "slip",
        "corrected": "$c$",
    }  # fmt: skip
    documents["power"] = {
        "p.thm1": {
            "profile": "quick", "n_mutants": 4, "n_false": 3, "n_caught": 2,
            "judged": [
                {"mutant": "a", "kind": "factor", "words": "times 2", "outcome": "refuted"},
                {"mutant": "b", "kind": "factor", "words": "times 3/4", "outcome": "survived"},
                {"mutant": "c", "kind": "exponent", "words": "$m$ up", "outcome": "unsupported"},
            ],
            "refuted": ["a"], "needed": [],
        }
    }  # fmt: skip
    return made


LONG = (
    r"\sum_{i=1}^{m} \frac{a_i + b_i}{c} \exp\left(-\frac{n}{2}\right) + \frac{x}{\sqrt{y}} "
    r"\le \left(\alpha + \beta\right) \text{ and more} + \theta_{j}^{2} - \frac{u + v}{w} = z + 1"
)


def awkward() -> FakeRun:
    """A run whose claims take the rarer ways: tables of all sorts, proofs, notes and odd names."""
    one, two, three = claim("p.thm1"), refuted("p.lemma1"), claim("p.cor1", source="Corollary 1")
    one |= {
        "title": 'A "quoted" title, ``twice'' -- with <é> and ½ --- or ł',
        "bound_latex": LONG, "failure_latex": r"\[2 \exp(-\frac{n}{2})\]",
        "assumptions": [
            {"name": "size", "latex": "m > 1", "note": "in every cell"},
            {"name": "balance", "latex": "p > 0", "note": "no step serves all", "added": True},
            {"name": "long", "latex": LONG, "added": True},
        ],
    }  # fmt: skip
    one["evidence"] |= {
        "mark": "SUPPORTED TO 0.008", "figures": [], "tables": TABLES, "resolution": 0.008,
        "notes": ["A ratio of -0.5 at m=1e-400, from n=2 to 8, rho >= 3 and p <= 1e400."],
        "cells": [
            cell(
                i, params=ODD_NAMES | {"m": 10.0**i, "Delta": 2.0, "sigma": 1.0 + i}
                | {"rho": (2.0 / (1.0 + i)) ** 2}, n_failed=i % 2, observed=0.0, lower=0.0,
                upper=0.25, bound=0.5, ratio=0.0, note=NOTES[i % 2],
            )
            for i in range(5)
        ],
    }  # fmt: skip
    two["evidence"] |= {
        "grade": "proved", "figures": [], "cells": [],
        "proof": {
            "argument": "Take $d=1$.\n\nThen $x>0$.",
            "inequalities": [
                {"says": "one exceeds a half", "left": "1", "right": "1/2"},
                {"says": "$a$ is below $b$", "left": "2", "right": "3"},
            ],
        },
    }  # fmt: skip
    two["evidence"]["witness"] |= {"params": {}, "trial": ""}
    three["evidence"] |= {"figures": [], "tables": [TABLES[1]]}
    three["evidence"]["cells"] = [cell(i, note=NOTES[2]) for i in range(19)]
    made = run(p_thm1=one, p_lemma1=two, p_cor1=three)
    documents: Any = made._documents
    documents["paper"] = {
        "p": {
            "title": "A & B: <C>", "uses": {"p.lemma1": ["p.thm1"], "p.cor1": ["p.lemma1"]},
            "publications": [["A 2020", BIBLIOGRAPHY[0]], ["B 2021", BIBLIOGRAPHY[1]], ["C", ""]],
        }
    }  # fmt: skip
    documents["power"] = {
        "p.thm1": {
            "profile": "quick", "n_mutants": 5, "n_false": 1, "n_caught": 1,
            "judged": [
                {"mutant": str(i), "kind": "factor", "words": f"times {i}", "outcome": outcome}
                for i, outcome in enumerate(OUTCOMES)
            ],
            "refuted": ["a"], "needed": ["size: dropped"],
        },
        "p.cor1": {
            "profile": "quick", "n_mutants": 2, "n_false": 0, "n_caught": 0,
            "judged": [{"mutant": "a", "kind": "term", "words": "term x", "outcome": "kept"}],
        },
    }  # fmt: skip
    return made


OUTCOMES = ("refuted", "true here", "few trials", "unseen", "survived")
ODD_NAMES = {
    "lam": 0.5000001, "theta_star": [1.0, 2.0], "sigma_hat": True, "C_delta": None, "x_inf": "a_b",
    "c1_max": 1e-7, "step_rule": "two words", "n_sample": 3.0, "p_j": list(range(10)),
    "z9_abcdef": 0,
}  # fmt: skip
NOTES = (
    "held out, and long enough for a letter",
    "another note of some length",
    "probability in [0, 1e-400]",
)
TABLES: list[dict[str, Any]] = [
    {"title": "Search", "columns": ["method", "evaluations"], "rows": [["a", 8], ["b", 12000]],
     "note": "closest -0.5"},
    {"title": "Long.", "columns": ["a", "b"], "rows": [[f"x{i}", 0.5 * i] for i in range(33)],
     "note": "more than a page holds"},
    {"title": "Parts", "columns": ["part", "largest violation (left minus right)"],
     "rows": [["$x$", -0.5]], "note": ""},
    {"title": "Wide", "columns": [f"a long column {i}" for i in range(12)],
     "rows": [["some words", *range(11)]], "note": "turned"},
]  # fmt: skip
BIBLIOGRAPHY = (
    "@article{a, author={Doe, Jo and Al Poe and Coe, C.}, title={A T}, journal={J. of X}, "
    "volume={3}, pages={1--9}, year={2020}}",
    "@book{b, booktitle={Proc.}, year={2021}}",
)


def with_cells(document: dict[str, Any], cells: list[dict[str, Any]]) -> dict[str, Any]:
    """A claim with these cells."""
    return document | {"evidence": document["evidence"] | {"cells": cells}}


def with_verdict(document: dict[str, Any], verdict: str) -> dict[str, Any]:
    """A claim with this verdict."""
    return document | {"evidence": document["evidence"] | {"verdict": verdict, "figures": []}}


def tex_of(made: FakeRun) -> dict[str, Any]:
    """The source of a report, and its tables."""
    report = collect(load(made), engine="none")
    tables = {n: lines_of(str(t)) for n, t in report.files.items() if n.endswith((".csv", ".bib"))}
    return {"files": sorted(report.files), **tables, "report": lines_of(render_tex(report.context))}


def site_of(made: FakeRun) -> dict[str, Any]:
    """The pages of a site."""
    pages = {n: str(t) for n, t in site(load(made)).items() if n.endswith((".html", ".csv"))}
    return {name: lines_of(text.replace("><", ">\n<")) for name, text in pages.items()}


def fragments_of(made: FakeRun) -> dict[str, Any]:
    """The fragments of all claims that were run."""
    found = {"macros": lines_of(fragments.macros())}
    for tried in fragments.choose(load(made).claims, ["p.*", "q.e*", "q.o*", "q.v*"]):
        found[tried.name] = lines_of(render_tex(fragments.fragment(tried)[0], "fragment.tex.j2"))
    return found


def lines_of(text: str) -> list[str]:
    """The lines of a text without those that name versions."""
    return [line for line in text.splitlines() if line.strip() and not _VERSIONS.search(line)]


# -- figures ---------------------------------------------------------------------------------------


def series(style: str, group: str, n: int, **more: Any) -> dict[str, Any]:
    """A curve with its limits."""
    x = [float(10 ** (i / 2)) for i in range(n)]
    y = [None if i == 2 else 3.0 / v for i, v in enumerate(x)]
    limits = {
        "lower": [None if v is None else 0.8 * v for v in y],
        "upper": [None if v is None else 1.3 * v for v in y],
    }
    return {"label": f"${group}$", "x": x, "y": y, "style": style, "group": group, **limits, **more}


def bare(x: list[float], y: list[float], **more: Any) -> list[dict[str, Any]]:
    """Points without limits."""
    return [{"label": "a", "x": x, "y": y, "style": "points", "group": "a", **more}]


def panel(title: str, **more: Any) -> dict[str, Any]:
    """A panel of several figures side by side."""
    shown = {k: v for k, v in figure().items() if k not in ("name", "caption")}
    return shown | {"title": title, **more}


STYLES = [
    series(style, style[0], 4 + i) for i, style in enumerate(("points", "line", "dashed", "band"))
]
FIGURES: dict[str, Callable[[], Figure]] = {
    "one panel": figure_record,
    "linear axes": lambda: figure_record(xscale="linear", yscale="linear"),
    "all styles": lambda: figure_record(series=STYLES, hlines=[], vlines=[]),
    "many series": lambda: figure_record(
        series=[series("points" if i % 2 else "line", f"g{i % 7}", 5) for i in range(14)]
    ),
    "dodged points": lambda: figure_record(
        series=[series("points", g, 4) for g in "abc"], xscale="linear"
    ),
    "spans": lambda: figure_record(spans=[(2.0, 30.0, "a range of $m$"), (60.0, 90.0, "")]),
    "shades": lambda: figure_record(
        series=[series("points", "a", 5, shade=[0.0, 1.0, None, 3.0, 4.0])], shade="the shade $s$"
    ),
    "two panels": lambda: figure_record(panels=[panel("a"), panel("b", yscale="linear")]),
    "four panels": lambda: figure_record(
        panels=[panel(str(i), ylabel=f"y{i % 2}", series=STYLES[i : i + 1]) for i in range(4)]
    ),
    "five panels": lambda: figure_record(panels=[panel(f"a long title {i}") for i in range(5)]),
    "one point": lambda: figure_record(series=[series("points", "a", 1)], hlines=[], vlines=[]),
    "large numbers": lambda: figure_record(
        series=bare([0.0, 1e5, 3e5], [2e-7, 0.0, -5e-7]),
        hlines=[],
        vlines=[],
        xscale="linear",
        yscale="linear",
    ),
    "many decades": lambda: figure_record(
        series=bare([1e-9, 1.0, 1e12], [1e-3, 0.5, 2e4]), hlines=[(1e-2, "")], vlines=[]
    ),
    "half a decade": lambda: figure_record(
        series=bare([2.0, 3.0, 4.5], [20_000.0, 21_000.0, 23_000.0]), hlines=[], vlines=[]
    ),
    "one abscissa": lambda: figure_record(
        series=bare([3.0], [0.5]),
        hlines=[],
        vlines=[],
        xscale="linear",
        xlabel=r"é $\frac{a}{b$ and a label of many words that goes over more than one line",
    ),
    "no data": lambda: figure_record(series=[], hlines=[], vlines=[]),
}


def artists(of: Callable[[], Figure], width: float) -> Any:
    """The axes of a figure: limits, ticks, and the data, colours and words of their artists."""
    drawn = figures.draw(of(), width)
    found: dict[str, Any] = {"inches": rounded(drawn.get_size_inches(), 3)}
    for i, ax in enumerate(drawn.axes):
        found[f"axes {i}"] = {
            "place": rounded(72.0 * np.ravel(ax.get_position().bounds), 1),
            "limits": rounded([*ax.get_xlim(), *ax.get_ylim()]),
            "scales": [ax.get_xscale(), ax.get_yscale()],
            "words": [ax.get_title(loc="left"), ax.get_xlabel(), ax.get_ylabel()],
            "ticks": [rounded(ax.get_xticks()), rounded(ax.get_yticks())],
            "tick words": [words(ax.get_xticklabels()), words(ax.get_yticklabels())],
            "lines": [line_of(line) for line in ax.lines],
            "patches": [patch_of(patch) for patch in ax.patches],
            "others": [other_of(each) for each in ax.collections],
            "texts": [[t.get_text(), rounded(t.get_position())] for t in ax.texts],
        }  # fmt: skip
    found["legends"] = [words(legend.get_texts()) for legend in drawn.legends]
    found["handles"] = [[line_of(line) for line in legend.get_lines()] for legend in drawn.legends]
    return plain(found)


def words(texts: Any) -> list[str]:
    """What some texts say."""
    return [text.get_text() for text in texts]


def patch_of(patch: Any) -> list[Any]:
    """The colour and the place of a patch, in points."""
    return [plain(patch.get_facecolor()), rounded(patch.get_extents().bounds, 1)]


def line_of(line: Any) -> list[Any]:
    """A line's data and look."""
    look = [str(line.get_color()), str(line.get_linestyle()), str(line.get_marker())]
    look += [str(line.get_markerfacecolor()), str(line.get_alpha())]
    sizes = [line.get_linewidth(), line.get_markersize(), line.get_markeredgewidth()]
    data = [rounded(line.get_xdata()), rounded(line.get_ydata())]
    return [*data, *look, *map(float, sizes), line.get_zorder()]


def other_of(each: Any) -> list[Any]:
    """The vertices, places and colours of a collection."""
    vertices = [p.vertices for p in each.get_paths()]
    return [
        type(each).__name__,
        rounded(np.concatenate(vertices).ravel()) if vertices else [],
        rounded(np.asarray(each.get_offsets(), dtype=float).ravel()),
        rounded(np.asarray(each.get_facecolor(), dtype=float).ravel(), 4),
        rounded(np.asarray(each.get_linewidth(), dtype=float).ravel(), 3),
    ]


def rounded(values: Any, digits: int | None = None) -> list[Any]:
    """Numbers as floats, NaN where there is none."""
    flat = np.ma.filled(np.ma.asarray(values, dtype=float), np.nan).ravel()
    return [number(float(v) if digits is None else round(float(v), digits)) for v in flat]


@cache
def graph() -> Any:
    """A graph of statements in three layers."""
    uses = {"p.a": ["p.b", "p.c"], "p.b": ["p.d"], "p.c": ["p.d", "p.e"], "p.f": ["p.a", "p.e"]}
    verdicts = dict.fromkeys(("p.a", "p.b", "p.d", "p.f"), "SUPPORTED") | {"p.e": "REFUTED"}
    return plain(dependency_graph(verdicts, uses))


ENTRIES: dict[str, Callable[[], Any]] = {
    "report of four claims": lambda: tex_of(run()),
    "report of two papers": lambda: tex_of(papers()),
    "site of four claims": lambda: site_of(run()),
    "site of two papers": lambda: site_of(papers()),
    "report of awkward claims": lambda: tex_of(awkward()),
    "site of awkward claims": lambda: site_of(awkward()),
    "fragments": lambda: fragments_of(papers()),
    "graph": graph,
    **{f"figure, {name}": lambda f=f: artists(f, 6.5) for name, f in FIGURES.items()},
    **{f"narrow figure, {n}": lambda f=FIGURES[n]: artists(f, 3.3) for n in [*FIGURES][::3]},
}  # fmt: skip
