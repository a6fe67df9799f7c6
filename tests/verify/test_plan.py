"""Plans: own values that break a formula are refused, dropped cells are reported, wild cards
skip.
"""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from bounds.statement import OutsideTheorem
from trials.checks import InvalidParameter
from verify import plan as plan_of_runs
from verify.decisions.domain import Choice, Interval
from verify.evidence import Evidence, Verdict
from verify.papers import catalogue
from verify.plan import plan, weaker
from verify.procedures.base import PROFILES
from verify.procedures.constants import Constants
from verify.selection import parse_selection, select


def planned(*texts):
    return plan(catalogue(), texts, PROFILES["quick"])


@pytest.mark.parametrize(
    "text",
    [
        "ifca.cor1-as-printed[Delta=9e-115]",
        "ifca.cor1-as-printed[alpha=0]",
        f"ifca.thm1[m={'9' * 400}]",
        f"ifca.eq3[cluster={'9' * 400}]",
        f"ifca.thm1[sigma={'9' * 400}]",
    ],
)
def test_values_that_break_a_formula_are_refused_in_one_line(text):
    with pytest.raises((InvalidParameter, OutsideTheorem)) as error:
        planned(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["ifca.oracle-mse", "ifca.*"])
def test_a_symbol_without_a_value_is_refused_before_the_run(name):
    """It was an internal error, "a fault of cfl-verify", where the cells lack a symbol."""
    known = catalogue()["ifca.oracle-mse"]
    first, *others = known.statement.terms
    terms = (replace(first, expr=first.expr * sp.Symbol("stranger")), *others)
    changed = replace(known, statement=replace(known.statement, terms=terms))
    with pytest.raises(InvalidParameter, match=r"statement has no value for stranger; given: .*"):
        plan({changed.id: changed}, [name], PROFILES["quick"])


def test_numbers_longer_than_python_converts_are_refused():
    with pytest.raises(InvalidParameter, match="at most 400 characters"):
        parse_selection(f"ifca.thm1[m={'9' * 5000}]")


def test_a_wild_card_passes_over_claims_without_the_parameter():
    found = planned("ifca.*[cluster=12]")
    tried = {p.selection.claim for p in found.claims}
    assert tried == {"ifca.eq3", "ifca.half-correct-sc"}
    ifca = {name for name in catalogue() if name.startswith("ifca.")}
    assert set(found.skipped) == ifca - tried - {name.partition("[")[0] for name in found.not_run}
    assert "cluster=12 must be one of smallest, largest" in found.skipped["ifca.eq32"]
    assert "no parameter 'cluster'" in found.skipped["ifca.thm1"]


def test_a_parameter_that_no_claim_has_is_an_error():
    with pytest.raises(InvalidParameter, match="no parameter 'nonsense'"):
        planned("ifca.*[nonsense=1]")
    with pytest.raises(InvalidParameter, match="no parameter 'cluster'"):
        planned("ifca.thm1[cluster=12]")


def test_the_error_of_a_wild_card_is_that_of_the_first_claim_which_lacks_the_parameter():
    """The claims stand in the catalogue's order, and so does what is said about them."""
    known = catalogue()
    for names in (("ifca.thm1", "ifca.lemma1"), ("ifca.lemma1", "ifca.thm1")):
        with pytest.raises(InvalidParameter, match=f"^{names[0]} has no parameter 'nonsense'"):
            plan({n: known[n] for n in names}, ["ifca.*[nonsense=1]"], PROFILES["quick"])


@pytest.mark.parametrize("text", ["ifca.thm1[cluster=12]", "ifca.thm1[n=0]", "ifca.cor1[alpha=.5]"])
def test_a_claim_that_is_named_is_never_passed_over(text):
    """Nor beside claims that can be tried: whoever names it wants to see it tried."""
    for texts in ((text,), ("ifca.eq3", text), (text, "ifca.eq3"), ("ifca.eq*[cluster=12]", text)):
        with pytest.raises((InvalidParameter, OutsideTheorem)):
            planned(*texts)


def test_cells_that_leave_the_theorem_are_told_with_their_reasons():
    (found,) = planned("ifca.thm1[m=400]").claims
    assert found.own_values is not None
    assert found.own_values.dropped
    for cell in found.own_values.dropped:
        assert cell.params["m"] == 400
        assert cell.reason
    assert "no test of drift" in found.own_values.weaker
    document = found.own_values.document()
    assert len(document["dropped"]) == len(found.own_values.dropped)


def test_registered_cells_are_not_own_values():
    (found,) = planned("ifca.thm1").claims
    assert found.own_values is None


def test_a_search_at_own_values_says_which_parameter_is_fixed():
    (found,) = planned("ifca.eq3[cluster=12]").claims
    assert found.own_values is not None
    assert found.own_values.weaker == ("a search with cluster held fixed",)


def test_a_threshold_at_own_values_says_along_which_symbol_it_is_not_compared():
    (found,) = planned("odcl.thm1-threshold-km[Delta=0.06]").claims
    assert found.own_values is not None
    assert found.procedure.scaling == ("m", "size_min")
    assert found.own_values.weaker == ("10 of 30 cells", "no growth with Delta")


def test_values_that_a_procedure_cannot_describe_are_refused_before_the_run(monkeypatch):
    """The description is stored after the trials: a value that breaks it would lose them all."""

    def described(procedure):
        return f"{float(10**400 if procedure.held_out[0]['m'] == 500 else 1)}"

    monkeypatch.setattr(Constants, "describe", described)
    assert len(planned("ifca.thm1[m=400]").claims) == 1
    with pytest.raises(InvalidParameter, match=r"thm1\[m=500\]: cannot be tried at these values"):
        planned("ifca.thm1[m=500]")


def test_cells_of_every_role_are_counted():
    """Also those where another term of a bound rules: fewer of them are a weaker test."""
    roles = {"calibration": 1, "held_out": 2, "elsewhere": 4}
    of_role = {role: ({},) * n for role, n in roles.items()}
    whole = replace(planned("ifca.thm1").claims[0].procedure, drift={}, **of_role)
    assert len(whole.every_cell()) == 7
    for role, n in roles.items():
        fewer = replace(whole, **{role: ()})
        assert weaker(whole, fewer) == (f"{7 - n} of 7 cells",)
        assert weaker(fewer, whole) == ()


NAMES = st.sets(st.sampled_from("dmnk"))


def parts_of(n_cells, drift, stated, scaling, ranges):
    """What `weaker` reads of a procedure.  One without exponents has none of that name."""
    found = SimpleNamespace(every_cell=lambda: [{}] * n_cells, drift=drift, domain=ranges)
    if stated is not None:
        found.stated = dict.fromkeys(stated, 0.5)
    if scaling is not None:
        found.scaling = tuple(scaling)
    return found


PARTS = st.tuples(
    st.integers(0, 3), st.sampled_from([None, {}, {"n": 1.0}]),
    st.none() | NAMES, st.none() | NAMES,
    st.none() | st.fixed_dictionaries(dict.fromkeys("xy", st.sampled_from([
        Interval(0.0, 1.0), Interval(0.5, 0.5), Choice((1, 2)),
    ]))),
)  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(PARTS, PARTS)
def test_what_is_no_longer_tried_is_told_part_by_part(before, after):
    """Exponents and growths by name, those of the first procedure that the second one lacks."""
    told = weaker(parts_of(*before), parts_of(*after))
    (cells, drift, stated, grown, ranges), (fewer, no_drift, left, kept, rest) = before, after
    wanted = [f"{fewer} of {cells} cells"] if fewer < cells else []
    wanted += ["no test of drift"] if drift and not no_drift else []
    if stated is not None and left is not None and len(left) < len(stated):
        wanted.append(f"no exponent of {', '.join(n for n in 'dkmn' if n in stated - left)}")
    if lost := (grown or set()) - (kept or set()):
        wanted.append(f"no growth with {', '.join(n for n in 'dkmn' if n in lost)}")
    if ranges is not None and rest is not None and ranges != rest:
        changed = [name for name in "xy" if ranges[name] != rest[name]]
        wanted.append(f"a search with {', '.join(changed)} held fixed")
    assert list(told) == wanted


def test_a_claim_that_is_named_twice_is_planned_once():
    found = [
        str(p.selection) for p in planned("ifca.eq4", "ifca.eq3", "ifca.eq4*", "ifca.eq3").claims
    ]
    assert found[:2] == ["ifca.eq4", "ifca.eq3"]
    assert found.count("ifca.eq4") == found.count("ifca.eq3") == 1


def test_values_in_another_order_are_the_same_claim():
    """They were two, which halved the level of error of each."""
    texts = "ifca.a[m=5,d=10]", "ifca.a[d=10,m=5]", "ifca.a[m=5]", "ifca.*[d=10.0,m=5]"
    found = select({"ifca.a": 1, "ifca.b": 2}, texts)
    assert [(str(selection), claim) for selection, claim in found] == [
        ("ifca.a[m=5,d=10]", 1), ("ifca.a[m=5]", 1), ("ifca.b[d=10.0,m=5]", 2)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "is_shown"),
    [
        ("odcl.table1-afa", True),
        ("odcl.table1-afa[k=2]", True),
        ("odcl.table1-afa[k=2,m=1e6]", True),
        ("odcl.table1-afa[k=5]", False),
        ("odcl.table1-afa[k=2,n=3]", False),
        ("odcl.fig3-covariance-as-printed[cluster=1]", False),  # no symbol of the statement
    ],
)
def test_a_failure_elsewhere_says_nothing_of_the_users_values(text, is_shown, monkeypatch):
    """A run at k=5 was told that the checker had verified the failure at k=2, and was "proved"."""
    refuted = Evidence(verdict=Verdict.REFUTED, summary="", level=0.0, n_trials=1)
    monkeypatch.setattr(plan_of_runs, "decide", lambda *_: refuted)
    (each,) = planned(text).claims
    found = each.decide(None, 0.01)
    assert (found.failure is not None) == is_shown
    if is_shown:
        values = found.failure["values"]
        assert all(Fraction(values[x]) == value for x, value in each.selection.values.items())
    # Coq's theorem says that the statement fails somewhere
    is_general = is_shown and not each.selection.values
    assert (found.coq is not None) == found.grade.startswith("proved") == is_general
    if not is_shown:
        assert found.notes == ()
