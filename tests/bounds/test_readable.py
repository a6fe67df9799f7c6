"""Formulas as readable text: every formula of the catalogue, and any text at all."""

import re
import unicodedata

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


RELATIONS = {
    "le": "LESS-THAN OR EQUAL TO",
    "leq": "LESS-THAN OR EQUAL TO",
    "ge": "GREATER-THAN OR EQUAL TO",
    "geq": "GREATER-THAN OR EQUAL TO",
    "ne": "NOT EQUAL TO",
    "neq": "NOT EQUAL TO",
    "in": "ELEMENT OF",
    "notin": "NOT AN ELEMENT OF",
    "subseteq": "SUBSET OF OR EQUAL TO",
    "subset": "SUBSET OF",
    "cap": "INTERSECTION",
    "ominus": "CIRCLED MINUS",
    "cup": "UNION",
    "lesssim": "LESS-THAN OR EQUIVALENT TO",
    "gtrsim": "GREATER-THAN OR EQUIVALENT TO",
    "approx": "ALMOST EQUAL TO",
    "propto": "PROPORTIONAL TO",
    "sim": "TILDE",
    "to": "RIGHTWARDS ARROW",
    "cdot": "MIDDLE DOT",
    "times": "MULTIPLICATION SIGN",
    "pm": "PLUS-MINUS SIGN",
    "odot": "CIRCLED DOT OPERATOR",
    "otimes": "CIRCLED TIMES",
}


@pytest.mark.parametrize(("command", "name"), RELATIONS.items())
def test_a_relation_between_two_symbols_is_the_character_of_its_name(command, name):
    assert readable(rf"a\{command} b") == f"a {unicodedata.lookup(name)} b"


GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"
)


@pytest.mark.parametrize("letter", [*GREEK.split(), "varepsilon", "varphi"])
def test_a_greek_letter_is_the_character_of_its_name(letter):
    name = letter.removeprefix("var").replace("ambda", "amda")
    case = "CAPITAL" if name[0].isupper() else "SMALL"
    expected = unicodedata.lookup(f"GREEK {case} LETTER {name.upper()}")
    assert readable(rf"\{letter}_1") == f"{expected}_1"


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"\frac 12", "1/2"),  # TeX takes one digit of a number without braces
        (r"\frac123", "1/2 3"),
        (r"\frac1{23}", "1/23"),
        (r"\frac{1}23x", "1/2 3x"),
        (r"\sqrt23", "√2 3"),
        (r"x^123", "x^1 23"),
        (r"x_10^2", "x_1 0^2"),
        (r"x^{123}", "x^123"),
        (r"1.5 x", "1.5x"),
    ],
)
def test_an_argument_without_braces_is_one_digit(latex, text):
    assert readable(latex) == text


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"\mathbb{R}^d", "\N{DOUBLE-STRUCK CAPITAL R}^d"),
        (r"\mathbb{Z}", "\N{DOUBLE-STRUCK CAPITAL Z}"),
        (r"\mathbb{E}|X|", "E|X|"),
        (r"\mathcal{L}", "\N{SCRIPT CAPITAL L}"),
        (r"\mathcal{Q}", "Q"),
        (r"\bar x", "x\N{COMBINING MACRON}"),
        (r"\dot x", "\N{LATIN SMALL LETTER X WITH DOT ABOVE}"),
        (r"\tilde n", "\N{LATIN SMALL LETTER N WITH TILDE}"),
        (r"\tfrac{a}{b}", "a/b"),
        (r"x_1,\ldots,x_n", "x_1, …, x_n"),
        (r"\|x\|", "‖x‖"),
        (r"2\|x-y\|\le\|x\|+\|y\|", "2‖x - y‖ ≤ ‖x‖ + ‖y‖"),
        (r"\|P(|X|)\|", "‖P(|X|)‖"),
        (r"\abs{a-b}", "|a - b|"),
        (r"\overline{A B}", "¬(A B)"),
        (r"m\overline M/n", "m M\N{COMBINING MACRON}/n"),
        (r"\overline{S_1}", "¬S_1"),
        (r"\exists c\;\forall m", "∃c ∀m"),
    ],
)
def test_alphabets_accents_and_quantifiers_read_as_their_characters(latex, text):
    assert readable(latex) == text
