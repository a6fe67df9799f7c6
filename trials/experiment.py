"""What an experiment is: a named map from parameters and a random stream to rows of numbers.

An *experiment* owns a kernel and the columns that one trial returns.  A *cell* is a full
parameter assignment of an experiment.  A *block* is ``block_size`` consecutive trials of a cell
that share one random stream; it is the unit of work, of storage and of checksums.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Params = Mapping[str, Any]
FloatArray = NDArray[np.float64]


class InvalidParameter(ValueError):
    """A parameter outside the domain of a model, law or kernel.

    The message names the parameter, its value and the requirement, e.g.
    ``n_samples=0 must be an integer >= 1``.
    """


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
    import trials.catalogue  # noqa: F401  (registers every experiment on import)

    try:
        return _REGISTRY[name]
    except KeyError:
        known = ", ".join(sorted(_REGISTRY))
        raise InvalidParameter(f"unknown experiment {name!r}; known: {known}") from None


def experiments() -> Iterator[Experiment]:
    """All registered experiments, by name."""
    import trials.catalogue  # noqa: F401

    return iter(sorted(_REGISTRY.values(), key=lambda e: e.name))


def _plain(value: Any) -> Any:
    """A JSON value for a parameter: NumPy scalars unwrapped, tuples as lists, NaN refused."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidParameter(f"parameter value {value!r} must be finite")
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value


def canonical_json(params: Params) -> str:
    """The one spelling of a cell: sorted keys, no blanks, floats by ``repr``."""
    return json.dumps(
        {k: _plain(v) for k, v in params.items()},
        sort_keys=True,
        separators=(",", ":"),
        allow_nan=False,
    )


def cell_number(params: Params) -> int:
    """The cell's registered integer: 64 bits of the SHA-256 of its canonical spelling.

    A number that depends on the cell's content alone keeps streams the same whatever other cells
    a run holds, and in whatever order; the store refuses two cells with one number.
    """
    digest = hashlib.sha256(canonical_json(params).encode()).digest()
    return int.from_bytes(digest[:8], "big")
