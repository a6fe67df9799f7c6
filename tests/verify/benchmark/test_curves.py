"""Losses over the rounds are those of the stored fits."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("sklearn")

from trials.run.engine import Demand, ensure
from trials.run.executors import make_executor
from trials.run.store import RunStore
from verify.benchmark import curves as module
from verify.benchmark.curves import curve_figure, curves
from verify.benchmark.design import Benchmark
from verify.benchmark.fits import FIT

WANTED = Benchmark(
    name="curves",
    question="?",
    methods="local, ifca(n_rounds=30), cfl(n_rounds=10), fesem, oracle",
    federations=({"m": 6, "n": 20, "d": 2},),
).checked()


def test_a_curve_ends_at_the_loss_of_the_fit_in_the_table(tmp_path):
    federation = WANTED.federations[0]
    found = curves(WANTED, federation, 5, 4)
    assert set(found) == {"ifca(n_rounds=30)", "cfl(n_rounds=10)", "fesem"}  # others have one round
    ifca = found["ifca(n_rounds=30)"]
    assert ifca.shape == (4, 30)
    assert (np.diff(ifca, axis=1) <= 1e-12).all()  # automatic steps never raise the loss
    cell = WANTED.cell(federation, "ifca(n_rounds=30)")
    with RunStore.create(tmp_path / "run", root_seed=5, config={}) as store:
        ensure(store, [Demand(FIT, cell, 1)], make_executor("serial"))
        stored = store.table(FIT, cell, 1)["rounds-to-oracle"]
    reached = [np.append(np.flatnonzero(line <= 1.1), 30)[0] + 1 for line in ifca]
    assert stored.tolist() == reached


def test_a_fit_that_ends_early_keeps_its_last_loss_and_one_that_fails_has_no_curve(monkeypatch):
    lines = {0: [4.0, 2.0], 1: [8.0, 4.0, 1.0], 2: [2.0, np.nan, 1.0], 3: [1.0]}

    def fitted(_method, _data, trial, _limit):
        if trial == 4:
            raise ValueError("it fails")
        return SimpleNamespace(losses=np.array(lines[trial]))

    monkeypatch.setattr(
        module, "trial_of", lambda _cell, _root, t: (SimpleNamespace(labels=None), t)
    )
    monkeypatch.setattr(module, "fitted", fitted)
    found = curves(WANTED, WANTED.federations[0], 0, 5)
    assert found["fesem"].tolist() == [[4.0, 2.0, 2.0], [8.0, 4.0, 1.0]]


def test_the_axis_says_whether_losses_are_over_the_oracles(monkeypatch):
    """Digits have known clusters.  Before, their axis had the losses of no oracle."""
    loss = {"digits": 0.5, "diabetes": 1.0}  # the oracle's training loss, 1 where there is none
    for data, oracle in loss.items():
        labels = np.zeros(4, dtype=int) if data == "digits" else None
        monkeypatch.setattr(
            module, "trial_of", lambda *_, labels=labels: (SimpleNamespace(labels=labels), 0)
        )
        monkeypatch.setattr(module, "oracle_loss", lambda _data, oracle=oracle: oracle)
        monkeypatch.setattr(
            module, "fitted", lambda *_: SimpleNamespace(losses=np.array([4.0, 2.0]))
        )
        wanted = Benchmark(
            name="axis", question="?", methods="ifca, fesem", federations=({"data": data},),
            metric="held-out",
        )  # fmt: skip
        monkeypatch.setattr(Benchmark, "cell", lambda *_: {})
        (panel,) = curve_figure(wanted, 0, 1).panels
        assert list(panel.series[0].y) == [4.0 / oracle, 2.0 / oracle]
        assert panel.ylabel == "training loss" + (
            " over the oracle's" if labels is not None else ""
        )


def test_the_figure_has_a_band_around_each_median():
    figure = curve_figure(WANTED, 5, 3)
    (panel,) = figure.panels
    for line in panel.series:
        assert all(a <= b <= c for a, b, c in zip(line.lower, line.y, line.upper, strict=True))
    flat = Benchmark(name="x", question="?", methods="local, oracle", federations=({"m": 6},))
    assert curve_figure(flat.checked(), 5, 1) is None


def test_the_caption_says_which_fits_are_drawn(monkeypatch):
    """It said "Medians of 3 trials" also where fits had failed, and of one trial."""

    def fitted(method, _data, trial, _limit):
        if method.text == "fesem" and trial == 1:
            raise ValueError("it fails")
        return SimpleNamespace(losses=np.array([2.0] if method.text == "local" else [2.0, 1.0]))

    monkeypatch.setattr(
        module, "trial_of", lambda _cell, _root, t: (SimpleNamespace(labels=None), t)
    )
    monkeypatch.setattr(module, "fitted", fitted)
    federations = tuple({"m": 6, "n": n, "d": 2} for n in (8, 9))
    wanted = Benchmark(
        name="x", question="?", methods="local, ifca, fesem", federations=federations, vary="n"
    ).checked()
    assert curve_figure(wanted, 0, 3).caption == (
        "A line is the median of the first 3 trials, fitted again, and its band reaches from the "
        "least to the largest of them. A fit that ends early keeps its last loss. local has no "
        "line: its fits have one round, tell no loss, or fail. The line of fesem at "
        "samples=8 is of 2 of 3 trials: others fail. The line of fesem at samples=9 is of 2 of 3 "
        "trials: others fail."
    )
    assert curve_figure(wanted, 0, 1).caption.startswith("A line is the first trial, fitted again.")


def test_the_page_of_methods_shows_every_family_and_each_estimator():
    import re
    from pathlib import Path

    from verify import estimators
    from verify.benchmark.catalogue import SHIPPED

    docs = Path(__file__).parents[3] / "docs"
    text = (docs / "methods.md").read_text("utf-8")
    shown = re.findall(r"\(methods/(.*?)\)", text)
    assert sorted(shown) == sorted(path.name for path in (docs / "methods").iterdir())
    listed = set(re.findall(r"^\| `([\w-]+)` \|", text, flags=re.MULTILINE))
    # Nobody can start near the true models, as `ifca-near` does for a theorem's assumptions.
    assert listed == set(SHIPPED) - {"oracle", "fedprox", "ifca-near"}
    named = {SHIPPED[m].estimator for m in listed} | {"ClusterOracle", "MomentDescent"}
    assert named | {"WholeClients"} == set(estimators.__all__)
