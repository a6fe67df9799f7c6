"""The file of a run: its first second, what else may stand in its place, and copies."""

import contextlib
import errno
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from tests.trials.toys import TOY
from trials.run.store import RunStore, StoreError, files

ROOT = Path(__file__).resolve().parents[3]


def _values(seed=0):
    return np.random.default_rng(seed).standard_normal((TOY.block_size, 2))


def _new(path):
    with RunStore.create(path, root_seed=1, config={}) as store:
        store.put_block(TOY, {}, 0, _values(), code="ab")
        store.put_document("claim", "a", {"x": 1})
    return path


@pytest.fixture
def path(tmp_path):
    return _new(tmp_path / "run")


# -- the first second ------------------------------------------------------------------------


def test_the_main_file_alone_is_a_run_from_the_first_moment(tmp_path):
    with RunStore.create(tmp_path / "run", root_seed=5, config={"a": 1}) as store:
        shutil.copy(tmp_path / "run", tmp_path / "alone")
        store.put_document("claim", "a", {})
    with RunStore.open(tmp_path / "alone") as copy:
        assert (copy.root_seed, copy.config) == (5, {"a": 1})


def test_an_empty_file_is_a_new_run(tmp_path):
    path = tmp_path / "run"
    path.touch()
    with pytest.raises(StoreError, match=r"empty file, left by a run that was stopped .*start"):
        RunStore.open(path)
    with RunStore.create(path, root_seed=1, config={}) as store:
        assert store.root_seed == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run", "run-lock"]


def test_an_empty_file_with_a_log_is_not_overwritten(tmp_path):
    path = tmp_path / "run"
    path.touch()
    files.beside(path, "-wal").write_bytes(b"commits")
    with pytest.raises(StoreError, match="exists already"):
        RunStore.create(path, root_seed=1, config={})


STARTER = """
import os, signal, sys
import sqlite3
from trials.run.store import RunStore, opening
stop = int(sys.argv[2])
steps = 0
def tracer(frame, event, arg):
    global steps
    if "trials/run/store" not in frame.f_code.co_filename.replace(os.sep, "/"):
        return None
    steps += 1
    if steps == stop:
        os.kill(os.getpid(), signal.SIGKILL)
    return tracer
sys.settrace(tracer)
RunStore.create(sys.argv[1], root_seed=7, config={"a": 1}).close()
sys.settrace(None)
print(steps)
"""


def _start(path, stop):
    return subprocess.run(
        [sys.executable, "-c", STARTER, str(path), str(stop)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )


def test_a_start_that_is_killed_at_any_step_leaves_a_run_or_the_name_free(tmp_path):
    """Kills at 12 places spread over every line that `create` runs."""
    steps = int(_start(tmp_path / "whole", -1).stdout)
    outcomes = set()
    for stop in np.linspace(1, steps - 1, 12).astype(int):
        path = tmp_path / str(stop) / "run"
        assert _start(path, stop).returncode == -signal.SIGKILL
        try:
            RunStore.open(path).close()
            outcomes.add("whole")
        except StoreError:
            outcomes.add("free")
            RunStore.create(path, root_seed=7, config={}).close()
        with RunStore.open(path) as store:
            assert store.root_seed == 7
    assert outcomes == {"whole", "free"}


@pytest.mark.parametrize("seed", [-1, 2**128])
def test_a_seed_out_of_range_is_refused_before_anything_is_written(tmp_path, seed):
    with pytest.raises(ValueError, match="must be from 0 to 2"):
        RunStore.create(tmp_path / "new" / "run", root_seed=seed, config={})
    assert list(tmp_path.iterdir()) == []


# -- lost companions -------------------------------------------------------------------------


def _unfolded(tmp_path):
    """Copies of a run's three files while it is open, as the version before wrote them."""
    path = tmp_path / "live"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE run (id)")
    connection.execute("PRAGMA application_id = 1128680534")
    copy = tmp_path / "copy"
    shutil.copy(path, copy)
    connection.close()
    return copy


def test_a_copy_without_its_log_names_the_missing_files(tmp_path):
    copy = _unfolded(tmp_path)
    with pytest.raises(StoreError, match="copy-wal and copy-shm are missing"):
        RunStore.open(copy, readonly=True)


def test_a_short_copy_names_the_files_that_may_be_missing(path):
    path.write_bytes(path.read_bytes()[:-4096])
    with pytest.raises(StoreError, match=r"damaged .*needs run-wal and run-shm"):
        RunStore.open(path)


# -- what else may stand there ---------------------------------------------------------------


def _socket(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (os.mkfifo, "is a named pipe"),
        (os.mkdir, "is a directory"),
        (lambda p: os.symlink("/dev/zero", p), "is a device"),
        (lambda p: os.symlink(p, p), "cannot be read"),
    ],
)
def test_what_is_no_plain_file_is_refused_without_waiting(tmp_path, make, message):
    path = tmp_path / "run"
    make(path)
    for readonly in (True, False):
        with pytest.raises(StoreError, match=message):
            RunStore.open(path, readonly=readonly)
    with pytest.raises(StoreError, match="exists already"):
        RunStore.create(path, root_seed=1, config={})


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-lock"])
def test_a_pipe_beside_a_run_is_refused_without_waiting(path, suffix):
    companion = files.beside(path, suffix)
    companion.unlink(missing_ok=True)
    os.mkfifo(companion)
    with pytest.raises(StoreError, match=f"run{suffix} is a named pipe"):
        RunStore.open(path)


def test_a_rollback_journal_beside_a_run_is_refused(path):
    files.beside(path, "-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + b"\0" * 504)
    for readonly in (True, False):
        with pytest.raises(StoreError, match=r"rollback journal .*another program"):
            RunStore.open(path, readonly=readonly)


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000])
def test_a_name_that_no_file_can_have_is_refused_in_one_line(tmp_path, name):
    for use in (RunStore.open, lambda p: RunStore.create(p, root_seed=1, config={})):
        with pytest.raises(StoreError, match="cannot be") as caught:
            use(tmp_path / name)
        assert str(caught.value).isprintable()


def test_a_message_shows_control_characters_of_a_path_and_is_cut(tmp_path):
    with pytest.raises(StoreError, match=r"\\x1b\[31m\\nred: no such run"):
        RunStore.open(tmp_path / "\x1b[31m\nred")
    assert len(str(StoreError("x" * 10_000))) == 2000


@contextlib.contextmanager
def sealed(folder):
    """The folder as it is for a user who may not write there."""
    folder.chmod(0o555)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o755)


@pytest.fixture
def open_folder():
    """A folder outside pytest's own, which other users may not enter."""
    folder = Path(tempfile.mkdtemp(prefix="sealed-"))
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("log", [None, b""])
def test_a_run_in_a_sealed_folder_is_read(open_folder, log):
    path = _new(open_folder / "run")
    if log is not None:
        files.beside(path, "-wal").write_bytes(log)
    with sealed(open_folder):
        with RunStore.open(path, readonly=True) as store:
            assert store.verify() == store.content_digest()
        with pytest.raises(StoreError, match=r"cannot be (written|created)"):
            RunStore.create(open_folder / "new", root_seed=1, config={})


def test_a_log_with_commits_in_a_sealed_folder_is_named(open_folder, path):
    with RunStore.open(path) as store:
        store.put_document("claim", "b", {})
        for suffix in ("", "-wal"):
            shutil.copy(files.beside(path, suffix), open_folder / f"run{suffix}")
    with (
        sealed(open_folder),
        pytest.raises(StoreError, match="run-wal holds commits; copy both to another folder"),
    ):
        RunStore.open(open_folder / "run", readonly=True)


# -- copies ----------------------------------------------------------------------------------


def test_a_copy_is_the_run_in_one_file(path, tmp_path):
    with RunStore.open(path) as store:
        store.put_block(TOY, {}, 1, _values(1), code="ab")  # still in the log
        target = store.copy_to(tmp_path / "deep" / "copy")
        store.put_block(TOY, {}, 2, _values(2), code="ab")
        digest = None
        with RunStore.open(target) as copy:
            assert copy.blocks(TOY, {}) == {0, 1}
            assert copy.code == store.code
            assert copy.document("claim", "a") == {"x": 1}
            copy.put_block(TOY, {}, 2, _values(2), code="ab")
            digest = copy.content_digest()
        assert digest == store.content_digest()
    assert {p.name for p in target.parent.iterdir()} == {"copy", "copy-lock"}


def test_a_run_that_is_being_written_is_copied_by_a_reader(path, tmp_path):
    with RunStore.open(path) as writer, RunStore.open(path, readonly=True) as reader:
        writer.put_block(TOY, {}, 1, _values(1), code="ab")
        reader.copy_to(tmp_path / "copy")
    with RunStore.open(tmp_path / "copy", readonly=True) as copy:
        assert copy.blocks(TOY, {}) == {0, 1}


def test_a_copy_overwrites_nothing(path, tmp_path):
    other = _new(tmp_path / "other")
    before = other.read_bytes()
    with RunStore.open(path) as store:
        for target in (other, path):
            with pytest.raises(StoreError, match="exists already"):
                store.copy_to(target)
    assert other.read_bytes() == before


def test_a_damaged_run_leaves_no_copy(path, tmp_path):
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE document SET body = '{}'")
    with (
        RunStore.open(path) as store,
        pytest.raises(StoreError, match="checksum of document claim/a"),
    ):
        store.copy_to(tmp_path / "copies" / "copy")
    assert [p.name for p in (tmp_path / "copies").iterdir()] == ["copy-lock"]


def test_a_copy_that_cannot_be_locked_or_written_leaves_the_name_free(path, tmp_path, monkeypatch):
    """Before, a copy whose lock file could not be made left an empty file behind."""
    folder = tmp_path / "copies"
    (folder / "copy-lock").mkdir(parents=True)
    with RunStore.open(path) as store:
        with pytest.raises(StoreError, match=r"cannot be written .copy-lock is a directory"):
            store.copy_to(folder / "copy")
        assert [p.name for p in folder.iterdir()] == ["copy-lock"]
        (folder / "copy-lock").rmdir()

        def fails(connection):
            connection.execute("CREATE TABLE half (x)")
            raise sqlite3.OperationalError("database or disk is full")

        monkeypatch.setattr(store._database, "backup", fails)
        with pytest.raises(StoreError, match=r"copy: cannot be written .*disk is full"):
            store.copy_to(folder / "copy")
        assert [p.name for p in folder.iterdir()] == ["copy-lock"]
        monkeypatch.undo()
        digest = store.content_digest()
        with RunStore.open(store.copy_to(folder / "copy"), readonly=True) as copy:
            assert copy.content_digest() == digest


def test_a_start_that_fails_half_way_leaves_the_name_free_and_unlocked(tmp_path, monkeypatch):
    def half(path):
        path.write_bytes(b"half of a run")
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr("trials.run.store.opening._bare", half)
    with pytest.raises(StoreError, match=r"run: cannot be created .*disk I/O error"):
        RunStore.create(tmp_path / "run", root_seed=1, config={})
    assert [p.name for p in tmp_path.iterdir()] == ["run-lock"]
    monkeypatch.undo()
    _new(tmp_path / "run")


def test_a_run_that_was_made_while_a_start_waited_for_its_lock_is_kept(tmp_path, monkeypatch):
    """The start had seen a free name.  It would have put an empty run in its place."""
    path = tmp_path / "run"
    lock = sys.modules["trials.run.store.opening"].writer_lock

    def late(asked):
        monkeypatch.undo()
        _new(path)
        return lock(asked)

    monkeypatch.setattr("trials.run.store.opening.writer_lock", late)
    with pytest.raises(StoreError, match=r"run: exists already; resume it or name another file"):
        RunStore.create(path, root_seed=2, config={})
    with RunStore.open(path) as store:  # it is not locked either
        assert (store.root_seed, store.blocks(TOY, {})) == (1, {0})
    path.rename(tmp_path / "kept")

    def held(asked):
        monkeypatch.undo()
        with RunStore.open(_new(path)):
            return lock(asked)

    monkeypatch.setattr("trials.run.store.opening.writer_lock", held)
    with pytest.raises(StoreError, match="another process is writing this run"):
        RunStore.create(path, root_seed=2, config={})
    with RunStore.open(path) as store:
        assert (store.root_seed, store.blocks(TOY, {})) == (1, {0})


@pytest.mark.parametrize(
    ("error", "none"), [(errno.ENOLCK, True), (errno.ENOSYS, True), (errno.EACCES, False)]
)
def test_a_file_system_without_locks_is_named(path, monkeypatch, error, none):
    """Two readers of its lock file see a busy file in both cases."""
    fcntl = pytest.importorskip("fcntl")

    def lockf(file, how):
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(fcntl, "lockf", lockf)
    said = "its file system has no locks" if none else "another process is writing this run"
    with RunStore.open(path) as store:
        assert store.blocks(TOY, {}) == {0}  # who holds the lock asks nothing of the file system
        with pytest.raises(StoreError, match=said):
            RunStore.open(path)


def test_a_name_is_unused_where_nothing_or_an_empty_file_is(path, tmp_path):
    (tmp_path / "empty").touch()
    (tmp_path / "log").touch()
    (tmp_path / "log-wal").write_bytes(b"commits")
    names = {"nothing": True, "empty": True, "log": False, "run": False, "run/below": False}
    assert {name: files.is_unused(tmp_path / name) for name in names} == names
    assert not files.is_unused(tmp_path)
    assert not files.is_unused(Path("a\0b"))
