"""Exact values at which false statements fail: checked, and refused when they are changed."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from bounds.statement import Term
from verify.decisions.domain import Choice, Interval, LogInterval
from verify.evidence import Evidence, Verdict, with_failure
from verify.papers import catalogue
from verify.procedures.base import PROFILES
from verify.procedures.search import Search
from verify.proofs.algebra import Rejected
from verify.proofs.failures import (
    FAILURES,
    _at_values,
    _matched,
    failures,
    for_the_checker,
    numeric,
    registered,
    shown,
    stored,
    write,
)
from verify.proofs.propositions import Proposition
from verify.proofs.refuting import check_failure, sign

QUICK = PROFILES["quick"]
FILES = sorted(FAILURES.glob("*.json"))
X = {"variables": ["x"], "given": [[">=", "x", "0"]], "claim": [">=", "x", "1"]}


def document(path):
    return json.loads(path.read_text(encoding="utf-8"))


def is_accepted(statement, values):
    try:
        check_failure(statement, values)
    except Rejected:
        return False
    return True


def test_every_search_that_refutes_has_exact_values():
    false = {
        name
        for name, claim in catalogue().items()
        if claim.expected is Verdict.REFUTED and isinstance(claim.build(QUICK), Search)
    }
    assert false == {path.stem for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_statement_fails_at_its_values(path):
    claim, found = catalogue()[path.stem], document(path)
    assert found["registered"] == registered(claim.statement)
    assert stored(claim)["values"] == found["values"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_claim_turned_round_does_not_fail_there(path):
    """So the values show what they say, and not that the check accepts anything."""
    found = document(path)
    relation, left, right = found["statement"]["claim"]
    turned = {**found["statement"], "claim": [relation, right, left]}
    assert relation == "=" or not is_accepted(turned, found["values"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_false_given_relation_is_refused(path):
    found = document(path)
    given = [*found["statement"]["given"], [">", "0", "1"]]
    assert not is_accepted({**found["statement"], "given": given}, found["values"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_missing_value_or_one_more_is_refused(path):
    found = document(path)
    assert not is_accepted(found["statement"], {**found["values"], "stranger": "1"})
    for name in found["values"]:
        fewer = {x: value for x, value in found["values"].items() if x != name}
        assert not is_accepted(found["statement"], fewer)


POWER = {"variables": ["x", "y"], "given": [[">=", ["^", "x", "y"], "1"]],
         "claim": [">", "x", "0"]}  # fmt: skip


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        (X, {"x": "1"}),  # the claim holds with equality
        (X, {"x": "2"}),
        (X, {"x": "-1"}),  # outside
        (X, {"x": ["log", "0"]}),
        (X, {"x": ["^", "0", "-1"]}),
        (X, {"x": "y"}),
        (X, {"x": 0.5}),
        (X, {"x": ["^", "-2", "1/2"]}),
        ({**X, "given": [[">", "x", "0"]]}, {"x": "0"}),
        ({**X, "claim": ["=", "x", ["^", ["^", "2", "1/2"], "2"]]}, {"x": "2"}),
        ({**X, "claim": [">=", ["+", "x", ["log", "x"]], "0"]}, {"x": "0"}),
        ({**X, "claim": ["<", "x", "1"]}, {"x": "1/2"}),
        ({**X, "claim": [">=", ["sin", "x"], "1"]}, {"y": "1"}),
        (POWER, {"x": "-2", "y": "2"}),  # x^y = e^(y log x) is given, so that x > 0
        ({**POWER, "claim": [">", ["^", "x", "y"], "4"]}, {"x": "-2", "y": "2"}),
    ],
)  # fmt: skip
def test_values_that_show_nothing_are_refused(statement, values):
    assert not is_accepted(statement, values)


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        (X, {"x": "0"}),  # given with equality
        (X, {"x": ["^", "2", "-1/2"]}),
        ({**X, "claim": [">", "x", "1"]}, {"x": "1"}),
        ({**X, "claim": ["=", "x", "1"]}, {"x": ["cos", "1"]}),
        ({**X, "given": [["=", ["^", "x", "2"], "2"]], "claim": [">=", "1", "x"]},
         {"x": ["^", "2", "1/2"]}),
    ],
)  # fmt: skip
def test_values_that_show_a_failure_are_accepted(statement, values):
    assert is_accepted(statement, values)


VECTOR = {"variables": [], "vectors": ["u"], "given": []}
FAMILY = {"F": {"variables": ["w"], "vectors": [], "given": [[">=", "w", "0"]]}}
RUN = {"T": {"numbers": ["x"], "later": ["y"], "start": [["=", "x", "a"]],
             "steps": [["=", "y", "x"]]}}  # fmt: skip


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        ({**VECTOR, "claim": [">=", ["dot", "u", "u"], "0"]}, {"d__1_u_u": "-1"}),
        ({"variables": [], "sums": FAMILY, "given": [], "claim": [">=", ["sum", "F", "w"], "0"]},
         {"s__F_1_w": "-1"}),
        ({"variables": ["a"], "runs": RUN, "given": [], "claim": ["=", "x", "a"]},
         {"a": "1", "T": "1", "x": "2"}),
        ({"variables": ["a"], "runs": RUN, "given": [],
          "claim": [">=", ["^", "T", "2"], "T"]}, {"a": "1", "T": "1/2", "x": "1"}),
    ],
    ids=["square", "sum", "recursion", "half a step"],
)  # fmt: skip
def test_a_true_statement_about_arrays_does_not_fail_at_numbers_that_none_has(statement, values):
    """The number of a product, of a sum or of a run may be one that no vector or run has."""
    with pytest.raises(Rejected, match="have no values here"):
        check_failure(statement, values)


@pytest.mark.parametrize(("value", "shown"), [(25, "25"), (np.int64(25), "25"), (20.5, "41/2")])
def test_one_of_single_values_is_not_rounded_to_another_one(value, shown):
    """a <= 19 fails at a = 20 too, but that is out of the domain {10, 20.5, 25, 64}."""
    a = sp.Symbol("a")
    ranges = {"a": Choice((10, 20.5, 25, 64))}
    proposition = Proposition(ranges=ranges, assumptions=(), left=a, relation=r"\le",
                              right=sp.Integer(19))  # fmt: skip
    own = catalogue()["odcl.table1-afa"].build(QUICK)
    made = replace(own, proposition=proposition, certify=None, symbols=lambda point: point)
    object.__setattr__(made, "visited", lambda _n: [{"a": value}])
    (found,) = failures(made, None)
    assert found.values == {"a": shown}


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (["+", ["^", "2", "1/2"], "-1414213562373095048801688724209698079/10e0"], None),
        (["+", ["^", "8", "1/2"], ["*", "-2", ["^", "2", "1/2"]]], 0),
        (["+", ["log", "6"], ["*", "-1", ["log", "2"]], ["*", "-1", ["log", "3"]]], 0),
        (["+", ["exp", "1"], "-2718281828459045/1000000000000000"], 1),
        (["+", "1", "-1"], 0),
    ],
)
def test_the_sign_of_a_number(term, expected):
    if expected is None:
        with pytest.raises((Rejected, ValueError, KeyError)):
            sign(term)
    else:
        assert sign(term) == expected


def test_a_changed_statement_finds_no_values():
    claim = catalogue()["odcl.footnote3-as-printed"]
    terms = tuple(Term(name=t.name, expr=2 * t.expr) for t in claim.statement.terms)
    changed = replace(claim, statement=replace(claim.statement, terms=terms))
    assert stored(claim) is not None
    assert stored(changed) is None


def test_a_damaged_file_is_refused(tmp_path):
    claim = catalogue()["odcl.lemma13-as-printed"]
    path = tmp_path / f"{claim.id}.json"
    path.write_text("{}")
    with pytest.raises(Rejected, match="holds no values"):
        stored(claim, [tmp_path])
    good = document(FAILURES / path.name)
    path.write_text(json.dumps({**good, "values": {**good["values"], "d": "2"}}))
    with pytest.raises(Rejected):
        stored(claim, [tmp_path])


def test_values_are_made_anew_and_rational(tmp_path):
    claim = catalogue()["odcl.table1-afa"]
    (made, *_) = failures(claim.build(QUICK), claim)
    assert write(claim, made, tmp_path).is_file()
    kept = document(FAILURES / f"{claim.id}.json")
    assert stored(claim, [tmp_path])["statement"] == kept["statement"]
    assert all(Fraction(value) > 0 for value in made.values.values())


def test_a_true_statement_has_no_values():
    claim = catalogue()["odcl.remark19-own"]
    assert not list(failures(claim.build(QUICK), claim))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_values_on_file_are_shown_of_the_statement_that_the_claim_has_now(path):
    """Two files are older than their claims' wider domains, in which the values still lie."""
    claim, found = catalogue()[path.stem], document(path)
    search = claim.build(QUICK)
    assert shown(search, claim) == stored(claim)
    if found["by"]:
        return
    own = search.proposition
    name, value = next((x, v) for x, v in found["values"].items() if x in own.ranges)
    elsewhere = Interval(2.0 * abs(float(Fraction(value))) + 1.0, math.inf)
    for changed in (
        replace(own, ranges={**own.ranges, name: elsewhere}),
        replace(own, left=own.right),
        replace(own, left=own.right, right=own.left),
    ):
        assert not is_accepted(for_the_checker(changed.statement()), found["values"])
        assert shown(replace(search, proposition=changed), claim) is None
    assert shown(replace(search, proposition=None), claim) is None


def test_a_refutation_says_where_the_checker_saw_it_fail():
    refuted = Evidence(verdict=Verdict.REFUTED, summary="", level=0.0, n_trials=1)
    claim = catalogue()["odcl.footnote3-as-printed"]
    told = with_failure(refuted, stored(claim))
    assert "radius = 1, size_min = 2. Outside that check" in told.notes[-1]
    assert told.as_dict()["failure"]["values"] == {"radius": "1", "size_min": "2"}
    assert "failure" not in refuted.as_dict()
    supported = replace(refuted, verdict=Verdict.SUPPORTED)
    assert with_failure(supported, stored(claim)) is supported


def test_the_law_behind_the_failure_of_identities_is_the_exact_one():
    """Two samples, models on a line: the closed form of the witness against the pairwise law."""
    from verify.claims.ifca.labels import pair_log_probability

    for alpha in (0.1, 0.4):
        place = {"alpha": alpha, "s_a": 1, "s_b": 1, "phi_a": 0, "phi_b": 0, "psi": 0, "t": 1.0}
        gap = 2 - 2 * alpha
        law = (1 - gap / sp.sqrt(gap**2 + 4)) / 2
        assert float(sp.exp(pair_log_probability({**place, "rho": 1.0, "n": 2}))) == pytest.approx(
            float(law), rel=1e-12
        )


@pytest.mark.parametrize(
    ("symbolic", "exact", "values"),
    [
        (["*", "x", ["+", "x", "y"]], ["*", "2", ["+", "2", "1/3"]], {"x": "2", "y": "1/3"}),
        (["*", "x", ["+", "x", "y"]], ["*", "2", ["+", "3", "1/3"]], None),  # x is 2, or 3
        (["+", "x", "1"], ["+", "5", "2"], None),
        (["^", "x", "1/2"], ["sqrt", "7"], {"x": "7"}),
        (["+", "x", "y"], ["+", "1", "2", "3"], None),
        (["+", "x", "y"], ["*", "1", "2"], None),
        (["exp", "x"], "3", None),
        ("x", ["exp", "3"], None),
    ],
)
def test_a_term_matches_one_with_a_number_for_each_of_its_symbols(symbolic, exact, values):
    found: dict[str, str] = {}
    assert _matched(symbolic, exact, found) is (values is not None)
    if values is not None:
        assert found == values


def says(left, relation, right):
    return {"says": "by hand", "left": left, "relation": relation, "right": right}


@pytest.mark.parametrize(
    ("inequality", "larger", "smaller"),
    [(says("3", ">", "2"), "3", "2"), (says("2", "<", "3"), "3", "2")],
)
def test_an_inequality_of_numbers_is_written_with_the_larger_side_first(
    inequality, larger, smaller
):
    assert numeric(inequality) == [">", larger, smaller]


@pytest.mark.parametrize(
    ("last", "fails"),
    [
        (says("5", ">", ["+", "2", "2"]), True),
        (says(["+", "2", "2"], "<", "5"), True),
        (says("5", "<", ["+", "2", "2"]), False),
        (says("4", ">", ["+", "2", "2"]), False),
    ],
)
def test_a_certificate_without_the_registered_formula_fails_by_its_numbers_alone(last, fails):
    """2 > 1 is given, and the opposite of the last inequality is the claim, which must fail."""
    claim = next(c for c in catalogue().values() if c.statement.terms)
    statement = replace(claim.statement, terms=(Term(name="other", expr=sp.Symbol("q") ** 7),))
    made = _at_values(
        statement, {"inequalities": [says("2", ">", "1"), last], "argument": "by hand"}
    )
    assert made.by == "by hand"
    assert made.values == {}
    assert made.statement["given"] == [[">", "2", "1"]]
    assert list(made.inequalities) == [says("2", ">", "1"), last]
    assert is_accepted(for_the_checker(made.statement), made.values) is fails


@pytest.mark.parametrize("odd", [math.inf, -math.inf, math.nan, None, "word", np.int64(3)])
def test_a_point_whose_symbols_are_no_numbers_is_passed_over(odd):
    """a >= 5 fails at a = 3 alone, of NumPy here, and its point is the last of all."""
    a = sp.Symbol("a")
    proposition = Proposition(ranges={"a": LogInterval(1.0, 9.0)}, assumptions=(), left=a,
                              relation=r"\ge", right=sp.Integer(5))  # fmt: skip
    own = next(c for n, c in catalogue().items() if n == "odcl.table1-afa").build(QUICK)
    seen = [{"a": odd}, {"a": np.int64(3)}]
    made = replace(own, proposition=proposition, certify=None, symbols=lambda point: point)
    object.__setattr__(made, "visited", lambda _n: seen)
    (found,) = failures(made, None)
    assert found.values == {"a": "3"}


def test_what_draws_trials_has_no_values_at_which_it_fails():
    assert list(failures(object(), None)) == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"registered": 1}', "{"])
def test_a_file_of_values_that_holds_none_is_refused(text, tmp_path):
    claim = next(iter(catalogue().values()))
    assert stored(claim, [tmp_path]) is None
    (tmp_path / f"{claim.id}.json").write_text(text, encoding="utf-8")
    if text == '{"registered": 1}':
        assert stored(claim, [tmp_path]) is None  # of another statement
    else:
        with pytest.raises(Rejected, match="holds no values"):
            stored(claim, [tmp_path])
