"""Numbers of floats that the centre and the clients send each other, counted as in the papers.

This is an iteration of IFCA in TIT 2022, Algorithm 2, and in NeurIPS 2020, Algorithm 1.  The centre
sends k models down to each of the p participants (line 3).  Each participant sends up a vector of
length d, the gradient or the model, and the one-hot vector of length k (lines 9, 11).  Shared
coordinates are sent down once instead of k times.  Once identities are stable, each participant
gets only its own model and sends no identity.  This is the "practical implementation" in section
4.3 of TIT and 4.1 of NeurIPS.
"""

from __future__ import annotations

from trials.checks import integer_between
from trials.parameters import Domain, Flag, Integer, validated

_COUNTS: dict[str, Domain] = {
    "n_participants": Integer(0),
    "k": Integer(1),
    "d": Integer(1),
    "settled": Flag(),
}


@validated(**_COUNTS)
def floats_down(
    *, n_participants: int, k: int, d: int, n_shared: int = 0, settled: bool = False
) -> int:
    """Floats from the centre in one iteration: p (k (d - s) + s), or p d when settled.

    Parameters
    ----------
    n_participants : p >= 0.
    k, d : clusters and coordinates, >= 1.
    n_shared : s, coordinates that all clusters share, 0 <= s <= d.
    settled : whether each participant gets the model of its own cluster only.

    Raises
    ------
    InvalidParameter : a number outside its range.
    """
    shared = integer_between("n_shared", n_shared, 0, d, "the dimension d")
    return count_down(n_participants, k, d, shared, settled)


def count_down(p: int, k: int, d: int, n_shared: int, settled: bool) -> int:
    """`floats_down` of numbers that were checked before, for loops."""
    return p * ((1 if settled else k) * (d - n_shared) + n_shared)


@validated(**_COUNTS)
def floats_up(*, n_participants: int, k: int, d: int, settled: bool = False) -> int:
    """Floats to the centre in one iteration: p (d + k), or p d when identities are settled.

    Parameters and errors as for `floats_down`.
    """
    return count_up(n_participants, k, d, settled)


def count_up(p: int, k: int, d: int, settled: bool) -> int:
    """`floats_up` of numbers that were checked before, for loops."""
    return p * (d if settled else d + k)
