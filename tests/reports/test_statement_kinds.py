"""Formulas of statements without terms compile by the embedded engine, and each kind is
explained.
"""

from pathlib import Path

import pytest
import sympy as sp

import reports
from bounds.statement import Contrast, Printed, Statement, Trend
from tests.reports.formulas import check_formulas
from tests.stated import NOBODY

PARTS = {
    "title": "A toy",
    "publication": NOBODY,
    "source": "Fig. 1",
    "quantifiers": r"\forall n",
    "observed": r"E\norm{\hat\theta-\theta^*}^2",
}


def test_formulas_without_terms_compile():
    statements = (
        Statement(
            id="toy.comparison",
            kind="comparison",
            contrasts=(
                Contrast(left="CC", relation="<=", right="local", margin=0.05),
                Contrast(left="KM", relation="=", right="oracle", margin=0.1),
            ),
            **PARTS,
        ),
        Statement(
            id="toy.reproduction",
            kind="reproduction",
            printed=(Printed(at={}, value=440, tolerance=0.5),),
            **PARTS,
        ),
        Statement(
            id="toy.trend",
            kind="comparison",
            trends=(
                Trend(symbol=sp.Symbol("Delta"), direction="increases", margin=0.02),
                Trend(symbol=sp.Symbol("n"), direction="decreases", margin=0.02),
            ),
            **PARTS,
        ),
        Statement(id="toy.vacuity", kind="vacuity", assertion=r"n\ge n_0", **PARTS),
    )
    assert check_formulas([s.latex() for s in statements], "embedded") == {}


@pytest.mark.parametrize(
    "kind",
    ["expectation", "threshold", "supremum", "comparison", "reproduction", "vacuity"],
)
def test_the_report_explains_how_each_kind_is_decided(kind):
    template = Path(reports.__file__).parent / "templates" / "methods.tex.j2"
    assert rf"\item[{kind}]" in template.read_text()
