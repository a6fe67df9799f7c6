"""Figures from stored trials: means, bands and shares by hand, failed trials where they belong."""

from __future__ import annotations

import numpy as np
import pytest

from trials.run.store import Table
from verify.evidence import Series
from verify.procedures.base import NOTHING, Observed, Presentation
from verify.procedures.pages import curves, of_finished, phase_diagram, spread


def cell(params, values, failed):  # type: ignore[no-untyped-def]
    table = Table(
        columns=("value",),
        values=np.asarray(values, dtype=np.float64)[:, None],
        failed=np.asarray(failed, dtype=np.bool_),
        reasons=tuple((i, "raised: by hand") for i in np.flatnonzero(failed).tolist()),
    )
    return Observed(params=params, table=table)


NONE_FAILED = cell({"n": 10, "d": 2}, [1.0, 0.0, 1.0, 1.0], [0, 0, 0, 0])
ONE_FAILED = cell({"n": 1000, "d": 2}, [1.0, 1.0, 0.0, 9.0], [0, 0, 0, 1])
ALL_FAILED = cell({"n": 100, "d": 5}, [1.0, 1.0], [1, 1])


def test_a_page_of_finished_trials_gets_them_alone_and_counts_the_others() -> None:
    seen: list[list[float]] = []

    def page(observed):  # type: ignore[no-untyped-def]
        seen.extend(o.table["value"].tolist() for o in observed)
        assert not any(o.table.failed.any() for o in observed)
        return Presentation(notes=("own",))

    shown = of_finished(page)([NONE_FAILED, ALL_FAILED, ONE_FAILED])
    assert seen == [[1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 0.0]]  # no cell without a finished trial
    counted = "Failed trials (3) have no part in the claim's own figures and sentences."
    assert shown.notes == ("own", counted)
    assert of_finished(page)([NONE_FAILED]).notes == ("own",)
    nothing = of_finished(lambda _: pytest.fail("there is nothing to show"))([ALL_FAILED])
    assert nothing == Presentation(notes=("Failed trials (2)" + counted[17:],))
    assert of_finished(page)([]) == NOTHING


def test_a_band_reaches_from_the_fifth_to_the_ninety_fifth_percentile() -> None:
    hundred = np.arange(101.0) ** 2
    series = spread("x", [1.0, 2.0], [hundred, np.empty(0)])
    assert series.y == [pytest.approx(3350.0), None]  # 100 201 / 6
    assert series.lower == [25.0, None]
    assert series.upper == [9025.0, None]
    assert (series.label, series.x, series.style) == ("x", [1.0, 2.0], "points")


def test_curves_are_in_order_and_leave_failed_trials_out() -> None:
    drawn = curves(
        [ONE_FAILED, NONE_FAILED, ALL_FAILED], "n", {"a": "value", "b": "value"},
        name="f", title="t", xlabel="x", ylabel="y", yscale="linear", vlines=[(2.0, "v")],
        caption="More.",
    )  # fmt: skip
    assert [s.label for s in drawn.series] == ["a", "b"]
    for series in drawn.series:
        assert series.x == [10.0, 100.0, 1000.0]
        assert series.y == [0.75, None, pytest.approx(2 / 3)]
        assert series.style == "line"
    assert (drawn.xscale, drawn.yscale, drawn.vlines) == ("log", "linear", [(2.0, "v")])
    assert drawn.caption == (
        "Lines are means of the trials, bands reach from their 5th to their 95th percentile. More."
    )


def test_a_phase_diagram_shows_shares_of_all_trials_and_failed_ones_are_no_successes() -> None:
    stated = Series(label="stated", x=[1.0], y=[1.0], style="line")
    drawn = phase_diagram(
        [ONE_FAILED, ALL_FAILED, NONE_FAILED],
        lambda table, params: table["value"] >= 1.0,
        "recovery",
        x=lambda params: params["d"],
        y=lambda params: params["n"],
        group=lambda params: f"d={params['d']}",
        xlabel="d",
        ylabel="n",
        lines=[stated],
    )
    two, five, line = drawn.series
    assert (two.label, two.x, two.y, two.shade) == ("d=2", [2, 2], [1000, 10], [0.5, 0.75])
    assert (five.label, five.x, five.y, five.shade) == ("d=5", [5], [100], [0.0])
    assert line is stated
    assert (drawn.xscale, drawn.yscale) == ("log", "log")
    assert (drawn.title, drawn.caption) == (
        "Where recovery happens",
        "A point is a size that was tried in a cell.",
    )
