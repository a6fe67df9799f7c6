"""Figures of this paper's pages: trajectories with their envelopes, and values beside bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trials.checks import FloatArray
from trials.run.cell import Params
from trials.run.store import Table
from verify.evidence import Figure, Series
from verify.procedures.base import Observed, Presentation, tex_number
from verify.procedures.pages import of_finished
from verify.procedures.probability import Probability

MOST_CELLS = 3
#: The letters of the cells' parameters in a legend.
LETTERS = {
    "M": "$M$", "n": "$n$", "d": "$d$", "k": "$k$", "m": "$m$", "l": r"$\ell$", "s": "$s$",
    "sigma": r"$\sigma$", "gamma": r"$\gamma$",
}  # fmt: skip


def with_figures(
    procedure: Probability, draw: Callable[[Sequence[Observed]], Sequence[Figure]]
) -> Probability:
    """The same claim with figures of its trials on its page."""

    @of_finished
    def drawn(stored: Sequence[Observed]) -> Presentation:
        return Presentation(figures=tuple(draw(stored)))

    def present(stored: Sequence[Observed]) -> Presentation:
        shown, more = procedure.present(stored), drawn(stored)
        return replace(
            shown,
            figures=(*shown.figures, *more.figures),
            notes=(*shown.notes, *more.notes),
        )

    return replace(procedure, present=present)


def label(params: Params, cells: Sequence[Params]) -> str:
    """The parameters that differ between the cells, in letters."""
    names = [name for name in LETTERS if any(c.get(name) != params.get(name) for c in cells)]
    words = [
        f"{LETTERS[name][:-1]}={tex_number(float(params[name]))}$"
        for name in names
        if name in params
    ]
    words += [str(params[name]) for name in ("rule", "sizes", "start") if name in params]
    return ", ".join(words) or "all trials"


def trajectories(
    stored: Sequence[Observed],
    columns: Sequence[str],
    envelope: Callable[[Table, Params], FloatArray],
    unit: Callable[[Params], float],
    event: str,
) -> Figure:
    """Medians of an error along the rounds, with 90 % of the trials, below the stated limit.

    Parameters
    ----------
    columns : the columns of the error before each round and after the last.
    envelope : ``(trials, cell) -> `` the stated limit after each round, from the first on.
    unit : ``cell -> `` the distance that the errors are divided by.
    event : the error in words, over its unit.
    """
    series: list[Series] = []
    cells = [o.params for o in stored]
    for o in stored[:MOST_CELLS]:
        errors = np.stack([o.table[name] for name in columns], axis=1) / unit(o.params)
        low, middle, high = np.quantile(errors, (0.05, 0.5, 0.95), axis=0)
        limits = envelope(o.table, o.params) / unit(o.params)
        rounds = list(map(float, range(len(columns))))
        name = label(o.params, cells)
        series += [
            Series(
                label=name, x=rounds, y=middle.tolist(), lower=low.tolist(), upper=high.tolist(),
                style="line", group=name,
            ),
            Series(
                label=f"limit, {name}", x=rounds[-len(limits) :], y=limits.tolist(),
                style="dashed" if len(limits) > 1 else "points", group=name,
            ),
        ]  # fmt: skip
    return Figure(
        name="trajectories",
        title="Trajectories below the stated limit",
        xlabel="round (count)",
        ylabel=f"{event} (dimensionless)",
        series=series,
        yscale="log",
        caption="Medians of the first cells, bands with the middle 90 % of the trials, and the "
        "stated limit (dashed).",
    )


def beside_bound(
    stored: Sequence[Observed],
    column: str,
    bound: Callable[[Table, Params], float],
    abscissa: Callable[[Params], float],
    texts: Mapping[str, Any],
) -> Figure:
    """Medians and extremes of a column against a size, beside the bound in the same cells.

    A bound that does not follow the size alone is no line.

    Parameters
    ----------
    texts : ``title``, ``xlabel``, ``ylabel`` and ``caption``.
    """
    order = sorted(stored, key=lambda o: abscissa(o.params))
    x = [abscissa(o.params) for o in order]
    values = [o.table[column] for o in order]
    bounds = [bound(o.table, o.params) for o in order]
    steps = np.sign(np.diff(bounds))
    return Figure(
        name="beside-bound",
        series=[
            Series(
                label="trials: median, smallest and largest",
                x=x,
                y=[float(np.median(v)) for v in values],
                lower=[float(v.min()) for v in values],
                upper=[float(v.max()) for v in values],
            ),
            Series(label="bound", x=x, y=bounds, style="dashed" if len({*steps}) < 2 else "points"),
        ],
        xscale="log",
        yscale="log",
        **texts,
    )


def floors(
    stored: Sequence[Observed],
    column: str,
    bound: Callable[[Table, Params], float],
    along: tuple[str, str],
    texts: Mapping[str, Any],
) -> Figure:
    """Medians of a floor against one size, a curve for each value of another, below the bound.

    Parameters
    ----------
    stored : cells that differ in the two sizes alone.
    along : the size on the axis, and the size that the curves differ in.
    texts : ``title``, ``xlabel`` and ``ylabel``.
    """
    axis, other = along
    series: list[Series] = []
    for value in sorted({o.params[other] for o in stored}):
        own = sorted(
            (o for o in stored if o.params[other] == value), key=lambda o: float(o.params[axis])
        )
        x = [float(o.params[axis]) for o in own]
        low, middle, high = np.quantile([o.table[column] for o in own], (0.05, 0.5, 0.95), axis=1)
        name = f"{LETTERS[other][:-1]}={tex_number(float(value))}$"
        series += [
            Series(
                label=name, x=x, y=middle.tolist(), lower=low.tolist(), upper=high.tolist(),
                style="line", group=name,
            ),
            Series(
                label=f"limit, {name}", x=x, y=[bound(o.table, o.params) for o in own],
                style="dashed", group=name,
            ),
        ]  # fmt: skip
    return Figure(
        name=f"floors-{axis}",
        series=series,
        xscale="log",
        yscale="log",
        caption="Medians, bands with the middle 90 % of the trials, and the stated limit (dashed).",
        **texts,
    )
