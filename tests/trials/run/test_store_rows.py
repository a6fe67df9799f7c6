"""Rows whose checksums are right: every value is still tested for its type and its range."""

import contextlib
import json
import sqlite3
from typing import Any

import numpy as np
import pytest

from tests.trials.run.odd_stores import good_store, sign
from tests.trials.toys import TOY
from trials.run.cell import cell_number
from trials.run.store import RunStore, StoreError, connection
from trials.run.store.decoding import Undecodable, decode
from trials.run.store.limits import SQLITE_LIMITS


@pytest.fixture
def path(tmp_path):
    good_store(tmp_path / "run")
    return tmp_path / "run"


def edit(path, *statements):
    """Run statements of SQL (with their values), then sign everything again."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("BEGIN")
        for statement, *values in statements:
            database.execute(statement, values)
        sign(database)
        database.execute("COMMIT")


def spelled(params):
    """A cell's parameters in a spelling of one's own, and the number that belongs to them."""
    return f"{cell_number(json.loads(params)):016x}"


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("experiment", "../evil", "no proper experiment name"),
        ("experiment", "", "no proper experiment name"),
        ("number", "zzzzzzzzzzzzzzzz", "not 16 hexadecimal digits"),
        ("number", "123", "not 16 hexadecimal digits"),
        ("number", "1234567812345678", "number of cell"),
        ("design", -1, "design of cell"),
        ("design", 1.5, "checksum of a cell"),
        ("block_size", 0, "block size of cell"),
        ("block_size", 1 << 24, "block size of cell"),
        ("block_size", (1 << 24) - 1, "block size of cell"),
        ("columns", '["a", "b"]', "columns of cell"),
        ("columns", '["a","a"]', "columns of cell"),
        ("columns", '["a","\\u001b[2J"]', "columns of cell"),
        ("columns", '["a",5]', "Expected `str`, got `int`"),
        ("columns", "{}", "Expected `array`"),
        ("params", "[]", "Expected `object`"),
        ("params", '{"a":NaN}', "must be finite"),
    ],
)
def test_an_odd_value_of_a_cell_is_named(path, column, value, message):
    edit(path, (f"UPDATE cell SET {column} = ? WHERE id = 1", value))
    with RunStore.open(path) as store:
        for read in (store.cells, store.status, store.content_digest):
            with pytest.raises(StoreError, match=message):
                read()


def test_bytes_in_place_of_a_name_are_refused_at_the_door(path):
    edit(path, ("UPDATE cell SET experiment = ? WHERE id = 1", b"x"))
    with pytest.raises(StoreError, match="rows of the table 'cell'"):
        RunStore.open(path)


@pytest.mark.parametrize("params", ['{"b":1,"a":2}', '{"a": 1}', '{"a":1e3}', '{"a":1,"a":2}'])
def test_parameters_in_another_spelling_are_refused(path, params):
    edit(path, ("UPDATE cell SET params = ?, number = ? WHERE id = 1", params, spelled(params)))
    with RunStore.open(path) as store, pytest.raises(StoreError, match="not in canonical spelling"):
        store.cells()


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("n_rows", 8, "shape of block 1"),
        ("n_columns", 1, "shape of block 1"),
        ("data", b"", "length of block 1"),
        ("data", b"\0" * 248, "length of block 1"),
        ("data", b"\xff" * 256, "row 0 is not finite and has no reason"),
        ("code", "\x1b[31m", "code of block 1"),
        ("code", "x" * 201, "code of block 1"),
        ("reasons", "[]", "Expected `object`"),
        ("reasons", '{"a":[1.5]}', "Expected `int`"),
        ("reasons", '{"a":[true]}', "Expected `int`"),
        ("reasons", "not json", "is not JSON"),
        ("reasons", '{"a":[3]}', "the number of failed trials"),
    ],
)
def test_an_odd_value_of_a_block_is_named(path, column, value, message):
    edit(path, (f"UPDATE block SET {column} = ? WHERE cell = 1 AND block = 1", value))
    with RunStore.open(path) as store:
        assert store.table(TOY, {"mean": 1.0}, 1).n_trials == 16
        for read in (lambda: store.table(TOY, {"mean": 1.0}), store.content_digest):
            with pytest.raises(StoreError, match=message):
                read()


@pytest.mark.parametrize("number", [-1, 2**32, 1.5, "x"])
def test_an_odd_number_of_a_block_is_refused(path, number):
    edit(path, ("UPDATE block SET block = ? WHERE cell = 1 AND block = 1", number))
    with RunStore.open(path) as store, pytest.raises(StoreError, match="index of blocks"):
        store.table(TOY, {"mean": 1.0})


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE block SET n_rows = 15 WHERE block = 1", "counts of cell"),
        ("UPDATE block SET n_failed = 49 WHERE cell = 1", "counts of cell"),
        ("UPDATE block SET n_failed = -1 WHERE cell = 1", "counts of cell"),
        ("UPDATE block SET n_rows = 9223372036854775807", "integer overflow"),
        ("UPDATE timing SET seconds = -1.0", "counts of cell"),
        ("UPDATE timing SET seconds = 9e999", "counts of cell"),
    ],
)
def test_odd_counts_are_refused_by_the_status(path, statement, message):
    edit(path, (statement,))
    with RunStore.open(path) as store, pytest.raises(StoreError, match=message):
        store.status()


def test_odd_counts_of_failed_trials_are_refused(path):
    edit(path, ("UPDATE block SET n_failed = 99",))
    with RunStore.open(path) as store:
        with pytest.raises(StoreError, match="numbers of failed trials"):
            store.n_failed(TOY, {"mean": 2.0}, 1)
        assert store.n_failed(TOY, {"mean": 2.0}, 0) == 0


def test_failed_trials_are_counted_below_the_given_block(path):
    with RunStore.open(path) as store:
        values = np.zeros((16, 2))
        store.put_block(TOY, {"mean": 2.0}, 1, values, [(1, "a"), (2, "a")], code="ab")
        assert [store.n_failed(TOY, {"mean": 2.0}, n) for n in range(3)] == [0, 1, 3]


def test_cells_of_one_experiment_with_different_columns_are_not_exported(path, tmp_path):
    edit(
        path,
        ("UPDATE cell SET columns = '[\"a\"]' WHERE id = 1",),
        ("UPDATE block SET n_columns = 1, data = zeroblob(128) WHERE cell = 1",),
    )
    with RunStore.open(path) as store:
        assert store.table("test.toy", TOY.check({"mean": 1.0})).columns == ("a",)
        with pytest.raises(StoreError, match=r"cells of test\.toy differ in their columns"):
            store.export_csv(tmp_path / "out")


def test_parameters_beyond_every_number_type_are_exported_as_text(path, tmp_path):
    params = ['{"n":' + "9" * 400 + "}", '{"n":1.5}']
    for i, one in enumerate(params, 1):
        statement = "UPDATE cell SET params = ?, number = ? WHERE id = ?"
        edit(path, (statement, one, spelled(one), i))
    with RunStore.open(path) as store:
        (file,) = store.export_csv(tmp_path / "out")
    assert "9" * 400 in file.read_text()


@pytest.mark.parametrize("seed", ["-1", "1e5", "٣", "9" * 39, "9" * 6000, "", " 7"])
def test_an_odd_seed_is_refused(path, seed):
    edit(path, ("UPDATE run SET root_seed = ?", seed))
    with pytest.raises(StoreError, match="the root seed is no integer below"):
        RunStore.open(path)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("config", "[]", "the run record .*Expected `object`"),
        ("config", "[" * 100_000, "nested more than 128 levels"),
        ("code", '{"a":1}', "Expected `str`, got `int`"),
        ("code", "null", "Expected `object`, got `null`"),
    ],
)
def test_an_odd_run_record_is_refused(path, column, value, message):
    edit(path, (f"UPDATE run SET {column} = ?", value))
    with pytest.raises(StoreError, match=message):
        RunStore.open(path)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("[" * 129 + "]" * 129, "nested more than 128 levels"),
        ('{"a":' * 129 + "1" + "}" * 129, "nested more than 128 levels"),
        ("[1]", "Expected `object`, got `array`"),
        ("{", "is not JSON"),
        ('{"a":' + "9" * 5000 + "}", "is not JSON"),
        ('{"a":"' + "x" * (1 << 23) + '"}', "characters, at most"),
        (b"{}", "is damaged"),
    ],
)
def test_an_odd_document_is_refused(path, body, message):
    edit(path, ("UPDATE document SET body = ? WHERE key = 'a'", body))
    with RunStore.open(path) as store, pytest.raises(StoreError, match=message):
        store.documents("claim")


def test_texts_of_a_document_are_made_printable_and_keep_their_line_breaks(path):
    body = '{"a\\u001b[31m":["\\u202ex","two\\n\\tlines","\\ud800","\\u00a0\\u00e9"]}'
    edit(path, ("UPDATE document SET body = ? WHERE key = 'a'", body))
    with RunStore.open(path) as store:
        assert store.document("claim", "a") == {
            "a\\x1b[31m": ["\\u202ex", "two\n\tlines", "\\ud800", "\xa0é"]
        }


def test_a_document_32_levels_deep_is_read(path):
    edit(path, ("UPDATE document SET body = ? WHERE key = 'a'", '{"a":' * 32 + "1" + "}" * 32))
    with RunStore.open(path) as store:
        assert list(store.document("claim", "a")) == ["a"]


@pytest.mark.parametrize("column", ["kind", "key"])
def test_a_document_with_an_odd_name_is_refused(path, column):
    edit(path, (f"UPDATE document SET {column} = ? WHERE key = 'a'", "\x1b[31m"))
    with RunStore.open(path) as store, pytest.raises(StoreError, match=r"is damaged \(.*document"):
        store.verify()


def test_a_view_in_place_of_a_table_is_refused_by_name(path):
    edit(
        path,
        ("ALTER TABLE timing RENAME TO other",),
        ("CREATE VIEW timing AS SELECT * FROM other",),
    )
    with pytest.raises(StoreError, match="its tables are not those of store format 4"):
        RunStore.open(path, readonly=True)


def test_a_value_over_the_limit_of_sqlite_is_refused_unread(path, monkeypatch):
    assert SQLITE_LIMITS[sqlite3.SQLITE_LIMIT_LENGTH] == 2**26 + 2**16
    monkeypatch.setitem(SQLITE_LIMITS, sqlite3.SQLITE_LIMIT_LENGTH, 10**6)
    edit(path, ("UPDATE document SET body = zeroblob(1000001) WHERE key = 'a'",))
    with RunStore.open(path) as store, pytest.raises(StoreError, match="too big"):
        store.documents("claim")


def test_the_limits_hold_on_every_connection(path):
    for mode in ("mode=ro", "mode=rw", "immutable=1"):
        with contextlib.closing(connection.connect(path, mode)) as database:
            for limit, value in SQLITE_LIMITS.items():
                assert database.getlimit(limit) == value
            assert database.execute("PRAGMA trusted_schema").fetchone() == (0,)
            readonly = database.execute("PRAGMA query_only").fetchone()
            assert readonly == (int(mode != "mode=rw"),)


def test_a_query_that_returns_too_much_is_refused(path, monkeypatch):
    with RunStore.open(path) as store:
        monkeypatch.setattr(connection, "MAX_ROWS", 2)
        with pytest.raises(StoreError, match="returns too many rows"):
            store.blocks(TOY, {"mean": 1.0})
        monkeypatch.setattr(connection, "MAX_ROWS", 3)
        assert store.blocks(TOY, {"mean": 1.0}) == {0, 1, 2}
        monkeypatch.setattr(connection, "MAX_RESULT", 20)
        with pytest.raises(StoreError, match="returns too many rows"):
            store.documents("claim")


def test_a_query_that_takes_too_long_is_refused_and_the_next_is_not(path, monkeypatch):
    monkeypatch.setattr(connection, "MAX_SECONDS", 0.05)
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c"
    with RunStore.open(path) as store:
        with pytest.raises(StoreError, match="of processor time"):
            store._database.query(endless)
        assert store.blocks(TOY, {"mean": 1.0}) == {0, 1, 2}
        store.put_block(TOY, {"mean": 1.0}, 3, np.zeros((16, 2)), code="ab")


@pytest.mark.parametrize("code", [b"ab", "\x1b[31m", "x" * 201])
def test_an_odd_code_is_refused_where_only_codes_are_read(path, code):
    edit(path, ("UPDATE block SET code = ? WHERE cell = 1 AND block = 1", code))
    with RunStore.open(path) as store:
        for asked in ((), (TOY,), (TOY, {"mean": 1.0})):
            with pytest.raises(StoreError, match="the code of a block"):
                store.codes(*asked)
        assert store.machine_of(TOY, {"mean": 1.0}, 16) == ""  # that of no machine


@pytest.mark.parametrize("value", [b"{}", None, 5, 1.5])
def test_a_column_that_holds_no_text_is_no_document(value):
    with pytest.raises(Undecodable, match=f"is not text but {type(value).__name__}$"):
        decode(value, dict[str, Any])


# -- interrupts ------------------------------------------------------------------------------


class Interrupted:
    """A connection whose statement is executed, and then interrupted as by Ctrl-C."""

    def __init__(self, connection, statement):
        self._connection, self._statement = connection, statement

    def __getattr__(self, name):
        return getattr(self._connection, name)

    def execute(self, statement, values=()):
        done = self._connection.execute(statement, values)
        if statement == self._statement:
            self._statement = ""
            raise KeyboardInterrupt
        return done


@pytest.mark.parametrize(("statement", "stored"), [("BEGIN IMMEDIATE", set()), ("COMMIT", {0})])
def test_an_interrupt_of_a_commit_leaves_a_run_to_which_the_block_can_be_added(
    tmp_path, statement, stored
):
    """Before, an interrupt of the first statement left its transaction open.  The block that the
    engine then stores was refused as damage, and the others that had finished were lost.
    """
    values = np.arange(32.0).reshape(16, 2)
    with RunStore.create(tmp_path / "run", root_seed=0, config={}) as store:
        store.register(TOY, {})
        store._database._connection = Interrupted(store._database._connection, statement)
        with pytest.raises(KeyboardInterrupt):
            store.put_block(TOY, {}, 0, values)
        assert store.blocks(TOY, {}) == stored
        store.put_block(TOY, {}, 0, values)
        store.put_block(TOY, {}, 1, values)
    with RunStore.open(tmp_path / "run") as store:
        assert store.blocks(TOY, {}) == {0, 1}


def test_an_interrupt_of_a_look_leaves_no_transaction_open(tmp_path):
    with RunStore.create(tmp_path / "run", root_seed=0, config={}) as store:
        database = store._database
        database._connection = Interrupted(database._connection, "BEGIN")
        with pytest.raises(KeyboardInterrupt), database.snapshot():
            pass
        store.put_block(TOY, {}, 0, np.zeros((16, 2)))
        assert store.blocks(TOY, {}) == {0}


# -- refused commits -------------------------------------------------------------------------


def test_a_block_with_a_failed_trial_is_not_replaced_either(tmp_path):
    values = np.zeros((16, 2))
    values[3] = np.nan
    with RunStore.create(tmp_path / "run", root_seed=0, config={}) as store:
        store.put_block(TOY, {}, 0, values, [(3, "raised: A")], code="ab")
        for why, other in (("raised: B", values), ("raised: A", values + 1.0)):
            with pytest.raises(StoreError, match="is stored with other content"):
                store.put_block(TOY, {}, 0, other, [(3, why)], code="ab")
        store.put_block(TOY, {}, 0, values, [(3, "raised: A")], code="ab")
        table = store.table(TOY, {})
    assert table.reasons == ((3, "raised: A"),)
    assert np.array_equal(table.values, values, equal_nan=True)


def _fill(store):
    for block in range(1, 1000):
        store.put_block(TOY, {}, block, np.zeros((16, 2)))


def test_a_full_disk_is_no_damage_of_the_run(tmp_path):
    """SQLite is allowed no page more than it has."""
    with RunStore.create(tmp_path / "run", root_seed=0, config={}) as store:
        store.put_block(TOY, {}, 0, np.zeros((16, 2)))
        (pages,) = store._database._connection.execute("PRAGMA page_count").fetchone()
        store._database._connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError) as refused:  # when the last page is full
            _fill(store)
        assert str(refused.value) == f"{tmp_path / 'run'}: database or disk is full"
    with RunStore.open(tmp_path / "run") as store:
        assert 0 in store.blocks(TOY, {})


def test_a_cell_that_an_index_lists_twice_is_damage(tmp_path, monkeypatch):
    with RunStore.create(tmp_path / "run", root_seed=0, config={}) as store:
        store.register(TOY, {})
        query = store._database.query
        assert len(store.cells()) == 1
        monkeypatch.setattr(store._database, "query", lambda *asked: 2 * query(*asked))
        with pytest.raises(StoreError, match=r"is damaged \(the index of cells\)"):
            store.cells()
