"""Normal numbers of many lanes against NumPy's SFC64 and the textbook's Box-Muller transform."""

import numpy as np
import pytest

from trials.run.normal_kernels import LANES, fill_normals
from trials.run.streams import block_stream, faster_stream


def _words(state, n_blocks):
    """Words (n_blocks, LANES) of NumPy's generator from each lane's a, b, c and counter."""
    lanes = []
    for lane in state.T:
        bits = np.random.SFC64(0)
        bits.state = {**bits.state, "state": {"state": lane}}
        lanes.append(bits.random_raw(n_blocks))
    return np.array(lanes).T


def _twin(words):
    """Box and Muller's numbers of a block of words, (LANES,)."""
    first, second = words[: LANES // 2], words[LANES // 2 :]
    u = ((first >> np.uint64(12)).astype(float) + 0.5) / 2.0**52
    angle = np.pi * ((second >> np.uint64(12)).astype(float) / 2.0**52 - 0.5)
    sign = 1.0 - 2.0 * (second % np.uint64(2)).astype(float)
    # The radius of log1p, which keeps the digits of u close to one.
    radius = np.sqrt(-2.0 * np.where(u < 0.5, np.log(u), np.log1p(u - 1.0)))
    return np.concatenate([radius * sign * np.cos(angle), radius * np.sin(angle)])


def _state(seed=0):
    state = np.random.default_rng(seed).integers(0, 2**64, (4, LANES), dtype=np.uint64)
    # Words of 0 and 2^64 - 1 come first in two lanes of each half: a + b + counter.
    state[3, [0, -1]] = -(state[0] + state[1])[[0, -1]]
    state[3, [1, -2]] = -(state[0] + state[1])[[1, -2]] - np.uint64(1)
    return state


def test_numbers_are_those_of_the_transform_of_the_generators_words():
    state, found = _state(), np.empty(3 * LANES)
    expected = np.concatenate([_twin(words) for words in _words(state, 3)])
    assert fill_normals(state, np.empty(LANES), 0, found) == 0
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-15)
    # A word of zeros has the smallest u, 2^-53, and the largest radius of all.
    radii = np.hypot(found[: LANES // 2], found[LANES // 2 : LANES])
    assert radii[0] == pytest.approx(np.sqrt(106.0 * np.log(2.0)), rel=1e-15)
    assert radii[1] == pytest.approx(2.0**-26, rel=1e-15)


@pytest.mark.parametrize("sizes", [(64, LANES - 64, 2 * LANES), (LANES + 70, LANES + 71, 883)])
def test_arrays_of_all_sizes_follow_each_other_in_one_sequence(sizes):
    one, other = (faster_stream(np.random.default_rng(1)) for _ in range(2))
    pieces = [other.standard_normal((1, size)) for size in sizes]
    whole = one.standard_normal(sum(sizes))
    assert [piece.shape for piece in pieces] == [(1, size) for size in sizes]
    assert np.array_equal(whole, np.concatenate([piece[0] for piece in pieces]))
    assert np.unique(whole).size == whole.size


def test_few_numbers_and_all_other_laws_are_numpys():
    seed = block_stream(1, 2, 3, 4).integers(0, 2**32, 8).tolist()
    ours = faster_stream(block_stream(1, 2, 3, 4))
    twin = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed)))
    out, expected = np.empty(200), np.empty(200)
    assert ours.standard_normal() == twin.standard_normal()
    assert np.array_equal(ours.standard_normal((3, 21)), twin.standard_normal((3, 21)))
    assert ours.standard_normal(0).shape == (0,)
    assert np.array_equal(ours.standard_normal(out=out), twin.standard_normal(out=expected))
    single = twin.standard_normal(100, dtype=np.float32)
    assert np.array_equal(ours.standard_normal(100, dtype=np.float32), single)
    assert np.array_equal(ours.chisquare(3.0, 90), twin.chisquare(3.0, 90))


def test_the_lanes_begin_with_the_next_words_of_the_stream():
    seed = block_stream(1, 2, 3, 5).integers(0, 2**32, 8).tolist()
    state = np.ones((4, LANES), dtype=np.uint64)
    bits = np.random.SFC64(np.random.SeedSequence(seed))
    state[:3] = bits.random_raw(3 * LANES).reshape(3, LANES)
    ours = faster_stream(block_stream(1, 2, 3, 5))
    np.testing.assert_allclose(
        ours.standard_normal(LANES), _twin(_words(state, 1)[0]), rtol=1e-14, atol=1e-15
    )
    assert ours.integers(0, 2**63) == np.random.Generator(bits).integers(0, 2**63)
