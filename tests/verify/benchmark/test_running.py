"""What a look at the stored trials makes of them: gaps, failed fits, oracles, the last block."""

from types import SimpleNamespace

import numpy as np
import pytest

from trials.run.executors import make_executor
from trials.run.store import RunStore
from verify.benchmark import running
from verify.benchmark.design import Benchmark
from verify.benchmark.fits import BLOCK
from verify.benchmark.marks import MISSING
from verify.benchmark.metrics import METRICS
from verify.benchmark.running import _mean, applicable, contrasts_of, n_stored, run
from verify.benchmark.tuning import Tuned, put_aside


@pytest.mark.parametrize(
    ("stored", "n_first"), [((), 0), ((0, 1, 2), 3), ((0, 1, 3, 4), 2), ((1, 2), 0)]
)
def test_the_blocks_before_a_gap_are_the_first_ones(stored, n_first):
    store = SimpleNamespace(blocks=lambda _experiment, _cell: dict.fromkeys(stored, "a block"))
    assert n_stored(store, {}) == n_first


def test_a_mean_is_over_the_fits_that_did_not_fail():
    """The row of a failed fit keeps its CPU seconds."""
    failed = np.array([0.0, 3.0, 0.0, 1.0])
    assert _mean(np.array([1.0, 60.0, 2.0, 5.0]), failed) == 1.5
    assert _mean(np.array([1.0, np.nan, 3.0, np.nan]), failed) == 2.0
    assert _mean(np.array([MISSING, np.nan, MISSING, np.nan]), failed) is None
    assert _mean(np.full(4, np.nan), np.ones(4)) is None


def test_a_fit_that_failed_is_not_the_fastest_one():
    """One that raised at once had the least CPU seconds, and its method stood first."""
    columns = {
        "cpu": np.array([0.0, 2.0, MISSING, 60.0]),
        "failed": np.array([1.0, 0.0, 0.0, 3.0]),
    }
    found = applicable(columns, "cpu")
    np.testing.assert_array_equal(found, [np.nan, 2.0, np.nan, np.nan])
    fast, slow = (
        {name: np.full(40, x) for name, x in (("cpu", seconds), ("failed", failed))}
        for seconds, failed in ((0.001, 1.0), (5.0, 0.0))
    )
    benchmark = Benchmark(
        name="x", question="?", methods="local, global", federations=({"m": 6, "n": 8, "d": 2},),
        metric="cpu",
    ).checked()  # fmt: skip
    (contrast,) = contrasts_of(benchmark, {"local": fast, "global": slow})
    assert contrast.better == "global"


@pytest.fixture
def table_of(tmp_path):
    """Run two methods of which one knows the clusters."""
    pytest.importorskip("sklearn")

    def made(**changed):
        federation = {"m": 6, "n": 8, "d": 2, "k": 2, "sigma": 0.5}
        benchmark = Benchmark(
            name="x", question="?", methods="local, oracle", federations=(federation,), **changed
        )
        store = RunStore.create(tmp_path / "store.sqlite", root_seed=1, config={}, code={})
        with store, make_executor("serial") as executor:
            return run(store, benchmark.checked(), executor).federations[0]

    return made


def test_a_last_block_that_the_trials_do_not_fill_is_drawn(table_of):
    """No limit decides in eight trials at this level."""
    found = table_of(max_trials=BLOCK + 1, width=1e-6, level=1e-6)
    assert found.open == 1
    assert found.n_trials == 2 * BLOCK


@pytest.mark.parametrize(
    ("stored", "first"), [({8: 5, 9: 3}, 20), ({8: 0, 9: 4}, 16), ({8: 40, 9: 1}, 32)]
)
def test_a_run_that_goes_on_looks_at_all_that_is_stored(monkeypatch, stored, first):
    """Before, it told of looks at 4, 8, 12 ... trials, each of which had used all of them."""
    looks, n_asked = [], []

    def values(_store, _benchmark, federation):
        n = 4 * max(stored[federation["n"]], 1)
        made = {name: np.ones(n) for name in METRICS} | {"cpu": np.zeros(n)}
        return dict.fromkeys(("local", "global"), made)

    monkeypatch.setattr(running, "ensure", lambda _s, demands, *_, **__: n_asked.append(
        [d.n_blocks for d in demands]))  # fmt: skip
    monkeypatch.setattr(running, "n_stored", lambda _s, cell: stored[cell["n"]])
    monkeypatch.setattr(running, "paired", values)
    monkeypatch.setattr(running, "result", lambda _s, _b, stopped: stopped)
    federations = ({"m": 6, "n": 8, "d": 2}, {"m": 6, "n": 9, "d": 2})
    benchmark = Benchmark(
        name="x", question="?", methods="local, global", federations=federations, vary="n",
        max_trials=32, width=1e3, level=0.5,
    ).checked()  # fmt: skip
    run(None, benchmark, None, on_look=lambda *told: looks.append(told[0]))
    wanted = [max(1, min(stored[n], 8)) for n in (8, 9)]
    assert n_asked[0] == [wanted[0]] * 2 + [wanted[1]] * 2
    assert looks[0] == first == 4 * max(wanted)


def test_the_best_method_is_the_best_of_those_that_know_no_clusters(table_of):
    found = table_of(max_trials=64, level=0.2)
    rows = {row.method: row for row in found.methods}
    assert found.contrasts[0].better == "oracle"
    assert (rows["oracle"].best, rows["local"].best) == (False, True)
    assert (rows["oracle"].best_rank, rows["local"].best_rank) == (1, 2)


def test_a_fifth_of_the_rows_is_put_aside_and_no_more():
    """Rounded down, but one of two."""
    for size in range(1, 40):
        aside = put_aside(np.repeat([0, 1], [size, 3]))[:size]
        n_aside = 0 if size == 1 else max(size // 5, 1)
        assert aside.tolist() == [False] * (size - n_aside) + [True] * n_aside


def test_the_first_of_equal_candidates_is_taken():
    def made(_options):
        return SimpleNamespace(fit=lambda _x, _y, clients: SimpleNamespace(n_rounds_=1.0))

    tuned = Tuned(made, [{"a": 1}, {"a": 2}], "linear", lambda _fit, x, _clients: x[:, 0])
    x = np.ones((6, 1))
    tuned.fit(x, np.zeros(6), np.repeat([0, 1], 3))
    assert tuned.chosen_ == {"a": 1}
    assert tuned.n_rounds_ == 3.0
