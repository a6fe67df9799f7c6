"""A federation of random images of 8 x 8, for tests."""

import numpy as np

from trials.networks.federations import rotated


def drawn_federation(m, n):
    """m clients of two rotations.  A class is a random pattern and noise."""
    rng = np.random.default_rng(0)
    size = m // 2 * n
    labels = rng.integers(0, 10, size)
    patterns = rng.integers(0, 156, (10, 1, 8, 8))
    pixels = (patterns[labels] + rng.integers(0, 100, (size, 1, 8, 8))).astype(np.uint8)
    return rotated(pixels=pixels, labels=labels, k=2, m=m, n=n, rng=rng)
