"""The experiment on random starts: how close to the centres they are.

``ifca.random-start`` (design 106).  Its parameter ``norm`` is the papers' R.

* ``alpha``: 1/2 minus the smallest possible largest distance of a model from the centre that it is
  matched with, over Delta.  Assumption 1 requires alpha > 0.
* ``Delta``: the smallest distance of two centres.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import numpy as np

from trials.checks import FloatArray
from trials.experiments.ifca.geometry import MAX_CLUSTERS, MAX_DIMENSION, centres_fit
from trials.models import mixture as mx
from trials.models.matching import bottleneck
from trials.parameters import Integer, Options, Parameters, Real, fits_in_memory
from trials.run.cell import Params
from trials.run.experiment import add_experiment

PARAMETERS = Parameters(
    {
        "k": Integer(2, MAX_CLUSTERS, default=2, meaning="clusters"),
        "d": Integer(1, MAX_DIMENSION, default=100, meaning="dimension"),
        "norm": Real(0.0, open_low=True, default=1.0, meaning="norm R of the centres"),
        "centers": Options(
            get_args(mx.Centers), default="bernoulli", meaning="shape of the centres"
        ),
        "start": Options(get_args(mx.Start), default="bernoulli", meaning="law of the start"),
    },
    (centres_fit, fits_in_memory("coordinates", "k", "d")),
)


def _random_centres(params: Params, rng: np.random.Generator) -> FloatArray:
    k, d, norm = params["k"], params["d"], params["norm"]
    if params["centers"] == "bernoulli":
        return mx.random_centres(mx.bernoulli_vectors(rng, k, d), norm=norm)
    if params["centers"] == "random":
        return mx.random_centres(mx.gaussian_vectors(rng, (k,), d), norm=norm)
    shape: Callable[[int, int, float], FloatArray] = (
        mx.simplex if params["centers"] == "simplex" else mx.line
    )
    centres = shape(k, d, 1.0)
    return np.asarray(centres * (norm / np.linalg.norm(centres, axis=1).max()))


def _simulate_start(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    out = np.empty((n_trials, 2))
    for trial in range(n_trials):
        centres = _random_centres(params, rng)
        start = mx.random_start(params["start"], params["k"], params["d"], rng, params["norm"])
        distances = np.linalg.norm(start[:, None] - centres[None], axis=-1)
        delta = float(mx.separation(centres))
        out[trial] = 0.5 - bottleneck(distances) / delta, delta
    return out


RANDOM_START = add_experiment(
    name="ifca.random-start",
    design=106,
    columns=("alpha", "Delta"),
    simulate=_simulate_start,
    parameters=PARAMETERS,
)
