"""Figures that several procedures and claims draw from their stored trials."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from trials.run.cell import Params
from trials.run.store import Table
from verify.evidence import Figure, Series
from verify.procedures.base import (
    NOTHING,
    BoolArray,
    FloatArray,
    Observed,
    Present,
    Presentation,
    finished,
)

#: The trials between these percentiles lie in a curve's band.
BAND = (5.0, 95.0)


def of_finished(present: Present) -> Present:
    """A presentation of the trials that did not fail, with a note that counts the others.

    It is for values that a failed trial does not have, such as errors.  A share of successes takes
    all trials.
    """

    def shown(observed: Sequence[Observed]) -> Presentation:
        kept = finished(observed)
        made = present(kept) if kept else NOTHING
        n_failed = sum(o.table.n_failed for o in observed)
        if not n_failed:
            return made
        note = f"Failed trials ({n_failed}) have no part in the claim's own figures and sentences."
        return replace(made, notes=(*made.notes, note))

    return shown


def spread(
    label: str,
    x: Sequence[float],
    values: Sequence[FloatArray],
    style: Literal["points", "line"] = "points",
) -> Series:
    """Means of the trials at each place, with limits between which most of them lie (`BAND`)."""
    low, high = (
        [float(np.percentile(v, share)) if v.size else None for v in values] for share in BAND
    )
    mean = [float(v.mean()) if v.size else None for v in values]
    return Series(label=label, x=x, y=mean, lower=low, upper=high, style=style)


def curves(
    observed: Sequence[Observed],
    along: str,
    columns: Mapping[str, str],
    *,
    name: str,
    title: str,
    xlabel: str,
    ylabel: str,
    yscale: Literal["linear", "log"] = "log",
    vlines: Sequence[tuple[float, str]] = (),
    caption: str = "",
) -> Figure:
    """Means of several columns against one parameter, each with a band of its trials.

    Parameters
    ----------
    observed : cells that differ in ``along``.
    columns : label -> column of the experiment.
    caption : more sentences, after the one that explains lines and bands.

    Examples
    --------
    >>> from trials.run.store import Table
    >>> cells = [Observed(params={"n": n}, table=Table(columns=("error",),
    ...     values=np.array([[1.0 / n], [3.0 / n]]), failed=np.zeros(2, dtype=bool), reasons=()))
    ...     for n in (20, 10)]
    >>> drawn = curves(cells, "n", {"local": "error"}, name="error", title="", xlabel="n",
    ...     ylabel="error")
    >>> [round(y, 3) for y in drawn.series[0].y], drawn.series[0].x
    ([0.2, 0.1], [10.0, 20.0])
    """
    ordered = sorted(observed, key=lambda o: float(o.params[along]))
    x = [float(o.params[along]) for o in ordered]
    series = [
        spread(label, x, [o.table[column][~o.table.failed] for o in ordered], "line")
        for label, column in columns.items()
    ]
    explained = f"Lines are means of the trials, bands reach from their {BAND[0]:.0f}th to their "
    return Figure(
        name=name,
        title=title,
        xlabel=xlabel,
        ylabel=ylabel,
        xscale="log",
        yscale=yscale,
        series=series,
        vlines=vlines,
        caption=f"{explained}{BAND[1]:.0f}th percentile. {caption}".strip(),
    )


def phase_diagram(
    observed: Sequence[Observed],
    success: Callable[[Table, Params], BoolArray],
    event: str,
    *,
    x: Callable[[Params], float],
    y: Callable[[Params], float],
    group: Callable[[Params], str],
    xlabel: str,
    ylabel: str,
    lines: Sequence[Series] = (),
    caption: str = "",
) -> Figure:
    """The share of successes over a plane: a point for each cell and size that was tried.

    Parameters
    ----------
    x, y : the coordinates of a cell.  Both axes are logarithmic.
    group : cells of one name have one marker.
    lines : curves to draw with the points, such as a stated order.
    """
    groups: dict[str, list[tuple[float, float, float]]] = {}
    for o in observed:
        good = np.asarray(success(o.table, o.params), dtype=np.bool_) & ~o.table.failed
        point = (x(o.params), y(o.params), float(good.mean()))
        groups.setdefault(group(o.params), []).append(point)
    series = []
    for label, points in groups.items():
        across, up, share = (list(column) for column in zip(*points, strict=True))
        series.append(Series(label=label, x=across, y=up, shade=share))
    return Figure(
        name="phases",
        title=f"Where {event} happens",
        xlabel=xlabel,
        ylabel=ylabel,
        xscale="log",
        yscale="log",
        series=[*series, *lines],
        shade="share of successes (dimensionless)",
        caption=f"A point is a size that was tried in a cell. {caption}".strip(),
    )
