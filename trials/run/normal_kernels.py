r"""Standard normal numbers many at a time, by Box and Muller's transform in vector registers.

A generator of NumPy draws one number after the other.  Here streams of SFC64 run side by side, and
every operation is one loop over all of them, which the compiler turns into vector instructions.  A
number takes 2 ns instead of 9.

A block of words gives as many numbers: with u from a word of the first half and an angle from one
of the second half, :math:`\sqrt{-2\log u}` times its cosine and sine.  The functions are their
series, to rounding.  No number exceeds :math:`\sqrt{106\log2}=8.57`, which a normal one does once
in :math:`10^{17}` draws.

The functions of one lane take arrays as well.  Without the compiler all lanes are one slice.

References: Box & Muller, Ann. Math. Stat. 29 (1958); Doty-Humphrey, PractRand (SFC64).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import config
from numpy.typing import NDArray

from trials.checks import FloatArray
from trials.kernel import inner_kernel, kernel

LANES = 512
"""Streams, and the numbers of a block: the arrays of a block fit into the first cache together."""

_HALF = LANES // 2
_FUSED = {"contract"}
# Shifts of SFC64, and its counter's step.
_RIGHT, _LEFT, _TURN, _TURN_BACK, _ONE = (np.uint64(n) for n in (11, 3, 24, 40, 1))
_UNIT = np.uint64(0x3FF0000000000000)  # the bits of 1.0
_WHOLE = np.uint64(0x4330000000000000)  # the bits of 2^52, to which a small integer is added
_TO_ROOT = np.uint64(0x00095F619980C433)  # moves the root of two to the next exponent
_MANTISSA, _UNUSED, _SIGN = (np.uint64(n) for n in (52, 12, 63))
_BIAS = 2.0**52 + 1023.0
_CENTRE = 1.0 - 2.0**-53  # 1 less half of the distance of two numbers in [1, 2)
_LOG_2 = math.log(2.0)
# The coefficients of z^n in artanh(s) / s, sin(t) / t and cos(t), with z = s^2 or t^2.
_A1, _A2, _A3, _A4, _A5, _A6, _A7, _A8, _A9 = (1.0 / (2 * n + 1) for n in range(1, 10))
_S1, _S2, _S3, _S4, _S5, _S6, _S7 = ((-1) ** n / math.factorial(2 * n + 1) for n in range(1, 8))
_C1, _C2, _C3, _C4, _C5, _C6, _C7, _C8 = ((-1) ** n / math.factorial(2 * n) for n in range(1, 9))


@kernel
def _one_by_one(n: int) -> Any:
    """The numbers of n lanes."""
    return range(n)


def _together(n: int) -> Any:
    """One slice of n lanes."""
    return (slice(n),)


_lanes = _together if config.DISABLE_JIT else _one_by_one  # type: ignore[attr-defined]


@inner_kernel
def _real(bits: Any) -> Any:
    """The number with these bits."""
    return np.uint64(bits).view(np.float64)


@inner_kernel
def _bits(number: Any) -> Any:
    """The bits of a number."""
    return np.float64(number).view(np.uint64)


@inner_kernel(fastmath=_FUSED, error_model="numpy")
def _radius(word: Any) -> Any:
    """The length sqrt(-2 log u) of a pair, with u = (n + 1/2) / 2^52 from 52 bits n of a word."""
    u = _bits(_real((word >> _UNUSED) | _UNIT) - _CENTRE)
    # u = m 2^e with sqrt(1/2) <= m < sqrt(2), and log m = 2 artanh((m - 1) / (m + 1))
    shifted = (u + _TO_ROOT) >> _MANTISSA
    m = _real(u - ((shifted << _MANTISSA) - _UNIT))
    e = _real(shifted | _WHOLE) - _BIAS
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    tail = _A5 + z * (_A6 + z * (_A7 + z * (_A8 + z * _A9)))
    series = z * (_A1 + z * (_A2 + z * (_A3 + z * (_A4 + z * tail))))
    return np.sqrt(-2.0 * (e * _LOG_2 + 2.0 * (s + s * series)))


@inner_kernel(fastmath=_FUSED)
def _direction(word: Any) -> tuple[Any, Any]:
    """The cosine and sine of a uniform angle from 53 bits of a word.

    52 bits give half an angle between -pi/2 and pi/2, and one bit the sign of the cosine.
    """
    t = (_real((word >> _UNUSED) | _UNIT) - 1.5) * (0.5 * np.pi)
    z = t * t
    tail = _S4 + z * (_S5 + z * (_S6 + z * _S7))
    sine = t + t * (z * (_S1 + z * (_S2 + z * (_S3 + z * tail))))
    tail = _C4 + z * (_C5 + z * (_C6 + z * (_C7 + z * _C8)))
    cosine = 1.0 + z * (_C1 + z * (_C2 + z * (_C3 + z * tail)))
    across = _bits(1.0 - 2.0 * sine * sine) ^ (word << _SIGN)
    return _real(across), 2.0 * sine * cosine


@inner_kernel
def _next_words(state: NDArray[np.uint64], words: NDArray[np.uint64]) -> None:
    """One word of SFC64 for each lane, (LANES,).  The state is its a, b, c and counters."""
    a, b, c, counter = state[0], state[1], state[2], state[3]
    for i in _lanes(LANES):
        word = a[i] + b[i] + counter[i]
        a[i] = b[i] ^ (b[i] >> _RIGHT)
        b[i] = c[i] + (c[i] << _LEFT)
        c[i] = ((c[i] << _TURN) | (c[i] >> _TURN_BACK)) + word
        counter[i] += _ONE
        words[i] = word


@inner_kernel(fastmath=_FUSED)
def _block(state: NDArray[np.uint64], words: NDArray[np.uint64], out: FloatArray) -> None:
    """The next LANES numbers.  ``words`` (LANES,) is scratch."""
    _next_words(state, words)
    lengths, angles, across, along = words[:_HALF], words[_HALF:], out[:_HALF], out[_HALF:]
    for i in _lanes(_HALF):
        radius = _radius(lengths[i])
        cosine, sine = _direction(angles[i])
        across[i] = radius * cosine
        along[i] = radius * sine


@kernel
def fill_normals(
    state: NDArray[np.uint64], spare: FloatArray, n_spare: int, out: FloatArray
) -> int:
    """Fill an array with independent standard normal numbers.

    Parameters
    ----------
    state : (4, LANES) the streams' a, b, c and counters, updated.
    spare : (LANES,) numbers of an earlier block, updated.
    n_spare : how many at its end nobody has read.
    out : (n,) output.

    Returns
    -------
    How many at the end of ``spare`` nobody has read now.
    """
    n, words = out.size, np.empty(LANES, dtype=np.uint64)
    at = min(n_spare, n)
    first = LANES - n_spare
    for i in range(at):
        out[i] = spare[first + i]
    left = n_spare - at
    while n - at >= LANES:
        _block(state, words, out[at : at + LANES])
        at += LANES
    if at < n:
        _block(state, words, spare)
        for i in range(n - at):
            out[at + i] = spare[i]
        left = LANES - (n - at)
    return left
