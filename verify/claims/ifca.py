r"""IFCA on the linear model: every statement of `bounds.ifca.linear` and `bounds.ifca.neurips` as
a claim.

Cells are fixed before any trial (`verify.claims.ifca_cells`).  What is tried on them, and what
counts as a violation: the deterministic steps of the proofs in `ifca_lemmas`, those about random
data in `ifca_steps`, Theorem 1 in `ifca_theorem`, whole runs in `ifca_corollary`.
"""

from __future__ import annotations

import math
from functools import partial

from bounds.ifca import linear as ifca
from bounds.ifca import neurips as ifca_neurips
from verify.claim import Claim
from verify.claims import ifca_lemmas as lemmas
from verify.claims.ifca_cells import (
    AT_OPTIMUM,
    CALIBRATION,
    COLUMNS,
    CONFERENCE_ELSEWHERE,
    ELSEWHERE,
    HELD_OUT,
    HIDDEN,
    OWN_CALIBRATION,
    OWN_COLUMNS,
    OWN_ELSEWHERE,
    OWN_HELD_OUT,
    grid,
    scattered,
    with_shapes,
)
from verify.claims.ifca_corollary import (
    CONFERENCE_ACCURACY,
    RUN_ROWS,
    minimax,
    monotone,
    near_optimal,
    random_start,
    slow_start,
    stays,
    two_clusters_cells,
    whole_run,
    whole_run_as_printed,
)
from verify.claims.ifca_steps import (
    EQ_4_SAMPLES,
    eq_4,
    eq_5,
    eq_5_as_printed,
    eq_7,
    eq_8,
    lemma_2_opnorm,
    pairwise_law,
)
from verify.claims.ifca_theorem import DRIFT, contraction, every_step_size, floor_rate, one_step
from verify.decisions.constants import Direction
from verify.evidence import Verdict


def claims() -> list[Claim]:
    """IFCA's claims, in the papers' order."""
    refuted = Verdict.REFUTED
    run_cells = with_shapes((*grid(COLUMNS, RUN_ROWS), *scattered(8, COLUMNS, (0.02, 0.49))))
    conference_cells = tuple({**c, "alpha": max(c["alpha"], 0.25)} for c in run_cells)
    floor_cells = scattered(32, COLUMNS, (AT_OPTIMUM, AT_OPTIMUM))
    far_cells = scattered(16, COLUMNS, (1e-3, 0.49))
    near_cells = tuple(c for c in far_cells if c["alpha"] >= 0.25)
    own = {"profile": "one-small", "step_rule": "c/p_j"}
    on_cells = partial(Claim, hidden=HIDDEN)
    own_drift: dict[str, Direction] = {**DRIFT, "p": "down"}
    return [
        Claim(statement=ifca.LEMMA_1, build=lemmas.lemma_1),
        Claim(statement=ifca.LEMMA_1_UNION, build=lemmas.lemma_1_union),
        Claim(statement=ifca.LEMMA_1_SHARP, build=lemmas.lemma_1_sharp),
        Claim(statement=ifca.PAIRWISE_LAW, build=pairwise_law),
        Claim(statement=ifca.BETTER_THAN_GUESSING, build=lemmas.better_than_guessing),
        Claim(statement=ifca.LEMMA_1_INIT, build=lemmas.lemma_1_init, expected=refuted),
        Claim(statement=ifca.EQ_16, build=lemmas.eq_16),
        Claim(statement=ifca.EQ_17, build=lemmas.eq_17),
        Claim(statement=ifca.LEMMA_2_OPNORM, build=lemma_2_opnorm),
        Claim(statement=ifca.LEMMA_2_NOISE, build=lemmas.lemma_2_noise),
        Claim(
            statement=ifca.EQ_2_AS_PRINTED,
            build=lemmas.eq_2(ifca.EQ_2_AS_PRINTED),
            expected=refuted,
        ),
        Claim(statement=ifca.EQ_2, build=lemmas.eq_2(ifca.EQ_2)),
        Claim(statement=ifca.HALF_CORRECT, build=lemmas.half_correct),
        Claim(statement=ifca.EQ_3, build=lemmas.eq_3),
        Claim(statement=ifca.EQ_4, build=eq_4, hidden={"C_N": EQ_4_SAMPLES}),
        on_cells(statement=ifca.EQ_5_AS_PRINTED, build=eq_5_as_printed, expected=refuted),
        on_cells(statement=ifca.EQ_5, build=eq_5),
        Claim(statement=ifca.EQ_7, build=eq_7),
        on_cells(statement=ifca.EQ_8, build=eq_8),
        Claim(statement=ifca.EQ_10, build=lemmas.eq_10),
        Claim(statement=ifca.EQ_12, build=lemmas.eq_12),
        Claim(statement=ifca.POLY_M, build=lemmas.poly_m),
        on_cells(
            statement=ifca.THEOREM_1_AS_PRINTED,
            build=every_step_size(ifca.THEOREM_1_AS_PRINTED, 0.25),
            expected=refuted,
        ),
        on_cells(
            statement=ifca.THEOREM_1,
            build=one_step(
                ifca.THEOREM_1,
                with_shapes(grid(COLUMNS, CALIBRATION)),
                with_shapes((*grid(COLUMNS, HELD_OUT), *floor_cells)),
                with_shapes((*grid(COLUMNS, ELSEWHERE), *far_cells)),
            ),
        ),
        on_cells(
            statement=ifca.THEOREM_1_OWN_STEP,
            build=one_step(
                ifca.THEOREM_1_OWN_STEP,
                grid(OWN_COLUMNS, OWN_CALIBRATION, **own),
                (
                    *grid(OWN_COLUMNS, OWN_HELD_OUT, **own),
                    *scattered(32, OWN_COLUMNS, (AT_OPTIMUM, AT_OPTIMUM)),
                ),
                (
                    *grid(OWN_COLUMNS, OWN_ELSEWHERE, **own),
                    *scattered(16, OWN_COLUMNS, (1e-3, 0.49)),
                ),
                own_drift,
            ),
        ),
        on_cells(statement=ifca.CONTRACTION_RATE, build=contraction),
        on_cells(statement=ifca.FLOOR_RATE, build=floor_rate),
        on_cells(
            statement=ifca.COROLLARY_1_AS_PRINTED,
            build=whole_run_as_printed(ifca.COROLLARY_1_AS_PRINTED, 0.25),
            expected=refuted,
        ),
        on_cells(statement=ifca.COROLLARY_1, build=whole_run(ifca.COROLLARY_1, run_cells)),
        on_cells(
            statement=ifca.COROLLARY_1_OWN_STEP,
            build=whole_run(ifca.COROLLARY_1_OWN_STEP, scattered(16, OWN_COLUMNS, (0.02, 0.49))),
        ),
        Claim(
            statement=ifca.COROLLARY_1_ROUNDS_AS_PRINTED,
            build=lemmas.rounds(ifca.COROLLARY_1_ROUNDS_AS_PRINTED, math.e),
            expected=refuted,
        ),
        Claim(statement=ifca.COROLLARY_1_ROUNDS, build=lemmas.rounds(ifca.COROLLARY_1_ROUNDS, 2.0)),
        Claim(statement=ifca.COROLLARY_1_BURN_IN, build=lemmas.burn_in),
        on_cells(
            statement=ifca.CLOSENESS_INCREASES_AS_PRINTED,
            build=monotone(ifca.CLOSENESS_INCREASES_AS_PRINTED, 0.0),
            expected=refuted,
        ),
        on_cells(statement=ifca.CLOSENESS_STAYS, build=stays),
        on_cells(statement=ifca.SLOW_START, build=slow_start, expected=refuted),
        on_cells(statement=ifca.CLOSENESS_INCREASES, build=monotone(ifca.CLOSENESS_INCREASES, 2.0)),
        Claim(statement=ifca.MINIMAX, build=minimax),
        on_cells(statement=ifca.NEAR_OPTIMAL, build=near_optimal),
        on_cells(
            statement=ifca.TWO_CLUSTERS,
            build=whole_run(ifca.TWO_CLUSTERS, tuple(two_clusters_cells())),
        ),
        Claim(statement=ifca.TWO_CLUSTERS_RANDOM, build=random_start, expected=refuted),
        on_cells(
            statement=ifca_neurips.THEOREM_1_AS_PRINTED,
            build=every_step_size(ifca_neurips.THEOREM_1_AS_PRINTED, 0.25),
            expected=refuted,
        ),
        on_cells(
            statement=ifca_neurips.THEOREM_1,
            build=one_step(
                ifca_neurips.THEOREM_1,
                with_shapes(grid(COLUMNS, CALIBRATION)),
                with_shapes((*grid(COLUMNS, HELD_OUT), *floor_cells)),
                with_shapes((*grid(COLUMNS, CONFERENCE_ELSEWHERE), *near_cells)),
            ),
        ),
        on_cells(
            statement=ifca_neurips.COROLLARY_1_AS_PRINTED,
            build=whole_run_as_printed(ifca_neurips.COROLLARY_1_AS_PRINTED, 0.25),
            expected=refuted,
        ),
        on_cells(
            statement=ifca_neurips.COROLLARY_1,
            build=whole_run(ifca_neurips.COROLLARY_1, conference_cells, CONFERENCE_ACCURACY),
        ),
    ]
