"""Floats that the centre and the clients send each other, counted from what the papers send.

An iteration of IFCA (TIT 2022, Algorithm 2; NeurIPS 2020, Algorithm 1) sends down, to each of the p
participants, k models (line 3), and up from each a vector of length d, the gradient or the model,
with the one-hot vector of length k (lines 9, 11).  Shared coordinates go down once instead of k
times; once identities are stable, each participant gets its own model only and sends no identity
("practical implementation", section 4.3 in TIT, 4.1 in NeurIPS).
"""

from __future__ import annotations


def floats_down(
    *, n_participants: int, k: int, d: int, n_shared: int = 0, settled: bool = False
) -> int:
    """Floats from the centre in one iteration: p (k (d - s) + s), or p d when settled.

    Parameters
    ----------
    n_participants : p.
    k, d : clusters and coordinates.
    n_shared : s, coordinates that all clusters share.
    settled : whether each participant gets the model of its own cluster only.
    """
    copies = 1 if settled else k
    return n_participants * (copies * (d - n_shared) + n_shared)


def floats_up(*, n_participants: int, k: int, d: int, settled: bool = False) -> int:
    """Floats to the centre in one iteration: p (d + k), or p d when identities are settled."""
    return n_participants * (d if settled else d + k)
