"""Images split over clients: rotated sets of TIT 2022, Section VI-B, and writers of VI-C.

A federation holds every image once, as bytes, and the rows of each client.  A client's images are
turned when they are asked for, so that 4,800 clients need no copy of the set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trials.checks import IntArray, InvalidParameter, plain_array, whole_array
from trials.parameters import Integer, Stream, validated

Pixels = NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class Federation:
    """Clients that hold n images each.

    Attributes
    ----------
    pixels : (N, channels, side, side) uint8, shared by all clients.
    labels : (N,) classes.
    rows : (m, n) the images of each client.
    turns : (m,) quarter turns of a client's images.
    clusters : (m,) the cluster, -1 where there is no truth.
    """

    pixels: Pixels
    labels: IntArray
    rows: IntArray
    turns: IntArray
    clusters: IntArray

    @property
    def m(self) -> int:
        """The number of clients."""
        return len(self.rows)

    def batch(
        self, clients: IntArray, columns: IntArray | None = None
    ) -> tuple[NDArray[np.float32], IntArray]:
        """Images (c, n, channels, side, side) in [0, 1] and labels (c, n) of some clients.

        ``columns``, (c, b), chooses b images of each client.
        """
        rows = self.rows[clients]
        if columns is not None:
            rows = np.take_along_axis(rows, columns, axis=1)
        x = self.pixels[rows]
        turns = self.turns[clients] % 4
        for turn in range(1, 4):
            turned = turns == turn
            if turned.any():
                x[turned] = np.rot90(x[turned], turn, axes=(-2, -1))
        return x.astype(np.float32) / np.float32(255.0), self.labels[rows]


def _one_an_image(name: str, values: NDArray[Any], n_images: int) -> NDArray[Any]:
    """The values if they are (N,), one for each of the images."""
    if values.shape != (n_images,):
        raise InvalidParameter(
            f"{name}.shape={values.shape} must be ({n_images},), one number an image"
        )
    return values


@validated(k=Integer(1, 4), m=Integer(1), n=Integer(1), rng=Stream())
def rotated(
    *, pixels: Pixels, labels: IntArray, k: int, m: int, n: int, rng: np.random.Generator
) -> Federation:
    """Split images over m clients, n images and one rotation each.

    Parameters
    ----------
    pixels, labels : (N, channels, side, side) and (N,), with N >= m n / k.
    k : rotations: 0, 90, 180 and 270 degrees for 4, 0 and 180 degrees for 2.
    m : clients, a multiple of k.
    n : images of a client.
    rng : splits every rotation of the set anew, as in the paper.

    Raises
    ------
    InvalidParameter : k no divisor of 4 or of m, too few images.

    Examples
    --------
    >>> import numpy as np
    >>> images = np.zeros((6, 1, 2, 2), dtype=np.uint8)
    >>> rotated(pixels=images, labels=np.arange(6), k=2, m=4, n=3,
    ...         rng=np.random.default_rng(0)).turns.tolist()
    [0, 0, 2, 2]
    """
    labels = _one_an_image("labels", whole_array("labels", labels), len(pixels))
    if 4 % k or m % k:
        raise InvalidParameter(f"k={k} must divide 4 and m={m}")
    if len(pixels) < m // k * n:
        raise InvalidParameter(
            f"{len(pixels)} images must be at least m n / k = {m // k * n}, every one of a rotation"
        )
    rows = [rng.permutation(len(pixels))[: m // k * n].reshape(-1, n) for _ in range(k)]
    clusters = np.repeat(np.arange(k), m // k)
    return Federation(
        pixels=pixels,
        labels=labels,
        rows=np.concatenate(rows),
        turns=clusters * (4 // k),
        clusters=clusters,
    )


@validated(n=Integer(1), n_test=Integer(1), rng=Stream())
def by_writer(
    *, pixels: Pixels, labels: IntArray, writers: IntArray, n: int, n_test: int,
    rng: np.random.Generator, groups: IntArray | None = None,
) -> tuple[Federation, Federation]:  # fmt: skip
    """Every writer is a client: n training images and n_test others for testing.

    Writers with fewer images are left out.

    Parameters
    ----------
    pixels, labels, writers : (N, channels, side, side), (N,) and (N,), in any order.
    n, n_test : images of a client.
    rng : draws which images.
    groups : (N,) the group of an image's writer, None where there are no groups.

    Returns
    -------
    The training and the test federation, with the same clients in the same order.

    Raises
    ------
    InvalidParameter : When nobody has n + n_test images.
    """
    labels = _one_an_image("labels", whole_array("labels", labels), len(pixels))
    writers = _one_an_image("writers", plain_array("writers", writers), len(pixels))
    if groups is not None:
        groups = _one_an_image("groups", plain_array("groups", groups), len(pixels))
    found = [np.flatnonzero(writers == each) for each in np.unique(writers)]
    chosen = [rng.permutation(rows)[: n + n_test] for rows in found if len(rows) >= n + n_test]
    if not chosen:
        raise InvalidParameter(f"no writer has n + n_test = {n + n_test} images")
    rows = np.stack(chosen)
    m = len(rows)
    clusters = np.full(m, -1) if groups is None else groups[rows[:, 0]]

    def held(columns: slice) -> Federation:
        return Federation(
            pixels=pixels,
            labels=labels,
            rows=rows[:, columns],
            turns=np.zeros(m, dtype=np.int64),
            clusters=clusters,
        )

    return held(slice(None, n)), held(slice(n, None))
