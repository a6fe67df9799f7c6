"""Random streams: one independent, addressable stream per block of trials.

A stream depends on four registered integers alone.  It does not depend on the number of workers,
the order of work, the machine's load or the other cells of a run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trials.checks import FloatArray, integer_between
from trials.run.normal_kernels import LANES, fill_normals

_WORD = 1 << 32


def block_stream(root: int, design: int, cell: int, block: int) -> np.random.Generator:
    """Return the generator of one block: counter-based Philox under a hashed, structured key.

    Parameters
    ----------
    root : root seed of the run, below 2**128.  `numpy.random.SeedSequence` pads the root to 128
        bits before it appends the spawn key.  A longer root could be confused with the key.
    design : registered number of the experiment, below 2**32.
    cell : `trials.run.cell.cell_number` of the cell, below 2**64.
    block : index of the block in its cell, below 2**32.

    Returns
    -------
    numpy.random.Generator

    Raises
    ------
    InvalidParameter : When a number is not an integer of its range.

    Notes
    -----
    The spawn key is ``(design, cell >> 32, cell & 0xffffffff, block)``: always four 32-bit words.
    `SeedSequence` would write a larger integer as several words, and two different keys could then
    give the same words.  So the cell is split here and the widths are fixed.
    """
    root = integer_between("root", root, 0, 2**128 - 1)
    design = integer_between("design", design, 0, 2**32 - 1)
    high, low = divmod(integer_between("cell", cell, 0, 2**64 - 1), _WORD)
    block = integer_between("block", block, 0, 2**32 - 1)
    sequence = np.random.SeedSequence(root, spawn_key=(design, high, low, block))
    return np.random.Generator(np.random.Philox(sequence))


class _FasterStream(np.random.Generator):
    """A generator of which normal numbers in arrays come from `trials.run.normal_kernels`.

    All else, and arrays of few normal numbers, are drawn as NumPy draws them.  The lanes' states
    are words of the generator itself, so that it still depends on its seed alone.
    """

    _few = 64
    """Numbers that NumPy draws as fast."""

    def __init__(self, bits: np.random.BitGenerator) -> None:
        super().__init__(bits)
        self._lanes: NDArray[np.uint64] | None = None
        self._spare: FloatArray = np.empty(LANES)
        self._n_spare = 0

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """Return standard normal numbers, as `numpy.random.Generator.standard_normal` does."""
        if out is not None or size is None or dtype is not np.float64:
            return super().standard_normal(size, dtype, out)
        drawn = np.empty(size)
        if drawn.size < self._few:
            return super().standard_normal(out=drawn)
        if self._lanes is None:
            self._lanes = np.ones((4, LANES), dtype=np.uint64)
            self._lanes[:3] = self.bit_generator.random_raw(3 * LANES).reshape(3, LANES)
        self._n_spare = fill_normals(self._lanes, self._spare, self._n_spare, drawn.reshape(-1))
        return drawn


def faster_stream(rng: np.random.Generator) -> np.random.Generator:
    """Return a generator of `numpy.random.SFC64` whose seed are 256 bits of another generator.

    It draws a uniform number in half of Philox's time, and standard normal numbers in an array in a
    sixth of it (`trials.run.normal_kernels`).  An experiment that spends its time on random numbers
    takes it once for each block.
    """
    seed = rng.integers(0, _WORD, 8).tolist()
    return _FasterStream(np.random.SFC64(np.random.SeedSequence(seed)))
