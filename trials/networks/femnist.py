"""FEMNIST by path: LEAF's json, and the parquet files of the Hugging Face edition.

References
----------
Caldas et al. (2018), LEAF, leaf.cmu.edu: a json file holds ``users``, ``num_samples`` and
``user_data``, for each user ``x``, images of 784 grey values in [0, 1], and ``y``, their classes.
flwrlabs/femnist: columns ``image`` (a PNG of 28 x 28), ``writer_id``, ``hsf_id`` and ``character``.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from trials.checks import IntArray, InvalidParameter, shown

SIDE, CLASSES = 28, 62
HOME = "leaf.cmu.edu describes the set"
_LARGEST = 2**31  # bytes of a json file
_MOST_IMAGES = 2**21  # of a folder: FEMNIST has 814,277
_LARGEST_PNG = 2**16
_LARGEST_COLUMN = 2**30  # bytes of a column in a group of rows of a parquet file
_COLUMNS = ["image.bytes", "writer_id", "character"]
_GREYS = 255

Pixels = NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class Writers:
    """Images by writer.

    Attributes
    ----------
    names : of the W writers, in alphabetical order.
    pixels : (N, 784) uint8, the images of the first writer first.
    labels : (N,) classes in 0..61.
    offsets : (W + 1,) writer w holds the rows from ``offsets[w]`` to ``offsets[w + 1]``.
    """

    names: tuple[str, ...]
    pixels: Pixels
    labels: IntArray
    offsets: IntArray


class _Shard(msgspec.Struct):
    # An image stays text until it is its turn: as Python's numbers a file takes sixteen times more.
    x: list[msgspec.Raw]
    y: list[int]


class _Leaf(msgspec.Struct):
    users: list[str]
    num_samples: list[int]
    user_data: dict[str, _Shard]


_Json = TypeVar("_Json")
Part = tuple[str, Pixels, IntArray]
"""A writer's name, images and classes."""


def read_femnist(folder: str | os.PathLike[str]) -> Writers:
    """Read all ``*.json`` files of a folder, or all ``*.parquet`` files where it has no json.

    Parameters
    ----------
    folder : for LEAF ``data/train`` or ``data/test``.

    Returns
    -------
    Writers.  A writer whose images are in several files is put together.  LEAF divided bytes by
    255, which is undone: other values are rounded.

    Raises
    ------
    InvalidParameter : In one line: no such file, another format, images of another size, values
        outside [0, 1], classes above 61, counts that disagree.
    """
    if not isinstance(folder, str | os.PathLike) or not str(folder).isprintable():
        raise InvalidParameter(f"folder={shown(folder)} must be the path of a folder")
    place = Path(folder)
    if not place.is_dir():
        raise InvalidParameter(f"folder={shown(str(place))} must be a folder")
    files = sorted(place.glob("*.json")) or sorted(place.glob("*.parquet"))
    if not files:
        raise InvalidParameter(f"{place} must hold json files of LEAF, or parquet files; {HOME}")
    found: dict[str, list[Part]] = {}
    total = 0
    for file in files:
        for part in _leaf(file) if file.suffix == ".json" else _parquet(file):
            found.setdefault(part[0], []).append(part)
            total += len(part[2])
            if total > _MOST_IMAGES:
                raise InvalidParameter(f"{place}: must hold at most {_MOST_IMAGES} images")
    names = tuple(sorted(found))
    parts = [part for name in names for part in found[name]]
    counts = [sum(len(part[2]) for part in found[name]) for name in names]
    if not total:
        raise InvalidParameter(f"{place}: must hold images")
    return Writers(
        names=names,
        pixels=np.concatenate([part[1] for part in parts]),
        labels=np.concatenate([part[2] for part in parts]),
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
    )


def _leaf(file: Path) -> Iterator[Part]:
    """The writers of a json file."""
    try:
        if file.stat().st_size > _LARGEST:
            raise InvalidParameter(f"{file}: must hold at most {_LARGEST} bytes")
        leaf = _decoded(file, file.read_bytes(), _Leaf)
    except OSError as error:
        raise InvalidParameter(f"{file}: cannot be read: {error.strerror}") from None
    # Images of a user who is named twice would count twice.
    once = len(set(leaf.users)) == len(leaf.users) == len(leaf.num_samples)
    if not once or set(leaf.users) != set(leaf.user_data):
        raise InvalidParameter(
            f"{file}: users, num_samples and user_data must name the same users, each of them once"
        )
    for user, count in zip(leaf.users, leaf.num_samples, strict=True):
        shard = leaf.user_data[user]
        if not len(shard.x) == len(shard.y) == count:
            raise InvalidParameter(
                f"{file}: user {shown(user)} has {len(shard.x)} images and {len(shard.y)} classes; "
                f"num_samples says {count}"
            )
        pixels = np.empty((count, SIDE**2), dtype=np.uint8)
        for row, image in zip(pixels, shard.x, strict=True):
            row[:] = _greys(file, user, _decoded(file, image, list[float]))
        yield user, pixels, _classes(file, shard.y)


def _decoded(file: Path, text: bytes | msgspec.Raw, kind: type[_Json]) -> _Json:
    """A json text as a value of the kind."""
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InvalidParameter(
            f"{file}: is no json of LEAF: {' '.join(str(error).split())}"
        ) from None


def _greys(file: Path, user: str, values: list[float]) -> Pixels:
    """An image of values in [0, 1] as bytes."""
    if len(values) != SIDE**2:
        raise InvalidParameter(
            f"{file}: an image of {len(values)} values must have {SIDE**2} = {SIDE} x {SIDE}"
        )
    greys = np.array(values)
    if not ((greys >= 0.0) & (greys <= 1.0)).all():
        raise InvalidParameter(f"{file}: grey values must lie in [0, 1]: user {shown(user)}")
    return np.asarray(np.rint(greys * _GREYS), dtype=np.uint8)


def _classes(file: Path, values: list[int]) -> IntArray:
    wrong = next((each for each in values if not 0 <= each < CLASSES), None)
    if wrong is not None:
        raise InvalidParameter(f"{file}: class {shown(wrong)} must be in 0..{CLASSES - 1}")
    return np.array(values, dtype=np.int64)


def _parquet(file: Path) -> Iterator[Part]:
    """The writers of a parquet file, a batch of rows at a time."""
    try:
        import pyarrow
        from pyarrow import compute, parquet
    except ImportError:
        raise InvalidParameter(
            f"{file}: needs pyarrow: pip install 'cfl-verify[parquet]'"
        ) from None
    try:
        with parquet.ParquetFile(file) as opened:
            _check_columns(file, opened)
        # A text that many rows share is held once, and its length is looked at before it is copied.
        with parquet.ParquetFile(file, read_dictionary=_COLUMNS[:2]) as opened:
            for batch in opened.iter_batches(batch_size=4096, columns=_COLUMNS):
                for array in (batch.column("image").field("bytes"), batch.column("writer_id")):
                    texts = array.dictionary if hasattr(array, "dictionary") else array
                    if (compute.max(compute.binary_length(texts)).as_py() or 0) > _LARGEST_PNG:
                        raise InvalidParameter(
                            f"{file}: a PNG or writer_id must have at most {_LARGEST_PNG} bytes"
                        )
                yield from _rows(file, batch.to_pylist())
    except (OSError, pyarrow.ArrowException) as error:
        raise InvalidParameter(
            f"{file}: is no parquet file: {' '.join(str(error).split())[:160]}"
        ) from None


def _check_columns(file: Path, opened: Any) -> None:
    """The columns are there, and no group of rows is too large to be decompressed at once."""
    paths = {opened.schema.column(i).path for i in range(len(opened.schema))}
    missing = sorted(set(_COLUMNS) - paths)
    if missing:
        raise InvalidParameter(f"{file}: must have the columns {', '.join(missing)}; {HOME}")
    metadata = opened.metadata
    if metadata.num_rows > _MOST_IMAGES:
        raise InvalidParameter(f"{file}: must hold at most {_MOST_IMAGES} images")
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    sizes = [g.column(j).total_uncompressed_size for g in groups for j in range(g.num_columns)]
    if max(sizes, default=0) > _LARGEST_COLUMN:
        raise InvalidParameter(
            f"{file}: a column of {max(sizes)} bytes in a group of rows must have at most "
            f"{_LARGEST_COLUMN}"
        )


def _rows(file: Path, rows: list[dict[str, object]]) -> Iterator[Part]:
    """The writers of some rows."""
    by_writer: dict[str, list[tuple[Pixels, int]]] = {}
    for row in rows:
        writer, character, image = row["writer_id"], row["character"], row["image"]
        content = image.get("bytes") if isinstance(image, dict) else None
        if not isinstance(writer, str) or type(character) is not int:
            raise InvalidParameter(f"{file}: writer_id must be text, and character a whole number")
        by_writer.setdefault(writer, []).append((_png(file, content), character))
    for writer, images in by_writer.items():
        classes = _classes(file, [character for _, character in images])
        yield writer, np.stack([pixels for pixels, _ in images]), classes


def _png(file: Path, content: object) -> Pixels:
    """The grey values of a PNG.  Its header is looked at before anything is decoded."""
    from PIL import Image, UnidentifiedImageError

    if not isinstance(content, bytes) or len(content) > _LARGEST_PNG:
        raise InvalidParameter(f"{file}: an image must be a PNG of at most {_LARGEST_PNG} bytes")
    try:
        with Image.open(io.BytesIO(content), formats=("PNG",)) as image:
            if image.size != (SIDE, SIDE):
                raise InvalidParameter(f"{file}: an image of {image.size} must be {SIDE} x {SIDE}")
            grey = np.asarray(image.convert("L"))
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        if isinstance(error, InvalidParameter):
            raise
        raise InvalidParameter(f"{file}: an image is no whole PNG: {shown(str(error))}") from None
    return grey.reshape(-1)
