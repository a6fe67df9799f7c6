"""Figures of power laws: the statistic against each parameter, beside the stated slope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from verify.decisions.rates import PowerLawFit
from verify.evidence import Figure, Series

_Line = tuple[str, float, Literal["line", "dashed"]]


def _lines(fitted: float, stated: float) -> tuple[_Line, _Line]:
    return ("fitted", fitted, "line"), ("stated", stated, "dashed")


def exponent_figures(
    stated: Mapping[str, tuple[str, float]],
    regressors: Mapping[str, Sequence[float]],
    means: Sequence[float],
    errors: Sequence[float],
    fit: PowerLawFit,
    observable: str,
) -> list[Figure]:
    """One figure for each stated exponent.

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
    figures = []
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
                label=f"{word}, exponent {exponent:.3g}",
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
        adjusted_for = [stated[o][0] if o in stated else o for o in regressors if o != name]
        note = (
            f" The fitted powers of {' and '.join(adjusted_for)} are divided out."
            if adjusted_for
            else ""
        )
        figures.append(
            Figure(
                name=f"exponent-{name}",
                title=f"Exponent in {symbol}",
                xlabel=symbol,
                ylabel=f"mean of {observable}",
                series=[cells, *lines],
                xscale="log",
                yscale="log",
                caption=f"Means of the cells, with two standard errors.{note}",
            )
        )
    return figures
