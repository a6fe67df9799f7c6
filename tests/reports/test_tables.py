"""Tables as CSV: full precision, and nothing where nothing is stored."""

from __future__ import annotations

import pytest

from reports.tables import (
    RAGGED,
    SHORT,
    PrintedTable,
    _columns,
    _shares,
    alignment,
    cell,
    csv_text,
    fits,
)


def test_a_missing_value_is_an_empty_field_and_a_number_keeps_its_digits() -> None:
    text = csv_text(["name", "value"], [["a", None], ["b", 0], ["c, d", 0.1 + 0.2]])
    assert text == 'name,value\na,\nb,0\n"c, d",0.30000000000000004\n'


@pytest.mark.parametrize(
    ("lengths", "natural"),
    [((50, 51), True), ((51, 51), False), ((30, 30, 38), True), ((30, 30, 39), False)],
)
def test_columns_have_their_natural_widths_while_a_line_holds_them_and_the_gaps(
    lengths: tuple[int, ...], natural: bool
) -> None:
    """A line holds 104 characters, 2.8 of them between two columns."""
    head = [str(i) for i in range(len(lengths))]
    align = "l" * len(lengths)
    spec, small = _columns(head, [["x" * n for n in lengths]], align)
    assert (spec == f"@{{}}{align}@{{}}") is natural
    assert not small


@pytest.mark.parametrize(
    ("lengths", "line", "tight"),
    [((51, 51), 104, True), ((51, 52), 104, False), ((79, 79), 160, True), ((79, 80), 160, False)],
)
def test_columns_move_together_before_anything_wraps_or_shrinks(
    lengths: tuple[int, ...], line: float, tight: bool
) -> None:
    """A line then has 1.6 characters between two columns."""
    spec, small = _columns(["a", "b"], [["x" * n for n in lengths]], "ll", line)
    assert (spec == r"@{}l@{\hspace{7pt}}l@{}") is tight
    assert small is not tight


def columns(*widths: int, align: str = "") -> tuple[str, bool]:
    """The specification of columns of these widths, ``P`` for a column that wraps."""
    align = align or "l" * len(widths)
    spec, small = _columns(["h"] * len(widths), [["x" * n for n in widths]], align)
    return spec.replace(rf">{{{RAGGED}}}p", "P").replace(r"\linewidth", ""), small


@pytest.mark.parametrize(
    ("widths", "align", "spec", "small"),
    [
        # Small type holds 118.56 characters, with gaps of 1.6.
        ((58, 58), "", r"@{}l@{\hspace{3.9pt}}l@{}", True),
        ((59, 59), "", "@{}P{0.477}P{0.477}@{}", False),
        # The gaps of a wrapped table are 2.8: (104 - 2.8 - 2.8 - 10) / 2 of 104, times 0.98.
        ((10, 60, 60), "", "@{}lP{0.417}P{0.417}@{}", False),
        ((60, 10, 60), "rll", "@{}rlP{0.268}@{}", False),
        # A column of 13 characters is narrow, one of 14 wraps and keeps its width.
        ((14, 100, 13), "", "@{}P{0.132}P{0.673}l@{}", False),
        # Where no column has words the widest wraps.
        ((20, 90, 20), "rrr", "@{}rP{0.550}r@{}", False),
        # Less than 26 characters for each column of words: small type.
        ((40, 40, 40, 40), "", "P{0.235}", True),
        # A column never gets less than 13 characters.
        ((60, 60, 52), "lrr", r"@{}P{0.107}@{\hspace{3.9pt}}r@{\hspace{3.9pt}}r@{}", True),
    ],
)
def test_words_wrap_where_a_table_is_too_wide(
    widths: tuple[int, ...], align: str, spec: str, small: bool
) -> None:
    found, type_is_small = columns(*widths, align=align)
    assert spec in found
    assert type_is_small is small


@pytest.mark.parametrize(
    ("wanted", "room", "given"),
    [
        ([10.0, 10.0], 100.0, [10.0, 10.0]),
        ([10.0, 30.0, 30.0], 60.0, [10.0, 25.0, 25.0]),  # what one leaves the others share
        ([15.0, 50.0], 40.0, [15.0, 25.0]),
        ([19.0, 50.0], 32.0, [19.0, 13.0]),  # a word's width, while 13 are left for the rest
        ([19.0, 50.0], 31.0, [31 * 19**0.7 / (19**0.7 + 50**0.7), None]),
        ([20.0, 80.0], 30.0, [30 / (1 + 4**0.7), 30 * 4**0.7 / (1 + 4**0.7)]),
    ],
)
def test_narrow_columns_keep_their_width_and_wide_ones_share_the_rest(
    wanted: list[float], room: float, given: list[float | None]
) -> None:
    for share, expected in zip(_shares(wanted, room), given, strict=True):
        assert expected is None or share == pytest.approx(expected)


@pytest.mark.parametrize(("width", "fitting"), [(58, True), (59, False)])
def test_a_table_fits_in_small_type(width: int, fitting: bool) -> None:
    """118.56 characters less one gap of 1.6."""
    assert fits(["a", "b"], [["x" * width, "x" * 58]]) is fitting


@pytest.mark.parametrize(
    ("n", "together", "long"),
    [(SHORT, False, False), (SHORT + 1, False, True), (SHORT + 1, True, False)],
)
def test_a_long_table_runs_over_pages_unless_it_stays_together(
    n: int, together: bool, long: bool
) -> None:
    table = PrintedTable(
        head=["a", "", "b"], rows=[["1", "", "2"]] * n, align="lrr", caption="C.", label="t"
    )
    text = table.latex(together=together)
    assert ("longtable" in text) is long
    assert text.count("1 & ~ & 2") == n
    assert "a & ~ & b" in text
    assert r"\label{tab:t}" in text
    assert r"\footnotesize" in text


def test_a_dense_table_says_so_in_its_label() -> None:
    table = PrintedTable(head=["a"] * 2, rows=[["x" * 58] * 2], align="ll", caption="", label="t")
    assert r"\label{tab:dense:t}" in table.latex()
    assert r"\scriptsize" in table.latex()


@pytest.mark.parametrize(
    ("stored", "printed"),
    [(None, "--"), (True, "yes"), (2.5, "$2.5$"), ("m", "$m$"), ("ab", "ab"), ("1", "1")],
)
def test_a_cell_of_one_letter_is_a_symbol(stored: object, printed: str) -> None:
    assert cell(stored) == printed


def test_a_column_stands_right_if_all_of_its_values_are_numbers() -> None:
    rows = [[1, "a", None, 1], [2.5, 3, None, None]]
    assert alignment(rows, 4) == "rllr"


@pytest.mark.parametrize(("n", "width", "blocks"), [(9, 5, 2), (8, 5, 1), (9, 50, 1)])
def test_a_long_table_of_two_narrow_columns_becomes_two_blocks(
    n: int, width: int, blocks: int
) -> None:
    rows = [[f"row {i:x>{width}}", str(i)] for i in range(n)]
    text = PrintedTable(head=["part", "v"], rows=rows, align="lr", caption="", label="t").latex()
    assert text.count("part & v") == (1 if n <= SHORT else 2)  # a long table has two heads
    assert ("part & v & part & v" in text) is (blocks == 2)
    assert all(f"{row[0]} & {row[1]}" in text for row in rows)


@pytest.mark.parametrize("n", [9, 10, 15, 16])
def test_the_rows_of_two_blocks_are_read_down_the_left_and_then_down_the_right(n: int) -> None:
    rows = [[f"row{i}", f"value{i}"] for i in range(n)]
    text = PrintedTable(head=["part", "v"], rows=rows, align="lr", caption="", label="t").latex()
    lines = [line.split(r" \\")[0].split(" & ") for line in text.splitlines() if "row" in line]
    left, right = [line[:2] for line in lines], [line[2:] for line in lines]
    assert [*left, *right[: n // 2]] == rows
    assert right[n // 2 :] == [["~", "~"]] * (n % 2)
