"""The mean procedure from trials to verdict: the bound is the statement's, and so is its side."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from bounds.statement import Assumption, OutsideTheorem, Statement, Term
from tests.stated import NOBODY
from tests.verify.toys import VALUE, tried, verdicts
from trials.checks import InvalidParameter
from trials.run.engine import ensure, replay, trial_id
from trials.run.executors import make_executor
from trials.run.store import RunStore, Table
from verify.decisions.combine import CellDecision
from verify.decisions.means import Knowledge
from verify.decisions.sequences import resolvable
from verify.evidence import Verdict
from verify.procedures.base import Observed, Sampling
from verify.procedures.mean_bound import MeanBound

scale, c = sp.symbols("scale c")
UNIT = Knowledge(low=0.0, high=1.0)


def stated(factor, relation=r"\le"):
    return Statement(
        id="toy.mean",
        title="A toy",
        publication=NOBODY,
        source="Lemma 1",
        kind="expectation",
        quantifiers="",
        observed="E S",
        relation=relation,
        terms=(Term(name="mean", expr=factor * scale),),
        assumptions=(Assumption(name="positive", left=scale, right=sp.Float(0.01)),),
    )


def claim(factor=0.6, relation=r"\le", laws=("uniform",), *, known=UNIT, max_trials=4096, **more):
    cell = {"scale": 1.0, "lost": 0.0} | more.pop("cell", {})
    return MeanBound(
        statement=stated(sp.Rational(str(factor)), relation),
        sampling=Sampling(experiment=VALUE, max_trials=max_trials, first=128),
        cells=tuple({**cell, "law": law, "tag": i} for i, law in enumerate(laws)),
        statistic=lambda table, _cell: table["value"],
        knowledge=lambda _cell: known,
        observable="the value",
        **more,
    )


def verdict(tmp_path, build, seed=0):
    return tried(build, tmp_path, seed=seed)[0].verdict


def test_the_statements_own_formula_decides(tmp_path):
    """The same trials, another formula: the verdict follows the statement."""
    for seed, (factor, relation, expected) in enumerate(
        [
            ("0.6", r"\le", Verdict.SUPPORTED),
            ("0.4", r"\le", Verdict.REFUTED),
            ("0.4", r"\ge", Verdict.SUPPORTED),
            ("0.6", r"\ge", Verdict.REFUTED),
            ("0.5", "=", Verdict.SUPPORTED),
            ("0.6", "=", Verdict.REFUTED),
            ("1.0", r"\le", Verdict.VACUOUS),
        ]
    ):
        assert verdict(tmp_path, claim(factor, relation), seed) is expected, (factor, relation)


def test_one_bad_cell_refutes_and_its_witness_replays(tmp_path):
    build = claim(0.6, laws=("uniform", "coin"))
    bad = {**build.cells[1], "scale": 0.9}
    build = replace(
        build,
        cells=(build.cells[0], bad),
        values=lambda cell: {"scale": 0.5 if cell["tag"] else 1.0},
    )
    evidence, _ = tried(build, tmp_path, seed=3)
    assert evidence.verdict is Verdict.REFUTED
    assert evidence.witness.params == bad
    assert evidence.witness.bound == pytest.approx(0.3)
    row = replay(3, evidence.witness.trial, VALUE.check(bad))
    assert row.values[0] == 0.9
    assert [cell.verdict for cell in evidence.cells] == ["SUPPORTED", "REFUTED"]


@pytest.mark.parametrize("n_blocks", [(1, 0), (2, 1), (32, 5), (7, 32)])
def test_what_happens_to_be_stored_does_not_change_where_a_claim_stops(tmp_path, n_blocks):
    build = claim(0.52, laws=("uniform", "coin"))
    whole, rounds = tried(build, tmp_path, seed=1)
    assert len(rounds) > 1
    with (
        RunStore.create(tmp_path / "other", root_seed=1, config={}) as store,
        make_executor("serial", 1) as executor,
    ):
        for cell, n in zip(build.cells, n_blocks, strict=True):
            if n:
                demand = build.sampling.upto(store, cell, n * 128)
                ensure(store, [demand], executor)
        while demands := build.demands(store, 0.05):
            ensure(store, demands, executor)
        assert build.decide(store, 0.05) == whole


def test_failed_trials_speak_against_the_statement(tmp_path):
    lossy = {"lost": 0.5}
    assert verdict(tmp_path, claim(0.6, cell=lossy)) is Verdict.REFUTED
    infinite = claim(5.0, known=Knowledge(low=0.0), cell={"lost": 0.01})
    assert verdict(tmp_path, infinite, 1) is Verdict.REFUTED


def test_asymptotic_support_says_so_and_heavy_tails_get_none(tmp_path):
    known = Knowledge(low=0.0, asymptotic=True)
    evidence, _ = tried(claim(0.6, laws=("exponential",), known=known), tmp_path)
    assert evidence.verdict is Verdict.SUPPORTED
    assert "asymptotic" in evidence.notes[0]
    # a value that no trial has drawn may rule the mean
    assert evidence.resolution == resolvable(evidence.cells[0].n_trials, 0.05)
    heavy, _ = tried(claim(0.6, laws=("pareto",), known=known), tmp_path, seed=1)
    assert heavy.verdict is Verdict.INCONCLUSIVE
    assert "heavy tails" in heavy.summary


def test_one_cell_of_two_with_asymptotic_limits_is_said(tmp_path):
    known = {"uniform": UNIT, "exponential": Knowledge(low=0.0, asymptotic=True)}
    both = claim(0.6, laws=("uniform", "exponential"))
    evidence, _ = tried(replace(both, knowledge=lambda cell: known[cell["law"]]), tmp_path)
    assert evidence.verdict is Verdict.SUPPORTED
    assert "asymptotic" in evidence.notes[0]
    trials = {cell.params["law"]: cell.n_trials for cell in evidence.cells}
    assert evidence.resolution == resolvable(trials["exponential"], 0.05)
    exact, _ = tried(claim(0.6, laws=("uniform",)), tmp_path, seed=1)
    assert not exact.notes
    assert (exact.verdict, exact.resolution) == (Verdict.SUPPORTED, None)


def test_the_refuting_level_is_shared_by_the_cells_and_the_supporting_one_is_not():
    for n in (1, 2, 5):
        test = claim(0.6, laws=("uniform",) * n)._test({"scale": 1.0}, 0.03)
        assert test.refute_level == pytest.approx(0.03 / n)
        assert test.support_level == 0.03


def test_a_known_variance_supports_without_a_range(tmp_path):
    known = Knowledge(variance=0.25)
    assert verdict(tmp_path, claim(0.6, laws=("exponential",), known=known)) is Verdict.SUPPORTED


@pytest.mark.statistical
def test_planted_means_are_found_and_true_ones_are_not_refuted(tmp_path):
    """Power 40/40.  A true power of 0.7 or less would fail with probability above 1 - 1e-6."""
    for name, factor, expected in (("low", "0.4", "REFUTED"), ("true", "0.6", "SUPPORTED")):
        (tmp_path / name).mkdir()
        found = verdicts(lambda f=factor: claim(f), tmp_path / name, range(40))
        assert found.count(expected) == 40


def test_checks_overrides_and_description():
    build = claim(0.6, laws=("uniform", "coin"))
    build.check()
    assert [cell["scale"] for cell in build.override({"scale": 2.0}).cells] == [2.0, 2.0]
    with pytest.raises(InvalidParameter, match="no parameter 'zzz'"):
        build.override({"zzz": 1})
    with pytest.raises(OutsideTheorem, match="positive"):
        build.override({"scale": 0.001})
    with pytest.raises(InvalidParameter, match="relation"):
        replace(build, statement=stated(1, r"\propto")).check()
    for part in ("the value", "2 cells", "at most", "4096", "test.value", "range known", "worst"):
        assert part in build.describe()
    assert "equivalence margin 10%" in claim(0.5, "=").describe()
    assert "asymptotic" in claim(0.5, known=Knowledge(low=0.0, asymptotic=True)).describe()


FULL = Knowledge(low=0.0, high=1.0)
ROUTES = [
    (FULL, "bets, range known"),
    (Knowledge(variance=0.25), "Catoni's bets, variance known"),
    (Knowledge(low=0.0, high=1.0, variance=0.25), "Catoni's bets, variance known"),
    (Knowledge(low=0.0), "bets towards the known end, nothing towards the other"),
    (Knowledge(high=1.0), "bets towards the known end, nothing towards the other"),
    (
        Knowledge(high=1.0, asymptotic=True),
        "bets towards the known end, asymptotic limits towards the other",
    ),
    (Knowledge(asymptotic=True), "asymptotic limits"),
    (Knowledge(), "nothing"),
]


@pytest.mark.parametrize(("known", "words"), ROUTES)
def test_the_way_to_the_limits_is_told_by_what_is_known(known, words):
    assert f"({words})" in claim(0.6, known=known).describe()


def test_without_its_laws_a_mean_has_asymptotic_limits_alone():
    build = claim(0.6, known=FULL).without_laws()
    assert build.knowledge(build.cells[0]) == Knowledge(asymptotic=True)


@pytest.mark.parametrize("relation", [r"\le", r"\ge", "="])
@pytest.mark.parametrize("lost", [(), (2,), (0, 4)])
@settings(max_examples=15, deadline=None)
@given(values=st.lists(st.floats(-3, 3), min_size=6, max_size=6), mean=st.sampled_from([0.3, 0.7]))
def test_the_trial_to_replay_is_the_farthest_on_the_wrong_side_or_the_first_that_failed(
    relation, lost, values, mean
):
    """An equality with a mean above its bound has its wrong side above, too."""
    build = claim(0.5, relation)
    failed = np.isin(np.arange(6), lost)
    rows = np.where(failed, np.nan, values)
    table = Table(
        columns=("value",), values=rows[:, None], failed=failed,
        reasons=tuple((i, "diverged") for i in lost),
    )  # fmt: skip
    params = {"scale": 1.0, "lost": 0.0, "law": "uniform", "tag": 1}
    holds = CellDecision(status="holds", n_trials=6, n_failed=0, bound=0.1)
    fails = CellDecision(status="fails", n_trials=6, n_failed=len(lost), bound=0.5, observed=mean)
    seen = [Observed(params=params | {"tag": tag}, table=table) for tag in (0, 1)]
    witness = build._witness([holds, fails], seen)
    if lost:
        expected = lost[0]
    else:
        over, under = (lambda x: x - 0.5), (lambda x: 0.5 - x)
        sides = {r"\le": over, r"\ge": under, "=": over if mean > 0.5 else under}
        distances = [sides[relation](x) for x in values]
        expected = distances.index(max(distances))
    assert witness.trial == trial_id(VALUE, params, expected)
    assert (witness.params, witness.observed, witness.bound) == (params, mean, 0.5)
