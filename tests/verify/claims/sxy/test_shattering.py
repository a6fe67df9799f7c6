"""Lemma 9 from below: the groups of clients, and which of them a rival wins."""

import numpy as np
import pytest

from verify.claims.sxy import shattering


def test_a_rival_wins_where_its_prediction_is_nearer_to_the_response():
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.0]])
    found = shattering.wins(rows, np.array([0.5, 2.0]))  # predictions 0.5, 2, 2.5 and -0.5
    assert found.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert shattering.wins(rows, np.zeros(2)).tolist() == [1.0] * 4  # ties count, as in (16)


@pytest.mark.parametrize(("d", "groups"), [(2, 3), (5, 2)])
def test_the_rows_of_a_group_lie_on_its_plane(d, groups):
    rows, a = shattering.grouped_rows(d, groups, np.random.default_rng(1))
    assert rows.shape == (groups, d, d)
    assert np.einsum("gpd,gd->gp", rows, a) == pytest.approx(np.full((groups, d), 0.5), abs=1e-8)


def test_every_subset_of_two_groups_is_picked_and_a_union_of_them_too():
    rows, a = shattering.grouped_rows(2, 2, np.random.default_rng(2))
    for group in range(2):
        for chosen in ((), (0,), (1,), (0, 1)):
            assert shattering.picks(rows, a[group], group, chosen)
    assert shattering.shattered(2, 3, np.random.default_rng(2)) == 4


def test_one_feature_shatters_no_more_clients_with_more_clusters():
    """The dimension is two there, so that of many groups of one client some are not picked."""
    assert shattering.shattered(1, 2, np.random.default_rng(0)) == 1
    assert shattering.shattered(1, 9, np.random.default_rng(0)) < 8
