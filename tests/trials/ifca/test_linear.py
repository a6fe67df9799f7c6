"""The data kernel of IFCA against a loop over runs and clients, and the algorithm's symmetries."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trials.checks import InvalidParameter
from trials.ifca.linear import IfcaResult, run_ifca, run_resampled_ifca
from trials.models.clients import ClientData, client_groups
from trials.models.matching import model_distance
from trials.models.run_status import RunStatus

# Models after a few contracting steps, kernel against twin: the same sums in another order.  Each
# step adds at most about (n_i + d) roundings per entry, so a few hundred units in the last place.
ROUNDING = 1e-11


def draw_data(rng, sizes, k, d, sigma=0.3):
    """Clients of the given sizes, in clusters 0, 1, …, k - 1, 0, 1, …, and the true models."""
    truth = rng.standard_normal((k, d))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    features = rng.standard_normal((offsets[-1], d))
    owner = np.repeat(np.arange(len(sizes)) % k, sizes)
    noise = sigma * rng.standard_normal(offsets[-1])
    responses = np.einsum("nd,nd->n", features, truth[owner]) + noise
    return ClientData(features=features, responses=responses, offsets=offsets), truth


def client(data, i):
    """Features and responses of client i."""
    rows = slice(data.offsets[i], data.offsets[i + 1])
    return data.features[rows], data.responses[rows]


def twin(draw, start, step_size, n_iterations):
    """One run, as the paper writes it: a loop over clients.  `draw(t)` gives two batches."""
    models = start.copy()
    for t in range(n_iterations):
        to_identify, to_descend = draw(t)
        m = to_identify.n_clients
        labels = np.empty(m, dtype=int)
        gradients = np.zeros_like(models)
        for i in range(m):
            x, y = client(to_identify, i)
            labels[i] = np.argmin([np.mean((y - x @ theta) ** 2) for theta in models])
            x, y = client(to_descend, i)
            gradients[labels[i]] += -2.0 / len(y) * x.T @ (y - x @ models[labels[i]])
        models -= step_size / m * gradients
    return models, labels


def assert_same(ours: IfcaResult, other: IfcaResult, rtol=ROUNDING):
    np.testing.assert_allclose(ours.models, other.models, rtol=rtol, atol=rtol)
    np.testing.assert_array_equal(ours.labels, other.labels)
    np.testing.assert_array_equal(ours.label_changes, other.label_changes)
    np.testing.assert_array_equal(ours.status, other.status)


sizes = st.lists(st.integers(1, 9), min_size=1, max_size=8)


@pytest.mark.interpreted
@given(sizes=sizes, k=st.integers(1, 4), d=st.integers(1, 12), seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40)
def test_every_run_equals_the_loop_over_clients(sizes, k, d, seed):
    rng = np.random.default_rng(seed)
    data, _ = draw_data(rng, sizes, k, d)
    starts = rng.standard_normal((5, k, d))
    steps = rng.uniform(0.01, 0.2, 5)
    result = run_ifca(data=data, starts=starts, step_sizes=steps, n_iterations=3)
    for run in range(5):
        models, labels = twin(lambda t: (data, data), starts[run], steps[run], 3)
        np.testing.assert_allclose(result.models[run], models, rtol=ROUNDING, atol=ROUNDING)
        np.testing.assert_array_equal(result.labels[run], labels)


@pytest.mark.interpreted
@given(sizes=sizes, others=st.integers(1, 9), k=st.integers(1, 4), seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=25)
def test_resampled_runs_equal_the_loop_over_clients(sizes, others, k, seed):
    rng = np.random.default_rng(seed)
    d, m = 6, len(sizes)
    batches = [
        (draw_data(rng, sizes, k, d)[0], draw_data(rng, [others] * m, k, d)[0]) for _ in range(3)
    ]
    starts = rng.standard_normal((4, k, d))
    steps = rng.uniform(0.01, 0.2, 4)
    result = run_resampled_ifca(
        draw=lambda t: batches[t], starts=starts, step_sizes=steps, n_iterations=3
    )
    for run in range(4):
        models, labels = twin(lambda t: batches[t], starts[run], steps[run], 3)
        np.testing.assert_allclose(result.models[run], models, rtol=ROUNDING, atol=ROUNDING)
        np.testing.assert_array_equal(result.labels[run], labels)


@pytest.fixture
def problem():
    """Twelve ragged clients of three clusters, and six runs from near the truth."""
    rng = np.random.default_rng(11)
    data, truth = draw_data(rng, rng.integers(5, 60, 12), 3, 20)
    starts = truth + 0.3 * rng.standard_normal((6, 3, 20))
    return data, truth, starts, np.array([0.05, 0.1, 0.2] * 2)


def test_resampling_the_same_data_is_no_resampling(problem):
    data, _, starts, steps = problem
    plain = run_ifca(data=data, starts=starts, step_sizes=steps, n_iterations=20)
    fresh = run_resampled_ifca(
        draw=lambda t: (data, data), starts=starts, step_sizes=steps, n_iterations=20
    )
    assert_same(fresh, plain)


def test_runs_together_equal_runs_alone_to_rounding(problem):
    """Alone, GEMMs have other shapes and sum in another order: equal to rounding, not to the bit.

    The steps contract, so that 20 steps do not add up to more than a few of them.
    """
    data, truth, starts, steps = problem
    arguments = {"data": data, "n_iterations": 20, "reference": truth}
    together = run_ifca(starts=starts, step_sizes=steps, **arguments)
    for run in range(6):
        alone = run_ifca(starts=starts[run : run + 1], step_sizes=steps[run : run + 1], **arguments)
        np.testing.assert_allclose(together.models[run], alone.models[0], rtol=0, atol=ROUNDING)
        np.testing.assert_array_equal(together.labels[run], alone.labels[0])
        np.testing.assert_allclose(together.distances[:, run], alone.distances[:, 0], rtol=ROUNDING)


def test_order_of_clients_is_irrelevant(problem):
    data, _, starts, steps = problem
    order = np.random.default_rng(1).permutation(data.n_clients)
    parts = [client(data, i) for i in order]
    shuffled = ClientData(
        features=np.concatenate([x for x, _ in parts]),
        responses=np.concatenate([y for _, y in parts]),
        offsets=np.concatenate([[0], np.cumsum([len(y) for _, y in parts])]),
    )
    plain = run_ifca(data=data, starts=starts, step_sizes=steps, n_iterations=10)
    other = run_ifca(data=shuffled, starts=starts, step_sizes=steps, n_iterations=10)
    np.testing.assert_allclose(other.models, plain.models, rtol=0, atol=ROUNDING)
    np.testing.assert_array_equal(other.labels, plain.labels[:, order])
    np.testing.assert_array_equal(other.label_changes, plain.label_changes)


def test_names_of_clusters_are_irrelevant(problem):
    data, truth, starts, steps = problem
    plain = run_ifca(data=data, starts=starts, step_sizes=steps, n_iterations=10, reference=truth)
    for order in itertools.permutations(range(3)):
        other = run_ifca(
            data=data,
            starts=starts[:, order],
            step_sizes=steps,
            n_iterations=10,
            reference=truth,
        )
        np.testing.assert_allclose(other.models, plain.models[:, order], rtol=0, atol=ROUNDING)
        np.testing.assert_array_equal(np.array(order)[other.labels], plain.labels)
        np.testing.assert_allclose(other.distances, plain.distances, rtol=ROUNDING)


def test_equal_layout_is_the_ragged_one_with_equal_sizes():
    rng = np.random.default_rng(3)
    data, _ = draw_data(rng, [7] * 6, 2, 5)
    same = ClientData.equal(data.features.reshape(6, 7, 5), data.responses.reshape(6, 7))
    np.testing.assert_array_equal(same.offsets, data.offsets)
    np.testing.assert_array_equal(same.features, data.features)
    np.testing.assert_array_equal(same.responses, data.responses)


def test_groups_of_clients_do_not_matter(problem, monkeypatch):
    data, _, starts, steps = problem
    plain = run_ifca(data=data, starts=starts, step_sizes=steps, n_iterations=10)
    for budget in (1, 8 * 38 * 40, 8 * 38 * 100):  # one client a group, a few, several
        monkeypatch.setattr("trials.ifca.linear.GROUP_BYTES", budget)
        other = run_ifca(data=data, starts=starts, step_sizes=steps, n_iterations=10)
        assert_same(other, plain)
        fresh = run_resampled_ifca(
            draw=lambda t: (data, data), starts=starts, step_sizes=steps, n_iterations=10
        )
        assert_same(fresh, plain)


@given(sizes=st.lists(st.integers(1, 50), min_size=1, max_size=30), rows=st.integers(0, 120))
@settings(deadline=None, max_examples=100)
def test_groups_partition_the_clients_and_respect_the_budget(sizes, rows):
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    groups = client_groups(offsets, rows)
    assert groups[0] == 0
    assert groups[-1] == len(sizes)
    assert (np.diff(groups) >= 1).all()
    held = np.diff(offsets[groups])
    assert ((held <= rows) | (np.diff(groups) == 1)).all()


def test_one_cluster_is_gradient_descent_on_the_mean_of_the_client_losses():
    rng = np.random.default_rng(4)
    data, _ = draw_data(rng, [40, 3, 17], 1, 6)
    start = rng.standard_normal((1, 1, 6))
    result = run_ifca(data=data, starts=start, step_sizes=np.array([0.1]), n_iterations=500)
    # the minimiser weights every client, not every row, alike
    weights = np.repeat(1.0 / np.diff(data.offsets), np.diff(data.offsets))
    gram = data.features.T @ (weights[:, None] * data.features)
    solution = np.linalg.solve(gram, data.features.T @ (weights * data.responses))
    np.testing.assert_allclose(result.models[0, 0], solution, rtol=1e-8)


def test_a_step_size_for_each_model_moves_each_by_its_own(problem):
    data, _, starts, steps = problem
    one = run_ifca(data=data, starts=starts, step_sizes=steps, n_iterations=1)
    factors = np.array([1.0, 2.0, 0.5])
    each = run_ifca(data=data, starts=starts, step_sizes=steps[:, None] * factors, n_iterations=1)
    moved = (one.models - starts) * factors[:, None]
    np.testing.assert_allclose(each.models - starts, moved, rtol=0, atol=ROUNDING)


def test_one_client_with_one_sample_moves_only_the_nearer_model():
    data = ClientData(
        features=np.array([[2.0, 0.0]]), responses=np.array([6.0]), offsets=np.array([0, 1])
    )
    starts = np.array([[[0.0, 1.0], [1.0, 1.0]]])
    result = run_ifca(data=data, starts=starts, step_sizes=np.array([0.1]), n_iterations=1)
    # residual of the second model 6 - 2 = 4, step 0.1 * 2 * 2 * 4 along the first coordinate
    np.testing.assert_array_equal(result.labels, [[1]])
    np.testing.assert_allclose(result.models, [[[0.0, 1.0], [2.6, 1.0]]], rtol=1e-15)


def test_ties_go_to_the_first_model_and_empty_clusters_stay():
    rng = np.random.default_rng(5)
    data, _ = draw_data(rng, [10] * 4, 1, 3)
    starts = np.tile(rng.standard_normal(3), (1, 3, 1))
    result = run_ifca(data=data, starts=starts, step_sizes=np.array([0.1]), n_iterations=1)
    np.testing.assert_array_equal(result.labels, np.zeros((1, 4)))
    assert (result.models[0, 0] != starts[0, 0]).any()
    np.testing.assert_array_equal(result.models[0, 1:], starts[0, 1:])


def test_label_changes_count_the_clients_that_moved(problem):
    data, _, _, _ = problem
    starts = np.random.default_rng(8).standard_normal((2, 3, 20))
    steps = np.array([0.1, 0.2])
    whole = run_ifca(data=data, starts=starts, step_sizes=steps, n_iterations=8)
    labels = [
        run_ifca(data=data, starts=starts, step_sizes=steps, n_iterations=t).labels
        for t in range(1, 9)
    ]
    assert (whole.label_changes[0] == data.n_clients).all()
    counted = [(a != b).sum(axis=1) for a, b in itertools.pairwise(labels)]
    np.testing.assert_array_equal(whole.label_changes[1:], counted)
    assert whole.label_changes[1:].sum() > 0


@pytest.mark.interpreted
def test_divergence_is_a_status_and_leaves_the_other_runs_alone(problem):
    data, truth, starts, _ = problem
    steps = np.array([0.1, 50.0, 0.2, 1e300, 0.1, 5.0])
    arguments = {"data": data, "n_iterations": 60, "reference": truth}
    result = run_ifca(starts=starts, step_sizes=steps, **arguments)
    lost = [1, 3, 5]
    kept = [0, 2, 4]
    assert (result.status[lost] == RunStatus.DIVERGED).all()
    assert (result.status[kept] == RunStatus.COMPLETED).all()
    assert (result.n_steps[kept] == 60).all()
    assert result.n_steps[3] == 0
    assert (result.n_steps[lost] < 60).all()
    assert np.isfinite(result.models).all()
    assert np.isfinite(result.distances).all()
    for run in lost:
        stopped = result.n_steps[run]
        assert (result.label_changes[stopped + 1 :, run] == 0).all()
        assert (result.distances[stopped:, run] == result.distances[stopped, run]).all()
        before = run_ifca(
            data=data, starts=starts[[run]], step_sizes=steps[[run]], n_iterations=int(stopped)
        )
        np.testing.assert_allclose(result.models[run], before.models[0], rtol=1e-9)
    alone = run_ifca(starts=starts[kept], step_sizes=steps[kept], **arguments)
    np.testing.assert_allclose(result.models[kept], alone.models, rtol=0, atol=ROUNDING)


def test_all_runs_may_diverge(problem):
    data, _, starts, _ = problem
    result = run_ifca(data=data, starts=starts, step_sizes=np.full(6, 1e3), n_iterations=40)
    assert (result.status == RunStatus.DIVERGED).all()
    assert np.isfinite(result.models).all()


def test_features_so_large_that_losses_overflow_diverge():
    data = ClientData(
        features=np.full((2, 2), 1e200), responses=np.ones(2), offsets=np.array([0, 2])
    )
    result = run_ifca(data=data, starts=np.ones((1, 2, 2)), step_sizes=np.ones(1), n_iterations=3)
    assert result.status[0] == RunStatus.DIVERGED
    np.testing.assert_array_equal(result.models, np.ones((1, 2, 2)))


def test_no_iteration_returns_the_starts(problem):
    data, truth, starts, steps = problem
    result = run_ifca(data=data, starts=starts, step_sizes=steps, n_iterations=0, reference=truth)
    np.testing.assert_array_equal(result.models, starts)
    assert (result.labels == -1).all()
    assert result.label_changes.shape == (0, 6)
    assert result.distances.shape == (1, 6)


def test_inputs_are_left_alone(problem):
    data, _, starts, steps = problem
    before = starts.copy(), steps.copy(), data.features.copy(), data.responses.copy()
    run_ifca(data=data, starts=starts, step_sizes=steps, n_iterations=3)
    for old, new in zip(before, (starts, steps, data.features, data.responses), strict=True):
        np.testing.assert_array_equal(old, new)


def test_distance_takes_the_best_matching():
    rng = np.random.default_rng(6)
    reference = rng.standard_normal((4, 7))
    models = rng.standard_normal((5, 4, 7))
    brute = [
        min(
            np.mean([np.linalg.norm(run[p] - r) for p, r in zip(order, reference, strict=True)])
            for order in itertools.permutations(range(4))
        )
        for run in models
    ]
    np.testing.assert_allclose(model_distance(models, reference), brute, rtol=1e-14)


def test_separated_clusters_are_recovered_from_near_starts(problem):
    """Labels equal the truth and the distance falls from 1.3 to the noise level."""
    data, truth, starts, steps = problem
    result = run_ifca(
        data=data, starts=starts, step_sizes=4 * steps, n_iterations=400, reference=truth
    )
    np.testing.assert_array_equal(result.labels, np.tile(np.arange(12) % 3, (6, 1)))
    np.testing.assert_array_equal(result.label_changes[-1], 0)
    # four clients of about 30 rows a cluster, d = 20: sigma sqrt(d / 120) is about 0.13
    assert (result.distances[-1] < 0.3).all()


GOOD = {"starts": np.zeros((2, 2, 3)), "step_sizes": np.ones(2), "n_iterations": 1}
BAD = [
    ({"starts": np.zeros((2, 3))}, "starts.shape"),
    ({"starts": np.zeros((0, 2, 3))}, "starts.shape"),
    ({"starts": "zero"}, "starts must be an array of real numbers"),
    ({"step_sizes": 1j * np.ones(2)}, "step_sizes must be an array of real numbers"),
    ({"starts": np.zeros((2, 2, 4))}, "starts.shape"),
    ({"starts": np.full((2, 2, 3), np.nan)}, r"starts\[0, 0, 0\]=nan"),
    ({"step_sizes": np.ones(3)}, "step_sizes.shape"),
    ({"step_sizes": np.array([0.1, 0.0])}, "step_sizes=0.0 must be > 0"),
    ({"step_sizes": np.array([0.1, -1.0])}, "step_sizes=-1.0 must be > 0"),
    ({"step_sizes": np.array([0.1, np.inf])}, r"step_sizes\[1\]=inf"),
    ({"n_iterations": -1}, "n_iterations=-1"),
    ({"n_iterations": 1.5}, r"n_iterations=1\.5"),
    ({"n_iterations": True}, "n_iterations=True"),
    ({"divergence_bound": "far"}, "divergence_bound='far'"),
    ({"reference": np.zeros((3, 3))}, "reference.shape"),
    ({"reference": np.full((2, 3), np.inf)}, r"reference\[0, 0\]=inf"),
    ({"divergence_bound": np.nan}, "divergence_bound=nan"),
    ({"divergence_bound": 1e200}, "divergence_bound"),
    ({"starts": np.ones((2, 2, 3)), "divergence_bound": 1.0}, "divergence_bound=1 must be >="),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_impossible_runs_are_refused(change, message):
    data = ClientData.equal(np.ones((2, 4, 3)), np.ones((2, 4)))
    with pytest.raises(InvalidParameter, match=message):
        run_ifca(data=data, **(GOOD | change))
    with pytest.raises(InvalidParameter, match=message):
        run_resampled_ifca(draw=lambda t: (data, data), **(GOOD | change))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": np.ones(4)}, "features.shape"),
        ({"features": np.ones((4, 0))}, "features.shape"),
        ({"features": [[1.0], [1.0, 2.0]]}, "features must be an array: "),
        ({"features": 1j * np.ones((4, 3))}, "its type is complex128"),
        ({"responses": np.full(4, "1.5")}, "responses must be an array of real numbers"),
        ({"responses": np.ones(3)}, "responses.shape"),
        ({"responses": np.ones((4, 1))}, "responses.shape"),
        ({"offsets": np.array([0, 2, 2, 4])}, "offsets"),
        ({"offsets": np.array([0, 3, 2, 4])}, "offsets"),
        ({"offsets": np.array([0, 3, 2, 4], dtype=np.uint64)}, "offsets"),
        ({"offsets": np.array([1, 4])}, "offsets"),
        ({"offsets": np.array([0, 3])}, "offsets"),
        ({"offsets": np.array([0.0, 1.5, 4.0])}, "offsets"),
        ({"offsets": np.array([0])}, "offsets"),
        ({"responses": np.array([1.0, np.nan, 1.0, 1.0])}, r"responses\[1\]=nan"),
        ({"features": np.array([[1.0], [np.inf], [-np.inf], [1.0]])}, r"features\[1, 0\]=inf"),
    ],
)
def test_impossible_data_are_refused(change, message):
    good = {"features": np.ones((4, 3)), "responses": np.ones(4), "offsets": np.array([0, 2, 4])}
    with pytest.raises(InvalidParameter, match=message):
        ClientData(**(good | change))


def test_batches_that_do_not_fit_are_refused():
    small = ClientData.equal(np.ones((2, 4, 3)), np.ones((2, 4)))
    large = ClientData.equal(np.ones((3, 4, 3)), np.ones((3, 4)))
    narrow = ClientData.equal(np.ones((2, 4, 2)), np.ones((2, 4)))
    for pair, message in (((small, large), "m=3"), ((small, narrow), "d=2")):
        with pytest.raises(InvalidParameter, match=message):
            run_resampled_ifca(draw=lambda t, pair=pair: pair, **GOOD)
    with pytest.raises(InvalidParameter, match="n_iterations=0"):
        run_resampled_ifca(draw=lambda t: (small, small), **(GOOD | {"n_iterations": 0}))
