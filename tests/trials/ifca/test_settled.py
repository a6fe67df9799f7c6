"""Runs set aside are those whose labels never change again, and end where the others do."""

from __future__ import annotations

import numpy as np
import pytest

import trials.ifca.settled
from trials.ifca.linear import run_ifca
from trials.ifca.normal_matrices import NormalMatrices
from trials.ifca.settled import SettledRuns
from trials.ifca.skipping import operator_norms, run_ifca_skipping
from trials.models.clients import ClientData
from trials.models.run_status import RunStatus


@pytest.fixture
def taken(monkeypatch):
    """Listens to `SettledRuns.take`: (steps left, runs going, runs settled), call after call."""
    calls, take = [], SettledRuns.take

    def listening(self, going, models, descents, sets, moved, radius, n_left):
        settled = take(self, going, models, descents, sets, moved, radius, n_left)
        calls.append((n_left, going.copy(), going[settled]))
        return settled

    monkeypatch.setattr(SettledRuns, "take", listening)
    return calls


def draw_problem(seed, sizes, k, d, near, n_starts):
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((k, d))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    features = rng.standard_normal((offsets[-1], d))
    owner = np.repeat(np.arange(len(sizes)) % k, sizes)
    responses = np.einsum("nd,nd->n", features, truth[owner])
    responses += 0.1 * rng.standard_normal(offsets[-1])
    data = ClientData(features=features, responses=responses, offsets=offsets)
    return data, truth + near * rng.standard_normal((n_starts, k, d))


def assert_same(ours, plain, tolerance):
    np.testing.assert_array_equal(ours.labels, plain.labels)
    np.testing.assert_array_equal(ours.label_changes, plain.label_changes)
    np.testing.assert_array_equal(ours.status, plain.status)
    np.testing.assert_array_equal(ours.n_steps, plain.n_steps)
    np.testing.assert_allclose(ours.models, plain.models, rtol=0, atol=tolerance)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("spread", [0.2, 3.0])
def test_settled_runs_are_those_of_the_plain_kernel(taken, k, spread):
    """Ragged clients, step sizes that contract fast and slowly, starts near the truth and far."""
    rng = np.random.default_rng(k)
    data, starts = draw_problem(k, rng.integers(4, 30, 12 * k), k, 8, spread, 6)
    arguments = {
        "data": data, "starts": starts, "step_sizes": np.tile([0.01, 0.1, 0.3], 2),
        "n_iterations": 350,
    }  # fmt: skip
    ours, plain = run_ifca_skipping(**arguments, excess=np.inf), run_ifca(**arguments)
    assert_same(ours, plain, 1e-11)
    settled = [run for _, _, runs in taken for run in runs]
    assert len(settled) == len(set(settled))
    assert len(settled) >= 3  # of six: work is saved
    assert not any(np.isin(later, runs).any() for i, (_, _, runs) in enumerate(taken)
                   for _, later, _ in taken[i + 1 :])  # fmt: skip
    for n_left, _, runs in taken:
        assert (plain.label_changes[350 - n_left + 1 :, runs] == 0).all()


def test_a_step_size_for_each_model(taken):
    data, starts = draw_problem(3, [20] * 30, 3, 6, 0.3, 2)
    steps = np.array([[0.02, 0.3, 0.9], [0.5, 0.01, 0.1]])
    arguments = {"data": data, "starts": starts, "step_sizes": steps, "n_iterations": 300}
    assert_same(run_ifca_skipping(**arguments, excess=np.inf), run_ifca(**arguments), 1e-11)
    assert sum(len(runs) for _, _, runs in taken) == 2


def test_a_reference_is_met_in_every_step(taken):
    """Distances are requested after each step, so nothing is set aside."""
    data, starts = draw_problem(4, [20] * 20, 2, 5, 0.3, 2)
    arguments = {
        "data": data, "starts": starts, "step_sizes": np.full(2, 0.3), "n_iterations": 200,
        "reference": starts[0],
    }  # fmt: skip
    ours, plain = run_ifca_skipping(**arguments, excess=np.inf), run_ifca(**arguments)
    np.testing.assert_allclose(ours.distances, plain.distances, rtol=0, atol=1e-12)
    assert not taken


def test_an_unstable_run_is_never_settled(taken):
    """A step beyond 2 / L leads away from the solution, also from a start close to it.  Here it
    takes 200 steps.
    """
    data, _ = draw_problem(5, [20] * 20, 1, 5, 1e-12, 2)
    gram = sum(x.T @ x for x in data.features.reshape(20, 20, 5)) / 200
    solution = np.linalg.lstsq(data.features, data.responses)[0]
    top = np.linalg.eigvalsh(gram)[-1]
    arguments = {
        "data": data, "starts": np.stack([solution + 1e-8, solution])[:, None],
        "step_sizes": np.array([2.1, 1.9]) / top, "n_iterations": 600, "divergence_bound": 10.0,
    }  # fmt: skip
    ours, plain = run_ifca_skipping(**arguments, excess=np.inf), run_ifca(**arguments)
    assert plain.status.tolist() == [RunStatus.DIVERGED, RunStatus.COMPLETED]
    assert_same(ours, plain, 1e-4)  # rounding errors have grown by a factor of 1e9
    np.testing.assert_allclose(ours.models[1], plain.models[1], rtol=0, atol=1e-12)
    assert {int(run) for _, _, runs in taken for run in runs} == {1}


def test_a_way_that_leaves_the_divergence_bound_is_walked(taken):
    """The solution lies outside: the run stops on its way, though its labels never change."""
    data = ClientData.equal(np.ones((1, 1, 1)), np.array([[5.0]]))
    arguments = {
        "data": data, "starts": np.zeros((1, 1, 1)), "step_sizes": np.array([0.01]),
        "n_iterations": 400, "divergence_bound": 4.0,
    }  # fmt: skip
    ours, plain = run_ifca_skipping(**arguments, excess=np.inf), run_ifca(**arguments)
    assert plain.status.tolist() == [RunStatus.DIVERGED]
    assert_same(ours, plain, 1e-12)
    assert not any(runs.size for _, _, runs in taken)


def test_a_label_that_changes_late_is_waited_for(taken):
    """One client prefers the other model once that has come near, 800 steps later."""
    data = ClientData.equal(np.ones((4, 1, 1)), np.array([[10.0], [10.0], [0.0], [3.9]]))
    # Model 0 falls to the mean of 10, 10 and 3.9.  Model 1 slowly rises to 0, and 3.9 is nearer.
    n_iterations = 1200
    arguments = {
        "data": data, "starts": np.array([[[9.0], [-8.0]]]),
        "step_sizes": np.array([0.01]), "n_iterations": n_iterations,
    }  # fmt: skip
    ours, plain = run_ifca_skipping(**arguments, excess=np.inf), run_ifca(**arguments)
    assert_same(ours, plain, 1e-11)
    late = np.flatnonzero(plain.label_changes[:, 0])[-1]
    assert late > 700
    first = min(n_iterations - n_left for n_left, _, runs in taken if runs.size)
    assert first > late


@pytest.mark.parametrize("stray", [10, 0])  # one client more than a known set, or one less
def test_a_set_that_is_nearly_known_gets_its_matrix_first(stray):
    data, _ = draw_problem(9, [30] * 10 + [2], 1, 20, 1.0, 1)
    cache = NormalMatrices(data, operator_norms(data))
    known = np.arange(11) < 10
    cache.make(known)
    member = known.copy()
    member[stray] ^= True
    scale, n_left, rng = 1e-4, 2000, np.random.default_rng(9)
    model = rng.standard_normal((1, 20))
    gram, vector = np.zeros((20, 20)), np.zeros(20)
    for i in np.flatnonzero(member):
        x, y = (rows[data.offsets[i] : data.offsets[i + 1]] for rows in
                (data.features, data.responses))  # fmt: skip
        gram, vector = gram + 2 / len(x) * x.T @ x, vector + 2 / len(x) * x.T @ y
    settled = SettledRuns(cache, np.array([[scale]]), 1e10)

    def take():
        terms, rest = cache.plan(member[None])
        sets = trials.ifca.settled.ClusterSets(member[None], terms, rest)
        descent, still, room = vector - model @ gram, np.zeros((1, 1)), np.array([1e3])
        return rest.any(), settled.take(np.array([0]), model, descent, sets, still, room, n_left)

    open_at_first, done = take()
    assert not done.any()
    if stray == 10:  # two rows are summed rather than multiplied out
        assert open_at_first
    open_then, done = take()
    assert not open_then
    assert done.all()
    wanted = model[0].copy()
    for _ in range(n_left):
        wanted += scale * (vector - gram @ wanted)
    found = model[None].copy()
    settled.finish(found)
    np.testing.assert_allclose(found[0, 0], wanted, rtol=0, atol=1e-12)


def test_short_rests_are_walked(taken):
    data, starts = draw_problem(6, [20] * 20, 2, 5, 0.1, 2)
    n_iterations = trials.ifca.settled._LEAST_STEPS - 1
    arguments = {
        "data": data, "starts": starts, "step_sizes": np.full(2, 0.3),
        "n_iterations": n_iterations,
    }  # fmt: skip
    assert_same(run_ifca_skipping(**arguments, excess=np.inf), run_ifca(**arguments), 1e-12)
    assert not any(runs.size for _, _, runs in taken)


def test_a_full_cache_sets_nothing_aside_that_it_would_lose(taken, monkeypatch):
    monkeypatch.setattr("trials.ifca.normal_matrices.MATRIX_BYTES", 0)  # four matrices are kept
    data, starts = draw_problem(7, [15] * 40, 8, 5, 0.05, 3)
    arguments = {
        "data": data, "starts": starts, "step_sizes": np.full(3, 0.3), "n_iterations": 300,
    }  # fmt: skip
    assert_same(run_ifca_skipping(**arguments, excess=np.inf), run_ifca(**arguments), 1e-11)


@pytest.mark.parametrize("seed", [5, 8, 18, 23])
def test_runs_keep_their_matrices_when_another_takes_the_place(taken, monkeypatch, seed):
    """The cache drops a matrix in the very iteration in which a run that needs it is settled."""
    monkeypatch.setattr(
        "trials.ifca.normal_matrices.MATRIX_BYTES", 0
    )  # four are kept, for 32 models
    data, starts = draw_problem(seed, [12] * 24, 4, 3, 1.0, 8)
    arguments = {
        "data": data, "starts": starts, "step_sizes": np.tile([0.1, 0.3], 4), "n_iterations": 300,
    }  # fmt: skip
    assert_same(run_ifca_skipping(**arguments, excess=np.inf), run_ifca(**arguments), 1e-11)
    assert any(runs.size for _, _, runs in taken)


def test_intervals_hold_the_eigenvalues_also_after_a_change_of_matrices():
    rng = np.random.default_rng(8)
    data, _ = draw_problem(8, rng.integers(1, 9, 12), 2, 6, 1.0, 1)
    cache = NormalMatrices(data, operator_norms(data))
    cache.capacity = 2
    for n_members in (1, 4, 12):
        cache.make(np.arange(12) < n_members)
        for b, matrix in enumerate(cache.matrices):
            low, high = cache.interval(b)
            eigenvalues = np.linalg.eigvalsh(matrix)
            assert 0.0 <= low <= max(eigenvalues[0], 0.0)
            assert eigenvalues[-1] <= high
            low, high = cache.interval(b, most=0.0)  # computed
            assert 0.0 <= low <= max(eigenvalues[0], 0.0)
            assert eigenvalues[-1] <= high <= (1.0 + 1e-12) * eigenvalues[-1]


def test_bounds_that_follow_from_other_matrices_hold_until_better_ones_are_needed():
    """Unions, one client more, one less: Weyl's bounds first, computed ones where those fail."""
    rng = np.random.default_rng(10)
    data, _ = draw_problem(10, rng.integers(3, 20, 12), 2, 6, 1.0, 1)
    cache = NormalMatrices(data, operator_norms(data))
    half, other = np.arange(12) < 6, np.arange(12) >= 6
    cache.make(half)
    cache.make(other)
    exact = [cache.interval(0), cache.interval(1)]
    sets = [half | other, half.copy(), half.copy()]
    sets[1][7] = True
    sets[2][2] = False
    cache.price = 0.0  # near sets follow from known ones, for any number of rows
    for member in sets:
        cache.make(member)
    assert cache.interval(0) == exact[0]
    for b in (2, 3, 4):
        eigenvalues = np.linalg.eigvalsh(cache.matrices[b])
        low, high = cache.interval(b)
        assert low < eigenvalues[0] * (1 - 1e-9)  # not computed
        assert low >= 0.0
        assert eigenvalues[-1] * (1 + 1e-9) < high < 3.0 * eigenvalues[-1]
        assert cache.interval(b, most=high) == (low, high)
        better = cache.interval(b, most=0.999 * high)
        np.testing.assert_allclose(better, eigenvalues[[0, -1]], rtol=1e-12)
        assert cache.interval(b, most=0.0) == better


def test_a_matrix_that_is_known_is_not_made_again_and_bounds_need_those_of_its_parts():
    rng = np.random.default_rng(11)
    data, _ = draw_problem(11, rng.integers(3, 20, 12), 2, 6, 1.0, 1)
    cache = NormalMatrices(data, operator_norms(data))
    half, other = np.arange(12) < 6, np.arange(12) >= 6
    assert cache.make(half)
    assert cache.make(other)
    assert not cache.make(half.copy())
    assert (len(cache.matrices), cache.n_built) == (2, 2)
    cache.intervals[0] = None
    cache.price = 0.0
    assert cache.make(half | other)
    assert cache.intervals[2] is None
    whole = np.linalg.eigvalsh(cache.matrices[0] + cache.matrices[1])[[0, -1]]
    np.testing.assert_allclose(cache.interval(2), whole, rtol=1e-9)


@pytest.mark.parametrize("capacity", [2, 9])
@pytest.mark.parametrize("part", [3, 7, 1024])
@pytest.mark.parametrize("seed", range(3))
def test_matrices_of_any_sets_are_sums_over_their_rows(monkeypatch, seed, part, capacity):
    """Also of clients with more rows than are scaled at once, after unions, and after removals."""
    monkeypatch.setattr("trials.ifca.normal_matrices._CHUNK_ROWS", part)
    monkeypatch.setattr("trials.ifca.normal_matrices._MIRROR", max(part % 5, 1))
    rng = np.random.default_rng(seed)
    data, _ = draw_problem(seed, rng.integers(1, 12, 9), 2, 4, 1.0, 1)
    cache = NormalMatrices(data, operator_norms(data))
    cache.capacity, cache.price = capacity, 10.0 * seed
    member = rng.random(9) < 0.6
    for _ in range(8):
        member = member ^ (rng.random(9) < rng.choice([0.1, 0.6]))
        made = cache.make(member)
        assert made or (cache.masks == member).all(axis=1).any()
        for mask, matrix, vector in zip(cache.masks, cache.matrices, cache.vectors, strict=True):
            gram, pulled = np.zeros((4, 4)), np.zeros(4)
            for i in np.flatnonzero(mask):
                rows = slice(*data.offsets[i : i + 2])
                x, y = data.features[rows], data.responses[rows]
                gram, pulled = gram + 2 / len(x) * x.T @ x, pulled + 2 / len(x) * x.T @ y
            np.testing.assert_allclose(matrix, gram, rtol=0, atol=1e-11)
            np.testing.assert_allclose(vector, pulled, rtol=0, atol=1e-11)
        if made:
            assert (cache.masks[cache.latest] == member).all()
