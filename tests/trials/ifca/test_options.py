"""IFCA's options against Algorithm 2 as printed, their limits, the baselines and the counts."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trials.checks import InvalidParameter
from trials.ifca.communication import floats_down, floats_up
from trials.ifca.linear import run_ifca, run_resampled_ifca
from trials.ifca.options import (
    IfcaOptions,
    run_global,
    run_ifca_options,
    run_oracle,
    run_resampled_ifca_options,
)
from trials.ifca.options_kernels import LocalSteps, UpdateScratch, add_local_updates
from trials.models.clients import ClientData
from trials.models.losses import LogisticLoss, SquaredLoss, kernel_arguments
from trials.models.run_status import RunStatus

LOSSES = [
    SquaredLoss(scale=2.0),
    SquaredLoss(scale=1.0, l2=0.3),
    LogisticLoss(l2=0.0),
    LogisticLoss(l2=0.3),
]
ROUNDING = 1e-11  # the same sums in another order, over a few contracting steps


def draw_data(rng, sizes, k, d, sigma=0.3, loss=LOSSES[0]):
    truth = rng.standard_normal((k, d))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    features = rng.standard_normal((offsets[-1], d))
    owner = np.arange(len(sizes)) % k
    responses = np.einsum("nd,nd->n", features, truth[np.repeat(owner, sizes)])
    responses += sigma * rng.standard_normal(offsets[-1])
    if isinstance(loss, LogisticLoss):
        responses = np.where(responses > 0, 1.0, -1.0)
    return ClientData(features=features, responses=responses, offsets=offsets), truth, owner


def client(data, i):
    rows = slice(data.offsets[i], data.offsets[i + 1])
    return data.features[rows], data.responses[rows]


def value(loss, x, y, theta):
    """The client's empirical loss, as written down."""
    if isinstance(loss, LogisticLoss):
        return np.mean(np.logaddexp(0, -y * (x @ theta))) + loss.l2 / 2 * theta @ theta
    return loss.scale / 2 * np.mean((y - x @ theta) ** 2) + loss.l2 / 2 * theta @ theta


def gradient(loss, x, y, theta):
    if isinstance(loss, LogisticLoss):
        # the derivative of log(1 + exp(-y t)) is (tanh(t / 2) - y) / 2 for y = -1 and 1
        return x.T @ (np.tanh(x @ theta / 2) - y) / 2 / len(y) + loss.l2 * theta
    return loss.scale / len(y) * x.T @ (x @ theta - y) + loss.l2 * theta


def twin(data, start, gamma, participants, options, known=None, loss=LOSSES[0]):
    """One run of Algorithm 2, line by line, on full batches.  `participants` (T, p) are given."""
    models, (k, d), m = start.copy(), start.shape, data.n_clients
    shared = np.zeros(d, dtype=bool) if options.shared is None else options.shared
    labels = np.full(m, -1) if known is None else known.copy()
    quiet, settled_at, down, up = 0, (None if known is None else 0), [], []
    for t, subset in enumerate(participants):
        settled = settled_at is not None and settled_at <= t
        down.append(0)
        up.append(0)
        step, sent, changed = gamma * options.step_decay**t, {}, 0
        for i in subset:
            x, y = client(data, i)
            down[-1] += d if settled else int(shared.sum()) + k * int((~shared).sum())
            up[-1] += d if settled else d + k
            if not settled:
                label = np.argmin([value(loss, x, y, theta) for theta in models])
                changed += label != labels[i]
                labels[i] = label
            local = models[labels[i]].copy()
            if options.averaging == "gradient":
                sent[i] = gradient(loss, x, y, local)
                continue
            for _ in range(options.local_steps):
                local -= step * gradient(loss, x, y, local)
            sent[i] = local
        if not settled:
            quiet = quiet + 1 if changed == 0 else 0
            if options.stable_after and quiet >= options.stable_after and (labels >= 0).all():
                settled_at = t + 1
        new = models.copy()
        for j in range(k):
            mine = [sent[i] for i in subset if labels[i] == j]
            if mine and options.averaging == "gradient":
                new[j] = models[j] - step / m * np.sum(mine, axis=0)
            elif mine:
                new[j] = np.mean(mine, axis=0)
        if options.averaging == "gradient":
            everyone = models[0] - step / m * np.sum(list(sent.values()), axis=0)
        else:
            everyone = np.mean(list(sent.values()), axis=0)
        new[:, shared] = everyone[shared]
        models = new
    return models, labels, settled_at, down, up


@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=8),
    k=st.integers(1, 4),
    d=st.integers(1, 8),
    averaging=st.sampled_from(["gradient", "model"]),
    local_steps=st.integers(1, 4),
    decay=st.sampled_from([1.0, 0.9]),
    fraction=st.sampled_from([0.3, 1.0]),
    n_shared=st.integers(0, 8),
    stable_after=st.sampled_from([None, 1, 3]),
    known=st.booleans(),
    loss=st.sampled_from(LOSSES),
    seed=st.integers(0, 2**32 - 1),
)
@settings(deadline=None, max_examples=120)
def test_every_run_is_algorithm_2_as_printed(
    sizes, k, d, averaging, local_steps, decay, fraction, n_shared, stable_after, known, loss, seed
):
    rng = np.random.default_rng(seed)
    data, _, owner = draw_data(rng, sizes, k, d, loss=loss)
    shared = np.arange(d) < n_shared
    options = IfcaOptions(
        averaging=averaging,
        local_steps=local_steps if averaging == "model" else 1,
        step_decay=decay,
        n_participants=max(1, int(fraction * len(sizes))),
        shared=shared,
        stable_after=stable_after,
    )
    starts = rng.standard_normal((3, k, d))
    starts[:, :, shared] = starts[:, :1, shared]
    steps = rng.uniform(0.005, 0.05, 3)
    labels = owner if known else None
    result = run_ifca_options(
        data=data, starts=starts, step_sizes=steps, n_iterations=7,
        options=options, loss=loss, known_labels=labels, rng=rng,
    )  # fmt: skip
    assert (np.diff(result.participants, axis=1) > 0).all()
    for run in range(3):
        models, estimates, settled_at, down, up = twin(
            data, starts[run], steps[run], result.participants, options, labels, loss
        )
        np.testing.assert_allclose(result.models[run], models, rtol=ROUNDING, atol=ROUNDING)
        np.testing.assert_array_equal(result.labels[run], estimates)
        assert result.settled_at[run] == (7 if settled_at is None else settled_at)
        np.testing.assert_array_equal(result.down[:, run], down)
        np.testing.assert_array_equal(result.up[:, run], up)


def make_problem(loss):
    rng = np.random.default_rng(11)
    data, truth, owner = draw_data(rng, rng.integers(5, 40, 12), 3, 10, loss=loss)
    starts = truth + 0.3 * rng.standard_normal((4, 3, 10))
    return data, truth, owner, starts, np.array([0.02, 0.05, 0.1, 0.2])


@pytest.fixture
def problem():
    return make_problem(LOSSES[0])


def test_defaults_are_the_plain_kernel(problem):
    data, _, _, starts, steps = problem
    arguments = {"data": data, "starts": starts, "step_sizes": steps, "n_iterations": 20}
    ours, plain = run_ifca_options(**arguments), run_ifca(**arguments)
    np.testing.assert_allclose(ours.models, plain.models, rtol=0, atol=ROUNDING)
    np.testing.assert_array_equal(ours.labels, plain.labels)
    np.testing.assert_array_equal(ours.label_changes, plain.label_changes)


@pytest.mark.interpreted
def test_one_local_step_is_gradient_averaging_with_the_step_scaled_by_the_clusters_share(problem):
    """Model averaging, tau = 1, step gamma equals gradient averaging with gamma m / |S_j|."""
    data, _, owner, starts, steps = problem
    arguments = {"data": data, "starts": starts, "n_iterations": 15, "known_labels": owner}
    models = run_ifca_options(step_sizes=steps, options=IfcaOptions(averaging="model"), **arguments)
    scaled = steps[:, None] * len(owner) / np.bincount(owner)
    gradients = run_ifca_options(step_sizes=scaled, **arguments)
    np.testing.assert_allclose(models.models, gradients.models, rtol=0, atol=ROUNDING)


def test_all_participants_are_full_participation(problem):
    data, _, _, starts, steps = problem
    arguments = {"data": data, "starts": starts, "step_sizes": steps, "n_iterations": 10}
    for averaging in ("gradient", "model"):
        full = run_ifca_options(options=IfcaOptions(averaging=averaging), **arguments)
        all_m = run_ifca_options(
            options=IfcaOptions(averaging=averaging, n_participants=12), **arguments
        )
        np.testing.assert_array_equal(all_m.models, full.models)
        np.testing.assert_array_equal(all_m.down, full.down)


def test_batches_of_all_rows_are_full_gradients(problem):
    data, _, _, starts, steps = problem
    arguments = {"data": data, "starts": starts, "step_sizes": steps, "n_iterations": 5}
    rng = np.random.default_rng(0)
    whole = run_ifca_options(**arguments)
    batches = run_ifca_options(options=IfcaOptions(batch_size=40), rng=rng, **arguments)
    np.testing.assert_array_equal(batches.models, whole.models)


@pytest.mark.parametrize("loss", LOSSES)
def test_mini_batches_are_unbiased_and_without_replacement(loss):
    """One client with 6 rows and batches of 2 has 15 equally likely gradients.  All occur, and no
    other.

    In 3000 draws each has count 200 +- 14.  So 5 standard errors fail with probability 15 * 6e-7,
    four times.
    """
    rng = np.random.default_rng(5)
    data, _, _ = draw_data(rng, [6], 1, 3, loss=loss)
    x, y = client(data, 0)
    start = rng.standard_normal((1, 3))
    wanted = np.array(
        [-gradient(loss, x[[a, b]], y[[a, b]], start[0])
         for a, b in itertools.combinations(range(6), 2)]
    )  # fmt: skip
    code, counts = kernel_arguments(loss, y), np.zeros(15, dtype=int)
    scratch = UpdateScratch(
        order=np.empty(6, dtype=np.int64), batch=np.empty((2, 3)), targets=np.empty(2),
        local=np.empty((1, 3)), product=np.empty((1, 3)), weights=np.empty(6),
    )  # fmt: skip
    for _ in range(3000):
        total, count = np.zeros((1, 3)), np.zeros(1, dtype=np.int64)
        add_local_updates(
            data.arrays, np.array([0]), start, 1, code, np.zeros((1, 1), dtype=np.int64),
            LocalSteps(np.ones(1), 1, 2), rng, scratch, total, count,
        )  # fmt: skip
        gaps = np.abs(wanted - total).max(axis=1)
        assert gaps.min() < 1e-12
        counts[gaps.argmin()] += 1
    assert (np.abs(counts - 200) < 5 * 14).all()


def test_every_local_step_draws_a_batch_of_its_own():
    """One client with 3 rows, batches of 1 and 2 steps: 9 equally likely updates.

    In 900 draws each has count 100 +- 9.4.  So 5 standard errors fail with probability 9 * 6e-7.
    """
    rng = np.random.default_rng(6)
    loss = LOSSES[0]
    data, _, _ = draw_data(rng, [3], 1, 2, loss=loss)
    x, y = client(data, 0)
    start = rng.standard_normal((1, 2))
    step = 0.1
    wanted = []
    for a, b in itertools.product(range(3), repeat=2):
        theta = start[0]
        for row in (a, b):
            theta = theta - step * gradient(loss, x[[row]], y[[row]], theta)
        wanted.append(theta - start[0])
    scratch = UpdateScratch(
        order=np.empty(3, dtype=np.int64), batch=np.empty((1, 2)), targets=np.empty(1),
        local=np.empty((1, 2)), product=np.empty((1, 2)), weights=np.empty(3),
    )  # fmt: skip
    counts = np.zeros(9, dtype=int)
    for _ in range(900):
        total, count = np.zeros((1, 2)), np.zeros(1, dtype=np.int64)
        add_local_updates(
            data.arrays, np.array([0]), start, 1, kernel_arguments(loss, y),
            np.zeros((1, 1), dtype=np.int64), LocalSteps(np.full(1, step), 2, 1), rng, scratch,
            total, count,
        )  # fmt: skip
        gaps = np.abs(np.array(wanted) - total).max(axis=1)
        assert gaps.min() < 1e-12
        counts[gaps.argmin()] += 1
    assert (np.abs(counts - 100) < 5 * 9.4).all()


def test_participants_are_uniform_subsets(problem):
    """Each of 12 clients takes part in 4 of 12 of 900 iterations: 300 +- 14, 5 standard errors."""
    data, _, _, starts, steps = problem
    result = run_ifca_options(
        data=data, starts=starts[:1], step_sizes=1e-6 * steps[:1], n_iterations=900,
        options=IfcaOptions(n_participants=4), rng=np.random.default_rng(1),
    )  # fmt: skip
    assert result.participants.shape == (900, 4)
    assert (np.abs(np.bincount(result.participants.ravel()) - 300) < 5 * 14.2).all()


@pytest.mark.interpreted
@pytest.mark.parametrize("loss", LOSSES)
def test_runs_together_see_the_same_draws_as_alone(loss):
    data, _, _, starts, steps = make_problem(loss)
    options = IfcaOptions(averaging="model", local_steps=3, batch_size=4, n_participants=5)
    arguments = {"data": data, "n_iterations": 8, "options": options, "loss": loss}
    together = run_ifca_options(
        starts=starts, step_sizes=steps, rng=np.random.default_rng(2), **arguments
    )
    for run in range(4):
        alone = run_ifca_options(
            starts=starts[[run]], step_sizes=steps[[run]], rng=np.random.default_rng(2), **arguments
        )
        np.testing.assert_allclose(together.models[run], alone.models[0], rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("loss", LOSSES)
def test_names_of_clusters_and_order_of_clients_are_irrelevant(loss):
    data, _, _, starts, steps = make_problem(loss)
    options = IfcaOptions(averaging="model", local_steps=4, shared=np.arange(10) < 2)
    starts[:, :, :2] = starts[:, :1, :2]
    arguments = {"step_sizes": steps / 4, "n_iterations": 10, "options": options, "loss": loss}
    plain = run_ifca_options(data=data, starts=starts, **arguments)
    for order in itertools.permutations(range(3)):
        other = run_ifca_options(data=data, starts=starts[:, order], **arguments)
        np.testing.assert_allclose(other.models, plain.models[:, order], rtol=0, atol=ROUNDING)
        np.testing.assert_array_equal(np.array(order)[other.labels], plain.labels)
    turn = np.random.default_rng(1).permutation(12)
    parts = [client(data, i) for i in turn]
    shuffled = ClientData(
        features=np.concatenate([x for x, _ in parts]),
        responses=np.concatenate([y for _, y in parts]),
        offsets=np.concatenate([[0], np.cumsum([len(y) for _, y in parts])]),
    )
    other = run_ifca_options(data=shuffled, starts=starts, **arguments)
    np.testing.assert_allclose(other.models, plain.models, rtol=0, atol=ROUNDING)
    np.testing.assert_array_equal(other.labels, plain.labels[:, turn])


@pytest.mark.parametrize("loss", LOSSES)
def test_ties_go_to_the_first_model_and_empty_clusters_stay(loss):
    rng = np.random.default_rng(5)
    data, _, _ = draw_data(rng, [10] * 4, 1, 3, loss=loss)
    starts = np.tile(rng.standard_normal(3), (1, 3, 1))
    result = run_ifca_options(
        data=data, starts=starts, step_sizes=np.array([0.1]), n_iterations=1,
        options=IfcaOptions(averaging="model", local_steps=2), loss=loss,
    )  # fmt: skip
    np.testing.assert_array_equal(result.labels, 0)
    np.testing.assert_array_equal(result.models[0, 1:], starts[0, 1:])
    assert (result.models[0, 0] != starts[0, 0]).any()


def test_sharing_all_coordinates_is_the_global_model(problem):
    data, _, _, starts, steps = problem
    starts = np.repeat(starts[:, :1], 3, axis=1)
    shared = IfcaOptions(averaging="model", local_steps=3, shared=np.ones(10, dtype=bool))
    one = IfcaOptions(averaging="model", local_steps=3)
    arguments = {"data": data, "step_sizes": steps / 4, "n_iterations": 10}
    ours = run_ifca_options(starts=starts, options=shared, **arguments)
    whole = run_global(starts=starts[:, 0], options=one, **arguments)
    np.testing.assert_allclose(
        ours.models, np.repeat(whole.models, 3, axis=1), rtol=0, atol=ROUNDING
    )


def test_shared_coordinates_take_the_step_of_the_first_model():
    """The gradients of (y - x theta)^2 at zero are -2 y x: -2 and -6 on the shared coordinate."""
    data = ClientData.equal(np.array([[[1.0, 1.0]], [[1.0, -1.0]]]), np.array([[1.0], [3.0]]))
    found = run_ifca_options(
        data=data, starts=np.zeros((1, 2, 2)), step_sizes=np.array([[0.25, 0.5]]), n_iterations=1,
        options=IfcaOptions(shared=np.array([True, False])), known_labels=np.array([0, 1]),
    )  # fmt: skip
    together = 0.25 / 2 * (2.0 + 6.0)
    expected = [[together, 0.25 / 2 * 2.0], [together, -0.5 / 2 * 6.0]]
    np.testing.assert_allclose(found.models[0], expected, rtol=1e-15)


def test_baselines_reach_the_minimisers_of_their_objectives():
    """Long runs: oracle and global solve pooled least squares."""
    rng = np.random.default_rng(7)
    data, _, owner = draw_data(rng, [30] * 6, 2, 4)
    x, y = data.features, data.responses
    rows = np.repeat(owner, 30)
    solve = lambda chosen: np.linalg.lstsq(x[chosen], y[chosen], rcond=None)[0]  # noqa: E731
    starts = rng.standard_normal((2, 2, 4))
    arguments = {"data": data, "step_sizes": np.array([0.3, 0.2]), "n_iterations": 600}
    oracle = run_oracle(owner=owner, starts=starts, **arguments)
    everyone = run_global(starts=starts[:, 0], **arguments)
    for run in range(2):
        for j in range(2):
            np.testing.assert_allclose(oracle.models[run, j], solve(rows == j), rtol=1e-9)
        np.testing.assert_allclose(everyone.models[run, 0], solve(rows >= 0), rtol=1e-9)
    # nothing but a model and a gradient for each of 6 clients
    assert (oracle.down == 6 * 4).all()
    assert (oracle.up == 6 * 4).all()


def fresh(loss, sizes=((6, 30, 1, 12), (9, 2, 25, 40)), seed=3):
    """Batches of four clients, another pair at each call, and the list of the batches drawn."""
    rng, drawn = np.random.default_rng(seed), []

    def draw(t):
        assert t == len(drawn)
        drawn.append(tuple(draw_data(rng, size, 2, 4, loss=loss)[0] for size in sizes))
        return drawn[-1]

    return draw, drawn


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("averaging", ["gradient", "model"])
def test_fresh_data_are_for_identities_first_and_then_for_descent(loss, averaging):
    """Iteration by iteration: labels by the first batch, a known-label step on the second."""
    rng = np.random.default_rng(6)
    draw, drawn = fresh(loss)
    options = IfcaOptions(averaging=averaging, local_steps=3 if averaging == "model" else 1)
    starts = rng.standard_normal((1, 2, 4))
    steps = np.array([0.1])
    result = run_resampled_ifca_options(
        draw=draw, starts=starts, step_sizes=steps, n_iterations=5, options=options, loss=loss
    )
    assert len(drawn) == 5
    models = starts
    for to_identify, to_descend in drawn:
        clients = [client(to_identify, i) for i in range(4)]
        labels = np.array([np.argmin([value(loss, *c, theta) for theta in models[0]])
                           for c in clients])  # fmt: skip
        models = run_ifca_options(
            data=to_descend, starts=models, step_sizes=steps, n_iterations=1, options=options,
            loss=loss, known_labels=labels,
        ).models  # fmt: skip
    np.testing.assert_allclose(result.models, models, rtol=0, atol=ROUNDING)
    np.testing.assert_array_equal(result.labels[0], labels)


def test_fresh_data_give_the_plain_kernels_runs():
    starts = np.random.default_rng(6).standard_normal((3, 2, 4))
    arguments = {"starts": starts, "step_sizes": np.array([0.05, 0.1, 200.0]), "n_iterations": 9}
    ours = run_resampled_ifca_options(draw=fresh(LOSSES[0])[0], **arguments)
    plain = run_resampled_ifca(draw=fresh(LOSSES[0])[0], **arguments)
    np.testing.assert_array_equal(ours.status, plain.status)
    assert (ours.status == [RunStatus.COMPLETED] * 2 + [RunStatus.DIVERGED]).all()
    np.testing.assert_allclose(ours.models[:2], plain.models[:2], rtol=0, atol=ROUNDING)
    np.testing.assert_array_equal(ours.labels, plain.labels)


def test_the_same_data_again_are_a_run_without_resampling(problem):
    data, _, _, starts, steps = problem
    options = IfcaOptions(averaging="model", local_steps=2, batch_size=3, n_participants=5)
    arguments = {"starts": starts, "step_sizes": steps, "n_iterations": 6, "options": options}
    again = run_resampled_ifca_options(
        draw=lambda _t: (data, data), rng=np.random.default_rng(2), **arguments
    )
    once = run_ifca_options(data=data, rng=np.random.default_rng(2), **arguments)
    np.testing.assert_array_equal(again.models, once.models)
    np.testing.assert_array_equal(again.participants, once.participants)


def test_batches_that_do_not_fit_are_refused(problem):
    data, _, _, starts, steps = problem
    fewer = ClientData(
        features=data.features, responses=data.responses, offsets=np.delete(data.offsets, 1)
    )
    narrow = ClientData(
        features=data.features[:, :3], responses=data.responses, offsets=data.offsets
    )
    good = {"starts": starts, "step_sizes": steps, "n_iterations": 3}
    for change, message in (
        ({"draw": lambda t: (data, fewer if t == 2 else data)}, "iteration 2 has m=11 clients"),
        ({"draw": lambda _t: (data, narrow)}, "must end in d=3"),
        ({"draw": lambda _t: (data, data), "n_iterations": 0}, "n_iterations=0"),
        ({"draw": lambda _t: (data, data), "loss": LogisticLoss(l2=1.0)}, r"must be -1 or \+1"),
    ):
        with pytest.raises(InvalidParameter, match=message):
            run_resampled_ifca_options(**(good | change))


def test_communication_by_hand():
    """Six clients, k = 3, d = 10, two of the coordinates shared."""
    assert floats_down(6, 3, 10, 0, False) == 180
    assert floats_down(6, 3, 10, 2, False) == 6 * (3 * 8 + 2)
    assert floats_down(6, 3, 10, 2, True) == 60
    assert floats_up(6, 3, 10, False) == 6 * 13
    assert floats_up(6, 3, 10, True) == 60


def test_stable_identities_save_what_is_sent_and_change_nothing(problem):
    """Starts near the truth: estimates never change, so four iterations at full price, 16 not."""
    data, _, _, starts, steps = problem
    arguments = {"data": data, "starts": starts, "step_sizes": steps, "n_iterations": 20}
    plain = run_ifca_options(**arguments)
    assert (plain.label_changes[1:] == 0).all()
    saving = run_ifca_options(options=IfcaOptions(stable_after=3), **arguments)
    np.testing.assert_array_equal(saving.models, plain.models)
    assert (saving.settled_at == 4).all()
    assert (saving.down.sum(axis=0) == 4 * 12 * 30 + 16 * 12 * 10).all()
    assert (saving.up.sum(axis=0) == 4 * 12 * 13 + 16 * 12 * 10).all()
    assert (plain.down.sum(axis=0) == 20 * 12 * 30).all()


@pytest.mark.parametrize("averaging", ["gradient", "model"])
@pytest.mark.parametrize(
    "loss", [SquaredLoss(scale=2.0), SquaredLoss(l2=1.0), LogisticLoss(l2=1.0)]
)
def test_divergence_is_a_status_and_leaves_the_other_runs_alone(averaging, loss):
    """The logistic loss is curved most by its penalty, of which a step of 80 is 40 times too long.

    Without one its gradients are bounded, so that it diverges by steps out of all bounds only.
    """
    data, _, _, starts, _ = make_problem(loss)
    options = IfcaOptions(averaging=averaging, n_participants=6)
    steps = np.array([0.05, 80.0, 1e300, 0.02])
    arguments = {"data": data, "n_iterations": 60, "options": options, "loss": loss}
    result = run_ifca_options(
        starts=starts, step_sizes=steps, rng=np.random.default_rng(3), **arguments
    )
    lost, kept = [1, 2], [0, 3]
    assert (result.status[lost] == RunStatus.DIVERGED).all()
    assert (result.status[kept] == RunStatus.COMPLETED).all()
    assert np.isfinite(result.models).all()
    assert (result.n_steps[kept] == 60).all()
    assert result.n_steps[2] == 0
    stopped = result.n_steps[1]
    assert (result.down[: stopped + 1, 1] > 0).all()
    assert (result.down[stopped + 1 :, 1] == 0).all()
    alone = run_ifca_options(
        starts=starts[kept], step_sizes=steps[kept], rng=np.random.default_rng(3), **arguments
    )
    np.testing.assert_allclose(result.models[kept], alone.models, rtol=0, atol=ROUNDING)


def test_the_bound_is_for_the_models_of_the_centre():
    """The models of two clients are beyond the bound, and their mean is not."""
    data = ClientData.equal(np.ones((2, 1, 1)), np.array([[1e13], [-1e13]]))
    arguments = {"starts": np.zeros((1, 1, 1)), "step_sizes": np.array([0.5]), "n_iterations": 1}
    options = IfcaOptions(averaging="model")
    both = run_ifca_options(data=data, options=options, **arguments)
    assert both.status[0] == RunStatus.COMPLETED
    alone = run_ifca_options(
        data=data, options=options, known_labels=np.arange(2),
        **arguments | {"starts": np.zeros((1, 2, 1))},
    )  # fmt: skip
    assert alone.status[0] == RunStatus.DIVERGED


@pytest.mark.parametrize("bound", [9.0, 10.0])
def test_the_baselines_take_a_bound(bound):
    """The step from 0 goes to the mean response, which is 9.5 for one model and for two."""
    data = ClientData.equal(np.ones((2, 1, 1)), np.full((2, 1), 9.5))
    arguments = {
        "data": data, "step_sizes": np.array([0.5]), "n_iterations": 1, "divergence_bound": bound,
        "options": IfcaOptions(averaging="model"),
    }  # fmt: skip
    ended = [RunStatus.DIVERGED] if bound == 9.0 else [RunStatus.COMPLETED]
    assert run_global(starts=np.zeros((1, 1)), **arguments).status.tolist() == ended
    oracle = run_oracle(owner=np.arange(2), starts=np.zeros((1, 2, 1)), **arguments)
    assert oracle.status.tolist() == ended


def test_local_models_take_no_room_for_predictions_of_other_clients_models():
    """A client of 2000 rows among 2000 of one: 32 MB if each model's predictions were stored."""
    sizes = np.append(np.ones(2000, dtype=int), 2000)
    data, _, _ = draw_data(np.random.default_rng(0), sizes, 1, 2)
    arguments = {
        "data": data, "starts": np.zeros((1, 2001, 2)), "step_sizes": np.array([0.1]),
        "n_iterations": 1, "known_labels": np.arange(2001),
        "options": IfcaOptions(averaging="model"),
    }  # fmt: skip
    run_ifca_options(**arguments)  # compiled
    tracemalloc.start()
    run_ifca_options(**arguments)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6


def test_options_hold_plain_numbers_whatever_type_they_were_given_in(problem):
    """An unsigned size made the kernel's indices floats, which it does not compile."""
    data, _, _, starts, steps = problem
    arguments = {"data": data, "starts": starts, "step_sizes": steps, "n_iterations": 2}
    plain = IfcaOptions(averaging="model", local_steps=2, batch_size=3, n_participants=5)
    typed = IfcaOptions(
        averaging="model", local_steps=np.uint64(2), batch_size=np.uint64(3),
        n_participants=np.int8(5), step_decay=np.float32(1.0),
    )  # fmt: skip
    assert typed == plain
    first, second = (
        run_ifca_options(options=o, rng=np.random.default_rng(1), **arguments)
        for o in (plain, typed)
    )
    np.testing.assert_array_equal(first.models, second.models)


def test_impossible_options_are_refused(problem):
    data, _, owner, starts, steps = problem
    for change, message in (
        ({"averaging": "median"}, "averaging='median'"),
        ({"local_steps": 2}, r"local_steps=2 must be an integer in \[1, 1\]"),
        ({"averaging": "model", "local_steps": 0}, "local_steps=0"),
        ({"step_decay": 0.0}, "step_decay=0"),
        ({"step_decay": 1.1}, r"step_decay=1\.1"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"batch_size": 2**63}, r"batch_size=.* must be an integer in \[1, 2\^63 - 1\]"),
        ({"step_decay": "0.5"}, "step_decay='0.5' must be a finite number"),
        ({"n_participants": 0}, "n_participants=0"),
        ({"stable_after": 0}, "stable_after=0"),
    ):
        with pytest.raises(InvalidParameter, match=message):
            IfcaOptions(**change)
    good = {"data": data, "starts": starts, "step_sizes": steps, "n_iterations": 1}
    for change, message in (
        ({"options": IfcaOptions(n_participants=13)}, "n_participants=13"),
        ({"options": IfcaOptions(n_participants=3)}, "rng=None"),
        ({"options": IfcaOptions(batch_size=3)}, "rng=None"),
        ({"rng": 5}, "rng=5 must be a numpy"),
        ({"options": IfcaOptions(shared=np.ones(3, dtype=bool))}, "shared of shape"),
        ({"options": IfcaOptions(shared=np.ones(10))}, "type float64"),
        ({"options": IfcaOptions(shared=np.ones(10, dtype=bool))}, "starts must be equal"),
        ({"known_labels": owner[:5]}, "known_labels.shape"),
        ({"known_labels": owner + 1}, r"must hold integers in \[0, 2\]"),
        ({"known_labels": owner + 0.5}, "must hold integers"),
        ({"starts": starts[:, :, :3]}, "must end in d=10"),
        ({"loss": "logistic"}, "loss='logistic' must be a SquaredLoss or LogisticLoss"),
        ({"loss": LogisticLoss(l2=0.1)}, r"responses\[0\]=.* must be -1 or \+1"),
    ):
        with pytest.raises(InvalidParameter, match=message):
            run_ifca_options(**(good | change))
    for wrong in (starts, "a", 1j * starts[:, 0]):
        with pytest.raises(InvalidParameter, match="starts"):
            run_global(data=data, starts=wrong, step_sizes=steps, n_iterations=1)


def test_a_run_is_observed_until_it_diverges_and_subsets_are_drawn_to_the_end(problem):
    data, _, _, starts, _ = problem
    told = []

    def observe(t, runs, models, labels):
        told.append((t, runs.tolist(), models.copy(), labels.copy()))

    run = {
        "data": data, "step_sizes": np.array([0.02, 1e14]),
        "options": IfcaOptions(n_participants=5),
    }  # fmt: skip
    whole = run_ifca_options(
        **run, starts=starts[:2], n_iterations=4, rng=np.random.default_rng(3), observe=observe
    )
    assert whole.status.tolist() == [RunStatus.COMPLETED, RunStatus.DIVERGED]
    assert [(t, runs) for t, runs, _, _ in told] == [(0, [0, 1]), *((t, [0]) for t in (1, 2, 3))]
    np.testing.assert_array_equal(told[0][2], starts[:2])
    for t in (1, 2, 3):  # what is told is where a run of t iterations ends
        part = run_ifca_options(
            **run, starts=starts[:2], n_iterations=t, rng=np.random.default_rng(3)
        )
        np.testing.assert_array_equal(told[t][2][0], part.models[0])
        np.testing.assert_array_equal(told[t][3][0], part.labels[0])
    run["step_sizes"] = np.array([1e14, 1e14])
    lost = run_ifca_options(
        **run, starts=starts[:2], n_iterations=4, rng=np.random.default_rng(3), observe=observe
    )
    assert (lost.status == RunStatus.DIVERGED).all()
    np.testing.assert_array_equal(lost.participants, whole.participants)
    assert [t for t, *_ in told[4:]] == [0]
