"""Repeated runs of IFCA: equal ones pass, stable or not, and any planted difference is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from trials.experiments.ifca.drawn_clients import draw_clients
from trials.experiments.ifca.repeated_runs import (
    SEGMENT,
    KernelsDiffer,
    Recorder,
    records,
    repeat_runs,
)
from trials.ifca.linear import run_ifca
from trials.ifca.skipping import run_ifca_skipping
from trials.models.run_status import RunStatus

T = 4 * SEGMENT + 3


def recorded(step_sizes, n_iterations=T, d=4):
    """All runs of the skipping kernel on one data set."""
    rng = np.random.default_rng(6)
    data = draw_clients(3.0 * np.eye(2, d), np.array([6, 6]), 8, 0.1, rng)
    starts = rng.standard_normal((len(step_sizes), 2, d))
    run = {"starts": starts, "step_sizes": np.asarray(step_sizes)}
    recorder = Recorder(np.arange(len(step_sizes)))
    found = run_ifca_skipping(
        data=data, n_iterations=n_iterations, observe=recorder, excess=np.inf, **run
    )
    return data, found, records(found, recorder, **run)


def test_stable_settled_and_diverging_runs_are_repeated():
    data, found, runs = recorded([0.05, 0.5, 20.0])
    assert found.status.tolist() == [RunStatus.COMPLETED] * 2 + [RunStatus.DIVERGED]
    assert {0, SEGMENT} <= runs[0].seen.keys()
    repeat_runs(runs, data, T)
    repeat_runs(runs[:0], data, T)


def test_an_unstable_run_is_repeated_although_its_end_depends_on_rounding():
    """The two kernels end apart, and agree over each segment."""
    data, found, runs = recorded([0.7], n_iterations=400, d=40)
    plain = run_ifca(
        data=data, starts=runs[0].start[None], step_sizes=np.array([0.7]), n_iterations=400
    )
    assert found.status[0] == plain.status[0] == RunStatus.COMPLETED
    scale = np.linalg.norm(plain.models[0], axis=1).max()
    assert np.abs(plain.models - found.models).max() > 1e-8 * scale
    repeat_runs(runs, data, 400)


def changed(run, place, by=0.0, label=False, at=None):
    """A record with one model or one label changed, at the end or at an iteration."""
    models, labels = (run.models, run.labels) if at is None else run.seen[at]
    models, labels = models.copy(), labels.copy()
    models[place] += by
    labels[0] ^= label
    if at is None:
        return replace(run, models=models, labels=labels)
    return replace(run, seen=run.seen | {at: (models, labels)})


@pytest.mark.parametrize("at", [None, SEGMENT])
def test_a_difference_at_the_end_or_on_the_way_is_found(at):
    data, _, runs = recorded([0.05])
    repeat_runs([changed(runs[0], (1, 0), 1e-12, at=at)], data, T)
    with pytest.raises(KernelsDiffer, match=r"run 0 with step size 0\.05: 0 labels differ"):
        repeat_runs([changed(runs[0], (1, 0), 1e-7, at=at)], data, T)
    with pytest.raises(KernelsDiffer, match="1 labels differ"):
        repeat_runs([changed(runs[0], (1, 0), label=True, at=at)], data, T)


def test_another_end_is_found():
    data, _, runs = recorded([0.05, 20.0])
    with pytest.raises(KernelsDiffer, match="status and steps"):
        repeat_runs([replace(runs[0], status=int(RunStatus.DIVERGED))], data, T)
    with pytest.raises(KernelsDiffer, match="status and steps"):
        repeat_runs([replace(runs[1], n_steps=runs[1].n_steps + 1)], data, T)
    with pytest.raises(KernelsDiffer, match="status and steps"):
        repeat_runs([replace(runs[1], status=int(RunStatus.COMPLETED), n_steps=T)], data, T)
