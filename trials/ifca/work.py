"""Work of IFCA's kernels by counts, so that a choice between them depends on no clock.

The unit is the product of a row of features with a model, 2 d flops.  The other constants were
measured on one core, for clients of 100 rows and 1,000 columns with 1 to 30 runs.
"""

from __future__ import annotations

from trials.checks import FloatArray

EXCESS = 0.05
"""Share of the plain kernel's work by which skipping may exceed it."""

READ = 18.0
"""Products that take as long as to read a row."""

CALL, PROOF = 2e7, 5e3
"""Multiplications and additions that take as long as an iteration's Python code, and its code for
each model of each client.
"""

_NORM = 1.2  # the rate of products of many models over that of a client's Gram matrix


def plain_work(n_rows: int, n_runs: int, k: int) -> float:
    """The work of an iteration of `trials.ifca.linear.run_ifca` with R runs.

    >>> plain_work(10_000, 10, 2) / 10_000
    48.0
    """
    return n_rows * (READ + n_runs * (k + 1.0)) if n_runs else 0.0


def norm_work(sizes: FloatArray, d: int) -> float:
    """The work of `trials.ifca.skipping.operator_norms` for clients of n_i rows.

    A Gram matrix takes :math:`n_i d \\min(n_i, d)` flops and its three squares 6 min(n_i, d)^3.
    """
    total = 0.0
    for n in sizes.tolist():
        least = min(n, float(d))
        total += _NORM * (n * d * least + 6.0 * least**3) / (2.0 * d)
    return total


class Ledger:
    """What a run of skipping has cost beside what the plain kernel would have cost.

    Parameters
    ----------
    excess : the share of the plain kernel's work by which skipping may exceed it at any time.

    Attributes
    ----------
    plain, own : work so far, of the plain kernel and of the run.

    Examples
    --------
    >>> ledger = Ledger(0.05)
    >>> ledger.add(plain=100.0, own=80.0)
    >>> ledger.budget
    25.0
    """

    def __init__(self, excess: float) -> None:
        self.excess, self.plain, self.own = excess, 0.0, 0.0

    def add(self, *, plain: float, own: float) -> None:
        """Note an iteration."""
        self.plain += plain
        self.own += own

    @property
    def budget(self) -> float:
        """What may be spent now on later savings.  It may be negative."""
        if self.excess == float("inf"):
            return self.excess
        return (1.0 + self.excess) * self.plain - self.own
