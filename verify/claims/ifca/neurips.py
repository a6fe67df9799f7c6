r"""IFCA, conference version: Theorem 1 and Corollary 1 from a start within Delta/4.

Problem, algorithm and computation as in `verify.claims.ifca.one_step` and
`verify.claims.ifca.whole_run`, with the conference version's initialisation, exponents without
closeness, and T = log(Delta/(4 epsilon)) steps.  The corrected readings take 1 + log2(Delta/(4
epsilon)) steps, with c5 = 2, or 10,000 d samples a cluster and step, with c5 = 30.

Reference. NeurIPS 2020, Theorem 1 and Corollary 1.
"""

from __future__ import annotations

import math

from bounds.ifca.neurips import (
    COROLLARY_1,
    COROLLARY_1_AS_PRINTED,
    COROLLARY_1_BALANCED_AS_PRINTED,
    COROLLARY_1_MORE_SAMPLES,
    THEOREM_1,
    THEOREM_1_AS_PRINTED,
)
from bounds.statement import Statement
from verify.claim import claim
from verify.claims.ifca.cells import (
    CALIBRATION,
    COLUMNS,
    ELSEWHERE,
    HELD_OUT,
    HIDDEN,
    grid,
    with_shapes,
    within_a_quarter,
)
from verify.claims.ifca.one_step import (
    FAR_CELLS,
    FLOOR_CELLS,
    PROVED_AT,
    STEP_SIZE,
    UNEQUAL_STEPS,
    every_step_size,
    three_parts,
)
from verify.claims.ifca.rounds import LOGARITHM
from verify.claims.ifca.whole_run import (
    RUN_CELLS,
    UNEQUAL_RUNS,
    edge_cells,
    every_run,
    run_claim,
)
from verify.evidence import Verdict
from verify.procedures.base import Profile
from verify.procedures.constants import Constants
from verify.procedures.probability import Probability


@claim(THEOREM_1_AS_PRINTED, expected=Verdict.REFUTED, finding=STEP_SIZE, hidden=HIDDEN)
def theorem_1_as_printed(statement: Statement, profile: Profile) -> Probability:
    """Clusters up to 785 times as large as the smallest."""
    return every_step_size(statement, profile, UNEQUAL_STEPS, PROVED_AT)


@claim(THEOREM_1, hidden=HIDDEN)
def theorem_1(statement: Statement, profile: Profile) -> Constants:
    """Clusters within a factor two of each other."""
    near = tuple(c for c in FAR_CELLS if c["alpha"] >= 0.25)
    return three_parts(
        statement,
        profile,
        with_shapes(grid(COLUMNS, CALIBRATION)),
        with_shapes(within_a_quarter((*grid(COLUMNS, HELD_OUT), *FLOOR_CELLS))),
        with_shapes(within_a_quarter((*grid(COLUMNS, ELSEWHERE), *near))),
    )


@claim(COROLLARY_1_AS_PRINTED, expected=Verdict.REFUTED, finding=STEP_SIZE, hidden=HIDDEN)
def corollary_1_as_printed(statement: Statement, profile: Profile) -> Probability:
    """Clusters 99 and 785 times as large as the smallest."""
    return every_run(statement, profile, UNEQUAL_RUNS, at_stated_step=False)


#: The conference version names the constants of the accuracy c5, c6 and takes c4 from Theorem 1.
ACCURACY = {"c_5": 2.0, "c_6": 1.0, "c_4": math.log(2) / 4}
WITH_MORE_SAMPLES = {**ACCURACY, "c_5": 30.0}
EDGE_CELLS = edge_cells(COROLLARY_1, ACCURACY, (3, 4, 6, 10))
MORE_SAMPLES_CELLS = edge_cells(COROLLARY_1_MORE_SAMPLES, WITH_MORE_SAMPLES, (1, 2, 3, 6))


@claim(COROLLARY_1, finding=LOGARITHM, hidden=HIDDEN)
def corollary_1(statement: Statement, profile: Profile) -> Probability:
    """Clusters within a factor two: the journal version's runs, started within Delta/4."""
    return run_claim(statement, profile, (*within_a_quarter(RUN_CELLS), *EDGE_CELLS), ACCURACY)


#: pmn' = 64 d, equal clusters and a ratio of two.
FEW_SAMPLES_CELLS = edge_cells(
    COROLLARY_1_BALANCED_AS_PRINTED,
    WITH_MORE_SAMPLES,
    (1, 2),
    ((30, 26, 2, 0.25, 1.0), (30, 17, 2, 0.25, 2.0)),
)


@claim(COROLLARY_1_BALANCED_AS_PRINTED, expected=Verdict.REFUTED, finding=LOGARITHM, hidden=HIDDEN)
def corollary_1_balanced(statement: Statement, profile: Profile) -> Probability:
    """Runs of one and two stated steps, with the constants that serve where samples are many."""
    return run_claim(statement, profile, FEW_SAMPLES_CELLS, WITH_MORE_SAMPLES)


@claim(COROLLARY_1_MORE_SAMPLES, finding=LOGARITHM, hidden=HIDDEN)
def corollary_1_more_samples(statement: Statement, profile: Profile) -> Probability:
    """The printed number of steps, an integer before it is rounded in every cell."""
    return run_claim(statement, profile, MORE_SAMPLES_CELLS, WITH_MORE_SAMPLES)
