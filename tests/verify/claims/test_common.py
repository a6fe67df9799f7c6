"""What the claims of several papers share: the observed quantile at a stated probability."""

import numpy as np
import pytest

from verify.claims.common import stated_quantile


@pytest.mark.parametrize("failure", [0.0, 0.004, 0.05, 0.25, 0.5, 0.999, 1.0, 3.0])
@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_at_most_the_stated_share_exceeds_the_quantile_and_more_exceed_any_lower_value(
    size, failure
):
    values = np.random.default_rng(size).standard_normal(size)
    quantile = stated_quantile(values, failure)
    assert quantile in values
    assert np.mean(values > quantile) <= failure
    lower = values[values < quantile]
    if lower.size:
        assert np.mean(values > lower.max()) > failure


def test_a_trial_without_a_value_is_the_largest():
    values = np.array([np.nan, 1.0, 2.0, 3.0])
    assert stated_quantile(values, 0.0) == np.inf
    assert stated_quantile(values, 0.25) == 3.0


def test_the_slack_of_a_supported_theorem_is_at_least_one():
    """The theorem allows a quarter of the runs to miss: their largest error says nothing of it."""
    bound, errors = 0.1, np.array([0.02] * 60 + [4.0] * 4)
    assert np.mean(errors > bound) <= 0.25
    assert bound / stated_quantile(errors, 0.25) == pytest.approx(5.0)
