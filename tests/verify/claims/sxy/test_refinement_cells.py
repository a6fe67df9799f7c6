"""What a cell of Theorem 2 can tell, from the closed form of a round's noise."""

import math

from verify.claims.sxy.refinement import CONSTANTS, MANY_FEATURES, RATE, thm_2
from verify.procedures.base import PROFILES


def test_the_second_term_over_the_features_is_below_the_noise_of_a_round():
    """From the optima a round moves a model of half of the rows by s eta sigma sqrt(d/(2N))."""
    M, n, d = (MANY_FEATURES[name] for name in ("M", "n", "d"))
    noise = math.sqrt(d / (2 * M * n))
    nu = math.sqrt(2 * d * math.log(2) / M) + 8 * math.exp(-RATE * n)
    second = CONSTANTS["C_2"] * nu * math.log(math.e / nu)
    assert second / d < 0.9 * noise
    assert second > 9 * noise
    assert nu < 1
    assert MANY_FEATURES in thm_2.build(PROFILES["quick"]).cells
