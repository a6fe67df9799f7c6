"""The family-wise split spends the level and no more."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trials.checks import InvalidParameter
from verify.decisions.familywise import allocate


@settings(deadline=None, max_examples=50)
@given(
    st.dictionaries(st.text(min_size=1), st.floats(1e-3, 1e3), min_size=1), st.floats(0.001, 0.5)
)
def test_shares_add_up_to_the_level_in_proportion_to_the_weights(
    weights: dict[str, float], level: float
) -> None:
    allocation = allocate(level, weights)
    assert math.fsum(allocation.shares.values()) == pytest.approx(level)
    ratios = {round(allocation.shares[k] / w / level, 9) for k, w in weights.items()}
    assert max(ratios) - min(ratios) <= 1e-6 * max(ratios) + 2e-9
    assert len(allocation.table().rows) == len(weights)


def test_bad_weights_and_levels_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="weight of claim 'a'=0 must be positive"):
        allocate(0.05, {"a": 0})
    with pytest.raises(InvalidParameter, match="level=1 must lie"):
        allocate(1, {"a": 1.0})
