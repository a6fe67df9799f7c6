"""Every claim about exponents sees a power of any letter: of its formula and of its cells."""

from dataclasses import replace

import pytest
import sympy as sp

from trials.checks import InvalidParameter
from verify.mutation.mutants import with_term
from verify.papers import catalogue
from verify.procedures.base import PROFILES

RATES = {
    name: claim
    for name, claim in catalogue().items()
    if claim.statement.kind == "rate" and name != "ifca.thm1-contraction"  # a factor a step
}


def built(claim):
    return claim.build(PROFILES[claim.smallest_profile])


def exponents(claim):
    """The exponents that the trials are compared with, None where the statement is refused."""
    try:
        stated = built(claim).stated
    except (InvalidParameter, ValueError, KeyError):
        return None
    return {name: (rate.exponent, rate.side) for name, rate in stated.items()}


@pytest.mark.parametrize("name", RATES)
def test_a_third_power_changes_the_exponents_or_is_refused(name):
    """A power that the fit leaves free would be supported whatever it is."""
    claim = RATES[name]
    (term,) = claim.statement.terms
    constants = {constant.symbol for constant in claim.statement.constants}
    letters = term.expr.free_symbols | {sp.Symbol(each) for each in built(claim).cells[0]}
    own, unseen = exponents(claim), []
    assert own
    for letter in letters - constants:
        changed = with_term(claim.statement, term.name, term.expr * letter**3)
        if exponents(replace(claim, statement=changed)) == own:
            unseen.append(letter.name)
    assert unseen == []
