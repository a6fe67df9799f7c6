"""Weaker conditions: near cells decide, far places are another oracle, each cell is tried once."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pytest
import sympy as sp

from bounds.statement import Assumption
from tests.verify.mutation.test_harder import DRAWN, SMALL, Inside, bound, mean
from trials.checks import InvalidParameter
from trials.parameters import Integer, Parameters, Real
from trials.run.executors import make_executor
from trials.run.store import RunStore
from verify.claim import Claim
from verify.decisions.means import Knowledge
from verify.evidence import Verdict
from verify.mutation import conditions
from verify.mutation import outside as outside_module
from verify.mutation.conditions import Conditions
from verify.mutation.examination import Examination, Standing
from verify.mutation.harder import scattered
from verify.mutation.meaning import change_conditions
from verify.mutation.mutants import CONDITIONS
from verify.mutation.outcomes import Kept, describe
from verify.mutation.outside import Outside
from verify.mutation.score import NOTHING_KEPT, tell_conditions_apart

d, k = sp.symbols("d k")
WIDE = Assumption(name="wide", left=k, right=d)
STRONG = Assumption(name="small", left=sp.Integer(100), right=d)


@pytest.fixture
def store(tmp_path):
    with RunStore.create(tmp_path / "store.sqlite", root_seed=1, config={}) as made:
        yield made


def inside(stated, profile=SMALL):
    return Inside(**vars(mean(stated, profile)))


def test_places_lie_outside_one_condition_and_inside_its_weaker_form(store):
    stated = bound(k, assumptions=(WIDE, STRONG))
    outside = Outside(stated, inside(bound(k)), store)
    far = outside.far(WIDE, replace(WIDE, right=d / 4))
    assert far
    assert all(cell["d"] > cell["k"] >= cell["d"] / 4 and cell["d"] <= 100 for cell in far)
    assert len(far) == len({repr(cell) for cell in far}) <= 160


def test_a_form_is_tried_where_it_breaks_the_condition_most_and_least(store):
    """Its places are a half of those that the dropped condition has, and it has some of its own."""
    stated = bound(k, assumptions=(WIDE, STRONG))
    outside = Outside(stated, inside(bound(k)), store)
    after = replace(WIDE, right=d / 4)
    dropped = replace(WIDE, right=-sp.oo)
    everywhere, control = outside.far(WIDE, dropped), outside.control(WIDE, dropped)
    assert len(control) == 12
    assert not {repr(c) for c in everywhere} & {repr(c) for c in control}
    quotients = sorted(c["k"] / c["d"] for c in everywhere)
    assert quotients[0] < 0.1
    assert quotients[-1] > 0.75
    far = outside.far(WIDE, after)
    allowed = [c for c in everywhere if c["k"] >= c["d"] / 4]
    assert far[: len(allowed)] == allowed
    assert len(far) > len(allowed)


def test_an_exhibited_constant_is_moved_only_where_a_symbol_reads_it(store):
    """The c of a step c/p: another value would be another statement."""
    entries = {
        "d": Integer(1, default=4),
        "k": Integer(1, default=4),
        "c": Real(0.0, 0.6, open_low=True, default=0.5, exhibited=True),  # twice that is refused
    }
    table = Parameters(entries)
    assert table.exhibited() == {"c"}
    experiment = replace(DRAWN, check=table.check, parameters=table)
    procedure = mean(bound(d))
    procedure = replace(
        procedure,
        sampling=replace(procedure.sampling, experiment=experiment),
        values=experiment.check,
    )

    def moved(symbols):
        cells = [cell for cell, _ in scattered(procedure, store, symbols)]
        return {name for name in cells[0] if len({cell[name] for cell in cells}) > 20}

    assert moved({"d"}) == {"d", "k"}
    assert moved({"d", "c"}) == {"d", "k", "c"}


def test_near_cells_are_those_that_the_weaker_form_allows(store):
    outside = Outside(bound(k, assumptions=(WIDE,)), inside(bound(k)), store)
    outside.keep("wide", [{"d": 8, "k": 4}, {"d": 64, "k": 4}])
    assert outside.near(replace(WIDE, right=d / 4)) == [{"d": 8, "k": 4}]
    assert len(outside.near(replace(WIDE, right=-sp.oo))) == 2


def test_every_cell_is_decided_once_and_none_after_a_refutation(store):
    outside = Outside(bound(k, assumptions=(WIDE,)), inside(bound(k)), store)
    asked = Counter()

    def decide(cell):
        asked[cell["d"]] += 1
        return Verdict.REFUTED if cell["d"] == 2 else Verdict.SUPPORTED

    for _ in range(2):
        found = outside.try_cells([{"d": 1}, {"d": 2}, {"d": 3}], decide)
        assert found[Verdict.REFUTED] == {"d": 2}
    assert asked == {1: 1, 2: 1}


def test_no_new_cell_is_decided_when_it_is_late(store):
    outside = Outside(bound(k, assumptions=(WIDE,)), inside(bound(k)), store)
    asked = []

    def decide(cell):
        asked.append(cell["d"])
        return Verdict.SUPPORTED

    outside.try_cells([{"d": 1}], decide)
    found = outside.try_cells([{"d": 1}, {"d": 2}], decide, lambda: True)
    assert (asked, found) == ([1], {Verdict.SUPPORTED: {"d": 1}})


def test_a_change_without_cpu_time_is_open(store, monkeypatch):
    """The dropped condition has its near cells from one call, before any cell alone is asked."""
    monkeypatch.setattr(conditions, "SECONDS_OF_A_CHANGE", -1.0)
    claim = Claim(statement=bound(40 * k, assumptions=(WIDE,)), builder=inside)
    found = judged(claim, store)
    late = [j for j in found.values() if "CPU seconds were too few" in j.why]
    assert late
    assert {j.outcome for j in late} == {"open"}


BOTH = Assumption(name="both", left=k**2, right=k * d)  # WIDE times k


@pytest.mark.parametrize("conditions_of", [(WIDE, STRONG), (BOTH,)], ids=["two", "one"])
def test_a_scan_goes_on_in_the_middle_of_a_condition(store, conditions_of):
    """What an earlier scan has found is not asked again, and the rest is what it would be."""
    claim = Claim(statement=bound(k, assumptions=conditions_of), builder=inside)
    whole = judged(claim, store)
    names = list(whole)
    for n in (1, 2, len(names) - 1, len(names)):
        new = []
        kept = Kept(known={name: whole[name] for name in names[:n]}, keep=new.append)
        assert judged(claim, store, kept) == whole
        assert [j.mutant for j in new] == names[n:]


def judged(claim, store, kept=NOTHING_KEPT):
    with make_executor("serial") as executor:
        examination = Examination(
            claim=claim,
            profile=SMALL,
            standing=Standing(verdict="SUPPORTED", mark="SUPPORTED", level=0.01),
            store=store,
            executor=executor,
        )
        examination.decide(claim.statement)
        return {j.mutant: j for j in tell_conditions_apart(examination, kept).judged}


def test_a_form_that_no_near_cell_refutes_may_be_refuted_far_outside(store, monkeypatch):
    """The value is about d/2.  Near cells reach d = 64 k: the bound k fails there, not 40 k."""

    def narrow(stated, profile):
        known = lambda cell: Knowledge(low=0.0, high=0.7 * cell["d"])  # noqa: E731
        return replace(inside(stated, profile), knowledge=known)

    claim = Claim(statement=bound(k, assumptions=(WIDE,)), builder=narrow)
    found = judged(claim, store)
    assert found["condition wide: dropped"].outcome == "refuted"
    assert found["condition wide: d dropped"].outcome == "refuted"
    loose = Claim(statement=bound(40 * k, assumptions=(WIDE,)), builder=narrow)
    found = judged(loose, store)
    assert found["condition wide: d dropped"].outcome == "refuted"
    assert found["condition wide: d dropped"].why.startswith("far outside, at ")
    monkeypatch.setattr(Outside, "far", lambda *_: [])  # the control finds what it has missed
    found = judged(loose, store)
    assert found["condition wide: d dropped"].outcome == "survived"
    assert "refuted at" in found["condition wide: d dropped"].why


def test_far_cells_and_control_have_no_place_in_common(store):
    stated = bound(k, assumptions=(WIDE, STRONG))
    outside = Outside(stated, inside(bound(k)), store)
    weaker = replace(WIDE, right=-sp.oo)
    far, control = outside.far(WIDE, weaker), outside.control(WIDE, weaker)
    assert far
    assert 0 < len(control) <= 12
    assert not [cell for cell in far if cell in control]


def test_a_change_that_leaves_its_own_condition_is_tried_in_the_cells_that_stay(store):
    """The condition names the bound itself: 16 or more.  With k for d one of two cells stays."""

    class Speaking(Inside):
        def require(self, cell):
            super().require(cell)
            floor = Assumption(name="speaks", left=self.statement.expr, right=sp.Integer(16))
            replace(self.statement, assumptions=(floor,)).require(DRAWN.check(cell))

    cells = ({"d": 64, "k": 2}, {"d": 64, "k": 32})
    claim = Claim(
        statement=bound(d),
        builder=lambda stated, profile: Speaking(**vars(mean(stated, profile, cells))),
    )
    examination = Examination(
        claim=claim,
        profile=SMALL,
        standing=Standing(verdict="SUPPORTED", mark="SUPPORTED", level=0.01),
        store=store,
    )
    assert len(examination.inside(bound(d)).cells_alone()) == 2
    assert examination.inside(bound(k)).cells_alone() == ({"d": 64, "k": 32},)
    assert len(examination.inside(bound(d / d)).cells_alone()) == 2  # none is left: refused later


CELL, OTHER = {"d": 8, "k": 4}, {"d": 2, "k": 1}
YES, NO, OPEN = Verdict.SUPPORTED, Verdict.REFUTED, Verdict.INCONCLUSIVE


@pytest.fixture
def scan():
    """The conditions of a claim whose cells give verdicts that are written by hand."""
    made = Conditions.__new__(Conditions)
    made._needless, made._visited, made._end = set(), {}, math.inf
    changes = list(change_conditions(bound(k, assumptions=(WIDE,)), [{"d": 4, "k": 4}]))
    dropped = next(m for m in changes if m.kind in CONDITIONS)
    judged = describe(dropped, "open", why="limits")
    return SimpleNamespace(conditions=made, dropped=dropped, judged=judged)


def giving(*verdicts):
    """Cells outside a condition with these verdicts, of the first call, the second and so on."""
    left = iter(verdicts)
    return SimpleNamespace(try_cells=lambda _cells, _decide, _late: dict(next(left)))


@pytest.mark.parametrize(
    ("verdicts", "near", "late", "needless", "outcome", "why"),
    [
        ({NO: CELL, YES: OTHER}, [CELL], False, False, "refuted", "at d=8, k=4"),
        ({NO: CELL}, [CELL], True, False, "refuted", "at d=8, k=4"),
        ({YES: CELL}, [CELL], False, False, "true here", "limits in every cell near its edge"),
        ({YES: CELL}, [CELL], True, False, "open", "10 CPU seconds were too few for its cells"),
        ({YES: CELL, OPEN: OTHER}, [CELL], False, False, "open", "undecided near its edge"),
        ({YES: CELL, None: OTHER}, [CELL], False, False, "open", "undecided near its edge"),
        ({}, [], True, False, "not tried", "no cell near its edge lies between the two"),
        ({NO: CELL}, [CELL], False, True, "true here", "as it is without the condition"),
    ],
)
def test_a_weaker_form_has_the_verdict_of_its_near_cells(
    scan, verdicts, near, late, needless, outcome, why
):
    scan.conditions._end = -math.inf if late else math.inf
    scan.conditions._needless |= {scan.dropped.term} if needless else set()
    found = scan.conditions._weaker(scan.dropped, near, giving(verdicts))
    assert (found.outcome, found.why) == (outcome, why)
    assert found.verdict == ("REFUTED" if outcome == "refuted" else "")


KEPT = "not refuted at 1 far places and 1 others"


@pytest.mark.parametrize(
    ("before", "far", "control", "late", "outcome", "why"),
    [
        ("true here", {NO: CELL}, {}, False, "refuted", "far outside, at d=8, k=4"),
        ("open", {NO: CELL}, {}, True, "refuted", "far outside, at d=8, k=4"),
        ("true here", {YES: CELL}, {NO: OTHER}, False, "survived", "false: refuted at d=2, k=1"),
        ("open", {}, {NO: OTHER}, True, "survived", "false: refuted at d=2, k=1"),
        ("true here", {YES: CELL}, {YES: OTHER}, True, "open", "10 CPU seconds were too few"),
        ("true here", {YES: CELL}, {YES: OTHER}, False, "true here", f"limits; {KEPT}"),
        ("true here", {OPEN: CELL}, {None: OTHER}, False, "true here", f"limits; {KEPT}"),
        ("not tried", {YES: CELL}, {}, False, "open", KEPT),
        ("not tried", {None: CELL}, {OPEN: OTHER}, False, "open", KEPT),
        ("not tried", {None: CELL}, {None: OTHER}, False, "not tried", "limits"),
        ("open", {YES: CELL}, {YES: OTHER}, False, "open", "limits"),
    ],
)
def test_far_places_and_the_control_change_a_verdict(
    scan, before, far, control, late, outcome, why
):
    scan.conditions._end = -math.inf if late else math.inf
    scan.conditions._needless.add(scan.dropped.term)
    found = scan.conditions._try_far(
        replace(scan.judged, outcome=before), scan.dropped, giving(far, control), [CELL], [OTHER]
    )
    assert found.outcome == outcome
    assert found.why.startswith(why)
    refuted = NO in far or NO in control
    assert found.verdict == ("REFUTED" if NO in far else "")
    # A condition outside which the bound fails is needed
    assert (scan.dropped.term in scan.conditions._needless) is not refuted


def test_without_far_places_a_verdict_is_that_of_the_near_cells(scan):
    for outcome in ("true here", "not tried"):
        judged = replace(scan.judged, outcome=outcome)
        found = scan.conditions._try_far(judged, scan.dropped, giving({}, {}), [], [])
        assert found == judged
    scan.conditions._end = -math.inf
    for far, control, open_now in (([], [], False), ([CELL], [], True), ([], [CELL], True)):
        found = scan.conditions._try_far(judged, scan.dropped, giving({}, {}), far, control)
        assert (found.outcome == "open") is open_now


def test_a_condition_that_cannot_be_evaluated_does_not_hold_and_is_broken_least():
    at = {"k": 8.0, "d": 4.0}
    assert outside_module._holds(WIDE, at)
    assert not outside_module._holds(WIDE, {"k": 2.0, "d": 4.0})
    assert not outside_module._holds(WIDE, {"d": 4.0})
    assert outside_module._holds(replace(WIDE, right=-sp.oo), {})
    assert not outside_module._holds(WIDE, {"k": "many", "d": 4.0})
    # Places that break it most come first
    values = [{"k": 2.0, "d": 4.0}, {"d": 4.0}, {"k": 1.0, "d": 4.0}]
    places = [({"n": i}, each) for i, each in enumerate(values)]
    first, *_ = outside_module._chosen(replace(WIDE, constant=sp.Symbol("C")), places)
    assert first[0] == {"n": 2}
    assert outside_module._margin(WIDE, {"d": 4.0}) == math.inf


@pytest.mark.parametrize(
    ("verdict", "resolution", "error", "found"),
    [
        (YES, None, None, YES),
        (YES, 0.1, None, None),
        (NO, 0.1, None, NO),
        (OPEN, None, None, OPEN),
        (YES, None, InvalidParameter("too dear"), None),
        (YES, None, MemoryError("too large"), None),
    ],
)
def test_a_cell_whose_trials_fail_or_are_too_coarse_says_nothing(
    scan, verdict, resolution, error, found
):
    def alone(*_arguments):
        if error is not None:
            raise error
        return SimpleNamespace(verdict=verdict, resolution=resolution)

    scan.conditions._examination = SimpleNamespace(alone=alone)
    assert scan.conditions._alone(CELL, None, 0.05, 1) is found


def test_points_of_the_search_without_a_condition_refute_its_weaker_forms(scan):
    """They are visited once, for the dropped condition, and kept for the others."""
    calls = []

    def search(**more):
        return SimpleNamespace(
            **{
                "searched": lambda: "a domain",
                "visited": lambda n: calls.append(n) or [{"d": 1.0}],
                "fails_at": lambda points: [p["d"] for p in points] == [1.0],
                **more,
            }
        )

    look = scan.conditions._fails_where_it_was_dropped
    moved, dropped = (
        replace(
            scan.dropped,
            original=bound(k, assumptions=(replace(WIDE, right=right),)),
            change=lambda changed: changed,
            term="wide",
        )
        for right in (d / 2, -sp.oo)
    )
    assert look(moved, search()) is False  # nothing is known yet
    assert calls == []
    assert look(dropped, search()) is True
    assert look(moved, search()) is True
    assert look(moved, search(searched=lambda: None)) is False
    assert calls == [conditions.BUDGET]


@pytest.mark.parametrize(("verdict", "refuted"), [(NO, True), (YES, False), (OPEN, False)])
def test_a_larger_budget_is_the_control_of_a_search(verdict, refuted):
    def repeated(factor):
        assert factor == conditions.CONTROL_BUDGET
        return SimpleNamespace(decide=lambda _store, _level: SimpleNamespace(verdict=verdict))

    assert conditions._refuted_by_more(SimpleNamespace(repeated=repeated), None, 0.05) is refuted
    drawn = SimpleNamespace(repeated=lambda _factor: None)
    assert conditions._refuted_by_more(drawn, None, 0.05) is False
