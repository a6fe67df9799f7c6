r"""IFCA, conference version: Theorem 1 and Corollary 1 from a start within Delta/4.

Problem, algorithm and computation as in `verify.claims.ifca.one_step` and
`verify.claims.ifca.whole_run`, with the conference version's initialisation, exponents without
closeness, and T = log(Delta/(4 epsilon)) steps.  The corrected readings take 1 + log2(Delta/(4
epsilon)) steps, with c5 = 2, or the hidden constant 10,000 in pmn' >~ d, with c5 = 30.  At the
constant 64 of all other claims the printed steps are too few.  That refutes nothing: the paper's
constant is "sufficiently large".

Reference. NeurIPS 2020, Theorem 1 and Corollary 1.
"""

from __future__ import annotations

import math
from functools import partial

from bounds.ifca import neurips as bn
from bounds.ifca.hidden import HIDDEN
from trials.run.cell import Params
from verify.claim import Deferred, row
from verify.claims.ifca.cells import (
    CALIBRATION,
    COLUMNS,
    ELSEWHERE,
    HELD_OUT,
    grid,
    with_shapes,
    within_a_quarter,
)
from verify.claims.ifca.one_step import (
    PROVED_AT,
    STEP_SIZE,
    UNEQUAL_STEPS,
    every_step_size,
    far_cells,
    floor_cells,
    three_parts,
)
from verify.claims.ifca.rounds import LOGARITHM
from verify.claims.ifca.whole_run import (
    UNEQUAL_RUNS,
    edge_cells,
    every_run,
    run_cells,
    run_claim,
)
from verify.evidence import Verdict

THEOREM_1 = (
    row(
        "ifca.neurips-thm1-as-printed",
        bn.THEOREM_1_AS_PRINTED,
        every_step_size,
        cells=UNEQUAL_STEPS,
        proved_at=PROVED_AT,
        expected=Verdict.REFUTED,
        finding=STEP_SIZE,
        hidden=HIDDEN,
    ),
    # clusters within a factor two of each other
    row(
        "ifca.neurips-thm1",
        bn.THEOREM_1,
        three_parts,
        calibration=Deferred(lambda: with_shapes(grid(COLUMNS, CALIBRATION))),
        held_out=Deferred(
            lambda: with_shapes(within_a_quarter((*grid(COLUMNS, HELD_OUT), *floor_cells())))
        ),
        elsewhere=Deferred(
            lambda: with_shapes(
                within_a_quarter(
                    (*grid(COLUMNS, ELSEWHERE), *(c for c in far_cells() if c["alpha"] >= 0.25))
                )
            )
        ),
        hidden=HIDDEN,
    ),
)

#: The conference version names the constants of the accuracy c5, c6 and takes c4 from Theorem 1.
#: The second term gets the constant zero, as in the journal version.
ACCURACY = {"c_5": 2.0, "c_6": 0.0, "c_4": math.log(2) / 4}
WITH_MORE_SAMPLES = {**ACCURACY, "c_5": 30.0}
#: Half of the largest number of steps would leave two and a half times the accuracy.
at_edge = partial(edge_cells, bn.COROLLARY_1, ACCURACY, (3, 4, 6, 10, 15))
#: Sizes far from each other: c5 = 30 leaves room for factors up to 20.
FAR_ROWS = ((10, 20_000, 2, 0.25, 1.0),)
#: So many clients for few samples that the printed number of steps is five at least.
MANY_CLIENTS = ((10_000_000, 40, 2, 0.25, 1.0),)
#: The printed number of steps, an integer before it is rounded in every cell.
_many = partial(edge_cells, bn.COROLLARY_1_MORE_SAMPLES, WITH_MORE_SAMPLES)


def with_more_samples() -> tuple[Params, ...]:
    """Runs of the printed number of steps, some of sizes far from each other."""
    return (*_many((1, 2, 3, 6)), *_many((2,), FAR_ROWS), *_many((6,), MANY_CLIENTS))


COROLLARY_1 = (
    row(
        "ifca.neurips-cor1-as-printed",
        bn.COROLLARY_1_AS_PRINTED,
        every_run,
        cells=UNEQUAL_RUNS,
        at_stated_step=False,
        expected=Verdict.REFUTED,
        finding=STEP_SIZE,
        hidden=HIDDEN,
    ),
    # the journal version's runs, started within Delta/4
    row(
        "ifca.neurips-cor1",
        bn.COROLLARY_1,
        run_claim,
        cells=Deferred(lambda: (*within_a_quarter(run_cells()), *at_edge())),
        constants=ACCURACY,
        finding=LOGARITHM,
        hidden=HIDDEN,
    ),
    row(
        "ifca.neurips-cor1-more-samples",
        bn.COROLLARY_1_MORE_SAMPLES,
        run_claim,
        cells=Deferred(with_more_samples),
        constants=WITH_MORE_SAMPLES,
        finding=LOGARITHM,
        hidden=HIDDEN,
    ),
)
