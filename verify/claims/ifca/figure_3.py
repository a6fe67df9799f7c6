r"""Figure 3 of IFCA: success probabilities, from the text and from the published code.

Problem. Does the experiment that the text describes give the figure's curves, and does the
published code?  What explains them?

Guarantee. `bounds.ifca.figure_3`: success in half of the trials at each panel's easiest setting,
and the sentences about the curves.

Algorithm. Ten starts with three step sizes each, 300 iterations on one data set (experiment
``ifca.figure-3``).  At full size the skipping kernel runs, and the plain kernel repeats one run of
25: a difference is a failed trial.

Computation. Shares of trials.  The R, sigma, m and n are those of the published code, because the
text gives no numbers of the curves.  Trends and the floor are tried at a tenth of n and d as well,
where all ratios of m, n, k and d are the figure's.

Reference. TIT 2022, Section VI-A.  The authors' public repository jichan3751/ifca, folder
``synthetic``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bounds.ifca import figure_3 as bf
from bounds.statement import Statement
from trials.experiments.ifca.data_run import DATA_RUN, SUCCESS
from trials.run.cell import Params
from trials.run.store import Table
from verify.claim import claim, row, table
from verify.claims.ifca.random_starts import UNSCALED
from verify.claims.odcl.sides import power_law
from verify.claims.restart_curves import restart_curve, restart_figure
from verify.decisions.comparisons import exact_share_limits
from verify.decisions.means import INDICATOR, SHARE
from verify.evidence import EvidenceTable, Series, Verdict
from verify.procedures.base import (
    FloatArray,
    Observed,
    Present,
    Presentation,
    Profile,
    Sampling,
)
from verify.procedures.comparison import Monotone
from verify.procedures.mean_bound import MeanBound
from verify.procedures.pages import phase_diagram
from verify.procedures.rate import Rate

_FULL_SIZE = "a trial runs 30 times 300 iterations on 10 to 160 million numbers"
_TRIALS = 40  # the figure's
#: Trials of a cell that can decide a curve.  Where all of n trials succeed in two cells, a fall
#: from one to the other by less than 1 - level^(1/n) is not excluded.  At a claim's level that is
#: 0.197 for the figure's 40 trials and 0.136 for 60, and the margin is 0.15.
_ENOUGH = 60
#: Sizes of the panels, and the step size that succeeds most often first.
_A: Params = {"k": 2, "m": 100, "n": 100, "d": 1000, "step_sizes": [0.1, 1.0, 0.01]}
_B: Params = {"k": 4, "m": 400, "n": 100, "d": 1000, "step_sizes": [2.0, 0.5, 1.0]}
_C: Params = {
    **_A, "step_sizes": [1.0, 0.1, 0.01], "m": 400, "n": 200, "norm": 0.1, "sigma": 0.1,
}  # fmt: skip
_D: Params = {**_B, "m": 800, "n": 200, "norm": 0.5, "sigma": 0.1}
_EASY: Params = {"norm": 1.0, "sigma": 0.1}


def _sampling(max_trials: int, first: int) -> Sampling:
    return Sampling(experiment=DATA_RUN, max_trials=max_trials, first=first)


def _full(panel: Params, reading: str, **more: object) -> Params:
    """A cell at full size.  The code adds 0.001 to the limit where R and sigma vary."""
    with_slack = reading == "code" and panel not in (_C, _D)
    return {
        **panel,
        "scaling": "coordinate" if reading == "code" else "norm",
        "start": "bernoulli-rescaled" if reading == "rescaled starts" else "bernoulli",
        "kernel": "skipping",
        "sweep": "until success",
        "slack": 0.001 if with_slack else 0.0,
        **more,
    }


def _success(table: Table, cell: Params) -> FloatArray:
    """Success by the text's distance or by the code's."""
    return table["success_nearest" if cell["scaling"] == "coordinate" else "success"]


def panel(
    statement: Statement, _profile: Profile, *, sizes: Params, reading: str, **more: object
) -> MeanBound:
    """The share of successful trials, measured as the text or as the code measures it."""
    return MeanBound(
        statement=statement,
        sampling=_sampling(_TRIALS, 8),
        cells=(_full(sizes, reading, **more),),
        statistic=_success,
        knowledge=lambda _cell: SHARE,
        observable="successful trials",
        present=_shares,
    )


_FULL: dict[str, Any] = {"smallest_profile": "full", "why_not_smaller": _FULL_SIZE}


_FAILS: dict[str, Any] = {**_FULL, "expected": Verdict.REFUTED, "finding": UNSCALED}
_SHOWS: dict[str, Any] = {**_FULL, "finding": UNSCALED}
# At d = 1000 the printed starts are 22 times as far from the optima as these from each other.
# About 55 % of the trials of panel (a) succeed all the same, and 40 trials do not decide.
_OPEN: dict[str, Any] = {**_SHOWS, "expected": Verdict.INCONCLUSIVE}
_A_AT: dict[str, Any] = {"sizes": _A, **_EASY}
_B_AT: dict[str, Any] = {"sizes": _B, **_EASY}
PANELS = table(
    panel,
    row("ifca.fig3a-text", bf.A_TEXT, reading="text", **_A_AT, **_OPEN),
    row("ifca.fig3a-code", bf.A_CODE, reading="code", **_A_AT, **_SHOWS),
    row("ifca.fig3a-rescaled-starts", bf.A_RESCALED, reading="rescaled starts", **_A_AT, **_FULL),
    row("ifca.fig3b-text", bf.B_TEXT, reading="text", **_B_AT, **_FAILS),
    row("ifca.fig3b-code", bf.B_CODE, reading="code", **_B_AT, **_SHOWS),
    row("ifca.fig3b-rescaled-starts", bf.B_RESCALED, reading="rescaled starts", **_B_AT, **_FULL),
    row("ifca.fig3c-text", bf.C_TEXT, sizes=_C, reading="text", **_FULL),
    row("ifca.fig3c-code", bf.C_CODE, sizes=_C, reading="code", **_FULL),
    row("ifca.fig3d-text", bf.D_TEXT, sizes=_D, reading="text", **_FAILS),
    row("ifca.fig3d-code", bf.D_CODE, sizes=_D, reading="code", **_SHOWS),
)

# --- the curves at full size --------------------------------------------------------------------

_STARTS = 10


def _successful_starts(observed: Observed) -> FloatArray:
    """Each trial's successful starts.  A failed trial has none."""
    by_code = observed.params["scaling"] == "coordinate"
    s = observed.table["n_starts_nearest" if by_code else "n_starts_successful"]
    return np.where(observed.table.failed, 0.0, s)


def _shown(observed: Sequence[Observed]) -> list[Observed]:
    """The cells that have two trials or more, and one that did not fail."""
    return [o for o in observed if o.table.n_trials > 1 and not o.table.failed.all()]


def _row(o: Observed) -> list[float]:
    cell, kept = o.params, ~o.table.failed
    n_good = int((_success(o.table, cell)[kept] > 0).sum())
    limits = exact_share_limits(n_good, o.table.n_trials, 0.025)
    numbers = [float(cell[name]) for name in ("norm", "sigma", "m", "n")]
    oracle = o.table["oracle_dist"][kept] / cell["sigma"]
    return [
        *numbers, float(o.table.n_trials), n_good / o.table.n_trials,
        *limits, float(oracle.mean()),
        float(o.table["stability_limit"][kept].mean()),
        float(o.table["start_dist"][kept].mean()),
    ]  # fmt: skip


def _success_table(cells: Sequence[Observed]) -> EvidenceTable:
    """Success and what explains it cell by cell."""
    return EvidenceTable(
        title="Success, and what the data allow",
        columns=(
            "$R$", "$\\sigma$", "$m$", "$n$", "trials", "success", "from", "to",
            "oracle over $\\sigma$", "stable step", "nearest start",
        ),
        rows=[_row(o) for o in cells],
        note="95 % limits (Clopper-Pearson). The oracle knows the clusters, and success is at 0.6. "
        "Larger steps than the stable one diverge from the clusters' own fits. The nearest of ten "
        "starts is given over the separation of the optima.",
    )  # fmt: skip


def _shares(observed: Sequence[Observed]) -> Presentation:
    """Success and what explains it cell by cell, and success against the number of starts."""
    cells = _shown(observed)
    if not cells:
        return Presentation()
    series: list[Series] = []
    for o in cells:
        cell = o.params
        label = f"$R={cell['norm']:g}$, $\\sigma={cell['sigma']:g}$, $m={cell['m']}$"
        series.append(restart_curve(label, _successful_starts(o), _STARTS))
    restarts = restart_figure("Success with fewer starts", "share of successful trials", series)
    return Presentation(figures=(restarts,), tables=(_success_table(cells),))


def _map(observed: Sequence[Observed]) -> Presentation:
    """The success over R and sigma, and the table.

    A trial ends with its first success, so that its other starts are not known.
    """
    cells = _shown(observed)
    drawn = phase_diagram(
        observed,
        lambda table, cell: _success(table, cell) > 0,
        "success",
        x=lambda cell: cell["norm"],
        y=lambda cell: cell["sigma"],
        group=lambda _cell: "trials",
        xlabel="$R$",
        ylabel="$\\sigma$",
        caption="The table has the limits.",
    )
    return Presentation(figures=(drawn,), tables=(_success_table(cells),) if cells else ())


def curve(
    statement: Statement,
    _profile: Profile,
    *,
    cells: tuple[Params, ...],
    along: str,
    present: Present,
    trials: int,
    enough: Callable[[Params], int] | None = None,
) -> Monotone:
    """The share of successful trials along a parameter."""
    return Monotone(
        statement=statement,
        sampling=_sampling(trials, trials),
        cells=cells,
        along=along,
        statistic=_success,
        knowledge=lambda _cell: INDICATOR,
        observable="successful trials",
        failed=0.0,
        present=present,
        enough=enough,
    )


def _plane(panel: Params) -> tuple[Params, ...]:
    """The R and sigma of the published code, without sigma = 0, where 0.6 sigma is 0."""
    return tuple(
        _full(panel, "code", norm=norm, sigma=sigma, sweep="until one success")
        for sigma in (0.1, 0.2, 0.4)
        for norm in (0.1, 0.25, 0.5, 0.75, 1.0)
    )


#: R -> trials of panel (b) where the share of successes is far below that of the next R.  In an
#: earlier run with another seed it was near 0 and 2/3.  These trials take most of the time.
_FEWER = {0.1: 16, 0.25: 32}
_PLANE: dict[str, Any] = {"along": "norm", "present": _map, "finding": UNSCALED, **_FULL}
_LINE: dict[str, Any] = {"present": _shares, "trials": _ENOUGH, **_FULL}
CURVES = table(
    curve,
    row("ifca.fig3a-rises-with-r", bf.A_RISES, cells=_plane(_A), trials=80, **_PLANE),
    row(
        "ifca.fig3b-rises-with-r",
        bf.B_RISES,
        cells=_plane(_B),
        trials=_ENOUGH,
        enough=lambda cell: _FEWER.get(cell["norm"], _ENOUGH),
        **_PLANE,
    ),
    row(
        "ifca.fig3c-rises-with-m",
        bf.C_RISES,
        cells=tuple(_full(_C, "code", m=m, n=100) for m in (50, 100, 200, 400)),
        along="m",
        **_LINE,
    ),
    row(
        "ifca.fig3c-rises-with-n",
        bf.C_RISES_WITH_N,
        cells=tuple(_full(_C, "code", m=100, n=n) for n in (50, 100, 200)),
        along="n",
        **_LINE,
    ),
    row(
        "ifca.fig3d-rises-with-m",
        bf.D_RISES,
        cells=tuple(_full(_D, "code", m=m, n=100) for m in (100, 200, 400)),
        along="m",
        finding=UNSCALED,
        **_LINE,
    ),
    row(
        "ifca.fig3d-rises-with-n",
        bf.D_RISES_WITH_N,
        cells=tuple(_full(_D, "code", m=200, n=n) for n in (50, 100, 200)),
        along="n",
        finding=UNSCALED,
        **_LINE,
    ),
)

# --- the sentences about the curves, at a tenth of n and d -------------------------------------


def _small(**more: object) -> Params:
    return {"k": 2, "m": 100, "n": 10, "d": 100, "sigma": 0.1, "scaling": "coordinate", **more}


_TENTH: dict[str, Any] = {
    "smallest_profile": "standard",
    "why_not_smaller": "a trial runs 30 times 300 iterations",
}


def trend(
    statement: Statement, _profile: Profile, *, cells: tuple[Params, ...], along: str
) -> Monotone:
    """The share of successes of some of ten starts along a parameter."""
    return Monotone(
        statement=statement,
        sampling=_sampling(64, 64),
        cells=cells,
        along=along,
        statistic=lambda table, _cell: table["success"],
        knowledge=lambda _cell: INDICATOR,
        observable="success of some of ten starts",
        failed=0.0,
    )


TRENDS = table(
    trend,
    # the figure's smallest R and larger ones
    row(
        "ifca.fig3-monotone-r",
        bf.MONOTONE_R,
        cells=tuple(_small(norm=norm) for norm in (0.1, 0.5, 2.0)),
        along="norm",
    ),
    # below, at and above the size from which the oracle succeeds
    row(
        "ifca.fig3-monotone-mn",
        bf.MONOTONE_MN,
        cells=tuple(_small(norm=1.0, m=m) for m in (40, 76, 160)),
        along="m",
    ),
    **_TENTH,
)


@claim("ifca.fig3-floor", bf.FLOOR, **_TENTH)
def floor(statement: Statement, _profile: Profile) -> MeanBound:
    """Sizes below and about that from which the oracle succeeds."""

    def explained(table: Table, cell: Params) -> FloatArray:
        oracle = table["oracle_dist"] <= 1.01 * SUCCESS * cell["sigma"]
        return np.asarray((table["success"] == 0) | oracle, dtype=np.float64)

    return MeanBound(
        statement=statement,
        sampling=_sampling(256, 16),
        cells=tuple(
            _small(norm=1.0, m=m, n_starts=2, step_sizes=[0.2], n_iterations=100) for m in (40, 70)
        ),
        statistic=explained,
        knowledge=lambda _cell: SHARE,
        observable="trials without success, or in which the oracle succeeds",
    )


@claim("ifca.fig3-snr-floor", bf.SNR_FLOOR, **_TENTH)
def snr_floor(statement: Statement, _profile: Profile) -> Rate:
    """Noise over a decade, with optima that are found.

    Ten cells leave eight degrees of freedom.  Three left one, and limits of -2 and 4.
    """
    few = {"n_starts": 3, "step_sizes": [0.1]}
    noises = (round(0.05 * 10 ** (i / 9), 3) for i in range(10))
    cells = tuple(_small(norm=2.0, sigma=sigma, **few) for sigma in noises)
    return power_law(
        statement,
        _sampling(128, 128),
        cells,
        "best_dist",
        lambda at: {"sigma": at["sigma"]},
        "the best final distance",
    )
