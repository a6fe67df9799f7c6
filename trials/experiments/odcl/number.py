r"""The number of clusters by silhouette and elbow, on the data of ``odcl.linear``: Appendix C.

``odcl.number`` (design 228): the K at which K-means (ten starts) has the largest silhouette score,
and the first K at which one more cluster saves less than a threshold.  The threshold is fixed
before the data are seen: :math:`4md/n`, the expected cost of the true clusters, because a feature
has variance 1/4 and the noise variance one.

* ``silhouette``, ``elbow``: the two numbers.
* ``silhouette_right``, ``elbow_right``: 1 where the number is the true one, else 0.
"""

from __future__ import annotations

import numpy as np

from trials.checks import InvalidParameter
from trials.clustering.selection import choose_k, elbow
from trials.experiments.odcl.linear import DATA, DESIGNS, draw_users
from trials.parameters import Integer
from trials.run.cell import Params
from trials.run.experiment import add_experiment, each_trial, on_faster_stream


def _one(params: Params, rng: np.random.Generator) -> list[float]:
    users = draw_users(params, rng)
    fits, k = users.fits, users.optima.shape[0]
    choice = choose_k(fits[None], params["k_max"], rng, n_init=10)
    threshold = 4.0 * params["m"] * params["d"] / params["n"]
    numbers = [float(choice.k[0]), float(elbow(choice.inertia, threshold)[0])]
    return [*numbers, *(float(number == k) for number in numbers)]


def enough_choices(cell: Params) -> None:
    """The numbers that are tried hold the true one, and no more than the users."""
    low, high = len(DESIGNS[cell["optima"]]) + 1, cell["m"]
    if not low <= cell["k_max"] <= high:
        raise InvalidParameter(f"k_max={cell['k_max']} must be from {low} to m={high}")


NUMBER = add_experiment(
    name="odcl.number",
    design=228,
    columns=("silhouette", "elbow", "silhouette_right", "elbow_right"),
    simulate=on_faster_stream(each_trial(_one)),
    parameters=DATA.extended(
        {"k_max": Integer(2, 1000, default=15, meaning="largest number that is tried")},
        enough_choices,
    ),
    block_size=8,
    cost=lambda cell: 5e-7 * cell["m"] * cell["n"] + 2e-3 * cell["k_max"],
)
