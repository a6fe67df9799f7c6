r"""IFCA, conference version: Theorem 1 and Corollary 1 from a start within Delta/4.

Problem, algorithm and computation as in `verify.claims.ifca.one_step` and
`verify.claims.ifca.whole_run`, with the conference version's initialisation, exponents without
closeness, and T = log(Delta/(4 epsilon)) steps.

Reference. NeurIPS 2020, Theorem 1 and Corollary 1.
"""

from __future__ import annotations

import math

from bounds.ifca.neurips import COROLLARY_1, COROLLARY_1_AS_PRINTED, THEOREM_1, THEOREM_1_AS_PRINTED
from bounds.statement import Statement
from verify.claim import claim
from verify.claims.ifca.cells import (
    CALIBRATION,
    COLUMNS,
    CONFERENCE_ELSEWHERE,
    HELD_OUT,
    HIDDEN,
    grid,
    with_shapes,
)
from verify.claims.ifca.one_step import (
    FAR_CELLS,
    FLOOR_CELLS,
    STEP_SIZE,
    every_step_size,
    three_parts,
)
from verify.claims.ifca.whole_run import RUN_CELLS, every_step_constant, run_claim
from verify.evidence import Verdict
from verify.procedures.base import Profile
from verify.procedures.constants import Constants
from verify.procedures.probability import Probability


@claim(THEOREM_1_AS_PRINTED, expected=Verdict.REFUTED, finding=STEP_SIZE, hidden=HIDDEN)
def theorem_1_as_printed(statement: Statement, profile: Profile) -> Probability:
    """Clusters up to 785 times as large as the smallest."""
    return every_step_size(statement, profile, 0.25)


@claim(THEOREM_1, hidden=HIDDEN)
def theorem_1(statement: Statement, profile: Profile) -> Constants:
    """Clusters within a factor two of each other."""
    near = tuple(c for c in FAR_CELLS if c["alpha"] >= 0.25)
    return three_parts(
        statement,
        profile,
        with_shapes(grid(COLUMNS, CALIBRATION)),
        with_shapes((*grid(COLUMNS, HELD_OUT), *FLOOR_CELLS)),
        with_shapes((*grid(COLUMNS, CONFERENCE_ELSEWHERE), *near)),
    )


@claim(COROLLARY_1_AS_PRINTED, expected=Verdict.REFUTED, finding=STEP_SIZE, hidden=HIDDEN)
def corollary_1_as_printed(statement: Statement, profile: Profile) -> Constants:
    """Clusters of equal size, four and 99 times as large as the smallest."""
    return every_step_constant(statement, profile, 0.25)


#: The conference version names the constants of the accuracy c5, c6 and takes c4 from Theorem 1.
ACCURACY = {"c_5": 2.0, "c_6": 1.0, "c_4": math.log(2) / 4}


@claim(COROLLARY_1, hidden=HIDDEN)
def corollary_1(statement: Statement, profile: Profile) -> Probability:
    """Clusters within a factor two: the journal version's runs, started within Delta/4."""
    cells = tuple({**c, "alpha": max(c["alpha"], 0.25)} for c in RUN_CELLS)
    return run_claim(statement, profile, cells, ACCURACY)
