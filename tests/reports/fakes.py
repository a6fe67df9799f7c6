"""A run as a reader of documents sees it: small, awkward and without a store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.schema import Figure, decode


class FakeRun:
    """The reader's protocol over plain dictionaries."""

    def __init__(self, documents: Mapping[str, Mapping[str, Any]]) -> None:
        self._documents = documents

    def documents(self, kind: str) -> Mapping[str, Any]:
        """The documents of a kind."""
        return self._documents.get(kind, {})


def cell(i: int, **changes: Any) -> dict[str, Any]:
    """A cell whose ratio grows with ``i``."""
    ratio = (i + 1) / 100
    return {
        "params": {"m": 100 * (i + 1), "n_prime": 20, "Delta_sq": 0.5, "start": "worst_case"},
        "n_trials": 4000,
        "n_failed": 0,
        "observed": ratio * 1.2345678901234e-5,
        "se": 1.1e-7,
        "lower": ratio * 1.2e-5,
        "upper": ratio * 1.3e-5,
        "bound": 1.2345678901234e-5,
        "ratio": ratio,
        "verdict": "SUPPORTED",
        "note": "",
        **changes,
    }


def figure(**changes: Any) -> dict[str, Any]:
    """A log-log figure with bars, a band, a gap and a value that a log axis cannot show."""
    return {
        "name": "error",
        "title": "Error against $m$",
        "xlabel": "clients $m$ (count)",
        "ylabel": r"$\norm{\theta_j-\theta_j^*}/\Delta$ (dimensionless)",
        "xscale": "log",
        "yscale": "log",
        "series": [
            {
                "label": r"observed, $\rho=1$",
                "x": [1.0, 10.0, 100.0, 1000.0],
                "y": [1.0, 0.3, None, 0.0],
                "lower": [0.9, -0.1, None, 0.0],
                "upper": [1.1, 0.5, None, 0.0],
                "style": "points",
                "group": "1",
            },
            {
                "label": "bound",
                "x": [1.0, 1000.0],
                "y": [2.0, 0.05],
                "lower": [1.5, 0.04],
                "upper": [2.5, 0.06],
                "style": "band",
                "group": "1",
            },
        ],
        "hlines": [(0.1, r"floor $\varepsilon$")],
        "vlines": [[50.0, "$m_0$"]],
        "caption": "",
        **changes,
    }


def figure_record(**changes: Any) -> Figure:
    """The same figure, decoded as a report decodes it."""
    return decode(figure(**changes), Figure, "figure")


def claim(name: str, n_cells: int = 3, **changes: Any) -> dict[str, Any]:
    """A claim that uses every field, with characters that are special to LaTeX."""
    return {
        "id": name,
        "title": f"{name}: 100% of R&D_costs #1, with $x_1 \\le 2$",
        "paper": "Authors (2022)",
        "source": "Theorem 1, eq. (1)",
        "kind": "upper bound",
        "quantifiers": r"\exists c_1>0\;\forall m,n',\rho",
        "bound_latex": r"\|\theta-\theta^*\| \le \big(c_1 \norm{x}\!\big) \when{m \ge k}",
        "failure_latex": r"\frac{2}{\poly(m)}",
        "assumptions": [{"name": "size", "latex": r"m \gtrsim \log{\left(d \right)}", "note": "a"}],
        "constants": [
            {"latex": "c_1", "low": 1e-4, "high": 1e4, "generous": "high", "meaning": "factor"}
        ],
        "reading": "As printed.\n\nSecond paragraph with ε ≤ ½ and `ticks`.",
        "procedure": "Calibrated, frozen, tried again.",
        "cells_description": "A grid.",
        "expected": "SUPPORTED",
        "profile": "quick",
        "replay": [f"cfl-verify run '{name}[m=400,d=100]' --seed 1"],
        "evidence": {
            "verdict": "SUPPORTED",
            "summary": "All cells below their bound.",
            "level": 0.05 / 7,
            "n_trials": 4000 * n_cells,
            "n_failed": 2,
            "cells": [cell(i) for i in range(n_cells)],
            "tables": [
                {
                    "title": "Drift",
                    "columns": ["direction", "slope"],
                    "rows": [["$\\log m$", 0.0123456789], ["a_b & c", None]],
                    "note": "",
                }
            ],
            "figures": [figure()],
            "sharpness": ["The bound is 3 to 9 times the truth."],
            "witness": None,
            "notes": ["Two trials diverged."],
        },
        **changes,
    }


def undrawn(document: dict[str, Any]) -> dict[str, Any]:
    """The claim without its figures, which take most of a build's time."""
    return document | {"evidence": document["evidence"] | {"figures": []}}


def refuted(name: str) -> dict[str, Any]:
    """A refuted claim with a witness, not what the catalogue expects."""
    document = claim(name)
    document["evidence"] |= {
        "verdict": "REFUTED",
        "witness": {
            "description": "The bound fails at the smallest size",
            "params": {"m": 3, "rho": 8.0},
            "observed": 0.25,
            "bound": 0.125,
            "trial": "exp:0f3a:17:203",
        },
    }
    return document


def run(**claims: dict[str, Any]) -> FakeRun:
    """A run of the given claims (``_`` for ``.`` in names), or of four of all sorts."""
    named = {key.replace("_", "."): document for key, document in claims.items()} or {
        "p.thm1": claim("p.thm1"),
        "p.thm2": undrawn(claim("p.thm2", n_cells=40)),
        "p.lemma1": undrawn(refuted("p.lemma1")),
        "p.bare": {"id": "p.bare", "title": "Never run"},
    }
    return FakeRun(
        {
            "claim": named,
            "run": {
                "summary": {
                    "title": "A run & its report",
                    "run_id": "r_1",
                    "profile": "quick",
                    "seed": 7,
                    "n_jobs": 2,
                    "executor": "threads",
                    "started": "2026-01-31T10:00:00+00:00",
                    "finished": "2026-01-31T10:34:10+00:00",
                    "wall_seconds": 2050.1,
                    "familywise_level": 0.05,
                    "allocation": [[name, 0.01] for name in named],
                    "environment": {"python": "3.11", "platform": "Linux x86_64"},
                    "commands": ["cfl-verify run --seed 7"],
                }
            },
            "finding": {
                "d1": {
                    "where": "Theorem 1",
                    "printed": "$c_1/p$",
                    "found": "$c_1/p_j$",
                    "evidence": ["p.thm1", "q.other"],
                    "severity": "constant",
                    "corrected": "",
                }
            },
            "symbol": {"p": {"symbols": [["m", "clients"], [r"\rho", "signal, $\\Delta^2$"]]}},
        }
    )
