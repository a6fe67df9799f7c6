"""Doubling rounds: cells that are not decided get twice as many trials, up to the budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trials.run.cell import Params
from trials.run.engine import Demand
from verify.procedures.base import Observed, Sampling, Trials

Unresolved = Callable[[Sequence[Observed]], Sequence[int]]


def play_rounds(
    sampling: Sampling, store: Trials, cells: Sequence[Params], unresolved: Unresolved
) -> tuple[list[Demand], list[Observed]]:
    """Repeat the rounds on stored trials, and return the demands of the next one or the end.

    Parameters
    ----------
    unresolved : the cells' trials -> the positions of cells that need more.  The rounds end when
        it is empty.

    Notes
    -----
    The rule looks at each round's trials only, not at further stored trials.  So a run that
    was killed within a round, or shares cells with another claim, stops where an uninterrupted
    one does.
    """
    budget = sampling.max_trials
    counts = [min(sampling.first, budget)] * len(cells)
    while True:
        if lacking := sampling.missing(store, cells, counts):
            return lacking, []
        observed = sampling.observed(store, cells, counts)
        more = [i for i in unresolved(observed) if counts[i] < budget]
        if not more:
            return [], observed
        for i in more:
            counts[i] = min(2 * counts[i], budget)
