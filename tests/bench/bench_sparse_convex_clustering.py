"""Convex clustering with sparse weights against CCMM (Touw, Groenen & Terada, 2022).

Both sides get the same points, the same weights (15 neighbours, phi = 2, circulant) and the same
penalties: 551 for half moons and the UCI sets of scikit-learn, and few, far apart, for curved
sheets in more dimensions.  CCMM runs where R and
its package CCMMR are installed (``R_LIBS`` says where).  Without them its columns stay empty.  Each
side reports its own CPU time, without reading or writing data.  The sides take turns, and the least
time counts.

The notes compare the objectives, which are in the units of CCMM: half the squared distance over the
squared norm of the data.  ``excess`` is the largest of ours minus theirs over theirs.  ``clusters``
counts the penalties at which the numbers of clusters differ.  CCMM has no gaps, so the rows with
gaps compare unlike things.  The last row is the exponent of the growth in the number of points,
between the smallest number of half moons from 1,000 on and the largest.  Its note gives the
exponent of the clusters, added up over all penalties: a solver that looks at each cluster at each
penalty cannot grow less.

``CFL_BENCH_POINTS`` replaces the numbers of points, as in ``CFL_BENCH_POINTS=1000,20000``.
``CFL_BENCH_SETS`` replaces the UCI sets: names of `tests.bench.data_sets`, or paths of CSV files.
``CFL_BENCH_SHEETS`` replaces the curved sheets: points x dimensions x penalties x largest penalty,
as in ``CFL_BENCH_SHEETS=5000x7x20x120,60000x10x200x1000``.  An empty value leaves any of them out.
``CFL_BENCH_CCMM=0`` leaves CCMM out.
"""

from __future__ import annotations

import math
import os
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench.data_sets import UCI, curved_sheets, half_moons, load
from trials.clustering.sparse import (
    SparsePath,
    neighbour_weights,
    sparse_convex_clustering_path,
)


def _listed(name: str, default: str) -> list[str]:
    """The parts of an environment variable between commas."""
    return [part for part in os.environ.get(name, default).split(",") if part]


SIZES = tuple(int(n) for n in _listed("CFL_BENCH_POINTS", "200,1000,5000"))
SETS = tuple(_listed("CFL_BENCH_SETS", ",".join(UCI)))
SHEETS = tuple(
    (int(n), int(d), int(count), float(top))
    for n, d, count, top in (
        part.split("x") for part in _listed("CFL_BENCH_SHEETS", "5000x7x20x120")
    )
)
PENALTIES = np.linspace(0.0, 110.0, 551)
#: Relative tolerance, and the largest number of points of the rows with gaps.
GAP, LARGEST_WITH_GAPS = 1e-6, 1000

SCRIPT = """
folder <- commandArgs(TRUE)[1]
size <- scan(file.path(folder, "size"), quiet = TRUE)
number <- function(name, what, n) readBin(file.path(folder, name), what, n)
x <- matrix(number("x", "double", size[1] * size[2]), size[2], size[1])
keys <- matrix(number("keys", "integer", 2 * size[3]), 2, size[3])
w <- number("w", "double", size[3])
lambdas <- number("lambdas", "double", size[4])
near <- CCMMR:::.fusion_threshold(x, 1e-3)
start <- proc.time()
fit <- CCMMR:::.convex_clusterpath(x, keys, w, lambdas, rep(-1, size[4]), 1e-6, near, TRUE, FALSE,
                                   FALSE, FALSE, FALSE, 25, 5000)
spent <- sum((proc.time() - start)[1:2])
writeBin(c(spent, fit$info_d[2, ], as.double(fit$info_i[2, ])), file.path(folder, "out"))
"""


def ccmm_is_here() -> bool:
    """Whether R and the package CCMMR are installed."""
    if os.environ.get("CFL_BENCH_CCMM") == "0" or shutil.which("Rscript") is None:
        return False
    check = ["Rscript", "-e", "quit(status = !requireNamespace('CCMMR', quietly = TRUE))"]
    return subprocess.run(check, capture_output=True).returncode == 0


def ccmm(points: Any, weights: Any, penalties: Any) -> tuple[float, Any, Any]:
    """CPU seconds, losses and numbers of clusters of CCMM."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = np.repeat(np.arange(len(points)), np.diff(weights.indptr))
        sizes = (*points.shape, weights.nnz, penalties.size)
        (folder / "size").write_text(" ".join(map(str, sizes)))
        points.tofile(folder / "x")
        np.stack([weights.indices, rows], axis=1).astype(np.int32).tofile(folder / "keys")
        weights.data.tofile(folder / "w")
        penalties.tofile(folder / "lambdas")
        (folder / "ccmm.R").write_text(SCRIPT)
        subprocess.run(["Rscript", str(folder / "ccmm.R"), name], check=True)
        out = np.fromfile(folder / "out")
    return float(out[0]), out[1 : 1 + penalties.size], out[1 + penalties.size :]


#: What the rows compute: arguments of `sparse_convex_clustering_path`.
KINDS: dict[str, Any] = {
    "path": {"flows": False},
    "path and gaps": {"flows": False, "gaps": True},
    "path with splits": {"flows": True},
}


def ours(
    points: Any, weights: Any, kind: str, penalties: Any = PENALTIES
) -> tuple[float, SparsePath]:
    """CPU seconds and the path."""
    unit = np.linalg.norm(points) / (0.5 * weights.sum())
    begin = time.process_time()
    path = sparse_convex_clustering_path(
        points,
        unit * penalties,
        weights,
        tolerance=GAP,
        keep_centres=False,
        **KINDS[kind],
    )
    return time.process_time() - begin, path


def growth(values: dict[int, float]) -> float:
    """The exponent of the growth from the smallest size from 1,000 on to the largest, or NaN."""
    sizes = sorted(n for n in values if n >= 1000 and math.isfinite(values[n]))
    if len(sizes) < 2:
        return math.nan
    low, high = sizes[0], sizes[-1]
    return math.log(values[high] / values[low]) / math.log(high / low)


def compare(
    points: Any, kind: str, case: str, here: bool, penalties: Any = PENALTIES
) -> tuple[dict[str, Any], SparsePath]:
    """The row of a data set, and our path."""
    points = points - points.mean(axis=0)
    weights = neighbour_weights(points, 15, decay=2.0, relative=True, connect="circulant")
    square = float((points**2).sum())
    own, other = math.inf, math.inf if here else math.nan
    note = "CCMMR is not installed"
    for _ in range(2 if len(points) <= 1000 else 1):
        seconds, path = ours(points, weights, kind, penalties)
        own = min(own, seconds)
        if here:
            seconds, losses, count = ccmm(points, weights, penalties)
            other = min(other, seconds)
            excess = (path.primal[1:] / square - losses[1:]) / losses[1:]
            apart = int((path.n_clusters != count).sum())
            note = f"excess {excess.max():.1e}, mean {excess.mean():.1e}; clusters {apart}"
    if kind != "path":
        share = path.gap[1:] / path.primal[1:]
        note += f"; gap {share.max():.1e}, median {np.median(share):.1e}"
        note += f", {path.splits} splits"
    row = {
        "benchmark": kind,
        "case": case,
        "ours": own,
        "other": other,
        "ratio": other / own,
        "unit": f"CPU s for {penalties.size} penalties",
        "note": note,
    }
    return row, path


def run() -> list[dict[str, Any]]:
    here = ccmm_is_here()
    rows = []
    small = half_moons(50)
    for kind in KINDS:
        ours(small, neighbour_weights(small, 15, connect="circulant"), kind)
    own_seconds, other_seconds, clusters = {}, {}, {}
    for n in SIZES:
        for kind in KINDS if n <= LARGEST_WITH_GAPS else ("path",):
            row, path = compare(half_moons(n), kind, f"n={n}", here)
            rows.append(row)
            if kind == "path":
                own_seconds[n], other_seconds[n] = row["ours"], row["other"]
                clusters[n] = float(path.n_clusters.sum())
    for name in SETS:
        points = load(name)
        # once for the compilation of the kernels of these dimensions
        ours(points[:50], neighbour_weights(points[:50], 15, connect="circulant"), "path")
        rows.append(compare(points, "path", f"{Path(name).stem} {points.shape}", here)[0])
    for n, d, count, top in SHEETS:
        points = curved_sheets(n, d)
        ours(points[:200], neighbour_weights(points[:200], 15, connect="circulant"), "path")
        case = f"sheets {points.shape} to {top:g}"
        grid = np.linspace(0.0, top, count)
        rows.append(compare(points, "path", case, here, grid)[0])
    own, other = growth(own_seconds), growth(other_seconds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    rows.append(
        {
            "benchmark": "growth",
            "case": "path",
            "ours": own,
            "other": other,
            "ratio": other / own,
            "unit": "exponent of n",
            "note": f"clusters {growth(clusters):.2f}; peak memory of our side {peak:.2f} GB",
        }
    )
    return rows
