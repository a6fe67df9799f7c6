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

import msgspec
import numpy as np
from numpy.typing import NDArray

from trials.checks import IntArray, InvalidParameter, shown

SIDE, CLASSES = 28, 62
HOME = "leaf.cmu.edu describes the set"
_LARGEST = 2**31  # bytes of a json file
_MOST_IMAGES = 2**21  # of a folder: FEMNIST has 814,277
_LARGEST_PNG = 2**16


@dataclass(frozen=True, kw_only=True)
class Writers:
    """Images by writer.

    Attributes
    ----------
    names : of the W writers, in alphabetical order.
    pixels : (N, 784) float32 in [0, 1], the images of the first writer first.
    labels : (N,) classes in 0..61.
    offsets : (W + 1,) writer w holds the rows from ``offsets[w]`` to ``offsets[w + 1]``.
    """

    names: tuple[str, ...]
    pixels: NDArray[np.float32]
    labels: IntArray
    offsets: IntArray


class _Shard(msgspec.Struct):
    x: list[list[float]]
    y: list[int]


class _Leaf(msgspec.Struct):
    users: list[str]
    num_samples: list[int]
    user_data: dict[str, _Shard]


Part = tuple[str, NDArray[np.float32], IntArray]
"""A writer's name, images and classes."""


def read_femnist(folder: str | os.PathLike[str]) -> Writers:
    """Read all ``*.json`` files of a folder, or all ``*.parquet`` files where it has no json.

    Parameters
    ----------
    folder : for LEAF ``data/train`` or ``data/test``.

    Returns
    -------
    Writers.  A writer whose images are in several files is put together.

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
        leaf = msgspec.json.decode(file.read_bytes(), type=_Leaf)
    except OSError as error:
        raise InvalidParameter(f"{file}: cannot be read: {error.strerror}") from None
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InvalidParameter(
            f"{file}: is no json of LEAF: {' '.join(str(error).split())}"
        ) from None
    if len(leaf.users) != len(leaf.num_samples) or set(leaf.users) != set(leaf.user_data):
        raise InvalidParameter(f"{file}: users, num_samples and user_data must name the same users")
    for user, count in zip(leaf.users, leaf.num_samples, strict=True):
        shard = leaf.user_data[user]
        if not len(shard.x) == len(shard.y) == count:
            raise InvalidParameter(
                f"{file}: user {shown(user)} has {len(shard.x)} images and {len(shard.y)} classes; "
                f"num_samples says {count}"
            )
        size = next((len(image) for image in shard.x if len(image) != SIDE**2), SIDE**2)
        if size != SIDE**2:
            raise InvalidParameter(
                f"{file}: an image of {size} values must have {SIDE**2} = {SIDE} x {SIDE}"
            )
        pixels = np.array(shard.x, dtype=np.float32).reshape(-1, SIDE**2)
        if not ((pixels >= 0.0) & (pixels <= 1.0)).all():
            raise InvalidParameter(f"{file}: grey values must lie in [0, 1]: user {shown(user)}")
        yield user, pixels, _classes(file, shard.y)


def _classes(file: Path, values: list[int]) -> IntArray:
    wrong = next((each for each in values if not 0 <= each < CLASSES), None)
    if wrong is not None:
        raise InvalidParameter(f"{file}: class {shown(wrong)} must be in 0..{CLASSES - 1}")
    return np.array(values, dtype=np.int64)


def _parquet(file: Path) -> Iterator[Part]:
    """The writers of a parquet file, a batch of rows at a time."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise InvalidParameter(
            f"{file}: needs pyarrow: pip install 'cfl-verify[parquet]'"
        ) from None
    wanted = ["image.bytes", "writer_id", "character"]
    try:
        with parquet.ParquetFile(file) as opened:
            paths = {opened.schema.column(i).path for i in range(len(opened.schema))}
            missing = sorted(set(wanted) - paths)
            if missing:
                raise InvalidParameter(
                    f"{file}: must have the columns {', '.join(missing)}; {HOME}"
                )
            if opened.metadata.num_rows > _MOST_IMAGES:
                raise InvalidParameter(f"{file}: must hold at most {_MOST_IMAGES} images")
            for batch in opened.iter_batches(batch_size=4096, columns=wanted):
                yield from _rows(file, batch.to_pylist())
    except (OSError, pyarrow.ArrowException) as error:
        raise InvalidParameter(
            f"{file}: is no parquet file: {' '.join(str(error).split())[:160]}"
        ) from None


def _rows(file: Path, rows: list[dict[str, object]]) -> Iterator[Part]:
    """The writers of some rows."""
    by_writer: dict[str, list[tuple[NDArray[np.float32], int]]] = {}
    for row in rows:
        writer, character, image = row["writer_id"], row["character"], row["image"]
        content = image.get("bytes") if isinstance(image, dict) else None
        if not isinstance(writer, str) or type(character) is not int:
            raise InvalidParameter(f"{file}: writer_id must be text, and character a whole number")
        by_writer.setdefault(writer, []).append((_png(file, content), character))
    for writer, images in by_writer.items():
        classes = _classes(file, [character for _, character in images])
        yield writer, np.stack([pixels for pixels, _ in images]), classes


def _png(file: Path, content: object) -> NDArray[np.float32]:
    """The grey values of a PNG.  Its header is looked at before anything is decoded."""
    from PIL import Image, UnidentifiedImageError

    if not isinstance(content, bytes) or len(content) > _LARGEST_PNG:
        raise InvalidParameter(f"{file}: an image must be a PNG of at most {_LARGEST_PNG} bytes")
    try:
        with Image.open(io.BytesIO(content), formats=("PNG",)) as image:
            if image.size != (SIDE, SIDE):
                raise InvalidParameter(f"{file}: an image of {image.size} must be {SIDE} x {SIDE}")
            grey = np.asarray(image.convert("L"), dtype=np.float32)
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        if isinstance(error, InvalidParameter):
            raise
        raise InvalidParameter(f"{file}: an image is no whole PNG: {shown(str(error))}") from None
    return grey.reshape(-1) / np.float32(255.0)
