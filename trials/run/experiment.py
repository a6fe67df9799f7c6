"""What an experiment is: a named map from parameters and a random stream to rows of numbers.

An *experiment* owns a kernel and the columns that one trial returns.  A *cell* is a full
parameter assignment of an experiment.  A *block* is ``block_size`` consecutive trials of a cell
that share one random stream; it is the unit of work, of storage and of checksums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from trials.checks import FloatArray, InvalidParameter
from trials.run.cell import Params


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A Monte Carlo experiment that the engine can run, store, resume and replay.

    Attributes
    ----------
    name : dotted identifier, e.g. ``"ifca.step"``; also the name in trial ids.
    design : registered integer, unique to the experiment and never reused: the first word of
        the spawn key of every stream.
    columns : names of the float64 values that one trial returns.
    simulate : ``(params, rng, n_trials) -> (n_trials, len(columns)) float64`` array.  A trial
        with a value that is not finite is recorded as *diverged*; it is never dropped.
    check : validates the parameters and returns them complete (defaults filled in) and
        canonical; raises `InvalidParameter` before any work starts.
    block_size : trials per block; part of the design (changing it changes the streams).
    """

    name: str
    design: int
    columns: tuple[str, ...]
    simulate: Callable[[Params, np.random.Generator, int], FloatArray]
    check: Callable[[Params], dict[str, Any]]
    block_size: int = 256


_REGISTRY: dict[str, Experiment] = {}


def register(experiment: Experiment) -> Experiment:
    """Add an experiment to the registry; its name and its design number must be new."""
    for other in _REGISTRY.values():
        if other.name == experiment.name or other.design == experiment.design:
            raise ValueError(
                f"experiment {experiment.name!r} (design {experiment.design}) clashes with "
                f"{other.name!r} (design {other.design}); names and design numbers are unique"
            )
    _REGISTRY[experiment.name] = experiment
    return experiment


def experiment(name: str) -> Experiment:
    """Return the registered experiment of that name; unknown names list the valid ones."""
    try:
        return _REGISTRY[name]
    except KeyError:
        known = ", ".join(sorted(_REGISTRY))
        raise InvalidParameter(f"unknown experiment {name!r}; known: {known}") from None


def experiments() -> Iterator[Experiment]:
    """All registered experiments, by name."""
    return iter(sorted(_REGISTRY.values(), key=lambda e: e.name))
