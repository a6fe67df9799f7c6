"""Formats of the run file: the code of each block, and runs of earlier and later versions."""

import contextlib
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from tests.trials.toys import TOY
from trials.run.store import SCHEMA_VERSION, RunStore, StoreError

FORMAT_1 = Path(__file__).parent / "data" / "format1.sql"
# Computed by the version that wrote `data/format1.sql`.  A run made today must still have it.
DIGEST = "e32feb40eebc0311f460b312bc27c80b3b841c1390042c96201090a9eaa3e9ad"


def fill(store, code=""):
    values = np.arange(32.0).reshape(16, 2)
    for block in range(3):
        store.put_block(TOY, {"mean": 1.0}, block, values + block, seconds=0.5, code=code)
    failed = values.copy()
    failed[5, 1] = np.nan
    reasons = [(5, "diverged: second=nan")]
    store.put_block(TOY, {"mean": 2.0}, 0, failed, reasons, code=code)


def edit(path, *statements):
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "old"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(FORMAT_1.read_text())
        connection.execute("PRAGMA journal_mode = WAL")
    return path


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "run"
    with RunStore.create(path, root_seed=1, config={}, code={"sources": "ab12"}) as store:
        fill(store, "ab12")
    return path


def test_the_code_of_run_and_blocks_comes_back(run):
    with RunStore.open(run) as store:
        assert store.code == {"sources": "ab12"}
        assert store.codes() == {"ab12"}
        store.put_block(TOY, {"mean": 2.0}, 1, np.zeros((16, 2)), code="cd34")
        assert store.codes() == {"ab12", "cd34"}
        assert store.codes(TOY, {"mean": 1.0}) == {"ab12"}
        assert store.codes(TOY, {"mean": 2.0}) == {"ab12", "cd34"}
        assert store.codes(TOY, {"mean": 3.0}) == set()


def test_a_block_of_other_code_is_refused_by_both_names(run):
    values = np.arange(32.0).reshape(16, 2)
    with RunStore.open(run) as store:
        store.put_block(TOY, {"mean": 1.0}, 0, values, code="ab12")  # again: nothing changes
        with pytest.raises(StoreError, match="was made by code ab12, now by code cd34; start a"):
            store.put_block(TOY, {"mean": 1.0}, 0, values, code="cd34")
        assert store.codes() == {"ab12"}


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE block SET code = 'cd34' WHERE block = 2", "checksum of block 2"),
        ("UPDATE block SET code = '' WHERE block = 2", "checksum of block 2"),
        ("UPDATE run SET code = '{}'", "checksum of the run record"),
        ("UPDATE run SET root_seed = x'00'", "checksum of the run record"),
        ("UPDATE run SET config = '{\"a\":1}'", "checksum of the run record"),
    ],
)
def test_edited_code_is_noticed(run, statement, message):
    edit(run, statement)
    with pytest.raises(StoreError, match=message), RunStore.open(run) as store:
        store.content_digest()


def test_the_digest_of_equal_trials_is_that_of_earlier_versions_whatever_the_code(run, tmp_path):
    with RunStore.open(run, readonly=True) as store:
        assert store.content_digest() == DIGEST
    with RunStore.create(tmp_path / "other", root_seed=9, config={"a": 1}) as store:
        fill(store, "another")
        assert store.content_digest() == DIGEST


def test_a_run_of_format_1_is_read(old):
    with RunStore.open(old, readonly=True) as store:
        assert store.content_digest() == DIGEST == store.verify()
        assert store.root_seed == 2**100 + 1
        assert store.config == {"profile": "quick"}
        assert store.code == {}
        assert store.codes() == store.codes(TOY, {"mean": 1.0}) == set()
        assert store.table(TOY, {"mean": 1.0}).values[33].tolist() == [4.0, 5.0]
        assert store.table(TOY, {"mean": 2.0}).reasons == ((5, "diverged: second=nan"),)
        assert store.document("claim", "a") == {"verdict": "SUPPORTED"}
        assert [s.n_failed for s in store.status()].count(1) == 1


def test_a_run_of_format_1_is_not_continued_and_the_file_is_left_alone(old):
    before = old.read_bytes()
    with pytest.raises(StoreError, match=r"store format 1.* did not record the code.*new run"):
        RunStore.open(old)
    assert old.read_bytes() == before
    with RunStore.open(old, readonly=True):  # the refusal left no lock
        pass


def test_reasons_of_format_1_are_under_its_checksum(old):
    edit(old, "UPDATE block SET reasons = replace(reasons, 'nan', 'inf')")
    with (
        RunStore.open(old, readonly=True) as store,
        pytest.raises(StoreError, match="checksum of block 0"),
    ):
        store.table(TOY, {"mean": 2.0})


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (0, "no version of cfl-verify wrote it"),
        (-3, "no version of cfl-verify wrote it"),
        (SCHEMA_VERSION + 1, "upgrade cfl-verify"),
        (1, r"its tables are not those of store format 1"),
    ],
)
def test_other_formats_are_refused_by_number(run, version, message):
    edit(run, f"PRAGMA user_version = {version}")
    with pytest.raises(StoreError, match=rf"format {version}.*{message}|{message}"):
        RunStore.open(run, readonly=True)


def test_the_file_says_its_format(run):
    assert int.from_bytes(run.read_bytes()[60:64], "big") == SCHEMA_VERSION == 4
    assert run.read_bytes()[68:72] == b"CFLV"


@pytest.fixture
def uncounted(run):
    """A run of format 2."""
    edit(run, "DROP TABLE tally")
    edit(run, "PRAGMA user_version = 2")
    return run


def version(path):
    return int.from_bytes(path.read_bytes()[60:64], "big")


def test_a_run_of_format_2_is_read_and_counted_when_it_is_continued(uncounted):
    before = uncounted.read_bytes()
    with RunStore.open(uncounted, readonly=True) as store:
        assert store.content_digest() == DIGEST
    assert uncounted.read_bytes() == before
    with RunStore.open(uncounted) as store:
        store.put_block(TOY, {"mean": 1.0}, 3, np.zeros((16, 2)), code="ab12")
        store.put_block(TOY, {"mean": 3.0}, 0, np.zeros((16, 2)), code="ab12")
    assert version(uncounted) == 4
    with RunStore.open(uncounted, readonly=True) as store:  # it compares the counts
        assert store.blocks(TOY, {"mean": 1.0}) == {0, 1, 2, 3}
    edit(uncounted, "DELETE FROM block WHERE block = 2")
    with pytest.raises(StoreError, match="rows of the table 'block' are lost"):
        RunStore.open(uncounted)


def test_a_run_of_format_2_to_which_nothing_is_written_keeps_its_format(uncounted):
    """A program that refuses to continue a run has opened it for writing first."""
    before = uncounted.read_bytes()
    values = np.arange(32.0).reshape(16, 2)
    with RunStore.open(uncounted) as store:
        assert store.content_digest() == DIGEST
        with pytest.raises(StoreError, match="was made by code ab12, now by code cd34"):
            store.put_block(TOY, {"mean": 1.0}, 0, values, code="cd34")
    assert uncounted.read_bytes() == before
    with RunStore.open(uncounted) as store:
        with pytest.raises(StoreError, match="now by code cd34"):  # undone, and tried again later
            store.put_block(TOY, {"mean": 1.0}, 0, values, code="cd34")
        store.put_document("claim", "a", {})
    assert version(uncounted) == 4
    with RunStore.open(uncounted, readonly=True) as store:
        assert store.document("claim", "a") == {}


def test_a_run_of_format_3_learns_the_machines_of_its_new_blocks(run):
    """The tables are those of format 3.  The mark keeps earlier versions from reading a machine as
    a part of the code.
    """
    edit(run, "PRAGMA user_version = 3")
    with RunStore.open(run, readonly=True) as store:
        assert store.content_digest() == DIGEST
        assert store.machine_of(TOY, {"mean": 1.0}, 0) == ""
    assert version(run) == 3
    with RunStore.open(run) as store:
        values = np.zeros((16, 2))
        store.put_block(TOY, {"mean": 1.0}, 3, values, code="ab12", machine="beef")
        assert store.codes() == {"ab12"}
        assert store.machine_of(TOY, {"mean": 1.0}, 48) == "beef"
        assert store.machine_of(TOY, {"mean": 1.0}, 0) == ""
        with pytest.raises(StoreError, match="was made on another machine; it stays as it is"):
            store.put_block(TOY, {"mean": 1.0}, 3, values, code="ab12", machine="cafe")
        store.verify()
    assert version(run) == 4
    edit(run, "UPDATE block SET code = 'ab12@cafe' WHERE block = 3")  # the checksum covers it
    with RunStore.open(run, readonly=True) as store, pytest.raises(StoreError, match="checksum"):
        store.table(TOY, {"mean": 1.0})


def test_a_lost_index_entry_is_noticed(run):
    """Readers find blocks through the index, which has pages of its own."""
    with contextlib.closing(sqlite3.connect(run, isolation_level=None)) as connection:
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_block_1'"
        ).fetchone()
    raw = bytearray(run.read_bytes())
    page = 4096 * (root - 1)
    n_entries = int.from_bytes(raw[page + 3 : page + 5], "big")
    raw[page + 3 : page + 5] = (n_entries - 1).to_bytes(2, "big")
    run.write_bytes(raw)
    with pytest.raises(StoreError, match="rows of the table 'block' are lost"):
        RunStore.open(run, readonly=True)


def test_blocks_of_runs_without_counts_are_counted(old, uncounted):
    for path in (old, uncounted):
        with contextlib.closing(sqlite3.connect(path)) as connection:
            n_blocks = len(connection.execute("SELECT cell, block FROM block").fetchall())
        with RunStore.open(path, readonly=True) as store:
            assert store.n_blocks() == n_blocks == sum(cell.n_blocks for cell in store.status())


def test_a_run_of_format_2_is_counted_once_where_the_first_commit_is_interrupted(uncounted):
    """The interrupt came when the counts had been committed, and before that was known."""
    with RunStore.open(uncounted) as store:
        database = store._database
        before = database.format, database.upgrade
        with database.transaction():
            pass
        database.format, database.upgrade = before
        store.put_block(TOY, {"mean": 1.0}, 3, np.zeros((16, 2)), code="ab12")
    with RunStore.open(uncounted, readonly=True) as store:  # it compares the counts
        assert store.blocks(TOY, {"mean": 1.0}) == {0, 1, 2, 3}
