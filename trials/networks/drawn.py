"""Sets of images that are drawn, without any file: rotated glyphs and coloured textures.

`glyphs` are letters and digits in Matplotlib's own fonts, 28 x 28, grey, by writers who differ in
font, slant, stroke, size and noise: in place of MNIST (10 classes) and FEMNIST (62 classes).
`textures` are waves of two colours, 32 x 32 and in ten directions, in place of CIFAR-10.  Neither
set is the one it stands for, and accuracies on it say nothing about the other.

Every image is bent by a smooth random field and is noisy, so that fifty images of a client do not
suffice to learn the classes.  The images depend on the seed, on NumPy's streams and, in the last
bits, on the version of FreeType that draws the letters.
"""

from __future__ import annotations

import string
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from trials.checks import FloatArray, IntArray, InvalidParameter, shown
from trials.parameters import Integer, Maybe, Real, Stream, validated

Pixels = NDArray[np.uint8]

CHARACTERS = string.digits + string.ascii_uppercase + string.ascii_lowercase
FONTS = tuple(
    f"{family}.ttf"
    for family in (
        "DejaVuSans", "DejaVuSans-Oblique", "DejaVuSansMono", "DejaVuSerif", "DejaVuSerif-Italic",
        "STIXGeneral", "STIXGeneralItalic", "cmr10", "cmss10", "cmtt10",
    )
)  # fmt: skip
_CANVAS, _SIDE, _TEXTURE = 64, 28, 32
_CHUNK = 4096  # images drawn at a time


@dataclass(frozen=True, kw_only=True)
class DrawnImages:
    """Drawn images.

    Attributes
    ----------
    pixels : (N, channels, side, side) uint8.
    labels : (N,) classes.
    writers : (N,) who drew it, zero where there are no writers.
    """

    pixels: Pixels
    labels: IntArray
    writers: IntArray


@lru_cache(maxsize=1)
def _masks() -> NDArray[np.float32]:
    """Every character in every font, (fonts, 62, 64, 64), centred, of one height, blurred."""
    import matplotlib
    from PIL import Image, ImageDraw, ImageFont

    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    drawn = np.zeros((len(FONTS), len(CHARACTERS), _CANVAS, _CANVAS), dtype=np.float32)
    for i, name in enumerate(FONTS):
        font = ImageFont.truetype(str(folder / name), 44)
        for j, character in enumerate(CHARACTERS):
            sheet = Image.new("L", (_CANVAS, _CANVAS))
            ImageDraw.Draw(sheet).text(
                (_CANVAS / 2, 48), character, fill=255, font=font, anchor="ms"
            )
            drawn[i, j] = np.asarray(sheet, dtype=np.float32) / 255.0
    blurred: NDArray[np.float32] = ndimage.gaussian_filter(drawn, (0, 0, 1.2, 1.2))
    return blurred


@validated(n=Integer(1, 10**6), writers=Maybe(Integer(1, 10**6)), rng=Stream())
def glyphs(
    *, n: int, classes: int = 10, writers: int | None = None, rng: np.random.Generator
) -> DrawnImages:
    """Draw n glyphs, as many by every writer as there can be.

    Parameters
    ----------
    n : images.
    classes : 10 (digits) or 62 (digits and letters).
    writers : of whom every one has a font, slant, stroke, size and noise of its own, None for
        1,000 or n if that is less.
    rng : the stream.

    Returns
    -------
    DrawnImages of 1 x 28 x 28.  The images of a writer follow each other, classes at random.

    Examples
    --------
    >>> import numpy as np
    >>> glyphs(n=6, writers=2, rng=np.random.default_rng(0)).writers.tolist()
    [0, 0, 0, 1, 1, 1]
    """
    if classes not in (10, len(CHARACTERS)):
        raise InvalidParameter(f"classes={shown(classes)} must be 10 or {len(CHARACTERS)}")
    writers = min(n, 1000) if writers is None else writers
    if writers > n:
        raise InvalidParameter(f"writers={writers} must be at most n={n}")
    owner = np.arange(n) * writers // n
    labels = rng.integers(0, classes, n)
    style = {
        "font": rng.integers(0, len(FONTS), writers),
        "slant": rng.normal(0.0, 0.2, writers),
        "turn": rng.normal(0.0, 0.12, writers),
        "stretch": np.exp(rng.normal(0.0, 0.12, writers)),
        "size": np.exp(rng.normal(0.0, 0.1, writers)),
        "stroke": rng.uniform(0.15, 0.5, writers),
        "noise": rng.uniform(0.02, 0.12, writers),
    }
    pixels = np.empty((n, 1, _SIDE, _SIDE), dtype=np.uint8)
    for first in range(0, n, _CHUNK):
        part = slice(first, min(first + _CHUNK, n))
        own = {name: values[owner[part]] for name, values in style.items()}
        pixels[part, 0] = _glyphs_of(own, labels[part], rng)
    return DrawnImages(pixels=pixels, labels=labels, writers=owner)


def _glyphs_of(style: dict[str, Any], labels: IntArray, rng: np.random.Generator) -> Pixels:
    """(b, 28, 28) glyphs, one a row of the styles."""
    b = len(labels)
    turn = style["turn"] + rng.normal(0.0, 0.12, b)
    slant = style["slant"] + rng.normal(0.0, 0.1, b)
    size = 0.78 * _CANVAS / _SIDE * style["size"] * np.exp(rng.normal(0.0, 0.07, b))
    y, x = _grid(_SIDE)
    y, x = y[None] + _bend(b, _SIDE, 1.3, rng), x[None] + _bend(b, _SIDE, 1.3, rng)
    x, y = x - rng.normal(0.0, 0.8, (b, 1, 1)), y - rng.normal(0.0, 0.8, (b, 1, 1))
    cos, sin = np.cos(turn)[:, None, None], np.sin(turn)[:, None, None]
    x, y = cos * x + sin * y, cos * y - sin * x
    x = x * style["stretch"][:, None, None] + slant[:, None, None] * y
    centre = _CANVAS / 2
    found = _sampled(
        _masks()[style["font"], labels],
        y * size[:, None, None] + centre,
        x * size[:, None, None] + centre,
    )
    ink = np.clip((found - style["stroke"][:, None, None]) * 4.0 + 0.5, 0.0, 1.0)
    ink += style["noise"][:, None, None] * rng.standard_normal(ink.shape)
    return np.asarray(np.clip(ink, 0.0, 1.0) * 255.0 + 0.5, dtype=np.uint8)


@validated(n=Integer(1, 10**6), hardness=Real(0.0, 100.0), rng=Stream())
def textures(*, n: int, hardness: float = 1.0, rng: np.random.Generator) -> DrawnImages:
    """Draw n textures of ten classes.

    Parameters
    ----------
    n : images.
    hardness : factor of the noise and of the bends.
    rng : the stream.

    Returns
    -------
    DrawnImages of 3 x 32 x 32.  A class is the direction in which a sawtooth wave rises, one of
    ten.  Half a turn makes class c to class c + 5, so one model for both must see which way is up:
    all images are lighter above.  Colours, lengths of waves, phases, bends and noise are random.
    A network learns the classes from thousands of images within hundreds of steps.  With the
    hardness 1 five hundred images suffice, with 5 they do not.
    """
    labels = rng.integers(0, 10, n)
    pixels = np.empty((n, 3, _TEXTURE, _TEXTURE), dtype=np.uint8)
    for first in range(0, n, _CHUNK):
        part = slice(first, min(first + _CHUNK, n))
        pixels[part] = _textures_of(labels[part], hardness, rng)
    return DrawnImages(pixels=pixels, labels=labels, writers=np.zeros(n, dtype=np.int64))


def _textures_of(labels: IntArray, hardness: float, rng: np.random.Generator) -> Pixels:
    b, bend = len(labels), 1.2 * hardness
    y, x = _grid(_TEXTURE)
    y, x = y[None] + _bend(b, _TEXTURE, bend, rng), x[None] + _bend(b, _TEXTURE, bend, rng)
    angle = 2.0 * np.pi * (labels / 10.0) + rng.normal(0.0, 0.12, b)
    length = rng.uniform(7.0, 14.0, b)
    along = np.cos(angle)[:, None, None] * x + np.sin(angle)[:, None, None] * y
    wave = (along / length[:, None, None] + rng.random((b, 1, 1))) % 1.0
    low, high = rng.uniform(0.0, 0.15, (2, b, 3, 1, 1))
    colours = low + (high + 0.62) * wave[:, None]
    light = 1.0 - rng.uniform(0.1, 0.5, (b, 1, 1, 1)) * (_grid(_TEXTURE)[0] / _TEXTURE + 0.5)
    noisy = colours * light + rng.normal(0.0, 0.08 * hardness, (b, 3, _TEXTURE, _TEXTURE))
    return np.asarray(np.clip(noisy, 0.0, 1.0) * 255.0 + 0.5, dtype=np.uint8)


def _grid(side: int) -> tuple[FloatArray, FloatArray]:
    """Rows and columns from the centre, (side, side) each."""
    places = np.arange(side) - (side - 1) / 2
    rows, columns = np.meshgrid(places, places, indexing="ij")
    return rows, columns


def _bend(b: int, side: int, size: float, rng: np.random.Generator) -> FloatArray:
    """Smooth random shifts, (b, side, side): linear between a random 4 x 4 grid."""
    places = np.linspace(0.0, 3.0, side)
    weights = np.maximum(1.0 - np.abs(places[:, None] - np.arange(4)), 0.0)
    nodes = rng.normal(0.0, size, (b, 4, 4))
    return np.asarray(weights @ nodes @ weights.T)


def _sampled(masks: NDArray[np.float32], rows: FloatArray, columns: FloatArray) -> FloatArray:
    """Bilinear values of every mask at its places, zero outside."""
    top, left = np.floor(rows).astype(np.int64), np.floor(columns).astype(np.int64)
    down, right = rows - top, columns - left
    which = np.arange(len(masks))[:, None, None]
    found = np.zeros(rows.shape)
    for i, weight in ((0, 1.0 - down), (1, down)):
        for j, other in ((0, 1.0 - right), (1, right)):
            r, c = top + i, left + j
            inside = (r >= 0) & (r < _CANVAS) & (c >= 0) & (c < _CANVAS)
            values = masks[which, np.clip(r, 0, _CANVAS - 1), np.clip(c, 0, _CANVAS - 1)]
            found += np.where(inside, weight * other * values, 0.0)
    return found
