"""Columns that summarise the errors of a trial along its rounds.

A trial that runs for thousands of rounds cannot store them all, and a statement about every round
needs only a few numbers: the largest error over the rounds, the first round below a level, the
factor a round, the floor.  Each function takes ``errors`` of shape (n_trials, T + 1), the start
first, and returns one value a trial, or one a kept round.

A column must be finite, since a value that is not marks its trial as failed.  So "never" has a
value of its own: one round more than there are.  A trajectory that is not finite gives NaN, which
marks its trial.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trials.checks import FloatArray, InvalidParameter

IntArray = NDArray[np.int64]


def log_spaced_rounds(n_rounds: int, count: int) -> IntArray:
    """At most ``count`` distinct rounds from 0 to ``n_rounds``: both ends, evenly spaced in logs.

    Examples
    --------
    >>> log_spaced_rounds(1000, 6).tolist()
    [0, 1, 6, 32, 178, 1000]
    """
    if n_rounds < 1 or count < 2:
        raise InvalidParameter(f"n_rounds={n_rounds} must be >= 1 and count={count} >= 2")
    spaced = np.geomspace(1, n_rounds, max(count - 1, 1)) if count > 2 else np.array([n_rounds])
    return np.unique(np.concatenate([[0], np.round(spaced)]).astype(np.int64))


def round_columns(name: str, rounds: Sequence[int] | IntArray) -> tuple[str, ...]:
    """Names of the columns that hold an error at kept rounds: ``name_0``, ``name_1``, ..."""
    return tuple(f"{name}_{int(t)}" for t in rounds)


def _trajectories(errors: ArrayLike) -> FloatArray:
    e = np.asarray(errors, dtype=np.float64)
    if e.ndim != 2 or e.shape[1] < 2:
        raise InvalidParameter(f"errors of shape {e.shape} must be (n_trials, T + 1) with T >= 1")
    return e


def at_rounds(errors: ArrayLike, rounds: Sequence[int] | IntArray) -> FloatArray:
    """The errors at some rounds, (n_trials, len(rounds))."""
    e = _trajectories(errors)
    kept = np.asarray(rounds, dtype=np.int64)
    if kept.size == 0 or kept.min() < 0 or kept.max() >= e.shape[1]:
        raise InvalidParameter(f"rounds must lie between 0 and {e.shape[1] - 1}")
    return e[:, kept].copy()


def largest(errors: ArrayLike, start: int = 0) -> FloatArray:
    """The largest error from round ``start`` on, (n_trials,): "for all t" in one column."""
    e = _trajectories(errors)
    if not 0 <= start < e.shape[1]:
        raise InvalidParameter(f"start={start} must lie between 0 and {e.shape[1] - 1}")
    return np.asarray(e[:, start:].max(axis=1))


def first_hit(errors: ArrayLike, level: ArrayLike, *, stay: bool = False) -> FloatArray:
    """The first round with an error at or below ``level``, of shape (n_trials,).

    It is T + 1 where there is none.

    Parameters
    ----------
    level : one number, or (n_trials,) of them.
    stay : return the first round from which on the error stays there.
    """
    e = _trajectories(errors)
    below = e <= np.broadcast_to(np.asarray(level, dtype=np.float64), e.shape[:1])[:, None]
    if stay:
        below = np.logical_and.accumulate(below[:, ::-1], axis=1)[:, ::-1]
    first = np.where(below.any(axis=1), below.argmax(axis=1), e.shape[1]).astype(np.float64)
    first[np.isnan(e).any(axis=1)] = np.nan
    return np.asarray(first, dtype=np.float64)


def error_floor(errors: ArrayLike, share: float = 0.25) -> FloatArray:
    """The median error over the last ``share`` of the rounds, two at least, (n_trials,)."""
    e = _trajectories(errors)
    if not 0 < share <= 1:
        raise InvalidParameter(f"share={share} must lie in (0, 1]")
    tail = max(2, int(share * e.shape[1]))
    return np.asarray(np.median(e[:, -tail:], axis=1))


def fitted_factor(
    errors: ArrayLike, *, start: int = 0, above: float = 20.0, floor: ArrayLike | None = None
) -> FloatArray:
    """The geometric mean factor a round between ``start`` and the floor, (n_trials,).

    The window of a trial ends before its error first falls below ``above`` times its floor.  A
    window of fewer than two rounds has no factor.  Its trial gets the factor 1, which no
    contraction has.

    Parameters
    ----------
    floor : one number or (n_trials,), by default `error_floor`.
    """
    e = _trajectories(errors)
    n_trials, n_points = e.shape
    if not 0 <= start < n_points - 1:
        raise InvalidParameter(f"start={start} must lie between 0 and {n_points - 2}")
    level = above * (error_floor(e) if floor is None else np.asarray(floor, dtype=np.float64))
    reached = e <= np.broadcast_to(level, (n_trials,))[:, None]
    reached[:, :start] = False
    stop = np.where(reached.any(axis=1), reached.argmax(axis=1) - 1, n_points - 1)
    length = stop - start
    rows = np.arange(n_trials)
    usable = (length >= 2) & (e[:, start] > 0) & (e[rows, stop] > 0)
    factor = np.ones(n_trials)
    first, last = e[usable, start], e[rows[usable], stop[usable]]
    factor[usable] = np.exp((np.log(last) - np.log(first)) / length[usable])
    factor[~np.isfinite(e).all(axis=1)] = np.nan
    return factor
