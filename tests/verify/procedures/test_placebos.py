"""Placebos on toys: a run whose error falls from 1 to ``final``, beside one that stays at 1."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp

from bounds.statement import Constant, Contrast, Publication, Statement, Term
from tests.verify.toys import POWER
from trials.checks import InvalidParameter
from trials.parameters import Parameters, Real
from trials.run.engine import ensure
from trials.run.executors import make_executor
from trials.run.experiment import Experiment, register
from trials.run.store import RunStore
from verify.decisions.means import Knowledge
from verify.evidence import CellResult, Verdict
from verify.procedures import placebos
from verify.procedures.base import Sampling
from verify.procedures.comparison import Comparison
from verify.procedures.constants import Constants
from verify.procedures.mean_bound import MeanBound
from verify.procedures.placebos import (
    Control,
    Occurs,
    Placebo,
    Trivial,
    _keeps,
    _rows_of,
    decide,
    demands,
    lives,
    with_columns,
)
from verify.procedures.probability import Probability
from verify.procedures.rate import Rate, StatedRate
from verify.procedures.threshold import Threshold

LEVEL = 0.01


def _run(params, rng, n_trials):
    start = 1.0 + 0.01 * rng.random(n_trials)
    shrunk = start * (params["final"] if params["moves"] else 1.0)
    late = rng.random(n_trials) < params["late"]
    return np.column_stack([start, shrunk, late])


#: ``start`` is 1 up to one per cent, ``error`` is ``final`` times it, unless nothing moves.
RUN = register(
    Experiment(
        name="test.run",
        design=4_000_000_177,
        columns=("start", "error", "late"),
        simulate=_run,
        parameters=Parameters(
            {
                "final": Real(0.0, default=0.1),
                "bound": Real(0.0, default=0.5),
                "late": Real(0.0, 1.0, default=0.5),
                "moves": Real(0.0, 1.0, default=1.0),
            }
        ),
        block_size=128,
    )
)
SAMPLING = Sampling(experiment=RUN, max_trials=512, first=512)
START = Placebo(name="a run that stays at its start", columns={"error": "start"})
NOWHERE = Publication(label="Nobody 1900", bibtex="@misc{nobody, year={1900}}")


def small(*bounds, delta=0.05, **more):
    """The final error is at most ``bound``, cell by cell, but for a share ``delta``."""
    return Probability(
        name="toy.small",
        sampling=SAMPLING,
        cells=tuple({"bound": bound, **more} for bound in bounds),
        bad=lambda table, cell: table["error"] > cell["bound"],
        delta=lambda _cell: delta,
        event="an error above its bound",
    )


def judged(procedure, *placebos, tmp_path, level=LEVEL):
    tmp_path.mkdir(exist_ok=True)
    with RunStore.create(tmp_path / "run.sqlite", root_seed=1, config={}) as store:
        with make_executor("serial") as executor:
            while missing := demands(procedure, placebos, store, level):
                ensure(store, missing, executor)
        return decide(procedure, placebos, store, level)


def test_a_bound_that_the_start_meets_supports_nothing(tmp_path):
    evidence = judged(small(0.5, 5.0, 0.3), START, tmp_path=tmp_path)
    assert evidence.verdict is Verdict.SUPPORTED
    assert [bool(cell.void) for cell in evidence.cells] == [False, True, False]
    assert evidence.cells[1].void == "a run that stays at its start passes too"
    assert evidence.summary == (
        "upper limit at most delta in all 2 cells; 1 cell is void (a run that stays at its start "
        "passes too)"
    )
    assert evidence.tables[-1].rows == [("a run that stays at its start", 1)]
    stored = evidence.as_dict()["cells"]
    assert ["void" in cell for cell in stored] == [False, True, False]


def test_a_claim_without_a_live_cell_is_vacuous(tmp_path):
    evidence = judged(small(2.0, 5.0), START, tmp_path=tmp_path)
    assert evidence.verdict is Verdict.VACUOUS
    assert evidence.mark == "VACUOUS"
    assert evidence.summary.startswith("it could not have failed in every cell")


@pytest.mark.parametrize("turned", [False, True])
def test_a_cell_that_names_more_than_another_one_has_its_own_row(tmp_path, turned):
    """The second cell is the first one with one more name, and only the first one is void."""
    cells = ({"bound": 0.5}, {"bound": 0.5, "late": 0.9})[:: -1 if turned else 1]
    named = replace(
        small(0.5),
        cells=cells,
        bad=lambda table, cell: table["error"] > cell["bound"] * (1 if "late" in cell else 10),
    )
    evidence = judged(named, START, tmp_path=tmp_path)
    assert evidence.verdict is Verdict.SUPPORTED
    assert {len(cell.params): bool(cell.void) for cell in evidence.cells} == {1: True, 2: False}


@pytest.mark.parametrize("turned", [False, True])
def test_a_cell_that_names_more_may_need_more_trials_than_another_one(tmp_path, turned):
    """Each cell's placebo has the trials of its own row: 128 where none is bad, else 512."""
    cells = ({"bound": 0.5}, {"bound": 0.5, "late": 0.03})[:: -1 if turned else 1]
    growing = replace(
        small(0.5, delta=0.06),
        sampling=replace(SAMPLING, first=128, max_trials=1024),
        cells=cells,
        bad=lambda table, cell: (table["error"] > 0.5) | (("late" in cell) & (table["late"] > 0)),
    )
    evidence = judged(growing, START, tmp_path=tmp_path)
    assert {len(cell.params): cell.n_trials for cell in evidence.cells} == {1: 128, 2: 512}
    assert not any(cell.void for cell in evidence.cells)


@pytest.mark.parametrize(("bounds", "live"), [((5.0, 2.0), False), ((5.0, 0.5), True)])
def test_one_cell_where_the_placebo_fails_is_enough_to_live(tmp_path, bounds, live):
    procedure = small(*bounds)
    with RunStore.create(tmp_path / "run.sqlite", root_seed=1, config={}) as store:
        with make_executor("serial") as executor:
            ensure(store, procedure.demands(store, LEVEL), executor)
        assert lives(procedure, (START,), store, LEVEL) == live


def test_a_refutation_stands_in_a_cell_that_a_placebo_passes(tmp_path):
    worse = small(5.0, 0.5, final=20.0)
    evidence = judged(worse, START, tmp_path=tmp_path)
    assert evidence.verdict is Verdict.REFUTED
    assert not any(cell.void for cell in evidence.cells)


def test_live_cells_do_not_refute_at_a_level_that_was_split_over_all(tmp_path):
    """47 of 512 are too many for one cell at the whole level, and not at a thirteenth of it."""
    always = Placebo(name="an event in every trial", columns={"late": 1.0})

    def rare(*bounds):
        return replace(
            small(*bounds, late=0.1),
            bad=lambda table, cell: (table["late"] > 0.0) & (cell["bound"] < 1.0),
        )

    alone = judged(rare(0.5), always, tmp_path=tmp_path / "alone")
    assert alone.verdict is Verdict.REFUTED
    beside = judged(rare(0.5, *range(2, 14)), always, tmp_path=tmp_path / "beside")
    assert [bool(cell.void) for cell in beside.cells] == [False] + [True] * 12
    assert beside.verdict is Verdict.INCONCLUSIVE
    assert "not enough at the level that each of all cells has; 12 cells are void" in beside.summary


def test_without_a_placebo_nothing_changes(tmp_path):
    assert judged(small(5.0), tmp_path=tmp_path).verdict is Verdict.SUPPORTED


def test_an_exact_law_of_the_algorithm_does_not_help_its_placebo(tmp_path):
    by_law = replace(small(0.5), log_limit=lambda _cell: -100.0)
    assert judged(by_law, START, tmp_path=tmp_path).verdict is Verdict.SUPPORTED


def test_too_few_trials_for_a_verdict_do_not_save_a_bound_that_the_placebo_keeps(tmp_path):
    rare = small(5.0, delta=1e-9)
    rare = replace(rare, log_limit=lambda _cell: -100.0, log_delta=lambda _cell: -20.0)
    assert judged(rare, tmp_path=tmp_path / "a").verdict is Verdict.SUPPORTED
    assert judged(rare, START, tmp_path=tmp_path / "b").verdict is Verdict.VACUOUS


def test_a_placebo_may_be_the_experiment_at_other_parameters_and_is_then_drawn(tmp_path):
    at_rest = Placebo(name="no step", params=lambda cell: {**cell, "moves": 0.0})
    evidence = judged(small(0.5, 5.0), at_rest, tmp_path=tmp_path)
    assert [bool(cell.void) for cell in evidence.cells] == [False, True]
    with RunStore.open(tmp_path / "run.sqlite", readonly=True) as store:
        assert store.blocks(RUN, RUN.check({"bound": 5.0, "moves": 0.0}))


def test_a_placebo_of_another_experiment_needs_blocks_of_one_size(tmp_path):
    coarse = replace(RUN, name="test.coarse", design=4_000_000_178, block_size=64)
    other = Placebo(name="another run", experiment=coarse)
    with pytest.raises(InvalidParameter, match=r"block_size=64 of test.coarse must be 128"):
        judged(small(0.5), other, tmp_path=tmp_path)


def test_a_trivial_bound_makes_a_cell_void(tmp_path):
    most = Trivial(name="an error is at most 1", columns={"error": 1.0})
    evidence = judged(small(0.5, 1.0), most, tmp_path=tmp_path)
    assert [cell.void for cell in evidence.cells] == [
        "",
        "the bound is trivial: an error is at most 1",
    ]


def test_an_event_that_never_occurs_makes_its_cell_void(tmp_path):
    late = Occurs(name="a late change", event=lambda table, _cell: table["late"] > 0)
    claim = replace(small(), cells=({"bound": 0.5, "late": 0.5}, {"bound": 0.5, "late": 0.0}))
    evidence = judged(claim, late, tmp_path=tmp_path)
    assert [cell.void for cell in evidence.cells] == ["", "a late change happens in no trial"]
    often = replace(late, least=400)
    evidence = judged(replace(claim, cells=claim.cells[:1]), often, tmp_path=tmp_path / "b")
    assert (evidence.verdict, evidence.cells[0].void) == (
        Verdict.VACUOUS,
        "a late change is too rare",
    )


def test_a_negative_sentence_needs_a_method_that_violates_it(tmp_path):
    never = Probability(
        name="toy.never",
        sampling=SAMPLING,
        cells=({"bound": 0.5, "final": 0.9}, {"bound": 0.01, "final": 0.9}),
        bad=lambda table, cell: table["error"] < cell["bound"],
        delta=lambda _cell: 0.05,
        event="an error below the bound",
    )
    oracle = Control(name="the oracle", columns={"error": 0.1})
    evidence = judged(never, oracle, tmp_path=tmp_path)
    assert [cell.void for cell in evidence.cells] == ["", "the oracle does not violate it"]
    assert evidence.verdict is Verdict.SUPPORTED


def statement(bound, **more):
    return Statement(
        id="toy.mean",
        title="",
        source="",
        kind="expectation",
        publication=NOWHERE,
        quantifiers="",
        observed="E S",
        terms=(Term(name="bound", expr=sp.sympify(bound)),),
        **more,
    )


def test_a_mean_is_judged_without_the_range_that_is_known_of_the_algorithm(tmp_path):
    mean = MeanBound(
        statement=statement(sp.Symbol("bound")),
        sampling=SAMPLING,
        cells=({"bound": 0.5}, {"bound": 2.0}),
        statistic=lambda table, _cell: table["error"],
        knowledge=lambda _cell: Knowledge(low=0, high=0.9),  # the start lies outside of it
        observable="the error",
    )
    evidence = judged(mean, START, tmp_path=tmp_path)
    assert [row.verdict for row in evidence.cells] == ["SUPPORTED", "VACUOUS"]
    assert [bool(row.void) for row in evidence.cells] == [False, True]
    assert evidence.verdict is Verdict.SUPPORTED


def test_a_comparison_informs_about_the_side_whose_placebo_fails(tmp_path):
    compared = Comparison(
        statement=statement(1, contrasts=(Contrast(left="run", right="rest", relation="<="),)),
        sampling=SAMPLING,
        cells=({},),
        columns={"run": "error", "rest": "start"},
        knowledge=lambda _cell: Knowledge(low=0, high=2),
        unit="the error",
    )
    left = Placebo(
        name="twice the start", columns={"error": lambda t, _: 1.9 * t["start"]}, side="run"
    )
    assert judged(compared, left, tmp_path=tmp_path / "a").verdict is Verdict.SUPPORTED
    right = Placebo(name="twice the start", columns={"start": 2.0}, side="rest")
    evidence = judged(compared, right, tmp_path=tmp_path / "b")
    assert evidence.cells[0].void == "twice the start passes too in place of rest"
    assert evidence.verdict is Verdict.VACUOUS


def test_a_tie_breaks_a_strict_contrast_and_keeps_a_weak_one(tmp_path):
    """With values that have no range the trials of a tie decide neither contrast."""
    weak = Comparison(
        statement=statement(1, contrasts=(Contrast(left="run", right="rest", relation="<="),)),
        sampling=SAMPLING,
        cells=({},),
        columns={"run": "error", "rest": "start"},
        knowledge=lambda _cell: Knowledge(low=0),
        unit="the error",
        scale="sign",
    )
    contrast = Contrast(left="run", right="rest", relation="<")
    strict = replace(weak, statement=statement(1, contrasts=(contrast,)))
    tie = Placebo(name="the other one", columns={"error": "start"}, side="run")
    found = judged(strict, tie, tmp_path=tmp_path / "a")
    assert (found.verdict, found.cells[0].relation) == (Verdict.SUPPORTED, "below")
    found = judged(weak, tie, tmp_path=tmp_path / "b")
    assert (found.verdict, found.cells[0].relation) == (Verdict.VACUOUS, "at most")


@pytest.mark.parametrize(("bounds", "passes"), [((1.0, 3.0), False), ((2.0, 3.0), True)])
def test_an_undecided_placebo_passes_a_cell_where_it_keeps_all_of_its_bounds(bounds, passes):
    """A cell has a row for each of its contrasts.  The placebo's value is 2 in both."""
    rows = tuple(
        CellResult(params={}, n_trials=4, observed=2.0, bound=bound, relation="at most")
        for bound in bounds
    )
    undecided = SimpleNamespace(verdict=Verdict.INCONCLUSIVE, cells=rows)
    procedure = SimpleNamespace(
        without_laws=lambda: procedure,
        without_figures=lambda: procedure,
        cells_alone=lambda: ({},),
        decide=lambda _store, _level: undecided,
    )
    start = Placebo(name="a start", columns={})
    assert placebos._passes(start, procedure, procedure, None, 0.05) is passes


POWER_CELLS = tuple({"m": float(m), "d": float(d)} for m in (10, 100, 1000) for d in (2, 4, 8))


def power_rate(side="equals"):
    return Rate(
        name="toy.rate",
        sampling=Sampling(experiment=POWER, max_trials=256, first=256),
        cells=POWER_CELLS,
        statistic=lambda table: table["error"],
        regressors=lambda cell: {"m": cell["m"], "d": cell["d"]},
        stated={"m": StatedRate(exponent=-0.5, side=side, symbol="m")},
        observable="the error",
    )


def test_a_rate_is_judged_as_a_whole(tmp_path):
    """A placebo without m has exponent 0: it fails, and one that halves every error passes."""
    flat = Placebo(
        name="no clients", columns={"error": lambda t, cell: t["error"] * cell["m"] ** 0.5}
    )
    assert judged(power_rate(), flat, tmp_path=tmp_path / "a").verdict is Verdict.SUPPORTED
    half = Placebo(name="half the error", columns={"error": lambda t, _cell: t["error"] / 2})
    evidence = judged(power_rate(), flat, half, tmp_path=tmp_path / "b")
    assert evidence.verdict is Verdict.VACUOUS
    assert evidence.summary == "it could not have failed: half the error passes too"
    assert evidence.tables[-1].rows == [("no clients", "no"), ("half the error", "yes")]


def _reached(params, rng, n_trials):
    shift = np.log2(params["n"]) - np.log2(params["at"])
    good = rng.logistic(size=n_trials) < 4 * shift
    return good[:, None].astype(np.float64)


REACHED = register(
    Experiment(
        name="test.reached",
        design=4_000_000_179,
        columns=("success",),
        simulate=_reached,
        parameters=Parameters({"n": Real(1.0), "at": Real(1.0)}),
        block_size=64,
    )
)


def test_a_threshold_follows_the_sizes_of_its_own_trials(tmp_path):
    needed = Threshold(
        statement=replace(statement(2 * sp.Symbol("at")), kind="threshold"),
        sampling=Sampling(experiment=REACHED, max_trials=1024, first=128),
        cells=({"at": 16.0}, {"at": 64.0}),
        size="n",
        grid=lambda _cell: tuple(2**i for i in range(1, 10)),
        success=lambda table, _cell: table["success"] > 0,
        event="success",
    )
    always = Placebo(name="every client alone", columns={"success": 1.0})
    never = Placebo(name="a guess that is wrong", columns={"success": 0.0})
    assert judged(needed, never, tmp_path=tmp_path / "a").verdict is Verdict.SUPPORTED
    assert judged(needed, always, tmp_path=tmp_path / "b").verdict is Verdict.VACUOUS


def test_constants_are_fitted_on_the_placebo_itself(tmp_path):
    """With a prefactor to choose, sqrt(d/m) serves half the error, and not an error without m."""
    cells = tuple({"m": float(m), "d": float(d)} for m in (10, 20, 40) for d in (2, 4, 8))
    far = tuple(
        {"m": float(m), "d": float(d)}
        for m, d in ((160, 4), (1280, 4), (20, 32), (20, 256), (640, 128))
    )
    m, d, c_1, c_2 = sp.symbols("m d c_1 c_2")
    constants = tuple(
        Constant(symbol=c, low=0.1, high=10.0, generous=which, meaning="a constant")
        for c, which in ((c_1, "choose"), (c_2, "high"))
    )
    floor = statement(c_2 * sp.sqrt(d / m), constants=constants, failure=sp.Rational(1, 10))
    claim = Constants(
        statement=floor,
        sampling=Sampling(experiment=POWER, max_trials=256, first=128),
        calibration=cells,
        held_out=far,
        values=lambda cell: {"m": cell["m"], "d": cell["d"]},
        regressors=lambda cell: {"m": cell["m"], "d": cell["d"]},
        statistic=lambda table, _cell: table["error"],
        covariates=lambda _table, _cell: {},
        drift={"m": "up", "d": "up"},
        choices=(1.0,),
        tighten=("c_2",),
    )
    flat = Placebo(name="no clients", columns={"error": lambda _t, cell: cell["d"] ** 0.5})
    assert judged(claim, flat, tmp_path=tmp_path / "a").verdict is Verdict.SUPPORTED
    half = Placebo(name="half the error", columns={"error": lambda t, _cell: t["error"] / 2})
    evidence = judged(claim, half, tmp_path=tmp_path / "b")
    assert evidence.verdict is Verdict.VACUOUS
    assert all(cell.void for cell in evidence.cells)


def test_columns_are_replaced_and_trials_with_finite_values_have_not_failed(tmp_path):
    with RunStore.create(tmp_path / "run.sqlite", root_seed=1, config={}) as store:
        with make_executor("serial") as executor:
            ensure(store, small(0.5).demands(store, LEVEL), executor)
        table = store.table(RUN, RUN.check({"bound": 0.5}), 1)
    lost = replace(table, failed=np.arange(128) < 2, reasons=((0, "inf"), (1, "inf")))
    values = np.array(lost.values)
    values[1, 0] = np.nan
    lost = replace(lost, values=values)
    found = with_columns(lost, {}, {"error": 0.25})
    assert found.n_failed == 1
    assert found.reasons == ((1, "inf"),)
    assert set(found["error"]) == {0.25}
    with pytest.raises(KeyError, match="unknown column 'wrong'"):
        with_columns(lost, {}, {"wrong": 1.0})


def test_a_row_is_that_of_the_cell_that_names_most_of_it_and_other_rows_are_nobodys():
    def row(**params):
        return CellResult(params=params, n_trials=4, n_failed=0)

    cells = [{"d": 2}, {"d": 2, "m": 5}, {"d": 3}, None]
    rows = [row(d=2, m=4), row(d=2, m=5, x=1), row(d=3), row(d=4)]
    found = _rows_of(cells, rows)
    assert found == [[rows[0]], [rows[1]], [rows[2]], [rows[3]]]
    assert _rows_of(cells[:3], rows) == found[:3]


@pytest.mark.parametrize(
    ("observed", "relation", "bound", "keeps"),
    [
        (0.5, "at most", 1.0, True), (1.0, "at most", 1.0, True), (1.0, "below", 1.0, False),
        (1.5, "at most", 1.0, False), (None, "at most", 1.0, False), (0.5, "below", None, False),
        (-0.1, "at most", 0.0, True), (0.1, "at most", 0.0, False), (0.0, "at most", 0.0, True),
        (0.0, "below", 0.0, False), (-0.1, "below", 0.0, True), (-2.0, "at least", -1.0, False),
        (-1.0, "at least", -1.0, True), (2.0, "equals", 2.0, True), (-2.0, "equals", 2.0, False),
    ],
)  # fmt: skip
def test_a_cell_keeps_its_bound_by_its_sides_whatever_their_signs(observed, relation, bound, keeps):
    one = CellResult(params={}, n_trials=4, observed=observed, bound=bound, relation=relation)
    assert _keeps(one) is keeps
