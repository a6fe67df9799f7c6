"""Federations: every cell of the table gives what it declares."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trials.checks import InvalidParameter
from verify.benchmark.federation import (
    FEATURES,
    FEDERATION,
    MAX_NUMBERS,
    NOISES,
    centres,
    draw,
)

cells = st.fixed_dictionaries(
    {
        "m": st.integers(6, 12),
        "n": st.integers(1, 6),
        "d": st.integers(1, 4),
        "k": st.integers(1, 3),
        "response": st.sampled_from(["linear", "logistic"]),
        "sizes": st.sampled_from(["balanced", "zipf", "lognormal"]),
        "features": st.sampled_from(FEATURES),
        "noise_law": st.sampled_from(NOISES),
        "condition": st.sampled_from([1.0, 9.0]),
        "label_skew": st.sampled_from([0.0, 0.8]),
        "outliers": st.sampled_from([0.0, 0.3]),
        "drift": st.sampled_from([0.0, 0.5]),
        "separation": st.floats(0.1, 10.0),
    }
)


@settings(max_examples=25, deadline=None)
@given(cells, st.integers(0, 2**31))
def test_a_federation_has_the_declared_shapes(params, seed):
    cell = FEDERATION.check({"held_out": 3, "layout": "random", **params})
    found = draw(cell, np.random.default_rng(seed))
    m, d = cell["m"], cell["d"]
    assert FEDERATION.check(cell) == cell
    assert found.features.shape == (m * cell["n"], d)
    assert found.n_clients == m
    assert (np.diff(found.clients) >= 0).all()
    assert np.bincount(found.clients, minlength=m).min() >= 1
    assert np.bincount(found.test_clients).tolist() == [3] * m
    assert int(np.sum(found.labels < 0)) == round(cell["outliers"] * m)
    assert set(found.labels[found.labels >= 0]) == set(range(cell["k"]))
    assert np.isfinite(found.responses).all()
    if cell["response"] == "logistic":
        assert set(np.unique(found.responses)) <= {-1.0, 1.0}


@pytest.mark.parametrize("layout", ["simplex", "random", "close-pair"])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_closest_models_have_the_declared_distance(layout, k):
    cell = FEDERATION.check({"k": k, "d": 6, "separation": 0.7, "layout": layout})
    theta = centres(cell, np.random.default_rng(k))
    gaps = np.linalg.norm(theta[:, None] - theta[None], axis=2)[np.triu_indices(k, 1)]
    assert gaps.min() == pytest.approx(0.7)
    if layout == "close-pair" and k > 2:
        assert np.sort(gaps)[1] > 2.0


def test_noiseless_rows_follow_the_clients_model_and_drifting_ones_another():
    cell = FEDERATION.check({"m": 10, "n": 8, "d": 3, "k": 2, "sigma": 0.0, "drift": 0.3})
    found = draw(cell, np.random.default_rng(5))
    now = np.einsum("nd,nd->n", found.test_features, found.models[found.test_clients])
    np.testing.assert_allclose(found.test_responses, now, atol=1e-12)
    expected = np.einsum("nd,nd->n", found.features, found.models[found.clients])
    wrong = ~np.isclose(found.responses, expected)
    assert sorted(set(np.bincount(found.clients[wrong], minlength=10))) == [0, 4]
    assert len(set(found.clients[wrong])) == 3


def test_noise_levels_and_label_skew_have_their_effect():
    cell = FEDERATION.check({"m": 40, "n": 50, "k": 2, "noises": [0.0, 2.0]})
    found = draw(cell, np.random.default_rng(1))
    rest = found.responses - np.einsum("nd,nd->n", found.features, found.models[found.clients])
    quiet = found.labels[found.clients] == 0
    assert np.abs(rest[quiet]).max() < 1e-12
    assert np.std(rest[~quiet]) == pytest.approx(2.0, rel=0.1)
    skewed = FEDERATION.check({"response": "logistic", "label_skew": 0.95, "m": 20, "n": 60})
    found = draw(skewed, np.random.default_rng(2))
    shares = np.array([found.responses[found.clients == i].mean() for i in range(20)])
    assert np.abs(shares).min() > 0.6


def test_the_share_that_drifts_is_one_of_the_clients_with_a_cluster():
    """Of ten clients three are outliers, and half of the other seven drift: 3.5, rounded up."""
    given = {"m": 10, "n": 8, "d": 3, "sigma": 0.0, "drift": 0.5, "outliers": 0.3}
    found = draw(FEDERATION.check(given), np.random.default_rng(2))
    own = np.einsum("nd,nd->n", found.features, found.models[found.clients])
    moved = set(found.clients[~np.isclose(found.responses, own)].tolist())
    assert len(moved) == 4
    assert (found.labels[sorted(moved)] >= 0).all()


def test_a_class_that_is_drawn_again_is_that_of_its_own_row():
    """Models are so far apart that the class of a row is the sign of its product."""
    given = {"response": "logistic", "label_skew": 0.9, "m": 20, "n": 40, "separation": 1e5}
    found = draw(FEDERATION.check(given), np.random.default_rng(4))
    margin = np.einsum("nd,nd->n", found.features, found.models[found.clients])
    clear = np.abs(margin) > 60.0
    assert clear.mean() > 0.99
    assert (np.sign(margin) == found.responses)[clear].all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"k": 9, "m": 8}, "^9 clusters need"),
        ({"k": 5, "d": 2, "layout": "simplex"}, "layout=random"),
        ({"shares": [0.5, 0.2, 0.3]}, "shares has 3 numbers"),
        ({"row_counts": [3, 4]}, "row_counts has 2 numbers"),
        ({"sigma": -1.0}, "sigma"),
        ({"colour": 1}, "unknown parameter"),
        ({"m": 10**6, "n": 10**6}, "2 GiB"),
    ],
)
def test_impossible_federations_are_refused_in_one_line(params, message):
    with pytest.raises(InvalidParameter, match=message) as found:
        FEDERATION.check(params)
    assert "\n" not in str(found.value)


def test_given_sizes_of_clients_count_as_rows_of_a_trial():
    """The limit is 2 GiB of numbers: the given sizes, and not their mean of the table."""
    given, most = {"m": 2, "k": 1, "d": 100, "held_out": 1}, MAX_NUMBERS // 100 - 2
    FEDERATION.check({**given, "n": 10**7, "row_counts": [most - 1, 1]})
    with pytest.raises(InvalidParameter, match="2 GiB"):
        FEDERATION.check({**given, "n": 1, "row_counts": [most, 1]})


@pytest.mark.parametrize("outliers", [0.0, 0.25])
def test_clients_have_the_given_sizes_in_their_order(outliers):
    """Rows to fit alone: held-out rows are as many for each."""
    sizes = [5, 2, 9, 1, 7, 3, 3, 8]
    asked = {"m": 8, "n": 100, "k": 2, "held_out": 4, "outliers": outliers, "row_counts": sizes}
    found = draw(FEDERATION.check(asked), np.random.default_rng(3))
    assert np.bincount(found.clients).tolist() == sizes
    assert np.bincount(found.test_clients).tolist() == [4] * 8


@pytest.mark.parametrize("condition", [1.0, 4.0, 25.0])
@pytest.mark.parametrize("response", ["linear", "logistic"])
def test_features_have_the_declared_condition_number(condition, response):
    """The second moments of a cluster's rows, whose eigenvalues are 1/sqrt(c) to sqrt(c)."""
    asked = {"m": 2, "n": 40_000, "k": 2, "d": 3, "condition": condition, "response": response}
    found = draw(FEDERATION.check(asked), np.random.default_rng(5))
    axes = []
    for client in range(2):
        own = found.features[found.clients == client]
        values, vectors = np.linalg.eigh(own.T @ own / len(own))
        assert values[[0, -1]] == pytest.approx([condition**-0.5, condition**0.5], rel=0.05)
        axes.append(vectors[:, -1])
    if condition > 1.0:
        assert abs(axes[0] @ axes[1]) < 0.999  # each cluster has axes of its own


def test_outliers_leave_as_many_clients_for_the_clusters_as_are_drawn():
    """The share .3 of five clients is two, so that three are left."""
    asked = {"m": 5, "outliers": 0.3, "d": 4}
    with pytest.raises(InvalidParameter, match="no outliers: there are 3"):
        FEDERATION.check({**asked, "k": 4})
    labels = draw(FEDERATION.check({**asked, "k": 3}), np.random.default_rng(0)).labels
    assert sorted(labels.tolist()) == [-1, -1, 0, 1, 2]
