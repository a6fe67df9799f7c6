"""Upper bounds with unspecified constants, on an experiment that follows ``sqrt(d/m)``."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from scipy.stats import binom

from bounds.statement import Assumption, Constant, OutsideTheorem, Statement, Term
from tests.stated import NOBODY
from tests.verify.toys import POWER, tried
from trials.checks import InvalidParameter
from trials.run.cell import canonical_json
from trials.run.engine import Demand, ensure, replay
from trials.run.executors import make_executor
from trials.run.store import RunStore, Table
from verify.decisions.sequences import trials_to_resolve
from verify.evidence import Verdict
from verify.procedures.base import Sampling
from verify.procedures.constants import Constants

m, d, c_1, c_2 = sp.symbols("m d c_1 c_2")


def bound(expr, high=100.0):
    return Statement(
        id="toy.bound",
        title="toy",
        publication=NOBODY,
        source="Theorem 1",
        kind="upper bound",
        quantifiers="",
        observed="x",
        terms=(Term(name="floor", expr=c_2 * expr),),
        failure=sp.Rational(1, 10),
        constants=(
            Constant(symbol=c_1, low=0.1, high=10.0, generous="choose", meaning="step size"),
            Constant(symbol=c_2, low=0.0, high=high, generous="high", meaning="prefactor"),
        ),
        assumptions=(Assumption(name="size", left=m, right=sp.Integer(5)),),
    )


def cells(ms, ds):
    return tuple({"m": float(x), "d": float(y), "b": 0.5, "lost": 0.0} for x in ms for y in ds)


def claim(expr, high=100.0, max_trials=256):
    return Constants(
        statement=bound(expr, high),
        sampling=Sampling(experiment=POWER, max_trials=max_trials, first=128),
        calibration=cells((10, 20, 40), (2, 4, 8)),
        # each alone at least 4-fold outside, then both
        held_out=cells((160, 1280), (4,)) + cells((20,), (32, 256)) + cells((640,), (128,)),
        values=lambda params: {"m": params["m"], "d": params["d"]},
        regressors=lambda params: {"m": params["m"], "d": params["d"]},
        statistic=lambda table, _params: table["error"],
        covariates=lambda _table, _params: {},
        drift={"m": "up", "d": "up"},
        choices=(1.0,),
        tighten=("c_2",),
    )


TRUE = sp.sqrt(d / m)


def test_a_true_bound_is_supported_by_all_three_parts(tmp_path):
    evidence, _ = tried(claim(TRUE), tmp_path)
    assert evidence.verdict is Verdict.SUPPORTED
    assert evidence.witness is None
    assert len(evidence.cells) == 14
    assert all(c.ratio < 1 for c in evidence.cells)
    # the slack of two is between the frozen bound and the fitted one
    assert max(c.ratio for c in evidence.cells) > 0.4
    assert {f.name for f in evidence.figures} == {"quantiles", "required"}


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e7])
def test_the_box_of_a_constant_is_the_declared_one_in_every_unit(unit, tmp_path):
    """The required constant is near 1 unit, or 1 over it where small constants are generous."""
    base = claim(TRUE, high=100.0 * unit)
    scaled = replace(base, statistic=lambda table, _params: unit * table["error"])
    step = base.statement.constants[0]
    divisor = Constant(
        symbol=c_2, low=0.01 / unit, high=100.0 / unit, generous="low", meaning="divisor"
    )
    small = replace(
        base.statement,
        constants=(step, divisor),
        terms=(Term(name="floor", expr=sp.sqrt(d / m) / c_2),),
    )
    turned = replace(scaled, statement=small)
    for number, (build, size) in enumerate(((scaled, unit), (turned, 1 / unit))):
        build.check()
        evidence, _ = tried(build, tmp_path, seed=number)
        assert evidence.verdict is Verdict.SUPPORTED
        assert 0.3 < evidence.required["c_2"] / size < 3.0


def test_a_generous_end_at_zero_is_refused():
    """A refutation there would be one for no constant of the box."""
    base = claim(TRUE)
    ends = (base.statement.constants[0], replace(base.statement.constants[1], generous="low"))
    stated = replace(base.statement, constants=ends)
    with pytest.raises(InvalidParameter, match="c_2 has its generous end at 0, which must be > 0"):
        replace(base, statement=stated).check()


def test_a_bound_without_anything_to_choose_names_its_required_constant_and_slacks(tmp_path):
    base = claim(TRUE)
    stated = replace(base.statement, constants=base.statement.constants[1:])
    fixed = [{**cell, "c1": 1.0} for cell in (*base.calibration, *base.held_out)]
    tested = replace(
        base,
        statement=stated,
        calibration=tuple(fixed[:9]),
        held_out=tuple(fixed[9:]),
        choices=(),
        proof_constants={"c_2": 50.0},
    )
    assert "choice" not in tested.describe()
    evidence, _ = tried(tested, tmp_path / "none")
    chosen, _ = tried(base, tmp_path / "one")
    assert evidence.verdict is Verdict.SUPPORTED
    seen = [[cell.observed for cell in found.cells] for found in (evidence, chosen)]
    assert seen[0] == seen[1]  # the same trials, with one choice or none
    required = evidence.required["c_2"]
    fitted, proved = evidence.slack
    assert fitted.least >= 0.99  # every calibration cell holds, and the tightest one just
    assert proved.median == pytest.approx(50.0 / required * fitted.median)


def test_required_constants_tell_calibration_from_held_out_cells_and_show_the_frozen_one(tmp_path):
    evidence, _ = tried(claim(TRUE), tmp_path)
    figure = {f.name: f for f in evidence.figures}["required"]
    by_role = {series.label: series for series in figure.series}
    assert list(by_role) == ["held-out cells", "calibration cells"]
    for series in by_role.values():  # bars are symmetric in the logarithm
        for low, middle, high in zip(series.lower, series.y, series.upper, strict=True):
            assert low * high == pytest.approx(middle**2)
            assert low < high
    assert len(by_role["calibration cells"].x) == 9
    assert len(by_role["held-out cells"].x) == 5
    # d is tried from 2 to 256, m from 10 to 1280: a factor of 128 each, the first of them is taken
    assert sorted(set(by_role["calibration cells"].x)) == [10.0, 20.0, 40.0]
    assert figure.xlabel == "$m$ (count)"
    assert "(dimensionless)" in figure.ylabel
    (line,) = figure.hlines
    frozen = next(t for t in evidence.tables if "frozen" in t.title).rows[0][2]
    assert line == (1.0, f"frozen: $c_{{2}}={frozen:.3g}$")
    # fitted constants are just large enough for the worst calibration cell, and frozen ones twice
    # as large
    assert max(by_role["calibration cells"].y) == pytest.approx(0.5, rel=0.01)


def test_calibration_cells_lie_on_top_in_the_figure_of_quantiles(tmp_path):
    base = claim(TRUE)
    evidence, _ = tried(replace(base, elsewhere=cells((80,), (16,))), tmp_path)
    figure = {f.name: f for f in evidence.figures}["quantiles"]
    sizes = {s.label: len(s.x) for s in figure.series if s.style == "points"}
    assert sizes == {"held-out cells": 5, "held-out, other term rules": 1, "calibration cells": 9}
    assert list(sizes)[-1] == "calibration cells"


@pytest.mark.parametrize(
    ("expr", "direction"),
    [(d**0 * m ** sp.Rational(-1, 2), "d goes up"), (sp.sqrt(d) * m ** sp.Rational(-3, 4), "m")],
    ids=["without sqrt(d)", "m to the power -3/4"],
)
def test_a_wrong_exponent_is_refuted_by_extrapolation_and_drift(expr, direction, tmp_path):
    far = cells((160, 640, 1280), (4, 8)) + cells((20, 40), (32, 128, 256)) + cells((640,), (128,))
    evidence, _ = tried(replace(claim(expr), held_out=far), tmp_path)
    assert evidence.verdict is Verdict.REFUTED
    assert direction in evidence.summary
    assert evidence.witness.params["c1"] == 1.0


def test_few_cells_cannot_tell_growth_from_a_shift_and_do_not_refute(tmp_path):
    """The same wrong exponent with two sizes far away in each parameter."""
    evidence, _ = tried(claim(d**0 * m ** sp.Rational(-1, 2)), tmp_path)
    assert evidence.verdict is Verdict.INCONCLUSIVE
    assert "extrapolation REFUTED" in evidence.summary


@pytest.mark.parametrize(
    ("expr", "high", "verdict"),
    [
        (TRUE, 100.0, Verdict.SUPPORTED),
        (TRUE, 0.25, Verdict.REFUTED),
        (d**0 * m ** sp.Rational(-1, 2), 100.0, Verdict.INCONCLUSIVE),
    ],
)
def test_a_verdict_alone_is_that_of_the_whole_decision(expr, high, verdict, tmp_path):
    """Only limits of quantiles, and constants where none are feasible, are left out."""
    build = claim(expr, high)
    brief = build.without_figures()
    with (
        RunStore.create(tmp_path / "run.sqlite", root_seed=0, config={}) as store,
        make_executor("serial", 1) as executor,
    ):
        while demands := build.demands(store, 0.05):
            ensure(store, demands, executor)
        whole, alone = (one.decide(store, 0.05) for one in (build, brief))
    assert whole.verdict is alone.verdict is verdict
    assert (whole.summary, whole.spare) == (alone.summary, alone.spare)
    assert (whole.n_trials, whole.witness) == (alone.n_trials, alone.witness)
    for full, short in zip(whole.cells, alone.cells, strict=True):
        assert full.lower <= full.observed <= full.upper
        assert short == replace(full, lower=None, upper=None)
    assert alone.required == ({} if verdict is Verdict.REFUTED else whole.required)
    assert whole.required


def test_a_bound_below_the_truth_everywhere_in_its_box_is_infeasible(tmp_path):
    """Refuted after the pilot, with a trial that violates the most generous constant."""
    evidence, rounds = tried(claim(TRUE, high=0.25), tmp_path)
    assert evidence.verdict is Verdict.REFUTED
    assert len(rounds) == 1
    assert evidence.n_trials == 14 * 128
    witness = evidence.witness
    assert witness.observed > witness.bound
    row = replay(0, witness.trial, POWER.check(witness.params))
    assert row.values[0] == witness.observed
    limit = 0.25 * (witness.params["d"] / witness.params["m"]) ** 0.5
    assert witness.bound == pytest.approx(limit)
    # No constants are frozen where none are feasible: everything shown is the generous corner's.
    assert [f.name for f in evidence.figures] == ["choices"]
    (table,) = evidence.tables
    assert table.title.startswith("Every choice is excluded")
    assert all(row[-1] for row in table.rows)
    for cell in evidence.cells:
        corner = 0.25 * (cell.params["d"] / cell.params["m"]) ** 0.5
        assert cell.bound == pytest.approx(corner)
        assert cell.note.startswith("bound: most generous constants")
    assert [s.constants for s in evidence.slack] == ["the most generous constants"]


@pytest.mark.parametrize("high", [100.0, 0.25], ids=["supported", "refuted by the pilot"])
def test_the_verdict_does_not_depend_on_what_other_claims_left_in_the_store(high, tmp_path):
    """Another claim with the same cells and four times the budget was tried before."""
    alone, after = (tmp_path / name for name in ("alone", "after"))
    evidence, _ = tried(claim(TRUE, high), alone)
    larger = claim(TRUE, max_trials=1024)
    assert tried(claim(TRUE, high), after, after=larger) == (evidence, [])


@pytest.mark.parametrize(("high", "reads"), [(100.0, 2), (0.25, 1)], ids=["whole", "pilot"])
def test_a_decision_reads_each_cell_once_for_the_pilot_and_once_for_the_whole(
    high, reads, tmp_path, monkeypatch
):
    asked = []
    table = RunStore.table

    def counted(store, experiment, params, n_blocks=None):
        asked.append(canonical_json(params))
        return table(store, experiment, params, n_blocks)

    procedure = claim(TRUE, high)
    with (
        RunStore.create(tmp_path / "run.sqlite", root_seed=0, config={}) as store,
        make_executor("serial", 1) as executor,
    ):
        while demands := procedure.demands(store, 0.05):
            ensure(store, demands, executor)
        monkeypatch.setattr(RunStore, "table", counted)
        procedure.decide(store, 0.05)
    assert set(Counter(asked).values()) == {reads}
    assert len(set(asked)) == 14


def test_cells_where_another_term_rules_stay_out_of_the_drift(tmp_path):
    base = replace(claim(TRUE), elsewhere=cells((80,), (16,)))
    evidence, _ = tried(base, tmp_path)
    required = {f.name: f for f in evidence.figures}["required"]
    assert len(evidence.cells) == 15
    assert sum(len(series.x) for series in required.series) == 14


def test_a_cells_limits_are_those_of_its_quantile_at_the_claims_level(tmp_path):
    base = claim(TRUE)
    evidence, _ = tried(base, tmp_path, level=0.04)
    everything = (*base.calibration, *base.held_out)
    with (
        RunStore.create(tmp_path / "again.sqlite", root_seed=0, config={}) as store,
        make_executor("serial", 1) as executor,
    ):
        named = [{**cell, "c1": 1.0} for cell in everything]
        ensure(store, [Demand(POWER, cell, 2) for cell in named], executor)
        tables = [store.table(POWER, cell, 2) for cell in named]
    for cell, table in zip(evidence.cells, tables, strict=True):
        errors = np.sort(table["error"])  # 256 trials, failure probability 0.1
        ranks = np.arange(1, 257)
        low = ranks[binom.cdf(ranks - 1, 256, 0.9) <= 0.04].max()
        high = ranks[binom.sf(ranks - 1, 256, 0.9) <= 0.04].min()
        assert cell.quantile == pytest.approx(0.9)
        assert (cell.lower, cell.upper) == (errors[low - 1], errors[high - 1])


def test_one_cell_that_excludes_every_choice_is_the_whole_witness(tmp_path):
    """At ``m=10`` both choices exceed a quarter of the bound.  At ``m>=20`` the first alone
    does.
    """
    base = replace(claim(TRUE, high=0.25), choices=(0.5, 1.0), choice_param="b")
    evidence, _ = tried(base, tmp_path)
    assert evidence.verdict is Verdict.REFUTED
    assert evidence.summary.endswith("1 cell excludes them for all 2 choices")
    (table,) = evidence.tables
    assert [row[0] for row in table.rows] == [0.5, 1.0]
    assert {row[-1] for row in table.rows} == {"m=10, d=2"}
    assert evidence.witness.params["m"] == 10.0
    assert "more cell" not in evidence.witness.description
    assert {c.params["b"] for c in evidence.cells} == {0.5, 1.0}
    # every cell against its own bound: what lies above the line excludes its choice
    (figure,) = evidence.figures
    assert figure.hlines == [(1.0, "bound")]
    shown = {s.label: dict(zip(s.x, s.y, strict=True)) for s in figure.series}
    assert shown["$m=10$, $d=2$"][0.5] > shown["$m=10$, $d=2$"][1.0] > 1
    assert shown["$m=1280$, $d=4$"][0.5] > 1 > shown["$m=1280$, $d=4$"][1.0]
    # a line joins the choices in their order, whatever the order in which they are listed
    turned, _ = tried(replace(base, choices=(1.0, 0.5)), tmp_path, seed=1)
    assert all(list(line.x) == [0.5, 1.0] for line in turned.figures[0].series)


def test_lost_trials_count_against_the_bound(tmp_path):
    lossy = claim(TRUE)
    worse = tuple({**c, "lost": 0.4} for c in lossy.calibration)
    evidence, _ = tried(replace(lossy, calibration=worse), tmp_path)
    assert evidence.verdict is Verdict.REFUTED
    assert evidence.n_failed > 0


def test_cells_outside_the_theorem_are_refused():
    base = claim(TRUE)
    base.check()
    with pytest.raises(OutsideTheorem, match="size: m=4 must be >= 5"):
        replace(base, held_out=cells((4,), (2,))).check()
    with pytest.raises(InvalidParameter, match="d=-2"):
        replace(base, elsewhere=cells((10,), (-2,))).check()


def test_an_instance_is_held_out_and_calibration_stays(tmp_path):
    base = claim(TRUE)
    instance = base.override({"m": 50_000.0, "d": 3.0})
    assert instance.calibration == base.calibration
    assert [(c["m"], c["d"]) for c in instance.held_out] == [(50_000.0, 3.0)]
    with pytest.raises(InvalidParameter, match="no parameter 'q'"):
        base.override({"q": 1.0})
    with pytest.raises(OutsideTheorem):
        base.override({"m": 1.0})
    evidence, _ = tried(instance, tmp_path)
    assert evidence.verdict is Verdict.SUPPORTED


def test_the_description_says_what_is_fitted_and_where():
    text = claim(TRUE).describe()
    for part in (
        "$c_{1}=1$",
        "$c_{2}$",
        "9 calibration",
        "5 held-out",
        "$m$, $d$",
        "256 trials",
        "less than a logarithm's",
    ):
        assert part in text
    alone = replace(claim(TRUE), calibration=cells((10,), (2,)), drift={}).describe()
    assert "on 1 calibration cell and frozen" in alone
    assert "no trend is asked about" in alone
    assert "$c_{1}$ in 0.5, 1." in replace(claim(TRUE), choices=(0.5, 1.0)).describe()


def test_a_failed_trial_violates_the_bound_whatever_its_statistic_says(tmp_path):
    """Half of the trials fail; another column than the bounded one may be the one that diverged."""
    lost = tuple({**cell, "lost": 0.5} for cell in claim(TRUE).held_out)
    hidden = replace(
        claim(TRUE),
        held_out=lost,
        statistic=lambda table, _params: np.where(table.failed, 0.0, table["error"]),
    )
    evidence, _ = tried(hidden, tmp_path)
    assert evidence.verdict is Verdict.REFUTED
    assert evidence.n_failed > 0


def test_the_witness_is_a_trial_that_violates_where_only_some_do(tmp_path):
    params = POWER.check({**claim(TRUE).calibration[0], "c1": 1.0})
    values = POWER.simulate(params, np.random.default_rng(0), 256)[:, 0]
    typical = float(np.median(values)) / (params["d"] / params["m"]) ** 0.5
    evidence, _ = tried(claim(TRUE, high=typical), tmp_path)
    assert evidence.verdict is Verdict.REFUTED
    witness = evidence.witness
    assert witness.observed > witness.bound
    row = replay(0, witness.trial, POWER.check(witness.params))
    assert row.values[0] == witness.observed


FAR = cells((80,), (512,))


def test_the_cells_of_a_claim_are_those_of_all_its_roles():
    tested = replace(claim(TRUE), elsewhere=FAR, choices=(3.0, 1.0))
    every = (*tested.calibration, *tested.held_out, *FAR)
    assert tested.every_cell() == every
    assert tested.complete_cells() == tuple({**cell, "c1": 3.0} for cell in every)
    assert replace(tested, choices=()).complete_cells() == every
    assert "in 1 cell where another term of the bound is the largest" in tested.describe()
    moved = tested.moved_to(FAR)
    assert moved == replace(tested, held_out=FAR, elsewhere=(), drift={})
    assert "another term" not in moved.describe()
    assert "These are single settings" in moved.describe()


def test_only_cells_that_are_held_out_make_a_claim_coarse():
    """Ten per cent is the smallest probability of a failure that so many trials resolve."""
    level, enough = 0.05, trials_to_resolve(0.1, 0.05)
    tested = claim(TRUE, max_trials=enough)
    assert not tested.is_coarse(level)
    assert claim(TRUE, max_trials=enough - 1).is_coarse(level)
    assert not replace(claim(TRUE, max_trials=1), log_tail=lambda cell, b: 0.0).is_coarse(level)
    seldom = replace(tested.statement, failure=1 / (m + d))  # 1/12 at least in calibration cells
    assert replace(tested, statement=seldom).is_coarse(level)
    assert not replace(tested, statement=seldom, held_out=cells((5,), (5,))).is_coarse(level)
    far = replace(tested, statement=seldom, held_out=cells((5,), (5,)), elsewhere=FAR)
    assert far.is_coarse(level)


def test_a_fingerprint_holds_the_bound_and_the_failure_probability_of_every_cell():
    tested = replace(claim(TRUE), elsewhere=FAR)
    bounds, failures = tested.fingerprint()
    each = tested.every_cell()
    assert bounds == pytest.approx([100.0 * (c["d"] / c["m"]) ** 0.5 for c in each])  # c_2 = 100
    assert failures == pytest.approx([0.1] * len(each))
    changed = replace(tested, statement=replace(tested.statement, failure=1 / (m + d)))
    assert changed.fingerprint()[1] == pytest.approx([1 / (c["m"] + c["d"]) for c in each])


def test_a_failed_trial_has_the_median_covariate_and_an_infinite_statistic():
    tested = replace(claim(TRUE), covariates=lambda table, _params: {"err": table["error"]})
    cell = tested.calibration[0]

    def table(values, failed):
        return Table(
            columns=("error",),
            values=np.array(values)[:, None],
            failed=np.array(failed, dtype=np.bool_),
            reasons=(),
        )

    some = table([2.0, np.nan, 1.0, 5.0, np.inf], [0, 1, 0, 0, 1])
    assert tested._covariates(some, cell)["err"].tolist() == [2.0, 2.0, 1.0, 5.0, 2.0]
    none = table([np.nan, np.nan], [1, 1])
    assert tested._covariates(none, cell)["err"].tolist() == [1.0, 1.0]
    whole = table([3.0, 7.0], [0, 0])
    assert tested._covariates(whole, cell)["err"].tolist() == [3.0, 7.0]


def test_a_law_of_the_tail_is_asked_at_the_complete_cell():
    asked = []

    def law(cell, b):
        asked.append((cell, b))
        return -b

    tested = replace(claim(TRUE), log_tail=law)
    assert tested._tail({"m": 10.0, "d": 2.0})(3.0) == -3.0
    assert asked == [(POWER.check({"m": 10.0, "d": 2.0}), 3.0)]
    assert set(asked[0][0]) == {"m", "d", "c1", "b", "lost"}
    assert tested.without_laws().log_tail is None


def test_what_was_tried_is_read_from_the_stored_trials_of_the_first_choice(tmp_path):
    tested = replace(
        claim(TRUE),
        covariates=lambda table, _params: {"err": table["error"]},
        choices=(1.0, 2.0),
        calibration=cells((10,), (2,)),
        held_out=cells((20,), (2,)),
    )
    with (
        RunStore.create(tmp_path / "run.sqlite", root_seed=0, config={}) as store,
        make_executor("serial", 1) as executor,
    ):
        assert ["err" in each for each in tested.tried_at(store)] == [False, False]
        ensure(store, [Demand(POWER, {**tested.held_out[0], "c1": 1.0}, 1)], executor)
        before, after = tested.tried_at(store)
    assert (before["m"], after["m"], before["c1"], after["c1"]) == (10.0, 20.0, 1.0, 1.0)
    assert "err" not in before
    assert len(after["err"]) == 128


@pytest.mark.parametrize("failure", [sp.Integer(1), sp.Rational(6, 5)])
def test_a_statement_that_may_always_fail_is_vacuous(failure, tmp_path):
    base = claim(TRUE)
    evidence, _ = tried(replace(base, statement=replace(base.statement, failure=failure)), tmp_path)
    assert evidence.verdict is Verdict.VACUOUS
    assert len(evidence.cells) == 14
    for cell in evidence.cells:
        assert cell.observed is cell.quantile is cell.lower is cell.upper is cell.bound is None
        assert cell.note.endswith("any failure is allowed here, so no quantile is bounded")
    assert evidence.figures == ()
    assert evidence.required == {}


def test_a_cell_that_may_always_fail_shows_no_quantile_and_the_others_decide(tmp_path):
    """The failure probability m/640 is one at m = 640, two at 1280, and less elsewhere."""
    base = replace(
        claim(TRUE, max_trials=128),
        calibration=cells((10, 40), (4,)),
        held_out=cells((320, 640, 1280), (4,)),
        drift={},
    )
    failure = sp.Max(sp.Rational(1, 10), m / 640)
    evidence, _ = tried(replace(base, statement=replace(base.statement, failure=failure)), tmp_path)
    assert evidence.verdict is Verdict.SUPPORTED
    assert "2 cells do not meet the assumptions" in evidence.notes[0]
    for cell in evidence.cells:
        allowed = max(0.1, cell.params["m"] / 640)
        if allowed < 1:
            assert cell.quantile == pytest.approx(1 - allowed)
            assert cell.lower < cell.observed < cell.upper
            assert cell.ratio == cell.observed / cell.bound
        else:
            assert cell.quantile is cell.observed is cell.ratio is None
            assert cell.bound > 0
            assert "any failure is allowed" in cell.note
    assert sum(cell.quantile is None for cell in evidence.cells) == 2
    # The drawn points are those of the cells with a quantile
    quantiles = next(f for f in evidence.figures if f.name == "quantiles")
    drawn = [y for s in quantiles.series if s.style == "points" for y in s.y if y is not None]
    assert sorted(drawn) == sorted(c.observed for c in evidence.cells if c.quantile is not None)


def test_two_cells_that_exclude_a_choice_each_are_the_witness_together(tmp_path):
    """The bound is a multiple (m/100)^-2 of the truth under choice 1/2, and (m/100)^2 under 1."""
    shape = sp.sqrt(d) * m**-c_1 * (m / 100) ** (8 * c_1 - 6)
    evidence, rounds = tried(
        replace(claim(shape, high=1.0), choices=(0.5, 1.0), choice_param="b"), tmp_path
    )
    assert evidence.verdict is Verdict.REFUTED
    assert len(rounds) == 1
    assert evidence.summary.endswith("2 cells exclude them for all 2 choices")
    witness = evidence.witness
    assert witness.description.endswith(
        "; together with 1 more cell this cell excludes all choices"
    )
    size, choice = witness.params["m"], witness.params["b"]
    assert (size > 100) is (choice == 0.5)
    limit = witness.params["d"] ** 0.5 * size**-choice * (size / 100) ** (8 * choice - 6)
    assert witness.bound == pytest.approx(limit)
    assert witness.observed > witness.bound
    row = replay(0, witness.trial, POWER.check(witness.params))
    assert row.values[0] == witness.observed
    (table,) = evidence.tables
    assert [row[0] for row in table.rows] == [0.5, 1.0]
    sizes = [float(row[-1].split(",")[0].removeprefix("m=")) for row in table.rows]
    assert sizes[0] > 100 > sizes[1]


def test_a_constant_that_no_calibration_cell_needs_is_at_the_tight_end_and_not_required(tmp_path):
    """The truth is below the bound at the smallest constant of the box in every cell."""
    base = claim(TRUE)
    boxes = (base.statement.constants[0], replace(base.statement.constants[1], low=5.0))
    evidence, _ = tried(replace(base, statement=replace(base.statement, constants=boxes)), tmp_path)
    assert evidence.verdict is Verdict.SUPPORTED
    frozen = next(t for t in evidence.tables if "frozen" in t.title)
    assert [row[:3] for row in frozen.rows] == [("c_2", 5.0, 10.0)]
    assert evidence.required == {}
    figure = next(f for f in evidence.figures if f.name == "required")
    assert figure.hlines == [(1.0, "frozen")]
