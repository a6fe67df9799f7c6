"""The law of a random subspace against drawn bases and against the iteration itself."""

import numpy as np
import pytest
from scipy import stats

from trials.checks import InvalidParameter
from trials.laws.random_subspace import (
    gaussian_blocks,
    lost_shares,
    random_tangents,
    smallest_cosines,
)

N_DRAWS = 4000


def haar(d, k, rng, n):
    return np.linalg.qr(rng.standard_normal((n, d, k)))[0]


@pytest.mark.statistical
@pytest.mark.parametrize(("d", "k"), [(2, 1), (7, 3), (9, 2), (5, 4), (4, 3)])
def test_cosines_have_the_law_of_drawn_bases(d, k):
    found = smallest_cosines(random_tangents(d, k, np.random.default_rng(1), N_DRAWS))
    drawn = haar(d, k, np.random.default_rng(2), N_DRAWS)
    direct = np.linalg.svd(drawn[:, :k], compute_uv=False)[:, -1]
    # two-sample test: it raises a false alarm with probability 1e-6
    assert stats.ks_2samp(found, direct).pvalue > 1e-6


@pytest.mark.statistical
@pytest.mark.parametrize("d", [2, 3, 50, 10**9])
def test_the_angle_of_a_line_has_the_beta_law(d):
    found = smallest_cosines(random_tangents(d, 1, np.random.default_rng(3), N_DRAWS)) ** 2
    # one-sample test: it raises a false alarm with probability 1e-6
    assert stats.kstest(found, stats.beta(0.5, (d - 1) / 2).cdf).pvalue > 1e-6


def test_a_subspace_of_the_whole_space_has_no_angle():
    tangents = random_tangents(3, 3, np.random.default_rng(0), 4)
    assert smallest_cosines(tangents).tolist() == [1.0] * 4
    assert not lost_shares(tangents, np.array([3.0, 2.0, 1.0]), np.zeros(4)).any()


def test_a_subspace_larger_than_the_space_is_refused():
    with pytest.raises(InvalidParameter, match="k=4 must be an integer in"):
        random_tangents(3, 4, np.random.default_rng(0), 1)


@pytest.mark.parametrize(("d", "k"), [(6, 2), (9, 3), (4, 3)])
def test_lost_shares_are_those_of_the_iteration(d, k):
    inside, outside = gaussian_blocks(d, k, np.random.default_rng(d), 3)
    tangents = np.linalg.solve(inside.transpose(0, 2, 1), outside.transpose(0, 2, 1))
    values = np.geomspace(4.0, 1.5, k)
    matrix = np.diag(np.concatenate([values, np.ones(outside.shape[1])]))
    for rounds in (0, 1, 3):
        found = lost_shares(tangents, values, np.full(3, float(rounds)))
        for draw in range(3):
            basis = np.linalg.qr(np.vstack([inside[draw], outside[draw]]))[0]
            for _ in range(rounds):
                basis = np.linalg.qr(matrix @ matrix @ basis)[0]
            lost = 1.0 - (basis[:k] ** 2).sum(axis=1)
            assert np.allclose(found[draw], lost, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("d", "k"), [(10, 3), (5, 3), (3, 3)])
def test_blocks_have_the_moments_of_wishart_matrices(d, k):
    _, outside = gaussian_blocks(d, k, np.random.default_rng(0), N_DRAWS)
    gram = outside.transpose(0, 2, 1) @ outside
    # entries have variance at most 2(d - k): six standard errors, false alarm below 1e-7
    error = 6 * np.sqrt(2 * max(d - k, 1) / N_DRAWS)
    assert np.allclose(gram.mean(axis=0), (d - k) * np.eye(k), atol=error)
