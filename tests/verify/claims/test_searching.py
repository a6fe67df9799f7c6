"""A search takes relation, assumptions and right-hand side from its statement."""

import math
from dataclasses import replace

import pytest
import sympy as sp

from bounds.ifca.symbols import JOURNAL
from bounds.statement import Assumption, Statement, Term
from trials.checks import InvalidParameter
from verify.claim import claim, row, table
from verify.claims.searching import Proof, search
from verify.decisions.domain import IntRange, LogInterval
from verify.decisions.measures import DIFFERENCE, LOG_PROBABILITY
from verify.evidence import Verdict
from verify.procedures.base import Profile

x, y = sp.symbols("x y")
PROFILE = Profile(name="quick", max_trials=16, searches=200)
#: x (1 - x) <= y for x >= 1/2.
STATEMENT = Statement(
    id="toy.parabola",
    title="A parabola",
    publication=JOURNAL,
    source="nowhere",
    kind="deterministic",
    quantifiers="",
    observed="x(1-x)",
    terms=(Term(name="bound", expr=y),),
    assumptions=(Assumption(name="right half", left=x, right=sp.Rational(1, 2)),),
)
DOMAIN = {"x": LogInterval(0.1, 1.0), "y": LogInterval(0.01, 1.0, meaning="height of the limit")}


def test_two_expressions_are_compared_and_checked_again_with_many_digits():
    found = search(STATEMENT, PROFILE, x * (1 - x), DOMAIN)
    assert found.sides({"x": 0.5, "y": 0.125}) == (0.25, 0.125)
    assert found.violation({"x": 0.5, "y": 0.125}) == pytest.approx(0.5)
    assert float(found.recheck({"x": 0.5, "y": 0.125})) == pytest.approx(0.5)
    assert found.budget == 200
    assert "re-checked with 50 digits" in found.describe()
    evidence = found.decide(None, 0.0)
    assert evidence.verdict is Verdict.REFUTED
    assert evidence.grade == "re-checked to 50 digits"


def test_a_function_is_evaluated_in_double_precision_and_the_search_says_so():
    found = search(STATEMENT, PROFILE, lambda p: p["x"] * (1 - p["x"]), DOMAIN, budget=50)
    assert found.recheck is None
    assert "in double precision only" in found.describe()
    assert found.decide(None, 0.0).grade == "in double precision"
    assert found.budget == 50


def test_points_that_miss_an_assumption_are_left_out():
    found = search(STATEMENT, PROFILE, x * (1 - x), DOMAIN, where=lambda p: p["y"] < 0.5)
    assert found.constraints({"x": 0.5, "y": 0.1})
    assert not found.constraints({"x": 0.4, "y": 0.1})
    assert not found.constraints({"x": 0.5, "y": 0.6})


def test_points_at_the_edge_are_those_of_the_domain_and_of_where():
    """The last number below 1/2 stands for an edge that rounding has moved."""
    found = search(STATEMENT, PROFILE, x * (1 - x), DOMAIN, at_the_edge=True)
    assert found.constraints is None
    narrow = search(
        STATEMENT, PROFILE, x * (1 - x), DOMAIN, at_the_edge=True, where=lambda p: p["y"] < 0.5
    )
    assert narrow.constraints({"x": math.nextafter(0.5, 0), "y": 0.1})
    assert not narrow.constraints({"x": 0.5, "y": 0.6})


@pytest.mark.parametrize(
    ("relation", "expected"), [(r"\le", 0.125), (r"\ge", -0.125), ("=", 0.125)]
)
def test_the_direction_is_that_of_the_statement(relation, expected):
    turned = replace(STATEMENT, relation=relation)
    found = search(turned, PROFILE, x * (1 - x), DOMAIN, measure=DIFFERENCE)
    assert found.violation({"x": 0.5, "y": 0.125}) == pytest.approx(expected)
    assert found.unit == "difference of the two sides"


def test_logarithms_do_not_underflow():
    tail = replace(STATEMENT, terms=(Term(name="bound", expr=2 * sp.exp(-y * x)),))
    found = search(
        tail, PROFILE, lambda p: -p["n"], {**DOMAIN, "n": IntRange(1, 9)},
        measure=LOG_PROBABILITY, at=lambda p: {**p, "x": p["x"] * 1e6},
    )  # fmt: skip
    point = {"x": 1.0, "y": 1.0, "n": 9}
    stated = math.log(2) - 1e6
    assert found.violation(point) == pytest.approx((-9 - stated) / -stated)


def test_a_proof_takes_the_expression_and_proves_the_assumptions_too():
    proof = Proof(argument="At a half.", values={"x": "1/2", "y": "1/8"})
    made = search(STATEMENT, PROFILE, x * (1 - x), DOMAIN, proof=proof).certify({})
    assert [i.says for i in made.inequalities][-1].startswith("the left-hand side")
    own = search(STATEMENT, PROFILE, x * (1 - x), DOMAIN, proof=Proof(argument="Here."))
    assert own.certify({"x": 0.75, "y": 0.125}).inequalities
    with pytest.raises(InvalidParameter, match="as an expression"):
        search(STATEMENT, PROFILE, lambda _p: 1.0, DOMAIN, proof=proof)


def test_a_range_gives_the_meaning_of_its_coordinate():
    @claim("toy.parabola", STATEMENT)
    def parabola(statement, profile):
        return search(statement, profile, x * (1 - x), DOMAIN)

    procedure = parabola.build(PROFILE)
    said = parabola.document(procedure)["procedure"]
    assert said == f"{procedure.describe()} Coordinates: y: height of the limit."
    held = procedure.override({"y": 0.5})
    assert held.domain.meanings() == {"y": "height of the limit"}
    assert next(iter(held.domain.parts().values())).meanings() == held.domain.meanings()


def test_a_row_passes_its_own_arguments_to_the_body():
    def body(statement, profile, *, budget):
        """What is tried."""
        return search(statement, profile, x * (1 - x), DOMAIN, budget=budget)

    made = row("toy.parabola", STATEMENT, body, budget=40, expected=Verdict.REFUTED)
    assert made.build(PROFILE).budget == 40
    assert made.expected is Verdict.REFUTED
    assert made.builder.__name__ == "body"
    assert made.builder.__module__ == __name__


def test_a_table_shares_arguments_that_a_row_may_replace():
    def body(statement, profile, *, budget):
        return search(statement, profile, x * (1 - x), DOMAIN, budget=budget)

    other = STATEMENT.variant("toy.other", "Another", "nowhere")
    first, second = table(
        body,
        row("toy.parabola", STATEMENT),
        row("toy.other", other, budget=30, refuted=()),
        budget=20,
    )
    assert [first.build(PROFILE).budget, second.build(PROFILE).budget] == [20, 30]
    assert [first.expected, second.expected] == [Verdict.SUPPORTED, Verdict.REFUTED]
    assert second.statement is other
    assert {claim.builder.__module__ for claim in (first, second)} == {__name__}


def test_a_claim_has_the_id_of_its_statement():
    with pytest.raises(InvalidParameter, match="must have the id of its statement, which is 'toy"):
        claim("toy.hyperbola", STATEMENT)
