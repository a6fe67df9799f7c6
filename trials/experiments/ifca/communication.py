r"""The error of IFCA against the floats that it has sent: Section IV-C.

``ifca.communication`` (design 306): four runs on the same data and from the same start.

* ``plain``: k models for every client in every iteration.
* ``stable``: one model for a client after ``stable_after`` iterations without a change.
* ``subset``: a random half of the clients.
* ``shared``: the first ``n_shared`` coordinates, on which all optima agree, are shared.

The plain run takes T iterations.  Its floats at `CHECKPOINTS` equal parts of them are the budgets
of all four runs.  ``plain_1``, ..., ``shared_8`` are the errors of the runs that have sent as much
as possible within each budget, and ``floats_1``, ..., the budgets, over the last one.  Errors and
data are those of `trials.experiments.ifca.paired`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from trials.checks import FloatArray
from trials.experiments.ifca import paired
from trials.experiments.ifca.drawn_clients import draw_clients
from trials.ifca.options import IfcaOptions, OptionsResult, run_ifca_options
from trials.run.cell import Params
from trials.run.experiment import Experiment, each_trial, register

CHECKPOINTS = 8
RUNS = ("plain", "stable", "subset", "shared")


def _count_floats(found: OptionsResult) -> FloatArray:
    """Floats after each iteration, (T,), in both directions."""
    return np.asarray(np.cumsum(found.down[:, 0] + found.up[:, 0]), dtype=np.float64)


def _communication(params: Params, rng: np.random.Generator) -> list[float]:
    n_rounds, d, n_shared = params["T"], params["d"], params["n_shared"]
    theta_star, start = paired.partly_shared(params, rng)
    data = draw_clients(theta_star, paired.equal_sizes(params), params["n"], params["sigma"], rng)
    run: dict[str, Any] = {
        "data": data,
        "starts": start[None],
        "step_sizes": paired.step_size(params),
    }
    options = {
        "plain": IfcaOptions(),
        "stable": IfcaOptions(stable_after=params["stable_after"]),
        "subset": IfcaOptions(n_participants=max(params["m"] // 2, 1)),
        "shared": IfcaOptions(shared=np.arange(d) < n_shared),
    }
    seed = int(rng.integers(2**63))  # a longer run draws the same subsets first

    def after(name: str, n_iterations: int) -> OptionsResult:
        return run_ifca_options(
            **run, n_iterations=n_iterations, options=options[name], rng=np.random.default_rng(seed)
        )

    ends = np.array([math.ceil(n_rounds * i / CHECKPOINTS) for i in range(1, CHECKPOINTS + 1)])
    counts = {name: _count_floats(after(name, n_rounds)) for name in RUNS}
    budgets = counts["plain"][ends - 1]
    errors: list[float] = []
    for name, sent in counts.items():
        while sent[-1] < budgets[-1]:
            sent = _count_floats(after(name, 2 * len(sent)))
        affordable = np.searchsorted(sent, budgets, side="right").tolist()
        errors += [paired.error(after(name, n), theta_star) for n in affordable]
    return [*errors, *(budgets / budgets[-1]).tolist()]


COMMUNICATION = register(
    Experiment(
        name="ifca.communication",
        design=306,
        columns=tuple(f"{n}_{i}" for n in (*RUNS, "floats") for i in range(1, CHECKPOINTS + 1)),
        simulate=each_trial(_communication),
        parameters=paired.ECONOMIES.parameters,
        block_size=8,
        cost=paired.seconds(len(RUNS) * (CHECKPOINTS + 2)),
    )
)
