"""Mutants: every one differs, the weaker ones are recognised, none is left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sympy as sp

from bounds.statement import Assumption, Constant, Statement, Term, evaluate
from verify.mutation.mutants import absorbs, asks_less, mutants, power_of, variables

m, n, d, p, err, c_2, c_3 = sp.symbols("m n d p err c_2 c_3")


def constant(symbol: sp.Symbol, generous: Any = "high") -> Constant:
    return Constant(symbol=symbol, low=1e-3, high=1e3, generous=generous, meaning="x")


def statement(**changes: Any) -> Statement:
    fields: dict[str, Any] = {
        "id": "toy.bound",
        "title": "t",
        "source": "s",
        "kind": "upper bound",
        "quantifiers": "",
        "observed": "x",
        "terms": (
            Term(name="contraction", expr=err / 2),
            Term(name="floor", expr=c_2 / p * sp.sqrt(d / (m * n))),
            Term(name="tail", expr=sp.exp(-c_3 * n)),
        ),
        "failure": 1 / m,
        "constants": (constant(c_2), constant(c_3, "low")),
    }
    fields |= publication()
    return Statement(**(fields | changes))


def publication() -> dict[str, Any]:
    try:
        from bounds.statement import Publication
    except ImportError:
        return {"paper": "toy"}
    return {"publication": Publication(label="Toy 2000", bibtex="@misc{toy, title={Toy}}")}


def test_every_kind_of_change_is_made() -> None:
    names = [x.name for x in mutants(statement())]
    assert len(names) == len(set(names))
    assert "term floor: d^(1/4) less" in names
    assert "term tail: n^(1/2) less in the exponent" in names
    assert "term contraction: times 1/4" in names
    assert "term floor: dropped" in names
    assert "failure probability: replaced by e^-m" in names
    # four symbols in the floor, one in the contraction, one in the tail, four shifts each
    assert sum(x.kind == "exponent" for x in mutants(statement())) == 24
    assert sum(x.kind == "term" for x in mutants(statement())) == 3


def test_every_mutant_differs_from_the_original() -> None:
    values = {"m": 7.0, "n": 1.7e-3, "d": 3.0, "p": 0.2, "err": 0.4, "c_2": 1.3, "c_3": 0.7}
    original = statement()
    seen = {(original.bound(values), original.failure_probability(values))}
    for mutant in mutants(original):
        changed = mutant.statement
        pair = (changed.bound(values), changed.failure_probability(values))
        assert pair not in seen, mutant.name
        seen.add(pair)


def test_a_changed_statement_is_made_when_it_is_asked_for_and_once() -> None:
    """A sample decides one of a hundred mutants."""
    for mutant in mutants(statement(assumptions=(Assumption(name="a", left=m, right=d),))):
        assert "statement" not in vars(mutant)
        assert mutant.words
        assert mutant.statement is mutant.statement != statement(), mutant.name


def test_a_factor_that_a_constant_absorbs_is_no_mutant() -> None:
    s = statement()
    assert absorbs(s, s.terms[1])
    assert not absorbs(s, s.terms[0])
    assert not absorbs(s, s.terms[2])  # the constant stands in the exponent
    factors = {x.name.split(":")[0] for x in mutants(s) if x.kind == "factor"}
    assert factors == {"term contraction", "term tail"}


def test_a_constant_that_every_summand_has_absorbs_a_factor() -> None:
    common, alone = (err * c_3 + n * c_3) ** 2, (err * c_3 + n) ** 2
    s = statement(terms=(Term(name="common", expr=common), Term(name="alone", expr=alone)))
    assert absorbs(s, s.terms[0])
    assert not absorbs(s, s.terms[1])


def test_a_logarithm_without_a_value_at_the_first_points_is_told_by_the_others(monkeypatch) -> None:
    """Of log(err / c) with doubled c: log(2 c) is no multiple of it, whatever simplify says."""
    monkeypatch.setattr(sp, "simplify", lambda expr: sp.Integer(2))
    nested = sp.log(err * n / (c_2 * sp.sqrt(sp.log(d)))) / n
    s = statement(terms=(Term(name="nested", expr=nested),))
    assert not absorbs(s, s.terms[0])


def test_a_lower_bound_gets_larger_factors_and_an_equation_both_sides() -> None:
    lower = statement(relation=r"\ge", terms=(Term(name="a", expr=1 / n),), constants=())
    assert {str(x.multiplier) for x in mutants(lower) if x.kind == "factor"} == {"4/3", "4"}
    law = statement(relation="=", terms=(Term(name="a", expr=1 / n),), constants=())
    assert {str(x.multiplier) for x in mutants(law) if x.kind == "side"} == {"21/20", "19/20"}


RANGES = {
    "m": (10.0, 1e6), "n": (2.0, 100.0), "d": (1.0, 50.0), "p": (0.01, 0.5), "err": (0.1, 3.0),
}  # fmt: skip


def test_weaker_mutants_are_those_that_the_original_implies() -> None:
    """The label against brute force: the mutant's bound is never below the original's."""
    s = statement()
    rng = np.random.default_rng(0)
    points = [
        {name: float(np.exp(rng.uniform(*np.log(ends)))) for name, ends in RANGES.items()}
        | {"c_2": 1.0, "c_3": 0.1}
        for _ in range(400)
    ]
    for mutant in mutants(s):
        if mutant.kind in ("term", "quantifier"):
            continue
        if mutant.kind == "failure":
            implied = all(
                mutant.statement.failure_probability(x) >= s.failure_probability(x) for x in points
            )
        else:
            implied = all(
                evaluate(mutant.statement.expr, x) >= evaluate(s.expr, x) - 1e-15 for x in points
            )
        assert asks_less(mutant, RANGES) == implied, mutant.name


SIGNED = {
    "below zero": -err * d / 2,
    "a sum below zero": -err - d / 3,
    "decays": 3 * sp.exp(-n / 9),
    "grows": sp.exp(n / 99),
    "taken away": -sp.exp(-n / 9),
    "a growth taken away": -2 * sp.exp(n / 99),
    "one without a decay": 1 - sp.exp(-n / 9),
}


@pytest.mark.parametrize("relation", [r"\le", r"\ge"])
@pytest.mark.parametrize("name", SIGNED)
def test_a_term_of_either_sign_and_an_exponential_that_grows_have_the_right_label(
    name: str, relation: str
) -> None:
    """Against brute force.  Every factor asks for more."""
    s = statement(relation=relation, constants=(), failure=None, kind="deterministic",
                  terms=(Term(name="a", expr=SIGNED[name]), Term(name="b", expr=m)))  # fmt: skip
    rng = np.random.default_rng(1)
    points = [
        {x: float(np.exp(rng.uniform(*np.log(ends)))) for x, ends in RANGES.items()}
        for _ in range(100)
    ]
    side = 1 if relation == r"\le" else -1
    changes = [x for x in mutants(s) if x.term == "a"]
    assert {x.kind for x in changes} == {"exponent", "factor", "term"}
    for mutant in changes:
        gaps = [side * (evaluate(mutant.statement.expr, x) - evaluate(s.expr, x)) for x in points]
        implied = min(gaps) >= -1e-9
        assert asks_less(mutant, RANGES) == implied, mutant.name
        if mutant.kind == "factor":
            assert max(gaps) < 0.0


def test_unknown_ranges_count_as_false() -> None:
    more = next(x for x in mutants(statement()) if x.name == "term floor: d^(1/2) more")
    assert asks_less(more, RANGES)
    assert not asks_less(more, {})


def test_statements_without_terms_have_mutants_of_their_probability_only() -> None:
    bare = replace(statement(), terms=(), assertion="x = y")
    kinds = {x.name: x.kind for x in mutants(bare)}
    assert kinds.pop("always, not with a failure probability") == "quantifier"
    assert set(kinds.values()) == {"failure"}


def test_variables_leave_constants_out() -> None:
    s = statement()
    assert [x.name for x in variables(s, s.expr)] == ["d", "err", "m", "n", "p"]


@pytest.mark.parametrize("term", ["contraction", "floor"])
def test_only_one_term_changes(term: str) -> None:
    s = statement()
    changed = [x for x in mutants(s) if x.name.startswith(f"term {term}:") and x.kind != "term"]
    assert len(changed) > 2
    for mutant in changed:
        others = [t for t in mutant.statement.terms if t.name != term]
        assert others == [t for t in s.terms if t.name != term]


def test_a_constant_holds_for_every_value_at_the_hardest_end_of_its_box() -> None:
    found = {x.name: x for x in mutants(statement()) if x.kind == "quantifier"}
    assert set(found) == {
        "for every c_2 >= 0.001, not for one",
        "for every c_3 <= 1000, not for one",  # a larger decay asks for more
        "always, not with a failure probability",
    }
    values = {"m": 7.0, "n": 1.7, "d": 3.0, "p": 0.2, "err": 0.4, "c_2": 1.3, "c_3": 0.7}
    low = found["for every c_2 >= 0.001, not for one"].statement
    assert low.bound(values) == pytest.approx(statement().bound({**values, "c_2": 1e-3}))
    assert found["always, not with a failure probability"].statement.failure_probability({}) == 0.0
    assert not any(asks_less(x, RANGES) for x in found.values())


def test_a_constant_that_the_user_chooses_or_a_rate_has_no_such_mutant() -> None:
    chosen = statement(constants=(constant(c_2, "choose"), constant(c_3, "choose")), failure=None)
    assert not [x for x in mutants(chosen) if x.kind == "quantifier"]
    assert not [x for x in mutants(statement(kind="rate")) if x.kind == "quantifier"]


def test_conditions_are_dropped_moved_and_lose_their_strictness() -> None:
    s = statement(
        assumptions=(
            Assumption(name="balance", left=3 * p, right=d, strict=True),
            Assumption(name="hidden", left=n, right=sp.log(m), constant=sp.Symbol("C_n")),
            Assumption(name="sign", left=err, right=sp.Integer(0), strict=True),
        )
    )
    found = {x.name: x for x in mutants(s) if x.name.startswith("condition")}
    assert list(found) == [
        "condition balance: dropped",
        "condition balance: equality allowed",
        "condition balance: right side 0.9 times as large",
        "condition balance: right side 0.5 times as large",
        "condition hidden: dropped",  # a factor is absorbed by its constant
        "condition sign: dropped",
        "condition sign: equality allowed",
    ]
    equal, inside = {"p": 1.0, "d": 3.0}, {"p": 1.0, "d": 5.9}

    def holds(name: str, at: dict[str, float]) -> bool:
        changed = next(a for a in found[name].statement.assumptions if a.name == "balance")
        return changed.holds(at)

    assert not s.assumptions[0].holds(equal)
    assert holds("condition balance: equality allowed", equal)
    assert not holds("condition balance: equality allowed", inside)
    assert holds("condition balance: right side 0.5 times as large", inside)
    assert holds("condition balance: dropped", {"p": 1.0, "d": 1e9})


@pytest.mark.parametrize(("relation", "generous"), [(r"\le", "high"), (r"\ge", "low")])
def test_no_change_of_a_quantifier_or_of_a_condition_follows(relation: str, generous: str) -> None:
    """Where the statement just holds with the constant one, its change is false or says more."""
    s = statement(
        relation=relation, constants=(constant(c_2, generous),),
        terms=(Term(name="only", expr=c_2 * d / n),),
        assumptions=(Assumption(name="balance", left=3 * p, right=d, strict=True),),
    )  # fmt: skip
    side = 1 if relation == r"\le" else -1
    values = {"m": 7.0, "n": 3.0, "d": 2.0, "p": 0.9, "c_2": 1.0}
    observed = s.bound(values)
    changes = [x for x in mutants(s) if x.kind in ("quantifier", "assumption", "boundary")]
    assert {x.kind for x in changes} == {"quantifier", "assumption", "boundary"}
    assert sum(x.kind == "quantifier" for x in changes) == 2
    for mutant in changes:
        changed = mutant.statement
        if mutant.kind == "quantifier":
            is_false = side * (changed.bound(values) - observed) < 0.0
            says_more = changed.failure_probability(values) < s.failure_probability(values)
        else:  # the change speaks of a point of which the statement says nothing
            is_false = False
            says_more = any(
                changed.assumptions[0].holds(at) and not s.assumptions[0].holds(at)
                for at in ({"d": 2.0, "p": q} for q in (2 / 3, 0.65, 0.4))
            )
        assert is_false or says_more, mutant.name
        assert not asks_less(mutant, RANGES), mutant.name


FACTORS = (
    m, n, d, sp.sqrt(m), 1 / n, m**2 * n, 1 + m, m + n, sp.log(m), sp.exp(-d), sp.Integer(3),
    n**0.3, (m * d) ** sp.sqrt(2),
)  # fmt: skip


@pytest.mark.parametrize("symbol", [m, n, d], ids=str)
def test_a_power_is_how_an_expression_grows_with_a_symbol_at_every_size(symbol):
    """Of all products and quotients of two factors: the same growth at four sizes, or no power."""
    powers = 0
    for one in FACTORS:
        for other in FACTORS:
            for expr in (one * other, one / other):
                compute = sp.lambdify((m, n, d), expr, "math")
                grown = []
                for size in (1.7, 3.1, 8.9, 20.3):
                    at = dict(zip("mnd", (2.3, 5.9, 1.1), strict=True)) | {str(symbol): size}
                    more = at | {str(symbol): 2 * size}
                    grown.append(np.log2(compute(**more) / compute(**at)))
                power = power_of(expr, symbol)
                if power is None:
                    assert np.ptp(grown) > 1e-6, expr
                else:
                    assert grown == pytest.approx([power] * 4), expr
                    powers += power != 0.0
    assert powers >= 30
