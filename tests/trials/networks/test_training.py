"""Networks in PyTorch: batched rounds against the algorithm one client at a time, and options."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: extra networks")

from tests.trials.networks.small import drawn_federation  # noqa: E402
from trials.checks import InvalidParameter  # noqa: E402
from trials.ifca.functions import Model, run_ifca_functions  # noqa: E402
from trials.models.network import network_gradient, network_loss  # noqa: E402
from trials.networks import training  # noqa: E402
from trials.networks.architectures import convolutional_network, dense_network  # noqa: E402
from trials.networks.federations import Federation  # noqa: E402
from trials.networks.local_steps import as_functions, batched, in_span, one_by_one  # noqa: E402
from trials.networks.training import (  # noqa: E402
    Options,
    accuracies_alone,
    choose_device,
    client_losses,
    cluster_models,
    identity_accuracy,
    load_state,
    local_accuracies,
    one_thread,
    served,
    train,
    train_alone,
    train_best,
    train_kept,
)

DENSE = dense_network(side=8, hidden=6)
OPTIONS = Options(k=2, rounds=4, step_size=0.2, local_steps=3, chunk=3)


@pytest.fixture
def federation():
    return drawn_federation(m=8, n=5)


def tree(weights):
    """The parameters of the network by hand, for those of PyTorch."""
    w1, b1, w2, b2 = (weights[name].double().numpy() for name in DENSE.names)
    return {"W1": w1.T, "b1": b1, "W2": w2.T, "b2": b2}


def run(federation, options, **given):
    return train(network=DENSE, federation=federation, options=options, seed=1, **given)


def close(one, two, **tolerance):
    for left, right in zip(one.models, two.models, strict=True):
        for name in left:
            torch.testing.assert_close(left[name], right[name], **tolerance)


@pytest.mark.parametrize(
    ("averaging", "steps", "known"),
    [("model", 3, False), ("gradient", 1, False), ("model", 2, True)],
)
def test_rounds_are_those_of_the_algorithm_one_client_at_a_time(
    federation, averaging, steps, known
):
    """The other side has its own gradients, by hand, and its own loop, in double precision."""
    options = replace(OPTIONS, averaging=averaging, local_steps=steps)
    labels = federation.clusters % 2 if known else None
    start = run(federation, options, until=0)
    found = run(federation, options, known_labels=labels)
    x, y = federation.batch(np.arange(federation.m))
    clients = [(a.reshape(5, -1).astype(float), b) for a, b in zip(x, y, strict=True)]
    model = Model(init=lambda _rng: None, loss=network_loss, gradient=network_gradient)
    other = run_ifca_functions(
        model=model, clients=clients, k=2, step_size=0.2, n_iterations=4, averaging=averaging,
        local_steps=steps, starts=[tree(each) for each in start.models], known_labels=labels,
        rng=np.random.default_rng(0),
    )  # fmt: skip
    np.testing.assert_array_equal(found.labels, other.labels)
    np.testing.assert_allclose(found.losses, other.losses, rtol=1e-5)
    for mine, theirs in zip(found.models, other.models, strict=True):
        for name, leaf in tree(mine).items():
            np.testing.assert_allclose(leaf, theirs[name], atol=2e-6)


@pytest.mark.parametrize(("known", "convolutional"), [(False, True), (True, True), (False, False)])
def test_networks_go_through_the_functions_on_trees_a_client_at_a_time(
    federation, known, convolutional
):
    """The same rounds.  Dense networks have gradients by hand as a third side."""
    network = DENSE
    if convolutional:
        network = convolutional_network(channels=1, side=8, first=2, second=3, hidden=4)
    labels = federation.clusters if known else None
    given = {"network": network, "federation": federation, "options": OPTIONS, "seed": 1}
    start, found = train(**given, until=0), train(**given, known_labels=labels)
    clients = list(zip(*federation.batch(np.arange(federation.m)), strict=True))
    model = as_functions(network)
    other = run_ifca_functions(
        model=model, clients=clients, k=2, step_size=0.2, n_iterations=4, local_steps=3,
        starts=[{name: leaf.numpy() for name, leaf in each.items()} for each in start.models],
        known_labels=labels, rng=np.random.default_rng(0),
    )  # fmt: skip
    np.testing.assert_array_equal(found.labels, other.labels)
    np.testing.assert_allclose(found.losses, other.losses, rtol=1e-5)
    for mine, theirs in zip(found.models, other.models, strict=True):
        for name in network.names:
            np.testing.assert_allclose(mine[name], theirs[name], atol=5e-6)
    # the parameters are of single precision, and so they stay
    random = model.init(np.random.default_rng(0))
    for parameters in (random, *other.models):
        assert {leaf.dtype for leaf in parameters.values()} == {np.dtype(np.float32)}
    assert {name: leaf.shape for name, leaf in random.items()} == {
        name: tuple(leaf.shape) for name, leaf in start.models[0].items()
    }
    if not convolutional:
        x, y = clients[0]
        by_hand = network_gradient(tree(network.init(5)), (x.reshape(5, -1).astype(float), y))
        mine = model.gradient({n: leaf.numpy() for n, leaf in network.init(5).items()}, (x, y))
        np.testing.assert_allclose(mine[DENSE.names[0]].T, by_hand["W1"], atol=1e-6)


def test_steps_in_the_span_of_the_images_are_the_batched_steps(federation):
    x, y = (torch.from_numpy(each) for each in federation.batch(np.arange(8)))
    start = DENSE.init(0)
    one, many = in_span(DENSE, start, x, y, 0.3, 7), batched(DENSE, start, [x] * 7, [y] * 7, 0.3)
    for name in start:
        torch.testing.assert_close(one[name], many[name].sum(dim=0), rtol=1e-4, atol=1e-5)


def test_one_client_after_the_other_takes_the_batched_steps():
    """From one start, and from starts of their own.  Ties of a maximum at zero move nothing."""
    network = convolutional_network(channels=3, side=8, first=2, second=3, hidden=4)
    rng = np.random.default_rng(2)
    x = [torch.from_numpy(rng.random((3, 5, 3, 8, 8), dtype=np.float32)) for _ in range(4)]
    y = [torch.from_numpy(rng.integers(0, 10, (3, 5))) for _ in range(4)]
    start = network.init(0)
    kept = {name: leaf.clone() for name, leaf in start.items()}
    one, many = (take(network, start, x[:2], y[:2], 0.3) for take in (one_by_one, batched))
    for _ in range(2):
        for name in start:
            torch.testing.assert_close(one[name], many[name], rtol=1e-4, atol=1e-6)
        assert not any(leaf.requires_grad for leaf in one.values())
        one, many = (
            take(network, each, x[2:], y[2:], 0.3)
            for take, each in ((one_by_one, one), (batched, many))
        )
    assert all(torch.equal(start[name], kept[name]) for name in start)


@pytest.mark.parametrize("convolutional", [False, True])
def test_rounds_read_a_chunk_of_clients_at_a_time_and_each_client_once(convolutional):
    """So memory does not grow with the clients.  IFCA and the oracle read as often."""
    federation = drawn_federation(m=8, n=5)
    network = DENSE
    if convolutional:
        network = convolutional_network(channels=1, side=8, first=2, second=3, hidden=4)
    asked = []

    class Watched(Federation):
        def batch(self, clients, columns=None):
            asked.append(clients)
            return super().batch(clients, columns)

    watched = Watched(**vars(federation))
    for labels in (None, federation.clusters):
        asked.clear()
        train(network=network, federation=watched, options=replace(OPTIONS, rounds=2), seed=1,
              known_labels=labels)  # fmt: skip
        assert max(map(len, asked)) == OPTIONS.chunk
        assert np.concatenate(asked).tolist() == [*range(8), *range(8)]
    asked.clear()
    train_alone(network, watched, np.arange(8), OPTIONS, seed=1)
    assert max(map(len, asked)) == OPTIONS.chunk


@pytest.mark.parametrize("convolutional", [False, True])
def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(federation, tmp_path, convolutional):
    network = DENSE
    if convolutional:
        network = convolutional_network(channels=1, side=8, first=2, second=3, hidden=4)
    options = replace(OPTIONS, batch_size=3, participants=5, step_decay=0.9, crop=1, flip=True,
                      local_steps=2, shared=network.all_but_last)  # fmt: skip
    given = {"network": network, "federation": federation, "options": options, "seed": 3}
    whole = train(**given)
    train(**given, until=2).save(tmp_path / "state.npz")
    state = load_state(tmp_path / "state.npz", network)
    assert state.round == 2
    again = train(**given, state=state)
    close(whole, again, rtol=0.0, atol=0.0)
    assert whole.losses == again.losses
    assert (whole.labels == again.labels).all()
    assert len(whole.floats) == 4
    others = (dense_network(side=8, hidden=7), convolutional_network(channels=1, side=8, first=3))
    for other in others:
        with pytest.raises(InvalidParameter, match="holds no state of this network"):
            load_state(tmp_path / "state.npz", other)


def test_a_kept_run_goes_on_from_its_last_whole_round(federation, tmp_path, monkeypatch):
    """It is stopped in the middle of its third round, and does two rounds more, not four."""
    given = {"network": DENSE, "federation": federation, "options": OPTIONS, "seed": 3}
    whole, done, real = train(**given), [], training._round

    def counted(*arguments):
        done.append(arguments[4])
        if len(done) == 3:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(training, "_round", counted)
    with pytest.raises(KeyboardInterrupt):
        train_kept(tmp_path / "states", **given)
    again = train_kept(tmp_path / "states", **given)
    assert done == [0, 1, 2, 2, 3]
    close(whole, again, rtol=0.0, atol=0.0)
    assert whole.losses == again.losses
    train_kept(tmp_path / "states", **given)
    assert len(done) == 5, "a finished run is read"
    assert [path.suffix for path in (tmp_path / "states").iterdir()] == [".npz"]


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 4},
        {"options": replace(OPTIONS, step_size=0.1)},
        {"network": dense_network(side=8, hidden=7)},
        {"known_labels": np.zeros(8, dtype=np.int64)},
        {"federation": drawn_federation(m=6, n=5)},
        {"federation": replace(drawn_federation(m=8, n=5), clusters=np.arange(8) % 2)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_run_does_not_go_on_from_a_kept_state(federation, tmp_path, change):
    given = {"network": DENSE, "federation": federation, "options": OPTIONS, "seed": 3}
    train_kept(tmp_path, **given)
    found = train_kept(tmp_path, **{**given, **change})
    whole = train(**{**given, **change})
    close(found, whole, rtol=0.0, atol=0.0)
    assert found.identities == whole.identities
    assert len(list(tmp_path.iterdir())) == 2


def test_the_device_is_the_one_asked_for_or_the_gpu_that_is_there(monkeypatch):
    for there, wanted in ((True, "cuda"), (False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        assert choose_device() == wanted
    assert choose_device("cpu") == "cpu"
    for odd in ("cup", "cuda:77"):
        with pytest.raises(InvalidParameter, match=f"device='{odd}' must be one of PyTorch's"):
            choose_device(odd)


def test_numbers_do_not_depend_on_how_many_clients_are_in_memory(federation):
    close(
        run(federation, OPTIONS), run(federation, replace(OPTIONS, chunk=8)), rtol=1e-4, atol=1e-6
    )


def test_all_models_start_with_the_shared_layers_of_the_first(federation):
    """All else of their starts is that of models that share nothing, which differ."""
    shared, options = DENSE.all_but_last, replace(OPTIONS, k=3)
    alone = run(federation, options, until=0).models
    found = run(federation, replace(options, shared=shared), until=0).models
    for j, model in enumerate(found):
        for name in DENSE.names:
            assert torch.equal(model[name], alone[0 if name in shared else j][name])
            assert j == 0 or not torch.equal(alone[0][name], alone[j][name])


def test_shared_layers_are_equal_and_their_floats_are_sent_down_once(federation):
    shared = DENSE.all_but_last
    found = run(federation, replace(OPTIONS, shared=shared))
    one, two = found.models
    assert all(torch.equal(one[name], two[name]) for name in shared)
    assert not torch.equal(one[DENSE.names[-1]], two[DENSE.names[-1]])
    private, common = 6 * 10 + 10, 64 * 6 + 6
    assert found.floats == [8 * (2 * private + common) + 8 * (private + common + 2)] * 4
    pooled = run(federation, replace(OPTIONS, k=1), known_labels=np.zeros(8, int))
    assert pooled.floats == [2 * 8 * (private + common)] * 4


def test_a_model_without_clients_stays_and_absent_clients_are_not_asked(federation):
    alone = run(federation, OPTIONS, known_labels=np.zeros(8, int))
    start = run(federation, OPTIONS, until=0)
    assert all(torch.equal(alone.models[1][name], start.models[1][name]) for name in DENSE.names)
    few = run(federation, replace(OPTIONS, participants=2, rounds=1))
    assert (few.labels >= 0).sum() == 2


def test_the_best_of_several_starts_has_the_smallest_loss_over_all_clients(federation):
    runs, losses = [], []

    def keep(state, loss):
        runs.append(state)
        losses.append(loss)

    best = train_best(network=DENSE, federation=federation, options=OPTIONS, seed=1, starts=4,
                      tell=keep)  # fmt: skip
    close(runs[0], run(federation, OPTIONS), rtol=0.0, atol=0.0)
    assert len(set(losses)) == 4
    chosen = runs[int(np.argmin(losses))]
    close(best, chosen, rtol=0.0, atol=0.0)
    assert best.floats == [sum(each) for each in zip(*(r.floats for r in runs), strict=True)]
    own = client_losses(DENSE, federation, best.models, np.arange(8), OPTIONS).min(axis=1)
    assert own.mean() == pytest.approx(min(losses))


def test_models_alone_are_the_steps_of_one_client(federation):
    """Against a federation of that client alone, whose rounds end in the same model."""
    clients = np.array([2, 5, 6, 7])
    alone = train_alone(DENSE, federation, clients, OPTIONS, seed=1)
    start = DENSE.init(int(np.random.SeedSequence([1, 3]).generate_state(1)[0]))
    for i, client in enumerate(clients):
        x, y = (torch.from_numpy(each) for each in federation.batch(np.array([client])))
        own = in_span(DENSE, start, x, y, OPTIONS.step_size, OPTIONS.rounds * OPTIONS.local_steps)
        for name in own:
            torch.testing.assert_close(alone[name][i], own[name], rtol=1e-4, atol=1e-5)
    no_clusters = replace(federation, clusters=np.full(8, -1))
    for tests in (federation, no_clusters):
        scores = accuracies_alone(DENSE, alone, clients, tests, tests, OPTIONS)
        for i, client in enumerate(clients):
            same = tests.clusters == tests.clusters[client]
            inside = np.array([client]) if tests is no_clusters else np.flatnonzero(same)
            x, y = (torch.from_numpy(each) for each in federation.batch(inside))
            model = {name: leaf[i] for name, leaf in alone.items()}
            right = DENSE.scores(model, x.flatten(0, 1)).argmax(dim=1) == y.flatten()
            assert scores[i] == pytest.approx(float(right.float().mean()))


@pytest.mark.parametrize(("crop", "flip"), [(0, True), (2, False), (1, True)])
def test_a_drawn_batch_holds_every_move_and_mirror_of_an_image_and_nothing_else(crop, flip):
    """Of one image a client, 4,000 times: one of 25 pictures is missed with probability 1e-69."""
    one = drawn_federation(m=2, n=1)
    options = replace(OPTIONS, batch_size=4000, crop=crop, flip=flip)
    x, _ = training._drawn_batch(one, options, np.arange(2), np.random.default_rng(0))
    for i in range(2):
        image = one.batch(np.array([i]))[0][0, 0]
        pictures = set()
        for turned in (image, image[..., ::-1])[: 1 + flip]:
            wide = np.pad(turned, ((0, 0), (crop, crop), (crop, crop)))
            for top in range(2 * crop + 1):
                for left in range(2 * crop + 1):
                    pictures.add(wide[:, top : top + 8, left : left + 8].tobytes())
        assert {each.tobytes() for each in x[i].numpy()} == pictures
        assert len(pictures) == (2 * crop + 1) ** 2 * (1 + flip)


def test_every_round_draws_participants_of_its_own(federation):
    """Three of eight: the same three in all of four rounds would be no draw."""
    options = replace(OPTIONS, participants=3)
    asked = [
        set(np.flatnonzero(run(federation, options, until=t).labels >= 0)) for t in range(1, 5)
    ]
    assert len(asked[0]) == 3 < len(asked[-1])
    assert all(before <= after for before, after in itertools.pairwise(asked))
    assert all(len(after - before) <= 3 for before, after in itertools.pairwise(asked))


def test_models_of_two_places_are_two_clusters():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 12)
    models = {
        name: torch.from_numpy(5.0 * truth.reshape(-1, *[1] * leaf.dim())
                               + rng.standard_normal((12, *leaf.shape)))
        for name, leaf in DENSE.init(0).items()
    }  # fmt: skip
    assert identity_accuracy(cluster_models(models, 2, seed=0), truth, 2) == 1.0
    assert (cluster_models(models, 1, seed=0) == 0).all()


def test_a_centre_is_subtracted_from_every_pixel():
    sizes = {"channels": 1, "side": 8, "first": 2, "second": 3, "hidden": 4}
    plain, centred = (convolutional_network(**sizes, centre=c) for c in (0.0, 0.25))
    x = torch.rand(3, 1, 8, 8)
    weights = plain.init(0)
    torch.testing.assert_close(centred.scores(weights, x), plain.scores(weights, x - 0.25))


def test_step_sizes_decay_by_round(federation):
    """With a decay so strong that nothing moves after the first round."""
    first = run(federation, replace(OPTIONS, rounds=1))
    close(first, run(federation, replace(OPTIONS, step_decay=1e-30)), rtol=1e-6, atol=1e-7)


def test_identities_are_matched_up_to_names():
    truth = np.array([0, 0, 1, 1, 2, 2])
    assert identity_accuracy((truth + 1) % 3, truth, 3) == 1.0
    assert identity_accuracy(np.zeros(6, int), truth, 3) == pytest.approx(1 / 3)
    assert identity_accuracy(np.array([3, 3, 1, 1, -1, 2]), truth, 4) == pytest.approx(5 / 6)
    assert np.isnan(identity_accuracy(truth, np.full(6, -1), 3))


def test_known_rotations_are_better_than_one_model_and_than_models_alone():
    """Whether IFCA finds the rotations depends on its start.  That they help does not."""
    pytest.importorskip("PIL")
    from trials.networks.drawn import glyphs
    from trials.networks.federations import rotated

    rng = np.random.default_rng(7)
    one, two = glyphs(n=400, rng=rng), glyphs(n=80, rng=rng)
    clients, test = (
        rotated(pixels=each.pixels, labels=each.labels, k=2, m=m, n=40, rng=rng)
        for each, m in ((one, 20), (two, 4))
    )
    network = dense_network(hidden=30)
    options = Options(k=2, rounds=15, step_size=0.2, local_steps=10)
    found = [
        served(
            network,
            train(network=network, federation=clients, options=each, seed=2,
                  known_labels=labels).models,
            test, each,
        ).mean()
        for each, labels in (
            (options, clients.clusters), (replace(options, k=1), np.zeros(20, int)),
        )
    ]  # fmt: skip
    alone = local_accuracies(network, clients, test, np.array([0, 19]), options, seed=2).mean()
    assert found[0] > found[1] + 0.03
    assert found[0] > alone + 0.03


def test_the_number_of_threads_is_that_of_before():
    before = torch.get_num_threads()
    with one_thread():
        assert torch.get_num_threads() == 1
        assert torch.are_deterministic_algorithms_enabled()
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "k=0"),
        ({"step_size": 0.0}, "step_size"),
        ({"averaging": "mean"}, "averaging='mean'"),
        ({"averaging": "gradient"}, "local_steps=3 must be 1"),
        ({"participants": 9}, "participants=9 must be at most 8"),
        ({"shared": ("W1",)}, "shared must name parameters"),
        ({"step_decay": 1.5}, "step_decay"),
        ({"step_size": 1e30}, "the run diverged in round"),
    ],
)
def test_impossible_options_are_refused_in_one_line(federation, change, message):
    with pytest.raises(InvalidParameter, match=message) as refused:
        run(federation, replace(OPTIONS, **change))
    assert "\n" not in str(refused.value)


def test_a_state_of_other_clients_is_refused(federation):
    state = run(federation, OPTIONS, until=1)
    with pytest.raises(InvalidParameter, match="state must have k=2 models and 4 identities"):
        run(drawn_federation(m=4, n=5), OPTIONS, state=state)
