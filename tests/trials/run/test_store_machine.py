"""A store keeps its rows under any sequence of writes, reopenings, kills, copies and damage."""

import contextlib
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from tests.trials.toys import TOY
from trials.run.cell import canonical_json
from trials.run.store import RunStore, StoreError

MEANS = st.sampled_from([1.0, 2.0])
BLOCKS = st.integers(0, 3)
CODES = st.sampled_from(["ab", "cd"])


def block(seed, failing):
    """Values and reasons of one block, from a seed."""
    values = np.random.default_rng(seed).standard_normal((TOY.block_size, 2))
    values[sorted(failing), 1] = np.nan
    return values, [(row, f"diverged: {row % 2}") for row in sorted(failing)]


def table(store, cell):
    """The bytes of a cell's table."""
    return store.table(cell.experiment, cell.params).values.tobytes()


class StoreMachine(RuleBasedStateMachine):
    """Beside the store runs a dictionary that says what must be in it."""

    copies = Bundle("copies")

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="machine-"))
        self.n_files = 0
        self.blocks = {}
        self.documents = {}

    def name(self):
        self.n_files += 1
        return self.folder / str(self.n_files) / "run"

    @initialize(seed=st.integers(0, 2**128 - 1))
    def create(self, seed):
        self.seed = seed
        self.store = RunStore.create(self.name(), root_seed=seed, config={"a": 1}, code={"s": "x"})

    @rule(
        mean=MEANS,
        number=BLOCKS,
        seed=st.integers(0, 5),
        failing=st.sets(st.integers(0, TOY.block_size - 1), max_size=3),
        code=CODES,
    )
    def put(self, mean, number, seed, failing, code):
        values, reasons = block(seed, failing)
        new = values.tobytes(), tuple(reasons), code
        held = self.blocks.get((mean, number))
        if held is None or held == new:
            self.store.put_block(TOY, {"mean": mean}, number, values, reasons, code=code)
            self.blocks[mean, number] = new
        else:
            with pytest.raises(StoreError, match=r"new run|other content"):
                self.store.put_block(TOY, {"mean": mean}, number, values, reasons, code=code)

    @rule(key=st.sampled_from("ab"), value=st.integers(0, 9) | st.text(max_size=3))
    def put_document(self, key, value):
        document = {"value": value if isinstance(value, int) else ascii(value)}
        self.store.put_document("claim", key, document)
        self.documents[key] = document

    @rule()
    def reopen(self):
        path = self.store.path
        self.store.close()
        self.store = RunStore.open(path)

    @rule()
    def kill(self):
        """Go on from the files as they are at this instant: what a killed process leaves."""
        path = self.name()
        shutil.copytree(self.store.path.parent, path.parent)
        self.store.close()
        self.store = RunStore.open(path)

    @rule(target=copies)
    def copy(self):
        return self.store.copy_to(self.name())

    @rule(path=consumes(copies), where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
    def damage(self, path, where, bit):
        """A copy with one bit changed is refused, or every table it gives is the right one."""
        with RunStore.open(path, readonly=True) as copy:
            before = {canonical_json(c.params): table(copy, c) for c in copy.cells()}
        raw = bytearray(path.read_bytes())
        raw[int(where * len(raw))] ^= 1 << bit
        path.write_bytes(raw)
        with contextlib.suppress(StoreError), RunStore.open(path, readonly=True) as copy:
            assert copy.root_seed == self.seed
            for cell in copy.cells():
                with contextlib.suppress(StoreError):
                    held = before[canonical_json(cell.params)]
                    assert held.startswith(table(copy, cell))

    @rule(target=copies, path=consumes(copies))
    def switch(self, path):
        """Go on in a copy, if it is as new as the run."""
        with RunStore.open(path, readonly=True) as copy:
            same = (
                copy.content_digest() == self.store.content_digest()
                and copy.documents("claim") == self.documents
            )
        if not same:
            return path
        self.store.close()
        self.store = RunStore.open(path)
        return multiple()

    @precondition(lambda self: self.blocks)
    @rule(data=st.data())
    def trial(self, data):
        (mean, number), (values, reasons, _) = data.draw(
            st.sampled_from(sorted(self.blocks.items()))
        )
        row = data.draw(st.integers(0, TOY.block_size - 1))
        found, status = self.store.trial(TOY, {"mean": mean}, number * TOY.block_size + row)
        assert found.tobytes() == values[16 * row : 16 * row + 16]
        assert status == dict(reasons).get(row, "ok")

    @invariant()
    def holds_what_it_took(self):
        if not hasattr(self, "store"):
            return
        assert (self.store.root_seed, self.store.code) == (self.seed, {"s": "x"})
        assert self.store.documents("claim") == self.documents
        for mean in (1.0, 2.0):
            mine = {b: held for (m, b), held in self.blocks.items() if m == mean}
            assert self.store.blocks(TOY, {"mean": mean}) == set(mine)
            assert self.store.codes(TOY, {"mean": mean}) == {code for *_, code in mine.values()}
            if not mine:
                continue
            whole = next(b for b in range(5) if b not in mine)
            table = self.store.table(TOY, {"mean": mean})
            assert table.values.tobytes() == b"".join(mine[b][0] for b in range(whole))
            assert list(table.reasons) == [
                (16 * b + row, why) for b in range(whole) for row, why in mine[b][1]
            ]
            assert self.store.n_failed(TOY, {"mean": mean}, 4) == sum(
                len(reasons) for _, reasons, _ in mine.values()
            )

    def teardown(self):
        if hasattr(self, "store"):
            self.store.close()
        shutil.rmtree(self.folder)


TestStore = StoreMachine.TestCase
TestStore.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
