"""Random streams: one independent, addressable stream per block of trials.

A stream depends on four registered integers alone.  It does not depend on the number of workers,
the order of work, the machine's load or the other cells of a run.
"""

from __future__ import annotations

import numpy as np

from trials.checks import integer_between

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


def faster_stream(rng: np.random.Generator) -> np.random.Generator:
    """Return a generator of `numpy.random.SFC64` whose seed are 256 bits of another generator.

    It draws a standard normal number in two thirds of Philox's time, and a uniform one in half of
    it.  An experiment that spends its time on random numbers takes it once for each block.
    """
    seed = rng.integers(0, _WORD, 8).tolist()
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed)))
