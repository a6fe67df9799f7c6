"""What claims simulate; importing this package registers every experiment."""

from trials.experiments import gaussian
from trials.experiments.ifca import data, labels, start, step

__all__ = ["data", "gaussian", "labels", "start", "step"]
