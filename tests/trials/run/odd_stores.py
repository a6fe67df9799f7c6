"""Run files that are odd and yet correctly signed, made from a seed.

Each function of `FAMILIES` takes a good run and makes one thing about it odd.  All checksums are
then computed again, so that only the tests of types, ranges and tables can notice.
"""

from __future__ import annotations

import contextlib
import json
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.trials.toys import TOY
from trials.run.store import RunStore, tally
from trials.run.store.verification import compact, sha256

DEEP = "[" * 100_000
ESCAPES = ["\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "two\nlines", "\u202eleft", "\x9b2J", "\x00"]
JSON_TEXTS = [
    *("", "null", "5", '"text"', "[]", "{}", "[[]]", "not json", '{"a":', "\ufeff{}", "{'a':1}"),
    *(DEEP, DEEP.replace("[", '{"a":'), "[" * 40 + "]" * 40, '{"a":' * 31 + "1" + "}" * 31),
    *('{"a":NaN}', '{"a":1e999}', '{"a":' + "9" * 5000 + "}", '{"a":' + "9" * 4000 + "}"),
    *('{"a":1,"a":2}', '{"a":"\\ud800"}', '{"\\u001b[31m":1}', '{"x":"\\u001b]0;t\\u0007"}'),
    *('{"level":"high"}', '{"seed":[1]}', '{"claims":{"a":1},"later":true}', "[1,2,3]"),
    '{"a":[' + "[]," * 60_000 + "0]}",
]
NUMBERS = [-1, 0, 1, 15, 17, 2**31, 2**32, 2**40, 2**63 - 1, -(2**63), 1.5, "x", "", b"x", b""]
TEXTS = [*ESCAPES, "", "a b", "../../evil", "/etc/passwd", "x" * 100_000, b"\xff\xfe", 5, 1.5]

Edit = Callable[[sqlite3.Connection, random.Random], None]


def _choose(rng: random.Random, *pools: list[object]) -> object:
    return rng.choice([value for pool in pools for value in pool])


def _set(connection: sqlite3.Connection, table: str, column: str, value: object, where: str = "1"):
    connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (value,))


def odd_run(connection, rng):
    column = rng.choice(["root_seed", "config", "code"])
    value = _choose(rng, JSON_TEXTS, TEXTS, ["-1", "1e5", "٣", "9" * 39, "9" * 6000, "007", " 7"])
    _set(connection, "run", column, value)


def odd_config(connection, rng):
    config = {"claims": [], "profile": "quick", "seed": 0, "level": 0.05}
    key = rng.choice([*config, "unknown", "a\x1b[31m", ""])
    config[key] = rng.choice([None, 5, -1.5, "text", ESCAPES[0], [1, [2]], {"a": {"b": 1}}, True])
    _set(connection, "run", "config", json.dumps(config))


def no_run(connection, rng):
    if rng.random() < 0.5:
        connection.execute("DELETE FROM run")
    else:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("INSERT INTO run SELECT 2, root_seed, config, code, '' FROM run")


def odd_cell(connection, rng):
    column = rng.choice(["experiment", "number", "design", "block_size", "columns", "params"])
    pools = {
        "number": [["z" * 16, "0" * 15, "0" * 17, "A" * 16, "٣" * 16, "0x" + "1" * 14, "1" * 16]],
        "design": [NUMBERS],
        "block_size": [NUMBERS],
        "columns": [JSON_TEXTS, ['["a","a"]', '["first"]', '["a","\\u001b[2J"]', '["a",5]']],
        "params": [JSON_TEXTS, ['{"b":1,"a":2}', '{"mean": 1.0}', '{"mean":1e3}']],
    }
    _set(connection, "cell", column, _choose(rng, TEXTS, *pools.get(column, [])), "id = 1")


def odd_block(connection, rng):
    column = rng.choice(["block", "n_rows", "n_columns", "n_failed", "reasons", "code", "data"])
    pools: dict[str, list[list[object]]] = {
        "reasons": [
            JSON_TEXTS,
            ['{"a":[99]}', '{"a":[-1]}', '{"a":[1,1]}', '{"a":["1"]}', '{"a":5}', '{"":[1]}'],
            ['{"\\u001b[31m":[1]}', '{"a":[1],"b":[1]}', '{"a":[1e3]}', '{"a":[true]}'],
        ],
        "code": [TEXTS],
        "data": [[b"", b"1234567", b"\x00" * 255, b"\x00" * 257, b"\xff" * 256, "x" * 256, 5]],
    }
    value = _choose(rng, *pools.get(column, [NUMBERS]))
    _set(connection, "block", column, value, "cell = 1 AND block = 1")


def odd_timing(connection, rng):
    values = [-1.0, 1e308, float("inf"), "x", b"x"]
    _set(connection, "timing", "seconds", rng.choice(values))


def odd_document(connection, rng):
    column = rng.choice(["kind", "key", "body"])
    value = _choose(rng, JSON_TEXTS if column == "body" else TEXTS)
    _set(connection, "document", column, value, "key = 'a'")


def not_utf8(connection, rng):
    table, column = rng.choice(
        [("document", "body"), ("cell", "params"), ("block", "reasons"), ("run", "config")]
    )
    connection.execute(f"UPDATE {table} SET {column} = CAST(x'7bff80' AS TEXT)")


#: Bytes of a value that is too long.  The test lowers SQLite's limit, which is 67 MB, to below it.
HUGE = 1_200_000


def huge_value(connection, rng):
    table, column = rng.choice([("block", "data"), ("block", "reasons"), ("document", "body")])
    row = "key = 'a'" if table == "document" else "cell = 1 AND block = 1"
    connection.execute(f"UPDATE {table} SET {column} = zeroblob({HUGE}) WHERE {row}")


VIEWS = {
    "endless": "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT {} FROM c",
    "product": "SELECT {} FROM old_{} a, old_{} b, old_{} c, sqlite_master d, sqlite_master e",
    "plain": "SELECT * FROM old_{}",
}


def view_for_table(connection, rng):
    table = rng.choice(["run", "cell", "block", "timing", "document"])
    names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    connection.execute(f"ALTER TABLE {table} RENAME TO old_{table}")
    kind = rng.choice(list(VIEWS))
    body = VIEWS[kind]
    columns = ", ".join(f"1 AS {name}" for name in names)
    body = body.format(columns, *[table] * 3) if kind != "plain" else body.format(table)
    connection.execute(f"CREATE VIEW {table} AS {body}")


def other_tables(connection, rng):
    statement = rng.choice(
        [
            "CREATE TABLE extra (x)",
            "CREATE INDEX extra ON block (n_rows)",
            "CREATE TRIGGER extra AFTER INSERT ON block BEGIN DELETE FROM block; END",
            "CREATE TRIGGER extra AFTER INSERT ON cell BEGIN UPDATE run SET root_seed = 1; END",
            "ALTER TABLE block ADD COLUMN more TEXT",
            "ALTER TABLE block ADD COLUMN more GENERATED ALWAYS AS (randomblob(1000000000))",
            "ALTER TABLE run RENAME COLUMN code TO kode",
            "DROP TABLE timing",
            "DROP TABLE document",
            "CREATE VIEW extra AS SELECT load_extension('x')",
            "CREATE VIRTUAL TABLE extra USING fts5(a)",
            "ANALYZE",
        ]
    )
    connection.execute(statement)


def edited_schema(connection, rng):
    connection.execute("PRAGMA writable_schema = ON")
    statement = rng.choice(
        [
            "UPDATE sqlite_master SET sql = sql || ' ' WHERE name = 'run'",
            "UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', 'NULL')",
            "UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE "
            "name = 'document') WHERE name = 'block'",
            "UPDATE sqlite_master SET rootpage = 999 WHERE name = 'cell'",
            "UPDATE sqlite_master SET rootpage = 1 WHERE name = 'document'",
            "UPDATE sqlite_master SET sql = 'CREATE TABLE run (id, ' || "
            "replace(hex(zeroblob(20000)), '00', 'c,') || 'd)' WHERE name = 'run'",
            "UPDATE sqlite_master SET name = 'a' || char(27) || '[31m' WHERE name = 'timing'",
            "DELETE FROM sqlite_master WHERE type = 'index'",
            "INSERT INTO sqlite_master VALUES ('table', 'more', 'more', 2, 'CREATE TABLE more(a)')",
        ]
    )
    connection.execute(statement)


def odd_marks(connection, rng):
    mark = rng.choice(["application_id", "user_version"])
    connection.execute(f"PRAGMA {mark} = {rng.choice([0, 1, 3, 99, -1, 2**31 - 1])}")


def many_rows(connection, rng):
    cell = connection.execute("SELECT * FROM cell WHERE id = 1").fetchone()
    n = rng.choice([10, 300])
    if rng.random() < 0.5:
        connection.executemany(
            "INSERT INTO cell VALUES (NULL, ?, ?, ?, ?, ?, ?, '')",
            ((f"{cell[1]}.{i}", *cell[2:-1]) for i in range(n)),
        )
    else:
        connection.executemany(
            "INSERT INTO document VALUES ('claim', ?, '{}', '')", ((f"d{i}",) for i in range(n))
        )


FAMILIES: list[Edit] = [
    *(odd_run, odd_config, no_run, odd_cell, odd_block, odd_timing, odd_document, not_utf8),
    *(huge_value, view_for_table, other_tables, edited_schema, odd_marks, many_rows),
]


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


BLOCKS = "SELECT rowid, cell, block, n_rows, n_columns, reasons, code, data FROM block"


def sign(connection: sqlite3.Connection) -> None:
    """Compute every checksum again, as `trials.run.store.verification` states them."""
    for rowid, *texts in connection.execute("SELECT id, root_seed, config, code FROM run"):
        checksum = sha256(b"\n".join(map(_bytes, texts)))
        connection.execute("UPDATE run SET checksum = ? WHERE id = ?", (checksum, rowid))
    cells = {}
    for row in connection.execute("SELECT * FROM cell").fetchall():
        with contextlib.suppress(TypeError):  # a BLOB has no JSON
            values = (sha256(compact(list(row[1:-1])).encode()), row[0])
            connection.execute("UPDATE cell SET checksum = ? WHERE id = ?", values)
        cells[row[0]] = row[1:-1]
    for row in connection.execute(BLOCKS).fetchall():
        rowid, cell, block, n_rows, n_columns, reasons, code, data = row
        with contextlib.suppress(TypeError):
            head = compact([*cells[cell], block, n_rows, n_columns, reasons])
            content = sha256(head.encode(), b"\n", _bytes(data))
            values = (sha256(compact([content, code]).encode()), rowid)
            connection.execute("UPDATE block SET checksum = ? WHERE rowid = ?", values)
    for kind, key, body, _ in connection.execute("SELECT * FROM document").fetchall():
        with contextlib.suppress(TypeError):
            checksum = sha256(compact([kind, key]).encode(), b"\n", _bytes(body))
            connection.execute(
                "UPDATE document SET checksum = ? WHERE kind = ? AND key = ?", (checksum, kind, key)
            )
    for table, query in tally.COUNTED.items():
        with contextlib.suppress(TypeError):
            counts = tally.count(connection.execute(query))
            connection.execute(
                "UPDATE tally SET n_rows = ?, total = ? WHERE name = ?", (*counts, table)
            )


def good_store(path: Path) -> None:
    """A small run: two cells, four blocks, a failed trial, two documents."""
    config = {"claims": [], "profile": "quick", "seed": 0, "level": 0.05}
    with RunStore.create(path, root_seed=3, config=config, code={"sources": "ab"}) as store:
        for block in range(3):
            store.put_block(TOY, {"mean": 1.0}, block, np.full((16, 2), float(block)), code="ab")
        values = np.zeros((16, 2))
        values[5, 1] = np.nan
        store.put_block(TOY, {"mean": 2.0}, 0, values, [(5, "diverged: second=nan")], code="ab")
        store.put_document("claim", "a", {"verdict": "SUPPORTED", "level": 0.01})
        store.put_document("run", "summary", {"seed": 0})


class _Stop:
    """A progress handler that ends what runs after a number of calls."""

    def __init__(self, calls: int) -> None:
        self.calls = calls

    def __call__(self) -> bool:
        self.calls -= 1
        return self.calls < 0


def odd_store(path: Path, family: Edit, seed: int) -> None:
    """Change a good run at ``path`` and recompute its checksums.  The same seed gives the same
    file.
    """
    good_store(path)
    rng = random.Random(f"{family.__name__}:{seed}")
    connection = sqlite3.connect(path, isolation_level=None)
    connection.set_progress_handler(_Stop(2_000), 1_000)  # a view may be endless
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    # a variant that this SQLite cannot make (no FTS5, an index that is gone) stays as it is
    with contextlib.closing(connection), contextlib.suppress(sqlite3.Error):
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        with contextlib.suppress(sqlite3.Error, OverflowError):
            family(connection, rng)
        with contextlib.suppress(sqlite3.Error):
            sign(connection)
        connection.execute("COMMIT")


def looped_store(path: Path, table: str) -> None:
    """A run in which every child of a table's root page is that page itself: an endless tree."""
    good_store(path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA page_size = 512")
        connection.execute("VACUUM")
        connection.execute("PRAGMA journal_mode = WAL")
        many = range(4000)
        connection.execute("BEGIN")
        cell = connection.execute("SELECT * FROM cell WHERE id = 1").fetchone()
        block = connection.execute("SELECT * FROM block WHERE cell = 1").fetchone()
        connection.executemany("INSERT INTO block VALUES (1, ?, ?, ?, ?, ?, ?, ?, x'00')",
                               ((9 + i, *block[2:-1]) for i in many))  # fmt: skip
        connection.executemany("INSERT INTO timing VALUES (1, ?, 0.0)", ((9 + i,) for i in many))
        connection.executemany("INSERT INTO document VALUES ('claim', ?, '{}', '')",
                               ((f"{i:060}",) for i in many))  # fmt: skip
        connection.executemany("INSERT INTO cell VALUES (NULL, ?, ?, ?, ?, ?, ?, '')",
                               ((f"{cell[1]}.{i}", *cell[2:-1]) for i in many))  # fmt: skip
        sign(connection)
        connection.execute("COMMIT")
        ((root,),) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)
        )
    raw = bytearray(path.read_bytes())
    start = (root - 1) * 512
    assert raw[start] in (2, 5), "the root must be an interior page"
    count = int.from_bytes(raw[start + 3 : start + 5], "big")
    raw[start + 8 : start + 12] = root.to_bytes(4, "big")
    for i in range(count):
        at = start + 12 + 2 * i
        child = start + int.from_bytes(raw[at : at + 2], "big")
        raw[child : child + 4] = root.to_bytes(4, "big")
    path.write_bytes(raw)
