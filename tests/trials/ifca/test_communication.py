"""Counts of floats against messages that are made and measured, and refusals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from trials.ifca.communication import floats_down, floats_up


@pytest.mark.parametrize("settled", [False, True])
def test_counts_are_the_sizes_of_the_messages(settled):
    """Down go each participant's models, with shared coordinates once.  Up go a vector and a
    one-hot.
    """
    for p, k, d in itertools.product((0, 1, 7), (1, 3), (1, 4)):
        up = [np.zeros(d) if settled else np.concatenate([np.zeros(d), np.eye(k)[0]])] * p
        assert floats_up(p, k, d, settled) == sum(map(len, up))
        for s in range(d + 1):
            models = np.zeros((1 if settled else k, d))
            down = [models[:, s:].size + models[0, :s].size] * p
            counted = floats_down(p, k, d, s, settled)
            assert counted == sum(down)
