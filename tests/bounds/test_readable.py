"""Formulas as readable text: every formula of the catalogue, and any text at all."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bounds.readable import readable, readable_text
from verify.papers import catalogue


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"\frac12", "1/2"),
        (r"\frac{a+b}{c d}", "(a + b)/(c d)"),
        (r"\frac{c_{2} \sigma \sqrt{\frac{d}{m n'}}}{p}", "c_2 σ √(d/(m n'))/p"),
        (r"\norm{\theta_j^{(t+1)}-\theta_j^*}", "‖θ_j^(t+1) - θ_j*‖"),
        (r"\exists c_1,c_2>0\;\forall n',d", "∃c_1, c_2 > 0 ∀n', d"),
        (r"P(|S_1\cap\overline{S_1^*}|\ge1)", "P(|S_1 ∩ ¬S_1*| ≥ 1)"),
        (r"2 e^{- c_{3} \min\left(N, d\right)}", "2 exp(-c_3 min(N, d))"),
        (r"\log{\left(m \right)}", "log(m)"),
        (r"T=2+\log\frac{\Delta}{4\varepsilon}\ \text{steps}", "T = 2 + log(Δ/(4ε)) steps"),
        (r"p_{\max}\le2p", "p_max ≤ 2p"),
        (r"\mathrm{oracle} < \mathrm{CC}", "oracle < CC"),
        (r"m^{- q}", "m^(-q)"),
        (r"\hat\theta_j", "θ\u0302_j"),
        ("", ""),
    ],
)
def test_a_formula_reads_as_expected(latex, text):
    assert readable(latex) == text


def test_every_formula_of_the_catalogue_is_one_line_without_latex():
    for claim in catalogue().values():
        statement = claim.statement
        texts = [statement.readable(), readable(statement.quantifiers)]
        texts.append(readable(statement.failure_latex()))
        texts += [readable(a.latex(statement.publication.notation)) for a in statement.assumptions]
        texts.append(readable_text(statement.reading))
        for text in texts:
            # braces hold lists of indices, and sets, which have blanks inside their braces
            listed = re.sub(r"[_^]\{[^{}]*,[^{}]*\}|\{ [^{}]*\}", ",", text)
            listed = re.sub(r"[_^]\{[^{}]*,[^{}]*\}|\{ [^{}]*\}", ",", listed)  # nested
            assert not re.search(r"[\\${}]|\s\s|\n", listed), text
            assert not lone_parentheses(text), text


def lone_parentheses(text: str) -> list[str]:
    """Parentheses without a partner, except in half-open intervals and in list items like "2)"."""
    text = re.sub(r"\[[^\[\]()]*\)|\([^\[\]()]*\]", "", text)
    opened, lone = 0, []
    for found in re.finditer(r"[()]", text):
        if found[0] == "(":
            opened += 1
        elif opened:
            opened -= 1
        elif not re.search(r"(^|[\s,])\d$", text[: found.start()]):
            lone.append(text[: found.end()])
    return lone + ["("] * opened


def test_lone_parentheses_are_seen():
    assert all(lone_parentheses(text) for text in ("f(x", "f x)", "(a))"))
    assert not lone_parentheses("f(x, (y)) on (0, 1] and [0, 1), by requirement 2)")


@given(st.text(alphabet=r"\{}^_()[]|$ ,+-=abcE12'", max_size=40))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_to_its_end(text):
    assert isinstance(readable(text), str)
    assert isinstance(readable_text(text), str)
