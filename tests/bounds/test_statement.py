"""A statement is one object: evaluated, typeset, taken apart, closed outside its assumptions."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from bounds.render import Notation, latex
from bounds.statement import (
    Assumption,
    Constant,
    OutsideTheorem,
    Publication,
    Statement,
    Term,
    evaluate,
    evaluate_mp,
    exponent,
    plain,
)
from tests.stated import NOBODY

m, d, sigma, alpha, c_1, c_2, C_n = sp.symbols("m d sigma alpha c_1 c_2 C_n")

BOX = (
    Constant(symbol=c_1, low=0.0, high=100.0, generous="high", meaning="prefactor"),
    Constant(symbol=c_2, low=0.01, high=10.0, generous="low", meaning="rate"),
)
STATEMENT = Statement(
    id="toy.bound",
    title="A toy",
    publication=NOBODY,
    source="Lemma 7",
    kind="upper bound",
    quantifiers=r"\forall m",
    observed=r"\norm{x}",
    terms=(
        Term(name="floor", expr=c_1 * sigma * sp.sqrt(d / m)),
        Term(name="tail", expr=sp.exp(-c_2 * m)),
    ),
    failure=1 / m,
    constants=BOX,
    assumptions=(
        Assumption(name="size", left=m, right=sp.log(d), constant=C_n),
        Assumption(name="closeness", left=sp.Rational(1, 2), right=alpha, strict=True),
    ),
)
VALUES = {"m": 50.0, "d": 8.0, "sigma": 0.5, "alpha": 0.25, "c_1": 3.0, "c_2": 0.1}


@given(
    m=st.integers(10, 10**7),
    d=st.integers(1, 10**4),
    sigma=st.floats(1e-3, 1e3),
    c=st.floats(0.01, 100),
)
@settings(max_examples=50, deadline=None)
def test_a_bound_is_the_sum_of_its_terms_at_any_values(m, d, sigma, c):
    values = {"m": m, "d": d, "sigma": sigma, "alpha": 0.1, "c_1": c, "c_2": 0.3}
    terms = STATEMENT.term_values(values)
    floor, tail = c * sigma * math.sqrt(d / m), math.exp(-0.3 * m)
    assert terms == pytest.approx({"floor": floor, "tail": tail}, rel=1e-12)
    assert STATEMENT.bound(values) == pytest.approx(floor + tail, rel=1e-12)
    assert STATEMENT.failure_probability(values) == pytest.approx(1 / m, rel=1e-12)


def test_arrays_are_evaluated_elementwise():
    many = STATEMENT.bound({**VALUES, "sigma": np.array([0.0, 1.0, 2.0])})
    one_by_one = [STATEMENT.bound({**VALUES, "sigma": s}) for s in (0.0, 1.0, 2.0)]
    np.testing.assert_allclose(many, one_by_one, rtol=1e-15)


def test_exponents_are_taken_from_the_printed_terms():
    assert STATEMENT.exponent("floor", m) == sp.Rational(-1, 2)
    assert STATEMENT.exponent("floor", d) == sp.Rational(1, 2)
    assert STATEMENT.exponent("floor", sigma) == 1
    assert STATEMENT.exponent("floor", alpha) == 0
    assert sp.simplify(STATEMENT.exponent("tail", m) + c_2 * m) == 0
    assert STATEMENT.power("floor", m) == -0.5
    with pytest.raises(ValueError, match=r"exponent of m in term tail is -c_2\*m.*a number"):
        STATEMENT.power("tail", m)


def test_a_printed_sum_does_not_start_with_a_minus_sign():
    x, y = sp.symbols("x y")
    assert latex((1 - x * y) * y) == r"y \left(1 - x y\right)"
    assert latex(x - y) == "x - y"
    assert latex(y - x) == "y - x"
    assert latex(-x - y) == "- x - y"


def test_latex_holds_the_observed_the_relation_and_every_term():
    text = STATEMENT.latex()
    assert text.startswith(r"\norm{x} \le ")
    for term in STATEMENT.terms:
        assert latex(term.expr) in text
    assert "**" not in text
    assert STATEMENT.failure_latex() == r"\frac{1}{m}"


def test_a_papers_letters_replace_house_names():
    n, p_max, err = sp.symbols("n p_max err")
    letters = Notation(letters={"n": "n'", "p_max": r"p_{\max}", "err": r"\norm{\theta}"})
    assert latex(n, letters) == "n'"
    assert latex(p_max / n, letters) == r"\frac{p_{\max}}{n'}"
    assert r"\norm" in latex(err, letters)
    assert latex(n) == "n"


def test_a_violated_assumption_names_value_requirement_paper_and_source():
    with pytest.raises(OutsideTheorem) as caught:
        STATEMENT.bound({**VALUES, "alpha": 0.5})
    assert str(caught.value) == ("closeness: 1/2=0.5 must be > 0.5 = alpha (Nobody 1900, Lemma 7)")
    # m = 50 >= C log(8) exactly up to C = 24.04
    STATEMENT.require({**VALUES, "C_n": 24.0})
    with pytest.raises(OutsideTheorem, match=r"m=50 must be >= 25 \* 2.07944 .*log\(d\)"):
        STATEMENT.require({**VALUES, "C_n": 25.0})


def test_unchecked_evaluates_outside_the_assumptions():
    assert STATEMENT.bound({**VALUES, "alpha": 0.5}, unchecked=True) > 0


@given(m=st.integers(1, 10**6), d=st.integers(2, 10**4), c=st.floats(0.1, 100))
@settings(max_examples=50, deadline=None)
def test_the_margin_is_the_largest_constant_with_which_an_assumption_holds(m, d, c):
    size = STATEMENT.assumptions[0]
    margin = size.margin({"m": m, "d": d})
    assert margin == pytest.approx(m / math.log(d), rel=1e-12)
    assert size.holds({"m": m, "d": d, "C_n": c}) == (margin >= c)
    assert STATEMENT.margins({"m": m, "d": d, "alpha": 0.1})["size"] == margin


def test_strictness_decides_equality():
    values = {"alpha": 0.5}
    strict = STATEMENT.assumptions[1]
    loose = Assumption(name="loose", left=strict.left, right=strict.right)
    assert strict.margin(values) == loose.margin(values) == 1.0
    assert loose.holds(values)
    assert not strict.holds(values)
    assert ">" in strict.latex()
    assert r"\ge" in loose.latex()
    assert r"\gtrsim" in STATEMENT.assumptions[0].latex()


def test_a_right_side_of_zero_holds_with_every_constant():
    above_zero = Assumption(name="positive", left=alpha, right=sp.Integer(0), strict=True)
    assert above_zero.margin({"alpha": 0.1}) == math.inf
    assert above_zero.margin({"alpha": -0.1}) == 0.0
    assert not above_zero.holds({"alpha": -0.1})


def test_zero_is_not_strictly_above_zero():
    above_zero = Assumption(name="positive", left=alpha, right=sp.Integer(0), strict=True)
    assert not above_zero.holds({"alpha": 0.0})


def test_a_hidden_constant_is_one_unless_given():
    size = STATEMENT.assumptions[0]
    assert size.holds({"m": 2.1, "d": 8.0})
    assert not size.holds({"m": 2.0, "d": 8.0})


def test_a_root_of_a_negative_number_is_refused():
    with pytest.raises(ValueError, match=r"sigma\*\*0.25 must be a real number.*sigma=-2.0"):
        evaluate(sigma**0.25, {"sigma": -2.0})


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("value", [-2.0, np.array([4.0, -2.0])])
def test_a_value_that_is_nan_is_refused(value):
    with pytest.raises(ValueError, match=r"sqrt\(sigma\) must be a real number"):
        evaluate(sp.sqrt(sigma), {"sigma": value})


@pytest.mark.parametrize(
    ("value", "told"),
    [("3", "'3'"), (None, "None"), (sp.Symbol("y"), "y"), (sp.nan, "nan"), (sp.zoo, "zoo")],
)
def test_a_value_that_is_no_number_is_named(value, told):
    with pytest.raises(ValueError, match=f"^sigma={told} must be a number$"):
        evaluate(sigma + 1, {"sigma": value})


@pytest.mark.parametrize("value", [1j, sp.I, np.complex128(1j), np.array([1j, 0])])
def test_a_complex_value_is_a_number_and_a_complex_result_is_refused(value):
    with pytest.raises(ValueError, match=r"sigma \+ 1 must be a real number; it is not at sigma="):
        evaluate(sigma + 1, {"sigma": value})
    assert np.all(np.asarray(evaluate(sigma * 0 + 1, {"sigma": value})) == 1)


def test_numbers_of_sympy_and_large_ones_are_numbers():
    """An array of Python's objects holds them where NumPy has no type for them."""
    assert evaluate(sigma + 1, {"sigma": sp.Rational(1, 2)}) == sp.Rational(3, 2)
    assert evaluate(sigma + 1, {"sigma": 10**400}) == 10**400 + 1
    found = evaluate(sigma + 1, {"sigma": np.array([sp.Rational(1, 2), 10**400], dtype=object)})
    assert found.tolist() == [sp.Rational(3, 2), 10**400 + 1]


def test_nan_and_missing_values_are_named():
    with pytest.raises(ValueError, match="sigma=nan must be a number"):
        STATEMENT.bound({**VALUES, "sigma": math.nan})
    with pytest.raises(ValueError, match="sigma=nan"):
        evaluate(sigma + 1, {"sigma": np.array([0.0, math.nan])})
    with pytest.raises(KeyError, match=r"no value for c_2; given: .*c_1"):
        STATEMENT.bound({k: v for k, v in VALUES.items() if k != "c_2"})


def test_constants_are_found_by_name_and_know_their_generous_end():
    assert STATEMENT.constant("c_1").most_generous == 100.0
    assert STATEMENT.constant("c_2").most_generous == 0.01
    with pytest.raises(KeyError, match="no constant 'c_9'; it has: c_1, c_2"):
        STATEMENT.constant("c_9")
    chosen = Constant(symbol=c_1, low=0.1, high=1.0, generous="choose", meaning="step size")
    with pytest.raises(ValueError, match="c_1 is chosen"):
        _ = chosen.most_generous


def test_generous_ends_make_the_bound_largest_in_the_box():
    corner = {c.name: c.most_generous for c in BOX}
    largest = STATEMENT.bound({**VALUES, **corner})
    for c_1_value in (0.0, 3.0, 100.0):
        for c_2_value in (0.01, 1.0, 10.0):
            assert STATEMENT.bound({**VALUES, "c_1": c_1_value, "c_2": c_2_value}) <= largest


def test_a_statement_without_failure_never_fails():
    sure = Statement(
        **{
            **{
                name: getattr(STATEMENT, name)
                for name in ("publication", "source", "kind", "terms")
            },
            "id": "toy.sure",
            "title": "sure",
            "quantifiers": "",
            "observed": "x",
        }
    )
    assert sure.failure_probability({}) == 0.0
    assert sure.failure_latex() == ""


def test_plain_text_is_one_line():
    assert plain(sp.sqrt(d / m)) == "sqrt(d/m)"


def test_a_publication_knows_the_key_of_its_entry_and_refuses_what_is_no_entry():
    found = Publication(label="A 1900", bibtex="@article{ a1900,\n  year = {1900}\n}")
    assert found.key == "a1900"
    with pytest.raises(ValueError, match="bibtex of 'A 1900' must start like @article"):
        Publication(label="A 1900", bibtex="A, Journal, 1900")


def test_high_precision_agrees_with_floats_and_names_a_missing_value():
    values = {"m": 50.0, "d": 8.0, "sigma": 0.5, "c_1": 3.0, "c_2": 0.1}
    with mpmath.workdps(50):
        exact = evaluate_mp(STATEMENT.expr, values)
    assert float(exact) == pytest.approx(float(STATEMENT.bound(values, unchecked=True)), rel=1e-14)
    with pytest.raises(KeyError, match="no value for c_1"):
        evaluate_mp(STATEMENT.expr, {k: v for k, v in values.items() if k != "c_1"})


def test_a_term_is_found_by_name_and_exponents_of_products_are_read():
    assert STATEMENT.term("tail").expr == sp.exp(-c_2 * m)
    with pytest.raises(KeyError, match="no term 'head'; it has: floor, tail"):
        STATEMENT.term("head")
    assert exponent(sigma * sp.sqrt(2 * d / m) / m, m) == sp.Rational(-3, 2)


def test_another_form_of_a_statement_keeps_all_but_its_reading_and_what_it_uses():
    first = replace(STATEMENT, reading="as printed", uses=("toy.lemma",))
    terms = (*STATEMENT.terms, Term(name="more", expr=sp.Integer(1)))
    other = first.variant("toy.other", "Other", "corrected", terms=terms)
    assert (other.id, other.title, other.source) == ("toy.other", "Other", "corrected")
    assert (other.reading, tuple(other.uses)) == ("", ())
    for name in ("kind", "observed", "constants", "assumptions", "failure", "publication"):
        assert getattr(other, name) == getattr(first, name), name
    assert other.bound(VALUES) == pytest.approx(first.bound(VALUES) + 1.0)
    own = first.variant("toy.own", "", "", reading="mine", uses=("toy.a", "toy.b"))
    assert (own.reading, own.uses) == ("mine", ("toy.a", "toy.b"))


def test_the_beginning_of_a_name_is_another_name():
    """Names of terms, constants and assumptions may begin with one another."""
    c_12 = sp.Symbol("c_12")
    terms = (
        Term(name="tail of all", expr=c_12 * m),
        Term(name="tail", expr=c_1 * d),
        Term(name="tail of one", expr=c_1),
    )
    constants = (replace(BOX[0], symbol=c_12, high=7.0), BOX[0])
    made = replace(STATEMENT, terms=terms, constants=constants)
    for name, expr in (("tail", c_1 * d), ("tail of one", c_1), ("tail of all", c_12 * m)):
        assert made.term(name).expr == expr
    assert (made.power("tail", d), made.power("tail", m)) == (1.0, 0.0)
    assert (made.constant("c_1").high, made.constant("c_12").high) == (100.0, 7.0)
    with pytest.raises(KeyError, match="no term 'tail of'; it has: tail of all, tail, tail of one"):
        made.term("tail of")
    with pytest.raises(KeyError, match="no constant 'c_'; it has: c_12, c_1"):
        made.constant("c_")


def test_a_formula_is_printed_as_it_was_stated_and_not_worked_out():
    i, q = sp.symbols("i q")
    assert r"\sum_{i=1}^{3}" in latex(sp.Sum(q**i, (i, 1, 3)))
    assert r"\frac{d}{d q}" in latex(sp.Derivative(q**2, q))
    assert latex(sp.Mul(2, 3, evaluate=False)) == r"2 \cdot 3"


@pytest.mark.parametrize(
    ("constant", "left", "holds"),
    [(0.5, -0.6, False), (0.5, -0.4, True), (2.0, -1.5, True), (2.0, -2.5, False)],
)
def test_a_hidden_constant_multiplies_a_side_below_zero(constant, left, holds):
    """The relation is a >= C b for b = -1."""
    a, hidden = sp.symbols("a C")
    condition = Assumption(name="below", left=a, right=sp.Integer(-1), constant=hidden)
    assert condition.holds({"a": left, "C": constant}) is holds


@pytest.mark.parametrize("evaluated", [evaluate, evaluate_mp])
def test_a_sum_over_an_index_is_its_value(evaluated):
    k, n = sp.symbols("k n")
    thirds = sp.Sum(k / 3, (k, 1, n))
    assert float(evaluated(thirds, {"n": 4})) == pytest.approx(10 / 3, rel=1e-15)
    assert float(evaluated(thirds, {"n": 4.0})) == pytest.approx(10 / 3, rel=1e-15)
    assert float(evaluated(thirds, {"n": 0})) == 0.0
    with pytest.raises(ValueError, match="whole numbers"):
        evaluated(thirds, {"n": 4.5})


def test_a_sum_in_mpmath_has_all_digits():
    k, n = sp.symbols("k n")
    with mpmath.workdps(50):
        found = evaluate_mp(sp.Sum(1 / k, (k, 1, n)), {"n": 3})
        assert abs(found - mpmath.mpf(11) / 6) < mpmath.mpf(10) ** -48


@pytest.mark.parametrize(
    "expr", [sp.Integral(1 / sp.Symbol("y"), (sp.Symbol("y"), 1, 2)), sp.zeta(sp.Symbol("x"))]
)
def test_an_expression_without_numpy_code_is_named(expr):
    with pytest.raises(ValueError, match="must be built of operations of NumPy"):
        evaluate(expr, {"x": 2.0})


def test_a_division_by_zero_names_the_expression_and_the_values():
    x = sp.Symbol("x")
    with pytest.raises(ZeroDivisionError, match=r"1/x divides by zero at x=0.0"):
        evaluate(1 / x, {"x": 0.0})


@pytest.mark.parametrize(
    ("name", "expr", "at"),
    [
        ("pi", sp.pi, math.pi),
        ("e", sp.E, math.e),
        ("euler_gamma", sp.EulerGamma, 0.5772156649015329),
        ("catalan", sp.Catalan, 0.915965594177219),
        ("exp", sp.exp(2), math.exp(2)),
        ("gamma", sp.gamma(sp.Symbol("x")), math.gamma(1.5)),
        ("sqrt", sp.sqrt(sp.Symbol("x")), math.sqrt(1.5)),
        ("maximum", sp.Max(sp.Symbol("x"), 1), 1.5),
        ("max", sp.Max(sp.Symbol("x"), 1), 1.5),
        ("mpf", sp.Symbol("x") / 3, 0.5),
        ("sum", sp.Sum(sp.Symbol("i"), (sp.Symbol("i"), 1, sp.Symbol("n"))), 6.0),
        ("range", sp.Sum(sp.Symbol("i"), (sp.Symbol("i"), 1, sp.Symbol("n"))), 6.0),
    ],
)
@pytest.mark.parametrize("evaluated", [evaluate, evaluate_mp])
def test_a_symbol_takes_the_place_of_no_constant_and_of_no_function(evaluated, name, expr, at):
    """The symbol pi beside the number pi was the number as well: 1.25^2 for 1.25 pi."""
    values = {"x": 1.5, "n": 3, name: 1.25}
    assert float(evaluated(expr * sp.Symbol(name), values)) == pytest.approx(1.25 * at)
    assert float(evaluated(expr + sp.Symbol(name), values)) == pytest.approx(1.25 + at)


def test_numbers_of_other_libraries_are_evaluated():
    x = sp.Symbol("x")
    assert evaluate(sp.log(x), {"x": sp.Rational(1, 2)}) == pytest.approx(-math.log(2))
    assert evaluate_mp(x / 2, {"x": np.int64(7)}) == 3.5


@pytest.mark.parametrize("evaluated", [evaluate, evaluate_mp])
def test_an_infinity_without_a_sign_is_no_missing_value(evaluated):
    with pytest.raises(ValueError, match="must be built of operations of NumPy"):
        evaluated(sp.log(sp.Integer(0)) * sp.Symbol("x"), {"x": 2.0})
