"""What must not change a verdict, for every procedure that reads trials.

A procedure is tried on trials written by hand, among them failed ones.  Its whole evidence is
compared: cells, tables, figures, sentences and the witness.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pytest
import sympy as sp

from bounds.statement import Constant, Contrast, Printed, Term
from tests.verify.procedures.test_constants import claim as of_constants
from tests.verify.procedures.test_stored_trials import (
    compared,
    dosed,
    grid_of_powers,
    growing,
    mean_claim,
    reproduced,
    stated,
)
from tests.verify.toys import COIN, DECAY, DOSE, METHODS, N_STEPS, POWER, VALUE, stored
from trials.run.experiment import Experiment
from verify.decisions.means import Knowledge
from verify.decisions.rates import contraction_factor
from verify.decisions.sequences import resolvable
from verify.evidence import Evidence, Series, Verdict, ratio_of
from verify.procedures.base import Sampling
from verify.procedures.interface import Sampled
from verify.procedures.probability import Probability
from verify.procedures.rate import Contraction, Rate, StatedRate
from verify.procedures.sup_lower_bound import SupLB

LEVEL = 0.05
UNIT = Knowledge(low=0.0, high=1.0)
Rows = tuple[dict[str, Any], np.ndarray, list[int]]


@dataclass(frozen=True)
class World:
    """A procedure, and the trials that it reads: (cell, values, failed rows) of each cell.

    Where a failed trial is that of one method, the finite values of the others count.
    """

    procedure: Any
    experiment: Experiment
    rows: list[Rows]
    finite_count: bool = False


def rng(*key: int) -> np.random.Generator:
    return np.random.default_rng([2601, *key])


def shares(n: int, *tags: int) -> list[Rows]:
    """Values in the unit interval with a mean of .3 to .4, in which every eleventh trial failed."""
    failed = list(range(3, n, 11))
    return [({"tag": t}, 0.3 + 0.1 * rng(t).random((n, 1)), failed) for t in tags]


def probability() -> World:
    claim = Probability(
        name="toy.probability",
        sampling=Sampling(experiment=COIN, max_trials=256, first=256),
        cells=({"tag": 1}, {"tag": 2}),
        bad=lambda table, _cell: table["bad"] > 0,
        delta=lambda cell: {1: 0.2, 2: 0.9}[cell["tag"]],
        event="a head",
    )
    rows = [({"tag": t}, (rng(t).random((256, 1)) < 0.3) * 1.0, [1, 5, 200]) for t in (1, 2)]
    return World(claim, COIN, rows)


def mean() -> World:
    return World(
        replace(mean_claim("0.7"), cells=({"tag": 1}, {"tag": 2})), VALUE, shares(256, 1, 2)
    )


def supremum() -> World:
    claim = SupLB(
        statement=stated(
            "supremum", terms=(Term(name="l", expr=sp.Float(0.35)),), failure=sp.Float(0.2)
        ),
        sampling=Sampling(experiment=VALUE, max_trials=256, first=256),
        cells=({"tag": 1}, {"tag": 2}),
        best=lambda table, _cell: table["value"],
        optimiser="a list",
    )
    return World(claim, VALUE, shares(256, 1, 2))


def comparison(**more: Any) -> World:
    contrast = Contrast(left="A", relation="<=", right="B", margin=0.1)
    cells = ({"tag": 1}, {"tag": 2})
    rows = [
        (cell, 0.2 + 0.6 * rng(i).random((512, 3)), [7, 8, 500]) for i, cell in enumerate(cells)
    ]
    return World(compared(contrast, cells=cells, **more), METHODS, rows, finite_count=True)


def trend() -> World:
    rows = [
        ({"tag": t}, (rng(t).random((128, 1)) < 0.2 + 0.3 * t) * 1.0, [9, 77]) for t in range(3)
    ]
    return World(growing(0.0), COIN, rows)


def trends() -> World:
    """Two sequences, whose values have other ranges."""
    cells = tuple({"tag": t, "p": p} for p in (0.25, 0.5) for t in range(3))
    claim = replace(
        growing(0.0),
        cells=cells,
        knowledge=lambda cell: Knowledge(low=0.0, high=1.0 if cell["p"] == 0.25 else 4.0),
    )
    rows = [
        (cell, (rng(i).random((128, 1)) < 0.2 + 0.2 * cell["tag"]) * 1.0, [i])
        for i, cell in enumerate(cells)
    ]
    return World(claim, COIN, rows)


def rate() -> World:
    claim = Rate(
        name="toy.rate",
        sampling=Sampling(experiment=POWER, max_trials=128),
        cells=tuple(grid_of_powers()),
        statistic=lambda table: table["error"],
        regressors=lambda params: {"m": params["m"], "d": params["d"]},
        stated={"m": StatedRate(exponent=-0.5, side="equals", symbol="$m$")},
        observable="the error",
    )
    rows: list[Rows] = [
        (
            cell,
            math.sqrt(cell["d"] / cell["m"]) * np.exp(0.1 * rng(i).standard_normal((128, 1))),
            [],
        )
        for i, cell in enumerate(claim.cells)
    ]
    rows[4] = (*rows[4][:2], [5, 6])
    return World(claim, POWER, rows)


def contraction() -> World:
    claim = Contraction(
        name="toy.contraction",
        sampling=Sampling(experiment=DECAY, max_trials=128),
        cells=({"factor": 0.5}, {"factor": 0.25}),
        errors=lambda table, _cell: np.column_stack(
            [table[f"err_{t}"] for t in range(N_STEPS + 1)]
        ),
        stated=0.6,
    )
    noise = np.exp(0.01 * rng(0).standard_normal((128, N_STEPS + 1)))
    paths = [f ** np.arange(N_STEPS + 1) * noise for f in (0.5, 0.25)]
    cells = list(claim.cells)
    return World(claim, DECAY, [(cells[0], paths[0], [0, 64]), (cells[1], paths[1], [])])


def reproduction() -> World:
    printed = (Printed(at={"t": float(t)}, value=0.4, tolerance=0.1) for t in (1, 2))
    return World(reproduced(lambda at: {"tag": int(at["t"])}, *printed), VALUE, shares(256, 1, 2))


def threshold() -> World:
    claim = dosed({"need": 5.0}, {"need": 6.0}, max_trials=32)
    rows = [
        ({"need": need, "n": n}, (rng(n).random((16, 1)) < 0.6) * 1.0, [2, 3, 11])
        for need in (5.0, 6.0)
        for n in (1, 2)
    ]
    return World(claim, DOSE, rows)


def constants() -> World:
    m, d, c_2 = sp.symbols("m d c_2")
    claim = of_constants(sp.sqrt(d / m))
    box = Constant(symbol=c_2, low=0.0, high=100.0, generous="high", meaning="prefactor")
    claim = replace(claim, statement=replace(claim.statement, constants=(box,)), choices=())
    rows = [
        (cell, math.sqrt(cell["d"] / cell["m"]) * np.exp(0.1 * rng(i).standard_normal((256, 1))),
         [i, 100 + i])
        for i, cell in enumerate(claim.every_cell())
    ]  # fmt: skip
    return World(claim, POWER, rows)


WORLDS: dict[str, Callable[[], World]] = {
    "probability": probability,
    "mean": mean,
    "supremum": supremum,
    "comparison": comparison,
    "comparison-low": lambda: comparison(failed="low"),
    "trend": trend,
    "trends": trends,
    "rate": rate,
    "contraction": contraction,
    "reproduction": reproduction,
    "threshold": threshold,
    "constants": constants,
}
every_procedure = pytest.mark.parametrize("name", WORLDS)


def decided(world: World, folder: Any, level: float = LEVEL) -> Evidence:
    """The evidence of trials that are all there."""
    with stored(folder, world.experiment, world.rows) as store:
        assert list(world.procedure.demands(store, level)) == []
        return world.procedure.decide(store, level)


def told(evidence: Evidence) -> str:
    return repr(asdict(evidence))


@every_procedure
def test_the_values_of_a_failed_trial_change_nothing(name, tmp_path):
    world = WORLDS[name]()
    evidence = {}
    for lost in (math.nan, math.inf, -math.inf, *(() if world.finite_count else (0.0, 1.0))):
        changed = []
        for cell, values, failed in world.rows:
            other = values.copy()
            other[failed] = lost
            changed.append((cell, other, failed))
        evidence[lost] = decided(replace(world, rows=changed), tmp_path)
    before = evidence.popitem()[1]
    assert {told(other) for other in evidence.values()} == {told(before)}
    assert before.n_failed == sum(len(failed) for *_, failed in world.rows) > 0
    assert before.n_trials == sum(len(values) for _, values, _ in world.rows)


@every_procedure
def test_blocks_beyond_the_budget_change_nothing(name, tmp_path):
    world = WORLDS[name]()
    more = [
        (cell, np.vstack([values, np.ones_like(values)]), [*failed, len(values), len(values) + 1])
        for cell, values, failed in world.rows
    ]
    assert told(decided(replace(world, rows=more), tmp_path)) == told(decided(world, tmp_path))


@every_procedure
def test_a_cell_whose_first_block_lacks_is_asked_for(name, tmp_path):
    """All other cells are there, and the later blocks of this one as well."""
    world = WORLDS[name]()
    (cell, values, _), *others = world.rows
    with stored(tmp_path, world.experiment, others) as store:
        size = world.experiment.block_size
        params = world.experiment.check(cell)
        for block in range(1, 1 + len(values) // size):
            store.put_block(world.experiment, params, block, values[:size])
        asked = list(world.procedure.demands(store, LEVEL))
    assert [world.experiment.check(demand.params) for demand in asked] == [params]


@pytest.mark.parametrize("name", [n for n in WORLDS if isinstance(WORLDS[n]().procedure, Sampled)])
def test_the_order_of_the_cells_changes_no_row(name, tmp_path):
    world = WORLDS[name]()
    turned = replace(world.procedure, cells=tuple(reversed(world.procedure.cells)))
    before, after = (
        decided(replace(world, procedure=p), tmp_path) for p in (world.procedure, turned)
    )
    rows = [sorted(repr(asdict(row)) for row in found.cells) for found in (before, after)]
    assert rows[0] == rows[1]
    assert before.verdict is after.verdict
    assert (before.n_trials, before.n_failed) == (after.n_trials, after.n_failed)


@every_procedure
def test_a_larger_level_keeps_every_decision_and_narrows_every_interval(name, tmp_path):
    world = WORLDS[name]()
    strict, loose = (decided(world, tmp_path, level) for level in (0.01, 0.2))
    if strict.verdict is not Verdict.INCONCLUSIVE:
        assert loose.verdict is strict.verdict
    for wide, narrow in zip(strict.cells, loose.cells, strict=True):
        assert (wide.params, wide.observed) == (narrow.params, narrow.observed)
        if wide.lower is not None and narrow.lower is not None:
            assert wide.lower <= narrow.lower
        if wide.upper is not None and narrow.upper is not None:
            assert narrow.upper <= wide.upper


def share(values: np.ndarray, failed: list[int], worst: float) -> np.ndarray:
    """The mean of every column, in which failed trials have the worst value."""
    full = values.copy()
    full[failed] = worst
    return full.mean(axis=0)


#: World -> the observed value of a cell, from its trials and its failed rows.
OBSERVED: dict[str, Callable[[np.ndarray, list[int]], float]] = {
    "probability": lambda x, failed: share(x, failed, 1.0)[0],
    "mean": lambda x, failed: share(x, failed, 1.0)[0],
    "reproduction": lambda x, failed: max(  # the printed number is 0.4
        (share(x, failed, end)[0] for end in (0.0, 1.0)), key=lambda seen: abs(seen - 0.4)
    ),
    "trend": lambda x, failed: share(x, failed, 0.0)[0],
    "comparison": lambda x, _: x[:, 0].mean() / x[:, 1].mean(),
}


@pytest.mark.parametrize("name", OBSERVED)
def test_a_row_has_the_counts_and_the_observed_value_of_its_own_trials(name, tmp_path):
    world = WORLDS[name]()
    evidence = decided(world, tmp_path)
    assert len(evidence.cells) == len(world.rows)
    for row, (cell, values, failed) in zip(evidence.cells, world.rows, strict=True):
        if name != "reproduction":  # its rows name what is printed
            assert cell.items() <= row.params.items()
        assert (row.n_trials, row.n_failed) == (len(values), len(failed))
        assert row.observed == pytest.approx(OBSERVED[name](values, failed), rel=1e-12)


def drawn(evidence: Evidence) -> list[Series]:
    """All series of the figures, those of their panels as well."""
    axes = [panel for f in evidence.figures for panel in (f, *f.panels)]
    return [series for each in axes for series in each.series]


@every_procedure
def test_every_number_lies_between_its_limits_in_rows_and_in_figures(name, tmp_path):
    world = WORLDS[name]()
    if name == "rate":  # a failed trial leaves its cell without a mean, and the rate without rows
        world = replace(world, rows=[(cell, values, []) for cell, values, _ in world.rows])
    evidence = decided(world, tmp_path)
    assert evidence.cells
    for row in evidence.cells:
        if row.bound is not None and math.isfinite(row.bound):
            assert row.ratio == ratio_of(row.observed, row.bound, row.relation)
        if row.observed is not None:
            room = 1e-9 * abs(row.observed)
            assert (-math.inf if row.lower is None else row.lower) <= row.observed + room
            assert row.observed - room <= (math.inf if row.upper is None else row.upper)
    for series in drawn(evidence):
        assert len(series.x) == len(series.y)
        if series.lower is not None and series.upper is not None:
            for low, y, high in zip(series.lower, series.y, series.upper, strict=True):
                if None not in (low, y, high):
                    assert low - 1e-9 * abs(low) <= y <= high + 1e-9 * abs(high)


@pytest.mark.parametrize("name", [n for n in WORLDS if n != "rate"])
def test_the_rows_share_the_trials_of_the_claim_among_them(name, tmp_path):
    """Each failed trial is counted once, in the row of its own cell."""
    evidence = decided(WORLDS[name](), tmp_path)
    assert sum(row.n_trials for row in evidence.cells) == evidence.n_trials
    assert sum(row.n_failed for row in evidence.cells) == evidence.n_failed > 0


@pytest.mark.parametrize(
    "name", ["probability", "mean", "trend", "contraction", "reproduction", "constants"]
)
def test_every_row_has_both_limits_and_every_drawn_point_too(name, tmp_path):
    evidence = decided(WORLDS[name](), tmp_path)
    for row in evidence.cells:
        assert None not in (row.observed, row.lower, row.upper)
        assert (row.bound is None) is (name == "trend")
    for series in drawn(evidence):
        if series.style == "points":
            assert (series.lower is None) is (series.upper is None)


def test_the_cells_of_a_contraction_have_the_factors_of_their_paths(tmp_path):
    """The fits of the same errors, cell by cell, and the stated factor beside each."""
    world = contraction()
    world = replace(world, rows=[(cell, values, []) for cell, values, _ in world.rows])
    evidence = decided(world, tmp_path)
    assert evidence.verdict is Verdict.SUPPORTED
    factors = []
    for row, (_, values, _) in zip(evidence.cells, world.rows, strict=True):
        fit = contraction_factor(values, level=LEVEL / 2)
        factors.append(fit.factor)
        assert (row.observed, row.lower, row.upper) == (fit.factor, fit.lower, fit.upper)
        assert (row.bound, row.ratio) == (0.6, fit.factor / 0.6)
        assert (row.verdict, row.note) == ("SUPPORTED", "")
    most, least = max(factors), min(factors)
    assert evidence.summary == (
        f"factors from {least:.4f} to {most:.4f} in 2 cells, stated at most 0.6"
    )
    assert evidence.sharpness == (f"The largest factor is {most:.4f}; the stated one is 0.6.",)


def test_a_reproduction_says_how_far_it_is_and_whether_its_limits_are_exact(tmp_path):
    world = reproduction()
    evidence = decided(world, tmp_path)
    gap = max(abs(row.observed - 0.4) / 0.1 for row in evidence.cells)
    assert f"The largest distance from a printed number is {gap:.2g} tolerances." in evidence.notes
    assert not any("asymptotic" in note for note in evidence.notes)
    assert "other readings" not in evidence.summary
    (reading,) = world.procedure.readings.values()
    free = replace(reading, knowledge=lambda _cell: Knowledge(asymptotic=True))
    claim = replace(world.procedure, readings={world.procedure.named: free})
    rows = [(cell, values, []) for cell, values, _ in shares(1024, 1, 2)]
    claim = replace(
        claim, readings={claim.named: replace(free, sampling=replace(free.sampling, first=1024,
                                                                     max_trials=1024))},
    )  # fmt: skip
    open_ended = decided(World(claim, VALUE, rows), tmp_path)
    assert "Limits are asymptotic: the values have no known range." in open_ended.notes
    assert evidence.resolution is None
    supported = open_ended.verdict is Verdict.SUPPORTED
    assert open_ended.resolution == (resolvable(1024, LEVEL) if supported else None)
