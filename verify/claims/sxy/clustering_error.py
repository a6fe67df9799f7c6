r"""Lemma 2 in the share of the wrong labels: what the rows of wrongly labelled clients add.

Problem. In a round some clients have a wrong label.  How far can they move a model?

Guarantee. `bounds.sxy.refinement.LEMMA_2_SHARP`: at most s (d(theta, theta*) + sigma) times their
share of the rows, up to a constant.

Algorithm. One round of Phase 2 on drawn clients, from models at a distance of up to half of Delta
from their optima (experiment ``sxy.clustering-error``).

Computation. The stated nu of Lemma 2 is a bound of the share, through p_e and (32).  It is tens of
times the share in every cell that the lemma allows, because models near their optima give a wrong
label almost never where p_e is below one.  So `sxy.lemma2` cannot fail with C2 = 100.  Here nu is
the share that the round has.  Clients have 2 to 64 rows, and the noise grows with the root of the
rows, so that labels are wrong in every cell.  The constant is fitted in some cells and tried in
others, four times outside in every symbol.

Reference. Lemma 2, Lemma 11, Section 4.2.1.
"""

from __future__ import annotations

import math

import numpy as np

from bounds.statement import Statement
from bounds.sxy.refinement import LEMMA_2_SHARP
from trials.checks import FloatArray
from trials.experiments.sxy.refinement import CLUSTERING_ERROR
from trials.run.cell import Params
from trials.run.store import Table
from verify.claim import claim
from verify.claims.sxy.moments import MARGIN, SLACK, Range, between, sampling
from verify.procedures.base import Profile
from verify.procedures.constants import Constants


def _rounds(
    n_cells: int, clients: Range, rows: Range, d: Range, k: Range, noise: Range, near: Range
) -> tuple[Params, ...]:
    """Rounds with these sizes.  ``noise`` is sigma over Delta for four rows."""
    return tuple(
        {
            "M": round(M), "n": round(n), "d": int(dim), "k": int(clusters),
            "sigma": float(f"{level * math.sqrt(round(n) / 4):.3g}"), "near": distance,
        }
        for M, n, dim, clusters, level, distance in between(
            n_cells, clients, rows, d, k, noise, near
        )
    )  # fmt: skip


NEAR = _rounds(20, (200, 400), (2, 3.4), (4, 11), (2, 4), (2.0, 8.0), (0.05, 0.1))
FAR = (
    *_rounds(40, (200, 1600), (2, 12), (4, 41), (2, 13), (2.0, 32.0), (0.012, 0.45)),
    {"M": 1600, "n": 3, "d": 8, "k": 2, "sigma": 3.0, "near": 0.07},
    {"M": 300, "n": 12, "d": 8, "k": 2, "sigma": 3.0, "near": 0.07},
    {"M": 300, "n": 3, "d": 40, "k": 2, "sigma": 3.0, "near": 0.07},
    {"M": 300, "n": 3, "d": 8, "k": 12, "sigma": 3.0, "near": 0.07},
    {"M": 300, "n": 3, "d": 8, "k": 2, "sigma": 30.0, "near": 0.07},
    {"M": 300, "n": 3, "d": 8, "k": 2, "sigma": 3.0, "near": 0.4},
)
#: Fewer wrong labels, many more clients, rows and clusters, hardly any noise, and local steps.
ELSEWHERE: tuple[Params, ...] = (
    {"M": 400, "n": 2, "d": 6, "k": 2, "sigma": 1e-3, "near": 0.45, "start": "orthogonal"},
    {"M": 12_800, "n": 2, "d": 6, "k": 2, "sigma": 1.0},
    {"M": 200, "n": 64, "d": 6, "k": 2, "sigma": 4.0},
    {"M": 400, "n": 4, "d": 120, "k": 2, "sigma": 1.0},
    {"M": 1600, "n": 4, "d": 6, "k": 40, "sigma": 1.0},
    {"M": 400, "n": 16, "d": 6, "k": 2, "sigma": 1.0},
    {"M": 400, "n": 4, "d": 6, "k": 2, "sigma": 1.0, "s": 20, "gamma": 0.1},
    {"M": 400, "n": 4, "d": 6, "k": 2, "sigma": 1.0, "s": 100, "gamma": 0.9},
    {"M": 400, "n": 4, "d": 6, "k": 2, "sigma": 1.0, "rule": "fedprox"},
)


def symbols(cell: Params) -> dict[str, float]:
    """A cell in the statement's symbols, nu where no label is wrong."""
    full = CLUSTERING_ERROR.check(cell)
    sizes = {
        name: float(full[name]) for name in ("M", "n", "d", "k", "s", "gamma", "sigma", "Delta")
    }
    least = max(sizes["k"] * sizes["d"] / (sizes["M"] * sizes["n"]), math.exp(1.0 - sizes["n"]))
    return {**sizes, "dist": full["near"] * full["Delta"], "nu": least}


def share(table: Table, cell: Params) -> dict[str, FloatArray]:
    """The share nu of each trial, at least k d/N and e^(1-n)."""
    return {"nu": np.maximum(table["share"], symbols(cell)["nu"])}


@claim("sxy.lemma2-sharp", LEMMA_2_SHARP)
def lemma_2_sharp(statement: Statement, profile: Profile) -> Constants:
    """Shares of 1/100 to one half, noise up to a hundred times the distance of the models."""
    names = ("M", "n", "d", "k", "sigma", "near")
    return Constants(
        statement=statement,
        sampling=sampling(profile, CLUSTERING_ERROR, 24),  # 16 are hardly enough for one half
        calibration=NEAR,
        held_out=FAR,
        elsewhere=ELSEWHERE,
        values=symbols,
        regressors=lambda cell: {name: float(CLUSTERING_ERROR.check(cell)[name]) for name in names},
        statistic=lambda table, _cell: table["pull"],
        covariates=share,
        drift={**dict.fromkeys(names[:4], "up"), "sigma": "both", "near": "both"},
        tighten=("C_2",),
        slack=SLACK,
        margin=MARGIN,
        proof_constants={"C_2": 46.0},
    )
