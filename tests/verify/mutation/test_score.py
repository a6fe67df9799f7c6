"""Scores: outcomes, their labels, boundaries and samples, on claims whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp

from tests.verify.mutation.test_harder import bound, mean
from tests.verify.toys import COIN
from trials.checks import InvalidParameter
from trials.run.engine import Demand
from trials.run.executors import make_executor
from trials.run.store import RunStore
from verify.claim import Claim
from verify.claims.searching import search
from verify.decisions.domain import Interval
from verify.evidence import Evidence, Verdict
from verify.mutation import conditions
from verify.mutation import score as scoring
from verify.mutation.boundary import boundaries
from verify.mutation.examination import Examination, Standing
from verify.mutation.fingerprint import fingerprint
from verify.mutation.mutants import CONDITIONS, mutants, power_of, resize, with_term
from verify.mutation.outcomes import Judged
from verify.mutation.score import Score, _Judge, score_mutants, tell_apart, total
from verify.mutation.tried import follows, ranges
from verify.papers import catalogue
from verify.procedures.base import PROFILES, Profile
from verify.procedures.placebos import Placebo

CATALOGUE = catalogue()
SMALL = Profile(name="quick", max_trials=256, searches=400, seconds=2.0)


@pytest.fixture
def examine(tmp_path):
    """``name -> `` an examination of that claim on a fresh run, its statement decided."""
    with (
        RunStore.create(tmp_path / "store.sqlite", root_seed=1, config={}) as store,
        make_executor("serial") as executor,
    ):

        def make(name, profile=SMALL):
            examination = Examination(
                claim=CATALOGUE[name],
                profile=profile,
                standing=Standing(verdict="", mark="", level=0.01),
                store=store,
                executor=executor,
            )
            found = Standing.of(examination.decide(CATALOGUE[name].statement))
            return replace(examination, standing=replace(found, level=0.01))

        yield make


def outcomes(score):
    return {j.mutant: j.outcome for j in score.judged}


def test_an_identity_catches_every_mutant_of_every_symbol(examine):
    score = score_mutants(examine("ifca.eq2"), steps=0)
    assert score.n_mutants == len(score.judged) > 30
    assert set(outcomes(score).values()) == {"refuted"}
    assert score.share == 1.0


def test_a_true_mutant_is_called_true_and_a_weaker_one_is_not_decided(examine):
    score = score_mutants(examine("ifca.half-correct", replace(SMALL, searches=200)), steps=0)
    # C_n pays for m rivals, so a client errs far less often than half the time
    factors = {m: o for m, o in outcomes(score).items() if m.startswith("term")}
    assert factors == {
        "term half: times 3/4": "true here",
        "term half: times 1/4": "true here",
    }
    small = score.judged[0]
    assert small.why == "as term half: times 1/4 is, a larger change"
    assert score.n_false == 0


def test_a_claim_that_ignores_its_statement_sees_no_mutant(examine):
    examination = examine("ifca.eq4")
    claim = examination.claim
    deaf = replace(claim, builder=lambda _statement, profile: claim.build(profile))
    score = score_mutants(replace(examination, claim=deaf), steps=0)
    scored = [j for j in score.judged if j.kind not in ("failure", *CONDITIONS)]
    assert {j.outcome for j in scored} == {"unseen", "asks less"}
    assert any(j.kind == "quantifier" for j in scored)
    assert score.n_caught < 0.5 * score.n_false


def test_a_power_that_no_cell_can_try_is_refused(examine):
    found = outcomes(score_mutants(examine("ifca.near-optimal"), steps=0))
    assert {found[m] for m in found if "T^" in m} == {"not tried"}
    # the true exponent of p is -1/2, the statement's with p^(1/2) more
    assert found["term ratio: p^(1/2) more"] == "true here"
    assert found["term ratio: p^(1/4) less"] == "asks less"


def _in_k_alone(claim):
    """The builder of a claim, which gets the statement without any other symbol than k."""
    k = sp.Symbol("k")

    def build(statement, profile):
        (term,) = statement.terms
        alone = k ** statement.power(term.name, k)
        return claim.builder(with_term(statement, term.name, alone), profile)

    return build


def test_a_rate_sees_the_symbols_that_it_states_and_no_others(examine):
    """The half steps of Theorem 1 are C k log d, and their growth with k is compared."""
    examination = examine("sxy.rounds-in-k")
    claim = examination.claim
    (term,) = claim.statement.terms
    whole = with_term(claim.statement, term.name, term.expr * sp.log(sp.Symbol("d")))
    narrow = replace(claim, statement=whole, builder=_in_k_alone(claim))
    found = outcomes(score_mutants(replace(examination, claim=narrow), steps=0))
    assert found["term half steps: k^(1/4) more"] == "asks less"
    assert found["term half steps: d^(1/2) less"] == "unseen"
    assert found["term half steps: d^(1/2) more"] == "asks less"


def test_a_constant_too_small_to_show_is_told_from_one_that_nobody_reads(examine):
    examination = examine("sxy.lemma15")
    claim = examination.claim
    judge = _Judge(examination, claim.build(SMALL), {})
    judge._print = fingerprint(claim.build(SMALL))
    read = [*(c.symbol for c in claim.statement.constants), None]  # None: the failure probability
    assert all(judge._looks_at_constant(constant) for constant in read)
    deaf = replace(claim, builder=lambda _statement, profile: claim.build(profile))
    judge._examination = replace(examination, claim=deaf)
    assert not any(judge._looks_at_constant(constant) for constant in read)


def test_a_refuted_claim_has_no_score(examine):
    assert score_mutants(examine("ifca.cor1-rounds-as-printed")).judged == ()


def test_a_mutant_that_loses_resolution_only_counts_as_unsupported(examine):
    """Lemma 2's probabilities are computed to their stated size; a square of them is sampled."""
    found = outcomes(score_mutants(examine("ifca.lemma2-opnorm"), steps=0))
    assert found["failure probability: squared"] == "unsupported"


def test_the_boundary_lies_between_the_nearest_caught_change_and_the_one_inside(examine):
    """Both exponents of (4) are one half, and cells go up to 1000 dimensions."""
    score = score_mutants(examine("ifca.eq4"), steps=3)
    near = {b.change.split(" at ")[0]: b for b in score.boundaries}
    for name in ("norm: exponent of $N$", "norm: exponent of $d$"):
        assert -0.25 <= near[name].caught < near[name].kept <= 0.0
        assert near[name].kept - near[name].caught == pytest.approx(0.25 / 8)
        assert near[name].change in score.refuted()


def test_bisection_finds_a_known_boundary():
    statement = CATALOGUE["ifca.eq4"].statement
    family = [m for m in mutants(statement) if m.symbol == sp.Symbol("d") and m.size < 0]
    assert len(family) == 2
    calls = []

    def catches(mutant):
        calls.append(mutant.size)
        return mutant.size <= sp.Rational(-1, 10)

    (found,) = boundaries(statement, [(m, catches(m)) for m in family], catches, 3)
    assert found.caught == -0.125
    assert found.kept == -0.09375
    assert len(calls) == 2 + 3


def test_a_resized_mutant_is_the_same_change_of_another_size():
    statement = CATALOGUE["ifca.eq3"].statement
    for mutant in mutants(statement):
        if mutant.size is None:
            continue
        again = resize(statement, mutant, mutant.size)
        assert again == mutant
        assert again.statement == mutant.statement != statement
        if mutant.symbol is not None:
            assert resize(statement, mutant, mutant.size * 2).family == mutant.family


def test_a_sample_depends_on_the_claim_only_and_ends_at_the_first_catch(examine):
    examination = examine("ifca.lemma1-sharp")
    first, again = (score_mutants(examination, 1, steps=0) for _ in range(2))
    assert first == again
    assert sum(j.caught for j in first.judged) <= 1
    assert len(first.judged) <= 2
    assert all(j.outcome in ("refuted", "unsupported", "kept") for j in first.judged)


def searched(bound_of, budget, evaluated):
    """The claim x^2 <= bound on a box, by a search that notes every point in a list."""

    def observed(point):
        evaluated.append(point["x"])
        return point["x"] ** 2

    box = {"x": Interval(0.1, 0.9)}
    return Claim(
        statement=bound(bound_of),
        builder=lambda stated, profile: search(stated, profile, observed, box, budget=budget),
    )


@pytest.mark.parametrize("factor", [100, 1])
def test_a_sample_takes_the_same_few_points_whatever_the_budget_of_a_search(factor):
    """Its outcomes are those of a grid.  The claim itself is searched with its whole budget."""
    x, grid = sp.Symbol("x"), np.linspace(0.1, 0.9, 801)
    taken, whole = [], []
    for budget in (300, 1_200):
        evaluated = []
        examination = Examination(
            claim=searched(factor * x, budget, evaluated),
            profile=SMALL, store=None, trials=object(),
            standing=Standing(verdict="SUPPORTED", mark="SUPPORTED", level=0.01),
        )  # fmt: skip
        statement = examination.claim.statement
        found = outcomes(score_mutants(examination, 3, steps=0))
        for mutant in (m for m in mutants(statement) if m.name in found):
            fails = any(mutant.statement.bound({"x": v}) < v**2 - 1e-9 for v in grid)
            assert found[mutant.name] == ("refuted" if fails else "kept")
        taken.append(tuple(evaluated))
        evaluated.clear()
        examination.decide(statement)
        whole.append(len(evaluated))
    assert len(found) > 2
    assert taken[0] == taken[1]
    assert whole[1] > 2 * whole[0]


@pytest.mark.parametrize(("sample", "most"), [(1, 2), (2, 3), (3, 5)])
def test_a_sample_that_catches_nothing_ends_after_half_as_many_again(
    examine, monkeypatch, sample, most
):
    examination = examine("ifca.lemma1-sharp")
    everything = mutants(examination.claim.statement)
    (found,) = score_mutants(examination, 1, steps=0).judged[:1]
    kept = replace(found, outcome="kept")
    monkeypatch.setattr("verify.mutation.score._Judge.judge", lambda *_, **__: kept)
    score = score_mutants(examination, sample, steps=0)
    assert not any(judged.caught for judged in score.judged)
    assert len(score.judged) == min(most, len(everything))


def test_without_an_executor_a_mutant_may_not_ask_for_trials(tmp_path):
    claim = CATALOGUE["ifca.eq4"]
    with RunStore.create(tmp_path / "store.sqlite", root_seed=1, config={}) as store:
        standing = Standing(verdict="SUPPORTED", mark="SUPPORTED", level=0.01)
        found = score_mutants(
            Examination(claim=claim, profile=SMALL, standing=standing, store=store)
        )
    assert {j.outcome for j in found.judged} == {"not tried", "asks less"}
    assert any("trials that the run does not hold" in j.why for j in found.judged)


def test_new_trials_of_a_dear_experiment_are_refused(examine):
    examination = replace(examine("ifca.eq4"), claim=CATALOGUE["sxy.lemma3"], new_seconds=0.01)
    with pytest.raises(InvalidParameter, match=r"asks for \d+ trials .*, or \d+ s of CPU"):
        examination.decide(examination.claim.statement)


def test_ranges_hold_the_symbols_of_cells_and_of_trials(examine):
    examination = examine("ifca.eq5")
    procedure = examination.procedure(examination.claim.statement)
    known = ranges(procedure, examination.store)
    starts = [(0.5 - c["alpha"]) * c["Delta"] for c in procedure.cells]
    assert known["err"] == pytest.approx((min(starts), max(starts)))
    assert 0 < known["gamma"][0] < known["gamma"][1]
    less = {m.name: follows(m, procedure, known) for m in mutants(examination.claim.statement)}
    assert less["term contraction: p^(1/2) less"]  # p < 1
    assert not less["term contraction: p^(1/2) more"]


@pytest.mark.parametrize("values", [{}, {"d": 4.0}, {"d": 0.5}, {"d": 1.0}], ids=str)
def test_a_change_asks_less_where_its_bound_is_none_below_in_the_users_cells(tmp_path, values):
    """Against the two bounds in each cell.  At values of one's own other changes ask less."""
    cells = ({"d": 0.5}, {"d": 4.0})
    claim = Claim(statement=bound(sp.Symbol("d")), builder=partial(mean, cells=cells))
    with (
        RunStore.create(tmp_path / "store.sqlite", root_seed=1, config={}) as store,
        make_executor("serial") as executor,
    ):
        examination = Examination(
            claim=claim, profile=SMALL, store=store, executor=executor, values=values,
            standing=Standing(verdict="SUPPORTED", mark="SUPPORTED", level=0.01),
        )  # fmt: skip
        found = outcomes(score_mutants(examination, steps=0))
    tried = [values] if values else cells
    changes = {m.name: m.statement for m in mutants(claim.statement)}
    assert found.keys() == changes.keys()
    for name, changed in changes.items():
        is_weaker = all(changed.bound(cell) >= cell["d"] for cell in tried)
        assert (found[name] == "asks less") == is_weaker, name


def test_a_fingerprint_tells_statements_apart_that_differ_in_one_cell_only():
    claim = CATALOGUE["ifca.alpha-stays"]  # Delta is one in all but some cells
    (changed,) = (m for m in mutants(claim.statement) if m.name == "term start: Delta^(1/4) more")
    profile = PROFILES["quick"]
    built = [
        replace(claim, statement=s).build(profile) for s in (claim.statement, changed.statement)
    ]
    assert fingerprint(built[0]) != fingerprint(built[1])
    assert fingerprint(built[0]) == fingerprint(claim.build(profile))


def test_the_power_of_a_symbol_in_a_product():
    x, y = sp.symbols("x y")
    assert power_of(sp.sqrt(x / y) * x, x) == 1.5
    assert power_of(sp.exp(-x), x) is None
    assert power_of(sp.Max(x, y), x) is None


def test_a_mutant_that_cannot_be_tried_is_not_caught(examine, monkeypatch):
    """Numbers that leave the floats or the memory say nothing about a statement."""
    examination = examine("ifca.half-correct", replace(SMALL, searches=200))
    original = examination.claim.statement
    judge = _Judge(examination, examination.procedure(original), {})
    every = {mutant.kind: mutant for mutant in mutants(original)}
    for kind in (OverflowError, MemoryError, ZeroDivisionError, InvalidParameter):

        def refusing(self, statement, kind=kind):
            raise kind("the numbers are too large")

        monkeypatch.setattr(Examination, "procedure", refusing)
        found = [judge.judge(mutant) for mutant in every.values()]
        assert {judged.outcome for judged in found} == {"not tried"}
        assert {judged.why for judged in found} == {"the numbers are too large"}
        assert not any(map(judge.catches, every.values()))

    def faulty(self, statement):
        raise TypeError("a fault of the program, which is no refusal")

    monkeypatch.setattr(Examination, "procedure", faulty)
    for mutant in every.values():
        with pytest.raises(TypeError, match="no refusal"):
            judge.judge(mutant)


class Asking:
    """A procedure that asks for one block of a new cell, round after round."""

    def __init__(self, rounds):
        self.rounds = rounds

    def check(self):
        pass

    def without_figures(self):
        return self

    def demands(self, store, _level):
        done = len(store.cells())
        return [Demand(COIN, {"tag": done}, 1)] if done < self.rounds else []

    def decide(self, store, _level):
        return SimpleNamespace(summary=f"decided in {len(store.cells())} cells", spare="")


def test_the_trials_of_all_rounds_count_against_the_cap(examine):
    """Blocks of 128: three rounds ask for 384 trials, however few each of them asks for."""
    examination = replace(examine("ifca.half-correct", replace(SMALL, searches=200)))
    assert examination.store.cells() == []
    with pytest.raises(InvalidParameter, match="asks for 384 trials"):
        examination.evidence(Asking(3), n_new=383)
    assert len(examination.store.cells()) == 2
    assert examination.evidence(Asking(4), n_new=256).summary == "decided in 4 cells"


class AskingFor(Asking):
    """A procedure that asks for some blocks of one cell."""

    def demands(self, store, _level):
        missing = len(store.blocks(COIN, {"tag": 0})) < self.rounds
        return [Demand(COIN, {"tag": 0}, self.rounds)] if missing else []


def test_trials_that_the_run_holds_are_not_new(examine):
    """Blocks of 128: with one of three stored, 256 trials are new, and with all of them none."""
    examination = examine("ifca.half-correct", replace(SMALL, searches=200))
    examination.evidence(AskingFor(1), n_new=128)
    with pytest.raises(InvalidParameter, match="asks for 256 trials"):
        examination.evidence(AskingFor(3), n_new=255)
    examination.evidence(AskingFor(3), n_new=256)
    assert examination.store.blocks(COIN, {"tag": 0}) == {0, 1, 2}
    assert examination.evidence(AskingFor(3), n_new=0).summary == "decided in 1 cells"


@pytest.mark.parametrize(("resolution", "outcome"), [(None, "true here"), (0.01, "few trials")])
def test_a_condition_is_needless_only_where_the_run_resolves_its_statement(
    examine, monkeypatch, resolution, outcome
):
    examination = examine("ifca.half-correct", replace(SMALL, searches=200))
    found = replace(
        examination.decide(examination.claim.statement),
        verdict=Verdict.SUPPORTED,
        resolution=resolution,
    )
    monkeypatch.setattr(conditions, "open_condition", lambda *_: None)
    monkeypatch.setattr(Examination, "evidence", lambda *_args, **_more: found)
    weaker = [m for m in mutants(CATALOGUE["ifca.lemma1"].statement) if m.kind in CONDITIONS]
    judge = _Judge(examination, examination.procedure(examination.claim.statement), {})
    monkeypatch.setattr(Examination, "procedure", lambda *_: None)
    assert weaker
    assert judge.judge(weaker[0]).outcome == outcome


def test_the_range_of_a_symbol_leaves_out_values_that_are_not_finite():
    """An infinite value says nothing about where a symbol was tried, and hides nothing either."""
    values = ({"a": 2.0, "b": np.inf}, {"a": np.inf, "b": 1.0}, {"a": -3.0, "b": np.nan, "c": True})
    fake = SimpleNamespace(tried_at=lambda _store: values, searched=lambda: None)
    assert ranges(fake, None) == {"a": (-3.0, 2.0), "b": (1.0, 1.0)}
    found = ({"a": np.array([1.0, np.nan])}, {"a": np.array([4.0, 5.0])})
    arrays = SimpleNamespace(tried_at=lambda _store: found, searched=lambda: None)
    assert ranges(arrays, None) == {"a": (4.0, 5.0)}


def test_a_law_tells_every_change_of_meaning_apart(examine):
    score = tell_apart(examine("ifca.eq2"))
    assert score.n_mutants == len(score.judged) > 3
    assert score.share == 1.0


def test_a_bound_that_nothing_comes_near_tells_no_change_of_meaning_apart(examine):
    """Every change of a bound that is a million times too large keeps its support, and holds."""
    examination = examine("ifca.eq4", replace(SMALL, searches=200))
    statement = examination.claim.statement
    (term,) = statement.terms
    generous = with_term(statement, term.name, 10**6 * term.expr)
    claim = replace(examination.claim, statement=generous)
    loose = tell_apart(replace(examination, claim=claim))
    kept = [j for j in loose.judged if not j.caught]
    assert {j.outcome for j in kept} <= {"true here", "open", "asks less"}
    assert sum(j.outcome == "true here" for j in kept) > 2


def test_a_claim_that_is_not_supported_has_no_changes_to_tell_apart(examine):
    examination = examine("ifca.eq2")
    refuted = replace(examination.standing, verdict="REFUTED")
    assert tell_apart(replace(examination, standing=refuted)).judged == ()


def answer(verdict, *, n_failed=0, resolution=None):
    """The part of the evidence that decides about one cell."""
    return SimpleNamespace(
        verdict=Verdict(verdict), mark=verdict, n_failed=n_failed, resolution=resolution
    )


@pytest.fixture
def judge(monkeypatch):
    """A judge of procedures that are names: ``answers`` are what their cells give, by name and by
    trials.  What was asked is noted with the error level.
    """
    asked = []

    def made(answers, *, dear=False, cells=(), logs=()):
        def evidence(self, procedure, *, n_new=None):
            key = procedure if isinstance(procedure, tuple) else (procedure, n_new)
            asked.append((*key, self.standing.level))
            assert self.placebos == ()
            if isinstance(answers[key], Exception):
                raise answers[key]
            return answers[key]

        def procedure(name):
            return SimpleNamespace(
                in_cells=lambda chosen: name if cells == () else f"{name} {chosen[0]['n']}",
                cells_alone=lambda: list(cells),
            )

        values = iter(logs)
        monkeypatch.setattr(scoring, "at_most", lambda p, n: (p, n))
        monkeypatch.setattr(scoring, "declares_cost", lambda _p: dear)
        monkeypatch.setattr(scoring, "log_quotient", lambda *_: next(values))
        monkeypatch.setattr(Examination, "evidence", evidence)
        monkeypatch.setattr(
            Examination, "procedure", lambda _self, _statement: procedure("changed")
        )
        examination = Examination(
            claim=CATALOGUE["ifca.eq2"], profile=SMALL, store=None, trials=object(),
            standing=Standing(verdict="SUPPORTED", mark="SUPPORTED", level=0.06),
            placebos=(object(),),
        )  # fmt: skip
        return _Judge(examination, procedure("original"), {}), procedure("changed"), asked

    return made


FEW, MANY = scoring.N_ELSEWHERE, scoring.MAX_NEW_TRIALS
OPEN, HOLDS, FAILS = answer("INCONCLUSIVE"), answer("SUPPORTED"), answer("REFUTED")
LOST = answer("SUPPORTED", n_failed=2)


@pytest.mark.parametrize(
    ("answers", "dear", "outcome", "why"),
    [
        ({"few": HOLDS}, False, "true here", "holds with W"),
        ({"few": answer("SUPPORTED", resolution=0.1)}, False, "open", "SUPPORTED with W"),
        ({"few": OPEN}, False, "open", "INCONCLUSIVE with W"),
        ({"few": OPEN, "many": HOLDS}, True, "true here", "holds with W"),
        ({"few": OPEN, "many": OPEN}, True, "open", "INCONCLUSIVE with W"),
        ({"few": HOLDS, "many": OPEN}, True, "open", "INCONCLUSIVE with W"),
        ({"few": FAILS, "own": HOLDS}, False, "survived", "false: refuted with W"),
        ({"few": FAILS, "own": OPEN}, True, "survived", "false: refuted with W"),
        ({"few": OPEN, "many": FAILS, "own": HOLDS}, True, "survived", "false: refuted with W"),
        ({"few": FAILS, "own": FAILS}, False, "open", "the statement itself fails at n=3"),
        ({"few": answer("REFUTED", n_failed=1)}, False, "open", "trials fail at n=3"),
        (
            {"few": OPEN, "many": answer("SUPPORTED", n_failed=2)},
            True,
            "open",
            "trials fail at n=3",
        ),
        ({"few": InvalidParameter("too dear")}, False, "open", "W: too dear"),
        ({"few": OPEN, "many": InvalidParameter("too dear")}, True, "open", "W: too dear"),
    ],
)
def test_a_change_is_false_where_its_cell_refutes_it_and_not_the_statement(
    judge, answers, dear, outcome, why
):
    keys = {"few": ("changed", FEW), "many": ("changed", MANY), "own": ("original", FEW)}
    one, changed, asked = judge({keys[k]: v for k, v in answers.items()}, dear=dear)
    assert one._tried_at({"n": 3}, changed, "W") == (outcome, why)
    assert asked == [(*keys[k], 0.06) for k in answers]  # nothing else, and at the claim's level


def test_no_more_trials_are_asked_for_than_were_allowed(judge):
    one, changed, asked = judge({("changed", FEW): OPEN}, dear=True)
    assert one._tried_at({"n": 3}, changed, "W", n_new=FEW)[0] == "open"
    assert len(asked) == 1


CELLS = [{"n": i} for i in range(9)]


@pytest.mark.parametrize(
    ("logs", "refuting", "found", "tried"),
    [
        # the cells in which the change asks for most come first
        ([-0.1, -0.9, -0.5, 0.0, 1.0, -0.3, -0.01, 0.2, -0.7], 2, True, [1, 8, 2]),
        ([-0.1, -0.9, -0.5, 0.0, 1.0, -0.3, -0.01, 0.2, -0.7], 3, False, [1, 8, 2, 5, 0]),
        ([0.5] * 9, 0, False, []),
        ([-0.02] * 9, 0, False, []),
        ([-0.5] * 9, 8, False, [0, 1, 2, 3, 4, 5]),  # six cells at most
    ],
)
def test_a_cell_alone_refutes_at_its_share_of_the_level(judge, logs, refuting, found, tried):
    answers = {(f"changed {i}", None): FAILS if i == refuting else OPEN for i in range(9)}
    answers["changed 1", None] = InvalidParameter("no trials") if refuting != 1 else FAILS
    one, _, asked = judge(answers, dear=True, cells=CELLS, logs=logs)
    mutant = SimpleNamespace(statement=None)
    assert one._refuted_alone(mutant, [{}] * 9) is found
    assert [name for name, *_ in asked] == [f"changed {i}" for i in tried]
    assert {level for *_, level in asked} <= {0.06 / 9}


def test_cells_are_asked_alone_only_where_their_cost_is_known_and_all_were_tried(judge):
    logs = [-0.5] * 9
    answers = {(f"changed {i}", None): FAILS for i in range(9)}
    mutant = SimpleNamespace(statement=None)
    for dear, n_points in ((False, 9), (True, 8)):
        one, _, asked = judge(answers, dear=dear, cells=CELLS, logs=logs)
        assert one._refuted_alone(mutant, [{}] * n_points) is False
        assert asked == []


def evidence(verdict, summary="decided", resolution=None):
    return Evidence(
        verdict=Verdict(verdict), summary=summary, level=0.06, n_trials=0, resolution=resolution
    )


STILL, DRAWING = Placebo(name="nothing"), Placebo(name="other", params=lambda cell: cell)


@pytest.mark.parametrize(
    ("bare", "placebos", "alive", "found"),
    [
        (evidence("SUPPORTED"), (), False, "bare"),
        (evidence("INCONCLUSIVE"), (), False, "bare"),
        (evidence("REFUTED"), (STILL, DRAWING), False, "bare"),
        (evidence("SUPPORTED"), (STILL,), True, "bare"),
        (evidence("SUPPORTED"), (STILL,), False, "VACUOUS"),
        (evidence("INCONCLUSIVE"), (STILL,), True, "whole"),
        (evidence("SUPPORTED", resolution=0.1), (STILL,), True, "whole"),
        (evidence("SUPPORTED"), (STILL, DRAWING), True, "whole"),
    ],
)
def test_support_of_a_change_needs_a_live_cell_and_its_refutation_no_placebo(
    judge, monkeypatch, bare, placebos, alive, found
):
    one, _, _ = judge({})
    one._examination = own = replace(one._examination, placebos=placebos)
    whole = evidence("INCONCLUSIVE", "with its placebos")

    def decided(mutant, quickly):
        assert one._examination.placebos == ()
        assert not quickly
        return bare

    monkeypatch.setattr(one, "_decided", decided)
    monkeypatch.setattr(Examination, "decide", lambda self, _statement: whole)
    monkeypatch.setattr(Examination, "inside", lambda self, _statement: "inside")
    monkeypatch.setattr(scoring, "lives", lambda *asked: alive and asked[0] == "inside")
    expected = {"bare": bare, "whole": whole, "VACUOUS": replace(bare, verdict=Verdict.VACUOUS)}
    assert one._supported(SimpleNamespace(statement=None)) == expected[found]
    assert one._examination is own
    monkeypatch.setattr(one, "_decided", lambda mutant, quickly: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        one._supported(SimpleNamespace(statement=None))
    assert one._examination is own


@pytest.mark.parametrize(
    ("logs", "follows", "told", "tried"),
    [
        (None, 0, None, []),
        ([np.nan, np.nan], 0, None, []),
        ([-1.0, -2.0], 7, ("asks less", "nowhere below the stated bound at 7 places"), []),
        ([0.0, 0.5, 2.0], 0, ("true here", "nowhere below toy.sharp at 3 places"), []),
        # the claim's own cell, the first, is not tried again, and the farthest below comes first
        ([-9.0, -1.0, -3.0, 0.0, -2.0], 0, ("survived", "at 4"), [2, 4]),
        ([-9.0, -1.0, -3.0, np.nan, 0.1], 0, ("open", "down to 0.00012 of toy.sharp, and"), [2, 1]),
        ([-9.0, 0.0, 0.1], 0, ("open", "down to 0.00012 of toy.sharp, and not refuted there"), []),
    ],
)
def test_a_change_is_tried_where_it_is_farthest_below_a_sharper_statement(
    judge, monkeypatch, logs, follows, told, tried
):
    one, changed, _ = judge({})
    asked = []

    def tried_at(cell, _changed, where, n_new):
        asked.append(cell["n"])
        assert n_new == scoring.N_ELSEWHERE
        assert where == f"{np.exp(logs[cell['n']]):.2g} of toy.sharp at n={cell['n']}"
        return ("survived", "at 4") if cell["n"] == 4 else ("open", "")

    one._places = SimpleNamespace(
        n_own=1,
        cells=[{"n": i} for i in range(9)],
        quotients=lambda _sharper, _mutant: None if logs is None else np.array(logs),
    )
    monkeypatch.setattr(one, "_tried_at", tried_at)
    monkeypatch.setattr(scoring, "follows_from", lambda *_: follows)
    found = one._against(SimpleNamespace(id="toy.sharp"), None, changed)
    assert asked == tried
    assert found == told or (found[0] == told[0] and found[1].startswith(told[1]))


def test_a_change_is_tried_at_few_places_below_a_sharper_statement(judge, monkeypatch):
    one, changed, _ = judge({})
    asked = []
    one._places = SimpleNamespace(
        n_own=0, cells=[{"n": i} for i in range(99)], quotients=lambda *_: -1.0 - np.arange(99)
    )
    monkeypatch.setattr(
        one, "_tried_at", lambda cell, *_, **__: asked.append(cell["n"]) or ("open", "")
    )
    monkeypatch.setattr(scoring, "follows_from", lambda *_: 0)
    assert one._against(SimpleNamespace(id="s"), None, changed)[0] == "open"
    assert asked == list(range(98, 98 - scoring.N_PLACES, -1))


@pytest.mark.parametrize(
    ("larger", "relation", "kind", "label"),
    [
        ("REFUTED", r"\le", "factor", "survived"),
        ("INCONCLUSIVE", "=", "factor", "survived"),
        ("SUPPORTED", "=", "factor", "true here"),
        (None, "=", "factor", "survived"),
        (None, "=", "failure", "true here"),
        (None, r"\le", "factor", "true here"),
    ],
)
def test_a_kept_change_is_false_where_a_larger_search_or_an_equation_says_so(
    judge, monkeypatch, larger, relation, kind, label
):
    one, _, _ = judge({})

    def repeated(factor):
        assert factor == scoring.LABEL_BUDGET
        decided = None if larger is None else evidence(larger, "by a larger search")
        return decided and SimpleNamespace(decide=lambda _store, _level: decided)

    changed = SimpleNamespace(fingerprint_at=lambda _points: "other", repeated=repeated)
    monkeypatch.setattr(Examination, "procedure", lambda _self, _statement: changed)
    one._print = "own"
    mutant = SimpleNamespace(kind=kind, statement=SimpleNamespace(relation=relation))
    outcome, why = one._label(mutant, evidence("SUPPORTED", "by its trials"))
    assert outcome == label
    if larger == "SUPPORTED":
        assert why == "by a larger search"
    elif larger is not None:
        assert why == f"{scoring.LABEL_BUDGET} times the budget refutes it"
    else:
        assert why == ("within the margin: " * (label == "survived")) + "by its trials"


NO_TRIALS = InvalidParameter("no trials")


@pytest.mark.parametrize(
    ("compared", "fails", "supported", "alone", "elsewhere", "outcome", "why"),
    [
        ("same", False, None, False, "open", "true here", "supported with k = 0"),
        ("stronger", True, None, False, "open", "refuted", ""),
        ("stronger", False, NO_TRIALS, True, "open", "refuted", ""),
        ("unknown", False, NO_TRIALS, False, "survived", "survived", "elsewhere"),
        ("stronger", False, NO_TRIALS, False, "true here", "not tried", "no trials"),
        ("stronger", False, evidence("REFUTED"), False, "open", "refuted", ""),
        ("stronger", False, evidence("INCONCLUSIVE"), False, "open", "unsupported", ""),
        (
            "stronger",
            False,
            evidence("SUPPORTED", resolution=0.1),
            False,
            "open",
            "unsupported",
            "",
        ),
        ("unknown", False, evidence("SUPPORTED"), False, "open", "open", "elsewhere"),
        ("stronger", False, evidence("SUPPORTED"), False, "true here", "true here", "elsewhere"),
        ("weaker", True, NO_TRIALS, True, "asks less", "asks less", "elsewhere"),
    ],
)
def test_a_change_of_meaning_is_judged_by_its_formula_its_trials_and_other_cells(
    judge, monkeypatch, compared, fails, supported, alone, elsewhere, outcome, why
):
    one, _, _ = judge({})

    def support(_mutant):
        if isinstance(supported, Exception):
            raise supported
        return supported

    asked = []
    monkeypatch.setattr(scoring, "compare", lambda *_: compared)
    monkeypatch.setattr(scoring, "same_at_zero", lambda *_: "k")
    monkeypatch.setattr(one, "_fails_where_the_original_was_tried", lambda _mutant: fails)
    monkeypatch.setattr(one, "_supported", support)
    monkeypatch.setattr(one, "_refuted_alone", lambda _mutant, _points: alone)
    monkeypatch.setattr(
        one, "_elsewhere", lambda _mutant, found: asked.append(found) or (elsewhere, "elsewhere")
    )
    mutant = SimpleNamespace(statement=None, name="m", kind="meaning", words="w", symbol=None)
    found = one.judge_meaning(mutant, [])
    assert (found.outcome, found.why) == (outcome, why)
    assert found.verdict.startswith("REFUTED") is (outcome == "refuted")
    refused = isinstance(supported, Exception) and compared != "weaker"
    assert set(asked) <= {"unknown" if refused else compared}


def judged(kind, words, outcome):
    return Judged(mutant=words, kind=kind, words=words, outcome=outcome)


def test_a_score_counts_false_changes_and_names_the_nearest_condition_of_each():
    score = Score(
        claim="toy.claim",
        procedure="Search",
        original="SUPPORTED",
        judged=(
            judged("term", "term a: dropped", "refuted"),
            judged("factor", "term a: times 3/4", "unsupported"),
            judged("factor", "term a: times 1/2", "survived"),
            judged("factor", "term a: times 2", "asks less"),
            judged("assumption", "large: dropped", "refuted"),
            judged("assumption", "large: 1/2 of the limit", "refuted"),
            judged("assumption", "large: 1/4 of the limit", "refuted"),
            judged("assumption", "small: dropped", "refuted"),
            judged("assumption", "other: dropped", "true here"),
        ),
    )
    assert (score.n_caught, score.n_false) == (2, 3)
    assert score.share == pytest.approx(2 / 3)
    assert score.needed() == ["large: 1/2 of the limit", "small: dropped"]
    assert score.refuted() == ["term a: dropped"]
    data = score.as_dict()
    assert (data["n_false"], data["n_caught"], data["n_refuted"]) == (3, 2, 1)
    assert data["needed"] == score.needed()
    assert total([score, score, replace(score, judged=())]) == (4, 6)
    assert np.isnan(replace(score, judged=()).share)
