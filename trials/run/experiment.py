"""Experiments: named maps from parameters and a random stream to rows of numbers.

An *experiment* owns a kernel and the columns that one trial returns.  A *cell* is a full parameter
assignment of an experiment.  A *block* is ``block_size`` consecutive trials of a cell that share
one random stream.  It is the unit of work, of storage and of checksums.
"""

from __future__ import annotations

import functools
import hashlib
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ParamSpec

import numpy as np

from trials.checks import FloatArray, InvalidParameter, integer_between, require_open
from trials.parameters import Parameters
from trials.run.cell import Params
from trials.run.streams import faster_stream

#: Experiments outside this package take design numbers from here to ``MAX_DESIGN``.
USER_DESIGNS = 1 << 31
MAX_DESIGN = (1 << 32) - 1
MAX_BLOCK_SIZE = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


P = ParamSpec("P")
Simulate = Callable[[Params, np.random.Generator, int], FloatArray]


class SomeTrialsRaised(Exception):
    """Some trials of a block raised, and others did not.

    Attributes
    ----------
    values : (n_trials, columns), NaN in the rows of the trials that raised.
    errors : what each of these trials raised, by row.
    """

    def __init__(self, values: FloatArray, errors: dict[int, Exception | SystemExit]) -> None:
        first = next(iter(errors.values()))
        super().__init__(f"{len(errors)} of {len(values)} trials raised, the first one {first!r}")
        self.values = values
        self.errors = errors


def each_trial(
    one: Callable[[Params, np.random.Generator], Sequence[float] | FloatArray],
) -> Simulate:
    """The simulation (n_trials, columns) of an experiment whose trials are drawn one by one.

    ``one(params, rng)`` returns the values of one trial, in the order of the columns.  A trial that
    raises fails alone: the simulation raises `SomeTrialsRaised`, which holds the others.  Where
    all raise it raises what the first one did.
    """

    @functools.wraps(one)  # errors and workers name the module of the experiment
    def simulate(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
        drawn: dict[int, FloatArray] = {}
        errors: dict[int, Exception | SystemExit] = {}
        for row in range(n_trials):
            try:
                found = one(params, rng)
                require_open("a trial", found)
                values = np.asarray(found)
                drawn[row] = values.astype(np.float64) if values.dtype.kind in "biu" else values
            except (MemoryError, OSError):  # the machine failed, and no trial
                raise
            except (Exception, SystemExit) as error:
                errors[row] = error
        if not errors:
            return np.array([*drawn.values()])
        if not drawn:
            raise errors[0]
        lost = np.full(np.shape(next(iter(drawn.values()))), np.nan)
        raise SomeTrialsRaised(np.array([drawn.get(row, lost) for row in range(n_trials)]), errors)

    return simulate


def on_faster_stream(simulate: Simulate) -> Simulate:
    """The same simulation on the numbers of `trials.run.streams.faster_stream`."""

    @functools.wraps(simulate)  # errors and workers name the module of the experiment
    def simulate_faster(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
        return simulate(params, faster_stream(rng), n_trials)

    return simulate_faster


def _no_check(params: Params) -> dict[str, Any]:
    raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A Monte Carlo experiment that the engine can run, store, resume and replay.

    Attributes
    ----------
    name : dotted identifier, e.g. ``"ifca.step"``, also used in trial ids.
    design : registered integer, unique to the experiment and never reused.  It is the first word of
        the spawn key of every stream.  Experiments of this package have numbers below 2**31.  Your
        own experiments take one from 2**31 to 2**32 - 1.  `user_design` gives one for a name.
    columns : names of the float64 values that one trial returns.
    simulate : ``(params, rng, n_trials) -> (n_trials, len(columns)) float64`` array.  A trial with
        a value that is not finite is recorded as *diverged* and never dropped.
    parameters : the table of its parameters with domains, defaults and meanings, or None where only
        ``check`` is given.
    check : validates the parameters, fills in defaults and returns them in their canonical form.
        It raises `InvalidParameter` before any work starts.  By default it is the table's check.
    block_size : trials per block.  It is part of the design, because changing it changes the
        streams.  1 to 8 where a trial draws data and takes a second, 256 where it takes
        microseconds.
    cost : ``params -> `` estimated CPU seconds of one trial.  It decides how many trials a claim's
        budget of seconds holds (`verify.procedures.base.Profile.sampling`), which blocks come
        first, and how blocks are grouped for workers.  It never affects their content.  Without it
        trials alone limit a claim, and the grouping follows measured times.
    measured : columns that measure the machine, such as CPU seconds.  A replay does not compare
        them.

    Raises
    ------
    InvalidParameter : When a value is outside its range.
    """

    name: str
    design: int
    columns: tuple[str, ...]
    simulate: Simulate
    parameters: Parameters | None = None
    check: Callable[[Params], dict[str, Any]] = _no_check
    block_size: int = 256
    cost: Callable[[Params], float] | None = None
    measured: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise InvalidParameter(
                f"experiment name {self.name!r:.120} must be 1 to 100 letters, digits, '.', '_' "
                "or '-', without '.' or '-' at its start"
            )
        where = f"experiment {self.name!r}: "
        for what, value, low, high in (
            ("design", self.design, 0, MAX_DESIGN),
            ("block_size", self.block_size, 1, MAX_BLOCK_SIZE),
        ):
            object.__setattr__(self, what, integer_between(f"{where}{what}", value, low, high))
        columns = self.columns
        named = isinstance(columns, tuple) and all(isinstance(c, str) and c for c in columns)
        if not named or not columns or len(set(columns)) != len(columns):
            raise InvalidParameter(
                f"{where}columns={columns!r:.120} must be a tuple of different, non-empty names"
            )
        if not set(self.measured) <= set(columns):
            raise InvalidParameter(f"{where}measured={self.measured!r:.120} must be columns")
        for what, function in (("simulate", self.simulate), ("check", self.check)):
            if not callable(function):
                raise InvalidParameter(f"{where}{what}={function!r:.60} must be a function")
        if self.cost is not None and not callable(self.cost):
            raise InvalidParameter(f"{where}cost={self.cost!r:.60} must be a function or None")
        if self.check is _no_check:
            if self.parameters is None:
                raise InvalidParameter(f"{where}it must have parameters or a check")
            object.__setattr__(self, "check", self.parameters.check)


_REGISTRY: dict[str, Experiment] = {}
_MODULES: dict[str, str] = {}


def user_design(name: str) -> int:
    """Return a design number for an experiment of your own: 31 bits of the name's SHA-256.

    Examples
    --------
    >>> user_design("mypaper.step") >= USER_DESIGNS
    True
    """
    return USER_DESIGNS + int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") // 2


def register(experiment: Experiment, *, module: str | None = None) -> Experiment:
    """Add an experiment to the registry and return it.

    Parameters
    ----------
    experiment : its name and its design number must be new.
    module : the module whose import registers it, by default the caller's.  A worker imports that
        module to have the experiment.

    Raises
    ------
    InvalidParameter : When the name or the design number is taken, or when an experiment of another
        package has a design number below 2**31.
    """
    if module is None:
        module = str(sys._getframe(1).f_globals.get("__name__", "__main__"))
    for other in _REGISTRY.values():
        if other.name == experiment.name or other.design == experiment.design:
            raise InvalidParameter(
                f"experiment {experiment.name!r} (design {experiment.design}, module {module}) "
                f"clashes with {other.name!r} (design {other.design}, module "
                f"{_MODULES[other.name]}); names and design numbers are unique"
            )
    if experiment.design < USER_DESIGNS and module.partition(".")[0] != "trials":
        raise InvalidParameter(
            f"experiment {experiment.name!r}: design={experiment.design} must be at least 2**31 "
            "outside the package trials; "
            f"trials.run.experiment.user_design({experiment.name!r}) gives "
            f"{user_design(experiment.name)}"
        )
    _REGISTRY[experiment.name] = experiment
    _MODULES[experiment.name] = module
    return experiment


def _add(make: Callable[P, Experiment]) -> Callable[P, Experiment]:
    def add(*args: P.args, **fields: P.kwargs) -> Experiment:
        """Make an experiment from its fields, and `register` it for the calling module."""
        module = str(sys._getframe(1).f_globals.get("__name__", "__main__"))
        return register(make(*args, **fields), module=module)

    return add


#: ``add_experiment(name=..., ...)`` is ``register(Experiment(name=..., ...))``.
add_experiment = _add(Experiment)


def experiment(name: str) -> Experiment:
    """Return the registered experiment of that name.

    The error for an unknown name lists the valid ones.
    """
    try:
        return _REGISTRY[name]
    except (KeyError, TypeError):
        known = ", ".join(sorted(_REGISTRY))
        raise InvalidParameter(f"unknown experiment {name!r:.120}; known: {known}") from None


def is_registered(experiment: Experiment) -> bool:
    """Whether this very experiment, and not another one of its name, is in the registry."""
    return _REGISTRY.get(experiment.name) is experiment


def module_of(experiment: Experiment) -> str:
    """Return the name of the module whose import registers the experiment.

    If the experiment is not registered, it is the module of its `simulate`.
    """
    if is_registered(experiment):
        return _MODULES[experiment.name]
    return str(getattr(experiment.simulate, "__module__", None) or type(experiment).__module__)


def experiments() -> Iterator[Experiment]:
    """All registered experiments, by name."""
    return iter(sorted(_REGISTRY.values(), key=lambda e: e.name))


@contextmanager
def all_or_nothing() -> Iterator[None]:
    """Take back the registrations of the body when it raises."""
    before = set(_REGISTRY)
    try:
        yield
    except BaseException:
        for name in set(_REGISTRY) - before:
            del _REGISTRY[name]
            _MODULES.pop(name, None)
        raise
