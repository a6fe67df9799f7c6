"""Formulas as text: nothing is lost, nothing is ambiguous, every formula of the catalogue reads."""

import re

import pytest

from verify.cli.math_text import formula, readable
from verify.papers import catalogue
from verify.procedures.base import PROFILES


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"\norm{\theta_j^+-\theta_j^*}", "‖θ_j⁺ - θ_j*‖"),
        (r"\frac{c_{2} \sigma \sqrt{\frac{d}{m n'}}}{p}", "c₂ σ √(d/(m n'))/p"),
        (r"c_{3} e^{- c_{4} n' \left(\frac{\alpha \rho}{\rho + 1}\right)^{2}}",
         "c₃ exp(-c₄ n' (α ρ/(ρ + 1))²)"),
        (r"\sqrt{dN}", "√(dN)"),
        (r"\sqrt d", "√d"),
        (r"\frac14p_1m", "1/4 p₁m"),
        (r"m^{- q}", "m^(-q)"),
        (r"\theta_j^{(t+1)}", "θ_j^(t + 1)"),
        (r"\theta_j^{(t)}", "θ_j⁽ᵗ⁾"),
        (r"\log\frac{\Delta}{4\epsilon}", "log(Δ/(4 ε))"),
        (r"\frac{a+b}{c+d}", "(a + b)/(c + d)"),
        (r"\frac{a}{bc}", "a/(bc)"),
        (r"l_-/l_+", "l₋/l₊"),
        (r"\exists c>0\;\forall m,n'", "∃ c > 0 ∀ m,n'"),
        (r"\unknown{x}", "unknownx"),
        ("", ""),
        (r"\frac", "/"),
        ("}{^_", "^(_)"),
    ],
)  # fmt: skip
def test_formulas_read_as_expected(latex, text):
    assert formula(latex) == text


def test_prose_is_left_alone():
    assert readable(r"costs 5, at most $\frac1m$ of it") == "costs 5, at most 1/m of it"


@pytest.mark.parametrize("name", list(catalogue()))
def test_no_formula_of_the_catalogue_keeps_a_command(name):
    claim = catalogue()[name]
    document = claim.document(claim.build(PROFILES["quick"]))
    for field in ("quantifiers", "bound_latex", "failure_latex"):
        text = formula(document[field])
        assert not re.search(r"[\\{}$]", text), text
        assert text.count("(") == text.count(")"), text
    for field in ("reading", "title", "source"):
        assert not re.search(r"[\\{}$]", readable(document[field]))
