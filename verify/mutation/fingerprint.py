"""Everything in a procedure that depends on its statement, so that two statements can be
distinguished.

A procedure whose fingerprint is the same for a statement and a mutant cannot see the change: no
cell, no bound and no probability of its test differs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trials.run.cell import Params
from trials.run.experiment import Experiment
from trials.run.store import Table
from verify.decisions.domain import as_domain
from verify.procedures.constants import Constants
from verify.procedures.interface import Procedure
from verify.procedures.mean_bound import MeanBound
from verify.procedures.probability import Probability
from verify.procedures.rate import Contraction, Rate
from verify.procedures.reproduction import Reproduction
from verify.procedures.search import Search
from verify.procedures.sup_lower_bound import SupLB
from verify.procedures.threshold import Threshold
from verify.procedures.vacuity import Vacuity

_POINTS = 20  # of a search, inside its constraints


def cells_of(procedure: Procedure) -> tuple[Params, ...]:
    """The cells of a procedure that samples, with every role.  A search has none."""
    roles = ("calibration", "held_out", "elsewhere", "cells")
    return tuple(cell for role in roles for cell in getattr(procedure, role, ()))


def fingerprint(procedure: Procedure) -> Any:
    """What the procedure tests, on invented trials and on random points."""
    if isinstance(procedure, Search):
        rng, domain = np.random.default_rng(0), as_domain(procedure.domain)
        points = domain.sample(rng, 8 * _POINTS)
        inside = [p for p in points if procedure.constraints is None or procedure.constraints(p)]
        return [procedure.violation(point) for point in inside[:_POINTS]]
    cells = cells_of(procedure)
    if isinstance(procedure, Probability):
        table = invented(procedure.sampling.experiment)
        bad = [procedure.bad(table, cell).tolist() for cell in cells]
        return [bad, [procedure.delta(cell) for cell in cells], list(map(repr, cells))]
    if isinstance(procedure, Constants):
        corner = {c.name: c.high for c in procedure.statement.constants}
        at = {"err": 0.37, **corner}
        values = [{**procedure.values({**cell, "c1": 1.0}), **at} for cell in cells]
        return [
            [procedure.statement.bound(v, unchecked=True) for v in values],
            [procedure.statement.failure_probability(v) for v in values],
        ]
    if isinstance(procedure, Contraction):
        return procedure.stated
    if isinstance(procedure, SupLB):
        return [[procedure.limit(cell), procedure.delta(cell)] for cell in cells]
    if isinstance(procedure, MeanBound):
        return [procedure.side, [procedure.bound(cell) for cell in cells]]
    if isinstance(procedure, Threshold):
        sizes = [procedure.statement.bound(procedure.values(cell)) for cell in cells]
        return [procedure.side, sizes]
    if isinstance(procedure, Rate):
        return {name: rate.exponent for name, rate in procedure.stated.items()}
    if isinstance(procedure, Vacuity):
        return [setting.begins.log_size for setting in procedure.examined()]
    if isinstance(procedure, Reproduction):
        return [(dict(p.at), p.value, p.tolerance) for p in procedure.printed]
    return procedure.describe()


def invented(experiment: Experiment, n_trials: int = 1024) -> Table:
    """Trials that no experiment gave: positive numbers over many orders of magnitude."""
    rng = np.random.default_rng(1)
    sizes = np.geomspace(1e-12, 1e12, n_trials)[:, None]  # some of them near any bound
    values = sizes * np.exp(rng.standard_normal((n_trials, len(experiment.columns))))
    return Table(
        columns=experiment.columns,
        values=values,
        failed=np.zeros(n_trials, dtype=bool),
        reasons=(),
    )
