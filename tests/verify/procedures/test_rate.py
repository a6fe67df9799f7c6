"""Exponents and factors whose true values are known are read, and false ones refuted."""

import math
from dataclasses import replace

import numpy as np
import pytest

from bounds.statement import OutsideTheorem
from tests.verify.toys import DECAY, N_STEPS, POWER, stored, tried
from trials.checks import InvalidParameter
from verify.decisions.rates import fit_power_law
from verify.decisions.sequences import resolvable
from verify.evidence import Verdict
from verify.procedures.base import Sampling
from verify.procedures.rate import Contraction, Rate, StatedRate, _goodness


def test_a_figure_shows_the_cells_on_the_fitted_line_beside_the_stated_one(tmp_path):
    """The power of d is divided out, so that cells with the same m have the same height."""
    evidence, _ = tried(power_law(-0.25), tmp_path)
    (figure,) = evidence.figures
    (panel,) = figure.panels
    cells, fitted, stated = panel.series
    assert panel.xlabel == "$m$"
    found = np.log(cells.y)
    slope, level = np.polyfit(np.log(cells.x), found, 1)
    np.testing.assert_allclose(found, level + slope * np.log(cells.x), atol=0.1)
    assert slope == pytest.approx(-0.5, abs=0.02)
    for line, exponent in ((fitted, slope), (stated, -0.25)):
        drawn = np.polyfit(np.log(line.x), np.log(line.y), 1)[0]
        assert drawn == pytest.approx(exponent, abs=0.01)
    at_centre = np.interp(np.log(cells.x).mean(), np.log(stated.x), np.log(stated.y))
    assert at_centre == pytest.approx(found.mean(), abs=1e-9)


def power_law(stated_m, side="equals", b=0.5, lost=0.0):
    """Mean error ``d^(1/2) m^(-b)`` over a grid, ``d`` a nuisance parameter."""
    cells = [
        {"m": float(m), "d": float(d), "b": b, "lost": lost, "c1": 1.0}
        for m in (10, 100, 1000, 10_000)
        for d in (1, 16, 256)
    ]
    return Rate(
        name="toy.rate",
        sampling=Sampling(experiment=POWER, max_trials=256),
        cells=tuple(cells),
        statistic=lambda table: table["error"],
        regressors=lambda params: {"m": params["m"], "d": params["d"]},
        stated={"m": StatedRate(exponent=stated_m, side=side, symbol="$m$")},
        observable="the error",
        bound=lambda params: 2 * math.sqrt(params["d"] / params["m"]),
    )


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("stated", "side", "verdict"),
    [
        (-0.5, "equals", "SUPPORTED"),
        (-0.25, "equals", "REFUTED"),
        (-0.75, "equals", "REFUTED"),
        (-0.75, "at most", "REFUTED"),  # falls more slowly than stated
        (-0.25, "at most", "SUPPORTED"),
        (-0.25, "at least", "REFUTED"),
        (-0.75, "at least", "SUPPORTED"),
    ],
)
def test_an_exponent_off_by_a_quarter_is_refuted(stated, side, verdict, tmp_path):
    """256 trials a cell put the exponent's standard error below 0.003: margins of 15 of these."""
    evidence, rounds = tried(power_law(stated, side), tmp_path)
    assert str(evidence.verdict) == verdict
    assert rounds == [12]
    rows = {row[0]: row for row in evidence.tables[0].rows}
    assert rows["$m$"][1] == pytest.approx(-0.5, abs=0.02)
    assert rows["d"][1] == pytest.approx(0.5, abs=0.02)
    assert rows["d"][-1] == "nuisance"
    assert rows["$m$"][3] < rows["$m$"][1] < rows["$m$"][4]
    assert all(c.ratio == pytest.approx(0.5, abs=0.05) for c in evidence.cells)


def test_a_rate_is_supported_down_to_what_its_trials_resolve(tmp_path):
    """An event of this probability is missing in all 3,072 trials with a probability of 1e-2."""
    evidence, _ = tried(power_law(-0.5), tmp_path)
    floor = resolvable(12 * 256, evidence.level)
    assert evidence.resolution == floor
    assert evidence.mark == f"SUPPORTED TO {floor:.2g}"
    assert (1 - floor) ** (12 * 256) <= evidence.level
    assert f"values rarer than {floor:.2g} may be missing" in evidence.summary


def test_the_level_is_shared_by_the_stated_exponents_alone(tmp_path):
    """The exponent of d could not refute.  With both stated, each has half of the level."""
    d = StatedRate(exponent=0.5, side="equals", symbol="$d$")
    alone = power_law(-0.5)
    both = replace(alone, stated={**alone.stated, "d": d})
    for number, (build, family) in enumerate(((alone, 1), (both, 2))):
        evidence, _ = tried(build, tmp_path, seed=number)
        (table,) = [t for t in evidence.tables if t.title == "Exponents"]
        varied = {name: [c.params[name] for c in evidence.cells] for name in ("m", "d")}
        fit = fit_power_law([c.observed for c in evidence.cells], varied)
        rows = {row[0]: row for row in table.rows}
        for symbol, name in (("$m$", "m"), ("d" if family == 1 else "$d$", "d")):
            limits = fit.limits(name, 0.05 / family)
            assert rows[symbol][3:5] == pytest.approx(limits, rel=1e-12)


def test_a_refuted_rate_names_what_it_may_miss(tmp_path):
    evidence, _ = tried(power_law(-0.25), tmp_path)
    assert evidence.resolution is None
    assert evidence.mark == "REFUTED"
    assert "may be missing" in evidence.summary


def test_an_open_exponent_names_its_limits_and_the_band_that_they_straddle(tmp_path):
    """The band ends at the observed exponent."""

    def row_of(evidence):
        (row,) = [row for row in evidence.tables[0].rows if row[0] == "$m$"]
        return row

    _, observed, _, lower, upper, *_ = row_of(tried(power_law(-0.5), tmp_path)[0])
    (tmp_path / "again").mkdir()
    build = replace(power_law(-0.25), margin=-0.25 - observed)
    evidence, _ = tried(build, tmp_path / "again")
    assert evidence.verdict is Verdict.INCONCLUSIVE
    assert row_of(evidence)[3:5] == (lower, upper)
    assert f"(limits [{lower:.3g}, {upper:.3g}] straddle -0.25 ± 0.25" in evidence.summary


@pytest.mark.parametrize("stated", [-0.5, -0.25])
def test_where_one_trial_rules_a_mean_nothing_is_decided(stated, tmp_path):
    """One value of each cell is a fifth of its sum, and every exponent is open."""

    def with_a_jump(table):
        values = table["error"].copy()
        values[0] *= 60.0  # of 256, so that it is a fifth of the sum
        return values

    evidence, _ = tried(replace(power_law(stated), statistic=with_a_jump), tmp_path)
    assert evidence.verdict is Verdict.INCONCLUSIVE
    assert "in 12 of 12 cells the mean is not known" in evidence.summary


def test_where_the_bound_is_loose_the_sharper_exponent_is_reported(tmp_path):
    evidence, _ = tried(power_law(-0.25, "at most"), tmp_path)
    assert "support exponent -0.5" in evidence.sharpness[0]


@pytest.mark.parametrize("unit", [2.0**-600, 2.0**600])
def test_the_error_of_a_cells_mean_has_the_unit_of_its_values(unit, tmp_path):
    """Squares of such values are zero or infinite."""
    plain, _ = tried(power_law(-0.5), tmp_path)
    build = replace(power_law(-0.5), statistic=lambda table: table["error"] * unit)
    (tmp_path / "scaled").mkdir()
    scaled, _ = tried(build, tmp_path / "scaled")
    assert scaled.verdict is plain.verdict
    for a, b in zip(plain.cells, scaled.cells, strict=True):
        assert (b.observed, b.se) == pytest.approx((a.observed * unit, a.se * unit), rel=1e-12)


def test_a_failed_trial_makes_the_claim_inconclusive(tmp_path):
    evidence, _ = tried(power_law(-0.5, lost=0.01), tmp_path)
    assert evidence.verdict is Verdict.INCONCLUSIVE
    assert evidence.n_failed > 0


@pytest.mark.parametrize("mean", [0.0, -2.0])
def test_a_mean_without_a_logarithm_leaves_the_claim_open(mean, tmp_path):
    """Two of the twelve cells have no positive mean: the verdict says so."""
    rate = power_law(-0.5)
    without = replace(
        rate,
        statistic=lambda table: np.where(table["error"] > 0.9, mean, table["error"]),
    )
    cells = [{**cell, "lost": 0.0} for cell in rate.cells]
    values = [np.full((256, 1), 1.0 if cell["d"] == 256 and i < 6 else 0.25)
              for i, cell in enumerate(cells)]  # fmt: skip
    with stored(tmp_path, POWER, list(zip(cells, values, strict=True))) as store:
        evidence = without.decide(store, 0.05)
    assert evidence.verdict is Verdict.INCONCLUSIVE
    assert f"the mean is {mean:.3g} in 2 of 12 cells" in evidence.summary
    assert (evidence.n_trials, evidence.n_failed) == (12 * 256, 0)


def test_rates_override_check_and_describe():
    rate = power_law(-0.5)
    assert {c["d"] for c in rate.override({"d": 4.0}).cells} == {4.0}
    assert len(rate.override({"d": 4.0}).cells) == 4
    with pytest.raises(InvalidParameter, match="no parameter 'q'; its parameters: b, c1"):
        rate.override({"q": 1.0})
    with pytest.raises(InvalidParameter, match="d=-4 must be"):
        rate.override({"d": -4})

    def refuse(_cell):
        raise OutsideTheorem("outside")

    with pytest.raises(OutsideTheorem):
        replace(rate, validate=refuse).check()
    for part in ("12 cells", "256 trials", "-0.5", "the error", "test.power"):
        assert part in rate.describe()


def test_an_instance_asks_only_about_exponents_that_still_vary(tmp_path):
    """With m fixed, d alone is left.  With d fixed as well, the claim is refused before any
    trial.
    """
    rate = power_law(-0.5)
    both = replace(
        rate, stated={**rate.stated, "d": StatedRate(exponent=0.5, side="equals", symbol="$d$")}
    )
    instance = both.override({"m": 100.0})
    instance.check()
    assert list(instance.stated) == ["d"]
    evidence, _ = tried(instance, tmp_path)
    (row,) = evidence.tables[0].rows  # three cells: little is decided, and nothing refuted
    assert row[0] == "$d$"
    assert row[1] == pytest.approx(0.5, abs=0.02)
    assert evidence.verdict is not Verdict.REFUTED
    with pytest.raises(InvalidParameter, match=r"no parameter varies whose exponent .* \(m\)"):
        rate.override({"m": 100.0})
    # shares that whole clients round differently are one share
    rounded = replace(
        both,
        regressors=lambda c: {**rate.regressors(c), "p": 0.05 * (1 + 0.2 / c["m"])},
        stated={**rate.stated, "p": StatedRate(exponent=-1.0, side="at least", symbol="$p$")},
    )
    assert list(rounded.override({"d": 4.0}).stated) == ["m"]
    with pytest.raises(InvalidParameter, match="the cells do not vary p, whose exponent is stated"):
        rounded.check()
    with pytest.raises(InvalidParameter, match="n_cells=2 must exceed 3"):
        replace(rate, cells=(rate.cells[0], rate.cells[-1])).check()


def test_trials_beyond_the_budget_that_another_claim_drew_are_not_used(tmp_path):
    alone, after = (tmp_path / name for name in ("alone", "after"))
    rate = power_law(-0.5)
    larger = replace(rate, sampling=Sampling(experiment=POWER, max_trials=1024))
    evidence, _ = tried(rate, alone)
    assert evidence.n_trials == 12 * 256
    assert tried(rate, after, after=larger) == (evidence, [])


def contraction(stated, factor=0.5, floor=1e-4):
    return Contraction(
        name="toy.contraction",
        sampling=Sampling(experiment=DECAY, max_trials=256),
        cells=({"factor": factor, "floor": floor}, {"factor": factor * 0.8, "floor": floor}),
        errors=lambda table, _params: np.column_stack(
            [table[f"err_{t}"] for t in range(N_STEPS + 1)]
        ),
        stated=stated,
    )


@pytest.mark.parametrize(("stated", "verdict"), [(0.55, "SUPPORTED"), (0.25, "REFUTED")])
def test_a_factor_is_read_above_the_floor(stated, verdict, tmp_path):
    evidence, _ = tried(contraction(stated), tmp_path)
    assert str(evidence.verdict) == verdict
    assert evidence.cells[0].observed == pytest.approx(0.5, rel=0.02)
    assert evidence.cells[1].observed == pytest.approx(0.4, rel=0.02)
    assert all(c.lower <= c.observed <= c.upper for c in evidence.cells)
    assert evidence.figures[0].hlines[0][0] == stated
    if verdict == "SUPPORTED":  # odd trials are measured, 128 in each cell
        assert evidence.resolution == resolvable(128, evidence.level)
    else:
        assert evidence.resolution is None


def test_at_the_floor_no_factor_is_read(tmp_path):
    """With a floor as large as the start nothing contracts: nothing to read, nothing claimed."""
    evidence, _ = tried(contraction(0.5, floor=10.0), tmp_path)
    assert evidence.verdict is Verdict.INCONCLUSIVE
    assert "no factor" in evidence.summary


def test_contractions_override_and_describe():
    base = contraction(0.5)
    assert len(base.override({"factor": 0.3}).cells) == 1
    with pytest.raises(InvalidParameter, match="factor=2 must be"):
        base.override({"factor": 2})
    assert "stated at most 0.5" in base.describe()


@pytest.mark.parametrize(
    ("levels", "told"),
    [([1.0, 2.0, 4.0], True), ([1.0, 1.0, 4.0], False), ([1.0, 1.03, 4.0], False)],
)
def test_two_levels_of_a_parameter_have_a_slope_and_no_goodness_of_fit(levels, told):
    varied = {"n": [1.0, 2.0, 4.0, 1.0, 2.0, 4.0], "d": [*levels, *reversed(levels)]}
    y = [n / d for n, d in zip(varied["n"], varied["d"], strict=True)]
    assert ("R^2" in _goodness(fit_power_law(y, varied), varied)) is told


def test_the_spread_that_a_design_gives_weights_the_cells(tmp_path):
    """Six cells are off a power law.  With a spread of 1e3 there they hardly count."""
    rate = power_law(-0.5)
    cells = rate.cells
    off = np.array([i % 2 for i in range(len(cells))])
    means = [math.sqrt(c["d"] / c["m"]) * (3.0 if o else 1.0) * (1 + 0.01 * (i % 5))
             for i, (c, o) in enumerate(zip(cells, off, strict=True))]  # fmt: skip
    spread = replace(rate, spread=lambda cell: 1e3 if off[cells.index(cell)] else 1.0)
    rows = [(cell, np.full((256, 1), mean)) for cell, mean in zip(cells, means, strict=True)]
    with stored(tmp_path, POWER, rows) as store:
        weighted, plain = (each.decide(store, 0.05) for each in (spread, rate))
    design = np.column_stack([np.ones(12), *(np.log([c[k] for c in cells]) for k in ("m", "d"))])
    for evidence, weights in ((weighted, np.where(off, 1e-3, 1.0)), (plain, np.ones(12))):
        expected = np.linalg.lstsq(design * weights[:, None], np.log(means) * weights)[0]
        found = {row[0]: row[1] for row in evidence.tables[0].rows}
        assert found == pytest.approx({"$m$": expected[1], "d": expected[2]}, abs=1e-9)
    assert "weighted by their design" in spread.describe()
    assert "all cells alike" in rate.describe()


@pytest.mark.parametrize(("stated", "verdict"), [(0.55, "SUPPORTED"), (0.25, "REFUTED")])
def test_few_trials_of_a_factor_decide_nothing(stated, verdict, tmp_path):
    """Of two factors with one half each, 4 measured trials show one alone in 1 case of 8.

    The limits are then a point, at any level.
    """
    for n_trials, shown in ((8, "INCONCLUSIVE"), (64, verdict)):
        drawn = replace(DECAY, block_size=n_trials)
        few = replace(contraction(stated), sampling=Sampling(experiment=drawn, max_trials=n_trials))
        evidence, _ = tried(few, tmp_path / str(n_trials), level=0.05)
        assert str(evidence.verdict) == shown
        told = {cell.note for cell in evidence.cells}
        assert (told == {"4 measured trials resolve no probability"}) is (n_trials == 8)
