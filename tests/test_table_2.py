"""The page on Table 2 of ODCL: its data, its methods against scikit-learn, and images by path."""

import importlib.util
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.trials.networks.image_files import write_cifar10, write_mnist
from tests.verify.toys import tried
from trials.checks import InvalidParameter
from verify.evidence import Verdict
from verify.procedures.base import PROFILES

pytest.importorskip("sklearn")

PATH = Path(__file__).parents[1] / "docs" / "table_2.py"


@pytest.fixture(scope="module")
def page():
    """The page as a module of its own."""
    spec = importlib.util.spec_from_file_location("table_2", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["table_2"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["table_2"]


@pytest.fixture
def folders(page, monkeypatch):
    """Environment variables of the test, and no data set kept from another test."""
    page.classes.cache_clear()
    for variable, _ in page.READERS.values():
        monkeypatch.delenv(variable, raising=False)
    yield monkeypatch
    page.classes.cache_clear()


def cell(page, **given):
    return page.EXPERIMENT.check({"m": 12, "T": 3, **given})


def row(page, seed, **given):
    values = page.EXPERIMENT.simulate(cell(page, **given), np.random.default_rng(seed), 1)[0]
    return dict(zip(page.EXPERIMENT.columns, values, strict=True))


def test_users_hold_both_classes_and_one_cluster_has_the_opposite_labels(page):
    at = cell(page, n=10, flipped=0.2)
    x, y, truth, test, test_labels = page.draw(at, np.random.default_rng(0))
    assert x.shape == (12, 10, 64)
    assert (np.bincount(truth) == 6).all()
    sign = np.where(truth == 0, 1.0, -1.0)[:, None] * np.repeat([1.0, -1.0], 5)
    assert ((y != sign).sum(axis=1) == 2).all(), "a fifth of each user's labels is flipped"
    assert np.bincount(test_labels.astype(int) + 1).tolist() == [50, 0, 50]
    seen = {image.tobytes() for image in x.reshape(-1, 64)}
    assert not seen & {image.tobytes() for image in test}, "test images are withheld"


def test_accuracies_are_those_of_scikit_learns_fits(page):
    from sklearn.linear_model import LogisticRegression

    at = cell(page, n=6, ridge=0.01, T=0)
    x, y, truth, test, labels = page.draw(at, np.random.default_rng(4))
    found = row(page, 4, n=6, ridge=0.01, T=0)

    def right(features, targets, cluster):
        fit = LogisticRegression(
            C=1 / (0.01 * len(features)), fit_intercept=False, tol=1e-10, max_iter=10_000
        ).fit(features, targets)
        return (fit.predict(test) == labels * (1 if cluster == 0 else -1)).mean()

    local = np.mean([right(x[i], y[i], truth[i]) for i in range(12)])
    pooled = [right(x[truth == j].reshape(-1, 64), y[truth == j].ravel(), j) for j in range(2)]
    assert found["local"] == pytest.approx(local, abs=1e-12)
    assert found["oracle"] == pytest.approx(np.mean(pooled), abs=1e-12)
    assert found["recovered"] == 1.0
    assert found["KM"] == pytest.approx(found["averaging"], abs=1e-12)


def test_users_of_ifca_take_the_model_with_the_smallest_loss(page):
    """Without a round the models are the starts, long opposite ones and their noise."""
    at = cell(page, n=10, T=0, ridge=0.01)
    x, y, truth, _, _ = page.draw(at, np.random.default_rng(1))
    direction = (y[truth == 0][..., None] * x[truth == 0]).mean(axis=(0, 1)) * 1e3
    oracle = np.stack([direction, -direction])
    models = page.ifca(at, x, y, oracle, np.random.default_rng(2))
    noise = [np.linalg.norm(models[r] - oracle[truth], axis=1) for r in range(2)]
    assert (noise[0] < 16.0).all()
    assert (noise[1] > 8.0).all()
    assert (noise[1] < 32.0).all()
    assert np.linalg.norm(oracle[0] - oracle[1]) > 100.0
    assert (np.linalg.norm(models[2], axis=1) < 16.0).all(), "the random start is standard normal"


def test_the_printed_order_has_every_pair_of_neighbouring_levels(page):
    for column in ("MNIST", "CIFAR10"):
        means = dict(zip(page.METHODS, (text[0] for text in page.PRINTED[column]), strict=True))
        levels = sorted(set(means.values()))
        for low, high in page.in_order(column):
            assert (means[low], means[high]) in pairwise(levels)
        assert {name for pair in page.in_order(column) for name in pair} == set(page.METHODS)


def test_every_claim_is_possible_and_its_contrasts_are_known(page):
    assert len(page.PAPER.claims) == 16
    for claim in page.PAPER.claims:
        procedure = claim.build(PROFILES["quick"])
        procedure.check()
        assert procedure.describe()


def test_a_small_seeded_run_supports_the_sentence_about_odcl(page, tmp_path):
    """Twenty users, no rounds of IFCA, and means of two runs."""
    claim = next(c for c in page.PAPER.claims if c.id == "table2.mnist-odcl")
    small = claim.build(PROFILES["quick"]).override({"m": 20, "T": 0, "runs": 2})
    evidence, _ = tried(small, tmp_path, seed=0)
    assert evidence.verdict is Verdict.SUPPORTED
    (table,) = [t for t in evidence.tables if t.title.startswith("Table 2, column MNIST")]
    assert [line[:2] for line in table.rows[:2]] == [
        ("oracle", "0.98 ± 0.003"),
        ("local", "0.83 ± 0.06"),
    ]
    (winners,) = [t for t in evidence.tables if t.title == "Who wins where"]
    assert winners.columns[-1] == "largest"
    assert winners.rows[0][-1] == "oracle"


def squares(labels, side):
    """Images of one shade of grey and noise, brighter for the later class."""
    rng = np.random.default_rng(0)
    grey = 40 * labels[:, None] + rng.integers(0, 30, (len(labels), side))
    return grey.astype(np.uint8)


@pytest.mark.parametrize(("data", "d"), [("glyphs", 784), ("textures", 3072)])
def test_drawn_images_are_the_same_in_every_run_and_test_images_are_others(page, folders, data, d):
    folders.setattr(page, "DRAWN", 240)
    folders.setattr(page, "HALF", 160)
    x, _, _, test, labels = page.draw(cell(page, data=data, n=4), np.random.default_rng(0))
    assert x.shape == (12, 4, d)
    assert len(test) == len(labels)
    seen = {image.tobytes() for image in x.reshape(-1, d)}
    assert not seen & {image.tobytes() for image in test}
    again = page.draw(cell(page, data=data, n=4), np.random.default_rng(0))
    np.testing.assert_array_equal(x, again[0])


def test_mnist_is_read_from_the_folder_that_the_environment_names(page, folders, tmp_path):
    labels = np.arange(60) % 3
    images = squares(labels, 784).reshape(-1, 28, 28)
    write_mnist(tmp_path, images, labels, images[:15], labels[:15])
    folders.setenv("CFL_MNIST", str(tmp_path))
    at = cell(page, data="mnist", n=4)
    x, _, _, test, test_labels = page.draw(at, np.random.default_rng(0))
    assert x.shape == (12, 4, 784)
    chosen = images[:15].reshape(-1, 784)[np.argsort(labels[:15], kind="stable")][5:] / 255.0
    np.testing.assert_array_equal(test, chosen)
    assert test_labels.tolist() == [1.0] * 5 + [-1.0] * 5
    first = row(page, 0, data="mnist", n=4)
    assert 0.5 <= first["oracle"] <= 1.0
    images[0, 0, 0] ^= 1
    write_mnist(tmp_path, images, labels, images[:15], labels[:15])
    page.classes.cache_clear()
    assert row(page, 0, data="mnist", n=4)["checksum"] != first["checksum"]


def test_cifar10_is_read_from_the_folder_that_the_environment_names(page, folders, tmp_path):
    labels = np.arange(20) % 4
    pixels = squares(labels, 3072)
    write_cifar10(tmp_path, pixels, labels, pixels[:8], labels[:8])
    folders.setenv("CFL_CIFAR10", str(tmp_path))
    x, *_ = page.draw(cell(page, data="cifar10", n=4), np.random.default_rng(0))
    assert x.shape == (12, 4, 3072)
    assert {image.tobytes() for image in x.reshape(-1, 3072)} <= {
        image.tobytes() for image in pixels[labels < 2] / 255.0
    }


def test_data_that_are_not_there_are_refused_before_any_work(page, folders, tmp_path):
    with pytest.raises(InvalidParameter, match="folder of its files in the environment variable"):
        cell(page, data="mnist")
    folders.setenv("CFL_MNIST", str(tmp_path / "nowhere"))
    with pytest.raises(InvalidParameter, match="must be a folder"):
        cell(page, data="mnist")
    labels = np.arange(6) % 3
    small = squares(labels, 4).reshape(-1, 2, 2)
    write_mnist(tmp_path, small, labels, small, labels)
    folders.setenv("CFL_MNIST", str(tmp_path))
    with pytest.raises(InvalidParameter, match="images of 4 pixels must have 784"):
        cell(page, data="mnist")
    zeros, none = np.zeros((3, 28, 28)), np.zeros(3)
    write_mnist(tmp_path, zeros, none, zeros, none)
    with pytest.raises(InvalidParameter, match=r"images of the classes \(1, 2\)"):
        cell(page, data="mnist")
    with pytest.raises(InvalidParameter, match="n=5 must be even"):
        cell(page, n=5)


def test_one_run_has_no_interval(page, capsys):
    found = {name: [0.75] for name in (*page.METHODS, "averaging")}
    table = page.printed_table("MNIST", cell(page), found)
    assert {row[2:] for row in table.rows} == {("0.750", "one run has no interval")}
    with pytest.raises(SystemExit, match="2"):
        page.main(["--runs", "0"])
    assert "argument --runs: must be at least 1, not 0" in capsys.readouterr().err
