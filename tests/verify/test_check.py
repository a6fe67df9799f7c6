"""Comparing runs: equal seeds must agree exactly, others within their limits."""

import copy
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.trials.toys import TOY
from trials.run.store import RunStore
from verify.check import compare, junit, rounding

CELL = {
    "params": {"m": 10},
    "n_trials": 100,
    "observed": 0.5,
    "se": None,
    "lower": 0.4,
    "upper": 0.6,
    "bound": None,
    "ratio": None,
}
#: What evidence says beside its verdict and its cells.
TOLD = {"summary": "", "level": 0.01, "n_trials": 100, "n_failed": 0}


def run_with(path, claims, seed=0):
    store = RunStore.create(path, root_seed=seed, config={})
    for name, (verdict, cells) in claims.items():
        evidence = {"verdict": verdict, "cells": cells, **TOLD}
        store.put_document("claim", name, {"evidence": evidence})
    return store


@pytest.fixture
def compared(tmp_path):
    def compared(new, old, seeds=(0, 0), common=False):
        paths = tmp_path / "new", tmp_path / "old"
        for path in paths:
            path.unlink(missing_ok=True)
        with run_with(paths[0], new, seeds[0]) as one, run_with(paths[1], old, seeds[1]) as two:
            found = compare(one, two, common=common)
            return [f"{name}: {text}" for name, texts in found.items() for text in texts]

    return compared


def changed(**values):
    return {**copy.deepcopy(CELL), **values}


def test_a_run_does_not_differ_from_itself(compared):
    run = {"a": ("SUPPORTED", [CELL]), "b": ("REFUTED", [])}
    assert compared(run, run) == []


def test_another_verdict_is_a_difference(compared):
    lines = compared({"a": ("REFUTED", [CELL])}, {"a": ("SUPPORTED", [CELL])})
    assert lines == ["a: REFUTED, baseline SUPPORTED"]


def test_missing_and_new_claims_are_differences(compared):
    lines = compared({"a": ("SUPPORTED", [])}, {"b": ("SUPPORTED", [])})
    assert lines == ["b: missing from the run", "a: not in the baseline"]


def test_claims_of_one_run_alone_may_be_left_out(compared):
    new = {"a": ("REFUTED", []), "c": ("SUPPORTED", [])}
    old = {"a": ("SUPPORTED", []), "b": ("SUPPORTED", [])}
    assert compared(new, old, common=True) == ["a: REFUTED, baseline SUPPORTED"]


def test_continuous_integration_reads_the_differences():
    root = ElementTree.fromstring(junit({"a": [], "b": ["x < y", "and \x1b[31m"]}, "run"))
    assert (root.get("tests"), root.get("failures")) == ("2", "1")
    good, bad = root
    assert good.get("name") == "a"
    assert len(good) == 0
    assert bad[0].get("message") == "x < y"
    assert bad[0].text == "x < y\nand \\x1b[31m"
    odd = ElementTree.fromstring(junit({"a": []}, "against a\x01b"))  # the name of a folder
    assert odd.get("name") == odd[0].get("classname") == "against a\\x01b"


def test_with_equal_seeds_any_changed_value_is_a_difference(compared):
    new, old = {"a": ("SUPPORTED", [changed(observed=0.5 + 1e-15)])}, {"a": ("SUPPORTED", [CELL])}
    (line,) = compared(new, old)
    assert "same streams" in line
    assert '{"m": 10}' in line
    assert compared(new, old, seeds=(0, 1)) == []  # another seed: only the limits count


def test_with_other_seeds_or_budgets_disjoint_limits_are_a_difference(compared):
    far = changed(observed=0.9, lower=0.8, upper=0.95, n_trials=200)
    near = changed(observed=0.6, lower=0.55, upper=0.65, n_trials=200)
    base = {"a": ("SUPPORTED", [CELL])}
    for seeds in ((0, 0), (0, 1)):
        (line,) = compared({"a": ("SUPPORTED", [far])}, base, seeds)
        assert "do not overlap" in line
        (line,) = compared(base, {"a": ("SUPPORTED", [far])}, seeds)
        assert "do not overlap" in line
        assert compared({"a": ("SUPPORTED", [near])}, base, seeds) == []


def test_limits_that_touch_overlap(compared):
    """One value is possible in both runs, such as a share of one in each."""
    for lower, upper in ((0.6, 0.9), (0.1, 0.4)):
        touching = changed(observed=0.7, lower=lower, upper=upper, n_trials=200)
        base = {"a": ("SUPPORTED", [CELL])}
        assert compared({"a": ("SUPPORTED", [touching])}, base, (0, 1)) == []
        apart = {**touching, "lower": lower + 1e-9, "upper": upper - 1e-9}
        assert len(compared({"a": ("SUPPORTED", [apart])}, base, (0, 1))) == 1


def test_cells_without_limits_are_not_compared(compared):
    open_ended = changed(upper=None, n_trials=200)
    base = {"a": ("SUPPORTED", [CELL])}
    assert compared({"a": ("SUPPORTED", [open_ended])}, base, (0, 1)) == []


def test_different_quantiles_of_a_cell_are_not_compared(compared):
    """A larger budget resolves, and shows, a higher quantile."""
    low = changed(quantile=0.99)
    high = changed(quantile=0.999, observed=0.9, lower=0.8, upper=0.95, n_trials=1000)
    for seeds in ((0, 0), (0, 1)):
        assert compared({"a": ("SUPPORTED", [high])}, {"a": ("SUPPORTED", [low])}, seeds) == []
    (line,) = compared(
        {"a": ("SUPPORTED", [{**high, "quantile": 0.99}])}, {"a": ("SUPPORTED", [low])}
    )
    assert "do not overlap" in line


def test_a_bound_that_moves_is_a_difference_whatever_the_streams_are(compared):
    """The line names what moved: the bound, the observed value, or each in a line of its own."""
    base = {"a": ("SUPPORTED", [changed(bound=0.5)])}
    other = changed(bound=1.0, n_trials=200)
    said = 'a: {"m": 10}: bound 1.0, baseline 0.5, a relative difference of 5.0e-01'
    assert compared({"a": ("SUPPORTED", [changed(bound=1.0)])}, base) == [said]
    assert compared({"a": ("SUPPORTED", [other])}, base, (0, 1)) == [said]
    both = compared({"a": ("SUPPORTED", [changed(bound=1.0, observed=0.25)])}, base)
    seen = "observed 0.25, baseline 0.5 from the same streams, a relative difference of 5.0e-01"
    assert both == [f'a: {{"m": 10}}: {seen}', said]
    (line,) = compared({"a": ("SUPPORTED", [CELL])}, base)
    assert line.endswith("bound None, baseline 0.5, a relative difference of inf")


def test_bounds_of_two_machines_agree_to_rounding(tmp_path):
    """A bound is read by another libm there.  The observed values are equal here."""
    claims = [{"a": ("SUPPORTED", [changed(bound=b)])} for b in (1.0, 1.0 + 2.0**-50, 1.0 + 2e-6)]
    base, near, far = (run_with(tmp_path / f"{i}", one) for i, one in enumerate(claims))
    with base, near, far:
        for store, kernels in ((base, "Haswell"), (near, "SkylakeX"), (far, "SkylakeX")):
            store.put_document("run", "summary", {"environment": {"blas": kernels}})
        assert compare(near, base) == {"a": []}
        assert rounding(near, base) == pytest.approx(2.0**-50)
        assert "bound 1.000002, baseline 1.0, " in compare(far, base)["a"][0]


def test_bounds_of_fitted_constants_are_compared_between_equal_streams_only(compared):
    """The trials of each cell move the constant in the bounds of all of them."""

    def fitted(bound, first=100, second=100):
        """Two cells of one claim with their numbers of trials."""
        shown = changed(quantile=0.9, n_trials=first, bound=bound)
        return {"a": ("SUPPORTED", [shown, changed(params={"m": 11}, n_trials=second)])}

    assert compared(fitted(1.0), fitted(2.0), (0, 1)) == []
    assert compared(fitted(1.0, second=200), fitted(2.0)) == []
    (line,) = compared(fitted(1.0), fitted(2.0))
    assert "bound 1.0, baseline 2.0" in line


def test_cells_without_a_partner_are_differences(compared):
    """Else a claim tried on other cells, none of them compared, would pass for unchanged."""
    other = changed(params={"m": 11})
    lines = compared({"a": ("SUPPORTED", [other])}, {"a": ("SUPPORTED", [CELL])})
    assert lines == [
        'a: {"m": 11}: a cell that the baseline lacks',
        'a: {"m": 10}: a cell of the baseline that is missing',
    ]


def test_runs_of_two_machines_agree_to_rounding(tmp_path):
    new, old = {"a": ("SUPPORTED", [changed(observed=0.5 + 1e-15)])}, {"a": ("SUPPORTED", [CELL])}
    far = {"a": ("SUPPORTED", [changed(observed=0.5 + 1e-5)])}
    with (
        run_with(tmp_path / "new", new) as one,
        run_with(tmp_path / "old", old) as two,
        run_with(tmp_path / "far", far) as three,
    ):
        for store, kernels in ((one, "Haswell"), (two, "SkylakeX"), (three, "Haswell")):
            store.put_document("run", "summary", {"environment": {"blas": kernels}})
        assert compare(one, two) == {"a": []}
        assert 1e-15 < rounding(one, two) < 3e-15
        assert "a relative difference of 2.0e-05" in compare(three, two)["a"][0]
        assert rounding(three, two) == 0.0
        one.put_document("run", "summary", {"environment": {"blas": "SkylakeX"}})
        assert "same streams" in compare(one, two)["a"][0]


def test_an_accepted_difference_of_zero_asks_for_equal_bits_of_two_machines_too(tmp_path):
    near = {"a": ("SUPPORTED", [changed(observed=0.5 + 1e-15)])}
    with (
        run_with(tmp_path / "new", near) as one,
        run_with(tmp_path / "old", {"a": ("SUPPORTED", [CELL])}) as two,
    ):
        for store, kernels in ((one, "Haswell"), (two, "SkylakeX")):
            store.put_document("run", "summary", {"environment": {"blas": kernels}})
        assert compare(one, two, rtol=None) == {"a": []}
        assert "same streams" in compare(one, two, rtol=0.0)["a"][0]
        assert rounding(one, two, 0.0) == 0.0


def test_rounding_is_the_largest_distance_that_is_accepted_between_cells_of_the_same_work(tmp_path):
    """Another number of trials, another seed, or a missing side is no rounding."""

    def cells(*observed, **more):
        rows = [changed(params={"m": i}, observed=x, **more) for i, x in enumerate(observed)]
        return {"a": ("SUPPORTED", rows), "of one run": ("SUPPORTED", [changed(observed=9.0)])}

    base = {"a": cells(1.0, 1.0, 1.0, None)["a"]}
    near = cells(1.0 + 2.0**-50, 1.0 + 2.0**-40, 1.5, 2.0)
    with (
        run_with(tmp_path / "base", base) as old,
        run_with(tmp_path / "near", near) as new,
        run_with(tmp_path / "more", cells(1.0 + 2.0**-50, n_trials=200)) as longer,
        run_with(tmp_path / "seed", near, seed=1) as other,
    ):
        assert rounding(new, old) == pytest.approx(2.0**-40, rel=1e-6)
        assert rounding(new, old, 2.0**-45) == pytest.approx(2.0**-50, rel=1e-6)
        assert rounding(new, old, 2.0**-60) == 0.0
        assert 0.3 < rounding(new, old, 1.0) < 0.51
        assert rounding(longer, old) == rounding(other, old) == rounding(old, old) == 0.0
        lines = compare(new, old, rtol=2.0**-45)["a"]
        assert [line.partition(": observed")[0] for line in lines] == [
            '{"m": 1}',
            '{"m": 2}',
            '{"m": 3}',
        ]


@pytest.mark.parametrize(
    ("new", "old", "told"),
    [
        ({"mark": "SUPPORTED"}, {"mark": "PROVED"}, ["SUPPORTED, baseline PROVED"]),
        (
            {"mark": "PROVED UP TO A LEMMA"},
            {"mark": "PROVED"},
            ["PROVED UP TO A LEMMA, baseline PROVED"],
        ),
        ({"mark": "PROVED"}, {"mark": "PROVED"}, []),
        ({"mark": "SUPPORTED TO 0.1"}, {"mark": "SUPPORTED"}, []),  # as the budget resolves
        ({"error": "E: x"}, {}, ["failed (E: x), baseline SUPPORTED"]),
        ({"error": "E: x"}, {"error": "E: x"}, []),
    ],
)
def test_a_lost_proof_and_a_failed_claim_are_differences(new, old, told, tmp_path):
    """Neither was one, because the verdict is the same word."""
    stores = []
    for name, parts in (("new", new), ("old", old)):
        stores.append(run_with(tmp_path / name, {}))
        evidence = {"verdict": "SUPPORTED", "cells": [], **TOLD, **parts}
        stores[-1].put_document("claim", "a", {"evidence": evidence})
    with stores[0] as one, stores[1] as two:
        assert compare(one, two) == {"a": told}


def test_blocks_of_two_machines_agree_to_rounding_whichever_run_has_fewer_kinds(tmp_path):
    """The environment is that of the last call, and may be equal where the blocks are not."""
    near = {"a": ("SUPPORTED", [changed(observed=0.5 + 1e-15)])}
    with (
        run_with(tmp_path / "new", near) as one,
        run_with(tmp_path / "old", {"a": ("SUPPORTED", [CELL])}) as two,
    ):
        two.put_document("machine", "f" * 16, {"blas": "Haswell"})
        two.put_block(TOY, {}, 0, np.zeros((16, 2)), machine="f" * 16)
        assert compare(one, two) == compare(two, one) == {"a": []}
        one.put_document("machine", "f" * 16, {"blas": "Haswell"})
        one.put_block(TOY, {}, 0, np.zeros((16, 2)), machine="f" * 16)
        assert "same streams" in compare(one, two)["a"][0]
