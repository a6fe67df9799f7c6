"""The table of cells: what has a column, what a caption says once, and what is cut."""

from __future__ import annotations

import math
from typing import Any

import pytest

from reports.claim_tables import (
    MAX_ROWS,
    _notes,
    _rho_follows,
    assignment,
    cell_table,
    cells_csv,
)
from reports.schema import Cell, decode
from tests.reports.fakes import cell


def cells(n: int, **changes: Any) -> list[Cell]:
    """Cells that differ in m, with the given fields."""
    return [decode(cell(i, params={"m": i + 1}, **changes), Cell, "cell") for i in range(n)]


def noted(*notes: str) -> list[Cell]:
    return [decode(cell(i, note=note), Cell, "cell") for i, note in enumerate(notes)]


def test_a_single_cell_keeps_its_columns_and_its_parameters_are_in_the_caption() -> None:
    table = cell_table(cells(1), "p.a")
    assert table.head == ["trials", "observed", "interval", "bound", "obs./bound"]
    assert table.caption == "Cells; all cells have $m=1$."
    assert len(table.align) == len(table.rows[0]) == 5


def test_what_two_cells_share_is_said_once() -> None:
    table = cell_table(cells(2), "p.a")
    assert table.head == ["$m$", "observed", "interval", "obs./bound"]
    assert table.caption == (
        r"Cells; all cells have $4000$ trials each, bound $1.23 \times 10^{-5}$."
    )
    assert table.align == "rrrr"


def test_failed_trials_have_a_column_and_are_never_said_once() -> None:
    table = cell_table(cells(2, n_failed=3), "p.a")
    column = list(table.head).index("failed")
    assert [row[column] for row in table.rows] == ["$3$", "$3$"]
    assert "failed" not in cell_table(cells(2), "p.a").head


def test_an_interval_is_shown_where_a_limit_is_known() -> None:
    assert "interval" not in cell_table(cells(2, lower=None, upper=None), "p.a").head
    assert "interval" in cell_table(cells(2, lower=None), "p.a").head


@pytest.mark.parametrize(
    ("lower", "shown"), [(0.0, r"$[0,\ 10^{-400}]$"), (-1.0, "$[-1.00,\\ 0]$")]
)
def test_a_limit_that_no_float_holds_is_taken_from_the_note_of_an_empty_interval(
    lower: float, shown: str
) -> None:
    """Where the interval has a length, its upper end is zero and no underflow."""
    (one,) = cells(1, lower=lower, upper=0.0, note="computed from the exact law: at most 1e-400")
    table = cell_table([one], "p.a")
    assert table.rows[0][list(table.head).index("interval")] == shown


def test_verdicts_that_differ_have_a_column() -> None:
    both = [*cells(1), *(decode(cell(i, verdict="REFUTED"), Cell, "cell") for i in (1,))]
    table = cell_table(both, "p.a")
    assert table.head[-1] == "verdict"
    assert sorted(row[-1] for row in table.rows) == ["refuted", "supported"]
    assert "verdict" not in cell_table(cells(2), "p.a").head


def test_observed_zero_is_said_once_only_if_nothing_was_seen_in_several_cells() -> None:
    assert "observed" in cell_table(cells(1, observed=0.0, ratio=0.0), "p.a").head
    assert "observed" not in cell_table(cells(2, observed=0.0, ratio=0.0), "p.a").head


@pytest.mark.parametrize(("n", "shown"), [(MAX_ROWS + 2, MAX_ROWS + 2), (MAX_ROWS + 3, MAX_ROWS)])
def test_a_table_is_cut_where_more_than_two_rows_are_saved(n: int, shown: int) -> None:
    table = cell_table(cells(n), "p.a")
    assert len(table.rows) == shown
    assert table.rows[0][0] == f"${n}$"  # the worst ratio first
    assert table.caption.startswith("Cells" if shown == n else f"The $16$ worst of ${n}$ cells")


def test_cells_without_a_ratio_are_cut_in_their_order_and_none_is_called_the_worst() -> None:
    """The caption was "The 16 of 27 cells"."""
    unrated = cells(MAX_ROWS + 3, ratio=None, bound=None)
    table = cell_table(unrated, "t")
    assert table.caption.startswith(f"The first ${MAX_ROWS}$ of ${MAX_ROWS + 3}$ cells")
    assert [row[0] for row in table.rows] == [f"${i + 1}$" for i in range(MAX_ROWS)]
    limited = cells(MAX_ROWS + 3, ratio=None)  # ordered by the limits over the bound
    assert cell_table(limited, "t").caption.startswith(f"The ${MAX_ROWS}$ worst of")


def test_what_is_said_of_all_cells_holds_for_those_that_are_not_shown() -> None:
    """The last cell is cut from the table and has other numbers than the sixteen that are shown."""
    shown = cells(MAX_ROWS + 4)[1:]
    hidden = decode(cell(0, params={"m": 1}, n_trials=50, bound=1.0, observed=0.0), Cell, "cell")
    table = cell_table([hidden, *shown], "p.a")
    assert len(table.rows) == MAX_ROWS
    # a parameter that only the hidden cell has otherwise is none that all cells share
    same = [decode(cell(i, params={"m": i, "d": 7}), Cell, "cell") for i in range(1, MAX_ROWS + 4)]
    odd = decode(cell(0, params={"m": 1, "d": 8}), Cell, "cell")
    told = cell_table([odd, *same], "p.a", line=math.inf)
    assert "$d$" in told.head
    assert "d=7" not in told.caption
    assert "d=7" in cell_table(same, "p.a", line=math.inf).caption
    assert "$1$" not in [row[0] for row in table.rows]
    assert "trials each" not in table.caption
    assert "all cells" not in table.caption
    for head in ("trials", "observed", "bound"):
        assert head in table.head
    failed = decode(cell(0, params={"m": 1}, n_failed=2), Cell, "cell")
    assert "failed" in cell_table([failed, *shown], "p.a").head


@pytest.mark.parametrize(("second", "left_out"), [(4.0, True), (5.0, False)])
def test_a_ratio_is_left_out_only_if_it_follows_in_every_cell(
    second: float, left_out: bool
) -> None:
    params = [
        {"Delta": 1.0, "sigma": 1.0, "rho": 1.0},
        {"Delta": 2.0, "sigma": 1.0, "rho": second},
        {"Delta": 2.0, "sigma": 2.0, "rho": 1.0},
    ]
    table = cell_table([decode(cell(i, params=p), Cell, "c") for i, p in enumerate(params)], "p.a")
    assert (r"$\rho$" not in table.head) is left_out


def test_parameters_share_a_column_where_they_have_no_room() -> None:
    many = [{f"c_{j}": 10.0**j * (i + 1.5) for j in range(16)} for i in range(2)]
    table = cell_table([decode(cell(i, params=p), Cell, "c") for i, p in enumerate(many)], "p.a")
    assert table.head[0] == "cell"
    assert table.align[0] == "l"
    assert len(table.align) == len(table.head) == len(table.rows[0])


def test_columns_of_words_stand_left_and_numbers_right() -> None:
    params = [{"start": word, "m": i} for i, word in enumerate(("near", "far"))]
    table = cell_table([decode(cell(i, params=p), Cell, "c") for i, p in enumerate(params)], "p.a")
    assert table.align.startswith("lr")


@pytest.mark.parametrize(
    ("notes", "marks", "legend"),
    [
        (("", ""), [], ""),
        (("held out", "held out"), [], "held out"),  # all cells: said once
        (("held out", ""), ["held out", ""], ""),  # short: printed in its row
        (("twelve chars", ""), ["twelve chars", ""], ""),
        (("now thirteen.", ""), ["$^{a}$", ""], "$^{a}$ Now thirteen."),
        (("a long note 1", "a long note 2"), ["$^{a}$", "$^{b}$"], None),
    ],
)
def test_notes_are_printed_once_each(
    notes: tuple[str, ...], marks: list[str], legend: str | None
) -> None:
    found, told = _notes(noted(*notes))
    assert list(found) == marks
    assert legend is None or told == legend


@pytest.mark.parametrize(("n", "lettered"), [(8, True), (9, False)])
def test_more_than_eight_notes_have_no_letters(n: int, lettered: bool) -> None:
    marks, legend = _notes(noted(*(f"a long note, number {'i' * i}." for i in range(n))))
    assert bool(legend) is lettered
    assert marks[-1].startswith("$^{") is lettered


def test_a_column_of_letters_has_no_name_and_a_column_of_notes_has_one() -> None:
    long = "smallest probability that these trials resolve"
    assert cell_table(noted(long, ""), "p.a").head[-1] == ""
    assert cell_table(noted("held out", ""), "p.a").head[-1] == "note"
    assert cell_table(noted("held out", ""), "p.a").align[-1] == "l"


@pytest.mark.parametrize(
    ("relations", "head"),
    [
        (("at most",), "obs./bound"),
        (("at least", "at least"), "bound/obs."),
        (("equals",), "larger/smaller"),
        (("order",), "obs./order"),
        (("at most", "equals"), "ratio"),
        (("unheard of",), "ratio"),
    ],
)
def test_the_head_of_the_ratios_says_what_is_divided(relations: tuple[str, ...], head: str) -> None:
    records = [decode(cell(i, relation=name), Cell, "cell") for i, name in enumerate(relations)]
    assert head in cell_table(records, "p.a").head


@pytest.mark.parametrize(
    ("params", "follows"),
    [
        ({"rho": 4.0, "Delta": 1.0, "sigma": 0.5}, True),
        ({"rho": 4.0 * (1 + 1e-10), "Delta": 1.0, "sigma": 0.5}, True),
        ({"rho": 4.0 * (1 + 3e-9), "Delta": 1.0, "sigma": 0.5}, False),
        ({"rho": 2.0, "Delta": 1.0, "sigma": 0.5}, False),
        ({"rho": 4.0, "Delta": 1.0, "sigma": 0.0}, False),
        ({"rho": "4", "Delta": 1.0, "sigma": 0.5}, False),
        ({"rho": 4.0, "Delta": "1", "sigma": 0.5}, False),
        ({"rho": 4.0, "Delta": 1.0, "sigma": "0.5"}, False),
        ({"rho": 4.0, "Delta": 1.0}, False),
    ],
)
def test_rho_follows_from_a_separation_and_a_noise(params: dict[str, Any], follows: bool) -> None:
    assert _rho_follows(decode(cell(0, params=params), Cell, "cell")) is follows


def test_rho_is_shown_where_one_of_its_factors_is_not() -> None:
    names = {"Delta": 1.0, "sigma": 0.5}
    for given in (names, {"Delta": 1.0}):
        params = [{name: x * (i + 1) ** 2 for name, x in given.items()} for i in range(2)]
        records = [
            decode(cell(i, params={**p, "rho": (p["Delta"] / p.get("sigma", 0.5)) ** 2}), Cell, "c")
            for i, p in enumerate(params)
        ]
        if "sigma" in given:
            records[1].params["sigma"] *= 3.0
            records[1].params["rho"] /= 9.0
        assert (r"$\rho$" in cell_table(records, "p.a").head) is ("sigma" not in given)


def test_an_assignment_is_one_formula_where_both_sides_are_math() -> None:
    params = {"m": 400, "start": "near", "step_rule": 3, "c_1": None}
    names = ["m", "start", "step_rule", "gone"]
    assert assignment(params, names) == "$m=400$, start near, step rule $3$"


def test_the_csv_has_every_parameter_of_any_cell() -> None:
    records = [
        decode({"params": {"m": 1}, "observed": 0.1 + 0.2}, Cell, "cell"),
        decode({"params": {"x": [1, 2]}}, Cell, "cell"),
    ]
    head, first, second = cells_csv(records).splitlines()
    assert head.startswith("m,x,n_trials,n_failed,observed,se,")
    assert first.startswith("1,,")
    assert "0.30000000000000004" in first
    assert second.startswith(',"[1, 2]",')


def test_void_cells_are_counted_with_each_reason_once() -> None:
    """Also those that a long list does not show."""
    live = cells(MAX_ROWS + 3)
    void = [
        decode(cell(i, params={"m": 100 + i}, void=reason), Cell, "cell")
        for i, reason in enumerate(("a placebo passes", "no trial", "a placebo passes"))
    ]
    said = cell_table([*live, *void], "p.a").caption
    assert said.endswith(r" $3$ cells are void and support nothing: a placebo passes; no trial.")
    both = decode(cell(0, void="no trial; a placebo passes; too rare"), Cell, "cell")
    assert cell_table([*live, *void, both], "p.a").caption.endswith(
        " $4$ cells are void and support nothing: a placebo passes; no trial; too rare."
    )
    assert cell_table([*cells(1), void[1]], "p.a").caption.endswith(
        r" $1$ cell is void and supports nothing: no trial."
    )
    assert "void" not in cell_table(live, "p.a").caption


def test_live_cells_stand_before_void_ones_whose_ratios_are_larger() -> None:
    """And so a cut table drops void cells first."""
    void = [decode(cell(500 + i, params={"m": 100 + i}, void="a"), Cell, "c") for i in range(9)]
    first = [row[0] for row in cell_table([*void, *cells(10)], "p.a").rows]
    assert first == [f"${m}$" for m in (*range(10, 0, -1), *range(108, 102, -1))]
