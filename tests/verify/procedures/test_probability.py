"""The probability procedure from trials to verdict: calibration, power, budgets, witnesses."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

from bounds.statement import OutsideTheorem
from tests.verify.toys import COIN, tried, verdicts
from trials.checks import InvalidParameter
from trials.run.engine import Demand, ensure, replay
from trials.run.executors import make_executor
from trials.run.store import RunStore, Table
from verify.evidence import Verdict
from verify.procedures import probability
from verify.procedures.base import Observed, Sampling
from verify.procedures.probability import Probability
from verify.proofs.certificate import Inequality, certificate

LEVEL = 0.05
DELTA = 0.1


def claim(*probabilities, delta=DELTA, max_trials=1024, exact=None, lost=0.0):
    return Probability(
        name="toy.coin",
        sampling=Sampling(experiment=COIN, max_trials=max_trials, first=128),
        cells=tuple({"p": p, "tag": i, "lost": lost} for i, p in enumerate(probabilities)),
        bad=lambda table, _params: table["bad"] > 0,
        delta=lambda _params: delta,
        event="the coin showing heads",
        exact=exact,
    )


@pytest.mark.statistical
@pytest.mark.parametrize(
    "n_seeds", [50, pytest.param(3000, marks=pytest.mark.slow)], ids=["quick", "slow"]
)
def test_failing_exactly_as_often_as_stated_is_refuted_at_most_at_the_level(tmp_path, n_seeds):
    """One cell at equality, one below, and a look after each of four doublings."""
    found = verdicts(lambda: claim(DELTA, DELTA / 2), tmp_path, range(n_seeds), LEVEL)
    refuted = found.count("REFUTED")
    # the probability that a procedure exactly at its level fails this test is 1e-6
    assert binomtest(refuted, n_seeds, LEVEL, alternative="greater").pvalue > 1e-6
    # at equality, supporting is wrong no more often than the level allows either (same 1e-6)
    supported = found.count("SUPPORTED")
    assert binomtest(supported, n_seeds, LEVEL, alternative="greater").pvalue > 1e-6


@pytest.mark.statistical
def test_a_quarter_of_the_true_probability_is_refuted_and_twice_it_is_supported(tmp_path):
    """Power 30/30 here.  A power of 0.63 or less would fail with probability above 1 - 1e-6."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    planted = verdicts(lambda: claim(DELTA, delta=DELTA / 4), tmp_path / "a", range(30), LEVEL)
    assert planted.count("REFUTED") == 30
    true = verdicts(lambda: claim(DELTA, delta=DELTA * 2), tmp_path / "b", range(30), LEVEL)
    assert true.count("SUPPORTED") == 30


@pytest.mark.parametrize(
    ("p", "least", "asks"),
    [(0.5, None, False), (0.001, None, True), (0.5, math.log(0.4), True), (0.05, None, True)],
)
def test_a_verdict_alone_asks_for_no_upper_limit_where_the_trials_refute(p, least, asks, tmp_path):
    """The verdict and its words are those of the whole decision, with every law."""
    asked = []

    def limit(cell):
        asked.append(cell["tag"])
        return math.log(2 * cell["p"])

    build = replace(claim(p, 0.001), log_limit=limit, log_least=lambda _cell: least)
    whole, rounds = tried(build, tmp_path)
    asked.clear()
    alone, again = tried(build.without_figures(), tmp_path, seed=1)
    assert bool(asked) is asks
    with RunStore.open(tmp_path / "0.sqlite", readonly=True) as store:
        same = build.without_figures().decide(store, LEVEL)
    assert (same.verdict, same.summary) == (whole.verdict, whole.summary)
    assert whole.verdict is (Verdict.REFUTED if p == 0.5 else Verdict.SUPPORTED)
    assert alone.verdict is whole.verdict
    assert len(again) == len(rounds)


@pytest.mark.parametrize("exact", [None, 0.1])
def test_each_round_is_decided_once_and_each_rule_has_its_own_decision(tmp_path, exact):
    """The requests for trials and the verdict ask for the same rounds again."""
    decide = probability._decide if exact is None else probability._decide_exactly
    decide.cache_clear()
    evidence, rounds = tried(claim(0.09, delta=0.1, exact=exact), tmp_path)
    assert len(rounds) > 1
    assert decide.cache_info().misses == len(rounds)
    (tmp_path / "other").mkdir()
    other, _ = tried(claim(0.09, delta=0.2, exact=exact), tmp_path / "other")
    assert other.cells[0].bound == 0.2
    assert evidence.cells[0].bound == 0.1


def test_one_bad_cell_refutes_and_its_witness_replays(tmp_path):
    evidence, _ = tried(claim(0.01, 0.4, 0.02), tmp_path, seed=3)
    assert evidence.verdict is Verdict.REFUTED
    assert evidence.witness.params["p"] == 0.4
    assert evidence.witness.bound == DELTA
    row = replay(3, evidence.witness.trial, COIN.check(evidence.witness.params))
    assert row.values[0] == 1.0
    assert [c.params["p"] for c in evidence.cells] == [0.01, 0.4, 0.02]
    assert all(c.lower <= c.observed <= c.upper for c in evidence.cells)


def test_only_undecided_cells_are_sampled_further(tmp_path):
    evidence, rounds = tried(claim(0.0, 0.0, DELTA * 0.97, max_trials=2048), tmp_path, seed=1)
    assert rounds[0] == 3
    assert rounds[-1] == 1
    trials = [c.n_trials for c in evidence.cells]
    assert trials[0] == trials[1] < trials[2] == 2048
    assert evidence.verdict is Verdict.INCONCLUSIVE
    assert evidence.n_trials == sum(trials)


@pytest.mark.parametrize("n_blocks", [(1, 0, 0), (2, 1, 0), (4, 4, 5), (1, 16, 3), (3, 7, 16)])
def test_what_happens_to_be_stored_does_not_change_where_a_claim_stops(tmp_path, n_blocks):
    """Killed within a round, or cells shared with a claim that drew more of them."""
    build = claim(0.02, DELTA * 0.9, DELTA * 0.6, max_trials=2048)
    whole, _ = tried(build, tmp_path, seed=1)
    with (
        RunStore.create(tmp_path / "other", root_seed=1, config={}) as store,
        make_executor("serial", 1) as executor,
    ):
        ensure(
            store,
            [Demand(COIN, c, n) for c, n in zip(build.cells, n_blocks, strict=True) if n],
            executor,
        )
        while demands := build.demands(store, LEVEL):
            ensure(store, demands, executor)
        assert build.decide(store, LEVEL) == whole


def test_failed_trials_count_as_bad(tmp_path):
    """Never bad, but three in ten trials are lost: more than delta."""
    evidence, _ = tried(claim(0.0, lost=0.3), tmp_path)
    assert evidence.verdict is Verdict.REFUTED
    assert evidence.n_failed > 0
    assert evidence.witness.trial is not None
    assert replay(0, evidence.witness.trial, COIN.check(evidence.witness.params)).status != "ok"


def test_a_delta_below_what_the_budget_resolves_is_said(tmp_path):
    evidence, _ = tried(claim(0.0, delta=1e-9, max_trials=256), tmp_path)
    assert "resolution" in evidence.summary
    assert evidence.verdict is Verdict.SUPPORTED
    (cell,) = evidence.cells
    assert cell.upper > 1e-9


def test_an_exact_probability_is_confirmed_and_a_factor_of_three_is_found(tmp_path):
    true, _ = tried(claim(0.2, delta=0.2, exact=0.5, max_trials=4096), tmp_path, seed=1)
    assert true.verdict is Verdict.SUPPORTED
    low, _ = tried(claim(0.2, delta=0.6, exact=0.5, max_trials=4096), tmp_path, seed=2)
    assert low.verdict is Verdict.REFUTED


def test_overrides_checks_and_description():
    base = claim(0.1, 0.2)
    assert base.override({"p": 0.3, "tag": 9}).cells == ({"p": 0.3, "tag": 9, "lost": 0.0},)
    with pytest.raises(InvalidParameter, match="no parameter 'zzz'; its parameters: lost, p, tag"):
        base.override({"zzz": 1})
    with pytest.raises(InvalidParameter, match=r"p=1\.5"):
        base.override({"p": 1.5})
    with pytest.raises(InvalidParameter, match=r"p=1\.5"):
        replace(base, cells=({"p": 1.5},)).check()

    def refuse(cell):
        raise OutsideTheorem(f"p={cell['p']} must be 1")

    with pytest.raises(OutsideTheorem, match=r"p=0\.1 must be 1"):
        replace(base, validate=refuse).check()
    for part in ("the coin showing heads", "2 cells", "128", "1024", "test.coin"):
        assert part in base.describe()
    assert "margin" in claim(0.1, exact=0.5).describe()


def test_a_proof_is_made_of_a_supported_statement_and_a_certificate_of_a_refuted_one(tmp_path):
    """And of no other: what it costs is spent once, and what it says belongs to its verdict."""
    half = certificate(
        "Half is more.", [Inequality(says="half", left="1/2", relation=">", right="1/3")]
    )
    asked = []

    def certify():
        asked.append("certificate")
        return half

    def prove(cells):
        asked.append([cell["p"] for cell in cells])

    for seed, (p, wanted) in enumerate([(0.0, [[0.0]]), (0.5, ["certificate"]), (DELTA, [])]):
        build = replace(claim(p, max_trials=256), certify=certify, prove=prove)
        evidence, _ = tried(build, tmp_path, seed=seed)
        assert asked == wanted
        assert evidence.verdict is (Verdict.SUPPORTED, Verdict.REFUTED, Verdict.INCONCLUSIVE)[seed]
        assert (evidence.proof is not None) is (evidence.verdict is Verdict.REFUTED)
        assert evidence.proved is None
        asked.clear()
    found, _ = tried(replace(claim(0.5), certify=certify), tmp_path, seed=9)
    assert found.proof == half.as_dict()


def test_the_event_is_asked_of_finished_trials_alone_and_of_none_where_all_failed():
    asked = []

    def bad(table, _params):
        asked.append(table.n_trials)
        assert not table.failed.any()
        return table["bad"] > 0

    build = replace(claim(0.1), bad=bad)
    for failed in ([False] * 4, [True, False, True, False], [True] * 4):
        lost = np.array(failed)
        rows = np.where(lost, np.nan, [0.0, 1.0, 0.0, 0.0])[:, None]
        reasons = tuple((i, "lost") for i in np.flatnonzero(lost).tolist())
        table = Table(columns=("bad",), values=rows, failed=lost, reasons=reasons)
        found = build._bad(Observed(params={}, table=table))
        assert found.tolist() == [f or i == 1 for i, f in enumerate(failed)]
        decision = build._decision([Observed(params={}, table=table)], LEVEL)
        (cell,) = decision.cells
        assert (cell.n_trials, cell.n_bad) == (4, int(found.sum()))
    assert set(asked) == {4, 2}


def test_the_logarithm_of_a_probability_that_underflows_is_the_stated_one():
    cell = {"p": 0.1, "tag": 0, "lost": 0.0}
    assert claim(0.1, delta=0.25)._log_delta(cell) == math.log(0.25)
    assert claim(0.1, delta=0.0)._log_delta(cell) == -math.inf
    build = replace(claim(0.1, delta=0.0), log_delta=lambda _cell: -2000.0)
    assert build._log_delta(cell) == -2000.0
    for limit, coarse in ((None, True), (-2500.0, False), (-2000.0, False), (-1500.0, True)):
        assert replace(build, log_limit=lambda _cell, at=limit: at).is_coarse(LEVEL) is coarse


@pytest.mark.parametrize(
    "found",
    [
        True,
        np.True_,
        np.array([[True], [True], [True]]),
        np.array([0.5, 0.0, 0.0]),
        np.array([True, False]),
    ],
)
def test_an_event_must_be_a_truth_value_for_each_trial(found):
    """Before, one value stood for all trials, and numbers that are not zero were events."""
    given = Table(columns=("x",), values=np.ones((3, 1)), failed=np.zeros(3, bool), reasons=())
    made = replace(claim(0.5), bad=lambda _table, _cell: found)
    with pytest.raises(InvalidParameter, match="bad must give a truth value for each of 3 trials"):
        made._bad(Observed(params={}, table=given))
    with pytest.raises(InvalidParameter, match="bad must give a truth value for each of"):
        made.fingerprint()
