"""Tables as CSV: full precision, and nothing where nothing is stored."""

from __future__ import annotations

import pytest

from reports.tables import _columns, csv_text


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
    assert small is not natural
