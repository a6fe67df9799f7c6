"""Images with labels from files: IDX (MNIST, EMNIST) and both versions of CIFAR-10.

Nothing is downloaded, and nothing is unpickled (`trials.networks.pickled`).  A file with other
content than its format says is refused with its path, before any array is made.  Checksums tell
whether the files are those that everybody has, so that a run can say which data it saw.

References
----------
LeCun, Cortes & Burges, the MNIST database, yann.lecun.com/exdb/mnist: the IDX format.
Cohen, Afshar, Tapson & van Schaik (2017), EMNIST, nist.gov: its files have the IDX format.
Krizhevsky, the CIFAR-10 dataset, cs.toronto.edu/~kriz/cifar.html: the binary version, records of
one label and 3,072 bytes, and the Python version, dictionaries with ``data`` and ``labels``.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trials.checks import InvalidParameter, integer_between, shown
from trials.networks.pickled import read_pickled

Bytes = NDArray[np.uint8]

_LARGEST = 2**31  # bytes of a file's content
_HEAD = 4 + 4 * 255  # the longest header of an IDX file
_CLASSES = 10
_GZIP = b"\x1f\x8b"
_PIXELS = 3 * 32 * 32  # of a CIFAR-10 image
_TRAINING_BATCHES = tuple(f"data_batch_{number}" for number in range(1, 6))
_TEST_BATCH = "test_batch"
_RATIO = 1100  # gzip makes a file at most 1,032 times smaller

#: MD5 of the uncompressed files of MNIST, and of the pickles of CIFAR-10, as they are published.
KNOWN = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
    "data_batch_1": "c99cafc152244af753f735de768cd75f",
    "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "data_batch_4": "634d18415352ddfa80567beed471001a",
    "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    "test_batch": "40351d587109b95175f43aff81a1287e",
}
MNIST_HOME = "yann.lecun.com/exdb/mnist describes the set"
CIFAR_HOME = "www.cs.toronto.edu/~kriz/cifar.html describes the set"


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
    """The training and the test images of a data set.

    Attributes
    ----------
    original : whether every file has the published checksum.  False also where none is published,
        as for the binary version of CIFAR-10.
    """

    train: Images
    test: Images
    original: bool = False


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
    return _idx(_file("path", path), str(path))[0]


def _idx(file: Path, name: str) -> tuple[Bytes, bool]:
    """The array of an IDX file, and whether its content has the published checksum of the name."""
    content = _content(file, _idx_size)
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
    return np.frombuffer(content, np.uint8, offset=top).reshape(shape), _known(file, name, content)


def _known(file: Path, name: str, content: bytes) -> bool:
    """Whether a content has the name's published checksum.  That of another name is refused."""
    found = hashlib.md5(content, usedforsecurity=False).hexdigest()
    owner = next((each for each, checksum in KNOWN.items() if checksum == found), name)
    if name in KNOWN and owner != name:
        raise InvalidParameter(f"{file}: holds the published content of {owner}: files are swapped")
    return KNOWN.get(name) == found


def _idx_size(head: bytes) -> int:
    """The size that the header of an IDX file gives, or the bytes read where it gives none."""
    if len(head) < 4 or len(head) < 4 + 4 * head[3]:
        return len(head)
    return 4 + 4 * head[3] + math.prod(int(size) for size in np.frombuffer(head, ">u4", head[3], 4))


def read_mnist(folder: str | os.PathLike[str], *, prefix: str = "", classes: int = 10) -> ImageSets:
    """Read the four files of MNIST, or of another data set in its format.

    Parameters
    ----------
    folder : holds ``train-images-idx3-ubyte``, ``train-labels-idx1-ubyte`` and the same with
        ``t10k`` for ``train``.  A name may end in ``.gz``.
    prefix : of the files' names, such as ``"emnist-byclass-"``.  EMNIST says ``test`` for ``t10k``
        and stores the transposed images, which are turned back here.
    classes : labels lie below it, 62 for EMNIST's byclass.

    Returns
    -------
    ImageSets, d = 784 for MNIST.

    Raises
    ------
    InvalidParameter : From `read_idx`, for a missing file, for shapes that do not fit, and for
        labels above 9.
    """
    place = _folder("folder", folder)
    if not isinstance(prefix, str):
        raise InvalidParameter(f"prefix={shown(prefix)} must be a text")
    classes = integer_between("classes", classes, 1, 256)
    emnist = prefix.startswith("emnist")
    names = (f"{prefix}train", f"{prefix}{'test' if emnist else 't10k'}")
    (train, known), (test, also) = (_idx_pair(place, name, classes, emnist) for name in names)
    if train.pixels.shape[1] != test.pixels.shape[1]:
        raise InvalidParameter(
            f"{place}: training images of {train.pixels.shape[1]} pixels and test images of "
            f"{test.pixels.shape[1]} must have the same size"
        )
    return ImageSets(train=train, test=test, original=known and also)


def read_cifar10(folder: str | os.PathLike[str]) -> ImageSets:
    """Read CIFAR-10, the binary or the Python version.

    Parameters
    ----------
    folder : holds ``data_batch_1.bin`` to ``data_batch_5.bin`` and ``test_batch.bin``, or the same
        names without ``.bin``.  Where both are there, the binary ones are read.

    Returns
    -------
    ImageSets, d = 3072: all red values of an image, then the green and the blue ones.

    Raises
    ------
    InvalidParameter : For a missing file, for a size that is no multiple of 3,073 bytes, for a
        pickle that holds anything but numbers, texts and arrays, and for labels above 9.
    """
    place = _folder("folder", folder)
    parts, known = zip(
        *(_batch(place, name) for name in (*_TRAINING_BATCHES, _TEST_BATCH)), strict=True
    )
    train = Images(
        pixels=np.concatenate([part.pixels for part in parts[:-1]]),
        labels=np.concatenate([part.labels for part in parts[:-1]]),
    )
    return ImageSets(train=train, test=parts[-1], original=all(known))


def _idx_pair(place: Path, name: str, classes: int, transposed: bool) -> tuple[Images, bool]:
    """The images and labels of one half of MNIST, and whether both have the known checksums."""
    names = [f"{name}-{kind}-ubyte" for kind in ("images-idx3", "labels-idx1")]
    file, labels_file = (_either(place, each) for each in names)
    (pixels, known), (labels, also) = (
        _idx(path, each) for path, each in zip((file, labels_file), names, strict=True)
    )
    if pixels.ndim != 3 or pixels.size == 0:
        raise InvalidParameter(f"{file}: images of shape {pixels.shape} must be (N, rows, columns)")
    if labels.shape != pixels.shape[:1]:
        raise InvalidParameter(
            f"{labels_file}: labels of shape {labels.shape} must be ({len(pixels)},), one an image"
        )
    _require_classes(labels_file, labels, classes)
    upright = pixels.transpose(0, 2, 1) if transposed else pixels
    return Images(pixels=upright.reshape(len(pixels), -1), labels=labels), known and also


def _batch(place: Path, name: str) -> tuple[Images, bool]:
    """One file of CIFAR-10, and whether it has the known checksum."""
    file = place / f"{name}.bin"
    if not file.exists() and (place / name).exists():
        return _pickled_batch(place / name)
    if not file.exists():
        raise InvalidParameter(f"{place} must hold {name}.bin or {name}; {CIFAR_HOME}")
    content = _content(file)
    if not content or len(content) % (_PIXELS + 1):
        raise InvalidParameter(
            f"{file}: its size of {len(content)} bytes must be a positive multiple of "
            f"{_PIXELS + 1}, one label and {_PIXELS} pixels an image"
        )
    records = np.frombuffer(content, np.uint8).reshape(-1, _PIXELS + 1)
    labels = records[:, 0].copy()
    _require_classes(file, labels)
    return Images(pixels=np.ascontiguousarray(records[:, 1:]), labels=labels), False


def _pickled_batch(file: Path) -> tuple[Images, bool]:
    """One file of the Python version: ``data`` (N, 3072) uint8 and ``labels``, a list."""
    content = _content(file)
    found = read_pickled(content, str(file))
    data, labels = found.get("data"), found.get("labels")
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.shape[1:] != (_PIXELS,):
        raise InvalidParameter(f"{file}: data must be an array (N, {_PIXELS}) of unsigned bytes")
    if not isinstance(labels, list) or not all(type(each) is int for each in labels):
        raise InvalidParameter(f"{file}: labels must be a list of whole numbers")
    if len(labels) != len(data) or not labels:
        raise InvalidParameter(
            f"{file}: {len(labels)} labels must be {len(data)} > 0, one an image"
        )
    wrong = next((i for i, each in enumerate(labels) if not 0 <= each < _CLASSES), None)
    if wrong is not None:
        raise InvalidParameter(
            f"{file}: label {shown(labels[wrong])} of image {wrong} must be in 0..{_CLASSES - 1}"
        )
    known = _known(file, file.name, content)
    return Images(pixels=data, labels=np.array(labels, dtype=np.uint8)), known


def _require_classes(file: Path, labels: Bytes, classes: int = _CLASSES) -> None:
    above = np.flatnonzero(labels >= classes)
    if above.size:
        raise InvalidParameter(
            f"{file}: label {labels[above[0]]} of image {above[0]} must be in 0..{classes - 1}"
        )


def _either(place: Path, name: str) -> Path:
    """The file of that name, or the one that ends in .gz."""
    for file in (place / name, place / f"{name}.gz"):
        if file.exists():
            return file
    raise InvalidParameter(f"{place} must hold {name} or {name}.gz; {MNIST_HOME}")


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


def _content(file: Path, size: Callable[[bytes], int] | None = None) -> bytes:
    """All bytes of a file, decompressed where its first two bytes are those of gzip.

    ``size`` tells from the first bytes how many there must be.  One more is read at most, and none
    where the file is too small to hold them.
    """
    try:
        stored = file.stat().st_size
        with open(file, "rb") as raw:
            compressed = raw.read(2) == _GZIP
        with gzip.open(file, "rb") if compressed else open(file, "rb") as stream:
            head = stream.read(_HEAD)
            wanted = _LARGEST if size is None else size(head)
            most = min(_LARGEST, stored * (_RATIO if compressed else 1))
            if size is not None and wanted > most and len(head) == _HEAD:
                raise InvalidParameter(
                    f"{file}: its header needs {wanted} bytes; the file can hold {most} at most"
                )
            content = head + stream.read(max(min(wanted, most) - len(head), 0) + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InvalidParameter(f"{file}: is no whole gzip file: {error}") from None
    except OSError as error:
        raise InvalidParameter(f"{file}: cannot be read: {error.strerror}") from None
    if len(content) > _LARGEST:
        raise InvalidParameter(f"{file}: must hold at most {_LARGEST} bytes")
    return bytes(content)
