"""Trials written by hand: what a procedure makes of failures, gaps, unequal cells and levels.

A failed trial may keep finite values: its reason alone says that it has failed.  The levels are
compared with those of the deciding modules, given the share that a cell or a contrast has.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from bounds.statement import Contrast, Printed, Statement, Term, Trend
from tests.stated import NOBODY
from tests.verify.toys import COIN, DECAY, DOSE, METHODS, N_STEPS, POWER, VALUE, stored
from trials.run.engine import parse_trial_id
from trials.run.store import RunStore
from verify.decisions.comparisons import ContrastTest, TrendTest
from verify.decisions.means import INDICATOR, Knowledge
from verify.decisions.probability import decide_probability
from verify.decisions.reproductions import ReproductionTest
from verify.evidence import Verdict
from verify.procedures.base import Sampling
from verify.procedures.comparison import Comparison, Monotone
from verify.procedures.mean_bound import MeanBound
from verify.procedures.probability import Probability
from verify.procedures.rate import Contraction, Rate, StatedRate
from verify.procedures.reading import KeptRounds, ReadOnce
from verify.procedures.reproduction import Reading, Reproduction
from verify.procedures.rounds import play_rounds
from verify.procedures.sup_lower_bound import SupLB
from verify.procedures.threshold import Threshold

UNIT = Knowledge(low=0.0, high=1.0)
LEVEL = 0.08


@pytest.fixture
def run(tmp_path):
    """``run(experiment, [(params, values, failed rows), ...])``: a store of these trials."""
    with contextlib.ExitStack() as stack:
        yield lambda *trials: stack.enter_context(stored(tmp_path, *trials))


def stated(kind, **more):
    return Statement(
        id="toy.stored",
        title="A toy",
        publication=NOBODY,
        source="(1)",
        kind=kind,
        quantifiers="",
        observed="S",
        **more,
    )


def growing(failed):
    """Shares that grow along three cells, with the value of a failed trial."""
    return Monotone(
        statement=stated(
            "comparison",
            trends=(Trend(symbol=sp.Symbol("t"), direction="increases", margin=0.05),),
        ),
        sampling=Sampling(experiment=COIN, max_trials=128),
        cells=tuple({"tag": t} for t in range(3)),
        along="tag",
        statistic=lambda table, _cell: table["bad"],
        knowledge=lambda _cell: INDICATOR,
        observable="the share",
        failed=failed,
    )


def reproduced(cell, *printed):
    """Printed means of stored values, ``cell`` the cell of each."""
    reading = Reading(
        sampling=Sampling(experiment=VALUE, max_trials=256, first=256),
        cell=cell,
        statistic=lambda table, _cell: table["value"],
        knowledge=lambda _cell: UNIT,
        meaning="as stored",
    )
    return Reproduction(
        statement=stated("reproduction", printed=printed),
        readings={"plain": reading},
        named="plain",
        observable="the value",
    )


def dosed(*cells, max_trials):
    """The smallest of the sizes 1 and 2 with enough successes is at most nine."""
    return Threshold(
        statement=stated("threshold", relation=r"\le", terms=(Term(name="n", expr=sp.Integer(9)),)),
        sampling=Sampling(experiment=DOSE, max_trials=max_trials, first=16),
        cells=cells,
        size="n",
        grid=lambda _cell: (1, 2),
        success=lambda table, _cell: table["success"] > 0,
        event="success",
    )


# -- the trials that are read and asked for ------------------------------------------------------


def test_a_gap_is_asked_for_although_later_blocks_are_stored(run):
    """Three blocks of four are stored, and the one that lacks is the second."""
    store = run(COIN, [({}, np.zeros((512, 1)))])
    sampling = Sampling(experiment=COIN, max_trials=512)
    holes = RunStore.create(store.path.with_name("holes"), root_seed=1, config={})
    with holes:
        for block in (0, 2, 3):
            holes.put_block(COIN, COIN.check({}), block, np.zeros((128, 1)))
        assert sampling.upto(holes, {}, 128) is None
        for n_trials, blocks in ((256, 2), (384, 3), (512, 4), (9999, 4)):
            demand = sampling.upto(holes, {}, n_trials)
            assert demand is not None
            assert demand.n_blocks == blocks
        assert len(sampling.missing(holes, [{}])) == 1
    assert sampling.missing(store, [{}]) == []


def test_the_trials_beyond_a_claims_budget_are_not_its_own(run):
    """Another claim with the same cell has drawn eight blocks."""
    values = np.repeat([0.0, 1.0], 512)[:, None]
    store = run(COIN, [({}, values)])
    sampling = Sampling(experiment=COIN, max_trials=200)
    (observed,) = sampling.observed(store, [{}])
    assert observed.table.n_trials == 256
    assert observed.table["bad"].sum() == 0


@pytest.mark.parametrize(("first", "budget"), [(128, 384), (256, 640), (128, 128), (512, 384)])
def test_the_last_round_ends_at_the_budget(run, first, budget):
    store = run(COIN, [({}, np.zeros((1024, 1)))])
    sampling = Sampling(experiment=COIN, max_trials=budget, first=first)
    seen = []

    def unresolved(observed):
        seen.append(observed[0].table.n_trials)
        return [0]

    demands, (observed,) = play_rounds(sampling, store, [{}], unresolved)
    assert demands == []
    assert observed.table.n_trials == budget == seen[-1]
    rounds = [min(first * 2**i, budget) for i in range(len(seen))]
    assert seen == rounds
    assert seen[:-1] == [n for n in rounds if n < budget]


def test_rounds_that_have_ended_are_played_once_and_those_that_lack_trials_again(run):
    """No trial is bad, so that the first round of 128 decides.  One cell lacks it at first."""
    other = run(COIN, [({}, np.zeros((128, 1)))])
    store = RunStore.create(other.path.with_name("lacking"), root_seed=1, config={})
    with store:
        store.put_block(COIN, COIN.check({"tag": 0}), 0, np.zeros((128, 1)))
        seen = []

        def bad(table, cell):
            seen.append(cell["tag"])
            return table["bad"] > 0

        claim = Probability(
            name="toy.kept",
            sampling=Sampling(experiment=COIN, max_trials=256, first=128),
            cells=({"tag": 0}, {"tag": 1}),
            bad=bad,
            delta=lambda _cell: 0.5,
            event="heads",
        )
        kept = KeptRounds(store)
        assert [d.params for d in claim.demands(kept, LEVEL)] == [{"tag": 1}]
        store.put_block(COIN, COIN.check({"tag": 1}), 0, np.zeros((128, 1)))
        assert claim.demands(kept, LEVEL) == []
        assert seen == [0, 1]
        assert claim.rounds(kept, LEVEL)[1] is claim.rounds(kept, LEVEL)[1]
        assert seen == [0, 1]
        assert claim.decide(kept, LEVEL) == claim.decide(store, LEVEL)
        alone = claim.in_cells([{"tag": 1}]).decide(kept, LEVEL)
        assert [c.params for c in alone.cells] == [{"tag": 1}]
        looser = claim.rounds(kept, LEVEL / 2)[1]
        assert looser is not claim.rounds(kept, LEVEL)[1]


def test_cells_are_looked_up_once_where_the_run_is_only_read(run, monkeypatch):
    """Where blocks can be added, each look-up sees those of now."""
    store = run(COIN, [({}, np.zeros((128, 1)))])
    first, second = (COIN.check({"tag": tag}) for tag in (0, 1))
    asked = []
    blocks = RunStore.blocks
    monkeypatch.setattr(
        RunStore, "blocks", lambda *given: asked.append(given[2]["tag"]) or blocks(*given)
    )
    with RunStore.open(store.path, readonly=True) as reader:
        trials = ReadOnce(reader)
        for _ in range(2):
            assert (trials.blocks(COIN, first), trials.blocks(COIN, second)) == ({0}, set())
    assert asked == [0, 1]
    trials = ReadOnce(store)
    assert (trials.blocks(COIN, first), trials.blocks(COIN, second)) == ({0}, set())
    store.put_block(COIN, second, 0, np.zeros((128, 1)))
    assert (trials.blocks(COIN, first), trials.blocks(COIN, second)) == ({0}, {0})
    assert asked == [0, 1] * 3


# -- failed trials -------------------------------------------------------------------------------


def mean_claim(factor="0.6", relation=r"\le", **more):
    return MeanBound(
        statement=stated(
            "expectation", relation=relation, terms=(Term(name="m", expr=sp.Rational(factor)),)
        ),
        sampling=Sampling(experiment=VALUE, max_trials=256, first=256),
        cells=({},),
        statistic=lambda table, _cell: table["value"],
        knowledge=lambda _cell: UNIT,
        observable="the value",
        **more,
    )


def test_a_failed_trial_is_the_witness_of_a_mean_that_it_refutes(run):
    values = np.full((256, 1), 0.5)
    values[7] = 1.0
    store = run(VALUE, [({}, values, range(100, 250))])
    evidence = mean_claim().decide(store, LEVEL)
    assert evidence.verdict is Verdict.REFUTED
    assert parse_trial_id(evidence.witness.trial).index == 100
    (cell,) = evidence.cells
    assert (cell.n_trials, cell.n_failed) == (256, 150)
    assert cell.observed == pytest.approx((150 + 0.5 * 105 + 1.0) / 256)
    whole = mean_claim("0.4").decide(run(VALUE, [({}, values)]), LEVEL)
    assert parse_trial_id(whole.witness.trial).index == 7


def test_the_largest_value_is_that_of_a_trial_that_found_one(run):
    claim = SupLB(
        statement=stated("supremum", terms=(Term(name="l", expr=sp.Float(1.0)),),
                         failure=sp.Float(0.1)),
        sampling=Sampling(experiment=VALUE, max_trials=256, first=256),
        cells=({},),
        # A failed trial and one without a number both find nothing, whatever is stored.
        best=lambda table, _cell: np.where(table["value"] == 7.0, np.nan, table["value"]),
        optimiser="a list",
    )  # fmt: skip
    values = np.full((256, 1), 2.0)
    values[3], values[5], values[9] = 7.0, 5.0, 3.0
    evidence = claim.decide(run(VALUE, [({}, values, [5])]), LEVEL)
    assert evidence.verdict is Verdict.REFUTED
    assert evidence.witness.observed == 3.0
    assert parse_trial_id(evidence.witness.trial).index == 9
    (table,) = [t for t in evidence.tables if t.title == "Best values found"]
    assert table.rows[0][2] == 3.0
    (cell,) = evidence.cells
    assert (cell.n_trials, cell.n_failed) == (256, 1)


def compared(*contrasts, cells=({},), knowledge=UNIT, **more):
    return Comparison(
        statement=stated("comparison", contrasts=contrasts),
        sampling=Sampling(experiment=METHODS, max_trials=512, first=512),
        cells=tuple(cells),
        columns={"A": "a", "B": "b", "C": "c"},
        knowledge=lambda _cell: knowledge,
        unit="squared error",
        **more,
    )


@pytest.mark.parametrize("lost", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_the_worst_one_in_every_direction(run, lost):
    """Also minus infinity, which would be the smallest error."""
    rng = np.random.default_rng(1)
    values = 0.2 + 0.01 * rng.random((512, 3))
    values[::2, 0] = lost
    less = Contrast(left="A", relation="<", right="B")
    evidence = compared(less).decide(run(METHODS, [({}, values, range(0, 512, 2))]), LEVEL)
    assert evidence.verdict is Verdict.REFUTED
    (winners,) = [t for t in evidence.tables if t.title == "Who wins where"]
    assert winners.rows[0][1] == pytest.approx(
        np.where(np.isfinite(values[:, 0]), values[:, 0], 1.0).mean()
    )
    assert winners.rows[0][-1] in {"B", "C"}
    # Where larger is better, the worst value is the lower end.
    more = Contrast(left="B", relation="<", right="A")
    successes = compared(more, failed="low").decide(
        run(METHODS, [({}, values, range(0, 512, 2))]), LEVEL
    )
    assert successes.verdict is Verdict.REFUTED
    (winners,) = [t for t in successes.tables if t.title == "Who wins where"]
    assert winners.rows[0][-1] in {"B", "C"}


def grid_of_powers():
    return [{"m": float(m), "d": float(d), "b": 0.5} for m in (10, 100, 1000) for d in (1, 16, 256)]


def test_a_failed_trial_with_a_finite_value_leaves_a_rate_open(run):
    claim = Rate(
        name="toy.rate",
        sampling=Sampling(experiment=POWER, max_trials=128),
        cells=tuple(grid_of_powers()),
        statistic=lambda table: table["error"],
        regressors=lambda params: {"m": params["m"], "d": params["d"]},
        stated={"m": StatedRate(exponent=-0.5, side="equals", symbol="$m$")},
        observable="the error",
    )
    rng = np.random.default_rng(2)
    trials = [
        (cell, math.sqrt(cell["d"] / cell["m"]) * np.exp(0.1 * rng.standard_normal((128, 1))))
        for cell in claim.cells
    ]
    assert claim.decide(run(POWER, trials), LEVEL).verdict is Verdict.SUPPORTED
    lost = [(*trials[0], [5]), *trials[1:]]
    evidence = claim.decide(run(POWER, lost), LEVEL)
    assert evidence.verdict is Verdict.INCONCLUSIVE
    assert "1 trial failed" in evidence.summary
    assert evidence.n_failed == 1


def test_a_contraction_is_not_read_from_the_trials_that_are_left(run):
    """A quarter of the trials diverges.  The others contract by one half, as is stated."""
    claim = Contraction(
        name="toy.contraction",
        sampling=Sampling(experiment=DECAY, max_trials=128),
        cells=({"factor": 0.5},),
        errors=lambda table, _cell: np.column_stack(
            [table[f"err_{t}"] for t in range(N_STEPS + 1)]
        ),
        stated=0.5,
    )
    rng = np.random.default_rng(3)
    errors = 0.5 ** np.arange(N_STEPS + 1) * np.exp(0.001 * rng.standard_normal((128, N_STEPS + 1)))
    assert claim.decide(run(DECAY, [({"factor": 0.5}, errors)]), LEVEL).verdict is Verdict.SUPPORTED
    diverged = errors.copy()
    diverged[::4, 5:] = np.nan
    for values, failed in ((diverged, range(0, 128, 4)),):
        evidence = claim.decide(run(DECAY, [({"factor": 0.5}, values, failed)]), LEVEL)
        assert evidence.verdict is Verdict.INCONCLUSIVE
        assert evidence.cells[0].note == "32 trials failed"
    # One that is infinite on its way and finite at the end has diverged as well.
    passing = errors.copy()
    passing[0, 4] = np.inf
    evidence = claim.decide(run(DECAY, [({"factor": 0.5}, passing, [0])]), LEVEL)
    assert evidence.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("both", [True, False])
def test_a_failed_trial_is_one_bad_trial_and_may_be_the_witness(run, both):
    """Forty trials failed.  Their stored value is bad as well, or it is good."""
    claim = Probability(
        name="toy.probability",
        sampling=Sampling(experiment=COIN, max_trials=128, first=128),
        cells=({},),
        bad=lambda table, _cell: table["bad"] > 0,
        delta=lambda _cell: 0.05,
        event="a head",
    )
    values = np.zeros((128, 1))
    if both:
        values[60:100] = 1.0
    evidence = claim.decide(run(COIN, [({}, values, range(60, 100))]), LEVEL)
    assert evidence.verdict is Verdict.REFUTED
    assert evidence.cells[0].observed == 40 / 128
    assert evidence.n_failed == 40
    assert parse_trial_id(evidence.witness.trial).index == 60
    assert "in 40 of 128 trials" in evidence.witness.description


def test_a_failed_trial_with_a_finite_value_is_the_largest_of_a_printed_number(run):
    printed = Printed(at={"scale": 1.0}, value=0.25, tolerance=0.1)
    claim = reproduced(lambda at: {"scale": at["scale"]}, printed)
    values = np.full((256, 1), 0.25)
    whole = claim.decide(run(VALUE, [({"scale": 1.0}, values)]), LEVEL)
    assert whole.verdict is Verdict.SUPPORTED
    lost = claim.decide(run(VALUE, [({"scale": 1.0}, values, range(128))]), LEVEL)
    assert lost.verdict is Verdict.REFUTED
    assert lost.cells[0].observed == pytest.approx(0.5 * 0.25 + 0.5 * 1.0)


@pytest.mark.parametrize(("value", "word"), [(math.nan, "INCONCLUSIVE"), (0.0, "REFUTED")])
def test_a_failed_trial_of_a_trend_has_the_declared_value(run, value, word):
    """Counts that grow.  In the last cell most trials failed, with the value one in the store."""
    claim = growing(value)
    counts = (20, 60, 110)
    samples = [(np.arange(128) < n).astype(float)[:, None] for n in counts]
    cells = list(claim.cells)
    whole = claim.decide(run(COIN, list(zip(cells, samples, strict=True))), LEVEL)
    assert whole.verdict is Verdict.SUPPORTED
    trials = [*zip(cells, samples, strict=True)]
    trials[2] = (*trials[2], range(110))
    assert claim.decide(run(COIN, trials), LEVEL).verdict == word


def test_a_failed_trial_is_no_success_of_a_threshold(run):
    """Every trial says success, and every second one has failed."""
    claim = dosed({"need": 5.0}, max_trials=16)
    ones = np.ones((16, 1))
    trials = [({"need": 5.0, "n": n}, ones, range(0, 16, 2)) for n in (1, 2)]
    evidence = claim.decide(run(DOSE, trials), LEVEL)
    (draws,) = [t for t in evidence.tables if t.title == "Draws"]
    assert draws.rows[0][1] == "1: 8/16"
    assert evidence.n_failed == 8


# -- shares of the level -------------------------------------------------------------------------


def test_the_cells_and_contrasts_of_a_comparison_share_the_level(run):
    cells = ({"tag": 0}, {"tag": 1}, {"tag": 2})
    contrasts = (
        Contrast(left="A", relation="<=", right="B", margin=0.1),
        Contrast(left="C", relation="<=", right="B", margin=0.2),
    )
    rng = np.random.default_rng(4)
    trials = [(cell, 0.2 + 0.6 * rng.random((512, 3))) for cell in cells]
    evidence = compared(*contrasts, cells=cells).decide(run(METHODS, trials), LEVEL)
    rows = iter(evidence.cells)
    for _, values in trials:
        a, b, c = values.T
        for contrast, left in zip(contrasts, (a, c), strict=True):
            row = next(rows)
            alone = ContrastTest(
                contrast=contrast,
                knowledge=UNIT,
                horizon=512,
                refute_level=LEVEL / 6,
                support_level=LEVEL,
            )
            assert (row.lower, row.upper) == alone.ratio_limits(left, b)


def two_sequences(direction):
    """The claim that a share grows or falls along three tags, in two sequences of cells."""
    return Monotone(
        statement=stated(
            "comparison",
            trends=(Trend(symbol=sp.Symbol("t"), direction=direction, margin=0.05),),
        ),
        sampling=Sampling(experiment=COIN, max_trials=128),
        cells=tuple({"tag": t, "p": p} for p in (0.25, 0.5) for t in range(3)),
        along="tag",
        statistic=lambda table, _cell: table["bad"],
        knowledge=lambda _cell: INDICATOR,
        observable="the share",
    )


def decide_coins(run, claim, counts):
    """The evidence of so many successes of 128 in each cell."""
    samples = [(np.arange(128) < n).astype(float)[:, None] for n in counts]
    return claim.decide(run(COIN, list(zip(claim.cells, samples, strict=True))), LEVEL)


def test_the_sequences_of_a_trend_share_the_level_and_a_fall_is_shown_as_it_is(run):
    """Counts of successes around those at which one sequence refutes at half of the level."""
    claim = two_sequences("decreases")
    test = TrendTest(
        margin=0.05,
        knowledge=INDICATOR.mirrored(),
        horizon=128,
        refute_level=LEVEL / 2,
        support_level=LEVEL,
    )
    words = set()
    for count in range(84, 98):
        counts = [60, 60, count, 60, 60, 60]
        evidence = decide_coins(run, claim, counts)
        status, _, limits = test.decide([-(np.arange(128.0) < n).astype(float) for n in counts[:3]])
        assert (evidence.verdict is Verdict.REFUTED) is (status == "fails")
        words.add(evidence.verdict)
        for row, (low, high), n in zip(evidence.cells[:3], limits, counts, strict=False):
            assert (row.lower, row.upper) == (-high, -low)
            assert row.lower <= n / 128 <= row.upper
            assert row.observed == pytest.approx(n / 128)
        (figure,) = evidence.figures
        for series in figure.series:
            for y, low, high in zip(series.y, series.lower, series.upper, strict=True):
                assert low <= y <= high
    assert words == {Verdict.REFUTED, Verdict.INCONCLUSIVE}


def test_a_refuted_trend_names_the_fall_and_no_sequence_that_holds(run):
    """The first sequence rises clearly, and the second falls clearly."""
    evidence = decide_coins(run, two_sequences("increases"), [0, 64, 128, 128, 0, 128])
    assert evidence.verdict is Verdict.REFUTED
    assert evidence.summary.endswith(": the mean falls from cell 1 to cell 2")


def test_printed_numbers_share_the_level(run):
    """Means around the one at which a number alone is contradicted at a third of the level."""
    printed = tuple(Printed(at={"scale": float(i)}, value=0.5, tolerance=0.05) for i in (1, 2, 3))
    reading = Reading(
        sampling=Sampling(experiment=VALUE, max_trials=256, first=256),
        cell=lambda at: {"scale": at["scale"]},
        statistic=lambda table, _cell: table["value"],
        knowledge=lambda _cell: UNIT,
        meaning="as stored",
    )
    claim = Reproduction(
        statement=stated("reproduction", printed=printed),
        readings={"plain": reading},
        named="plain",
        observable="the value",
    )
    alone = ReproductionTest(
        printed=printed[0],
        knowledge=UNIT,
        horizon=256,
        refute_level=LEVEL / 3,
        support_level=LEVEL,
    )
    words = set()
    for mean in np.linspace(0.573, 0.58, 8):
        x = np.clip(mean + 0.2 * np.sin(np.arange(256.0)), 0.0, 1.0)[:, None]
        near = np.full((256, 1), 0.5)
        store = run(VALUE, [({"scale": 1.0}, x), ({"scale": 2.0}, near), ({"scale": 3.0}, near)])
        refuted = claim.decide(store, LEVEL).verdict is Verdict.REFUTED
        assert refuted is (alone.status(x[:, 0]) == "fails")
        words.add(refuted)
    assert words == {True, False}


def test_thresholds_of_several_cells_share_the_level():
    claim = Threshold(
        statement=stated("threshold", terms=(Term(name="n", expr=sp.Integer(9)),)),
        sampling=Sampling(experiment=DOSE, max_trials=64, first=16),
        cells=({"need": 5.0}, {"need": 6.0}, {"need": 7.0}, {"need": 8.0}),
        size="n",
        grid=lambda _cell: (1, 2),
        success=lambda table, _cell: table["success"] > 0,
        event="success",
    )
    assert claim._design(claim.cells[0], LEVEL).level == LEVEL / 4
    # Exponents are read from all cells at once, and their own limits hold the level.
    assert replace(claim, scaling=("need",))._design(claim.cells[0], LEVEL).level == LEVEL


def test_cells_where_a_statement_allows_everything_take_no_share_and_are_not_the_worst():
    """Three cells say something.  In the fourth all trials are bad, and delta is one."""
    bad, n, deltas = [5, 60, 2, 1000], 1000, [0.02, 0.02, 0.01, 1.0]
    decision = decide_probability(bad, n, deltas, LEVEL)
    for i in range(3):
        alone = decide_probability(bad[i], n, deltas[i], LEVEL / 3)
        assert decision.cells[i].lower == alone.cells[0].lower
        support = decide_probability(bad[i], n, deltas[i], LEVEL)
        assert decision.cells[i].upper == support.cells[0].upper
    assert decision.worst == 1
    assert decision.cells[3].status == "trivial"
    calm = decide_probability([5, 6, 2, 1000], n, deltas, LEVEL)
    assert calm.worst in range(3)
