r"""IFCA with two clusters: how good the initialisation has to be.

Problem. For k = 2 the paper requires an initialisation "slightly better than random".

Guarantee. `bounds.ifca.two_clusters`: any alpha_0 > 0 is enough.  A random start misses by little.

Algorithm. Whole runs from closeness down to 0.01 in four directions (``ifca.trajectory``), and
random starting points (``ifca.random-start``, columns ``alpha``, ``Delta``).

Computation. The runs as in Corollary 1.  A random start counts as a violation when its distance
from the optima, labels free, exceeds the stated limit.

Reference. TIT 2022, abstract, Section V-A and the text after Assumption 2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bounds.ifca.hidden import HIDDEN
from bounds.ifca.two_clusters import TWO_CLUSTERS, TWO_CLUSTERS_RANDOM
from bounds.statement import Statement
from trials.experiments.ifca import start
from verify.claim import claim, row, table
from verify.claims.ifca.cells import TWO_CLUSTERS_CELLS, cell
from verify.claims.ifca.identity import RANDOM_START
from verify.claims.ifca.whole_run import run_claim
from verify.evidence import Figure, Series, Verdict
from verify.procedures.base import Observed, Presentation, Profile, Sampling
from verify.procedures.pages import of_finished
from verify.procedures.probability import Probability

#: Optima as long as Assumption 2 allows, so that the floor's 1/p is far from one over their norm.
_LONG = cell(m=100, n=100_000, d=20, k=2, rho=16.0, alpha=0.02, scale=4.0)
#: Whole runs with k = 2 and closeness down to 0.01.
SLIGHTLY_BETTER = table(
    run_claim,
    row(
        "ifca.k2-slightly-better",
        TWO_CLUSTERS,
        cells=(*TWO_CLUSTERS_CELLS, _LONG),
        finding=RANDOM_START,
        hidden=HIDDEN,
    ),
)


@claim(
    "ifca.k2-random-as-printed",
    TWO_CLUSTERS_RANDOM,
    expected=Verdict.REFUTED,
    finding=RANDOM_START,
)
def random_start(statement: Statement, profile: Profile) -> Probability:
    """Random vectors as starts, optima random of equal norm: how close do they come?"""
    return Probability(
        name=statement.id,
        sampling=Sampling(experiment=start.RANDOM_START, max_trials=min(profile.max_trials, 4096)),
        cells=tuple(
            {"k": 2, "d": d, "norm": 1.0, "centers": centers, "start": drawn}
            for d in (2, 10, 100, 1000)
            for centers, drawn in (("random", "gaussian"), ("bernoulli", "bernoulli-rescaled"))
        ),
        bad=lambda table, _params: np.asarray(
            (0.5 - table["alpha"]) * table["Delta"] > statement.bound({"Delta": table["Delta"]})
        ),
        delta=lambda _params: statement.failure_probability({}),
        event="a random start missing the ball of radius $\\Delta/2$ by more than $\\Delta/20$",
        present=of_finished(_random_start_figure),
    )


def _random_start_figure(observed: Sequence[Observed]) -> Presentation:
    series = []
    for kind, label in (("gaussian", "Gaussian"), ("bernoulli-rescaled", "Bernoulli")):
        mine = [o for o in observed if o.params["start"] == kind]
        distance = [0.5 - o.table["alpha"] for o in mine]
        series.append(
            Series(
                label=f"{label} start",
                x=[float(o.params["d"]) for o in mine],
                y=[float(np.median(x)) for x in distance],
                lower=[float(np.quantile(x, 0.05)) for x in distance],
                upper=[float(np.quantile(x, 0.95)) for x in distance],
                style="points",
            )
        )
    return Presentation(
        figures=(
            Figure(
                name="random-start",
                title="Distance of a random start from its optimum",
                xlabel="dimension $d$",
                ylabel="distance over $\\Delta$ (dimensionless)",
                xscale="log",
                yscale="log",
                series=series,
                hlines=[(0.5, "Assumption 1")],
                caption="Median and central 90 percent; labels chosen in the start's favour.",
            ),
        ),
    )
