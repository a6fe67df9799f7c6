"""Blocks of a run: stored whole or not at all, under a checksum, and read once."""

import contextlib
import json
import sqlite3
from dataclasses import replace

import numpy as np
import pytest

from tests.trials.toys import TOY
from trials.run.store import RunStore, StoreError, reading
from trials.run.store.cells import CellIndex
from trials.run.store.verification import (
    CellRow,
    block_checksum,
    cell_checksum,
    compact,
    content_checksum,
    document_checksum,
    pack_reasons,
    run_checksum,
    sha256,
)


def _values(seed=0):
    return np.random.default_rng(seed).standard_normal((TOY.block_size, 2))


@pytest.fixture
def store(tmp_path):
    with RunStore.create(tmp_path / "run", root_seed=1, config={"a": 1}) as store:
        yield store


def _seen(store, statement, *values):
    """The content of a run that another process can read at this moment."""
    with contextlib.closing(sqlite3.connect(store.path)) as connection:
        return connection.execute(statement, values).fetchall()


# -- one transaction -------------------------------------------------------------------------


class Breaks(float):
    """A number that cannot be stored."""

    def __float__(self):
        raise RuntimeError("the last statement of the transaction fails")


def test_a_block_is_seen_by_others_as_soon_as_it_is_put(store):
    for number in range(3):
        store.put_block(TOY, {}, number, _values(number))
        assert len(_seen(store, "SELECT 1 FROM block")) == number + 1
        assert len(_seen(store, "SELECT 1 FROM timing")) == number + 1
    store.put_document("claim", "a", {})
    assert _seen(store, "SELECT body FROM document") == [("{}",)]


def test_a_block_whose_last_statement_fails_is_not_stored_at_all(store):
    store.put_block(TOY, {}, 0, _values())
    with pytest.raises(RuntimeError, match="the last statement"):
        store.put_block(TOY, {}, 1, _values(), seconds=Breaks(1.0))
    assert store.blocks(TOY, {}) == {0}
    assert _seen(store, "SELECT block FROM block") == [(0,)]
    store.put_block(TOY, {}, 1, _values(1), seconds=1.0)  # the store goes on
    assert _seen(store, "SELECT block FROM timing") == [(0,), (1,)]


def test_a_transaction_that_is_interrupted_is_undone(store):
    def write():
        with store._database.transaction() as connection:
            connection.execute("INSERT INTO document VALUES ('claim', 'a', '{}', 'x')")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert store.documents("claim") == {}
    assert _seen(store, "SELECT * FROM document") == []


def test_a_full_disk_leaves_a_whole_store(store):
    store.put_block(TOY, {}, 0, _values())
    ((pages,),) = store._database.query("PRAGMA page_count")
    store._database.query(f"PRAGMA max_page_count = {pages}")

    def fill():
        for number in range(1, 1000):
            store.put_block(TOY, {}, number, _values())

    with pytest.raises(StoreError, match="full"):
        fill()
    stored = store.blocks(TOY, {})
    assert store.table(TOY, {}).n_trials == 16 * len(stored)
    assert len(_seen(store, "SELECT 1 FROM timing")) == len(stored)


# -- the checksums ---------------------------------------------------------------------------

CELL = CellRow(7, "test.toy", "0" * 16, 3, 16, '["a","b"]', '{"x":1}')


def test_the_checksum_of_a_block_covers_every_part_of_its_meaning():
    base = content_checksum(CELL, 4, 16, 2, "{}", b"data")
    changed = [
        *(CELL._replace(experiment="test.two"), CELL._replace(number="1" * 16)),
        *(CELL._replace(design=4), CELL._replace(block_size=8)),
        *(CELL._replace(columns='["b","a"]'), CELL._replace(params='{"x":2}')),
    ]
    others = [content_checksum(cell, 4, 16, 2, "{}", b"data") for cell in changed]
    others += [
        content_checksum(CELL, 5, 16, 2, "{}", b"data"),
        content_checksum(CELL, 4, 8, 2, "{}", b"data"),
        content_checksum(CELL, 4, 16, 4, "{}", b"data"),
        content_checksum(CELL, 4, 16, 2, '{"a":[1]}', b"data"),
        content_checksum(CELL, 4, 16, 2, "{}", b"date"),
    ]
    assert len({base, *others}) == 1 + len(others)
    assert content_checksum(CELL._replace(id=8), 4, 16, 2, "{}", b"data") == base


def test_the_checksums_are_those_that_are_written_down():
    """Computed here once more by their definition: a change would orphan every stored run."""
    head = '["test.toy","0000000000000000",3,16,"[\\"a\\",\\"b\\"]","{\\"x\\":1}",4,16,2,"{}"]'
    content = content_checksum(CELL, 4, 16, 2, "{}", b"data")
    assert content == sha256(head.encode() + b"\ndata")
    assert block_checksum(content, "ab") == sha256(f'["{content}","ab"]'.encode())
    assert cell_checksum(["e", 1]) == sha256(b'["e",1]')
    assert run_checksum("1", "{}", "{}") == sha256(b"1\n{}\n{}")
    assert document_checksum("k", "a", "{}") == sha256(b'["k","a"]\n{}')


def test_a_changed_reason_of_the_same_rows_is_noticed(store):
    """The number of failed trials stays right, so only the checksum can show the change."""
    values = _values()
    values[5, 1] = np.nan
    store.put_block(TOY, {}, 0, values, [(5, "diverged: nan")])
    for new in ('{"diverged: inf":[5]}', '{"diverged: nan":[6]}'):
        with contextlib.closing(sqlite3.connect(store.path)) as connection, connection:
            connection.execute("UPDATE block SET reasons = ?", (new,))
        with pytest.raises(StoreError, match="checksum of block 0"):
            store.trial(TOY, {}, 5)


def test_a_reason_of_an_unstored_row_is_refused_although_it_is_signed(store):
    store.register(TOY, {})
    cell = store._cells.get(store._cells.key(TOY, {}))
    data = _values().tobytes()
    for packed in ('{"a":[16]}', '{"a":[-1]}', '{"a":[3,3]}', '{"a":[1],"b":[1]}'):
        n_failed = sum(map(len, json.loads(packed).values()))
        content = content_checksum(cell, 0, 16, 2, packed, data)
        with contextlib.closing(sqlite3.connect(store.path)) as connection, connection:
            connection.execute("DELETE FROM block")
            connection.execute(
                "INSERT INTO block VALUES (?, 0, 16, 2, ?, ?, '', ?, ?)",
                (cell.id, n_failed, packed, block_checksum(content, ""), data),
            )
        with pytest.raises(StoreError, match="exactly one reason"):
            store.table(TOY, {})


def test_a_block_moved_to_another_cell_is_noticed(store):
    store.put_block(TOY, {"mean": 1.0}, 0, _values(1))
    store.register(TOY, {"mean": 2.0})
    with contextlib.closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute("UPDATE block SET cell = 2")
    with pytest.raises(StoreError, match="checksum of block 0"):
        store.table(TOY, {"mean": 2.0})


# -- what may be put -------------------------------------------------------------------------


@pytest.mark.parametrize("number", [-1, 2**32, 1.5, "1"])
def test_a_block_number_out_of_range_is_refused(store, number):
    with pytest.raises(ValueError, match="must be an integer from 0"):
        store.put_block(TOY, {}, number, _values())
    assert store.cells() == [] or store.blocks(TOY, {}) == set()


@pytest.mark.parametrize("seconds", [-1.0, np.inf, np.nan])
def test_a_time_that_is_none_is_refused(store, seconds):
    with pytest.raises(ValueError, match="must be finite and not negative"):
        store.put_block(TOY, {}, 0, _values(), seconds=seconds)


@pytest.mark.parametrize("code", ["a\nb", "x" * 201, "\x1b[31m"])
def test_a_code_that_is_no_label_is_refused(store, code):
    with pytest.raises(ValueError, match="short text of one line"):
        store.put_block(TOY, {}, 0, _values(), code=code)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "../evil"},
        {"name": "a b"},
        {"name": ""},
        {"name": "x" * 201},
        {"columns": ("a", "a")},
        {"columns": ("a", "\x1b")},
        {"block_size": 0},
        {"block_size": 1 << 23},
    ],
)
def test_an_experiment_that_could_not_be_read_back_is_refused(store, change):
    with pytest.raises(ValueError, match=r"experiment .* must"):
        store.register(replace(TOY, **change), {})
    assert store.cells() == []


def test_control_characters_of_a_reason_are_spelled_out(store):
    store.put_block(TOY, {}, 0, _values(), [(3, "raised: \x1b[31m\nred")])
    assert store.table(TOY, {}).reasons == ((3, r"raised: \x1b[31m\nred"),)
    ((packed,),) = _seen(store, "SELECT reasons FROM block")
    assert json.loads(packed) == {r"raised: \x1b[31m\nred": [3]}  # the file itself shows it


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"a": json.loads("[" * 140 + "]" * 140)}, "nested more than 128 levels"),
        ({"a": "x" * (1 << 23)}, "characters, at most"),
    ],
)
def test_a_document_that_could_not_be_read_back_is_refused(store, document, message):
    with pytest.raises(ValueError, match=message):
        store.put_document("claim", "a", document)
    with pytest.raises(ValueError, match="short texts of one line"):
        store.put_document("claim", "two\nlines", {})
    assert store.documents("claim") == {}


def test_reasons_are_packed_by_text_with_ascending_rows():
    packed = pack_reasons([(5, "b"), (2, "a"), (1, "b")])
    assert packed == '{"b":[1,5],"a":[2]}'
    assert compact({"a": [1, 2]}) == '{"a":[1,2]}'


# -- reading once ----------------------------------------------------------------------------


@pytest.fixture
def verified(monkeypatch):
    """The numbers of the blocks that were verified."""
    numbers = []
    genuine = reading.verified_block

    def counted(cell, found, **options):
        numbers.append(found.block)
        return genuine(cell, found, **options)

    monkeypatch.setattr(reading, "verified_block", counted)
    return numbers


def test_a_block_is_read_and_verified_once_however_often_its_table_is_asked_for(store, verified):
    for number in range(3):
        store.put_block(TOY, {}, number, _values(number))
    for n_blocks in (2, 1, 2, 3, None, 0, 3):
        table = store.table(TOY, {}, n_blocks)
        n = 3 if n_blocks is None else n_blocks
        expected = [_values(number) for number in range(n)] or [np.empty((0, 2))]
        assert table.values.tobytes() == np.concatenate(expected).tobytes()
        assert not table.values.flags.writeable
        assert not table.failed.flags.writeable
    assert verified == [0, 1, 2]
    store.put_block(TOY, {}, 3, _values(3))
    assert store.table(TOY, {}).n_trials == 64
    assert verified == [0, 1, 2, 3]


def test_failed_trials_of_a_shorter_table_are_its_own(store):
    for number, row in enumerate((3, 4)):
        values = _values(number)
        values[row] = np.nan
        store.put_block(TOY, {}, number, values, [(row, f"diverged: {number}")])
    whole, first = store.table(TOY, {}), store.table(TOY, {}, 1)
    assert whole.reasons == ((3, "diverged: 0"), (20, "diverged: 1"))
    assert np.flatnonzero(whole.failed).tolist() == [3, 20]
    assert first.reasons == ((3, "diverged: 0"),)
    assert (first.n_trials, first.n_failed, len(first.failed)) == (16, 1, 16)


@pytest.mark.parametrize("steps", [(1, 4), (2, 3, 5), (3, 3, 4), (0, 2)])
def test_failed_trials_of_added_blocks_are_numbered_in_the_whole_table(store, steps):
    """A run that is extended while its table is kept lists what a table read at once lists."""
    rows = (3, 4, 0, 15, 7)
    stored = 0
    for n_blocks in steps:
        for number in range(stored, n_blocks):
            values = _values(number)
            values[rows[number]] = np.nan
            reason = f"diverged: {number}"
            store.put_block(TOY, {}, number, values, [(rows[number], reason)])
        stored = n_blocks
        if not n_blocks:
            continue
        table = store.table(TOY, {})
        numbers = [16 * number + rows[number] for number in range(n_blocks)]
        assert table.reasons == tuple((n, f"diverged: {i}") for i, n in enumerate(numbers))
        assert np.flatnonzero(table.failed).tolist() == numbers
        assert np.flatnonzero(~np.isfinite(table.values[:, 0])).tolist() == numbers
        for i, number in enumerate(numbers):
            assert store.trial(TOY, {}, number)[1] == f"diverged: {i}"
        assert [store.n_failed(TOY, {}, n) for n in range(n_blocks + 1)] == [*range(n_blocks + 1)]


def test_a_prefix_of_a_table_has_the_failed_trials_of_its_own_blocks(store):
    for number in range(3):
        values = _values(number)
        values[number] = np.nan
        store.put_block(TOY, {}, number, values, [(number, "diverged: x")])
    store.table(TOY, {})
    for n_blocks in (2, 1, 0):
        table = store.table(TOY, {}, n_blocks)
        numbers = [17 * number for number in range(n_blocks)]
        assert [number for number, _ in table.reasons] == numbers
        assert np.flatnonzero(table.failed).tolist() == numbers
        assert store.n_failed(TOY, {}, n_blocks) == table.n_failed == n_blocks


def test_a_reader_sees_the_blocks_that_a_writer_adds(store):
    store.put_block(TOY, {}, 0, _values())
    with RunStore.open(store.path, readonly=True) as reader:
        assert reader.table(TOY, {}).n_trials == 16
        store.put_block(TOY, {}, 1, _values(1))
        assert reader.table(TOY, {}).n_trials == 32


def test_the_digest_reads_the_file_again(store, verified):
    store.put_block(TOY, {}, 0, _values())
    store.table(TOY, {})
    store.content_digest()
    store.content_digest()
    assert verified == [0, 0, 0]


def test_the_cache_of_tables_is_bounded(verified):
    cache = reading.TableCache(limit=1000)
    tables = [reading._append(None, CELL, []) for _ in range(3)]
    big = [replace(table, values=np.zeros((31, 2))) for table in tables]  # 496 bytes each
    for cell, table in enumerate(big):
        cache.put(cell, table)
        cache.get(0)
    assert cache.get(0) is big[0]  # used last
    assert cache.get(1) is None
    assert cache.get(2) is big[2]
    cache.put(0, replace(tables[0], values=np.zeros((30, 2))))
    assert cache.get(2) is big[2]  # replacing one cell's table makes no other go
    cache.put(5, replace(tables[0], values=np.zeros((1000, 2))))
    assert cache.get(5) is None
    assert cache._size == 0


def test_each_cell_has_its_own_cache(store):
    for mean in (1.0, 2.0):
        store.put_block(TOY, {"mean": mean}, 0, _values(int(mean)))
    for mean in (1.0, 2.0, 1.0):
        table = store.table(TOY, {"mean": mean})
        assert table.values.tobytes() == _values(int(mean)).tobytes()


@pytest.mark.parametrize("order", [(0, 0, 1), (0, 1, 1), (1, 0), (1, 1), (0, 1, 2)])
def test_rows_that_repeat_or_go_back_are_refused(store, monkeypatch, order):
    """A damaged tree can return its rows again and again."""
    for number in range(3):
        store.put_block(TOY, {}, number, _values(number))
    genuine = store._database.scan

    def looped(statement, values):
        rows = list(genuine(statement, (values[0], 0, 3)))
        return iter([rows[number] for number in order])

    monkeypatch.setattr(store._database, "scan", looped)
    with pytest.raises(StoreError, match="index of blocks"):
        store.table(TOY, {}, 2)


def test_cells_that_repeat_are_refused(store, monkeypatch):
    store.register(TOY, {})
    genuine = store._database.query
    monkeypatch.setattr(store._database, "query", lambda *a: [*genuine(*a), *genuine(*a)])
    with pytest.raises(StoreError, match="index of cells"):
        store.cells()


def test_a_cell_is_read_from_the_file_once(store, monkeypatch):
    """A run of 10,000 blocks asks for its cells with each of them."""
    for number in range(3):
        store.put_block(TOY, {}, number, _values(number))
    database, read = store._cells._database, []
    query = database.query
    monkeypatch.setattr(database, "query", lambda *given: (read.append(given), query(*given))[1])
    cells = CellIndex(database)
    (row,) = cells.rows()
    assert [cells.find(cells.key(TOY, {})) for _ in range(3)] == [row] * 3
    assert len(read) == 1


def test_a_trial_of_a_gap_is_not_that_of_the_next_block(store):
    """Blocks 0 and 2 are stored: a trial of block 1 is none of theirs."""
    size = TOY.block_size
    for number in (0, 2):
        store.put_block(TOY, {}, number, _values(number))
    found, status = store.trial(TOY, {}, 2 * size + 3)
    assert found.tolist() == _values(2)[3].tolist()
    assert status == "ok"
    with pytest.raises(StoreError, match=f"trial {size + 3} of .* is not stored"):
        store.trial(TOY, {}, size + 3)
