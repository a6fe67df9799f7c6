"""Invented trials, which show the columns that a procedure reads."""

from __future__ import annotations

import numpy as np

from trials.run.experiment import Experiment
from trials.run.store import Table


def invent_trials(experiment: Experiment, n_trials: int = 1024) -> Table:
    """Trials that no experiment gave: positive numbers over many orders of magnitude.

    The columns of every other trial are nearly equal: a run that hardly moves.
    """
    rng = np.random.default_rng(1)
    sizes = np.geomspace(1e-12, 1e12, n_trials)[:, None]  # some of them near any bound
    spread = np.where(np.arange(n_trials) % 2, 1e-6, 1.0)[:, None]
    values = sizes * np.exp(spread * rng.standard_normal((n_trials, len(experiment.columns))))
    return Table(
        columns=experiment.columns,
        values=values,
        failed=np.zeros(n_trials, dtype=bool),
        reasons=(),
    )
