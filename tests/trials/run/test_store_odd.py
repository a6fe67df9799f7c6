"""Crafted run files: each is refused in one printable line or read as what it is.

``CFL_FUZZ_STORES`` sets the number of crafted files (by default 280).
"""

import contextlib
import os
import sqlite3
import time
from dataclasses import dataclass

import pytest

from tests.trials.run import odd_stores
from tests.trials.run.odd_stores import FAMILIES, good_store, looped_store, odd_store
from tests.trials.toys import TOY
from trials.run.store import RunStore, StoreError
from trials.run.store.limits import SQLITE_LIMITS
from trials.text import printable

N_EACH = -(-int(os.environ.get("CFL_FUZZ_STORES", "280")) // len(FAMILIES))


@dataclass(frozen=True, kw_only=True)
class Config:
    claims: tuple[str, ...] = ()
    profile: str = "quick"
    seed: int = 0
    level: float = 0.05


@dataclass(frozen=True, kw_only=True)
class Claim:
    verdict: str
    level: float


def texts(value):
    """Every text in what a reader was given."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from texts(key)
            yield from texts(one)
    elif isinstance(value, (list, tuple, set)):
        for one in value:
            yield from texts(one)


def uses(store, folder):
    """Everything that a command does with a run of a stranger, as calls without arguments."""
    yield lambda: [store.root_seed, store.config, store.code, sorted(store.codes())]
    yield lambda: store.config_as(Config).profile
    yield lambda: [[s.experiment, s.params, s.n_trials, s.seconds] for s in store.status()]
    yield lambda: [
        store.table(cell.experiment, cell.params).reasons
        for cell in store.cells()
        if store.blocks(cell.experiment, cell.params)
    ]
    yield lambda: store.trial(TOY, {"mean": 1.0}, 17)[1]
    yield lambda: store.n_failed(TOY, {"mean": 2.0}, 1)
    yield lambda: sorted(store.codes(TOY, {"mean": 1.0}))
    yield lambda: store.documents("claim")
    yield lambda: store.documents("run")
    yield lambda: [claim.verdict for claim in store.documents("claim", Claim).values()]
    yield store.content_digest
    yield lambda: [str(path) for path in store.export_csv(folder / "export")]
    yield lambda: str(store.copy_to(folder / "copy"))


def read_all(path, folder):
    """Use a run in every way, and return the lines of refusal and the number of answers."""
    lines, answers = [], 0
    for readonly in (True, False):
        try:
            store = RunStore.open(path, readonly=readonly)
        except StoreError as error:
            lines.append(str(error))
            continue
        with store:
            for use in uses(store, folder):
                try:
                    found = use()
                except StoreError as error:
                    lines.append(str(error))
                else:
                    answers += 1
                    assert all(text == printable(text, keep="\n\t") for text in texts(found))
        for made in folder.glob("*"):
            if made.is_file():
                made.unlink()
    return lines, answers


def check_use(path, folder):
    begin = time.process_time()
    lines, answers = read_all(path, folder)
    assert time.process_time() - begin < 20
    for line in lines:
        assert line == printable(line)
        assert len(line) <= 2000
    outside = [p for p in folder.parent.glob("*") if p not in (folder, path.parent)]
    assert not outside
    return lines, answers


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_a_signed_but_odd_run_is_refused_in_one_line_or_read(family, tmp_path, monkeypatch):
    refused = 0
    n_stores = N_EACH
    if family is odd_stores.many_rows:  # slow: 300 tables to export
        n_stores = 1 + N_EACH // 6
    if family is odd_stores.huge_value:
        monkeypatch.setitem(SQLITE_LIMITS, sqlite3.SQLITE_LIMIT_LENGTH, odd_stores.HUGE - 1)
    for seed in range(n_stores):
        home = tmp_path / str(seed)
        run, folder = home / "run", home / "out"
        run.mkdir(parents=True)
        folder.mkdir()
        odd_store(run / "store", family, seed)
        try:
            lines, answers = check_use(run / "store", folder)
        except BaseException as error:
            error.add_note(f"odd_store(path, {family.__name__}, {seed})")
            raise
        assert lines or answers
        refused += bool(lines)
        for file in home.rglob("*"):  # the large ones would fill the disk
            if file.is_file():
                file.unlink()
    if family not in (odd_stores.many_rows, odd_stores.odd_timing):
        assert refused > n_stores / 3  # the families do make odd files


def test_a_good_run_is_read_without_a_refusal(tmp_path):
    good_store(tmp_path / "store")
    (tmp_path / "out").mkdir()
    lines, answers = read_all(tmp_path / "store", tmp_path / "out")
    assert lines == []
    assert answers == 26


def read_and_verify(path):
    with RunStore.open(path, readonly=True) as store:
        for read in (store.status, store.cells, store.content_digest):
            with contextlib.suppress(StoreError):
                read()
        store.verify()


@pytest.mark.parametrize("table", ["block", "cell", "timing", "document"])
def test_a_tree_without_end_is_refused_in_a_minute(tmp_path, table):
    looped_store(tmp_path / "store", table)
    begin = time.process_time()
    with pytest.raises(StoreError, match="is damaged"):
        read_and_verify(tmp_path / "store")
    assert time.process_time() - begin < 60
