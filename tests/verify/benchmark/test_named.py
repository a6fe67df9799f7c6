"""Every benchmark that ships, in miniature, and what theory says beside it."""

from dataclasses import replace

import numpy as np
import pytest

from trials.run.executors import make_executor
from trials.run.store import RunStore
from verify.benchmark import pages
from verify.benchmark.design import NAMED, Benchmark
from verify.benchmark.guarantees import guarantee
from verify.benchmark.methods import parse_method
from verify.benchmark.running import run

pytest.importorskip("sklearn")


@pytest.fixture
def table_of(tmp_path):
    """Run a benchmark to its result."""

    def made(benchmark):
        store = RunStore.create(tmp_path / "store.sqlite", root_seed=1, config={}, code={})
        with store, make_executor("serial") as executor:
            return run(store, benchmark.checked(), executor)

    return made


@pytest.mark.parametrize("name", NAMED)
def test_a_named_benchmark_fits_all_its_methods(name, table_of):
    """Four trials of its first and last federation, a quarter of the clients."""
    whole = NAMED[name]
    ends = [dict(whole.federations[i]) for i in (0, -1)]
    for federation in ends:
        federation["m"] = max(federation["m"] // 4, 4 * federation.get("k", 2))
    small = replace(whole, federations=tuple(ends), max_trials=4, level=0.5)
    found = table_of(small)
    assert len(found.federations) == 2
    for federation in found.federations:
        assert {m.method for m in federation.methods} == set(found.benchmark.method_names)
        assert all(m.n_failed == 0 for m in federation.methods), pages.notes(found)
        assert any(m.best for m in federation.methods)
    assert len(pages.document(found)["figures"]) == 2


@pytest.mark.statistical
def test_the_oracles_errors_are_those_of_the_exact_law(table_of):
    """The mean of 64 trials of 40 clients lies within five standard errors of the law's mean."""
    federation = {"m": 40, "n": 30, "d": 5, "k": 4, "sigma": 0.5}
    found = table_of(
        Benchmark(
            name="laws",
            question="?",
            methods="local, oracle, oracle-average",
            federations=(federation,),
            max_trials=64,
            width=1e-6,
        )
    )
    for row in found.federations[0].methods:
        bound = row.guarantee.bound
        assert row.guarantee.place == "inside"
        # a squared error has a relative deviation of at most 1 over the models of a trial
        assert row.means["error"] == pytest.approx(bound, rel=5 * np.sqrt(2 / (5 * 4 * 64)) + 0.02)


def test_guarantees_name_the_assumption_that_fails():
    def place(name, **changed):
        benchmark = Benchmark(
            name="x", question="?", methods="local, global", federations=(changed,)
        )
        found = guarantee(parse_method(name), benchmark.checked().federations[0])
        return found.place, found.reason

    assert place("oracle", features="heavy") == ("outside", "features=heavy")
    assert place("local", n=5, d=5)[0] == "vacuous"
    assert place("ifca", k_told=3) == ("outside", "k_told=3")
    assert "samples per client" in place("ifca", n=20)[1]
    assert place("ifca", m=20, n=5000, d=12, sigma=0.5)[1].startswith("only because the start")
    assert place("odcl-km")[0] == "vacuous"
    assert place("odcl-km", outliers=0.1)[0] == "outside"
    assert place("global") == ("none", "")
