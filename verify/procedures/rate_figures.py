"""The figure of a power law: the statistic against each parameter, beside the stated slope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from verify.decisions.rates import PowerLawFit
from verify.evidence import Figure, Panel, Series

_Line = tuple[str, float, Literal["line", "dashed"]]


def _lines(fitted: float, stated: float) -> tuple[_Line, _Line]:
    return ("fitted", fitted, "line"), ("stated", stated, "dashed")


def exponents_figure(
    stated: Mapping[str, tuple[str, float]],
    regressors: Mapping[str, Sequence[float]],
    means: Sequence[float],
    errors: Sequence[float],
    fit: PowerLawFit,
    observable: str,
) -> Figure:
    """One figure with a panel for each stated exponent.

    The means are divided by the fitted powers of the other parameters, over their geometric means.
    So the cells lie on one line where the power law holds.  The stated line goes through the
    cells' centre.

    Parameters
    ----------
    stated : parameter -> its symbol and its stated exponent.
    regressors : parameter -> its values, one a cell.
    means, errors : the cells' means and standard errors.
    fit : the power law that was fitted to them.
    observable : the statistic in words.
    """
    logs = {name: np.log(values) for name, values in regressors.items()}
    centred = {name: x - x.mean() for name, x in logs.items()}
    exponents = dict(zip(fit.names, fit.exponents, strict=True))
    log_means, shares = np.log(means), 2.0 * np.asarray(errors) / np.asarray(means)
    panels = []
    for name, (symbol, asked) in stated.items():
        others = sum(
            (exponents[other] * x for other, x in centred.items() if other != name),
            start=np.zeros(len(log_means)),
        )
        adjusted = np.exp(log_means - others)
        level = float(np.exp((log_means - others).mean()))
        ends = np.array([logs[name].min(), logs[name].max()])
        lines = [
            Series(
                label=word,
                x=np.exp(ends).tolist(),
                y=(level * np.exp(exponent * (ends - logs[name].mean()))).tolist(),
                style=style,
            )
            for word, exponent, style in _lines(exponents[name], asked)
        ]
        cells = Series(
            label="cells",
            x=list(map(float, regressors[name])),
            y=adjusted.tolist(),
            lower=(adjusted * np.maximum(1.0 - shares, 0.0)).tolist(),
            upper=(adjusted * (1.0 + shares)).tolist(),
        )
        panels.append(
            Panel(
                title=f"exponent ${exponents[name]:.3g}$ (stated ${asked:.3g}$)",
                xlabel=symbol,
                ylabel=f"mean of {observable}",
                series=[cells, *lines],
                xscale="log",
                yscale="log",
            )
        )
    divided = (
        " In each panel the fitted powers of all other parameters are divided out."
        if len(regressors) > 1
        else ""
    )
    several = len(panels) > 1
    return Figure(
        name="exponents",
        title=f"Exponent{'s' if several else ''} in {_list([s for s, _ in stated.values()])}",
        panels=panels,
        caption=f"Points are the means of the cells, bars are two standard errors.{divided}",
    )


def _list(symbols: Sequence[str]) -> str:
    """Symbols as ``a, b and c``."""
    *most, last = symbols
    return f"{', '.join(most)} and {last}" if most else last
