"""What each statistical claim of the paper is compared with: a run that does nothing, or why none.

`verify.procedures.placebos` says what an entry means.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from trials.experiments.odcl.one_shot import users
from trials.experiments.odcl.part_one import LADDER, cluster_labels
from trials.models.matching import overlaps
from trials.run.cell import Params
from trials.run.store import Table
from verify.procedures.base import FloatArray
from verify.procedures.placebos import Control, Entry, Placebo, with_columns


def _squared_noise(_table: Table, cell: Params) -> FloatArray:
    """The mean squared error of one local fit on the design ``coordinates``."""
    return np.asarray(cell["sigma"] ** 2 * cell["d"] / cell["n"])


def _gaussian_noise(table: Table, cell: Params) -> FloatArray:
    """Squared errors of a local fit of least squares with Gaussian features, from its exact law."""
    rng, d = np.random.default_rng(0), cell["d"]
    normal = rng.chisquare(d, table.n_trials)
    return np.asarray(
        cell["sigma"] ** 2 * normal / rng.chisquare(cell["n"] - d + 1, table.n_trials)
    )


def _overall_bias(_table: Table, cell: Params) -> FloatArray:
    """The squared distance of the mean of all optima, corners of a simplex, from the first one."""
    m, k = users(cell), cell["k"]
    shares = np.array([cell["size_k"]] * (k - 1) + [cell["size_min"]]) / m
    return np.asarray(cell["Delta"] ** 2 / 2 * ((1 - shares[0]) ** 2 + (shares[1:] ** 2).sum()))


def _start_of_sgd(_table: Table, cell: Params) -> FloatArray:
    """The squared error of the start, at the edge of the space."""
    return np.asarray(cell["R"] ** 2)


def _random_labels(table: Table, cell: Params) -> Table:
    """The shares of Part I where every user gets one of K labels at random."""
    own, foreign = _random_shares(cell["k"], cell["size_min"], cell["ratio"], table.n_trials)
    columns = {"own_share": lambda _t, _c: own, "foreign_share": lambda _t, _c: foreign}
    return with_columns(table, cell, columns)


@lru_cache(maxsize=64)
def _random_shares(k: int, size_min: int, ratio: int, n_trials: int) -> FloatArray:
    """The shares of own and of foreign users (2, n_trials), for which several claims ask."""
    rng = np.random.default_rng(0)
    labels = cluster_labels(k, size_min, ratio)
    shares = []
    for _ in range(n_trials):
        found = overlaps(rng.integers(k, size=labels.size), labels, k)
        sizes, kept = found.sum(axis=1), np.diag(found)
        shares.append(((kept / sizes).min(), ((found.sum(axis=0) - kept) / sizes).max()))
    both = np.array(shares).T
    both.setflags(write=False)  # the same array is given to every caller
    return both


def _drawn_number(table: Table, _cell: Params) -> FloatArray:
    """Whether a number between 2 and 15, drawn at random, is the true one."""
    return np.asarray(np.random.default_rng(0).random(table.n_trials) < 1 / 14, dtype=np.float64)


_SHORT_RUN = (Placebo(name="a run of thirty iterates", params=lambda cell: {**cell, "T": 30}),)
_RATE_OF_ONE = (Placebo(name="a single local fit", params=lambda cell: {**cell, "m": 1}),)
_PART_ONE = (
    Placebo(name="a clustering with random labels", table=_random_labels),
    Placebo(
        name="one cluster for all users",
        columns={
            "own_share": 0.0,
            # matched at best, it is one of the large clusters
            "foreign_share": lambda _table, cell: np.asarray(cell["k"] - 2 + 1 / cell["ratio"]),
        },
    ),
)


def _always(name: str, **columns: float) -> Placebo:
    return Placebo(name=name, columns=columns)


def _in_place(side: str, column: str, other: str | float, name: str) -> Placebo:
    return Placebo(name=name, columns={column: other}, side=side)


_LINEAR_ALONE = (
    _always("every user alone", cc_clusters=100.0, printed_clusters=100.0),
    _always("one cluster for all users", cc_clusters=1.0, printed_clusters=1.0),
)
_FOUR_FOUND = (Control(name="the true clustering", columns={"cc_clusters": 4.0}),)
_LOCAL = "local fits"
#: The normalised squared error of the zero vector.
_ZERO = 1.0
#: The largest squared distance of the ladder: the clusters are not found at any.
_NEVER = float(LADDER[-1] ** 2)
_NEIGHBOURS = (_in_place("neighbours", "neighbours", "local", _LOCAL),)

PLACEBOS: dict[str, Entry] = {
    "odcl.erm-rate": (
        Placebo(
            name="a fit of the first 10,000 samples", params=lambda cell: {**cell, "n": 10_000}
        ),
    ),
    "odcl.lemma4-rate": _RATE_OF_ONE,
    "odcl.lemma4-floor": _RATE_OF_ONE,
    "odcl.thm1-mse": (
        Placebo(name="a single local fit", columns={"error_k": _squared_noise}),
        Placebo(name="the mean of all fits", columns={"error_k": _overall_bias}),
    ),
    "odcl.thm1-rate": (Placebo(name="a single local fit", columns={"error_k": _gaussian_noise}),),
    "odcl.thm1-threshold-km": (_always("a clustering with random labels", km=0.0),),
    "odcl.thm1-threshold-cc": (_always("a penalty that is never certified", interval=0.0),),
    "odcl.cc-vs-km-runs": (_in_place("KM", "km_squared", _NEVER, "random labels"),),
    "odcl.cc-vs-km-single-users": (_in_place("CC", "cc_squared", _NEVER, "random labels"),),
    "odcl.lemma5": (
        Placebo(name="a run that stays at its start", columns={"last": _start_of_sgd}),
    ),
    "odcl.thm2-mse": _SHORT_RUN,
    "odcl.remark16": _SHORT_RUN,
    "odcl.thm3-1": _PART_ONE,
    "odcl.thm3-2": _PART_ONE,
    "odcl.thm3-exact": _PART_ONE,
    "odcl.fig2-cc": _LINEAR_ALONE,
    "odcl.fig2-interval": (
        Control(name="three times the samples", params=lambda cell: {**cell, "n": 3 * cell["n"]}),
    ),
    "odcl.averaging-factor": (
        Placebo(name="a single local fit", columns={"error_oracle": _gaussian_noise}),
    ),
    "odcl.fig2-km": (_always("a clustering with random labels", km_ten_same=0.0),),
    "odcl.fig2-order": (
        _in_place("pooled", "pooled", "local", _LOCAL),
        _in_place("averaging", "averaging", "naive", "the mean of all fits"),
        _in_place("local", "local", _ZERO, "the zero vector"),
    ),
    "odcl.table3-homogeneous": (
        Control(name="a method that matches in ten rounds", columns={"rounds": 10.0}),
        Placebo(
            name="a run that stays at its start",
            columns={"rounds": lambda _table, cell: np.asarray(float(cell["T"]))},
        ),
    ),
    "odcl.fig5-left": (_in_place("IFCA20", "round_20", _ZERO, "the zero vector"),),
    "odcl.fig5-left-small-step": (_in_place("IFCA70", "round_70", _ZERO, "the zero vector"),),
    "odcl.fig5-left-tenfold": (
        _always("the zero vector", round_120=_ZERO),
        Placebo(
            name="ODCL-CC itself", columns={"round_120": lambda table, _cell: table["one_shot"]}
        ),
    ),
    "odcl.fig5-left-rounds": (
        Control(name="a method that matches in two rounds", columns={"rounds": 2.0}),
        Placebo(
            name="a run that never matches",
            columns={"rounds": lambda _table, cell: np.asarray(cell["T"]), "matched": 0.0},
        ),
    ),
    "odcl.fig5-left-flat": (
        Control(
            name="a run whose error falls to a quarter",
            columns={"round_120": lambda table, _cell: table["round_20"] / 4},
        ),
        _always("a run that stays at the zero vector", round_20=_ZERO, round_120=_ZERO),
    ),
    "odcl.fig5-transition": _FOUR_FOUND,
    "odcl.fig5-optimal": _LINEAR_ALONE,
    "odcl.fig4-exact": _FOUR_FOUND,
    "odcl.fig4-above": _LINEAR_ALONE,
    "odcl.fig4-left-above": (Placebo(name=_LOCAL, columns={"path": "local"}),),
    "odcl.fig3-threshold": (_always("every user alone", clusters=100.0),),
    "odcl.fig3-match": (_always("every user alone", same=0.0),),
    "odcl.fig3-singletons": (Control(name="the true clustering", columns={"clusters": 4.0}),),
    "odcl.kshot": (
        _in_place("ODCL", "one_shot", _ZERO, "the zero vector"),
        Control(name="rounds that start at the average", columns={"near": "warm"}, side="zero"),
    ),
    "odcl.kshot-fifty": (_in_place("zero", "near", _ZERO, "a run that stays at its start"),),
    "odcl.kshot-warm": (_in_place("warm", "warm", "near", "the same rounds from zero"),),
    "odcl.init-sensitivity": (_in_place("near", "near", _ZERO, "the zero vector"),),
    "odcl.selection-silhouette": (
        Placebo(name="a number drawn at random", columns={"silhouette_right": _drawn_number}),
    ),
    "odcl.selection-elbow": (
        Placebo(name="a number drawn at random", columns={"elbow_right": _drawn_number}),
    ),
    "odcl.neighbours": _NEIGHBOURS,
    "odcl.neighbours-many-users": _NEIGHBOURS,
    "odcl.neighbours-overlap": (_in_place("kmeans", "km", "local", _LOCAL),),
}
