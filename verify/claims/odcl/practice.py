r"""ODCL in practice: more rounds than one, the start of IFCA, number of clusters, many users.

Problem. Does a second round help, how much depends on the start of IFCA, can the server find the
number of clusters, and which clustering serves 100,000 users?

Guarantee. `bounds.odcl.practice`: the sentences of Remarks 13 and 23, Appendix C and Appendix D.3.

Algorithm. IFCA with model averaging from several starts on the same data as ODCL-KM++
(experiment ``odcl.starts``); K-means for every number of clusters (``odcl.number``); convex
clustering with weights between nearest neighbours (``odcl.neighbours``).

Computation. Signs of differences of errors, and shares of runs.

Reference. Armacki et al. 2024, Remarks 13 and 23, Appendices C and D.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bounds.odcl import practice as bp
from bounds.statement import Statement
from trials.experiments.odcl.linear import STARTS
from trials.experiments.odcl.neighbours import NEIGHBOURS
from trials.experiments.odcl.number import NUMBER
from trials.run.cell import Params
from verify.claim import Finding, row
from verify.claims.odcl.experiments import share, smaller_error
from verify.claims.odcl.pages import many_users
from verify.decisions.means import Knowledge
from verify.procedures.base import Profile, Sampling
from verify.procedures.comparison import Comparison

ANY_ALGORITHM = Finding(
    id="odcl-remark13",
    where="Remark 13",
    printed="Our algorithm can not be directly extended to K-shot. Consider any algorithm ran for "
    "$K$ communication rounds. K-shot generalizes sub-optimally, as the training is interrupted.",
    found="Average the local fits in the first round, and make local steps from there in the "
    "others: the error is below that of one-shot averaging, after one more round already. "
    "Training from a fixed start is interrupted too early after 2 and 10 rounds, and not after 50 "
    "with the steps .05 and .1.",
    corrected="An algorithm that starts from a fixed model is sub-optimal after few rounds.",
    severity="strong",
)


def signs(
    statement: Statement,
    profile: Profile,
    *,
    cells: Sequence[Params],
    columns: dict[str, str],
    max_trials: int,
) -> Comparison:
    """Which error is smaller in most trials, of IFCA from several starts and of ODCL-KM++."""
    sampling = Sampling(experiment=STARTS, max_trials=max_trials, first=16)
    return smaller_error(statement, profile, sampling=sampling, cells=cells, columns=columns)


def _one(rounds: tuple[int, ...], steps: tuple[float, ...], n: int) -> tuple[Params, ...]:
    """One cluster, local steps on half of the mean squared residual."""
    return tuple({"optima": "one", "n": n, "T": T, "step": step} for T in rounds for step in steps)


ROUNDS = (
    row(
        "odcl.kshot",
        bp.K_SHOT,
        signs,
        cells=[
            cell
            for n in (100, 400)
            for cell in _one((2, 10), (0.01, 0.05, 0.1), n) + _one((50,), (0.01,), n)
        ],
        columns={"ODCL": "one_shot", "zero": "near"},
        max_trials=128,
        finding=ANY_ALGORITHM,
    ),
    row(
        "odcl.kshot-fifty",
        bp.K_SHOT_FIFTY,
        signs,
        cells=_one((50,), (0.05, 0.1), 100),
        columns={"ODCL": "one_shot", "zero": "near"},
        max_trials=256,
        finding=ANY_ALGORITHM,
    ),
    row(
        "odcl.kshot-warm",
        bp.K_SHOT_WARM,
        signs,
        cells=[cell for n in (100, 400) for cell in _one((1, 9, 49), (0.01,), n)],
        columns={"ODCL": "one_shot", "warm": "warm"},
        max_trials=256,
        finding=ANY_ALGORITHM,
    ),
    row(
        "odcl.init-sensitivity",
        bp.INIT_SENSITIVITY,
        signs,
        # the largest step of the figure, until both starts have settled
        cells=[
            {
                "optima": "four",
                "n": n,
                "T": 60,
                "runs": 10,
                "step": 0.1,
                "gradient": 2.0,
                "nearest": 0.2,
                "farthest": 1 / 3,
            }
            for n in (400, 600)
        ],
        columns={"near": "near", "random": "random"},
        max_trials=64,
        smallest_profile="standard",
        why_not_smaller="its trials run IFCA many times",
    ),
)
#: Ten clusters of Section 5 and four of Appendix D.2, up to fifteen tried.
_NUMBERS: dict[str, Any] = {
    "sampling": Sampling(experiment=NUMBER, max_trials=256, first=32),
    "cells": [
        {"optima": optima, "m": 100, "d": 20, "n": n}
        for optima in ("ten", "four")
        for n in (100, 400)
    ],
}
NUMBER_OF_CLUSTERS = (
    row(
        "odcl.selection-silhouette",
        bp.SILHOUETTE,
        share,
        happens="silhouette_right",
        event="the silhouette score finding the number of clusters",
        **_NUMBERS,
    ),
    row(
        "odcl.selection-elbow",
        bp.ELBOW,
        share,
        happens="elbow_right",
        event="the elbow method finding the number of clusters",
        **_NUMBERS,
    ),
)


def with_neighbours(
    statement: Statement, _profile: Profile, *, cells: Sequence[Params], max_trials: int
) -> Comparison:
    """Which of the one-shot methods has the smaller error in most trials."""
    return Comparison(
        statement=statement,
        sampling=Sampling(experiment=NEIGHBOURS, max_trials=max_trials, first=16),
        cells=tuple(cells),
        columns={
            "neighbours": "neighbours",
            "uniform": "uniform",
            "asked": "asked",
            "kmeans": "km",
        },
        knowledge=lambda _cell: Knowledge(low=0.0),
        unit="squared error",
        scale="sign",
        present=many_users,
    )


#: Five clusters, equal ones or a small one, and a subsample.  With 25 samples the fits overlap.
MANY_USERS = (
    row(
        "odcl.neighbours",
        bp.NEIGHBOURS,
        with_neighbours,
        cells=[
            {"m": 500, "sample": 50, "n": n, "size_min": least}
            for n in (25, 100, 800)
            for least in (100, 20)
        ],
        max_trials=64,
    ),
    row(
        "odcl.neighbours-many-users",
        bp.NEIGHBOURS_MANY,
        with_neighbours,
        cells=[
            {"m": 10**5, "sample": 400, "n": n, "size_min": least}
            for n in (200, 800)
            for least in (20_000, 100)
        ],
        max_trials=16,
        smallest_profile="full",
        why_not_smaller="a trial clusters 100,000 users, which takes half a minute",
    ),
    row(
        "odcl.neighbours-overlap",
        bp.NEIGHBOURS_OVERLAP,
        with_neighbours,
        cells=({"m": 500, "sample": 50, "n": 12, "size_min": 100},),
        max_trials=64,
    ),
)
