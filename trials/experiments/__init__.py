"""The experiments that claims simulate.

Importing this package registers every experiment.
"""

from trials.experiments import gaussian
from trials.experiments.ifca import (
    data_run,
    data_step,
    identities,
    labels,
    paired,
    run_step_sizes,
    start,
    step,
    step_sizes,
    strangers,
    strongly_convex,
)
from trials.experiments.odcl import (
    coordinates,
    fits,
    inexact,
    linear,
    logistic,
    needed_distance,
    neighbours,
    number,
    one_shot,
    part_one,
    starts,
)
from trials.experiments.sxy import (
    descents,
    deviation,
    iteration,
    large,
    moments,
    refinement,
    spectrum,
    subsets,
    two_phases,
)

__all__ = [
    "coordinates",
    "data_run",
    "data_step",
    "descents",
    "deviation",
    "fits",
    "gaussian",
    "identities",
    "inexact",
    "iteration",
    "labels",
    "large",
    "linear",
    "logistic",
    "moments",
    "needed_distance",
    "neighbours",
    "number",
    "one_shot",
    "paired",
    "part_one",
    "refinement",
    "run_step_sizes",
    "spectrum",
    "start",
    "starts",
    "step",
    "step_sizes",
    "strangers",
    "strongly_convex",
    "subsets",
    "two_phases",
]
