"""The figures of ODCL's claims: trees of the clusterpath, errors, phases, floats sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bounds.statement import Statement, evaluate
from trials.clustering.convex import convex_clustering_path
from trials.clustering.selection import recovery_interval
from trials.experiments.odcl.linear import DESIGNS, ROUNDS, draw
from trials.experiments.odcl.neighbours import NEIGHBOURS
from trials.experiments.odcl.one_shot import users
from trials.local_erm import least_squares
from trials.run.cell import Params
from trials.run.store import Table
from verify.claims.odcl.data_sets import Clustered
from verify.claims.odcl.windows import window
from verify.evidence import EvidenceTable, Figure, Series
from verify.procedures.base import BoolArray, Observed, Presentation
from verify.procedures.pages import curves, of_finished, phase_diagram, spread

SAMPLES = "samples of a user $n$ (count)"
ERROR = "normalised squared error (dimensionless)"
_PENALTIES = 60  # of a tree, beside its breakpoints


def tree(data: Clustered, marks: Mapping[str, float], title: str, caption: str) -> Figure:
    """The path of convex clustering with the exact interval of penalties that recovers ``data``.

    Points in several dimensions are shown by their coordinate on the axis along which the cluster
    means vary most.  ``marks`` are further penalties, by their label.
    """
    around = data.centres - data.points.mean(axis=0)
    axis = np.linalg.svd(around, full_matrices=False)[2][0] if data.points.shape[1] > 1 else [1.0]
    path = convex_clustering_path(data.points)
    last = float(path.breakpoints[-1])
    grid = np.unique(np.concatenate([np.linspace(0.0, 1.05 * last, _PENALTIES), path.breakpoints]))
    solved = [path.solve(float(penalty)) for penalty in grid]
    heights = np.array([(fit.centres @ np.asarray(axis))[fit.labels] for fit in solved])
    named: set[int] = set()
    series = []
    for i, j in enumerate(data.labels.tolist()):
        series.append(
            Series(
                label="" if j in named else f"cluster {j + 1}",
                x=grid.tolist(),
                y=heights[:, i].tolist(),
                style="line",
                group=f"cluster {j + 1}",
            )
        )
        named.add(j)
    found = window(data)
    recovers = (found.fused.high, found.merged.low)
    spans = [(*recovers, "shows the clusters")] if recovers[0] < recovers[1] else []
    return Figure(
        name="clusterpath",
        title=title,
        xlabel="penalty $\\lambda$ (units of the data)",
        ylabel="solution $u_i^\\star$ (units of the data)",
        series=series,
        vlines=[(float(x), name) for name, x in marks.items()],
        spans=spans,
        caption=caption
        + (
            f" The clusters are shown from $\\lambda={recovers[0]:.3g}$ on and below "
            f"${recovers[1]:.3g}$."
            if spans
            else " No penalty shows the clusters."
        ),
    )


def fits_tree(params: Params, seed: int = 0) -> Figure:
    """The tree of one data set of the linear experiment, with the interval (13) of the truth."""
    features, responses, _, truth = draw(params, np.random.default_rng(seed))
    data = Clustered(least_squares(features, responses).theta, truth)
    interval = recovery_interval(data.points[None], data.labels[None])
    marks = {"(13), lower": float(interval.lower[0]), "(13), upper": float(interval.upper[0])}
    return tree(
        data,
        marks,
        f"The path of the users' local fits with $n={params['n']}$ samples",
        f"One data set of the design, drawn apart from the trials. A curve is one of the "
        f"{data.m} users, shown on the axis along which the clusters differ most.",
    )


def error_curves(observed: Sequence[Observed]) -> Presentation:
    """Figure 2: the errors of all one-shot methods and of the oracles against n."""
    return Presentation(
        figures=(
            curves(
                observed,
                "n",
                {
                    "Cluster Oracle": "pooled",
                    "Oracle Averaging": "averaging",
                    "ODCL-KM++, ten starts": "km_ten",
                    "ODCL-KM++, one start": "km",
                    "ODCL-CC": "cc",
                    "local fits": "local",
                    "mean of all fits": "naive",
                },
                name="errors",
                title="Error against samples",
                xlabel=SAMPLES,
                ylabel=ERROR,
            ),
        )
    )


def cluster_counts(observed: Sequence[Observed]) -> Presentation:
    """Figure 4, right: the number of clusters against n, by the three rules for the penalty."""
    return Presentation(
        figures=(
            curves(
                observed,
                "n",
                {
                    "penalty of D.1": "cc_clusters",
                    "clusterpath, (13) checked": "path_clusters",
                    "clusterpath as printed": "printed_clusters",
                },
                name="clusters",
                title="Clusters found against samples",
                xlabel=SAMPLES,
                ylabel="clusters $K'$ (count)",
                caption="The truth is four.",
            ),
            fits_tree(observed[-1].params),
        )
    )


def recovery_phases(
    statement: Statement, observed: Sequence[Observed], column: str, event: str
) -> Presentation:
    """Where the clusters are found, over n D^2 and the smallest cluster's share of the users."""

    def share(cell: Params) -> float:
        return users(cell) / float(cell["size_min"])

    def scaled(cell: Params) -> float:
        return float(cell["n"] * (cell["Delta"] / cell["sigma"]) ** 2)

    def success(table: Table, _cell: Params) -> BoolArray:
        return np.asarray(table[column] > 0.5)

    def stated(cell: Params) -> float:
        at = {**cell, "m": float(users(cell)), "Delta": 1.0}
        return float(evaluate(statement.expr, at))

    shapes = {share(o.params): o.params for o in observed}  # one cell a share
    ratios = sorted(shapes)
    order = Series(
        label="stated order, constant one",
        x=[stated(shapes[ratio]) for ratio in ratios],
        y=ratios,
        style="line",
    )
    return Presentation(
        figures=(
            phase_diagram(
                observed,
                success,
                event,
                x=scaled,
                y=share,
                group=lambda cell: f"$D={cell['Delta']:g}$",
                xlabel="$nD^2/\\sigma^2$ (dimensionless)",
                ylabel="$m/|C_{(K)}|$ (dimensionless)",
                lines=[order],
                caption="The separations have marks of their own. The clusters' sizes differ where "
                "marks of one separation lie side by side.",
            ),
        )
    )


@of_finished
def floats_sent(observed: Sequence[Observed]) -> Presentation:
    """Error against the floats of a user: IFCA after the listed rounds, and ODCL after its one."""

    def series(label: str, o: Observed, sent: Mapping[str, float]) -> Series:
        values = [o.table[name] for name in sent]
        return spread(label, list(sent.values()), values)

    def floats(cell: Params) -> dict[str, float]:
        a_round = float(cell["d"] * (len(DESIGNS[cell["optima"]]) + 1))  # K models down, one up
        return {f"round_{r}": r * a_round for r in (20, 70, 120)}

    full = [Observed(params=ROUNDS.check(o.params), table=o.table) for o in observed]
    drawn = [series(f"IFCA, step {o.params['step']:g}", o, floats(o.params)) for o in full]
    once = series("ODCL, one round", full[0], {"one_shot": 2.0 * full[0].params["d"]})
    return Presentation(
        figures=(
            Figure(
                name="floats",
                title="Error against floats sent",
                xlabel="floats sent and received by a user (count)",
                ylabel=ERROR,
                xscale="log",
                yscale="log",
                series=[*drawn, once],
                caption="IFCA after 20, 70 and 120 rounds. Points are means of the trials, bars "
                "reach from their 5th to their 95th percentile. A round of IFCA sends every model "
                "to a user and one model back; ODCL sends one model each way.",
            ),
        )
    )


@of_finished
def many_users(observed: Sequence[Observed]) -> Presentation:
    """Errors against floats sent in each cell, with the shares of exact recoveries."""
    full = [Observed(params=NEIGHBOURS.check(o.params), table=o.table) for o in observed]
    methods = {
        "nearest neighbours": "neighbours",
        "equal weights, all send": "uniform",
        "equal weights, subsample sends": "asked",
        "K-means++, ten starts": "km",
        "means of the true clusters": "oracle",
        "local fits": "local",
    }

    def mean(o: Observed, column: str) -> float:
        return float(o.table[column].mean())

    def cell(o: Observed) -> str:
        return f"n={o.params['n']}, smallest {o.params['size_min']} of {o.params['m']}"

    rows: list[tuple[str | float, ...]] = [
        (
            cell(o),
            *(mean(o, f"{name}_same") for name in ("neighbours", "uniform", "km")),
            mean(o, "parts"),
            *(mean(o, kind) for kind in ("sent", "received", "asked_sent", "asked_received")),
        )
        for o in full
    ]
    places = list(range(1, len(full) + 1))
    return Presentation(
        tables=(
            EvidenceTable(
                title="Exact recoveries (share of trials), parts of the graph, floats of all users",
                columns=(
                    "cell",
                    "neighbours",
                    "equal weights",
                    "K-means++",
                    "parts",
                    "sent",
                    "received",
                    "subsample sends",
                    "then received",
                ),
                rows=rows,
            ),
        ),
        figures=(
            Figure(
                name="users",
                title="Error of the methods in each cell",
                xlabel="cell, in the order of the table (number)",
                ylabel="users' mean squared error (squared separations)",
                yscale="log",
                series=[
                    spread(label, places, [o.table[column] for o in full])
                    for label, column in methods.items()
                ],
                caption="Points are means of the trials, bars reach from their 5th to their 95th "
                "percentile. All methods but the one of the subsample send every local fit.",
            ),
        ),
    )
