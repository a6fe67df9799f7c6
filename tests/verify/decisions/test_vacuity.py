"""Sizes from which on a condition holds, in words."""

from __future__ import annotations

import math

import pytest

from verify.decisions.vacuity import Onset, _power_of_ten


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234.0, r"1.23\times10^{3}"),
        (1000.0, "10^{3}"),
        (1000.0 * (1 + 4e-3), "10^{3}"),  # a mantissa that is one to two digits
        (1000.0 * (1 + 6e-3), r"1.01\times10^{3}"),
        (0.05, r"5.00\times10^{-2}"),
        (9.99, r"9.99\times10^{0}"),
    ],
)
def test_a_number_is_a_mantissa_and_a_power_of_ten(value: float, text: str) -> None:
    assert _power_of_ten(math.log(value)) == text


def test_a_huge_number_is_a_power_alone() -> None:
    assert _power_of_ten(2.5e12 * math.log(10)) == "10^{2.5e+12}"
    assert _power_of_ten(0.9e12 * math.log(10)).endswith("10^{900000000000}")


@pytest.mark.parametrize(
    ("log_size", "earlier", "text"),
    [
        (math.inf, False, "never up to $10^{30}$"),
        (-math.inf, False, "at every size"),
        (math.log(5242), False, r"from $5\,242$ on"),
        (math.log(999_999), True, r"from $999\,999$ on (and at some sizes before)"),
        (math.log(2e6), False, r"from $2.00\times10^{6}$ on"),
    ],
)
def test_an_onset_in_words(log_size: float, earlier: bool, text: str) -> None:
    onset = Onset(log_size=log_size, earlier=earlier)
    assert onset.text(30 * math.log(10)) == text
    assert onset.never == (log_size == math.inf)
