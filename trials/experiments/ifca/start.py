"""The experiment on random starts (106): how close to the optima they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trials.checks import (
    FloatArray,
    check_drawn,
    choice,
    integer_at_most,
    known_names,
    real,
)
from trials.experiments.ifca.geometry import (
    MAX_CLUSTERS,
    MAX_DIMENSION,
    check_geometry,
)
from trials.models import mixture as mx
from trials.models.matching import bottleneck
from trials.run.cell import Params
from trials.run.experiment import Experiment, register


def _check_start(params: Params) -> dict[str, Any]:
    known_names(params, {"k", "d", "norm", "centers", "start"})
    full: dict[str, Any] = {
        "k": integer_at_most("k", params.get("k", 2), 2, MAX_CLUSTERS),
        "d": integer_at_most("d", params.get("d", 100), 1, MAX_DIMENSION),
        "norm": real("norm", params.get("norm", 1.0), 0.0, strict=True),
        "centers": choice("centers", params.get("centers", "bernoulli"), mx.Centers),
        "start": choice("start", params.get("start", "bernoulli"), mx.Start),
    }
    check_geometry({name: full[name] for name in ("k", "d", "centers")})
    check_drawn("coordinates k d", full["k"] * full["d"])
    return full


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


RANDOM_START = register(
    Experiment(
        name="ifca.random-start",
        design=106,
        # alpha = 1/2 - min over matchings of max_j |theta_j - theta*_j| / Delta (Assumption 1 asks
        # alpha > 0), and Delta; ``norm`` is the papers' R
        columns=("alpha", "Delta"),
        simulate=_simulate_start,
        check=_check_start,
    )
)
