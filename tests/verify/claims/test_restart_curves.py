"""Success with fewer starts, against the subsets of starts counted one by one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy

from verify.claims.restart_curves import restart_curve, restart_figure, success_by_restarts


def counted(s, n_starts, r):
    """Share of the r-subsets of starts, the first s of them successful, with a successful one."""
    subsets = list(combinations(range(n_starts), r))
    return np.mean([min(subset) < s for subset in subsets])


def test_every_subset_of_the_starts_counts_once():
    successful, n_starts = np.array([0.0, 1.0, 3.0, 5.0]), 5
    means, widths = success_by_restarts(successful, n_starts)
    for r in range(1, n_starts + 1):
        shares = np.array([counted(int(s), n_starts, r) for s in successful])
        assert means[r - 1] == pytest.approx(shares.mean(), rel=1e-12)
        width = scipy.stats.t.ppf(0.975, 3) * shares.std(ddof=1) / 2.0
        assert widths[r - 1] == pytest.approx(width, rel=1e-12)


def test_a_band_stays_between_zero_and_one():
    drawn = restart_curve("k", np.array([0.0, 0.0, 0.0, 4.0]), 4)
    means, widths = success_by_restarts(np.array([0.0, 0.0, 0.0, 4.0]), 4)
    assert list(drawn.x) == [1.0, 2.0, 3.0, 4.0]
    assert list(drawn.y) == means.tolist() == [0.25] * 4
    assert (means - widths).min() < 0.0
    assert list(drawn.lower) == [0.0] * 4
    assert list(drawn.upper) == pytest.approx(np.minimum(means + widths, 1.0))


def test_a_figure_shows_the_first_six_curves():
    curves = [restart_curve(str(k), np.array([1.0, 2.0]), 4) for k in range(8)]
    drawn = restart_figure("Restarts", "share", curves)
    assert [s.label for s in drawn.series] == list("012345")
    assert (drawn.name, drawn.title, drawn.ylabel) == ("restarts", "Restarts", "share")
