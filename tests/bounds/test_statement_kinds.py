"""Statements without a sum of terms: comparisons, reproductions, plain assertions."""

import pytest
import sympy as sp

from bounds.statement import Contrast, Printed, Statement, Trend
from tests.stated import NOBODY


def statement(**more):
    return Statement(
        id="toy.kind",
        title="A toy",
        publication=NOBODY,
        source="Fig. 1",
        quantifiers=r"\forall n",
        observed=r"E\norm{\hat\theta-\theta^*}^2",
        **more,
    )


def test_a_statement_without_terms_has_no_bound():
    plain = statement(kind="comparison", assertion=r"A\le B")
    assert plain.latex() == r"A\le B"
    assert plain.term_values({}) == {}
    with pytest.raises(ValueError, match=r"toy\.kind has no terms: it states no bound"):
        plain.bound({})


def test_contrasts_are_printed_with_their_margins():
    compared = statement(
        kind="comparison",
        contrasts=(
            Contrast(left="oracle", relation="<", right="CC"),
            Contrast(left="CC", relation="<=", right="local", margin=0.05),
            Contrast(left="KM", relation="=", right="oracle", margin=0.1),
        ),
    )
    assert r"\mathrm{oracle} < \mathrm{CC}" in compared.latex()
    assert r"\mathrm{CC} \le 1.05\,\mathrm{local}" in compared.latex()
    assert r"\mathrm{KM} \approx \mathrm{oracle}\ (\pm10\%)" in compared.latex()


@pytest.mark.parametrize(
    ("relation", "margin", "message"),
    [
        ("<", 0.1, r"margin=0\.1 must be 0"),
        ("=", 0.0, "no sample proves exact equality"),
        ("<=", -0.1, r"margin=-0\.1 must be finite and >= 0"),
    ],
)
def test_a_margin_that_the_relation_cannot_use_is_refused(relation, margin, message):
    with pytest.raises(ValueError, match=message):
        Contrast(left="a", relation=relation, right="b", margin=margin)


def test_a_printed_number_is_typeset_with_its_tolerance():
    rounds = statement(
        kind="reproduction", printed=(Printed(at={"n": 400}, value=440, tolerance=0.5),)
    )
    assert rounds.latex().endswith(r"= 440\pm0.5")
    with pytest.raises(ValueError, match="must be finite"):
        Printed(at={}, value=float("nan"), tolerance=1.0)
    with pytest.raises(ValueError, match="tolerance > 0"):
        Printed(at={}, value=1.0, tolerance=0.0)
    for runs in (0, 1):
        with pytest.raises(ValueError, match=f"standard error of {runs} runs: give the number"):
            Printed(at={}, value=1.0, tolerance=0.1, se=0.2, runs=runs)
    assert Printed(at={}, value=1.0, tolerance=0.1, se=0.2, runs=2).runs == 2


def test_a_trend_is_printed_as_an_arrow():
    grows = statement(
        kind="comparison",
        trends=(Trend(symbol=sp.Symbol("Delta"), direction="increases", margin=0.02),),
    )
    assert r"\uparrow\ \text{in}\ \Delta" in grows.latex()
    with pytest.raises(ValueError, match="margin=0 must be finite and > 0"):
        Trend(symbol=sp.Symbol("n"), direction="decreases", margin=0)
