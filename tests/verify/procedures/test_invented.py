"""Trials that no experiment gave."""

import numpy as np

from tests.verify.toys import METHODS
from verify.procedures.invented import invent_trials


def test_invented_trials_are_of_every_size_and_half_of_them_hardly_move():
    table = invent_trials(METHODS, 200)
    logs = np.log10(table.values)
    assert table.columns == METHODS.columns
    assert not table.failed.any()
    assert np.isfinite(logs).all()
    # sizes from 1e-12 to 1e12, a standard normal exponent away from even steps
    assert np.abs(logs.mean(axis=1) - np.linspace(-12, 12, 200)).max() < 2.0
    apart = np.ptp(logs, axis=1)
    assert apart[1::2].max() < 1e-5
    assert apart[0::2].min() > 1e-3
    assert invent_trials(METHODS, 200).values.tolist() == table.values.tolist()
