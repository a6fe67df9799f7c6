"""Inexact local fits of ODCL: projected SGD on a quadratic function of one variable.

``odcl.sgd`` (design 222): m users minimise :math:`f(\\theta)=\\frac h2\\theta^2` on
:math:`|\\theta|\\le R` with step 1/t from the start R, noise of size sigma added to the gradient.
The steps assume strong convexity one, and h may be larger.

* ``last``: mean over the users of the squared distance of the last iterate from the minimiser.
* ``average``: the same for the mean of the iterates with weights t (Remark 16).
* ``mean_fit``: squared distance of the users' mean last iterate.
"""

from __future__ import annotations

import numpy as np

from trials.checks import FloatArray, check_drawn
from trials.parameters import Integer, Options, Parameters, Real
from trials.run.cell import Params
from trials.run.experiment import Experiment, register


def steps_fit(cell: Params) -> None:
    """m T steps fit into memory."""
    check_drawn("steps m T", cell["m"] * cell["T"])


def _simulate(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    radius, curvature, sigma = params["R"], params["h"], params["sigma"]
    shape = (n_trials, params["m"])
    theta = np.full(shape, radius)
    average = np.zeros(shape)
    steps = params["T"]
    for t in range(1, steps + 1):
        average += t * theta
        if t == steps:  # theta is the T-th iterate
            break
        if params["noise"] == "sign":
            noise = sigma * (2.0 * rng.integers(0, 2, shape) - 1.0)
        else:
            noise = sigma * rng.standard_normal(shape)
        theta = np.clip(theta - (curvature * theta + noise) / t, -radius, radius)
    average /= steps * (steps + 1) / 2
    return np.column_stack(
        [(theta**2).mean(axis=1), (average**2).mean(axis=1), theta.mean(axis=1) ** 2]
    )


SGD = register(
    Experiment(
        name="odcl.sgd",
        design=222,
        columns=("last", "average", "mean_fit"),
        simulate=_simulate,
        parameters=Parameters(
            {
                "T": Integer(1, 10**6, default=100, meaning="iterates, the start included"),
                "m": Integer(1, 10**6, default=1, meaning="users"),
                "R": Real(0.0, 1e9, open_low=True, default=1.0, meaning="radius of the space"),
                "h": Real(1.0, 1e9, default=1.0, meaning="curvature"),
                "sigma": Real(0.0, 1e9, default=1.0, meaning="size of the noise"),
                "noise": Options(("sign", "gaussian"), default="sign", meaning="law of the noise"),
            },
            (steps_fit,),
        ),
        cost=lambda cell: 2e-8 * cell["T"] * cell["m"],
    )
)
