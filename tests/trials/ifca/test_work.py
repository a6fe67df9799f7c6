"""The switch from the plain kernel to the skipper: when it is made, and that it changes no run."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.trials.ifca.test_skipping import draw_data
from trials.ifca.linear import run_ifca
from trials.ifca.normal_matrices import NormalMatrices
from trials.ifca.skipping import Switch, operator_norms, run_ifca_skipping
from trials.ifca.work import READ, Ledger, norm_work, plain_work
from trials.models.clients import ClientData
from trials.models.run_status import RunStatus

MODELS = 1e-10  # rounding of some hundred contracting steps


@pytest.fixture
def switches(monkeypatch):
    """The switches that runs make, and the ledger after each of their iterations."""
    made = []
    add = Switch.add

    def noting(self, iteration, *arrays):
        if iteration == 0:
            made.append((self, []))
        settled = add(self, iteration, *arrays)
        made[-1][1].append((self.ledger.plain, self.ledger.own, int(self.inside.sum())))
        return settled

    monkeypatch.setattr(Switch, "add", noting)
    return made


def draw_runs(n_iterations=200, steps=(0.01, 0.1), n=60, d=200, n_starts=3):
    """Runs so large that proofs pay: 40 clients, two clusters."""
    rng = np.random.default_rng(1)
    data, truth = draw_data(rng, [n] * 40, 2, d)
    starts = truth + 0.7 * rng.standard_normal((n_starts * len(steps), 2, d))
    return {
        "data": data, "starts": starts, "step_sizes": np.tile(steps, n_starts),
        "n_iterations": n_iterations,
    }  # fmt: skip


@cache
def large_runs():
    """Thirty runs, and what the plain kernel makes of them, for the tests of the excess."""
    arguments = draw_runs(n=80, d=400, n_starts=15)
    return arguments, run_ifca(**arguments)


def assert_same(ours, plain):
    np.testing.assert_array_equal(ours.labels, plain.labels)
    np.testing.assert_array_equal(ours.label_changes, plain.label_changes)
    np.testing.assert_array_equal(ours.status, plain.status)
    scale = np.abs(plain.models).max()
    np.testing.assert_allclose(ours.models / scale, plain.models / scale, rtol=0, atol=MODELS)


def test_work_by_hand():
    assert plain_work(100, 3, 2) == 100 * (READ + 9)
    assert plain_work(100, 0, 2) == 0.0
    # two clients of 3 and 5 rows, d = 4: Gram matrices of 3 and 4 columns, each squared three times
    flops = (3 * 4 * 3 + 6 * 3**3) + (5 * 4 * 4 + 6 * 4**3)
    assert norm_work(np.array([3.0, 5.0]), 4) == pytest.approx(1.2 * flops / 8)
    ledger = Ledger(0.05)
    assert ledger.budget == 0.0
    ledger.add(plain=100.0, own=100.0)
    ledger.add(plain=100.0, own=150.0)
    assert ledger.budget == pytest.approx(-40.0)
    assert Ledger(np.inf).budget == np.inf


def test_first_iterations_are_the_plain_kernels_to_the_bit(switches):
    arguments = draw_runs(n_iterations=3)
    ours, plain = run_ifca_skipping(**arguments), run_ifca(**arguments)
    np.testing.assert_array_equal(ours.models, plain.models)
    np.testing.assert_array_equal(ours.labels, plain.labels)
    ((switch, history),) = switches
    assert switch.skipper is None
    assert [plain for plain, _, _ in history] == [own for _, own, _ in history]


@pytest.mark.parametrize("excess", [0.05, 0.5])
def test_work_never_exceeds_the_plain_kernels_by_more_than_the_excess(switches, excess):
    """An iteration may turn out dearer than its price, so one is allowed beside the excess."""
    arguments, plain = large_runs()
    ours = run_ifca_skipping(**arguments, excess=excess)
    assert_same(ours, plain)
    ((_, history),) = switches
    one = history[0][0]
    assert all(own <= (1.0 + excess) * plain + one for plain, own, _ in history)
    assert history[-1][1] < 0.9 * history[-1][0]


def test_runs_too_small_to_save_stay_with_the_plain_kernel(switches):
    arguments = draw_runs(n=3, d=4, n_iterations=80)
    ours, plain = run_ifca_skipping(**arguments), run_ifca(**arguments)
    np.testing.assert_array_equal(ours.models, plain.models)
    ((switch, _),) = switches
    assert switch.skipper is None


@pytest.mark.parametrize("seed", range(4))
def test_any_choice_gives_the_same_runs(monkeypatch, seed):
    """Runs go back and forth by chance, so that what is known about them is often out of date."""
    rng = np.random.default_rng(seed)

    def choose(self, going, _budget):
        return rng.random(len(going)) < 0.6, 0.0

    monkeypatch.setattr(Switch, "_choose", choose)
    arguments = draw_runs(n_iterations=80, n=8, d=10, steps=(0.02, 0.2, 0.5))
    assert_same(run_ifca_skipping(**arguments), run_ifca(**arguments))


def test_a_run_that_comes_back_is_not_believed_to_be_where_it_was_proved(monkeypatch):
    """Two models that swap places.  The labels of the plain kernel in between are others."""
    turns = iter([True, False, True, False, True, False])
    monkeypatch.setattr(
        Switch, "_choose", lambda self, going, _b: (np.full(len(going), next(turns)), 0.0)
    )
    # One weak client per cluster; theta jumps over the optimum and back, twice as far from it.
    x = np.array([[[1.0]], [[1.0]]])
    data = ClientData.equal(x, np.array([[1.0], [-1.0]]))
    arguments = {
        "data": data, "starts": np.array([[[0.9], [-0.6]]]), "step_sizes": np.array([2.0]),
        "n_iterations": 6,
    }  # fmt: skip
    ours, plain = run_ifca_skipping(**arguments), run_ifca(**arguments)
    np.testing.assert_array_equal(ours.label_changes, plain.label_changes)
    np.testing.assert_allclose(ours.models, plain.models, rtol=1e-12)


def test_a_matrix_grows_as_the_budget_allows():
    """A quarter of a set at least, in the place of the smaller part, and at last the whole sum."""
    rng = np.random.default_rng(2)
    data, _ = draw_data(rng, [6] * 200, 1, 4)
    cache = NormalMatrices(data, operator_norms(data))
    member = np.ones((1, 200), dtype=np.bool_)
    sizes = []
    for _ in range(40):
        _, rest = cache.plan(member)
        if not rest.any():
            break
        price = 70 * 6 * cache.row_price + cache.copy_price
        cache.note_gradients(member, rest, 10**6, budget=price * (1.0 + 1e-12))
        sizes.append([int(mask.sum()) for mask in cache.masks])
    assert [size for i, size in enumerate(sizes) if i == 0 or size != sizes[i - 1]] in (
        [[70], [140], [200]], [[], [70], [140], [200]],
    )  # fmt: skip
    scaled = data.features * np.sqrt(2.0 / 6.0)
    np.testing.assert_allclose(cache.matrices[0], scaled.T @ scaled, rtol=1e-12)
    small = NormalMatrices(data, operator_norms(data))
    for _ in range(40):
        small.note_gradients(member, member.astype(np.int8), 10**6, budget=40 * 6 * cache.row_price)
    assert not small.matrices  # less than a quarter


def test_all_runs_may_diverge_in_one_iteration_with_a_reference():
    """No run is left to measure from the reference."""
    arguments = draw_runs(n=3, d=4, n_iterations=400, steps=(1e3,))
    arguments["starts"] = np.repeat(arguments["starts"][:1], 3, axis=0)
    found = run_ifca(**arguments, reference=np.zeros((2, 4)))
    assert (found.status == RunStatus.DIVERGED).all()
    assert len(set(found.n_steps.tolist())) == 1
    last = found.distances[found.n_steps[0]]
    np.testing.assert_array_equal(found.distances[-1], last)
