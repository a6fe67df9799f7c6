r"""IFCA from several starts beside ODCL, on the same data: Remark 13 and Appendix D.3.

``odcl.starts`` (design 227): users' mean normalised squared errors, data as in ``odcl.linear``.

* ``one_shot``: ODCL-KM++ with ten starts of K-means.
* ``near``: IFCA with model averaging after T rounds, from models at ``nearest`` to ``farthest``
  separations from the optima, zero with one cluster.
* ``random``: the same from standard normal models.
* ``warm``: the same from ODCL's models, so that ODCL's round is the first of T + 1.

All are means over ``runs`` independent runs.
"""

from __future__ import annotations

import numpy as np

from trials.checks import FloatArray
from trials.clustering.kmeans import kmeans_pp
from trials.experiments.odcl.linear import IFCA, draw, group_means, losses, near_start, normalised
from trials.ifca.quadratic_rounds import quadratic_rounds
from trials.local_erm import least_squares
from trials.parameters import Integer
from trials.run.cell import Params
from trials.run.experiment import Experiment, register


def _one(params: Params, rng: np.random.Generator) -> list[float]:
    features, responses, optima, truth = draw(params, rng)
    fits = least_squares(features, responses).theta
    own, k = optima[truth], optima.shape[0]
    found = kmeans_pp(fits[None], k, rng, n_init=10)
    grams, moments = losses(features, responses, params["gradient"])
    starts = (
        near_start(params, optima, rng),
        rng.standard_normal(optima.shape),
        found.centers[0].copy(),
    )
    after = [
        quadratic_rounds(
            grams, moments, own, start, params["step"], params["local_steps"], params["T"]
        )[-1]
        for start in starts
    ]
    return [normalised(group_means(fits, found.labels[0]), own), *map(float, after)]


def simulate(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    """(n_trials, 4) rows of the experiment."""
    runs = range(params["runs"])
    return np.array([np.mean([_one(params, rng) for _ in runs], axis=0) for _ in range(n_trials)])


STARTS = register(
    Experiment(
        name="odcl.starts",
        design=227,
        columns=("one_shot", "near", "random", "warm"),
        simulate=simulate,
        parameters=IFCA.extended(
            {
                "T": Integer(1, 10**5, default=200, meaning="rounds"),
                "runs": Integer(1, 1000, default=1, meaning="runs that a trial averages"),
            }
        ),
        block_size=8,
        cost=lambda cell: cell["runs"] * (5e-7 * cell["m"] * cell["n"] + 5e-4 * cell["T"]),
    )
)
