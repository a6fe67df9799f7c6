"""Experiments on local fits of ODCL, drawn from exact laws (`trials.laws.bounded_fits`).

``odcl.coordinate-fit`` (design 220): least squares of one user on the design ``coordinates``.

* ``squared_error``: squared distance of the fit from the optimum, which is twice the excess risk.

``odcl.mean-fit`` (design 221): the mean of the fits of m users on the design ``two-point``.

* ``squared_error``: squared distance of the mean from the optimum.
"""

from __future__ import annotations

import numpy as np

from trials.checks import MAX_DRAWN, WHOLE_IN_FLOAT, FloatArray
from trials.laws.bounded_fits import coordinate_errors, line_law, two_point_errors
from trials.parameters import Integer, Parameters, Real
from trials.run.cell import Params
from trials.run.experiment import Experiment, register

_EACH_USER = 64  # users up to which every fit is drawn
_SAMPLES = Integer(1, 10**9, default=100, meaning="samples of a user")


def _simulate_fit(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    errors = coordinate_errors(
        params["n"], params["d"], params["optimum"], params["sigma"], rng, n_trials
    )
    return np.asarray((errors**2).sum(axis=1, keepdims=True))


COORDINATE_FIT = register(
    Experiment(
        name="odcl.coordinate-fit",
        design=220,
        columns=("squared_error",),
        simulate=_simulate_fit,
        parameters=Parameters(
            {
                "n": _SAMPLES,
                "d": Integer(1, MAX_DRAWN, default=10, meaning="dimension"),
                "optimum": Real(0.0, 1e6, default=1.0, meaning="norm of the optimum"),
                "sigma": Real(0.0, 1e6, default=1.0, meaning="noise level"),
            }
        ),
    )
)


def _simulate_mean(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    n, m, kappa, gradient = (params[name] for name in ("n", "m", "kappa", "gradient"))
    if m <= _EACH_USER:
        s = 2.0 * rng.binomial(n, 0.5, (n_trials, m)) / n - 1.0
        means = two_point_errors(s, kappa, 1.0, gradient).mean(axis=1)
    else:  # users with the same outcome have the same fit: only their number is drawn
        law = line_law(n, "two-point", 1.0, gradient, kappa)
        means = rng.multinomial(m, law.weights, n_trials) @ law.errors / m
    return np.asarray((means**2)[:, None])


MEAN_FIT = register(
    Experiment(
        name="odcl.mean-fit",
        design=221,
        columns=("squared_error",),
        simulate=_simulate_mean,
        parameters=Parameters(
            {
                "n": _SAMPLES,
                "m": Integer(1, WHOLE_IN_FLOAT, default=10, meaning="users of the cluster"),
                "kappa": Real(
                    0.0, 1.0, open_low=True, default=0.1,
                    meaning="smallest curvature of a loss over the largest",
                ),
                "gradient": Real(
                    0.0, 1e6, open_low=True, default=1.0, meaning="gradient at the optimum"
                ),
            }
        ),
    )
)  # fmt: skip
