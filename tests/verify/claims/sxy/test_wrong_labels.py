"""The clients that are built against (15): each of them takes a wrong label, by a share tau."""

from __future__ import annotations

import numpy as np
import pytest

from verify.claims.sxy.wrong_labels import _draw_clients


@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e6])
@pytest.mark.parametrize("tau", [0.01, 0.5])
@pytest.mark.parametrize("k", [2, 6])
def test_all_built_clients_have_a_wrong_label(k: int, tau: float, unit: float) -> None:
    """Client 1 takes model 2 and the others take model 1, at (1 - tau) of their own distance."""
    point = {"build": "axes", "k": k, "n": 2, "tau": tau, "sigma": 0.0, "unit": unit, "seed": 0}
    drawn = _draw_clients(point)
    assert drawn.labels.tolist() == [1] + [0] * (k - 1)
    assert drawn.wrong.tolist() == list(range(k))
    sizes = np.stack([np.linalg.norm(drawn.residuals(j), axis=1) for j in range(k)])
    own, taken = sizes[drawn.truth, np.arange(k)], sizes[drawn.labels, np.arange(k)]
    assert taken / own == pytest.approx(np.full(k, 1 - tau))
    assert np.all(sizes[2:] >= taken - 1e-12)
    optimal = np.einsum("ind,jd->jin", drawn.features, drawn.optima)[drawn.truth, np.arange(k)]
    assert optimal == pytest.approx(drawn.responses)
