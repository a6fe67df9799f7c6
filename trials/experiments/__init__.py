"""The experiments that claims simulate.

Importing this package registers every experiment.
"""

from trials.experiments import gaussian
from trials.experiments.ifca import data_run, data_step, labels, start, step, step_sizes, strangers

__all__ = [
    "data_run",
    "data_step",
    "gaussian",
    "labels",
    "start",
    "step",
    "step_sizes",
    "strangers",
]
