"""Cells in which every trial failed: a claim has a verdict, and it is not SUPPORTED."""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from tests.verify.invented import READ, Invented, built, not_numbers, small
from trials.run.cell import Params
from trials.run.experiment import Experiment
from trials.run.store import Table
from verify.evidence import Verdict


class AllFailed(Invented):
    """A store in which every trial of every cell raised."""

    def table(self, experiment: Experiment, params: Params, n_blocks: int) -> Table:
        del params
        n = n_blocks * experiment.block_size
        return Table(
            columns=experiment.columns,
            values=np.full((n, len(experiment.columns)), self.lost),
            failed=np.ones(n, dtype=bool),
            reasons=tuple((row, "raised: by hand") for row in range(n)),
        )


@pytest.mark.parametrize("name", READ)
def test_trials_that_all_failed_support_nothing(name: str) -> None:
    """A comparison of two methods that both failed compares nothing, also where it allows a tie.

    An exact law does not support either: the trials contradict it.
    """
    procedure: Any = small(built(name))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = procedure.decide(AllFailed("numbers", math.nan), 0.01)
    assert list(not_numbers(asdict(found))) == []
    assert found.n_failed == found.n_trials > 0
    assert found.verdict is not Verdict.SUPPORTED
