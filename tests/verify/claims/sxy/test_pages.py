"""Figures of trajectories and of values beside bounds show the trials that they are given."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from verify.claims.sxy import descents, refinement
from verify.claims.sxy.pages import beside_bound, floors, label, trajectories
from verify.procedures.base import PROFILES, Observed
from verify.procedures.invented import invent_trials


def stored(params: dict[str, Any], **columns: Any) -> Observed:
    table: Any = {name: np.asarray(values) for name, values in columns.items()}
    return Observed(params=params, table=table)


def test_trajectories_are_medians_in_the_unit_of_each_cell():
    rng = np.random.default_rng(0)
    errors = rng.random((3, 101))
    cells = [
        stored({"M": 100, "Delta": 2.0}, err_0=errors[0], err_1=errors[1], err_2=errors[2]),
        stored({"M": 200, "Delta": 1.0}, err_0=errors[1], err_1=errors[1], err_2=errors[1]),
    ]
    figure = trajectories(
        cells,
        ["err_0", "err_1", "err_2"],
        lambda table, _params: np.array([table["err_0"].max(), 3.0]),
        lambda params: params["Delta"],
        "error over the unit",
    )
    runs, limit, _, one = figure.series
    np.testing.assert_allclose(runs.y, np.median(errors, axis=1) / 2.0)
    assert runs.lower[0] < runs.y[0] < runs.upper[0]
    assert (runs.x, limit.x) == ([0.0, 1.0, 2.0], [1.0, 2.0])
    np.testing.assert_allclose(limit.y, [errors[0].max() / 2.0, 1.5])
    assert limit.group == runs.group == "$M=100$"
    assert one.y == [errors[1].max(), 3.0]


def test_of_many_cells_the_first_three_are_drawn_and_told_from_all():
    """The cells differ in d only behind the third one."""
    cells = [stored({"M": m, "d": 2}, err_0=[m], err_1=[m / 2]) for m in (5, 3, 9)]
    cells += [stored({"M": 9, "d": d}, err_0=[1.0], err_1=[1.0]) for d in (3, 4)]
    figure = trajectories(
        cells, ["err_0", "err_1"], lambda _table, params: np.array([params["M"] + 0.5]),
        lambda _params: 2.0, "error",
    )  # fmt: skip
    names = [f"$M={m}$, $d=2$" for m in (5, 3, 9)]
    runs, limits = figure.series[::2], figure.series[1::2]
    assert [run.label for run in runs] == [limit.group for limit in limits] == names
    assert [limit.label for limit in limits] == [f"limit, {name}" for name in names]
    assert [run.y for run in runs] == [[2.5, 1.25], [1.5, 0.75], [4.5, 2.25]]
    # a limit of the last round alone is a point there
    assert [(limit.x, limit.y, limit.style) for limit in limits] == [
        ([1.0], [y], "points") for y in (2.75, 1.75, 4.75)
    ]
    assert "the first cells" in figure.caption


@pytest.mark.parametrize(
    "claim",
    [descents.theorem_1_4_data, refinement.thm_2, refinement.unbalanced],
    ids=lambda claim: claim.id,
)
def test_a_run_is_drawn_from_its_start_to_its_last_round(claim):
    procedure = claim.build(PROFILES["full"])
    experiment = procedure.sampling.experiment
    errors = [column for column in experiment.columns if re.fullmatch(r"err_\d+", column)]
    table = invent_trials(experiment, 32)
    values = 1.0 + 1e-9 * table.values  # errors of about one, which no bound overflows
    shown = procedure.present(
        [Observed(params=procedure.cells[0], table=replace(table, values=values))]
    )
    (figure,) = [f for f in shown.figures if f.name == "trajectories"]
    assert figure.series[0].x == list(map(float, range(len(errors))))


def test_the_limit_beside_a_run_is_in_the_unit_of_its_errors():
    """The experiment stores errors over Delta, and the statement speaks of distances."""
    procedure = descents.theorem_1_4_data.build(PROFILES["full"])
    table = invent_trials(procedure.sampling.experiment, 4)
    limits = {}
    for unit in (1.0, 1e-3, 50.0):
        params = {**procedure.cells[0], "unit": unit}
        shown = procedure.present([Observed(params=params, table=table)])
        (figure,) = [f for f in shown.figures if f.name == "trajectories"]
        (limits[unit],) = [s.y for s in figure.series if s.label.startswith("limit")]
        at = {**descents.symbols(params), "C_f": 1.0}
        stated = float(descents.theorem_1_4_data.statement.bound(at))
        assert limits[unit] == pytest.approx([stated / unit])


def test_cells_are_drawn_in_the_order_of_their_size():
    cells = [stored({"M": m}, sup=[m, 1.0, 5.0]) for m in (300, 100, 200)]
    figure = beside_bound(
        cells, "sup", lambda table, params: table["sup"][0] * params["M"],
        lambda params: params["M"] / 100,
        {"title": "t", "xlabel": "x", "ylabel": "y", "caption": "c"},
    )  # fmt: skip
    trials, bound = figure.series
    assert trials.x == [1.0, 2.0, 3.0]
    assert (trials.y, trials.lower, trials.upper) == ([5.0] * 3, [1.0] * 3, [100.0, 200.0, 300.0])
    assert bound.y == [1e4, 4e4, 9e4]
    assert bound.style == "dashed"


def test_a_bound_that_does_not_follow_the_size_alone_is_no_line():
    """A dashed line went up and down between cells that differ in other sizes too."""
    cells = [stored({"M": m, "d": d}, sup=[1.0]) for m, d in ((100, 1), (200, 9), (300, 2))]
    figure = beside_bound(
        cells, "sup", lambda _table, params: float(params["d"]), lambda params: params["M"],
        {"title": "t", "xlabel": "x", "ylabel": "y", "caption": "c"},
    )  # fmt: skip
    _, bound = figure.series
    assert (bound.x, bound.y, bound.style) == ([100, 200, 300], [1.0, 9.0, 2.0], "points")


def test_a_label_names_only_the_parameters_that_differ():
    cells = [{"M": 100, "d": 2, "sigma": 0.1}, {"M": 100, "d": 3, "rule": "fedprox"}]
    assert label(cells[0], cells) == r"$d=2$, $\sigma=0.1$"
    assert label(cells[1], cells) == "$d=3$, fedprox"
    assert label({"M": 100}, [{"M": 100}]) == "all trials"


def test_floors_have_a_curve_for_each_value_of_the_other_size():
    cells = [
        stored({"n": n, "M": m}, err=np.array([1.0, 2.0, 6.0]) / (n * m))
        for n in (16, 8)  # 16 is behind 8, though not as a word
        for m in (10, 20)
    ]
    texts = {"title": "t", "xlabel": "x", "ylabel": "y"}
    figure = floors(cells, "err", lambda _table, at: 1.0 / at["n"], ("n", "M"), texts)
    first, limit, second, _ = figure.series
    assert [first.label, limit.label] == ["$M=10$", "limit, $M=10$"]
    assert first.x == limit.x == [8.0, 16.0]
    np.testing.assert_allclose(first.y, [2 / 80, 2 / 160])
    np.testing.assert_allclose(second.y, [2 / 160, 2 / 320])
    np.testing.assert_allclose(
        second.upper, np.quantile([1, 2, 6], 0.95) * np.array([1, 0.5]) / 160
    )
    assert limit.y == [1 / 8, 1 / 16]
    across = floors(cells, "err", lambda _table, _at: 1.0, ("M", "n"), texts)
    assert [one.label for one in across.series[::2]] == ["$n=8$", "$n=16$"]
    assert {figure.name, across.name} == {"floors-n", "floors-M"}


def test_a_failed_run_is_the_farthest_away_in_the_slack_of_a_distance():
    """Of 32 runs a quarter may miss, and eight failed: the largest of the others counts."""
    procedure = descents.theorem_1_5.build(PROFILES["quick"])
    cell = procedure.cells[0]
    table = invent_trials(procedure.sampling.experiment, 32)
    values = table.values.copy()
    column = table.columns.index("centres")
    values[:, column] = np.arange(32.0)
    at = {**descents.symbols_of_5(cell), "C_f": 1.0}
    bound = float(descents.THEOREM_1_5.bound(at))
    for n_failed in (0, 4, 8, 9):
        failed = np.arange(32) < n_failed  # the nearest ones
        shown = procedure.present(
            [Observed(params=cell, table=replace(table, values=values, failed=failed))]
        )
        seen = sorted([*values[~failed, column], *([np.inf] * n_failed)])[-1 - 8]
        if np.isinf(seen):
            assert shown.slack == ()
        else:
            (slack,) = shown.slack
            assert slack.median == pytest.approx(bound / (at["Delta"] * seen))
