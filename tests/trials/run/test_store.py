import contextlib
import csv
import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.trials.toys import TOY
from trials.checks import InvalidParameter
from trials.run.cell import canonical_json
from trials.run.store import NewBlock, RunStore, StoreError

ROOT = Path(__file__).resolve().parents[3]
SHAPE = (TOY.block_size, 2)


def _block(seed=0):
    return np.random.default_rng(seed).standard_normal(SHAPE)


@pytest.fixture
def path(tmp_path):
    """A closed run of three blocks of one cell and one of another, with a failed trial."""
    path = tmp_path / "run.sqlite"
    with RunStore.create(path, root_seed=2**100 + 1, config={"profile": "quick"}) as store:
        for block in range(3):
            store.put_block(TOY, {"mean": 1.0}, block, _block(block), seconds=0.5)
        values = _block(9)
        values[5, 1] = np.nan
        store.put_block(TOY, {"mean": 2.0}, 0, values, [(5, "diverged: second=nan")])
        store.put_document("claim", "a", {"verdict": "SUPPORTED", "x": 0.1})
    return path


@settings(deadline=None, max_examples=30)
@given(values=hnp.arrays(np.float64, SHAPE, elements=st.floats(width=64)))
def test_values_come_back_bit_for_bit(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("bits") / "run"
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1)).tolist()
    reasons = tuple((row, f"diverged: {row % 3}") for row in bad)
    with RunStore.create(path, root_seed=0, config={}) as store:
        store.put_block(TOY, {}, 0, values, reasons)
    with RunStore.open(path, readonly=True) as store:
        table = store.table(TOY, {})
    assert table.values.tobytes() == values.tobytes()
    assert table.reasons == reasons
    assert np.flatnonzero(table.failed).tolist() == bad
    assert table["second"].tobytes() == values[:, 1].tobytes()


def test_a_closed_run_is_one_file_and_keeps_seed_and_config(path):
    sizes = {p.name: p.stat().st_size for p in path.parent.iterdir()}
    assert set(sizes) == {"run.sqlite", "run.sqlite-lock"}
    assert sizes["run.sqlite-lock"] == 0  # the run is the other file
    with RunStore.open(path) as store:
        assert store.root_seed == 2**100 + 1
        assert store.config == {"profile": "quick"}


def test_table_reads_the_prefix_and_names_a_missing_block(path):
    with RunStore.open(path) as store:
        store.put_block(TOY, {"mean": 1.0}, 4, _block(4))
        assert store.blocks(TOY, {"mean": 1.0}) == {0, 1, 2, 4}
        assert store.table(TOY, {"mean": 1.0}).n_trials == 48
        two = store.table(TOY, {"mean": 1.0}, 2)
        assert two.values.tobytes() == np.concatenate([_block(0), _block(1)]).tobytes()
        with pytest.raises(StoreError, match=r"block 3 .* is not stored"):
            store.table(TOY, {"mean": 1.0}, 5)
        assert store.blocks(TOY, {"mean": 7.0}) == set()
        with pytest.raises(StoreError, match="holds no cell"):
            store.table(TOY, {"mean": 7.0})


def test_a_cell_is_found_by_incomplete_parameters_and_by_the_experiments_name(path):
    with RunStore.open(path) as store:
        full = TOY.check({"mean": 1.0})
        by_name = store.table("test.toy", full)
        assert by_name.values.tobytes() == store.table(TOY, {"mean": 1}).values.tobytes()


def test_trial_is_a_row_of_the_table(path):
    with RunStore.open(path) as store:
        table = store.table(TOY, {"mean": 1.0})
        values, status = store.trial(TOY, {"mean": 1.0}, 37)
        assert values.tobytes() == table.values[37].tobytes()
        assert status == "ok"
        assert store.trial(TOY, {"mean": 2.0}, 5)[1] == "diverged: second=nan"
        with pytest.raises(StoreError, match=r"trial 48 .* is not stored"):
            store.trial(TOY, {"mean": 1.0}, 48)


def test_a_tables_arrays_cannot_be_written(path):
    with RunStore.open(path) as store:
        table = store.table(TOY, {"mean": 1.0})
    with pytest.raises(ValueError, match="read-only"):
        table.values[0, 0] = 1.0
    with pytest.raises(KeyError, match="unknown column 'third'; known: first, second"):
        table["third"]


def test_status_counts_blocks_trials_and_failures(path):
    with RunStore.open(path, readonly=True) as store:
        found = {s.params["mean"]: s for s in store.status()}
    assert [(s.n_blocks, s.n_trials, s.n_failed) for _, s in sorted(found.items())] == [
        (3, 48, 0),
        (1, 16, 1),
    ]
    assert found[1.0].seconds == pytest.approx(1.5)


# -- what may not be stored ------------------------------------------------------------------


def test_the_same_block_again_changes_nothing_and_another_is_refused(path):
    with RunStore.open(path) as store:
        before = store.content_digest()
        store.put_block(TOY, {"mean": 1.0}, 1, _block(1))
        assert store.content_digest() == before
        with pytest.raises(StoreError, match="stored with other content"):
            store.put_block(TOY, {"mean": 1.0}, 1, _block(2))
        assert store.content_digest() == before


@pytest.mark.parametrize("first", [4, 1])
def test_blocks_of_one_call_are_stored_all_or_none(path, first):
    """Block 1 is there.  With other values it is refused, and so are those before it."""
    with RunStore.open(path) as store:
        blocks = [NewBlock(TOY, {"mean": 1.0}, block, _block(block)) for block in (first, 5, 5)]
        new = [*blocks, NewBlock(TOY, {"mean": 3.0}, 0, _block(0), code="ab", machine="m")]
        with pytest.raises(StoreError, match=r"block 1 of .* is stored with other content"):
            store.put_blocks([*new, NewBlock(TOY, {"mean": 1.0}, 1, _block(7))])
        assert store.blocks(TOY, {"mean": 1.0}) == {0, 1, 2}
        assert store.n_blocks() == 4
        store.put_blocks(new)
        assert store.blocks(TOY, {"mean": 1.0}) == {0, 1, 2, first, 5}
        assert store.machine_of(TOY, {"mean": 3.0}, 0) == "m"
        n_blocks, digest = store.n_blocks(), store.content_digest()
    assert n_blocks == (7 if first == 4 else 6)
    with RunStore.open(path) as store:  # the rows are compared with their tally
        assert (store.n_blocks(), store.content_digest()) == (n_blocks, digest)
        assert store.blocks(TOY, {"mean": 1.0}) == {0, 1, 2, first, 5}


def test_cells_of_one_call_are_entered_all_or_none(path):
    unchecked = replace(TOY, check=dict, name="test.any")
    with RunStore.open(path) as store:
        before = [cell.params for cell in store.cells()]
        added = [(TOY, {"mean": float(mean)}) for mean in (3, 4, 3)]
        with pytest.raises(InvalidParameter, match="cannot be stored"):
            store.register_all([*added, (unchecked, {"name": "\x1b[31m"})])
        assert [cell.params for cell in store.cells()] == before
        store.register_all(added)
    with RunStore.open(path) as store:
        means = sorted(cell.params["mean"] for cell in store.cells())
        assert means == [1.0, 2.0, 3.0, 4.0]


PARTLY = np.zeros(SHAPE)
PARTLY[3, 1] = np.inf  # the other column of the row is finite


@pytest.mark.parametrize(
    ("values", "reasons", "message"),
    [
        (np.zeros((3, 2)), [], "must be float64 of shape"),
        (np.zeros(SHAPE, np.float32), [], "must be float64 of shape"),
        (np.full(SHAPE, np.nan), [(0, "diverged")], "row 1 is not finite and has no reason"),
        (PARTLY, [], "row 3 is not finite and has no reason"),
        (PARTLY, [(2, "diverged")], "row 3 is not finite and has no reason"),
        (np.zeros(SHAPE), [(0, "a"), (0, "b")], "exactly one reason"),
        (np.zeros(SHAPE), [(16, "a")], "exactly one reason"),
    ],
)
def test_blocks_that_would_hide_a_trial_are_refused(path, values, reasons, message):
    with RunStore.open(path) as store:
        with pytest.raises(ValueError, match=message):
            store.put_block(TOY, {"mean": 1.0}, 7, values, reasons)
        assert 7 not in store.blocks(TOY, {"mean": 1.0})


def test_two_parameter_sets_with_one_number_are_refused(path, monkeypatch):
    monkeypatch.setattr("trials.run.store.cells.number_of_text", lambda spelled: 42)
    with RunStore.open(path) as store:
        store.register(TOY, {"mean": 3.0})
        with pytest.raises(StoreError, match=r"two cells of 'test\.toy' have the number"):
            store.register(TOY, {"mean": 4.0})


@pytest.mark.parametrize("change", [{"block_size": 32}, {"columns": ("a", "b")}, {"design": 1}])
def test_a_changed_design_needs_a_new_run(path, change):
    with (
        RunStore.open(path) as store,
        pytest.raises(StoreError, match="a changed design needs a new run"),
    ):
        store.register(replace(TOY, **change), {"mean": 1.0})


def test_a_read_only_run_refuses_writes(path):
    with RunStore.open(path, readonly=True) as store:
        for write in (
            lambda: store.put_block(TOY, {"mean": 1.0}, 8, _block()),
            lambda: store.put_document("claim", "b", {}),
            lambda: store.register(TOY, {"mean": 5.0}),
        ):
            with pytest.raises(StoreError, match="read-only"):
                write()


WRITER = """
import sys, time
from trials.run.store import RunStore
store = RunStore.open(sys.argv[1])
store.put_document("claim", "b", {"x": 1})
print("writing", flush=True)
time.sleep(3600)
"""


@pytest.fixture
def writer(path):
    """A process that has the run open for writing, in the middle of its work."""
    child = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert child.stdout.readline() == "writing\n"
    yield child
    child.kill()
    child.wait()
    child.stdout.close()


def test_a_second_writer_is_refused_at_once_and_readers_are_not(path, writer, monkeypatch):
    connect, patience = sqlite3.connect, []

    def connect_noting(*arguments, timeout, **options):
        patience.append(timeout)
        return connect(*arguments, timeout=timeout, **options)

    monkeypatch.setattr(sqlite3, "connect", connect_noting)
    with pytest.raises(StoreError, match="another process is writing this run") as caught:
        RunStore.open(path)
    assert patience == [0.0]
    monkeypatch.undo()
    assert "\n" not in str(caught.value)
    with RunStore.open(path, readonly=True) as store:
        assert store.document("claim", "b") == {"x": 1}
        assert store.table(TOY, {"mean": 1.0}).n_trials == 3 * TOY.block_size


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_the_lock_ends_with_its_process(path, writer, end):
    writer.send_signal(end)
    writer.wait()
    with RunStore.open(path) as store:
        assert store.document("claim", "b") == {"x": 1}
        store.put_document("claim", "c", {})


def test_the_lock_is_held_within_one_process_and_released_by_closing(path):
    with RunStore.open(path), pytest.raises(StoreError, match="another process is writing"):
        RunStore.open(path)
    with RunStore.open(path):
        pass


def test_the_lock_is_that_of_the_run_also_through_a_link(path):
    link = path.with_name("link.sqlite")
    link.symlink_to(path)
    with RunStore.open(path), pytest.raises(StoreError, match="another process is writing"):
        RunStore.open(link)
    with RunStore.open(link), pytest.raises(StoreError, match="another process is writing"):
        RunStore.open(path)


def test_a_link_reads_the_run_with_its_log(path, tmp_path):
    """A process that was killed while it folded the log left the first page of the whole file.

    The log lies beside the file, and no log beside the link: there the run was called damaged.
    """
    with RunStore.open(path) as store:
        for block in range(3, 40):
            store.put_block(TOY, {"mean": 1.0}, block, _block(block))
        killed = tmp_path / "killed"
        pages = bytearray(path.read_bytes())
        log = path.with_name(path.name + "-wal").read_bytes()
    pages[:100] = path.read_bytes()[:100]
    killed.write_bytes(pages)
    killed.with_name("killed-wal").write_bytes(log)
    link = tmp_path / "elsewhere" / "link"
    link.parent.mkdir()
    link.symlink_to(killed)
    with RunStore.open(link, readonly=True) as store, RunStore.open(path, readonly=True) as whole:
        assert store.n_blocks() == 41
        assert store.content_digest() == whole.content_digest()


def test_a_run_that_cannot_be_started_leaves_the_name_free(tmp_path):
    path = tmp_path / "new.sqlite"
    lock = tmp_path / "new.sqlite-lock"
    lock.write_bytes(b"not a lock " * 100)
    with pytest.raises(StoreError, match="cannot be written"):
        RunStore.create(path, root_seed=0, config={})
    with pytest.raises(TypeError, match="not JSON-ready"):
        RunStore.create(path, root_seed=0, config={"a": object()})
    assert list(tmp_path.iterdir()) == [lock]
    lock.unlink()
    with RunStore.create(path, root_seed=0, config={}):
        pass


def test_a_refused_file_is_not_left_locked(path):
    damaged = path.read_bytes()
    path.write_bytes(damaged[:100] + b"\0" * (len(damaged) - 100))
    with pytest.raises(StoreError, match="damaged"):
        RunStore.open(path)
    path.write_bytes(damaged)
    with RunStore.open(path):
        pass


def test_a_run_that_cannot_be_locked_is_refused_in_one_line(path):
    lock = path.with_name(path.name + "-lock")
    lock.unlink()
    lock.mkdir()
    with pytest.raises(StoreError, match=r"cannot be written \(run\.sqlite-lock is a dir"):
        RunStore.open(path)
    with RunStore.open(path, readonly=True):
        pass


def test_an_existing_file_is_never_overwritten(path):
    before = path.read_bytes()
    with pytest.raises(StoreError, match="exists already"):
        RunStore.create(path, root_seed=1, config={})
    assert path.read_bytes() == before


# -- what may not be opened ------------------------------------------------------------------


def _foreign(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: None, "no such run"),
        (lambda p: p.mkdir(), "is a directory"),
        (lambda p: p.write_bytes(b""), "is an empty file"),
        (lambda p: p.write_text("a text file, longer than a header"), "not an SQLite file"),
        (lambda p: p.write_bytes(b"SQLite format 3\0 and then nothing of the kind" * 9), "damaged"),
        (_foreign, "another program"),
    ],
)
def test_what_is_not_a_run_is_refused_in_one_line(tmp_path, make, message):
    path = tmp_path / "thing"
    make(path)
    with pytest.raises(StoreError, match=message) as caught:
        RunStore.open(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_a_newer_schema_is_refused(path):
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreError, match=r"has store format 99; .* reads formats 1 to 4; upgrade"):
        RunStore.open(path)


@pytest.mark.parametrize("keep", [0.9, 0.5, 0.1])
def test_a_truncated_run_is_refused(path, keep):
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])
    with pytest.raises(StoreError, match="damaged"):
        RunStore.open(path)


@pytest.mark.parametrize("offset", [0, 7, 100, 16 * 2 * 8 - 1])
def test_one_flipped_bit_in_the_values_is_noticed(path, offset):
    data = bytearray(path.read_bytes())
    where = data.index(_block(1).tobytes()) + offset
    data[where] ^= 1
    path.write_bytes(data)
    with RunStore.open(path) as store:
        assert store.table(TOY, {"mean": 1.0}, 1).n_trials == 16  # block 0 is whole
        for read in (lambda: store.table(TOY, {"mean": 1.0}), store.content_digest):
            with pytest.raises(StoreError, match="checksum of block 1"):
                read()


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE block SET block = 11 WHERE block = 2", "rows of the table 'block'"),
        ("UPDATE block SET reasons = '{}' WHERE n_failed = 1", "checksum of block 0"),
        ("UPDATE block SET n_failed = 0", "rows of the table 'block'"),
        ("UPDATE block SET data = 'text' WHERE block = 2", "checksum of block 2"),
        ("UPDATE block SET reasons = 5 WHERE block = 2", "checksum of block 2"),
        ("DELETE FROM block WHERE block = 2", "rows of the table 'block'"),
        ("DELETE FROM document", "rows of the table 'document'"),
        ("UPDATE tally SET n_rows = 'x'", "rows of the table 'block'"),
        ("DELETE FROM tally WHERE name = 'cell'", "the tally of its tables"),
        ("UPDATE cell SET columns = '[1, 2]'", r"checksum of cell test\.toy"),
    ],
)
def test_an_edited_run_is_noticed(path, statement, message):
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()
    with pytest.raises(StoreError, match=message), RunStore.open(path) as store:
        store.content_digest()


def test_a_worker_does_not_count_the_rows_and_still_verifies_what_it_reads(path):
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM block WHERE block = 2")
        connection.execute("UPDATE block SET data = 'text' WHERE block = 1")
    connection.close()
    with pytest.raises(StoreError, match="rows of the table 'block'"):
        RunStore.open(path, readonly=True)
    with RunStore.open(path, readonly=True, count=False) as store:
        assert store.table(TOY, {"mean": 1.0}, 1).n_trials == 16
        with pytest.raises(StoreError, match="checksum of block 1"):
            store.table(TOY, {"mean": 1.0}, 2)
        with pytest.raises(StoreError, match="block 2"):
            store.table(TOY, {"mean": 1.0}, 3)


def test_an_edited_seed_or_document_is_noticed(path):
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE document SET body = '{}'")
    with RunStore.open(path) as store, pytest.raises(StoreError, match="document claim/a"):
        store.documents("claim")
    with connection:
        connection.execute("UPDATE run SET root_seed = '7'")
    connection.close()
    with pytest.raises(StoreError, match="run record"):
        RunStore.open(path)


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_a_flipped_byte_is_refused_or_harmless(tmp_path_factory, data):
    """A change of any byte of the file gives a `StoreError` or the right values."""
    path = tmp_path_factory.mktemp("flip") / "run"
    with RunStore.create(path, root_seed=1, config={}) as store:
        store.put_block(TOY, {}, 0, _block(0))
    raw = bytearray(path.read_bytes())
    where = data.draw(st.integers(0, len(raw) - 1))
    raw[where] ^= data.draw(st.integers(1, 255))
    path.write_bytes(raw)
    with contextlib.suppress(StoreError), RunStore.open(path) as store:
        assert store.root_seed == 1
        assert store.table(TOY, {}, 1).values.tobytes() == _block(0).tobytes()


# -- digest, documents, export ---------------------------------------------------------------


@settings(deadline=None, max_examples=10)
@given(order=st.permutations(range(4)), seconds=st.floats(0, 10))
def test_digest_ignores_order_timings_and_documents(tmp_path_factory, order, seconds):
    folder = tmp_path_factory.mktemp("digest")
    digests = set()
    for name, blocks in (("a", range(4)), ("b", order)):
        with RunStore.create(folder / name, root_seed=1, config={}) as store:
            for i in blocks:
                store.put_block(TOY, {"mean": i % 2}, i // 2, _block(i), seconds=seconds * i)
            if name == "b":
                store.put_document("claim", "a", {})
            digests.add(store.content_digest())
    assert len(digests) == 1


def test_digest_sees_values_places_and_reasons(tmp_path):
    variants = [
        ({"mean": 1.0}, 0, _block(0), []),
        ({"mean": 1.0}, 1, _block(0), []),
        ({"mean": 2.0}, 0, _block(0), []),
        ({"mean": 1.0}, 0, _block(1), []),
        ({"mean": 1.0}, 0, _block(0), [(1, "raised: X: y")]),
    ]
    digests = set()
    for i, (params, block, values, reasons) in enumerate(variants):
        with RunStore.create(tmp_path / str(i), root_seed=1, config={}) as store:
            store.put_block(TOY, params, block, values, reasons)
            digests.add(store.content_digest())
    assert len(digests) == len(variants)


def test_documents_are_replaced_whole_and_unwrap_numpy(path):
    with RunStore.open(path) as store:
        assert store.document("claim", "a") == {"verdict": "SUPPORTED", "x": 0.1}
        store.put_document("claim", "a", {"n": np.int64(3), "ok": np.bool_(True), "v": np.ones(2)})
        store.put_document("claim", "b", {})
        assert store.documents("claim") == {"a": {"n": 3, "ok": True, "v": [1.0, 1.0]}, "b": {}}
        assert store.document("claim", "c") is None
        assert store.documents("figure") == {}


def test_a_run_whose_documents_were_replaced_is_whole(path):
    """The tally counts the document that is there, and not the one in whose place it stands."""
    for number in range(3):
        with RunStore.open(path) as store:
            store.put_document("claim", "a", {"verdict": f"VERDICT {number}"})
            store.put_document("claim", f"new {number}", {})
            store.put_document("claim", f"new {number}", {"again": True})
        with RunStore.open(path, readonly=True) as store:
            assert store.document("claim", "a") == {"verdict": f"VERDICT {number}"}
            assert len(store.documents("claim")) == 2 + number
            store.verify()


def test_csv_holds_every_trial_and_reads_back_bit_for_bit(path, tmp_path):
    with RunStore.open(path, readonly=True) as store:
        (file,) = store.export_csv(tmp_path / "out")
        one, two = (store.table(TOY, {"mean": m}) for m in (1.0, 2.0))
    with file.open() as stream:
        rows = list(csv.DictReader(stream))
    assert file.name == "test.toy.csv"
    assert len(rows) == 64
    assert list(rows[0]) == [
        *("mean", "mode", "scale", "block", "trial", "status", "reason", "first", "second")
    ]
    for table, mean in ((one, "1.0"), (two, "2.0")):
        mine = [row for row in rows if row["mean"] == mean]
        assert [int(row["trial"]) for row in mine] == list(range(table.n_trials))
        assert np.array([float(r["first"]) for r in mine]).tobytes() == table["first"].tobytes()
    failed = [row for row in rows if row["status"] != "ok"]
    assert [(r["status"], r["reason"], r["mean"], r["trial"]) for r in failed] == [
        ("diverged", "diverged: second=nan", "2.0", "5")
    ]


@pytest.mark.parametrize("named", [True, False])
def test_only_the_mark_of_a_missing_value_is_missing_in_a_table(path, tmp_path, named):
    """Other negative values stay, and so does the mark of an experiment that has none."""
    with RunStore.open(path, readonly=True) as store:
        mark = float(store.table(TOY, {"mean": 1.0})["first"].min())
        (file,) = store.export_csv(tmp_path / "out", {TOY.name if named else "other": mark})
        table = store.table(TOY, {"mean": 1.0})["first"]
    with file.open() as stream:
        found = [row["first"] for row in csv.DictReader(stream) if row["mean"] == "1.0"]
    assert (table < 0).sum() > 1
    for text, value in zip(found, table.tolist(), strict=True):
        assert text == ("" if named and value == mark else repr(value))


def test_csv_says_of_each_block_which_of_its_trials_failed(tmp_path):
    """Two blocks of two cells, each with a failure at a row of its own."""
    rows = {(1.0, 0): 3, (1.0, 1): 0, (2.0, 0): 15, (2.0, 1): 7}
    with RunStore.create(tmp_path / "run", root_seed=0, config={}) as store:
        for (mean, block), row in rows.items():
            values = _block(row)
            values[row, 1] = np.inf
            store.put_block(TOY, {"mean": mean}, block, values, [(row, f"diverged: at {row}")])
        (file,) = store.export_csv(tmp_path / "out")
    with file.open() as stream:
        failed = [row for row in csv.DictReader(stream) if row["status"] != "ok"]
    assert {(float(r["mean"]), int(r["trial"]), r["reason"]) for r in failed} == {
        (mean, block * TOY.block_size + row, f"diverged: at {row}")
        for (mean, block), row in rows.items()
    }
    assert all(math.isinf(float(r["second"])) for r in failed)


def test_parquet_holds_what_csv_holds(path, tmp_path):
    pytest.importorskip("pyarrow", reason="the extra cfl-verify[parquet] is not installed")
    import pandas as pd

    with RunStore.open(path, readonly=True) as store:
        (parquet,) = store.export_parquet(tmp_path)
        (text,) = store.export_csv(tmp_path)
    one, two = pd.read_parquet(parquet), pd.read_csv(text, dtype={"first": str, "second": str})
    assert list(one.columns) == list(two.columns)
    for column in ("first", "second", "trial", "block"):
        same = one[column] == two[column].astype(one[column].dtype)
        assert same.sum() == 64 - (column == "second")  # the one NaN equals nothing


def test_parquet_without_pyarrow_names_the_extra(path, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with (
        RunStore.open(path, readonly=True) as store,
        pytest.raises(StoreError, match=r"cfl-verify\[parquet\]"),
    ):
        store.export_parquet(tmp_path)


def test_export_spells_mixed_and_nested_parameters(tmp_path):
    def check(params):
        return dict(params)

    wide = replace(TOY, check=check, name="test.wide")
    cells = [
        {"p": [0.5, 0.5], "n": 1, "x": 1, "block": True},
        {"p": [1.0], "n": 2, "x": 2.5, "only": "here", "block": False},
    ]
    with RunStore.create(tmp_path / "run", root_seed=0, config={}) as store:
        for i, params in enumerate(cells):
            store.put_block(wide, params, 0, _block(i))
        (file,) = store.export_csv(tmp_path)
        if __import__("importlib.util").util.find_spec("pyarrow"):
            store.export_parquet(tmp_path)
    with file.open() as stream:
        rows = list(csv.DictReader(stream))
    assert {(r["p"], r["n"], r["x"], r["only"], r["param.block"], r["block"]) for r in rows} == {
        ("[0.5,0.5]", "1", "1.0", "", "True", "0"),
        ("[1.0]", "2", "2.5", "here", "False", "0"),
    }


@pytest.mark.parametrize(
    "values",
    [
        [2**63 - 1, -(2**63)],
        [2**63, 3],
        [2**64 - 1],
        [-(2**63) - 1, 5],
        [2**70 + 1, 2**70],
        [2**53 + 1, 0.5],
        [2**70 + 1, -1.5],
        [10**18, 2**70, 1e308, -0.1],
    ],
)
def test_an_exported_number_has_all_of_its_digits(tmp_path, values):
    """Integers from 2^63 to 2^64 stopped the export, and others were rounded."""
    wide = replace(TOY, check=dict, name="test.wide")
    with RunStore.create(tmp_path / "run", root_seed=0, config={}) as store:
        for n in values:
            store.put_block(wide, {"n": n}, 0, _block(0))
        (file,) = store.export_csv(tmp_path)
    with file.open() as stream:
        found = {row["n"] for row in csv.DictReader(stream)}
    read = {int(n) if n.lstrip("-").isdigit() else float(n) for n in found}
    assert read == set(values)  # Python compares an integer with a float exactly


def test_a_value_with_the_name_of_an_exported_column_leaves_that_column_alone(tmp_path):
    """Before, the numbers of the trials were overwritten by the values."""
    odd = replace(TOY, columns=("trial", "status"), name="test.odd")
    with RunStore.create(tmp_path / "run", root_seed=0, config={}) as store:
        store.put_block(odd, {}, 0, _block(0))
        store.put_block(odd, {}, 1, _block(1))
        (file,) = store.export_csv(tmp_path)
    with file.open() as stream:
        rows = list(csv.DictReader(stream))
    assert [(int(r["trial"]), r["status"]) for r in rows] == [(i, "ok") for i in range(32)]
    shown = [[float(r["value.trial"]), float(r["value.status"])] for r in rows]
    assert shown == np.concatenate([_block(0), _block(1)]).tolist()


def test_an_export_has_a_column_for_each_parameter_and_value(tmp_path):
    """Two that got one heading had one column, and one of them was lost."""
    params = {"value.block": 1, "first": 2, "param.first": 3, "param.param.first": 4}
    odd = replace(TOY, check=dict, columns=("first", "block"), name="test.odd")
    with RunStore.create(tmp_path / "run", root_seed=0, config={}) as store:
        store.put_block(odd, params, 0, _block(0))
        (file,) = store.export_csv(tmp_path)
    with file.open() as stream:
        heading, *rows = csv.reader(stream)
    assert len(heading) == len(set(heading)) == len(params) + 4 + len(odd.columns)
    columns = dict(zip(heading, zip(*rows, strict=True), strict=True))
    found = [columns[name] for name in heading[: len(params)]]
    assert sorted(found) == [(str(n),) * 16 for n in (1, 2, 3, 4)]
    shown = [
        [float(x), float(y)] for x, y in zip(columns["first"], columns["value.block"], strict=True)
    ]
    assert shown == _block(0).tolist()
    assert columns["block"] == ("0",) * 16


@pytest.mark.parametrize("reason", ["", ": x", "ok", "ok: x", " "])
def test_a_reason_never_reads_as_the_status_of_a_good_trial(path, reason):
    """An exported table showed such a failed trial as ok."""
    with RunStore.open(path) as store:
        with pytest.raises(ValueError, match="the reason of a failed row must begin with a word"):
            store.put_block(TOY, {"mean": 3.0}, 0, _block(0), [(4, reason)])
        store.put_block(TOY, {"mean": 3.0}, 0, _block(0), [(4, "raised: ok")])
        (file,) = store.export_csv(path.parent / "tables")
        failed = store.table(TOY, {"mean": 3.0}).failed
    with file.open() as stream:
        status = [row["status"] for row in csv.DictReader(stream) if row["mean"] == "3.0"]
    assert [one != "ok" for one in status] == failed.tolist()


@pytest.mark.parametrize("n_blocks", [-1, 1.5, 2**33])
def test_a_table_has_a_number_of_blocks(path, n_blocks):
    """-1 returned all trials but those of the last block, once the table had been read."""
    with RunStore.open(path, readonly=True) as store:
        store.table(TOY, {"mean": 1.0})
        with pytest.raises(InvalidParameter, match="n_blocks="):
            store.table(TOY, {"mean": 1.0}, n_blocks)


def test_a_refused_block_enters_no_cell(path):
    """A commit is whole or none: the run of a refused one had a cell more."""
    good, bad = _block(1), np.full(SHAPE, np.nan)
    with RunStore.open(path) as store:
        before = store.cells()
        for params in ({"mean": 4.0}, {"mean": 5.0}):
            blocks = [NewBlock(TOY, params, 0, good), NewBlock(TOY, {"mean": 6.0}, 0, bad)]
            with pytest.raises(ValueError, match="is not finite and has no reason"):
                store.put_blocks(blocks)
        assert store.cells() == before


@pytest.mark.parametrize("seed", [7.9, "7", None])
def test_a_root_seed_is_an_integer(tmp_path, seed):
    """7.9 was cut to 7 without a word."""
    with pytest.raises(TypeError):
        RunStore.create(tmp_path / "run", root_seed=seed, config={})
    assert not (tmp_path / "run").exists()


def test_cells_lists_what_a_reader_needs(path):
    with RunStore.open(path, readonly=True) as store:
        cells = store.cells()
    assert {canonical_json(c.params) for c in cells} == {
        canonical_json(TOY.check({"mean": m})) for m in (1.0, 2.0)
    }
    assert {(c.experiment, c.design, c.block_size, c.columns) for c in cells} == {
        (TOY.name, TOY.design, TOY.block_size, TOY.columns)
    }
    assert json.dumps([c.params for c in cells])


def test_the_finished_trials_of_a_table_are_those_without_a_reason(path):
    with RunStore.open(path) as store:
        whole, broken = store.table(TOY, {"mean": 1.0}), store.table(TOY, {"mean": 2.0})
    assert whole.finished is whole
    kept = broken.finished
    np.testing.assert_array_equal(kept.values, np.delete(_block(9), 5, axis=0))
    assert (kept.n_trials, kept.n_failed, kept.failed.any()) == (SHAPE[0] - 1, 0, False)
    np.testing.assert_array_equal(kept["second"], np.delete(_block(9)[:, 1], 5))


@dataclass
class Wanted:
    """The configuration of the run, as a record."""

    profile: str


@dataclass
class Counted:
    """A configuration whose profile is a number."""

    profile: int


@dataclass
class Empty:
    """A configuration without a field."""


def test_the_configuration_comes_back_as_the_record_that_is_asked_for(path):
    with RunStore.open(path) as store:
        assert store.config_as(Wanted) == Wanted("quick")
        with pytest.raises(StoreError, match=r"the configuration is not as expected.*profile"):
            store.config_as(Counted)
        with pytest.raises(StoreError, match="the configuration has the unknown field 'profile'"):
            store.config_as(Empty)


def test_mappings_below_a_document_come_back_and_what_json_lacks_is_refused(path):
    inner = MappingProxyType({"y": np.float64(0.1), "z": MappingProxyType({"n": np.arange(2)})})
    with RunStore.open(path) as store:
        store.put_document("claim", "b", {"x": inner})
        assert store.document("claim", "b") == {"x": {"y": 0.1, "z": {"n": [0, 1]}}}
        with pytest.raises(TypeError, match="set is not JSON-ready"):
            store.put_document("claim", "b", {"x": {1}})
        assert store.document("claim", "b") == {"x": {"y": 0.1, "z": {"n": [0, 1]}}}


def test_an_export_into_a_file_is_refused_and_leaves_it_alone(path, tmp_path):
    (tmp_path / "taken").write_text("mine")
    for folder in (tmp_path / "taken", tmp_path / "taken" / "below"):
        with RunStore.open(path) as store, pytest.raises(StoreError, match="cannot be written"):
            store.export_csv(folder)
    assert (tmp_path / "taken").read_text() == "mine"
