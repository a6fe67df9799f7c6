r"""Local fits of ODCL, drawn from exact laws (`trials.laws.bounded_fits`) and by projected SGD.

``odcl.coordinate-fit`` (design 220): least squares of one user on the design ``coordinates``.

* ``squared_error``: squared distance of the fit from the optimum, which is twice the excess risk.

``odcl.mean-fit`` (design 221): the mean of the fits of m users on the design ``two-point``.

* ``squared_error``: squared distance of the mean from the optimum.

``odcl.sgd`` (design 222): m users minimise :math:`f(\theta)=\frac h2\theta^2` on
:math:`|\theta|\le R` with step 1/t from the start R, noise of size sigma added to the gradient.
The steps assume strong convexity one, and h may be larger.

* ``last``: mean over the users of the squared distance of the last iterate from the minimiser.
* ``average``: the same for the mean of the iterates with weights t (Remark 16).
* ``mean_fit``: squared distance of the users' mean last iterate.
"""

from __future__ import annotations

import numpy as np

from trials.checks import MAX_DRAWN, WHOLE_IN_FLOAT, FloatArray
from trials.kernel import kernel
from trials.laws.bounded_fits import coordinate_errors, line_law, two_point_errors
from trials.parameters import Integer, Options, Parameters, Real, fits_in_memory
from trials.run.cell import Params
from trials.run.experiment import add_experiment

_EACH_USER = 64  # users up to which every fit is drawn
_SAMPLES = Integer(1, 10**9, default=100, meaning="samples of a user")


def _simulate_fit(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    errors = coordinate_errors(
        params["n"], params["d"], params["optimum"], params["sigma"], rng, n_trials
    )
    return np.asarray((errors**2).sum(axis=1, keepdims=True))


COORDINATE_FIT = add_experiment(
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


def _simulate_mean(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    n, m, kappa, gradient = (params[name] for name in ("n", "m", "kappa", "gradient"))
    if m <= _EACH_USER:
        s = 2.0 * rng.binomial(n, 0.5, (n_trials, m)) / n - 1.0
        means = two_point_errors(s, kappa, 1.0, gradient).mean(axis=1)
    else:  # users with the same outcome have the same fit: only their number is drawn
        law = line_law(n, "two-point", 1.0, gradient, kappa)
        means = rng.multinomial(m, law.weights, n_trials) @ law.errors / m
    return np.asarray((means**2)[:, None])


MEAN_FIT = add_experiment(
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
)  # fmt: skip


# -- projected SGD ---------------------------------------------------------------------------------


@kernel
def _descend(
    rng: np.random.Generator,
    steps: int,
    radius: float,
    curvature: float,
    sigma: float,
    signs: bool,
    theta: FloatArray,
    average: FloatArray,
) -> None:
    """Run SGD for the users ``theta`` (n,), at its start, up to the iterate number ``steps``.

    ``average`` (n,), zero, receives the sum of t times the t-th iterate.
    """
    for t in range(1, steps + 1):
        for i in range(theta.size):
            average[i] += t * theta[i]
        if t == steps:
            break
        noise = rng.integers(0, 2, theta.size if signs else 0)
        for i in range(theta.size):
            drawn = 2.0 * noise[i] - 1.0 if signs else rng.standard_normal()
            moved = theta[i] - (curvature * theta[i] + sigma * drawn) / t
            theta[i] = min(max(moved, -radius), radius)


def _simulate_sgd(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    shape = (n_trials, params["m"])
    theta, average = np.full(shape, params["R"]), np.zeros(shape)
    steps = params["T"]
    _descend(
        rng, steps, params["R"], params["h"], params["sigma"], params["noise"] == "sign",
        theta.reshape(-1), average.reshape(-1),
    )  # fmt: skip
    average /= steps * (steps + 1) / 2
    return np.column_stack(
        [(theta**2).mean(axis=1), (average**2).mean(axis=1), theta.mean(axis=1) ** 2]
    )


SGD = add_experiment(
    name="odcl.sgd",
    design=222,
    columns=("last", "average", "mean_fit"),
    simulate=_simulate_sgd,
    parameters=Parameters(
        {
            "T": Integer(1, 10**6, default=100, meaning="iterates, the start included"),
            "m": Integer(1, 10**6, default=1, meaning="users"),
            "R": Real(0.0, 1e9, open_low=True, default=1.0, meaning="radius of the space"),
            "h": Real(1.0, 1e9, default=1.0, meaning="curvature"),
            "sigma": Real(0.0, 1e9, default=1.0, meaning="size of the noise"),
            "noise": Options(("sign", "gaussian"), default="sign", meaning="law of the noise"),
        },
        (fits_in_memory("steps", "m", "T"),),
    ),
    cost=lambda cell: 2e-8 * cell["T"] * cell["m"],
)
