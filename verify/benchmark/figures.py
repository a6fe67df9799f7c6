"""A benchmark's figures as data: error against the varied parameter, floats and CPU seconds."""

from __future__ import annotations

import math
from collections.abc import Sequence

from verify.benchmark.federation import FEDERATION
from verify.benchmark.running import FederationResult, MethodResult, Result
from verify.evidence import Figure, Panel, Series

_UNITS = {
    "n": "samples of a client",
    "m": "clients",
    "k": "clusters",
    "k_told": "clusters told",
    "d": "features",
    "sigma": "noise level",
    "separation": "separation",
    "outliers": "share of outliers",
    "degrees": "degrees of freedom",
    "size_spread": "Zipf's exponent",
}


def axis_label(name: str) -> str:
    """A parameter of the federation in words, with its unit.

    >>> axis_label("n"), axis_label("sigma")
    ('samples of a client (count)', 'noise level (dimensionless)')
    """
    counts = type(FEDERATION.entries.get(name)).__name__ == "Integer"
    return f"{_UNITS.get(name, name)} ({'count' if counts else 'dimensionless'})"


def figures(result: Result) -> list[Figure]:
    """The figures that the table has data for."""
    found = [_cost(result)]
    if result.benchmark.vary and all(
        isinstance(f.params[result.benchmark.vary], int | float) for f in result.federations
    ):
        found.insert(0, _along(result))
    return found


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _median(metric: str) -> str:
    """The axis of the metric that decides, with its unit."""
    return f"median {metric} ({'CPU seconds' if metric == 'cpu' else 'dimensionless'})"


def _rows(result: Result, method: str) -> list[tuple[FederationResult, MethodResult]]:
    return [(f, r) for f in result.federations for r in f.methods if r.method == method]


def _log(values: Sequence[float | None]) -> bool:
    shown = [v for v in values if v is not None]
    return bool(shown) and min(shown) > 0


def _along(result: Result) -> Figure:
    """Error against the varied parameter, with simultaneous bands and the exact laws."""
    vary, metric = result.benchmark.vary, result.benchmark.metric
    series, values = [], []
    for method in result.benchmark.method_names:
        rows = _rows(result, method)
        x = [float(f.params[vary]) for f, _ in rows]
        y = [_finite(r.median.value) for _, r in rows]
        if all(v is None for v in y):
            continue
        lower = [
            v if v is None else _finite(r.median.lower) for v, (_, r) in zip(y, rows, strict=True)
        ]
        upper = [
            v if v is None else _finite(r.median.upper) for v, (_, r) in zip(y, rows, strict=True)
        ]
        values += [*y, *lower]
        series.append(
            Series(label=method, x=x, y=y, lower=lower, upper=upper, style="line", group=method)
        )
        law = [r.guarantee.bound if metric == "error" else None for _, r in rows]
        if any(b is not None for b in law):
            series.append(
                Series(label=f"{method}: exact mean", x=x, y=law, style="dashed", group=method)
            )
    return Figure(
        name=f"benchmark-{result.benchmark.name}-{vary}",
        title=f"{metric} against {_UNITS.get(vary, vary)}",
        xlabel=axis_label(vary),
        ylabel=_median(metric),
        xscale="log" if _log([float(f.params[vary]) for f in result.federations]) else "linear",
        yscale="log" if _log(values) else "linear",
        series=series,
        caption=(
            "Medians over trials. The bands hold together with probability "
            f"{1 - result.benchmark.level:g} at any stopping time."
        ),
    )


def _cost(result: Result) -> Figure:
    """Error against floats, and error against CPU seconds, a point a method and federation."""
    panels = []
    for name, label, of in (
        ("floats", "floats sent and received (count)", floats),
        ("cpu", "CPU seconds of a fit", lambda r: r.means["cpu"]),
    ):
        series = []
        for method in result.benchmark.method_names:
            points = [
                (of(r), r.median.value)
                for _, r in _rows(result, method)
                if math.isfinite(r.median.value)
            ]
            shown = [(x, y) for x, y in points if x is not None and x > 0]
            if shown:
                x, y = zip(*shown, strict=True)
                series.append(Series(label=method, x=x, y=y, style="points", group=method))
        every = [v for s in series for v in s.y if v is not None]
        if series:
            panels.append(
                Panel(
                    title=f"Error against {name}",
                    xlabel=label,
                    ylabel=_median(result.benchmark.metric),
                    xscale="log",
                    yscale="log" if _log(every) else "linear",
                    series=series,
                )
            )
    return Figure(
        name=f"benchmark-{result.benchmark.name}-cost",
        title="What an error costs",
        panels=panels,
        caption=_missing_points(result),
    )


def _missing_points(result: Result) -> str:
    """What a point is, and the methods that have none over the floats."""
    sent = {m: [floats(r) for _, r in _rows(result, m)] for m in result.benchmark.method_names}
    silent = [m for m, found in sent.items() if all(x is None for x in found)]
    nothing = [m for m, found in sent.items() if all(x == 0 for x in found)]
    said = "A point is a method on a federation."
    if nothing:
        said += f" No floats are sent by {', '.join(nothing)}."
    if silent:
        said += f" It is not known what is sent by {', '.join(silent)}."
    return said


def floats(row: MethodResult) -> float | None:
    """The mean floats that all clients send and get, or None where the method does not say both."""
    up, down = row.means["floats-up"], row.means["floats-down"]
    return None if up is None or down is None else up + down
