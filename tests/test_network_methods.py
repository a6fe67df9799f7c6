"""The network as a method of the benchmark: it learns what no linear model can."""

from pathlib import Path

import numpy as np
import pytest

from verify.benchmark.catalogue import Context
from verify.benchmark.methods import build

pytest.importorskip("torch", reason="PyTorch is not installed: extra networks")

METHOD = f"{Path(__file__).parents[1] / 'docs' / 'network_methods.py'}:NetworkIFCA"


def method(**options):
    return build(METHOD, options, Context(k=2, response="logistic", seed=0))


def signs(m=8, n=100):
    """The class is the sign of x1 x2 for even clients, and the other sign for odd ones."""
    rng = np.random.default_rng(0)
    x, clients = rng.uniform(-1.0, 1.0, (m * n, 2)), np.repeat(np.arange(m), n)
    return x, np.where((x[:, 0] * x[:, 1] > 0) == (clients % 2 == 0), 1.0, -1.0), clients


def test_two_networks_learn_two_signs_of_a_product_that_no_linear_model_tells():
    x, y, clients = signs()
    linear = np.column_stack([x, np.ones(len(x))])
    coefficients = np.linalg.lstsq(linear, y, rcond=None)[0]
    assert np.mean((linear @ coefficients > 0) == (y > 0)) < 0.6
    found = method(hidden=16, step_size=0.5, n_rounds=60, n_init=3).fit(x, y, clients)
    assert len(set(found.labels_[::2])) == len(set(found.labels_[1::2])) == 1
    assert found.labels_[0] != found.labels_[1]
    scores = found.predict(x[::-1], clients[::-1])[::-1]
    assert np.mean((scores > 0) == (y > 0)) > 0.85
    assert found.n_rounds_ == 60
    one = method(n_clusters=1, hidden=16, n_rounds=5).fit(x, y, clients)
    assert set(one.labels_.tolist()) == {0}


def test_clients_of_unequal_sizes_are_refused():
    x, y, clients = signs(m=2)
    with pytest.raises(ValueError, match="99 to 100 rows: all must be equal"):
        method().fit(x[1:], y[1:], clients[1:])
