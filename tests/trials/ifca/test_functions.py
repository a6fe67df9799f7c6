"""IFCA for models given as functions: against the linear kernels, and a network on digits."""

from __future__ import annotations

import importlib.util
from collections import OrderedDict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import check_grad

from trials.checks import InvalidParameter
from trials.ifca.functions import Model, run_ifca_functions, tree_map
from trials.ifca.options import IfcaOptions, run_ifca_options
from trials.models.clients import ClientData
from trials.models.network import accuracy, network_gradient, network_loss, random_network
from trials.models.run_status import RunStatus

LINEAR = Model(
    init=lambda rng: {"slope": rng.standard_normal(3), "rest": [rng.standard_normal(2)]},
    loss=lambda theta, data: float(np.mean((data[1] - data[0] @ flat(theta)) ** 2)),
    gradient=lambda theta, data: unflat(
        -2.0 / len(data[1]) * data[0].T @ (data[1] - data[0] @ flat(theta))
    ),
)


def flat(theta):
    return np.concatenate([theta["slope"], theta["rest"][0]])


def unflat(vector):
    return {"slope": vector[:3], "rest": [vector[3:]]}


@pytest.fixture
def linear():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((12, 7, 5)), rng.standard_normal((12, 7))
    return ClientData.equal(x, y), list(zip(x, y, strict=True)), rng.standard_normal((3, 5))


@pytest.mark.parametrize(
    ("averaging", "local_steps", "known"),
    [("gradient", 1, False), ("model", 1, False), ("model", 4, False), ("model", 2, True)],
)
def test_linear_models_as_functions_run_as_in_the_compiled_kernel(
    linear, averaging, local_steps, known
):
    data, clients, start = linear
    owner = np.arange(12) % 3 if known else None
    compiled = run_ifca_options(
        data=data, starts=start[None], step_sizes=[0.05], n_iterations=15, known_labels=owner,
        options=IfcaOptions(averaging=averaging, local_steps=local_steps),
    )  # fmt: skip
    found = run_ifca_functions(
        model=LINEAR, clients=clients, k=3, step_size=0.05, n_iterations=15, known_labels=owner,
        starts=[unflat(row) for row in start], averaging=averaging, local_steps=local_steps,
        rng=np.random.default_rng(1),
    )  # fmt: skip
    models = np.array([flat(theta) for theta in found.models])
    np.testing.assert_allclose(models, compiled.models[0], rtol=1e-10)
    np.testing.assert_array_equal(found.labels, compiled.labels[0])
    np.testing.assert_array_equal(found.label_changes, compiled.label_changes[:, 0])


def test_a_subset_moves_as_in_the_compiled_kernel(linear):
    """The first subset comes from the same stream in both."""
    data, clients, start = linear
    compiled = run_ifca_options(
        data=data, starts=start[None], step_sizes=[0.05], n_iterations=4,
        options=IfcaOptions(n_participants=5), rng=np.random.default_rng(2),
    )  # fmt: skip
    seen = []
    found = run_ifca_functions(
        model=LINEAR, clients=clients, k=3, step_size=0.05, n_iterations=4, n_participants=5,
        starts=[unflat(row) for row in start], averaging="gradient",
        rng=np.random.default_rng(2), watch=lambda t, _models, _labels: seen.append(t),
    )  # fmt: skip
    np.testing.assert_allclose([flat(x) for x in found.models], compiled.models[0], rtol=1e-10)
    np.testing.assert_array_equal(found.labels, compiled.labels[0])
    assert seen == [0, 1, 2, 3]


def test_a_model_without_clients_stays(linear):
    _, clients, start = linear
    far = [unflat(start[0]), unflat(start[1] + 1e3)]
    found = run_ifca_functions(
        model=LINEAR, clients=clients, k=2, step_size=0.01, n_iterations=3, starts=far,
        rng=np.random.default_rng(3),
    )  # fmt: skip
    np.testing.assert_array_equal(flat(found.models[1]), start[1] + 1e3)
    assert (np.diff(found.losses) < 0).all()


def test_a_run_that_diverges_ends_with_its_last_models(linear):
    """The steps grow without limit, and the models of the last bounded step are kept."""
    _, clients, start = linear
    run = {
        "model": LINEAR, "clients": clients, "k": 3, "rng": np.random.default_rng(4),
        "starts": [unflat(row) for row in start], "step_size": 1e3,
    }  # fmt: skip
    found = run_ifca_functions(**run, n_iterations=30)
    assert found.status is RunStatus.DIVERGED
    taken = int(np.isfinite(found.losses).sum())
    assert 0 < taken < 30
    again = run_ifca_functions(**run, n_iterations=taken)
    assert again.status is RunStatus.COMPLETED
    for theta, same in zip(found.models, again.models, strict=True):
        np.testing.assert_array_equal(flat(theta), flat(same))


@pytest.mark.parametrize(("bound", "kept"), [(12.9, 0.0), (13.1, 1.0)])
def test_the_bound_is_for_the_norm_of_all_arrays_of_a_model(bound, kept):
    """One step from zero ends at arrays of norms 5 and 12, together 13."""
    ends = {"a": np.array([3.0, 4.0]), "b": np.array([12.0])}
    found = run_ifca_functions(
        model=Model(
            init=lambda _: {"a": np.zeros(2), "b": np.zeros(1)}, loss=lambda *_: 0.0,
            gradient=lambda *_: {name: -end for name, end in ends.items()},
        ),
        clients=[None], k=1, step_size=1.0, n_iterations=1, rng=np.random.default_rng(0),
        divergence_bound=bound,
    )  # fmt: skip
    assert found.models[0]["a"].tolist() == [3.0 * kept, 4.0 * kept]
    assert found.models[0]["b"].tolist() == [12.0 * kept]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "k=0"),
        ({"clients": []}, "clients must not be empty"),
        ({"model": None}, "model must be a Model"),
        ({"averaging": "mean"}, "averaging='mean'"),
        ({"averaging": "gradient", "local_steps": 2}, "option I takes one gradient"),
        ({"n_participants": 13}, "n_participants=13"),
        ({"starts": [None]}, "starts holds 1 trees; there must be k=2"),
        ({"starts": [1.0, 2.0, 3.0]}, "starts holds 3 trees; there must be k=2"),
        ({"starts": []}, "starts holds 0 trees; there must be k=2"),
        ({"known_labels": [0, 1]}, r"known_labels.shape=\(2,\)"),
        ({"known_labels": [0] * 13}, r"known_labels.shape=\(13,\)"),
        ({"known_labels": [2] * 12}, "known_labels"),
        ({"rng": 0}, "rng"),
        ({"starts": [None, 1.0]}, "a leaf of starts must be an array of real numbers"),
        ({"starts": [np.inf, 1.0]}, "must be finite"),
        ({"starts": [[1.0], [1.0, 2.0]]}, "trees must have the same lengths"),
        ({"starts": [1.0, 2.0]}, "model.loss fails on a client's data"),
    ],
)
def test_impossible_arguments_are_refused(linear, change, message):
    run = {
        "model": LINEAR, "clients": linear[1], "k": 2, "step_size": 0.1, "n_iterations": 1,
        "rng": np.random.default_rng(0),
    }  # fmt: skip
    with pytest.raises(InvalidParameter, match=message):
        run_ifca_functions(**{**run, **change})


@pytest.mark.parametrize(
    ("trees", "message"),
    [
        (({"a": 1.0}, {"b": 1.0}), "same keys"),
        (([1.0], [1.0, 2.0]), "same lengths"),
        (([1.0], {"a": 1.0}), "same containers"),
        ((1.0, {"a": 1.0}), "same containers"),
        ((np.zeros(2), np.ones(2), [1.0, 2.0]), "same containers"),
        (({"a": 1.0}, {"a": (1.0,)}), "same containers"),
        ((np.zeros(2), np.zeros(3)), r"shapes \(2,\), \(3,\)"),
    ],
)
def test_trees_of_different_shapes_are_refused(trees, message):
    with pytest.raises(InvalidParameter, match=message):
        tree_map(lambda x, y: x + y, *trees)


class Line(NamedTuple):
    """Parameters with names."""

    slope: np.ndarray
    rest: list


@pytest.mark.parametrize("averaging", ["gradient", "model"])
@pytest.mark.parametrize(
    "made", [OrderedDict, lambda tree: Line(**tree), lambda tree: tuple(tree.values())]
)
def test_the_kind_of_the_containers_changes_nothing(linear, made, averaging):
    """Dicts of another class, tuples with names and plain ones, through three iterations."""
    _, clients, starts = linear

    def plain(tree):
        return dict(zip(("slope", "rest"), flatten(tree), strict=True))

    def flatten(tree):
        return tree.values() if isinstance(tree, dict) else tree

    other = Model(
        init=lambda rng: made(LINEAR.init(rng)),
        loss=lambda theta, data: LINEAR.loss(plain(theta), data),
        gradient=lambda theta, data: made(LINEAR.gradient(plain(theta), data)),
    )
    run = {"clients": clients, "k": 3, "step_size": 0.1, "n_iterations": 3, "averaging": averaging,
           "local_steps": 1 if averaging == "gradient" else 2}  # fmt: skip
    given = {"starts": [unflat(start) for start in starts], "rng": np.random.default_rng(0)}
    one = run_ifca_functions(model=LINEAR, **run, **given)
    given["starts"] = [made(start) for start in given["starts"]]
    two = run_ifca_functions(model=other, **run, **given)
    for mine, theirs in zip(one.models, two.models, strict=True):
        np.testing.assert_array_equal(flat(mine), flat(plain(theirs)))
        assert isinstance(theirs, Line) == isinstance(given["starts"][0], Line)


# -- the network -----------------------------------------------------------------------------------


def test_the_network_s_gradient_is_that_of_finite_differences():
    rng = np.random.default_rng(4)
    network = random_network(d=4, hidden=5, classes=3, rng=rng)
    data = rng.standard_normal((6, 4)), rng.integers(0, 3, 6)
    shapes = {name: value.shape for name, value in network.items()}

    def tree(vector):
        parts = np.split(vector, np.cumsum([int(np.prod(s)) for s in shapes.values()])[:-1])
        return {name: p.reshape(s) for (name, s), p in zip(shapes.items(), parts, strict=True)}

    def vector(parameters):
        return np.concatenate([parameters[name].ravel() for name in shapes])

    error = check_grad(
        lambda v: network_loss(tree(v), data),
        lambda v: vector(network_gradient(tree(v), data)),
        vector(network),
    )
    assert error < 1e-6
    assert accuracy(network, (data[0], np.full(6, -1))) == 0.0


def rotated_digits():
    """The page as a module."""
    path = Path(__file__).parents[3] / "docs" / "rotated_digits.py"
    spec = importlib.util.spec_from_file_location("rotated_digits", path)
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    return page


def test_one_seed_of_rotated_digits_has_no_interval(monkeypatch, capsys):
    page = rotated_digits()
    monkeypatch.setattr(page, "accuracies", lambda seed: dict.fromkeys(page.METHODS, 0.5 + seed))
    page.main(["--seeds", "1"])
    printed = capsys.readouterr().out.splitlines()[1:]
    assert [line.split(maxsplit=1)[1] for line in printed] == (
        ["0.500  one seed has no interval"] * len(page.METHODS)
    )
    page.main(["--seeds", "2"])
    # Two values 1/2 and 3/2: their standard error is 1/2, and t(1) is 12.706 at .975.
    assert "1.000  [-5.353, 7.353]" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        page.main(["--seeds", "0"])


@pytest.mark.slow
def test_ifca_is_better_than_one_model_on_rotated_digits():
    """Two seeds with few rounds.  The page's table has twenty seeds."""
    page = rotated_digits()
    found = [page.accuracies(seed, n=100, rounds=12) for seed in range(2)]
    for row in found:
        assert row["oracle"] > row["global"] + 0.05
        assert row["ifca"] > row["global"]
        assert row["ifca"] <= row["oracle"] + 0.02
    low, high = page.interval(np.array([row["ifca"] for row in found]))
    assert low < np.mean([row["ifca"] for row in found]) < high


def test_a_round_s_loss_is_the_mean_over_its_participants(linear):
    _, clients, start = linear
    seen = []
    found = run_ifca_functions(
        model=LINEAR, clients=clients, k=3, step_size=0.05, n_iterations=5, n_participants=4,
        rng=np.random.default_rng(1), starts=[unflat(theta) for theta in start],
        watch=lambda t, models, labels: seen.append((models, labels.copy())),
    )  # fmt: skip
    draws = np.random.default_rng(1)
    for loss, (models, _) in zip(found.losses, seen, strict=True):
        subset = draws.choice(12, 4, replace=False)
        least = [min(LINEAR.loss(theta, clients[i]) for theta in models) for i in subset]
        assert loss == pytest.approx(np.mean(least), rel=1e-12)


def test_the_accuracy_is_the_share_of_classes_with_the_largest_score():
    """Inputs e_1, e_2, e_3 have the scores e_1, e_2, e_3."""
    unit, none = np.eye(3), np.zeros(3)
    network = {"W1": unit, "b1": none, "W2": unit, "b2": none}
    assert accuracy(network, (unit, np.array([0, 1, 2]))) == 1.0
    assert accuracy(network, (unit, np.array([0, 2, 1]))) == pytest.approx(1 / 3)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("bound", "ends"), [(1e25, RunStatus.DIVERGED), (1e30, RunStatus.COMPLETED)]
)
def test_a_bound_whose_square_leaves_single_precision_is_kept(kind, bound, ends):
    """A step takes the model from 1e21 to 5e26.  In single precision both squares are infinite."""
    model = Model(
        init=lambda rng: np.zeros(1, kind),
        loss=lambda theta, y: float(np.abs(theta - y).max()),
        gradient=lambda theta, y: kind(-1e6) * (theta - y),
    )
    found = run_ifca_functions(
        model=model, clients=[np.zeros(1, kind)], k=1, step_size=0.5, n_iterations=1,
        rng=np.random.default_rng(0), starts=[np.full(1, 1e21, kind)], divergence_bound=bound,
    )  # fmt: skip
    assert found.status == ends
    expected = 1e21 if ends == RunStatus.DIVERGED else 5e26
    assert float(found.models[0][0]) == pytest.approx(expected, rel=1e-5)
