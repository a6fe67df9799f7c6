"""Names of runs: one rule, in every command."""

import os

import pytest

from trials.run import directory
from trials.run.directory import STORE_NAME, find_run, known_runs
from trials.run.store import StoreError


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Three run directories below ./runs, ``b`` written last."""
    monkeypatch.chdir(tmp_path)
    for name, when in (("a", 1_000), ("b", 3_000), ("c", 2_000)):
        store = tmp_path / "runs" / name / STORE_NAME
        store.parent.mkdir(parents=True)
        store.write_bytes(b"x")
        os.utime(store, (when, when))
    return tmp_path / "runs"


def test_latest_is_the_run_that_was_written_last(runs):
    assert find_run("latest").name == "b"
    assert [run.name for run in known_runs()] == ["b", "c", "a"]


def test_a_run_under_way_counts_by_its_log(runs):
    log = runs / "a" / f"{STORE_NAME}-wal"
    log.write_bytes(b"x")
    os.utime(log, (4_000, 4_000))
    assert find_run("latest").name == "a"
    log.write_bytes(b"")  # a reader leaves an empty log behind
    os.utime(log, (9_000, 9_000))
    assert find_run("latest").name == "b"


def test_paths_store_files_and_names_below_runs_are_understood(runs):
    for name in (runs / "a", str(runs / "a"), "runs/a", "a", f"runs/a/{STORE_NAME}", "runs/a/"):
        assert find_run(name).resolve() == runs / "a"


def test_a_path_comes_before_a_name_below_runs(runs):
    here = runs.parent / "a" / STORE_NAME
    here.parent.mkdir()
    here.write_bytes(b"x")
    assert find_run("a").resolve() == here.parent


@pytest.mark.parametrize("name", ["", "z", "a\0b", "a\nb", "x" * 5000, "\udcff", "runs", "~"])
def test_other_names_are_refused_in_one_line(runs, name):
    with pytest.raises(StoreError, match="no run here") as error:
        find_run(name)
    assert "\n" not in str(error.value)
    assert "\0" not in str(error.value)


def test_without_runs_latest_says_how_to_start_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match="start one with"):
        find_run("latest")


def test_a_run_that_goes_away_while_runs_are_listed_is_left_out(runs, monkeypatch):
    found = directory._find_time

    def find_time(store):
        if store.parent.name == "b":
            store.unlink()
        return found(store)

    monkeypatch.setattr(directory, "_find_time", find_time)
    assert [run.name for run in known_runs()] == ["c", "a"]
