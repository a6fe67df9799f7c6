"""Damaged files and killed writers: nothing that was stored changes or is lost in silence.

``CFL_FUZZ_DAMAGES`` sets the number of damaged files (150), ``CFL_FUZZ_KILLS`` the number of
killed writers (30) and ``CFL_FUZZ_SEED`` where both start (0).
"""

import contextlib
import os
import random
import signal
import time

import pytest

from tests.trials.run.odd_stores import good_store
from tests.trials.toys import TOY
from trials.run.engine import Demand, ensure
from trials.run.executors import make_executor
from trials.run.store import RunStore, StoreError
from trials.text import printable

DAMAGES = int(os.environ.get("CFL_FUZZ_DAMAGES", "150"))
KILLS = int(os.environ.get("CFL_FUZZ_KILLS", "30"))
SEED = int(os.environ.get("CFL_FUZZ_SEED", "0"))
PAGE = 4096


# -- damaged files ---------------------------------------------------------------------------------


def one_bit(raw, rng):
    raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)


def some_bytes(raw, rng):
    start = rng.randrange(len(raw))
    raw[start : start + rng.randrange(1, 64)] = rng.randbytes(rng.randrange(1, 64))


def scattered(raw, rng):
    for _ in range(rng.randrange(2, 200)):
        one_bit(raw, rng)


def zeroed(raw, rng):
    start = rng.randrange(len(raw) // 512) * 512
    length = 512 * rng.randrange(1, 17)
    raw[start : start + length] = bytes(len(raw[start : start + length]))


def swapped_pages(raw, rng):
    one, two = (PAGE * rng.randrange(len(raw) // PAGE) for _ in range(2))
    raw[one : one + PAGE], raw[two : two + PAGE] = raw[two : two + PAGE], raw[one : one + PAGE]


def copied_page(raw, rng):
    one, two = (PAGE * rng.randrange(len(raw) // PAGE) for _ in range(2))
    raw[one : one + PAGE] = raw[two : two + PAGE]


def cut_short(raw, rng):
    del raw[rng.randrange(len(raw)) :]


def too_long(raw, rng):
    raw += rng.randbytes(rng.randrange(1, 3 * PAGE))


def lost_piece(raw, rng):
    start = rng.randrange(len(raw))
    del raw[start : start + rng.randrange(1, 2 * PAGE)]


DAMAGE = (
    one_bit,
    some_bytes,
    scattered,
    zeroed,
    swapped_pages,
    copied_page,
    cut_short,
    too_long,
    lost_piece,
)


def refusable(question):
    """The answer, or None where the store refuses in one printable line."""
    try:
        return question()
    except StoreError as error:
        refusal = str(error)
    assert refusal == printable(refusal)
    return None


def answers(path):
    """The reader's results, one by one: the value, or None where the store refuses."""
    with RunStore.open(path, readonly=True) as store:
        questions = (
            lambda: (store.root_seed, store.config),
            lambda: [(s.params, s.n_blocks, s.n_trials, s.n_failed) for s in store.status()],
            lambda: [store.blocks(TOY, {"mean": mean}) for mean in (1.0, 2.0)],
            lambda: store.table(TOY, {"mean": 1.0}).values.tobytes(),
            lambda: store.table(TOY, {"mean": 2.0}).values.tobytes(),
            lambda: store.table(TOY, {"mean": 2.0}).reasons,
            lambda: store.documents("claim"),
            lambda: store.documents("run"),
            store.content_digest,
        )
        for question in questions:
            yield refusable(question)


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
def test_a_damaged_file_gives_the_right_answer_or_a_refusal(damage, tmp_path):
    path = tmp_path / "run"
    good_store(path)
    whole, good = path.read_bytes(), list(answers(path))
    assert None not in good
    refused = 0
    n_files = -(-DAMAGES // len(DAMAGE))
    for seed in range(SEED, SEED + n_files):
        raw = bytearray(whole)
        damage(raw, random.Random(f"{damage.__name__}:{seed}"))
        path.write_bytes(raw)
        begin = time.process_time()
        found = refusable(lambda: list(answers(path))) or [None] * len(good)
        told = [(one, two) for one, two in zip(good, found, strict=True) if two is not None]
        assert all(one == two for one, two in told), seed
        refused += len(told) < len(good)
        assert time.process_time() - begin < 20, seed
        for beside in ("-wal", "-shm"):
            path.with_name(path.name + beside).unlink(missing_ok=True)
    assert refused or damage in (one_bit, too_long)  # most bits of a small run are in free space


# -- killed writers --------------------------------------------------------------------------------

DEMANDS = [Demand(TOY, {"mean": float(mean)}, 6) for mean in range(4)]
SMALLER = [Demand(TOY, {"mean": float(mean)}, 3) for mean in range(3)]
N_BLOCKS, N_SMALLER = 24, 9


def write(path, told):
    """Make, continue or extend the run, and write one byte into the pipe for each block that is
    committed.

    As `cfl-verify resume --profile` does, it notes the extension before it computes more.
    """
    begun = path.exists() and path.stat().st_size > 0
    make = RunStore.open(path) if begun else RunStore.create(path, root_seed=7, config={})
    with make as store, make_executor("serial") as workers:
        ensure(store, SMALLER, workers, lambda *_: os.write(told, b"."))
        store.put_document("run", "extension", {"profile": "standard"})
        ensure(store, DEMANDS, workers, lambda *_: os.write(told, b"."))


def killed_writer(path, delay):
    """Let a process write the run for ``delay`` CPU seconds at most.

    Returns the number of blocks that it reported, and whether it was killed.  The timer's signal
    has no handler, so that it ends the process at any instruction, as SIGKILL does.
    """
    read, told = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        with contextlib.suppress(BaseException):
            os.close(read)
            signal.signal(signal.SIGPROF, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_PROF, delay)
            write(path, told)
            code = 0
        os._exit(code)
    os.close(told)
    with os.fdopen(read, "rb") as pipe:
        reported = len(pipe.read())
        _, status = os.waitpid(child, 0)
        assert status in (0, signal.SIGPROF)
        return reported, status != 0


def dump(path):
    """The canonical content of a run: every cell, block, value and reason."""
    with RunStore.open(path, readonly=True) as store:
        tables = [store.table(TOY, d.params) for d in DEMANDS if store.blocks(TOY, d.params)]
        return [(t.values.tobytes(), t.reasons) for t in tables]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks the writers")
def test_a_killed_writer_loses_nothing_and_the_run_goes_on(tmp_path):
    """Each run is killed repeatedly, before, in and after its extension, until it is whole.  Then
    it equals the run made without a stop.
    """
    lasting = []
    for name in ("first", "second", "whole"):
        begin = time.process_time()
        write(tmp_path / name, os.open(os.devnull, os.O_WRONLY))
        lasting.append(time.process_time() - begin)
    whole = dump(tmp_path / "whole")
    rng = random.Random(SEED)
    n_killed, n_runs, n_extending = 0, 0, 0
    while n_killed < KILLS:
        path = tmp_path / f"run-{n_runs}"
        n_runs += 1
        reported, idle, ended = 0, 0, False
        while not ended:
            # A writer may commit nothing in this time: the next one gets more.
            delay = rng.uniform(0, 0.7 * min(lasting)) * 2**idle
            more, was_killed = killed_writer(path, delay)
            idle = 0 if more else idle + 1
            reported += more
            n_killed += was_killed
            ended = not was_killed
            n_extending += was_killed and reported >= N_SMALLER
            if path.exists() and path.stat().st_size:
                with RunStore.open(path, readonly=True) as store:
                    n_stored = sum(len(store.blocks(TOY, d.params)) for d in DEMANDS)
                    extended = store.document("run", "extension", dict[str, str])
                    store.content_digest()
                assert reported <= n_stored <= N_BLOCKS
                assert n_stored <= N_SMALLER or extended == {"profile": "standard"}
                assert extended is None or n_stored >= N_SMALLER
            else:
                assert reported == 0
        assert dump(path) == whole
        for file in tmp_path.glob(f"run-{n_runs - 1}*"):
            file.unlink()
    assert n_extending  # more than half of them in a whole run of the test
