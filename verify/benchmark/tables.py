"""Real data as federations: scikit-learn's tables, and one's own CSV, Parquet or NPZ file.

There is no true model.  A trial splits the rows of every client at random into rows to fit and
held-out rows, so the metrics are those of held-out rows.  Features are centred and scaled by the
rows to fit.  Those that are constant there are left out, and a column of ones is added.  Linear
targets are centred and scaled too: a held-out loss of 1 is that of the constant model.  Classes are
any two numbers or texts, and the second one in order is +1.

``digits`` has a truth for the clusters.  A client's rows are random images.  Clusters differ in the
question that is asked of an image: is it at least 5, is it odd, is it prime, is it 0, 6, 8 or 9
(a digit with a loop)?  ``glyphs`` are drawn, and rotated or of groups of writers (`images`).
``diabetes`` has the patients of one sex and one quarter of the body mass index as a client.
"""

from __future__ import annotations

import csv
import hashlib
import math
import re
import stat
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from trials.checks import FloatArray, IntArray, InvalidParameter
from trials.models.mixture import cluster_sizes
from trials.parameters import Integer, Options, Parameter, Parameters, Real
from verify.benchmark.federation import RESPONSES, Federation
from verify.benchmark.images import GLYPHS, glyph_rows

QUESTIONS = ((5, 6, 7, 8, 9), (1, 3, 5, 7, 9), (2, 3, 5, 7), (0, 6, 8, 9))
MAX_BYTES = 1 << 31

_SHARED: dict[str, Parameter] = {
    "held_share": Real(0.01, 0.9, default=0.2, meaning="share of each client's rows to judge by"),
    "k": Integer(1, 1000, default=2, meaning="clusters that the methods are told"),
}
DIGITS = Parameters(
    {
        "m": Integer(4, 300, default=24, meaning="clients"),
        "n": Integer(4, 400, default=60, meaning="images of a client"),
        "k": Integer(1, len(QUESTIONS), default=2, meaning="clusters: questions"),
        "held_share": _SHARED["held_share"],
    }
)
DIABETES = Parameters(_SHARED)
OWN = Parameters(
    {**_SHARED, "response": Options(RESPONSES, default="linear", meaning="kind of the target")}
)
#: The tables that ship, and their parameters.
SHIPPED = {"digits": DIGITS, "diabetes": DIABETES, "glyphs": GLYPHS}
_TEXTS = ("data", "client", "target", "digest")


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """Rows sorted by client: (N, d) features, (N,) targets, (N,) client numbers, their names."""

    features: FloatArray
    target: FloatArray
    clients: IntArray
    names: tuple[str, ...]


def check(params: Mapping[str, Any]) -> dict[str, Any]:
    """The complete cell of a table.  One's own file is read here, and refused in one line."""
    texts = {name: str(params[name]) for name in _TEXTS if name in params}
    rest = {name: value for name, value in params.items() if name not in _TEXTS}
    if texts["data"] in SHIPPED:
        return {"data": texts["data"], **SHIPPED[texts["data"]].check(rest)}
    for name in ("client", "target"):
        if not texts.get(name):
            raise InvalidParameter(
                f"--data {texts['data']} needs --{name} COLUMN, the column of the "
                f"{'clients' if name == 'client' else 'target'}"
            )
    if texts["client"] == texts["target"]:
        raise InvalidParameter(
            f"--client and --target are both {texts['client']!r:.60}; they must be two columns"
        )
    cell = OWN.check(rest)
    digest = _digest(texts["data"])
    if texts.get("digest", digest) != digest:
        raise InvalidParameter(f"{texts['data']} has changed since this run was made")
    table = read(texts["data"], texts["client"], texts["target"], cell["response"], digest)
    if cell["k"] > len(table.names):
        raise InvalidParameter(
            f"clusters={cell['k']} must be at most {len(table.names)}, the number of clients"
        )
    return {**{n: texts[n] for n in ("data", "client", "target")}, "digest": digest, **cell}


def _digest(path: str) -> str:
    try:
        status = Path(path).stat()
        if not stat.S_ISREG(status.st_mode):  # a device or a pipe may have no end
            raise InvalidParameter(f"{path}: cannot be read (it is no file)")
        if status.st_size > MAX_BYTES:
            raise InvalidParameter(f"{path}: is larger than {MAX_BYTES >> 30} GiB")
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]
    except OSError as error:
        raise InvalidParameter(f"{path}: cannot be read ({error.strerror})") from None


# -- reading -------------------------------------------------------------------------------------


def _columns(path: str) -> dict[str, np.ndarray[Any, Any]]:
    """Column name -> its values, as the file has them."""
    kind = Path(path).suffix.lower()
    try:
        if kind == ".csv":
            with open(path, newline="", encoding="utf-8-sig") as file:
                reader = csv.reader(file)
                lines = [(reader.line_num, row) for row in reader if row]
            if not lines:
                raise InvalidParameter(f"{path}: is empty")
            rows = [row for _, row in lines]
            if hint := _other_separator(rows[0]):
                raise InvalidParameter(f"{path}: has one column{hint}")
            for line, row in lines:
                if len(row) != len(rows[0]):
                    raise InvalidParameter(
                        f"{path}: line {line} has {len(row)} columns, and the first line "
                        f"{len(rows[0])}"
                    )
            names = [name.strip() for name in rows[0]]
            _require_once(path, names)
            body = np.array(rows[1:], dtype=object).reshape(len(rows) - 1, len(names))
            return {name: body[:, j] for j, name in enumerate(names)}
        if kind == ".npz":
            return _npz(path)
        if kind in (".parquet", ".pq"):
            try:
                import pyarrow.parquet  # type: ignore[import-untyped]
            except ImportError:
                raise InvalidParameter(
                    f"{path} needs pyarrow: pip install 'cfl-verify[parquet]'"
                ) from None
            table = pyarrow.parquet.read_table(path)
            _require_once(path, table.column_names)
            for name in table.column_names:
                _require_rows_of_categories(path, name, table.column(name))
            return {
                name: np.array(table.column(name).to_pylist(), dtype=object)
                for name in table.column_names
            }
    except UnicodeDecodeError:
        raise InvalidParameter(
            f"{path}: cannot be read: it is no UTF-8 text; save it as one"
        ) from None
    except csv.Error as error:
        raise InvalidParameter(
            f"{path}: cannot be read: {error}; a quotation mark may have no end"
        ) from None
    except _DAMAGED as error:
        if isinstance(error, InvalidParameter):
            raise
        raise InvalidParameter(f"{path}: cannot be read: {error!s:.120}") from None
    raise InvalidParameter(f"{path}: must end in .csv, .parquet or .npz")


#: What the readers of archives and of Parquet raise for a damaged file, or for one of another kind.
_DAMAGED = (OSError, ValueError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error)


def _other_separator(columns: Sequence[str]) -> str:
    """A hint for a file of one column whose name holds what separates other files."""
    for mark, name in ((";", "semicolons"), ("\t", "tabs")):
        if len(columns) == 1 and any(mark in column for column in columns):
            return f": it is separated by {name}, and must be by commas"
    return ""


def _require_once(path: str, names: Sequence[str]) -> None:
    """Refuse a name of two columns, of which only one would be read, and a column without name.

    The index of a table would be a feature that tells the clients apart.
    """
    if any(not name or name.startswith("__index_level_") for name in names):
        raise InvalidParameter(
            f"{path}: a column has no name of its own, as pandas writes its index: "
            "name it, or write the file with index=False"
        )
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidParameter(f"{path}: two columns have the name {twice!r:.60}; rename one")


def _require_rows_of_categories(path: str, name: str, column: Any) -> None:
    """Refuse a category without a row: a client of that name has no data."""
    kinds = [chunk.dictionary for chunk in column.chunks if hasattr(chunk, "dictionary")]
    if not kinds:
        return
    listed = {value for kind in kinds for value in kind.to_pylist()}
    without = sorted(str(value) for value in listed - set(column.unique().to_pylist()))
    if without:
        raise InvalidParameter(
            f"{path}: column {name} lists {without[0]}, which has no row: drop the category"
        )


def _clients(path: str, name: str, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The clients of the rows as texts, none of them missing."""
    for i, value in enumerate(values):
        if value is None or value != value or not str(value).strip():
            raise InvalidParameter(f"{path}: column {name}, row {i + 1} names no client")
    return np.array([str(v) for v in values])


def _npz(path: str) -> dict[str, np.ndarray[Any, Any]]:
    columns: list[tuple[str, np.ndarray[Any, Any]]] = []
    if not zipfile.is_zipfile(path):
        raise InvalidParameter(f"{path}: is no archive of arrays: write it by numpy.savez")
    with zipfile.ZipFile(path) as archive:  # a small file may hold many zeros
        if sum(member.file_size for member in archive.infolist()) > MAX_BYTES:
            raise InvalidParameter(f"{path}: its arrays are larger than {MAX_BYTES >> 30} GiB")
    with np.load(path, allow_pickle=False) as stored:
        for name in stored.files:
            array = stored[name]
            if not isinstance(array, np.ndarray) or array.dtype.names:
                raise InvalidParameter(f"{path}: {name} must be an array of numbers or texts")
            if array.ndim == 2:
                columns += [(f"{name}{j}", array[:, j]) for j in range(array.shape[1])]
            elif array.ndim == 1:
                columns.append((name, array))
            else:
                raise InvalidParameter(f"{path}: array {name} has {array.ndim} axes; 1 or 2 work")
    _require_once(path, [name for name, _ in columns])
    found = dict(columns)
    lengths = {len(a) for a in found.values()}
    if len(lengths) > 1:
        raise InvalidParameter(f"{path}: its arrays have different numbers of rows")
    return found


def _numbers(path: str, name: str, values: np.ndarray[Any, Any]) -> FloatArray:
    """The values of a column as numbers, True and False as 1 and 0."""
    found = np.empty(len(values))
    for i, value in enumerate(values):
        try:
            empty = _is_empty(value) or value in _MISSING
            found[i] = math.nan if empty else float(_LOGICAL.get(value, value))
        except (TypeError, ValueError):
            commas = isinstance(value, str) and re.fullmatch(r"[-+]?\d+,\d+", value.strip())
            raise InvalidParameter(
                f"{path}: column {name}, row {i + 1} is no number: {str(value)!r:.40}; "
                f"write {'decimal points' if commas else 'the column as numbers or drop it'}"
            ) from None
    _require_values(path, name, values, ~np.isfinite(found))
    return found


def _require_values(
    path: str, name: str, values: np.ndarray[Any, Any], bad: np.ndarray[Any, Any]
) -> None:
    """Refuse the rows of a column that are empty or not finite, and say how many they are."""
    rows = np.flatnonzero(bad)
    if rows.size:
        first = values[rows[0]]
        raise InvalidParameter(
            f"{path}: column {name}, row {rows[0] + 1} is "
            f"{'empty' if _is_empty(first) else first} ({rows.size} such rows); "
            "fill or drop them first"
        )


#: What R and databases write for a missing number.
_MISSING = ("NA", "N/A", "NULL", "null")
#: What a CSV file holds for a truth value.
_LOGICAL = {"True": 1.0, "False": 0.0}


def _is_empty(value: Any) -> bool:
    """Whether a value is missing, as a blank text, None or NaN."""
    return value is None or (not value.strip() if isinstance(value, str) else value != value)


def _is_text(value: Any) -> bool:
    """Whether a value is a text that is no number."""
    if not isinstance(value, str) or _is_empty(value) or value in _LOGICAL:
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False


def _classes(path: str, name: str, values: np.ndarray[Any, Any]) -> FloatArray:
    """The classes of a column, numbers or texts: -1 for the first in order, +1 for the second."""
    if any(map(_is_text, values)):
        _require_values(path, name, values, np.array([_is_empty(value) for value in values]))
        found = np.array([str(value).strip() for value in values])
    else:
        found = _numbers(path, name, values)
    classes, places = np.unique(found, return_inverse=True)
    if classes.size > 2:
        raise InvalidParameter(
            f"{path}: the target {name} has {classes.size} values: logistic needs two; join values "
            "or drop their rows"
        )
    return np.where(places == 1, 1.0, -1.0)


@lru_cache(maxsize=4)
def read(path: str, client: str, target: str, response: str, digest: str) -> Table:
    """Read and check a table of one's own.  ``digest`` is that of the file's content.

    Raises
    ------
    InvalidParameter : in one line that names the column or the client.
    """
    if _digest(path) != digest:
        raise InvalidParameter(f"{path} has changed since this run was made")
    columns = _columns(path)
    for name in (client, target):
        if name not in columns:
            raise InvalidParameter(
                f"{path}: has no column {name!r:.60}; it has {', '.join(columns):.300}"
            )
    if len(columns) < 3:
        raise InvalidParameter(f"{path}: has no column besides {client} and {target}")
    if not len(columns[client]):
        raise InvalidParameter(f"{path}: has no rows")
    who = _clients(path, client, columns.pop(client))
    asked = columns.pop(target)
    text = next(filter(_is_text, asked), None)
    if response == "linear" and text is not None:
        raise InvalidParameter(
            f"{path}: the target {target} holds the text {str(text)!r:.40}: numbers are needed, or "
            "two classes with --response logistic"
        )
    y = (_classes if response == "logistic" else _numbers)(path, target, asked)
    names, numbers, counts = np.unique(who, return_inverse=True, return_counts=True)
    if names.size < 2:
        raise InvalidParameter(f"{path}: column {client} has one client only: two are needed")
    if counts.min() < 2:
        lonely = names[int(np.argmin(counts))]
        raise InvalidParameter(
            f"{path}: client {lonely} has one row ({(counts < 2).sum()} such clients): at least "
            "two are needed, one to judge by; drop the client or give it more rows"
        )
    x = np.column_stack([_numbers(path, name, values) for name, values in columns.items()])
    for j, name in enumerate(columns):
        if x[:, j].min() == x[:, j].max():
            raise InvalidParameter(f"{path}: column {name} is constant: drop it")
    if y.min() == y.max():
        raise InvalidParameter(
            f"{path}: the target {target} is constant: there is nothing to predict"
        )
    order = np.argsort(numbers, kind="stable")
    return Table(
        features=x[order],
        target=y[order],
        clients=numbers[order].astype(np.int64),
        names=tuple(map(str, names)),
    )


@lru_cache(maxsize=2)
def _sklearn(name: str) -> tuple[FloatArray, FloatArray]:
    try:
        from sklearn import datasets  # type: ignore[import-untyped]
    except ImportError:
        raise InvalidParameter(
            f"data={name} needs scikit-learn: pip install 'cfl-verify[sklearn]'"
        ) from None
    found = getattr(datasets, f"load_{name}")()
    return np.asarray(found.data, dtype=np.float64), np.asarray(found.target, dtype=np.float64)


# -- splitting -----------------------------------------------------------------------------------


def response_of(cell: Mapping[str, Any]) -> str:
    """The kind of a federation's responses, whether it is drawn or of a table."""
    images = cell.get("data") in ("digits", "glyphs")
    return "logistic" if images else str(cell.get("response", "linear"))


def draws_clusters(cell: Mapping[str, Any]) -> bool:
    """Whether the clusters of a federation are drawn, and so known.

    The k of other tables is told to the methods only.
    """
    return cell.get("data") in (None, "digits", "glyphs")


def split(cell: Mapping[str, Any], rng: np.random.Generator) -> Federation:
    """The federation of one trial: a random split of each client's rows."""
    labels: IntArray | None = None
    response = response_of(cell)
    if cell["data"] == "digits":
        table, labels = _digits(cell, rng)
    elif cell["data"] == "glyphs":
        x, y, clients, labels = glyph_rows(cell, rng)
        names = tuple(map(str, range(cell["m"])))
        table = Table(features=x, target=y, clients=clients, names=names)
    elif cell["data"] == "diabetes":
        table = _diabetes()
    else:
        table = read(cell["data"], cell["client"], cell["target"], response, cell["digest"])
    judged = _held_out(table.clients, cell["held_share"], rng)
    x, y, c = table.features, table.target, table.clients
    centre, spread = _moments(x[~judged])
    kept = spread > 0  # a column that is constant in the rows to fit says nothing there
    x = np.column_stack([(x[:, kept] - centre[kept]) / spread[kept], np.ones(len(x))])
    if response == "linear":
        middle, deviation = _moments(y[~judged])
        y = (y - float(middle)) / (float(deviation) or 1.0)
    return Federation(
        features=x[~judged],
        responses=y[~judged],
        clients=c[~judged],
        test_features=x[judged],
        test_responses=y[judged],
        test_clients=c[judged],
        response=response,
        k=cell["k"],
        labels=labels,
    )


def _moments(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The mean and the deviation of each column, 0 where it is constant.

    The mean of equal numbers is rounded, so that their deviation is not 0 but some 1e-17.  A
    column is measured by the power of two at its largest entry, which changes no digit: squares of
    its own unit might vanish or overflow.
    """
    unit = np.ldexp(1.0, np.frexp(np.abs(x).max(0))[1] - 1)
    own = x / unit
    spread = np.where(x.min(0) < x.max(0), own.std(0), 0.0)
    return np.asarray(own.mean(0) * unit), np.asarray(spread * unit)


def _held_out(clients: IntArray, share: float, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """(N,) True for the rows to judge by: of each client the share, at least one, never all."""
    sizes = np.bincount(clients)
    wanted = np.clip(np.round(share * sizes), 1, sizes - 1).astype(np.int64)
    shuffled = np.lexsort((rng.random(clients.size), clients))
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    place = np.empty(clients.size, dtype=np.int64)
    place[shuffled] = np.arange(clients.size) - starts[clients[shuffled]]
    return np.asarray(place < wanted[clients])


def _digits(cell: Mapping[str, Any], rng: np.random.Generator) -> tuple[Table, IntArray]:
    images, digits = _sklearn("digits")
    m, n, k = cell["m"], cell["n"], cell["k"]
    labels = rng.permutation(np.repeat(np.arange(k), cluster_sizes(m, np.full(k, 1.0 / k))))
    rows = np.concatenate([rng.choice(len(images), n, replace=False) for _ in range(m)])
    clients = np.repeat(np.arange(m), n)
    answers = np.array([np.isin(np.arange(10), q) for q in QUESTIONS])
    y = np.where(answers[labels[clients], digits[rows].astype(int)], 1.0, -1.0)
    names = tuple(map(str, range(m)))
    return Table(features=images[rows], target=y, clients=clients, names=names), labels


@lru_cache(maxsize=1)
def _diabetes() -> Table:
    x, y = _sklearn("diabetes")
    quarter = np.searchsorted(np.quantile(x[:, 2], [0.25, 0.5, 0.75]), x[:, 2])
    names, numbers = np.unique((x[:, 1] > 0) * 4 + quarter, return_inverse=True)
    order = np.argsort(numbers, kind="stable")
    return Table(
        features=x[order],
        target=y[order],
        clients=numbers[order].astype(np.int64),
        names=tuple(map(str, names)),
    )
