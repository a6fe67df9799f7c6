"""Hypothesis strategies for search domains, so that tests and searches draw from the same sets.

Hypothesis shrinks its draws, which are seeds and sizes.  The domain's own `shrink` makes the
witness readable.  Importing this module imports Hypothesis, which takes a while.
"""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from verify.decisions.domain import Domain, Point


def points_of(domain: Domain, *, n_corners: int = 32) -> st.SearchStrategy[Point]:
    """Points of a domain: corners, samples and perturbed samples.

    Parameters
    ----------
    n_corners : how many extreme points to choose from.

    Examples
    --------
    >>> from verify.decisions.structured import Covariance
    >>> covariances = points_of(Covariance(name="S", low=0.1, high=10.0, dimensions=(1, 4)))
    """
    domain.check()
    corners = list(domain.corners(np.random.default_rng(0), n_corners))

    def sampled(seed: int) -> Point:
        return next(iter(domain.sample(np.random.default_rng(seed), 8)))

    def perturbed(seed: int, size: float) -> Point:
        rng = np.random.default_rng(seed)
        return domain.perturb(rng, next(iter(domain.sample(rng, 8))), size)

    seeds = st.integers(0, 2**32 - 1)
    drawn = st.builds(sampled, seeds) | st.builds(perturbed, seeds, st.floats(1e-6, 1.0))
    return st.sampled_from(corners) | drawn if corners else drawn
