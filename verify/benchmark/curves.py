"""Training loss over the rounds, for the methods that report it: the trials are fitted again.

A stored fit is a row of numbers, and holds no curve.  The first trials of each federation are
fitted again from their seeds, so a curve is that of the fit in the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trials.checks import FloatArray
from verify.benchmark.design import Benchmark
from verify.benchmark.federation import place
from verify.benchmark.fits import fitted, trial_of
from verify.benchmark.fitting import oracle_loss
from verify.benchmark.methods import parse_methods
from verify.benchmark.tables import draws_clusters
from verify.evidence import Figure, Panel, Series

#: Rounds that a curve shows at most, in geometric steps.
_MOST = 60


def curves(
    benchmark: Benchmark, federation: Mapping[str, Any], root: int, n_trials: int
) -> dict[str, FloatArray]:
    """Method -> (n_trials, rounds) training losses, over the cluster oracle's where one is known.

    Methods of fewer than two rounds are left out, and fits that fail.  A fit that ends early keeps
    its last loss.
    """
    found: dict[str, FloatArray] = {}
    for method in parse_methods(benchmark.methods):
        cell = benchmark.cell(federation, method.text)
        lines = []
        for trial in range(n_trials):
            data, seed = trial_of(cell, root, trial)
            try:
                losses = fitted(method, data, seed, benchmark.limit).losses
            except (MemoryError, OSError):
                raise
            except Exception:  # the table has the failure and its reason
                continue
            if losses.size >= 2 and np.isfinite(losses).all():
                lines.append(losses / (oracle_loss(data) if data.labels is not None else 1.0))
        if lines:
            longest = max(line.size for line in lines)
            found[method.text] = np.stack(
                [np.pad(line, (0, longest - line.size), mode="edge") for line in lines]
            )
    return found


def curve_figure(benchmark: Benchmark, root: int, n_trials: int) -> Figure | None:
    """The curves of all federations, a panel each, or None where no method has rounds."""
    panels = []
    lines = [curves(benchmark, one, root, n_trials) for one in benchmark.federations]
    for federation, found in zip(benchmark.federations, lines, strict=True):
        known = draws_clusters(federation)
        if found:
            panels.append(
                Panel(
                    title=place(benchmark.vary, federation),
                    xlabel="round",
                    ylabel="training loss over the oracle's" if known else "training loss",
                    xscale="log",
                    yscale="log",
                    series=[_series(name, lines) for name, lines in found.items()],
                )
            )
    if not panels:
        return None
    return Figure(
        name=f"benchmark-{benchmark.name}-rounds",
        title="Training loss over the rounds",
        panels=panels,
        caption=" ".join([_drawn(n_trials), *_left_out(benchmark, lines, n_trials)]),
    )


def _drawn(n_trials: int) -> str:
    """What a line is, in words.

    >>> _drawn(1)
    'A line is the first trial, fitted again. A fit that ends early keeps its last loss.'
    """
    what = "the first trial, fitted again"
    if n_trials > 1:
        what = (
            f"the median of the first {n_trials} trials, fitted again, and its band reaches from "
            "the least to the largest of them"
        )
    return f"A line is {what}. A fit that ends early keeps its last loss."


def _left_out(
    benchmark: Benchmark, drawn: Sequence[Mapping[str, FloatArray]], n_trials: int
) -> list[str]:
    """Which fits have no part in the lines of the federations, in sentences."""
    said = []
    for name in benchmark.method_names:
        counts = [len(found.get(name, ())) for found in drawn]
        if not any(counts):
            said.append(f"{name} has no line: its fits have one round, tell no loss, or fail.")
            continue
        for federation, count in zip(benchmark.federations, counts, strict=True):
            where = f" at {place(benchmark.vary, federation, '=')}" if benchmark.vary else ""
            if count < n_trials:
                said.append(
                    f"The line of {name}{where} is of {count} of {n_trials} trials: others fail."
                )
    return said


def _series(name: str, lines: FloatArray) -> Series:
    rounds = np.unique(np.geomspace(1, lines.shape[1], _MOST).round().astype(int))
    shown = lines[:, rounds - 1]
    return Series(
        label=name,
        x=_floats(rounds),
        y=_floats(np.median(shown, axis=0)),
        lower=_floats(shown.min(axis=0)),
        upper=_floats(shown.max(axis=0)),
        style="line",
        group=name,
    )


def _floats(values: np.ndarray[Any, Any]) -> Sequence[float]:
    return [float(v) for v in values]
