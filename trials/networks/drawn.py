"""Sets of images that are drawn, without any file: rotated glyphs and coloured textures.

`glyphs` are letters and digits in Matplotlib's own fonts, 28 x 28, grey, by writers who differ in
font, slant, stroke, size and noise: in place of MNIST (10 classes) and FEMNIST (62 classes).
Writers may come in groups, with like hands and with habits of their own.
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

from trials.checks import FloatArray, IntArray, InvalidParameter, shown, whole_array
from trials.parameters import Flag, Integer, Maybe, Real, Stream, validated

Pixels = NDArray[np.uint8]

CHARACTERS = string.digits + string.ascii_uppercase + string.ascii_lowercase
FONTS = tuple(
    f"{family}.ttf"
    for family in (
        "DejaVuSans", "DejaVuSans-Oblique", "DejaVuSansMono", "DejaVuSerif", "DejaVuSerif-Italic",
        "STIXGeneral", "STIXGeneralItalic", "cmr10", "cmss10", "cmtt10",
    )
)  # fmt: skip
#: Forms that some people write for the one character and others for the other.
PAIRS = ("17", "49", "0O", "Il", "5S", "2Z", "gq", "uv")
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
    styles : (N,) the group of writers, zero where there is one.
    """

    pixels: Pixels
    labels: IntArray
    writers: IntArray
    styles: IntArray


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


@validated(n=Integer(1, 10**6), writers=Maybe(Integer(1, 10**6)), styles=Integer(1, 8),
           distinct=Real(0.0, 1.0), habits=Flag(), rng=Stream())  # fmt: skip
def glyphs(
    *, n: int, classes: int = 10, writers: int | None = None, styles: int = 1,
    distinct: float = 0.5, habits: bool = False, labels: IntArray | None = None,
    rng: np.random.Generator,
) -> DrawnImages:  # fmt: skip
    """Draw n glyphs, as many by every writer as there can be.

    Parameters
    ----------
    n : images.
    classes : 10 (digits) or 62 (digits and letters).
    writers : of whom every one has a font, slant, stroke, size and noise of its own, None for
        1,000 or n if that is less.
    styles : groups of writers, as equal as there can be.  A group has a font, a slant, a turn, a
        stretch, a size and a stroke, drawn by the law of a writer's.
    distinct : probability with which a writer has such a feature from the group, each by itself.
        With 0 no hand tells its group, with 1 the hands of a group differ in noise only.
    habits : whether groups also differ in what a form means.  In each of `PAIRS` the two
        characters change their forms in some groups (`exchanged`): one group's 1 looks like
        another's 7.  Then no model without a knowledge of the group can be right for all.
    labels : (n,) the characters to draw, None for random ones.
    rng : the stream.

    Returns
    -------
    DrawnImages of 1 x 28 x 28.  The images of a writer follow each other, classes at random.

    Examples
    --------
    >>> import numpy as np
    >>> found = glyphs(n=6, writers=3, styles=2, rng=np.random.default_rng(0))
    >>> found.writers.tolist(), found.styles.tolist()
    ([0, 0, 1, 1, 2, 2], [0, 0, 0, 0, 1, 1])
    """
    if classes not in (10, len(CHARACTERS)):
        raise InvalidParameter(f"classes={shown(classes)} must be 10 or {len(CHARACTERS)}")
    writers = min(n, 1000) if writers is None else writers
    if writers > n:
        raise InvalidParameter(f"writers={writers} must be at most n={n}")
    if styles > writers:
        raise InvalidParameter(f"styles={styles} must be at most writers={writers}")
    owner = np.arange(n) * writers // n
    groups = np.arange(writers) * styles // writers
    labels = (
        rng.integers(0, classes, n) if labels is None else whole_array("labels", labels, -(2**53))
    )
    if labels.shape != (n,) or labels.min() < 0 or labels.max() >= classes:
        raise InvalidParameter(f"labels must be n={n} numbers from 0 to {classes - 1}")
    style = _hands(writers, rng)
    if styles > 1:
        for name, common in _hands(styles, rng).items():
            if name != "noise":
                shared = rng.random(writers) < distinct
                style[name] = np.where(shared, common[groups], style[name])
    forms = exchanged(labels, groups[owner], styles, classes) if habits else labels
    pixels = np.empty((n, 1, _SIDE, _SIDE), dtype=np.uint8)
    for first in range(0, n, _CHUNK):
        part = slice(first, min(first + _CHUNK, n))
        own = {name: values[owner[part]] for name, values in style.items()}
        pixels[part, 0] = _glyphs_of(own, forms[part], rng)
    return DrawnImages(pixels=pixels, labels=labels, writers=owner, styles=groups[owner])


def _hands(number: int, rng: np.random.Generator) -> dict[str, Any]:
    """The features of so many hands, drawn by themselves."""
    return {
        "font": rng.integers(0, len(FONTS), number),
        "slant": rng.normal(0.0, 0.2, number),
        "turn": rng.normal(0.0, 0.12, number),
        "stretch": np.exp(rng.normal(0.0, 0.12, number)),
        "size": np.exp(rng.normal(0.0, 0.1, number)),
        "stroke": rng.uniform(0.15, 0.5, number),
        "noise": rng.uniform(0.02, 0.12, number),
    }


def exchanged(labels: IntArray, groups: IntArray, styles: int, classes: int) -> IntArray:
    """The characters whose forms are drawn for characters (N,) by writers of some groups (N,).

    Of b = ceil(log2(styles)) binary digits of the group's number, digit p mod b tells whether pair
    p of `PAIRS` is exchanged.  So group 0 exchanges none, and two groups differ in every b-th pair
    at least.  Pairs with a character beyond the ``classes`` first ones do not count: ten digits
    have two pairs, which tell four groups apart.

    Examples
    --------
    >>> import numpy as np
    >>> ones = np.full(3, 1)
    >>> exchanged(ones, np.arange(3), styles=3, classes=10).tolist()
    [1, 7, 1]
    """
    forms, bits = labels.copy(), (styles - 1).bit_length()
    places = [[CHARACTERS.index(c) for c in pair] for pair in PAIRS]
    known = [pair for pair in places if max(pair) < classes]
    for p, (one, two) in enumerate(known if bits else ()):
        changes = (groups >> (p % bits)) & 1 == 1
        forms[changes & (labels == one)] = two
        forms[changes & (labels == two)] = one
    return forms


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
    nobody = np.zeros(n, dtype=np.int64)
    return DrawnImages(pixels=pixels, labels=labels, writers=nobody, styles=nobody)


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
