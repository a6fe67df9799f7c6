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
from trials.models.matching import bottleneck_distances
from trials.parameters import Integer, Options, Parameters, Real, fits_in_memory, unchecked
from trials.run.cell import Params
from trials.run.experiment import add_experiment

_MOST_DIFFERENCES = 2**18  # of coordinates that are compared at once

# A cell went through its table before: its blocks use the drivers without their checks.
_centres, _separation = unchecked(mx.random_centres), unchecked(mx.separation)
_bernoulli_vectors, _random_start = unchecked(mx.bernoulli_vectors), unchecked(mx.random_start)

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
        return _centres(_bernoulli_vectors(rng, k, d), norm=norm)
    if params["centers"] == "random":
        return _centres(rng.standard_normal((k, d)), norm=norm)
    shape: Callable[[int, int, float], FloatArray] = (
        mx.simplex if params["centers"] == "simplex" else mx.line
    )
    centres = shape(k, d, 1.0)
    return np.asarray(centres * (norm / np.linalg.norm(centres, axis=1).max()))


def _simulate_start(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    k, d = params["k"], params["d"]
    out = np.empty((n_trials, 2))
    at_once = max(1, _MOST_DIFFERENCES // (k * k * d))
    for first in range(0, n_trials, at_once):
        rows = out[first : first + at_once]
        drawn = [
            (
                _random_centres(params, rng),
                _random_start(params["start"], k, d, rng, params["norm"]),
            )
            for _ in rows
        ]
        centres, starts = (np.array(models) for models in zip(*drawn, strict=True))
        rows[:, 1] = _separation(centres)
        rows[:, 0] = 0.5 - bottleneck_distances(starts, centres[:, None]) / rows[:, 1]
    return out


RANDOM_START = add_experiment(
    name="ifca.random-start",
    design=106,
    columns=("alpha", "Delta"),
    simulate=_simulate_start,
    parameters=PARAMETERS,
)
