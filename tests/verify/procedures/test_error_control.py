"""How procedures pass the level on and what they count: one fault a test."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest

from tests.verify.toys import COIN, DECAY, N_STEPS, POWER, tried
from trials.run.engine import Demand, ensure
from trials.run.executors import make_executor
from trials.run.store import RunStore
from verify.decisions.domain import Interval
from verify.decisions.probability import decide_probability
from verify.decisions.rates import contraction_factor
from verify.decisions.sequences import resolvable
from verify.evidence import Verdict
from verify.levels import allocate_levels
from verify.papers import catalogue
from verify.plan import plan
from verify.procedures.base import PROFILES, Sampling
from verify.procedures.probability import Probability
from verify.procedures.rate import Contraction, Rate, StatedRate
from verify.procedures.search import Search

LEVEL = 0.04


def stored(experiment, cells, n_blocks, folder):
    """The trials of cells, as the procedures of the same seed see them."""
    with (
        RunStore.create(folder / "again.sqlite", root_seed=0, config={}) as store,
        make_executor("serial", 1) as executor,
    ):
        ensure(store, [Demand(experiment, cell, n_blocks) for cell in cells], executor)
        return [store.table(experiment, cell, n_blocks) for cell in cells]


def errors_of(table, _params=None):
    return np.column_stack([table[f"err_{t}"] for t in range(N_STEPS + 1)])


def contraction(*factors, errors=errors_of):
    return Contraction(
        name="toy.contraction",
        sampling=Sampling(experiment=DECAY, max_trials=128),
        cells=tuple({"factor": f, "floor": 1e-4} for f in factors),
        errors=errors,
        stated=0.55,
    )


@pytest.mark.parametrize("factors", [(0.5,), (0.5, 0.4), (0.5, 0.4, 0.3)])
def test_a_factors_limits_have_the_level_over_the_cells(factors, tmp_path):
    procedure = contraction(*factors)
    evidence, _ = tried(procedure, tmp_path, level=LEVEL)
    for cell, table in zip(
        evidence.cells, stored(DECAY, procedure.cells, 1, tmp_path), strict=True
    ):
        fit = contraction_factor(errors_of(table), level=LEVEL / len(factors))
        assert (cell.lower, cell.upper) == (fit.lower, fit.upper)


def test_the_band_of_a_factor_lies_around_its_steps(tmp_path):
    evidence, _ = tried(contraction(0.5), tmp_path, level=LEVEL)
    (series,) = evidence.figures[0].series
    assert series.x == sorted(series.x)
    for low, middle, high in zip(series.lower, series.y, series.upper, strict=True):
        assert low < middle < high


def test_a_trial_that_diverged_leaves_no_factor_to_support(tmp_path):
    def one_lost(table, _params):
        errors = errors_of(table)
        errors[3, 4:] = np.inf
        return errors

    whole, _ = tried(contraction(0.5), tmp_path)
    assert whole.verdict is Verdict.SUPPORTED
    (tmp_path / "lost").mkdir()
    evidence, _ = tried(contraction(0.5, errors=one_lost), tmp_path / "lost")
    assert evidence.verdict is Verdict.INCONCLUSIVE
    assert evidence.cells[0].note == "1 trial failed"


CELLS = tuple(
    {"m": float(m), "d": float(d), "b": 0.5, "lost": 0.0, "c1": 1.0}
    for m in (10, 100, 1000, 10_000)
    for d in (1, 16, 256)
)


def rate(**stated):
    return Rate(
        name="toy.rate",
        sampling=Sampling(experiment=POWER, max_trials=128),
        cells=CELLS,
        statistic=lambda table: table["error"],
        regressors=lambda params: {"m": params["m"], "d": params["d"]},
        stated={
            k: StatedRate(exponent=v, side="equals", symbol=f"${k}$") for k, v in stated.items()
        },
        observable="the error",
    )


@pytest.mark.parametrize(
    ("m", "d", "verdict"),
    [
        (-0.5, 0.5, "SUPPORTED"),
        (-0.25, 0.5, "REFUTED"),
        (-0.5, 0.25, "REFUTED"),
        (-0.25, 0.25, "REFUTED"),
    ],
)
def test_one_refuted_exponent_refutes_whichever_it_is(m, d, verdict, tmp_path):
    evidence, _ = tried(rate(m=m, d=d), tmp_path)
    assert str(evidence.verdict) == verdict


def test_one_undecided_exponent_withholds_support_but_not_refutation(tmp_path):
    near = replace(rate(m=-0.5, d=0.5), margin=0.0)
    evidence, _ = tried(near, tmp_path)  # no limits lie within a margin of zero
    assert evidence.verdict is Verdict.INCONCLUSIVE
    (tmp_path / "other").mkdir()
    refuted, _ = tried(replace(rate(m=-0.5, d=0.25), margin=0.0), tmp_path / "other")
    assert refuted.verdict is Verdict.REFUTED


def test_exponents_share_the_level(tmp_path):
    both, _ = tried(rate(m=-0.5, d=0.5), tmp_path, level=LEVEL)
    (tmp_path / "one").mkdir()
    one, _ = tried(rate(m=-0.5), tmp_path / "one", level=LEVEL)
    (tmp_path / "half").mkdir()
    half, _ = tried(rate(m=-0.5), tmp_path / "half", level=LEVEL / 2)
    rows = [{row[0]: row for row in e.tables[0].rows}["$m$"] for e in (both, one, half)]
    assert rows[0][3:5] == pytest.approx(rows[2][3:5])
    assert rows[1][3] > rows[0][3]
    assert rows[1][4] < rows[0][4]


def test_a_cells_standard_error_is_that_of_a_mean(tmp_path):
    evidence, _ = tried(rate(m=-0.5, d=0.5), tmp_path)
    for cell, table in zip(evidence.cells, stored(POWER, CELLS, 1, tmp_path), strict=True):
        values = table["error"]
        assert cell.observed == pytest.approx(values.mean())
        assert cell.se == pytest.approx(values.std(ddof=1) / math.sqrt(values.size), rel=1e-12)


# probability


def coin(*probabilities, bad=lambda table, _params: table["bad"] > 0, **more):
    settings = {"lost": 0.0, "max_trials": 512, "delta": 0.1, **more}
    return Probability(
        name="toy.coin",
        sampling=Sampling(experiment=COIN, max_trials=settings["max_trials"], first=128),
        cells=tuple(
            {"p": p, "tag": i, "lost": settings["lost"]} for i, p in enumerate(probabilities)
        ),
        bad=bad,
        delta=lambda _params: settings["delta"],
        event="the coin showing heads",
    )


def test_a_failed_trial_that_is_flagged_bad_as_well_counts_once(tmp_path):
    def bad(table, _params):
        return (table["bad"] > 0) | table.failed

    evidence, _ = tried(coin(0.0, lost=0.3, delta=0.9, bad=bad), tmp_path)
    (cell,) = evidence.cells
    assert 0 < cell.n_failed < cell.n_trials
    assert cell.observed == pytest.approx(cell.n_failed / cell.n_trials)


def test_the_resolution_is_what_the_budget_resolves_at_the_claims_level(tmp_path):
    evidence, _ = tried(coin(0.0, delta=1e-6), tmp_path, level=LEVEL)
    (cell,) = evidence.cells
    resolution = resolvable(512, LEVEL) * (1 + 1e-6)
    expected = decide_probability(0, 512, 1e-6, LEVEL, resolution=resolution).cells[0]
    assert (cell.n_trials, cell.lower, cell.upper) == (512, expected.lower, expected.upper)
    assert cell.upper == pytest.approx(resolvable(512, LEVEL), rel=1e-5)


def test_a_gap_in_the_stored_blocks_ends_what_is_read(tmp_path):
    """A killed run has blocks 0 and 2.  Only block 0 continues the start."""
    cell = COIN.check({"p": 0.5})
    sampling = Sampling(experiment=COIN, max_trials=512)
    with (
        RunStore.create(tmp_path / "whole.sqlite", root_seed=0, config={}) as whole,
        RunStore.create(tmp_path / "gap.sqlite", root_seed=0, config={}) as gap,
        make_executor("serial", 1) as executor,
    ):
        ensure(whole, [Demand(COIN, cell, 3)], executor)
        values = whole.table(COIN, cell, 3).values
        gap.register(COIN, cell)
        for block in (0, 2):
            gap.put_block(COIN, cell, block, values[128 * block : 128 * (block + 1)])
        (observed,) = sampling.observed(gap, [cell])
    assert observed.table.n_trials == 128


# searches and levels


def search(**more):
    return Search(
        name="toy.search",
        violation=lambda point: point["x"] - 0.5,
        domain={"x": Interval(-1.0, 1.0)},
        budget=200,
        sides=lambda point: (point["x"], 0.5),
        unit="excess of x",
        **more,
    )


def test_a_witness_tells_the_violation_in_high_precision_where_there_is_one():
    """The re-check says twice as much as floating point: the witness says what was confirmed."""
    plain = search().decide(None, LEVEL).witness
    exact = search(recheck=lambda p: 2 * (mpmath.mpf(p["x"]) - 0.5)).decide(None, LEVEL).witness
    for witness, factor in ((plain, 1), (exact, 2)):
        said = float(witness.description.rpartition(" ")[2])
        assert said == pytest.approx(factor * (witness.params["x"] - 0.5), rel=1e-5)


def test_exhibited_constants_are_named_in_the_description_and_only_then():
    assert search(constants={"c_1": 2.0}).describe().startswith("Constants exhibited before the")
    assert search().describe().startswith("200 evaluations over x from -1 to 1")


def test_a_claims_weight_moves_its_level_within_its_paper():
    found = dict(catalogue())
    names = ("ifca.oracle-mse", "ifca.eq7")
    planned = plan(found, names, PROFILES["quick"])
    equal = allocate_levels(0.05, found, planned).levels
    assert equal[names[0]] == equal[names[1]]
    heavy = {**found, names[0]: replace(found[names[0]], weight=3.0)}
    moved = allocate_levels(0.05, heavy, plan(heavy, names, PROFILES["quick"])).levels
    assert moved[names[0]] == pytest.approx(3 * moved[names[1]])
    n = round(0.05 * 0.25 / equal[names[0]])
    assert moved[names[1]] == pytest.approx(0.05 * 0.25 / (n + 2))
