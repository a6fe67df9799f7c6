"""Success with fewer starts than were made, from each trial's number of successful starts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy
from scipy.special import comb

from trials.checks import FloatArray
from verify.evidence import Figure, Series

_MOST_CURVES = 6


def success_by_restarts(successful: FloatArray, n_starts: int) -> tuple[FloatArray, FloatArray]:
    """Success with 1 to ``n_starts`` starts, and half the width of 95 % limits (Student).

    Of N starts, s of them successful, r chosen at random all fail with probability
    C(N - s, r) / C(N, r).

    Parameters
    ----------
    successful : (n_trials,) numbers of successful starts.
    n_starts : N >= 1.

    Examples
    --------
    One start of two succeeds in each trial: one start does in half of the cases, two always do.

    >>> means, widths = success_by_restarts(np.array([1.0, 1.0]), 2)
    >>> means.tolist(), widths.tolist()
    ([0.5, 1.0], [0.0, 0.0])
    """
    r = np.arange(1, n_starts + 1)
    x = 1.0 - comb(n_starts - successful[:, None], r) / comb(n_starts, r)
    n_trials = len(x)
    width = (
        scipy.stats.t.ppf(0.975, max(n_trials - 1, 1)) * x.std(axis=0, ddof=1) / np.sqrt(n_trials)
    )
    return x.mean(axis=0), width


def restart_curve(label: str, successful: FloatArray, n_starts: int) -> Series:
    """The line of `success_by_restarts` with its band."""
    means, widths = success_by_restarts(successful, n_starts)
    return Series(
        label=label,
        x=[float(r) for r in range(1, n_starts + 1)],
        y=means.tolist(),
        lower=np.maximum(means - widths, 0.0).tolist(),
        upper=np.minimum(means + widths, 1.0).tolist(),
        style="line",
    )


def restart_figure(title: str, ylabel: str, curves: Sequence[Series]) -> Figure:
    """The first six curves of `restart_curve` in one figure."""
    return Figure(
        name="restarts",
        title=title,
        xlabel="starts",
        ylabel=ylabel,
        series=list(curves[:_MOST_CURVES]),
        caption="Each trial's successful starts give its success with fewer starts. The bands are "
        "95 % limits from the trials' spread (Student).",
    )
