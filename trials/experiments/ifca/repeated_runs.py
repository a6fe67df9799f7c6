"""Runs of the skipping kernel that the plain kernel repeats.

A repeated run has the same labels, and the same models up to rounding.  An unstable run amplifies
every rounding error, so that two correct kernels end far apart.  Therefore the plain kernel goes on
from the skipping kernel's own models every `SEGMENT` iterations, where these are known.  The rest
of a settled run is repeated as a whole.  All repeated runs of a trial share the plain kernel's
passes over the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.ifca.linear import IfcaResult, run_ifca
from trials.models.clients import ClientData
from trials.models.run_status import RunStatus

SEGMENT = 10
AGREEMENT = 1e-9


class KernelsDiffer(RuntimeError):
    """A run of the skipping kernel is not that of the plain one."""


class Recorder:
    """Models and labels of some runs before every `SEGMENT`-th iteration.

    It is an observer of `trials.ifca.skipping.run_ifca_skipping`.

    Attributes
    ----------
    seen : run -> iteration -> (k, d) models and (m,) labels of the iteration before.
    """

    def __init__(self, runs: IntArray) -> None:
        self.seen: dict[int, dict[int, tuple[FloatArray, IntArray]]] = {int(r): {} for r in runs}

    def __call__(
        self, iteration: int, going: IntArray, models: FloatArray, labels: IntArray
    ) -> None:
        if iteration % SEGMENT:
            return
        for place, run in enumerate(going.tolist()):
            if run in self.seen:
                self.seen[run][iteration] = models[place].copy(), labels[place].copy()


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """One run of the skipping kernel.

    Attributes
    ----------
    name : how errors name it.
    start, models : (k, d) first and last models.
    step_size : gamma.
    labels : (m,) last identities.
    status, n_steps : as in `IfcaResult`.
    seen : iteration -> models and labels, from `Recorder`.
    """

    name: str
    start: FloatArray
    step_size: float
    models: FloatArray
    labels: IntArray
    status: int
    n_steps: int
    seen: dict[int, tuple[FloatArray, IntArray]]


def records(
    found: IfcaResult, recorder: Recorder, starts: FloatArray, step_sizes: FloatArray
) -> list[RunRecord]:
    """The recorded runs of a result."""
    return [
        RunRecord(
            name=f"run {run} with step size {step_sizes[run]:g}",
            start=starts[run],
            step_size=float(step_sizes[run]),
            models=found.models[run],
            labels=found.labels[run],
            status=int(found.status[run]),
            n_steps=int(found.n_steps[run]),
            seen=seen,
        )
        for run, seen in recorder.seen.items()
    ]


def repeat_runs(runs: Sequence[RunRecord], data: ClientData, n_iterations: int) -> None:
    """Repeat runs by the plain kernel.

    Raises
    ------
    KernelsDiffer : a label differs, or the end, or a model by more than `AGREEMENT` of its length
        (at least one).
    """
    going = list(runs)
    models = [run.start for run in going]
    for first in range(0, n_iterations, SEGMENT):
        if not going:
            return
        after = min(first + SEGMENT, n_iterations)
        plain = run_ifca(
            data=data,
            starts=np.stack(models),
            step_sizes=np.array([run.step_size for run in going]),
            n_iterations=after - first,
        )
        left, models = [], []
        for run, last, labels, status, n_steps in zip(
            going, plain.models, plain.labels, plain.status, plain.n_steps, strict=True
        ):
            if after == n_iterations or status == RunStatus.DIVERGED:
                ends = (int(status), first + int(n_steps))
                if ends != (run.status, run.n_steps):
                    raise KernelsDiffer(
                        f"{run.name}: status and steps {(run.status, run.n_steps)} must be {ends}"
                    )
                _compare(run.name, (run.models, run.labels), (last, labels))
            else:
                left.append(run)
                models.append(last)
                if after in run.seen:
                    _compare(run.name, run.seen[after], (last, labels))
                    models[-1] = run.seen[after][0]
        going = left


def _compare(
    name: str, found: tuple[FloatArray, IntArray], plain: tuple[FloatArray, IntArray]
) -> None:
    """Raise `KernelsDiffer` where models (k, d) or labels (m,) are others."""
    n_labels = int(np.sum(plain[1] != found[1]))
    scale = np.maximum(np.linalg.norm(plain[0], axis=1), 1.0)
    gap = float((np.abs(plain[0] - found[0]).max(axis=1) / scale).max())
    if n_labels or not gap <= AGREEMENT:
        raise KernelsDiffer(f"{name}: {n_labels} labels differ, and models by {gap:.3g}")
