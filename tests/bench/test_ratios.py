"""Recorded ratios of benchmarks: which rows are compared, and when one is said to have fallen."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import pytest

from tests.bench import __main__ as bench


def row(case, ratio, **more):
    return {"benchmark": "b", "case": case, "ratio": ratio} | more


def test_only_rows_whose_sides_both_ran_have_a_ratio():
    rows = [row("a", 1.23456), row("b", math.nan), row("c", 2.0, live=False), row("d", 3.0)]
    assert bench.ratios(rows) == {"b: a": 1.23, "b: d": 3.0}


def test_a_ratio_falls_by_more_than_fifteen_percent():
    kept = {"a": 2.0, "b": 2.0, "gone": 1.0}
    assert bench.regressions({"a": 1.71, "b": 1.69, "new": 0.1}, kept) == [
        "b: ratio 1.69, recorded 2"
    ]


def test_recording_a_few_rows_keeps_the_others(tmp_path, monkeypatch):
    """So that one run may add a large case that the usual run leaves out."""
    monkeypatch.setattr(bench, "RATIOS", tmp_path / "ratios.json")
    bench._compare("x", None, [row("a", 2.0), row("b", 3.0)], record=True)
    bench._compare("y", None, [row("a", 5.0)], record=True)
    bench._compare("x", None, [row("b", 4.0), row("large", 1.5)], record=True)
    kept = {"x": {"b: a": 2.0, "b: b": 4.0, "b: large": 1.5}, "y": {"b: a": 5.0}}
    assert json.loads(bench.RATIOS.read_text()) == kept


@pytest.mark.parametrize(("again", "fails"), [(1.9, False), (1.5, True)])
def test_a_fall_counts_where_a_second_run_shows_it_again(tmp_path, monkeypatch, again, fails):
    monkeypatch.setattr(bench, "RATIOS", tmp_path / "ratios.json")
    bench._compare("x", None, [row("a", 2.0)], record=True)
    assert json.loads(bench.RATIOS.read_text()) == {"x": {"b: a": 2.0}}
    module = SimpleNamespace(run=lambda: [row("a", again)])
    fallen = bench._compare("x", module, [row("a", 1.6)], record=False)
    assert bool(fallen) == fails
    never = SimpleNamespace(run=lambda: pytest.fail("a second run was not needed"))
    assert bench._compare("x", never, [row("a", 1.8)], record=False) == []
