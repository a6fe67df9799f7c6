"""Skipping is invisible: the same runs as the plain kernel's, over random and adversarial data.

At equal models the labels are equal, ties included.  Over whole runs the labels are equal in every
iteration and the models to rounding, where the steps contract.  An unstable run amplifies the
rounding of either kernel, so only its first iterations are compared.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trials.ifca.skipping
from trials.checks import InvalidParameter
from trials.ifca.linear import PlainPass, run_ifca
from trials.ifca.normal_matrices import NormalMatrices
from trials.ifca.skipping import Skipper, Switch, operator_norms, run_ifca_skipping
from trials.models.clients import ClientData
from trials.models.run_status import RunStatus

# A few hundred units in the last place a step, for a few hundred contracting steps.
ROUNDING = 1e-10
#: The skipper from the first iteration on, whatever it costs.
AT_ONCE = {"excess": np.inf}


def draw_data(rng, sizes, k, d, sigma=0.1, separation=1.0):
    truth = separation * rng.standard_normal((k, d))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    features = rng.standard_normal((offsets[-1], d))
    owner = np.repeat(np.arange(len(sizes)) % k, sizes)
    responses = np.einsum("nd,nd->n", features, truth[owner])
    responses += sigma * rng.standard_normal(offsets[-1])
    return ClientData(features=features, responses=responses, offsets=offsets), truth


def history(runner, arguments):
    """Labels of every iteration beside the result: the loop's callback is listened to."""
    seen = []

    def listen(add):
        def listening(t, going, models, labels, descent):
            settled = add(t, going, models, labels, descent)
            seen.append((going.copy(), labels.copy()))
            return settled

        return listening

    module = sys.modules[runner.__module__]
    iterate = module._iterate
    module._iterate = lambda add, *rest: iterate(listen(add), *rest)
    try:
        return runner(**arguments), seen
    finally:
        module._iterate = iterate


def assert_same_runs(arguments, rtol=ROUNDING):
    plain, plain_labels = history(run_ifca, arguments)
    ours, our_labels = history(run_ifca_skipping, arguments | AT_ONCE)
    assert len(our_labels) <= len(plain_labels)
    for (going, labels), (our_going, got) in zip(plain_labels, our_labels, strict=False):
        np.testing.assert_array_equal(got, labels[np.isin(going, our_going)])
    np.testing.assert_array_equal(ours.labels, plain.labels)  # of settled runs as well
    np.testing.assert_array_equal(ours.label_changes, plain.label_changes)
    np.testing.assert_array_equal(ours.status, plain.status)
    np.testing.assert_array_equal(ours.n_steps, plain.n_steps)
    scale = np.abs(plain.models).max(axis=(1, 2), keepdims=True) + 1e-300
    np.testing.assert_allclose(ours.models / scale, plain.models / scale, rtol=0, atol=rtol)
    return ours


@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=9),
    k=st.integers(1, 4),
    d=st.integers(1, 15),
    separation=st.sampled_from([0.0, 1e-6, 1.0, 100.0]),
    near=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
@settings(deadline=None, max_examples=40)
def test_random_runs_are_those_of_the_plain_kernel(sizes, k, d, separation, near, seed):
    rng = np.random.default_rng(seed)
    data, truth = draw_data(rng, sizes, k, d, separation=separation)
    starts = rng.standard_normal((4, k, d))
    if near:
        starts = truth + 0.3 * starts
    # contracting for every set of clients: the mean of their Hessians is at most their largest
    norms = [np.linalg.norm(data.features[a:z], 2) ** 2 / (z - a) for a, z in bounds(data)]
    steps = rng.uniform(0.1, 0.9, 4) / max(norms)
    assert_same_runs({"data": data, "starts": starts, "step_sizes": steps, "n_iterations": 60})


def bounds(data):
    return list(zip(data.offsets[:-1], data.offsets[1:], strict=True))


@pytest.mark.parametrize("hull", [1, 2, 6])
def test_many_iterations_with_any_size_of_hull(hull, monkeypatch):
    """Sixty clients, three clusters, 200 iterations: matrices are made, hulls turn over."""
    monkeypatch.setattr(trials.ifca.skipping, "HULL", hull)
    rng = np.random.default_rng(3)
    data, _ = draw_data(rng, rng.integers(3, 40, 60), 3, 12)
    starts = rng.standard_normal((9, 3, 12))
    steps = np.tile([0.02, 0.1, 0.4], 3)
    arguments = {"data": data, "starts": starts, "step_sizes": steps, "n_iterations": 200}
    assert_same_runs(arguments)


@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=9),
    k=st.integers(1, 4),
    d=st.integers(1, 15),
    n_runs=st.integers(1, 4),
    repeated=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
@settings(deadline=None, max_examples=40)
def test_first_iterations_of_unstable_runs(sizes, k, d, n_runs, repeated, seed):
    """Labels keep changing, so that the remainders of most plans are corrected in the pass.

    Clients have from one row to more than the dimension.  Where columns are repeated they do not
    determine their models.
    """
    rng = np.random.default_rng(seed)
    data, _ = draw_data(rng, sizes, k, d)
    if repeated:
        features = np.repeat(data.features[:, :1], d, axis=1)
        data = ClientData(features=features, responses=data.responses, offsets=data.offsets)
    norms = [np.linalg.norm(data.features[a:z], 2) ** 2 / (z - a) for a, z in bounds(data)]
    arguments = {"data": data, "starts": rng.standard_normal((n_runs, k, d))}
    steps = rng.uniform(1.0, 3.0, n_runs) / max(norms)
    assert_same_runs(arguments | {"step_sizes": steps, "n_iterations": 12})


def test_sets_that_lose_their_clients_are_summed_again(monkeypatch):
    """As if no matrix were ever precise enough for the labels that the pass finds."""
    refused = []

    def precise(self, members, terms):
        refused.append(terms.any(axis=1))
        return ~refused[-1]

    monkeypatch.setattr(NormalMatrices, "precise", precise)
    rng = np.random.default_rng(3)
    data, _ = draw_data(rng, rng.integers(3, 40, 60), 3, 12)
    starts = rng.standard_normal((9, 3, 12))
    steps = np.tile([0.02, 0.1, 0.4], 3)
    assert_same_runs({"data": data, "starts": starts, "step_sizes": steps, "n_iterations": 100})
    assert sum(rows.any() for rows in refused) > 10


def test_a_matrix_is_not_precise_for_a_set_that_lost_most_clients():
    rng = np.random.default_rng(2)
    data, _ = draw_data(rng, [5] * 200, 1, 4)
    cache = NormalMatrices(data, operator_norms(data))
    cache.make(np.ones(200, dtype=np.bool_))
    members = np.arange(200) < np.array([[200], [100], [1], [1]])
    terms = np.array([[1], [1], [1], [0]], dtype=np.int8)
    assert cache.precise(members, terms).tolist() == [True, True, False, True]


def test_hulls_are_narrower_where_memory_is_short(monkeypatch):
    monkeypatch.setattr(trials.ifca.skipping, "HULL_BYTES", 8 * 6 * 2 * 90 * 3)
    rng = np.random.default_rng(5)
    data, _ = draw_data(rng, [9] * 10, 2, 12)
    starts = rng.standard_normal((6, 2, 12))
    assert Skipper(data, starts, 5).known.products.shape == (12, 3, 90)
    assert_same_runs(
        {"data": data, "starts": starts, "step_sizes": np.full(6, 0.1), "n_iterations": 50}
    )


def skippers_made(monkeypatch):
    """A list to which every skipper is added that is made from now on."""
    made = []
    plain_init = Skipper.__init__
    monkeypatch.setattr(
        Skipper, "__init__", lambda self, *a: (plain_init(self, *a), made.append(self))[0]
    )
    return made


def test_work_is_skipped(monkeypatch):
    """Of 400 iterations of full passes fewer than a tenth are made, and matrices take over."""
    made = skippers_made(monkeypatch)
    rng = np.random.default_rng(4)
    data, truth = draw_data(rng, [20] * 30, 2, 10)
    starts = truth + 0.2 * rng.standard_normal((4, 2, 10))
    run_ifca_skipping(
        data=data, starts=starts, step_sizes=np.full(4, 0.3), n_iterations=400, **AT_ONCE
    )
    (skipper,) = made
    assert skipper.n_extensions < 0.1 * 400 * 8
    assert skipper.n_evaluations < 0.1 * 400 * 4 * 30
    assert skipper.matrices.n_built == 2
    assert not skipper.plan.sets.rest.any()


@pytest.mark.parametrize("unit", [2.0**-30, 2.0**30])
def test_as_much_work_is_skipped_in_any_unit(unit, monkeypatch):
    """Powers of two change no digit, so the same labels are proved and the same ones evaluated."""
    made = skippers_made(monkeypatch)
    rng = np.random.default_rng(4)
    data, truth = draw_data(rng, [20] * 30, 2, 10)
    starts = truth + 0.2 * rng.standard_normal((4, 2, 10))
    for scale in (1.0, unit):
        scaled = ClientData(
            features=scale * data.features, responses=data.responses, offsets=data.offsets
        )
        steps = np.full(4, 0.3) / scale**2
        run_ifca_skipping(
            data=scaled, starts=starts / scale, step_sizes=steps, n_iterations=40, **AT_ONCE
        )
    plain, other = made
    assert other.n_evaluations == plain.n_evaluations > 0
    assert other.n_extensions == plain.n_extensions


@given(gap=st.sampled_from([0.0, 1e-16, 1e-15, 1e-13, 1e-9]), seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40)
def test_near_ties_are_decided_as_the_plain_kernel_decides(gap, seed):
    """Two models that differ by rounding, or mirror images with equal losses: one iteration."""
    rng = np.random.default_rng(seed)
    data, _ = draw_data(rng, [5] * 8, 2, 6)
    first = rng.standard_normal((3, 1, 6))
    starts = np.concatenate([first, first * (1.0 + gap * rng.standard_normal((3, 1, 6)))], axis=1)
    arguments = {"data": data, "starts": starts, "step_sizes": np.full(3, 1e-3)}
    _, plain = history(run_ifca, arguments | {"n_iterations": 1})
    _, ours = history(run_ifca_skipping, arguments | AT_ONCE | {"n_iterations": 1})
    if gap == 0.0:
        np.testing.assert_array_equal(ours[0][1], 0)
    if gap in (0.0, 1e-9):  # of 24 gaps, one falls below rounding with probability 1e-4
        np.testing.assert_array_equal(ours[0][1], plain[0][1])
    # GEMMs of other shapes round differently, so a smaller gap may be decided either way, but only
    # between losses that agree to rounding
    exact = np.longdouble
    errors = data.responses.astype(exact) - starts.astype(exact) @ data.features.T.astype(exact)
    losses = (errors.reshape(3, 2, 8, 5) ** 2).sum(axis=3)
    chosen = np.take_along_axis(losses, ours[0][1][:, None], axis=1)[:, 0]
    assert (chosen <= losses.min(axis=1) * (1 + 1e-12) + 1e-25).all()


@pytest.mark.interpreted
def test_exact_ties_stay_with_the_first_model():
    """Integers: no rounding at all.  Mirrored models tie on every client in every iteration."""
    features = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 0.0], [4.0, 0.0]])
    data = ClientData(
        features=features, responses=np.array([1.0, 2.0, 1.0, 4.0]), offsets=np.arange(5)
    )
    starts = np.array([[[3.0, 8.0], [3.0, -8.0]]])
    ours = run_ifca_skipping(
        data=data, starts=starts, step_sizes=np.array([2.0**-6]), n_iterations=1, **AT_ONCE
    )
    plain = run_ifca(data=data, starts=starts, step_sizes=np.array([2.0**-6]), n_iterations=1)
    np.testing.assert_array_equal(ours.labels, 0)
    np.testing.assert_array_equal(ours.models, plain.models)


@pytest.mark.interpreted
def test_labels_are_right_on_a_path_that_grazes_the_boundary():
    """A client whose losses cross in every iteration, closer and closer, while the others rest.

    With response 0 its label is that of the smaller |theta_j|.  Its weak feature moves no model.
    Model 0 swings around 1 and comes to rest there, model 1 rests at -1 - 2^-12.
    """
    edge = 2.0**-12
    data = ClientData(
        features=np.array([[1e-3], [1.0], [1.0], [1.0], [1.0]]),
        responses=np.array([0.0, 1.0, 1.0, -1.0 - edge, -1.0 - edge]),
        offsets=np.arange(6),
    )
    starts = np.array([[[1.5], [-1.0 - edge]], [[1.2], [-1.0 - edge]]])
    result = assert_same_runs(
        {"data": data, "starts": starts, "step_sizes": np.array([2.2, 2.4]), "n_iterations": 200}
    )
    assert (result.label_changes[1:].sum(axis=0) > 20).all()
    assert (result.label_changes[-1] == 0).all()


@pytest.mark.interpreted
def test_divergence_is_the_same_status_and_never_nan():
    rng = np.random.default_rng(8)
    data, truth = draw_data(rng, [10] * 9, 3, 5)
    starts = truth + 0.3 * rng.standard_normal((4, 3, 5))
    steps = np.array([0.1, 30.0, 1e300, 0.2])
    arguments = {"data": data, "starts": starts, "step_sizes": steps, "n_iterations": 50}
    plain = run_ifca(reference=truth, **arguments)
    ours = run_ifca_skipping(reference=truth, **arguments, **AT_ONCE)
    np.testing.assert_array_equal(ours.status, plain.status)
    assert list(ours.status == RunStatus.DIVERGED) == [False, True, True, False]
    assert np.isfinite(ours.models).all()
    np.testing.assert_allclose(ours.models[[0, 3]], plain.models[[0, 3]], rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(ours.distances[:, [0, 3]], plain.distances[:, [0, 3]], rtol=ROUNDING)


def test_features_that_overflow_diverge():
    data = ClientData(
        features=np.full((2, 2), 1e200), responses=np.ones(2), offsets=np.array([0, 2])
    )
    arguments = {"starts": np.ones((1, 2, 2)), "step_sizes": np.ones(1), "n_iterations": 3}
    result = run_ifca_skipping(data=data, **arguments, **AT_ONCE)
    assert result.status[0] == RunStatus.DIVERGED
    np.testing.assert_array_equal(result.models, np.ones((1, 2, 2)))


def test_a_loss_that_overflowed_proves_nothing_when_it_comes_back():
    """Model 0 leaps from 2^330, where client 1's loss is infinite, to 0, which that client prefers.

    Its bounds are then NaN.  The third model's bounds are numbers, and they must not prove the
    label.
    """
    far, strong = 2.0**330, 2.0**200
    data = ClientData(
        features=np.array([[1.0], [strong]]), responses=0.5 * np.array([far, strong]),
        offsets=np.arange(3),
    )  # fmt: skip
    arguments = {
        "data": data, "starts": np.array([[[far], [3.0], [-5.0]]]),
        "step_sizes": np.array([[2.0, 2.0**-410, 2.0**-410]]), "n_iterations": 2,
        "divergence_bound": 1e100,
    }  # fmt: skip
    assert assert_same_runs(arguments).labels.tolist() == [[0, 0]]


@pytest.mark.parametrize(
    ("features", "models"),
    [(1e-150, 1e9), (1e-131, 1e-12), (1e-100, 1.0), (1e131, 1e-18), (1e140, 1.0), (1e150, 1e-165)],
)
@pytest.mark.parametrize("k", [1, 3])
def test_runs_in_any_units(features, models, k):
    """Squares of features, models, gaps, moves and descents leave the range of floats."""
    rng = np.random.default_rng(k)
    data, truth = draw_data(rng, [12] * 20, k, 6)
    starts = truth + 0.3 * rng.standard_normal((4, k, 6))
    data = ClientData(
        features=features * data.features, responses=features * models * data.responses,
        offsets=data.offsets,
    )  # fmt: skip
    steps = np.array([0.01, 0.1, 0.3, 0.6]) / features / features
    arguments = {"data": data, "starts": models * starts, "step_sizes": steps}
    ours = assert_same_runs(arguments | {"n_iterations": 300})
    assert ours.status.tolist() == [RunStatus.COMPLETED] * 4


@pytest.mark.parametrize("features", [1e154, 1e155, 1e157])
def test_models_whose_quadratic_forms_overflow_are_evaluated(features):
    """Features are beyond the root of the largest float, with losses of 1e-4.  One model has no
    clients.
    """
    rng = np.random.default_rng(9)
    data, truth = draw_data(rng, [8] * 12, 3, 1)
    starts = truth + rng.standard_normal((6, 3, 1))
    starts[:3, 1] = 50.0
    data = ClientData(
        features=features * data.features, responses=1e-2 * data.responses, offsets=data.offsets
    )
    arguments = {
        "data": data, "starts": 1e-2 / features * starts,
        "step_sizes": np.tile([0.1, 0.3, 0.6], 2) / features / features, "n_iterations": 100,
    }  # fmt: skip
    assert_same_runs(arguments)


def test_descents_whose_squares_underflow_are_steps_nevertheless():
    """Features of 1e-165 give gradients of 1e-175, and the step size makes them a constant step of
    0.1.
    """
    data = ClientData.equal(np.full((2, 1, 1), 1e-165), np.full((2, 1), 1e-10))
    arguments = {
        "data": data, "starts": np.zeros((1, 1, 1)), "step_sizes": np.array([5e173]),
        "n_iterations": 100,
    }  # fmt: skip
    np.testing.assert_allclose(assert_same_runs(arguments).models, 10.0, rtol=1e-12)


def test_normal_matrices_that_would_overflow_are_not_made():
    """The steps contract: the step size is 1e-310 and the curvature 1e310.  The matrix would be
    infinite, but the gradient is not.
    """
    rng = np.random.default_rng(6)
    data, truth = draw_data(rng, [5] * 8, 2, 3)
    starts = truth + 0.1 * rng.standard_normal((2, 2, 3))
    data = ClientData(
        features=1e155 * data.features, responses=1e-5 * data.responses, offsets=data.offsets
    )
    arguments = {"data": data, "starts": 1e-160 * starts, "step_sizes": np.array([1e-311, 3e-311])}
    ours = assert_same_runs(arguments | {"n_iterations": 200})
    assert ours.status.tolist() == [RunStatus.COMPLETED] * 2


def test_features_that_are_zero_leave_the_models():
    data = ClientData(features=np.zeros((4, 2)), responses=np.ones(4), offsets=np.array([0, 2, 4]))
    starts = np.arange(4.0).reshape(1, 2, 2)
    result = run_ifca_skipping(
        data=data, starts=starts, step_sizes=np.ones(1), n_iterations=5, **AT_ONCE
    )
    np.testing.assert_array_equal(result.models, starts)
    np.testing.assert_array_equal(result.labels, 0)


@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    d=st.integers(1, 9),
    exponent=st.integers(-290, 290),
    seed=st.integers(0, 2**32 - 1),
)
@settings(deadline=None, max_examples=40)
def test_operator_norms_are_upper_bounds_and_close(sizes, d, exponent, seed):
    rng = np.random.default_rng(seed)
    data, _ = draw_data(rng, sizes, 2, d)
    exact = [10.0**exponent * np.linalg.norm(data.features[a:z], 2) for a, z in bounds(data)]
    data = ClientData(
        features=data.features * 10.0**exponent, responses=data.responses, offsets=data.offsets
    )
    found = operator_norms(data)
    assert (found >= exact).all()
    assert (found <= 9 ** (1 / 32) * (1 + 1e-9) * np.array(exact)).all()


def test_normal_matrices_are_sums_over_the_members_however_they_were_made():
    rng = np.random.default_rng(2)
    data, _ = draw_data(rng, rng.integers(1, 9, 10), 2, 4)
    cache = NormalMatrices(data, operator_norms(data))
    sets = rng.random((12, 10)) < 0.5
    sets[3] = ~sets[2]
    sets[4] = True
    for member in sets:
        cache.make(member)
    for member, matrix, vector in zip(cache.masks, cache.matrices, cache.vectors, strict=True):
        wanted, right = np.zeros((4, 4)), np.zeros(4)
        for i in np.flatnonzero(member):
            a, z = data.offsets[i : i + 2]
            x, y = data.features[a:z], data.responses[a:z]
            wanted += 2 / (z - a) * x.T @ x
            right += 2 / (z - a) * x.T @ y
        np.testing.assert_allclose(matrix, wanted, rtol=0, atol=1e-12)
        np.testing.assert_allclose(vector, right, rtol=0, atol=1e-12)
    terms, rest = cache.plan(sets)
    np.testing.assert_array_equal(terms.astype(int) @ cache.masks + rest, sets)
    assert not rest.any()  # every set is known
    assert (np.abs(terms).sum(axis=1) == sets.any(axis=1)).all()


@pytest.mark.parametrize("which", ["features", "responses"])
def test_matrices_are_not_what_rounding_left_of_larger_ones(which):
    """A small client less than a known set, where that client is 1e8 times the others."""
    rng = np.random.default_rng(7)
    data, _ = draw_data(rng, [3, 20, 20, 20], 1, 4)
    larger = np.repeat([1e8, 1.0, 1.0, 1.0], [3, 20, 20, 20])
    data = ClientData(
        features=data.features * (larger[:, None] if which == "features" else 1.0),
        responses=data.responses * larger, offsets=data.offsets,
    )  # fmt: skip
    cache = NormalMatrices(data, operator_norms(data))
    sets = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 1, 1], [0, 1, 0, 0]]) > 0
    cache.make(sets[0])
    terms, _ = cache.plan(sets)
    assert (terms[:, 0] == [1, 0, 0, 0, 0]).all() or terms[1, 0] != 0
    assert (terms[2:] == 0).all()
    for member in sets[1:]:
        cache.make(member)
    for member, matrix, vector in zip(cache.masks, cache.matrices, cache.vectors, strict=True):
        rows, n = np.repeat(member, [3, 20, 20, 20]), np.repeat([3, 20, 20, 20], [3, 20, 20, 20])
        x, y = data.features[rows], data.responses[rows] * 2.0 / n[rows]
        wanted, right = x.T @ (x * (2.0 / n[rows])[:, None]), y @ x
        np.testing.assert_allclose(matrix, wanted, rtol=0, atol=1e-13 * np.abs(wanted).max())
        np.testing.assert_allclose(vector, right, rtol=0, atol=1e-12 * np.abs(y) @ np.abs(x).max(1))


def test_the_cache_forgets_what_was_used_longest_ago():
    rng = np.random.default_rng(2)
    data, _ = draw_data(rng, [3] * 6, 2, 2)
    cache = NormalMatrices(data, operator_norms(data))
    cache.capacity = 2
    for i in range(4):
        cache.make(np.arange(6) <= i)
    assert len(cache.matrices) == 2
    np.testing.assert_array_equal(np.sort(cache.masks.sum(axis=1)), [3, 4])


def test_impossible_runs_are_refused():
    data = ClientData.equal(np.ones((2, 4, 3)), np.ones((2, 4)))
    good = {"starts": np.zeros((2, 2, 3)), "step_sizes": np.ones(2), "n_iterations": 1}
    for change, message in (
        ({"starts": np.zeros((2, 2, 4))}, "must end in d=3"),
        ({"step_sizes": np.zeros(2)}, "step_sizes=0.0 must be > 0"),
        ({"n_iterations": -1}, "n_iterations=-1"),
        ({"excess": -0.1}, "excess=-0.1 must be >= 0"),
        ({"excess": np.nan}, "excess=nan must be a number"),
    ):
        with pytest.raises(InvalidParameter, match=message):
            run_ifca_skipping(data=data, **(good | change))


def test_a_run_that_comes_back_to_the_skipper_is_labelled_anew():
    """It was away for the models in the other order, and comes back with the first ones."""
    data, truth = draw_data(np.random.default_rng(0), [5] * 8, 2, 3)
    switch = Switch(data, truth[None], 10, np.inf, None, 1e12)
    labels, there = np.full((1, 8), -1), []
    for t, inside in enumerate([True, True, False, True, True, False, False, True]):
        switch._choose = lambda _going, _budget, to=inside: (np.array([to]), 0.0)
        models = truth.copy() if inside else truth[::-1].copy()
        descent = np.zeros_like(models)
        switch.add(t, np.arange(1), models, labels, descent)
        expected, summed = np.full((1, 8), -1), np.zeros_like(models)
        PlainPass(data, truth[None]).label_and_add(models, expected, summed)
        np.testing.assert_array_equal(labels, expected)
        np.testing.assert_allclose(descent, summed, atol=1e-12 * np.abs(summed).max())
        there.append(labels[0, 0])
    assert there == [0, 0, 1, 0, 0, 1, 1, 0]
