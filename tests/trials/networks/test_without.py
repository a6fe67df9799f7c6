"""Without PyTorch: nothing loads it before a network is asked for, and the message is one line."""

import contextlib
import itertools
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from trials.checks import InvalidParameter
from trials.networks import architectures, training

ROOT = Path(__file__).parents[3]


def test_the_program_and_its_networks_load_neither_torch_nor_pyarrow_nor_pillow():
    folder = ROOT / "trials" / "networks"
    names = sorted(path.stem for path in folder.glob("[a-z]*.py"))
    assert "training" in names
    program = (
        f"import importlib, sys, verify.cli\nfor name in {names}:\n"
        "    importlib.import_module('trials.networks.' + name)\n"
        "print([m for m in ('torch', 'pyarrow', 'PIL', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_network_without_torch_is_refused_in_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InvalidParameter, match=r"pip install 'cfl-verify\[networks\]'"):
        architectures.dense_network()


@pytest.mark.parametrize(
    ("labels", "clusters", "k", "expected"),
    [
        ([-1, 0, 1], [0, 0, 1], 2, 2 / 3),  # never asked: no identity is right
        ([-1, -1], [0, 1], 2, 0.0),
        ([2, 2, 0, 1], [0, 0, 1, 1], 3, 3 / 4),  # more models than clusters
        ([0, 0, 0, 0], [2, 1, 0, 2], 1, 1 / 2),  # and fewer
        ([1, 0, 2], [0, 1, 2], 3, 1.0),
    ],
)
def test_identities_are_right_up_to_the_names_of_the_models(labels, clusters, k, expected):
    found = training.identity_accuracy(np.array(labels), np.array(clusters), k)
    assert found == pytest.approx(expected, abs=1e-15)
    assert math.isnan(training.identity_accuracy(np.array(labels), np.full(len(labels), -1), k))


class Leaf:
    """Parameters of models, as `cluster_models` reads them: in the place of a tensor of PyTorch."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def cpu(self):
        return self

    def numpy(self):
        return self.values


def spread_of(points, labels):
    return sum(
        ((points[labels == j] - points[labels == j].mean(axis=0)) ** 2).sum()
        for j in np.unique(labels)
    )


def test_of_several_starts_of_k_means_the_one_of_the_least_spread_counts():
    """The starts follow each other in one stream: the first three of ten are those of three.

    The spread of a start is about its last centres, which the means of its labels may improve a
    little.
    """
    n_better = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        leaves = rng.standard_normal((14, 2, 1)), rng.standard_normal((14, 1))
        points = np.concatenate([leaf.reshape(14, -1) for leaf in leaves], axis=1)
        models = {name: Leaf(leaf) for name, leaf in zip("ab", leaves, strict=True)}
        spreads = [
            spread_of(points, training.cluster_models(models, 4, seed=seed, n_init=n_init))
            for n_init in range(1, 8)
        ]
        assert all(after <= before * 1.02 for before, after in itertools.pairwise(spreads))
        n_better += spreads[-1] < 0.95 * spreads[0]
    assert n_better >= 2


def test_a_file_that_is_no_whole_state_is_refused_in_one_line(tmp_path, monkeypatch):
    """Every cut, each byte of the zip file's ends, single arrays, and other parameters."""
    weights = {"w": np.ones((2, 3)), "b": np.zeros(2)}
    network = SimpleNamespace(names=("w", "b"), init=lambda seed: weights)
    monkeypatch.setattr(
        training, "load_torch", lambda: SimpleNamespace(from_numpy=lambda array: array)
    )
    path = tmp_path / "state.npz"
    records = {"labels": np.array([0, 1, 0]), "losses": [0.5], "identities": [1.0], "floats": [40]}
    models = {f"model {j} {name}": leaf for j in range(2) for name, leaf in weights.items()}
    np.savez(path, **records, **models)
    state = training.load_state(path, network)
    assert (len(state.models), state.labels.tolist(), state.floats) == (2, [0, 1, 0], [40])
    whole = path.read_bytes()
    broken = [whole[:size] for size in range(0, len(whole), 97)]
    for at in (*range(30), *range(len(whole) - 22, len(whole) - 2)):
        flipped = bytearray(whole)
        flipped[at] ^= 0xFF
        broken.append(bytes(flipped))
    stray = bytearray(whole)
    stray[200] ^= 0xFF  # inside the first array's header or numbers
    for content in (*broken, bytes(stray), b"", b"no state"):
        path.write_bytes(content)
        with contextlib.suppress(InvalidParameter):  # some fields of a zip file are not read
            again = training.load_state(path, network)
            assert again.labels.tolist() == state.labels.tolist()
    for content in (broken[3], bytes(stray), b"", b"no state"):
        path.write_bytes(content)
        with pytest.raises(InvalidParameter, match="holds no state of this network") as refused:
            training.load_state(path, network)
        assert "\n" not in str(refused.value)
    np.save(tmp_path / "one.npy", np.zeros(3))
    np.savez(tmp_path / "bare.npz", **records)
    np.savez(tmp_path / "shape.npz", **records, **{**models, "model 1 w": np.ones((3, 2))})
    np.savez(tmp_path / "part.npz", **records, **{"model 0 b": np.zeros(2)})
    for name in ("one.npy", "bare.npz", "shape.npz", "part.npz", "nothing.npz"):
        with pytest.raises(InvalidParameter, match=f"{name}: holds no state of this network"):
            training.load_state(tmp_path / name, network)


class Numbers(Leaf):
    """Parameters that are only counted."""

    def numel(self):
        return self.values.size


def test_all_models_start_with_the_shared_parameters_of_the_first():
    def init(seed):
        return {name: (name, seed) for name in ("w", "b")}

    network = SimpleNamespace(names=("w", "b"), init=init)
    options = training.Options(k=4, rounds=1, shared=("w",))
    found = training._starts(network, options, 7)
    seeds = {model["b"][1] for model in found}
    assert len(seeds) == 4
    assert found == [{"w": ("w", found[0]["b"][1]), "b": model["b"]} for model in found]
    assert {
        model["w"][1] for model in training._starts(network, replace(options, shared=()), 7)
    } == seeds


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1, -1], "known_labels"),  # no truth: the last model would get all, and nobody's step
        ([0, 1, 2], "known_labels"),
        ([0, 1], r"known_labels.shape=\(2,\) must be \(3,\)"),
        ([0.5, 1, 0], "known_labels"),
    ],
)
def test_known_identities_are_numbers_of_models(labels, message):
    network = SimpleNamespace(names=("w",), init=lambda seed: {"w": seed})
    given = {"network": network, "federation": SimpleNamespace(m=3), "seed": 0, "until": 0}
    options = training.Options(k=2, rounds=1)
    with pytest.raises(InvalidParameter, match=message):
        training.train(**given, options=options, known_labels=np.array(labels))


@pytest.mark.parametrize("known", [False, True])
def test_a_round_asks_the_participants_a_chunk_at_a_time(monkeypatch, known):
    """An answer is made of a client's number.  The clients that are not drawn keep their labels."""
    visited, stepped = [], []

    class Visit:
        def __init__(self, network, federation, options, models, clients):
            self.clients = clients
            visited.append(clients.tolist())

        def ask(self, labels):
            if known:
                assert labels.tolist() == (self.clients % 3).tolist()
            else:
                assert labels is None
            return self.clients % 3, self.clients**2.0

        def step(self, labels, step, rng, sums):
            stepped.append((labels.tolist(), step))

    monkeypatch.setattr(training, "_Visit", Visit)
    monkeypatch.setattr(training, "load_torch", lambda: SimpleNamespace(zeros_like=lambda leaf: 0))
    monkeypatch.setattr(training, "_averaged", lambda options, m, models, sums, labels: models)
    m, p = 20, 7
    options = training.Options(
        k=3, rounds=2, participants=p, chunk=3, step_size=0.5, step_decay=0.25
    )
    models = [{"w": Numbers(np.zeros(5)), "b": Numbers(np.zeros(2))} for _ in range(3)]
    before = np.arange(m) % 3 if known else np.full(m, -1)
    state = training.State(models=models, labels=before)
    federation = SimpleNamespace(m=m, clusters=np.arange(m) % 3)
    for t in range(2):
        visited.clear()
        stepped.clear()
        before = state.labels
        state = training._round(None, federation, options, 1, t, state, not known)
        assert [len(clients) for clients in visited] == [3, 3, 1]
        subset = [client for clients in visited for client in clients]
        assert len(set(subset)) == p
        assert subset != list(range(p))
        assert stepped == [([i % 3 for i in clients], 0.5 * 0.25**t) for clients in visited]
        drawn = np.isin(np.arange(m), subset)
        expected = np.where(drawn, np.arange(m) % 3, before)
        assert state.labels.tolist() == expected.tolist()
        assert state.losses[t] == pytest.approx(np.mean(np.square(subset)))
        down, up = (7, 7) if known else (3 * 7, 7 + 3)
        assert state.floats[t] == p * (down + up)
