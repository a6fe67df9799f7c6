"""Numbers of floats that the centre and the clients send each other, counted as in the papers.

This is an iteration of IFCA in TIT 2022, Algorithm 2, and in NeurIPS 2020, Algorithm 1.  The centre
sends k models down to each of the p participants (line 3).  Each participant sends up a vector of
length d, the gradient or the model, and the one-hot vector of length k (lines 9, 11).  Shared
coordinates are sent down once instead of k times.  Once identities are stable, each participant
gets only its own model and sends no identity.  This is the "practical implementation" in section
4.3 of TIT and 4.1 of NeurIPS.
"""

from __future__ import annotations


def floats_down(p: int, k: int, d: int, n_shared: int, settled: bool) -> int:
    """Floats from the centre in one iteration: p (k (d - s) + s), or p d when settled.

    p participants, k clusters, d coordinates of which s = ``n_shared`` are shared by all clusters.
    """
    return p * ((1 if settled else k) * (d - n_shared) + n_shared)


def floats_up(p: int, k: int, d: int, settled: bool) -> int:
    """Floats to the centre in one iteration: p (d + k), or p d when identities are settled."""
    return p * (d if settled else d + k)
