"""Records of the experiments: a few trials of small cells.

The cells are chosen when the records are written, and kept beside the trials: cells of the claims,
and the defaults with one parameter at another option or at an end of its domain.  Cells that take
long are left out.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

import trials.experiments  # noqa: F401  (registers every experiment)
from tests.records.values import plain, told
from trials.checks import InvalidParameter
from trials.parameters import Integer, Options, Parameter, Real
from trials.run.cell import Params
from trials.run.experiment import Experiment, experiment, experiments, module_of

KIND = "experiments"
N_TRIALS = 3
#: Cells of one experiment, at most, and the CPU seconds of one and of all of them.
MOST, LONGEST, TOGETHER = 12, 0.06, 0.25
#: Declared seconds of a trial above which a cell is not tried at all.
DEAR = 0.1
#: CPU seconds after which no further cells of an experiment are tried.
PATIENCE = 15.0
#: Cells of the claims that are tried, the smallest first.
OF_CLAIMS = 40
#: Sizes with which a trial takes milliseconds.
SMALL: dict[str, Any] = {
    "m": 12, "n": 8, "d": 5, "M": 8, "N": 12, "T": 6, "n_iterations": 4, "n_starts": 2,
    "step_sizes": [0.3, 0.6], "local_steps": 2, "sample": 8, "size_min": 2, "size": 3, "runs": 2,
}  # fmt: skip
#: The same where other sizes are needed.
SMALLER: dict[str, dict[str, Any]] = {
    "ifca.communication": {"T": 2, "m": 6},
    "odcl.neighbours": {"m": 24, "n": 12, "k": 3},
    "odcl.logistic": {"n": 20, "ridge": 0.1},
    "odcl.needed-distance": {"k": 2, "d": 2},
    "odcl.rounds": {"m": 20, "n": 20},
}


def names() -> list[str]:
    """The experiments that are shipped."""
    return [e.name for e in experiments() if module_of(e).startswith("trials.experiments.")]


def again(name: str, recorded: Mapping[str, Any]) -> dict[str, Any]:
    """The recorded cells, simulated again."""
    found = {}
    for i, each in recorded.items():
        found[i] = {"cell": each["cell"], "trials": trials_of(experiment(name), each["cell"])}
    return found


def trials_of(of: Experiment, cell: Params, n_trials: int = N_TRIALS) -> Any:
    """Column -> its values in the trials of a cell."""
    try:
        rows = rows_of(of, cell, n_trials)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
        return told(error)
    return plain(dict(zip(of.columns, rows.T, strict=True)))


def rows_of(of: Experiment, cell: Params, n_trials: int) -> np.ndarray:
    """Trials of a cell, (n_trials, columns), of a fixed stream."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        full = of.check(cell)
        return np.asarray(of.simulate(full, np.random.Generator(np.random.Philox(7)), n_trials))


# -- the choice of cells ---------------------------------------------------------------------------


def fresh(name: str, recorded: Mapping[str, Any]) -> dict[str, Any]:
    """The cells of an experiment and their trials.  Cells are chosen where there are none."""
    of = experiment(name)
    if recorded and all(accepts(of, each["cell"]) for each in recorded.values()):
        return again(name, recorded)
    cells, spent = [], 0.0
    for cell in by_novelty(list(affordable(of, candidates(of)))):
        seconds = seconds_of(of, cell)
        if spent + seconds <= TOGETHER or len(cells) < 2:
            cells.append(cell)
            spent += seconds
        if len(cells) == MOST:
            break
    return again(name, {f"{i:02}": {"cell": cell} for i, cell in enumerate(cells)})


def accepts(of: Experiment, cell: Params) -> bool:
    """Whether a cell is one of the experiment's today."""
    try:
        return bool(of.check(cell))
    except InvalidParameter:
        return False


def candidates(of: Experiment) -> Iterator[Params]:
    """Cells of the claims, the defaults, and the ends of each parameter's domain."""
    entries = of.parameters.entries if of.parameters else {}
    own = sorted((dict(cell) for cell in cells_of_claims().get(of.name, ())), key=size)
    small = {**SMALL, **SMALLER.get(of.name, {})}
    small = {name: value for name, value in small.items() if name in entries}
    bases = [small, {n: v for n, v in small.items() if n in ("N", "d")}, *own[:2]]
    for base in bases:
        yield base
        for name, parameter in entries.items():
            for value in values(parameter, base.get(name)):
                yield {**base, name: value}
    yield from own[:OF_CLAIMS]


def values(parameter: Parameter, at: Any) -> Iterator[Any]:
    """Other values of a parameter: each option, the ends, and values beside the given one."""
    if isinstance(parameter, Options):
        yield from parameter.options
    elif isinstance(parameter, Integer):
        yield from (parameter.low, parameter.low + 1, parameter.low + 2)
        if isinstance(at, int):
            yield at + 1
    elif isinstance(parameter, Real):
        yield from (v for v in (parameter.low, parameter.high) if math.isfinite(v) and abs(v) < 1e6)
        yield from (v for v in (0.3, 1.7) if parameter.low < v <= parameter.high)


def size(cell: Params) -> float:
    """The product of the cell's integers: small cells are cheap."""
    return math.prod(v for v in cell.values() if isinstance(v, int) and v > 1)


def affordable(of: Experiment, cells: Sequence[Params] | Iterator[Params]) -> Iterator[Params]:
    """The complete cells that are inside the domain and take little time, each once."""
    seen: set[str] = set()
    slow: dict[float, int] = {}
    end = time.process_time() + PATIENCE
    for cell in cells:
        if time.process_time() > end:
            return
        try:
            full = of.check(cell)
        except InvalidParameter:
            continue
        if (key := repr(sorted(full.items()))) in seen:
            continue
        seen.add(key)
        if of.cost is not None and of.cost(full) > DEAR:
            continue
        if sum(n for s, n in slow.items() if s <= size(full)) >= 3:
            continue  # smaller cells were too slow
        if isinstance(trials_of(of, full, 1), str) or seconds_of(of, full) > LONGEST:
            slow[size(full)] = slow.get(size(full), 0) + 1
            continue
        yield full


def seconds_of(of: Experiment, cell: Params) -> float:
    """The CPU seconds of a cell's trials once everything is compiled."""
    begin = time.process_time()
    trials_of(of, cell)
    return time.process_time() - begin


def by_novelty(cells: list[Params]) -> Iterator[Params]:
    """Cells in an order in which each adds as many new values of parameters as it can."""
    seen: set[tuple[str, str]] = set()
    left = [(cell, {(k, repr(v)) for k, v in cell.items()}) for cell in cells]
    while left:
        best = max(left, key=lambda pair: (len(pair[1] - seen), -size(pair[0])))
        left.remove(best)
        seen |= best[1]
        yield best[0]


@cache
def cells_of_claims() -> dict[str, list[Params]]:
    """Experiment -> the cells with which the shipped claims try it."""
    from verify.mutation.fingerprint import cells_of
    from verify.papers import catalogue
    from verify.procedures.base import PROFILES

    found: dict[str, list[Params]] = {}
    for claim in catalogue().values():
        procedure = claim.build(PROFILES["quick"])
        if (of := procedure.experiment()) is not None:
            found.setdefault(of.name, []).extend(cells_of(procedure))
    return found
