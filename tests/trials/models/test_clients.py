"""The rows of the clients: arrays that do not fit are refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from trials.checks import InvalidParameter
from trials.models.clients import ClientData


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
