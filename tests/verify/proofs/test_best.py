"""The best constants are proved in both directions, and no better one is."""

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

from bounds.statement import Term
from trials.checks import InvalidParameter
from verify.claims.best_constants import BEST, CERTIFICATES
from verify.decisions.domain import as_domain
from verify.papers import catalogue
from verify.procedures.base import PROFILES
from verify.proofs.best import CONSTANT, _at, proofs, sentence, table, verify
from verify.proofs.checker import Rejected, check, goal_of
from verify.proofs.prover import is_false

STORED = json.loads(CERTIFICATES.read_text(encoding="utf-8"))
each_best = pytest.mark.parametrize("best", BEST.values(), ids=BEST)


def claim_of(best):
    return catalogue()[best.claim]


def beyond(best, share):
    """A constant beyond the best one, by a share of it."""
    return best.best * (1 + share if best.fails == ">" else 1 - share)


def search_with(best, constant):
    """The claim's own search, with another constant in its bound."""
    claim = claim_of(best)
    term = Term(name="bound", expr=best.form.subs(CONSTANT, constant))
    return claim.builder(replace(claim.statement, terms=(term,)), PROFILES["quick"])


def test_the_page_has_the_table():
    page = Path("docs/proofs.md").read_text(encoding="utf-8")
    shown = table(BEST.values(), catalogue())
    assert shown in page, "python -m verify.claims.best_constants prints the table of the page"
    assert {*STORED} == {*BEST}


@each_best
def test_the_stored_certificates_prove_both_directions(best):
    assert verify(best, claim_of(best), STORED[best.claim]) >= 3


@each_best
def test_the_certificates_prove_no_constant_beyond(best):
    better = replace(best, best=beyond(best, sp.Rational(1, 100)))
    with pytest.raises(Rejected):
        verify(better, claim_of(best), STORED[best.claim])


@each_best
def test_a_constant_before_the_best_one_is_not_proved_to_fail(best):
    worse = replace(best, best=beyond(best, sp.Rational(-1, 100)))
    (violated, _), *_ = worse.failures(claim_of(best))
    with pytest.raises(Rejected):
        check(violated, STORED[best.claim][1])


@each_best
def test_the_claims_constant_is_none_beyond_the_best(best):
    side = 1 if best.fails == "<" else -1
    assert not best.stated.is_number or side * float(best.stated - best.best) >= 0


@each_best
def test_every_end_of_a_range_belongs_to_the_statement(best):
    """So the bound is proved on the whole domain of the statement."""
    found = best.proposition(claim_of(best), best.best)
    assert found.optional(found.statement()) == []


@each_best
def test_what_is_argued_for_the_bound_is_argued_for_its_failure(best):
    assert bool(best.by) == bool(best.proposition(claim_of(best), best.best).by)


@each_best
def test_the_claims_search_finds_no_point_against_the_best_constant(best):
    search = search_with(best, best.best)
    points = as_domain(search.domain).sample(np.random.default_rng(3), 64)
    inside = [p for p in points if search.constraints is None or search.constraints(p)]
    assert len(inside) >= 16
    assert all(search.violation(p) <= max(search.tolerance, 1e-9) for p in inside)


#: Claims whose search meets the places at which a slightly better constant fails.
FOUND = ("ifca.thm2-contraction", "ifca.eq22-sharp", "odcl.eq24", "odcl.lemma9", "odcl.lemma11",
         "odcl.thm3-threshold", "sxy.prop2-factor")  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_the_claims_search_finds_a_point_against_a_better_constant(name):
    search = search_with(BEST[name], beyond(BEST[name], sp.Rational(1, 4)))
    points = as_domain(search.domain).sample(np.random.default_rng(3), 2000)
    inside = (p for p in points if search.constraints is None or search.constraints(p))
    assert any(search.violation(p) > max(search.tolerance, 1e-9) for p in inside)


def test_a_form_that_is_not_the_bound_is_refused():
    best = BEST["odcl.eq24"]
    with pytest.raises(InvalidParameter, match="the bound is"):
        replace(best, stated=sp.Integer(3)).proposition(claim_of(best), best.best)


def test_values_that_miss_what_is_given_prove_no_failure():
    """With a share above one the bound fails for smaller constants as well."""
    best = BEST["ifca.thm2-contraction"]
    outside = replace(best, at={**best.at, "correct": sp.Rational(1, 8)})
    statements = [statement for statement, _ in outside.failures(claim_of(best))]
    assert any(is_false(goal_of(each)) for each in statements)
    with pytest.raises(InvalidParameter, match="no proof"):
        proofs(outside, claim_of(best))


def test_a_member_that_misses_what_is_given_proves_no_failure():
    best = BEST["odcl.eq7-sharp"]
    outside = replace(best, at={**best.at, "F": ({"x": -2},)})
    with pytest.raises(InvalidParameter, match="no proof"):
        proofs(outside, claim_of(best))


def test_a_variable_without_a_value_proves_no_failure():
    best = BEST["sxy.eq35"]
    missing = {name: value for name, value in best.at.items() if name != "beta"}
    with pytest.raises(InvalidParameter, match="no proof"):
        proofs(replace(best, at=missing), claim_of(best))


@pytest.mark.parametrize(("base", "is_defined"), [(2, True), (-2, False)])
def test_a_number_for_an_exponent_gives_no_power_of_a_negative(base, is_defined):
    """x^T is e^(T log x) for a variable T, and so is no number at x = -2, also where T is 2."""
    squared = _at(["^", "x", "T"], {"x": base, "T": 2})
    statement = {"variables": [], "given": [], "claim": ["=", squared, "4"]}
    with nullcontext() if is_defined else pytest.raises(Rejected):
        check(statement, {"step": "sum"})


def test_a_missing_certificate_is_told():
    best = BEST["sxy.eq35"]
    with pytest.raises(Rejected, match="number of certificates"):
        verify(best, claim_of(best), STORED[best.claim][:-1])


def test_found_anew_they_are_the_stored_ones():
    best = BEST["odcl.lemma9"]
    assert proofs(best, claim_of(best)) == STORED[best.claim]


def test_a_sentence_says_whether_a_part_is_argued():
    shown = sentence(BEST["ifca.eq20"], claim_of(BEST["ifca.eq20"]))
    assert shown == ("C = 1/2 serves in 2 exp(-C τ^2) (here C is not named), and no larger one "
                     "does (proved up to an argument)")  # fmt: skip


def test_every_member_of_a_family_meets_its_relations():
    """Of two members the second one breaks a relation of the family, and of them all one is."""
    best = BEST["odcl.lemma9"]
    (own,) = best.at["F"]
    n_with_one = len(list(best.failures(claim_of(best))))
    two = replace(best, at={**best.at, "F": ({**own, "weight": 0}, {**own, "weight": -7})})
    told = [statement["claim"] for statement, _ in two.failures(claim_of(best))]
    of_members = told[len(told) - 2 * (len(told) - n_with_one) :]
    assert len(of_members) == 2 * (len(told) - n_with_one) >= 2
    first, second = of_members[: len(of_members) // 2], of_members[len(of_members) // 2 :]
    assert [">=", "0", "0"] in first
    assert [">=", "-7", "0"] in second
