"""Formulas and sources that a reader can look up: letters for our words, numbers of equations."""

import re

import pytest
import sympy as sp
import sympy.abc

from bounds.render import latex
from verify.papers import catalogue

STATEMENTS = {claim.id: claim.statement for claim in catalogue().values()}
#: Names that sympy prints as one letter.
_GREEK = {name for name in dir(sp.abc) if len(name) > 1} | {"varepsilon", "Delta", "Gamma"}
#: Equations of the proofs of Theorem 2 and Corollary 2: the print leaves two numbers out.
_TWO_NUMBERS = re.compile(r"\((\d+)\) in print, \((\d+)\) in the preprint")


def words(expr, notation):
    """Symbols of ours that a formula would print as a word, letter times letter."""
    return {
        symbol.name
        for symbol in sp.sympify(expr).free_symbols
        if symbol.name not in notation.letters
        and any(len(part) > 2 and part not in _GREEK for part in symbol.name.split("_"))
    }


def test_a_word_without_letters_is_noticed():
    ratio, p_max, alpha = sp.symbols("ratio p_max alpha_0")
    notation = STATEMENTS["ifca.thm1"].publication.notation
    assert words(ratio * alpha, notation) == {"ratio"}
    assert words(p_max * alpha, notation) == set()


@pytest.mark.parametrize("name", STATEMENTS)
def test_no_formula_of_a_statement_prints_a_word_of_ours(name):
    statement = STATEMENTS[name]
    conditions = [side for each in statement.assumptions for side in (each.left, each.right)]
    for expr in (*(term.expr for term in statement.terms), *conditions):
        assert words(expr, statement.publication.notation) == set()


def test_the_requirements_left_hand_side_is_printed_as_the_papers():
    condition = STATEMENTS["odcl.eq11"].assumptions[-1]
    notation = STATEMENTS["odcl.eq11"].publication.notation
    assert latex(condition.left, notation) == r"\frac{n}{\log n}"


def test_equations_of_theorem_2_have_the_numbers_of_both_publications():
    """The print numbers T_11 as (20) and delta_0 as (38), the preprint as (22) and (40)."""
    both = {
        name: match.groups()
        for name, statement in STATEMENTS.items()
        if (match := _TWO_NUMBERS.search(statement.source)) and name.startswith("ifca.")
    }
    late = {name: (int(a), int(b)) for name, (a, b) in both.items() if int(a) >= 20}
    assert len(late) >= 16
    assert {b - a for a, b in late.values()} == {2}
    assert late["ifca.eq22"] == (20, 22)
    assert late["ifca.cor2-failure-as-printed"] == (38, 40)
    alone = {
        name
        for name, statement in STATEMENTS.items()
        if name.startswith("ifca.") and name not in both
        if re.search(r"\((2\d|3\d|4\d)\)", statement.source)
    }
    assert alone == set()
