"""Images with labels from files: IDX (MNIST) and the binary version of CIFAR-10.

Nothing is downloaded, and no pickle is ever read.  A file with other content than its format says
is refused with its path, before any array is made.

References
----------
LeCun, Cortes & Burges, the MNIST database: the IDX format.
Krizhevsky, the CIFAR-10 dataset: the binary version, records of one label and 3,072 bytes.
"""

from __future__ import annotations

import gzip
import math
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trials.checks import InvalidParameter, shown

Bytes = NDArray[np.uint8]

_LARGEST = 2**31  # bytes of a file's content
_CLASSES = 10
_GZIP = b"\x1f\x8b"
_PIXELS = 3 * 32 * 32  # of a CIFAR-10 image
_TRAINING_BATCHES = tuple(f"data_batch_{number}" for number in range(1, 6))
_TEST_BATCH = "test_batch"


@dataclass(frozen=True, kw_only=True)
class Images:
    """Labelled images.

    Attributes
    ----------
    pixels : (N, d) uint8, one image a row.
    labels : (N,) uint8 in 0..9.
    """

    pixels: Bytes
    labels: Bytes


@dataclass(frozen=True, kw_only=True)
class ImageSets:
    """The training and the test images of a data set."""

    train: Images
    test: Images


def read_idx(path: str | os.PathLike[str]) -> Bytes:
    """Read an IDX file of unsigned bytes, compressed by gzip or not.

    Parameters
    ----------
    path : the file.  Its first bytes say whether it is compressed, not its name.

    Returns
    -------
    A uint8 array of the shape that the header gives.

    Raises
    ------
    InvalidParameter : In one line with the path: no such file, another format, entries that are no
        unsigned bytes, too few bytes or too many.
    """
    file = _file("path", path)
    content = _content(file)
    if len(content) < 4 or content[:2] != b"\0\0":
        raise InvalidParameter(
            f"{file}: its first bytes {content[:4].hex(' ') or 'are missing'} must be 00 00 08 and "
            "the number of axes (IDX of unsigned bytes)"
        )
    kind, n_axes = content[2], content[3]
    if kind != 8:
        raise InvalidParameter(f"{file}: entries of type 0x{kind:02x} must be unsigned bytes, 0x08")
    top = 4 + 4 * n_axes
    if n_axes == 0 or len(content) < top:
        raise InvalidParameter(f"{file}: the header of {n_axes} axes must have {top} > 4 bytes")
    shape = tuple(int(size) for size in np.frombuffer(content, ">u4", n_axes, 4))
    wanted = top + math.prod(shape)
    if len(content) != wanted:
        what = "is truncated" if len(content) < wanted else "holds too much"
        raise InvalidParameter(
            f"{file}: {what}: {len(content)} bytes, but the header's shape {shape} needs {wanted}"
        )
    return np.frombuffer(content, np.uint8, offset=top).reshape(shape)


def read_mnist(folder: str | os.PathLike[str]) -> ImageSets:
    """Read the four files of MNIST, or of another data set in its format.

    Parameters
    ----------
    folder : holds ``train-images-idx3-ubyte``, ``train-labels-idx1-ubyte`` and the same with
        ``t10k`` for ``train``.  A name may end in ``.gz``.

    Returns
    -------
    ImageSets, d = 784 for MNIST.

    Raises
    ------
    InvalidParameter : From `read_idx`, for a missing file, for shapes that do not fit, and for
        labels above 9.
    """
    place = _folder("folder", folder)
    train, test = (_idx_pair(place, name) for name in ("train", "t10k"))
    if train.pixels.shape[1] != test.pixels.shape[1]:
        raise InvalidParameter(
            f"{place}: training images of {train.pixels.shape[1]} pixels and test images of "
            f"{test.pixels.shape[1]} must have the same size"
        )
    return ImageSets(train=train, test=test)


def read_cifar10(folder: str | os.PathLike[str]) -> ImageSets:
    """Read the binary version of CIFAR-10.

    Parameters
    ----------
    folder : holds ``data_batch_1.bin`` to ``data_batch_5.bin`` and ``test_batch.bin``.

    Returns
    -------
    ImageSets, d = 3072: all red values of an image, then the green and the blue ones.

    Raises
    ------
    InvalidParameter : For a missing file, also where only the pickled version is there, for a size
        that is no multiple of 3,073 bytes, and for labels above 9.
    """
    place = _folder("folder", folder)
    parts = [_batch(place, name) for name in _TRAINING_BATCHES]
    train = Images(
        pixels=np.concatenate([part.pixels for part in parts]),
        labels=np.concatenate([part.labels for part in parts]),
    )
    return ImageSets(train=train, test=_batch(place, _TEST_BATCH))


def _idx_pair(place: Path, name: str) -> Images:
    """The images and labels of one half of MNIST."""
    file, labels_file = (
        _either(place, f"{name}-{kind}-ubyte") for kind in ("images-idx3", "labels-idx1")
    )
    pixels, labels = read_idx(file), read_idx(labels_file)
    if pixels.ndim != 3 or pixels.size == 0:
        raise InvalidParameter(f"{file}: images of shape {pixels.shape} must be (N, rows, columns)")
    if labels.shape != pixels.shape[:1]:
        raise InvalidParameter(
            f"{labels_file}: labels of shape {labels.shape} must be ({len(pixels)},), one an image"
        )
    _require_classes(labels_file, labels)
    return Images(pixels=pixels.reshape(len(pixels), -1), labels=labels)


def _batch(place: Path, name: str) -> Images:
    """One file of CIFAR-10."""
    file = place / f"{name}.bin"
    if not file.exists() and (place / name).exists():
        raise InvalidParameter(
            f"{file} is missing: {place / name} is the pickled version, which is never read; get "
            "the binary version"
        )
    content = _content(file)
    if not content or len(content) % (_PIXELS + 1):
        raise InvalidParameter(
            f"{file}: its size of {len(content)} bytes must be a positive multiple of "
            f"{_PIXELS + 1}, one label and {_PIXELS} pixels an image"
        )
    records = np.frombuffer(content, np.uint8).reshape(-1, _PIXELS + 1)
    labels = records[:, 0].copy()
    _require_classes(file, labels)
    return Images(pixels=np.ascontiguousarray(records[:, 1:]), labels=labels)


def _require_classes(file: Path, labels: Bytes) -> None:
    above = np.flatnonzero(labels >= _CLASSES)
    if above.size:
        raise InvalidParameter(
            f"{file}: label {labels[above[0]]} of image {above[0]} must be in 0..{_CLASSES - 1}"
        )


def _either(place: Path, name: str) -> Path:
    """The file of that name, or the one that ends in .gz."""
    for file in (place / name, place / f"{name}.gz"):
        if file.exists():
            return file
    raise InvalidParameter(f"{place} must hold {name} or {name}.gz")


def _file(name: str, value: object) -> Path:
    if not isinstance(value, str | os.PathLike) or not str(value).isprintable():
        raise InvalidParameter(
            f"{name}={shown(value)} must be the path of a file or folder, in printable characters"
        )
    return Path(value)


def _folder(name: str, value: object) -> Path:
    place = _file(name, value)
    if not place.is_dir():
        raise InvalidParameter(f"{name}={shown(str(place))} must be a folder")
    return place


def _content(file: Path) -> bytes:
    """All bytes of a file, decompressed where its first two bytes are those of gzip."""
    try:
        with open(file, "rb") as raw:
            compressed = raw.read(2) == _GZIP
        with gzip.open(file, "rb") if compressed else open(file, "rb") as stream:
            content = stream.read(_LARGEST + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InvalidParameter(f"{file}: is no whole gzip file: {error}") from None
    except OSError as error:
        raise InvalidParameter(f"{file}: cannot be read: {error.strerror}") from None
    if len(content) > _LARGEST:
        raise InvalidParameter(f"{file}: must hold at most {_LARGEST} bytes")
    return bytes(content)
