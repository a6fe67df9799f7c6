"""A search takes relation, assumptions and right-hand side from its statement."""

import math
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from bounds.ifca.symbols import JOURNAL
from bounds.statement import Assumption, Statement, Term
from trials.checks import InvalidParameter
from verify.claim import claim, row, table
from verify.claims.searching import Proof, search
from verify.decisions.domain import Choice, Interval, IntRange, LogInterval
from verify.decisions.measures import DIFFERENCE, LOG_PROBABILITY
from verify.decisions.search import NoPoint
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


def _about(left, right, relation=r"\le"):
    """A statement about x without assumptions."""
    return replace(
        STATEMENT, terms=(Term(name="bound", expr=right),), assumptions=(), relation=relation
    )


def test_a_sum_that_is_empty_somewhere_has_no_proof_by_its_closed_form():
    """The sum of 1 from 5 to x is 0 for x = 0, and SymPy's closed form x - 4 is -4 there."""
    k = sp.Symbol("k")
    left, domain = sp.Sum(1, (k, 5, x)), {"x": IntRange(0, 10**6)}
    found = search(_about(left, x - 4), PROFILE, left, domain)
    with pytest.raises(InvalidParameter, match="exact term"):
        found.proposition.statement()
    evidence = found.decide(None, 0.0)
    assert evidence.verdict is Verdict.REFUTED
    assert evidence.witness.observed == 0.0
    assert evidence.witness.bound < 0.0


@pytest.mark.parametrize(
    ("first", "last", "r", "known"),
    [
        (1, x, IntRange(0, 9), True),  # empty for 0, right after its end
        (5, x, IntRange(4, 9), True),
        (5, x, IntRange(3, 9), False),
        (x, 9, IntRange(0, 10), True),
        (x, 9, IntRange(0, 11), False),
        (1, x, Interval(1.0, 9.0), False),  # no whole number
        (1, x / 2, IntRange(2, 9), False),
        (1, x**2, IntRange(2, 9), False),
        (x, 2 * x, IntRange(1, 9), True),
        (x, 2 * x, IntRange(-2, 9), False),
    ],
)
def test_a_closed_form_is_used_where_the_indices_are_in_order(first, last, r, known):
    k = sp.Symbol("k")
    left = sp.Sum(k, (k, first, last))
    proposition = search(_about(left, x), PROFILE, left, {"x": r}).proposition
    assert proposition.left.has(sp.Sum) is not known
    if known:
        ends = [int(sp.sympify(end).subs(x, 6)) for end in (first, last)]
        assert proposition.left.subs(x, 6) == sum(range(ends[0], ends[1] + 1))


def test_the_index_of_a_sum_may_have_the_letter_of_a_constant():
    statement = _about(sp.Sum(y, (y, 1, x)) * y, x)
    left = sp.Sum(y, (y, 1, x)) * y
    domain = {"x": IntRange(1, 9)}
    proposition = search(statement, PROFILE, left, domain, constants={"y": 3.0}).proposition
    assert float(proposition.left.subs(x, 2)) == 9.0  # (1 + 2) 3


def test_an_integral_over_a_pole_has_no_proof():
    """SymPy takes the integral of y^-2 from -1 to 1 for -2, and it is infinite."""
    left = sp.Integral(y**-2, (y, -1, x))
    found = search(_about(left, sp.S.Zero), PROFILE, left, {"x": Interval(0.5, 1.0)})
    with pytest.raises(InvalidParameter, match="exact term"):
        found.proposition.statement()


@pytest.mark.parametrize(
    ("word", "r"),
    [
        ("positive", Interval(-1.0, 1.0)),
        ("positive", Interval(0.0, 1.0)),
        ("nonnegative", IntRange(-1, 1)),
        ("negative", Interval(-1.0, 0.0)),
        ("nonpositive", Interval(-1.0, 1.0)),
        ("nonzero", IntRange(-1, 1)),
        ("integer", Interval(0.0, 1.0)),
        ("integer", Choice((1, 1.5))),
        ("even", IntRange(0, 2)),
        ("odd", IntRange(1, 3)),
    ],
)
def test_a_symbol_that_sympy_takes_for_another_kind_of_number_is_refused(word, r):
    """With x declared positive SymPy writes x for the root of x^2, and with it -x >= 0 as false."""
    declared = sp.Symbol("x", **{word: True})
    with pytest.raises(InvalidParameter, match=f"x is declared {word}"):
        search(_about(declared, x), PROFILE, declared + 1, {"x": r})


@pytest.mark.parametrize(
    ("word", "r"),
    [
        ("positive", LogInterval(1e-9, 1.0)),
        ("positive", IntRange(1, 3)),
        ("nonnegative", Interval(0.0, 1.0)),
        ("negative", Interval(-2.0, -1.0)),
        ("nonzero", Interval(-2.0, -1.0)),
        ("integer", IntRange(-3, 3)),
        ("integer", Choice((1, 3.0))),
        ("real", Interval(-2.0, -1.0)),
        ("even", IntRange(2, 2)),
    ],
)
def test_a_symbol_whose_range_meets_its_assumption_is_taken(word, r):
    declared = sp.Symbol("x", **{word: True})
    found = search(_about(declared, x), PROFILE, declared + 1, {"x": r})
    assert found.sides({"x": 2})[0] == 3.0


def test_constants_are_multiplied_as_decimals():
    """A product of floats is 0.30000000000000004."""
    statement = _about(3 * y * x, x)
    found = search(statement, PROFILE, 3 * y * x, {"x": Interval(0.0, 1.0)}, constants={"y": 0.1})
    assert found.proposition.left == sp.Rational(3, 10) * x


def test_a_value_beyond_the_floats_ends_no_search():
    """1/x is infinite for the smallest floats, and at least 1 for all x in (0, 1]."""
    positive = Assumption(name="positive", left=x, right=sp.S.Zero, strict=True)
    statement = replace(_about(1 / x, sp.S.One, r"\ge"), assumptions=(positive,))
    found = search(statement, PROFILE, 1 / x, {"x": Interval(0.0, 1.0)})
    assert found.sides({"x": 5e-324}) == (math.inf, 1.0)
    assert found.decide(None, 0.0).verdict is Verdict.SUPPORTED


def test_assumptions_that_no_point_meets_give_no_proof(monkeypatch):
    """x <= -1 for all x in [0, 1] with x >= 2 says nothing, and was proved."""
    never = Assumption(name="never", left=x, right=sp.Integer(2))
    found = search(
        replace(_about(x, sp.Integer(-1)), assumptions=(never,)),
        PROFILE,
        x,
        {"x": Interval(0.0, 1.0)},
    )
    monkeypatch.setattr("verify.procedures.search.stored", lambda _proposition: {"statement": {}})
    with pytest.raises(NoPoint):
        found.decide(None, 0.0)


def test_an_assumption_that_few_points_meet_keeps_its_proof(monkeypatch):
    """Only the corner x = y = 1 of the square meets x + y >= 2."""
    corner = Assumption(name="corner", left=x + y, right=sp.Integer(2))
    found = search(
        replace(_about(x, y), assumptions=(corner,)),
        PROFILE,
        x,
        {"x": Interval(0.0, 1.0), "y": Interval(0.0, 1.0)},
    )
    proved = {"statement": {"given": [], "claim": []}, "certificate": {}, "narrowed": [], "by": ""}
    monkeypatch.setattr("verify.procedures.search.stored", lambda _proposition: proved)
    assert found._prove() is proved


def test_a_choice_of_words_is_no_number_of_a_proof():
    found = search(_about(x, x), PROFILE, x, {"x": Choice(("a", "b"))})
    with pytest.raises(InvalidParameter, match="x must be a number"):
        found.proposition.statement()


@pytest.mark.parametrize(
    "at",
    [
        lambda p: {"x": 2.0 if p["kind"] == "big" else 1.0},
        lambda p: {"x": {"big": 2.0, "small": 1.0}[p["kind"]]},
        lambda p: {"x": 1.0 + p["kind"].startswith("b")},
    ],
)
def test_symbols_that_are_made_case_by_case_have_no_proof(at):
    """The case of a symbol, which equals no word, would be proved for all cases."""
    domain = {"kind": Choice(("big", "small"))}
    found = search(_about(x, sp.Rational(3, 2)), PROFILE, x, domain, at=at)
    assert found.proposition is None
    assert found.decide(None, 0.0).witness.observed == 2.0


def test_symbols_that_are_made_by_arithmetic_are_formulas_of_the_coordinates():
    domain = {"n": IntRange(1, 9), "s": Interval(0.0, 1.0)}
    n, s = sp.symbols("n s")
    found = search(
        _about(x, y), PROFILE, x, domain, at=lambda p: {"x": p["n"] ** 2 / 3, "y": p["n"] - p["s"]}
    )
    assert found.proposition.left == n**2 / 3
    assert found.proposition.right == n - s


def test_only_a_search_that_found_nothing_says_how_far_it_stayed_from_the_bound():
    """A side that is a hundred times the other one is far above the bound, or far below it."""
    domain = {"x": Interval(1.0, 2.0)}
    above = search(_about(x, sp.Rational(1, 100)), PROFILE, x, domain).decide(None, 0.0)
    below = search(_about(x, sp.Integer(100)), PROFILE, x, domain).decide(None, 0.0)
    assert above.verdict is Verdict.REFUTED
    assert "never closer" not in above.summary
    assert "never closer than 1/50 of the bound" in below.summary


TABLE = {7: 100}


@pytest.mark.parametrize(
    "made",
    [
        lambda n: n or 1,
        lambda n: 100 if n - 7 == 0 else n,
        lambda n: 100 if 2 * n != 14 else n,
        lambda n: TABLE.get(n, n),
        lambda n: 100 if n in {7} else n,
        lambda n: n if n * 1 else 5,
        lambda n: max(n, 7),
    ],
)
def test_a_symbol_that_asks_for_its_coordinate_is_no_formula(made):
    """Each is n in SymPy, where n - 7 == 0 is false and n is neither zero nor in a table."""
    found = search(
        _about(x, y), PROFILE, y, {"n": IntRange(0, 10**6)},
        at=lambda p: {"x": p["n"], "y": made(p["n"])},
    )  # fmt: skip
    assert found.proposition is None


def test_arithmetic_of_coordinates_is_a_formula():
    n, m = sp.symbols("n m")
    found = search(
        _about(y, x), PROFILE, y, {"n": Interval(1.0, 2.0), "m": Interval(1.0, 2.0)},
        at=lambda p: {
            "x": 2 ** p["n"] / (1 - p["m"]) - p["n"] / 3 + np.float64(2.0) * p["n"],
            "y": -abs(p["m"] ** 2 + m0 * p["n"]) / sp.Integer(5),
        },
    ).proposition  # fmt: skip
    assert sp.simplify(found.right - (2**n / (1 - m) - n / 3 + 2.0 * n)) == 0
    assert sp.simplify(found.left + sp.Abs(m**2 + n / 2) / 5) == 0


m0 = sp.Rational(1, 2)


@pytest.mark.parametrize(
    ("word", "offset"), [("positive", 5.0), ("nonnegative", 1e-3), ("integer", 0.0)]
)
def test_a_symbol_is_what_sympy_takes_it_for_at_each_point(word, offset):
    """The coordinate is in its range, and the symbol, which is made of it, is not."""
    declared = sp.Symbol("x", **{word: True})
    with pytest.raises(InvalidParameter, match=f"x is declared {word} in SymPy, and it is"):
        search(
            _about(declared, y), PROFILE, sp.ceiling(declared), {"a": Interval(0.0, 10.0)},
            at=lambda p: {"x": p["a"] - offset, "y": p["a"]},
        )  # fmt: skip
    search(
        _about(declared, y), PROFILE, sp.ceiling(declared), {"a": IntRange(1, 10)},
        at=lambda p: {"x": p["a"], "y": p["a"]},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("declared", "r"),
    [
        ({"zero": False}, Interval(-1.0, 1.0)),
        ({"negative": False}, Interval(-1.0, 1.0)),
        ({"extended_positive": True}, Interval(-1.0, 1.0)),
        ({"imaginary": True}, Interval(0.5, 1.0)),
        ({"prime": True}, IntRange(2, 9)),
        ({"even": False}, IntRange(1, 3)),
        ({"noninteger": True}, Interval(0.5, 2.5)),
        ({"irrational": True}, LogInterval(0.5, 0.75)),
    ],
)
def test_each_word_of_sympy_is_compared_with_numbers_of_the_range(declared, r):
    symbol = sp.Symbol("x", **declared)
    with pytest.raises(InvalidParameter, match="x is declared"):
        search(_about(symbol, x), PROFILE, symbol + 1, {"x": r})


def test_a_left_side_that_is_a_number_is_told():
    with pytest.raises(InvalidParameter, match="observed=1 must be an expression of SymPy or a"):
        search(STATEMENT, PROFILE, 1, DOMAIN)


def test_fractions_are_constants_as_they_are():
    """As a decimal of 16 digits a third of 3 is below 1."""
    from fractions import Fraction

    statement = _about(3 * y * x, x)
    third = {"y": Fraction(1, 3)}
    found = search(statement, PROFILE, 3 * y * x, {"x": Interval(0.0, 1.0)}, constants=third)
    assert found.proposition.left == x


def test_the_symbols_of_a_point_are_made_once_and_anew_where_the_point_was_changed():
    """Four ninths of 3/4 are 1/3, below y = 1/2, and 4/9 of 9/4 are 1, above it."""
    asked = []

    def at(point):
        asked.append(dict(point))
        return {"x": 4 * point["a"] / 9, "y": point["y"]}

    free = replace(STATEMENT, assumptions=(Assumption(name="positive", left=x, right=sp.S(0)),))
    domain = {"a": LogInterval(0.1, 9.0), "y": LogInterval(0.01, 1.0)}
    found = search(free, PROFILE, x, domain, at=at)
    point = {"a": 0.75, "y": 0.5}
    asked.clear()
    assert found.constraints(point)
    assert found.sides(point) == pytest.approx((1 / 3, 0.5))
    assert found.violation(dict(point)) == pytest.approx(-1 / 3)  # (1/3 - 1/2) over 1/2
    assert asked == [point]
    point["a"] = 2.25
    assert found.violation(point) == pytest.approx(0.5)  # (1 - 1/2) over 1
    assert found.violation({"y": 0.5, "a": 0.75}) == pytest.approx(-1 / 3)
    assert float(found.recheck(point)) == pytest.approx(0.5)


def test_the_symbols_of_many_points_are_those_of_each():
    """x = a at every one of 1,500 points, whatever was asked before."""
    domain = {"a": LogInterval(0.1, 1.0)}
    free = replace(STATEMENT, assumptions=())
    found = search(free, PROFILE, x, domain, at=lambda p: {"x": p["a"], "y": 1.0})
    values = [0.1 + 0.9 * i / 1500 for i in range(1500)]
    assert [found.sides({"a": a})[0] for a in values] == values
