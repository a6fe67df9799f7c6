"""The rows of the clients: arrays that do not fit are refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from trials.checks import InvalidParameter
from trials.models.clients import ClientData, KnownClusters, client_groups


@pytest.mark.parametrize(
    ("features", "responses", "offsets", "message"),
    [
        ((3, 0), 3, [0, 3], r"features.shape=\(3, 0\)"),
        ((3, 2), 2, [0, 3], r"responses.shape=\(2,\) must be \(3,\)"),
        ((3, 2), 3, [3], r"offsets of shape \(1,\)"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(
    features: tuple[int, int], responses: int, offsets: list[int], message: str
) -> None:
    with pytest.raises(InvalidParameter, match=message):
        ClientData(
            features=np.zeros(features), responses=np.zeros(responses), offsets=np.array(offsets)
        )


def test_every_cluster_has_its_rows_also_one_without_a_client() -> None:
    """Three models, of which the last has no client, and clients of 5, 2 and 1 rows."""
    known = KnownClusters(
        labels=np.array([1, 0, 1]), theta_star=np.zeros((3, 2)), sizes=np.array([5, 2, 1])
    )
    assert known.cluster_rows.tolist() == [2.0, 6.0, 0.0]


@pytest.mark.parametrize(
    ("rows", "targets", "unit"),
    [
        (1.0, 1.0, 2.0),
        (1e-8, 1e8, 2e16),
        (1e8, 1.0, 2e-8),
        (0.0, 1.0, 1.0),
        (1.0, 0.0, 1.0),
        (1e200, 1.0, 1.0),
    ],
)
def test_the_unit_of_models_is_that_of_the_responses_over_that_of_the_rows(
    rows: float, targets: float, unit: float
) -> None:
    """Rows of length 5 and responses of size 10.  Zeros and squares beyond floats have unit 1."""
    data = ClientData(
        features=rows * np.array([[3.0, 4.0], [-5.0, 0.0]]),
        responses=targets * np.array([10.0, -10.0]),
        offsets=np.array([0, 1, 2]),
    )  # fmt: skip
    assert data.model_unit == pytest.approx(unit, rel=1e-12)
    assert data.divergence_bound == pytest.approx(1e12 * max(unit, 1.0), rel=1e-12)


def test_a_group_holds_the_client_that_fills_it():
    """Clients of two rows: groups of four rows have two of them, those of five have no third."""
    offsets = np.array([0, 2, 4, 6, 8])
    assert client_groups(offsets, 4).tolist() == [0, 2, 4]
    assert client_groups(offsets, 5).tolist() == [0, 2, 4]
    assert client_groups(offsets, 1).tolist() == [0, 1, 2, 3, 4]
