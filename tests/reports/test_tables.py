"""Tables as CSV: full precision, and nothing where nothing is stored."""

from __future__ import annotations

from reports.tables import csv_text


def test_a_missing_value_is_an_empty_field_and_a_number_keeps_its_digits() -> None:
    text = csv_text(["name", "value"], [["a", None], ["b", 0], ["c, d", 0.1 + 0.2]])
    assert text == 'name,value\na,\nb,0\n"c, d",0.30000000000000004\n'
