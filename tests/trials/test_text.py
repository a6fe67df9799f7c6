"""Text from a stranger: what a spreadsheet would run is quoted, and a long input is shortened."""

from __future__ import annotations

import pytest

from trials.text import LONGEST_INPUT, one_line, spreadsheet_text


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_every_sign_that_begins_a_formula_gets_a_quote(sign: str) -> None:
    """Spreadsheets drop a tab and a line break before the sign, so that these begin one as well."""
    assert spreadsheet_text(f"{sign}1+cmd") == f"'{sign}1+cmd"
    assert spreadsheet_text(f"1{sign}cmd") == f"1{sign}cmd"


@pytest.mark.parametrize("number", ["-1e-3", "+2", "-inf", "\t4"])
def test_a_number_with_its_sign_stays_a_number(number: str) -> None:
    assert spreadsheet_text(number) == number


def test_a_long_input_is_shortened_as_a_whole_before_its_parts() -> None:
    """Each of its forty parts is long as well, and a message of all of them is no help."""
    parts = [f"{chr(97 + i % 26)}{i}" + "9" * LONGEST_INPUT for i in range(40)]
    given = f"ifca.thm1[{','.join(parts)}]"
    line = one_line(f"unknown parameter in {given!r}", [given])
    assert line.endswith(f"({len(given):,} characters)'")
    assert len(line) < 2 * LONGEST_INPUT
    # a part that the message repeats alone is shortened too
    assert one_line(f"unknown {parts[3]}", [given]).endswith(f"({len(parts[3])} characters)")
