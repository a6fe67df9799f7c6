"""Convex clustering with sparse weights against CCMM (Touw, Groenen & Terada, 2022).

Both sides get the same points, the same weights (15 neighbours, phi = 2, circulant) and the same
penalties: 551 for half moons and the UCI sets of scikit-learn, and few, far apart, for curved
sheets in more dimensions.  Each set is run in both settings of CCMM: *scaled*, where the penalty is
in units of the data's norm, and *raw*, where it is in those of the points.  Penalties from 0 to 110
are the beginning of the path in the first one, and go far beyond its end in the second one.  Three
sets have the sizes of embedded UCI sets, and the graph of its paper (50 neighbours, unconnected).

CCMM runs where R and its package CCMMR are installed (``R_LIBS`` says where).  Without them its
columns come from ``tests/bench/ccmm.json``, and the note says so: a recorded time is that of
another run, so such a ratio is no statement about speed.  ``CFL_BENCH_RECORD=1`` writes the file.
Each side reports its own CPU time, without reading or writing data.  The sides take turns, and the
least time counts.

The notes compare the objectives.  ``excess`` is the largest of ours minus theirs over theirs.
``clusters`` counts the penalties at which the numbers of clusters differ.  Our paths stop at a gap
of 1e-8: CCMM stops where a step gains less than 1e-6, which mostly leaves more.  CCMM has no gaps,
so the rows with gaps, which stop at 1e-6, compare unlike things.  The rows "growth" give the
exponent of the growth in the number of points, between the smallest number of half moons from 1,000
on and the largest.  Their notes give the exponent of the clusters, added up over all penalties.

``CFL_BENCH_POINTS`` replaces the numbers of points, as in ``CFL_BENCH_POINTS=1000,20000``.
``CFL_BENCH_SETS`` replaces the UCI sets: names of `tests.bench.data_sets`, or paths of CSV files.
``CFL_BENCH_EMBEDDED`` replaces the drawn embeddings: banknotes, musk, gamma.
``CFL_BENCH_SHEETS`` replaces the curved sheets: points x dimensions x penalties x largest penalty,
as in ``CFL_BENCH_SHEETS=5000x7x20x120,60000x10x200x1000``.  An empty value leaves any of them out.
``CFL_BENCH_CCMM=0`` leaves CCMM out.
"""

from __future__ import annotations

import json
import math
import os
import platform
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench.data_sets import EMBEDDED, UCI, curved_sheets, half_moons, load
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
DRAWN = tuple(_listed("CFL_BENCH_EMBEDDED", "banknotes,musk"))
PENALTIES = np.linspace(0.0, 110.0, 551)
#: Relative tolerance of the path, of the rows with gaps, and the largest number of their points.
EXACT, GAP, LARGEST_WITH_GAPS = 1e-8, 1e-6, 1000
SETTINGS = ("scaled", "raw")
#: Seconds below which a time of R, in steps of a millisecond, makes no ratio to be compared.
_CLOCK = 0.02
#: CCMM's recorded columns, and each how many penalties they hold one.
RECORD, EACH = Path(__file__).with_name("ccmm.json"), 10

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
fit <- CCMMR:::.convex_clusterpath(x, keys, w, lambdas, rep(-1, size[4]), 1e-6, near, size[5] == 1,
                                   FALSE, FALSE, FALSE, FALSE, 25, 5000)
spent <- sum((proc.time() - start)[1:2])
writeBin(c(spent, fit$info_d[2, ], as.double(fit$info_i[2, ])), file.path(folder, "out"))
"""


def ccmm_is_here() -> bool:
    """Whether R and the package CCMMR are installed."""
    if os.environ.get("CFL_BENCH_CCMM") == "0" or shutil.which("Rscript") is None:
        return False
    check = ["Rscript", "-e", "quit(status = !requireNamespace('CCMMR', quietly = TRUE))"]
    return subprocess.run(check, capture_output=True).returncode == 0


def ccmm(points: Any, weights: Any, penalties: Any, setting: str) -> tuple[float, Any, Any]:
    """CPU seconds, losses and numbers of clusters of CCMM."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = np.repeat(np.arange(len(points)), np.diff(weights.indptr))
        sizes = (*points.shape, weights.nnz, penalties.size, int(setting == "scaled"))
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
    points: Any,
    weights: Any,
    kind: str,
    penalties: Any = PENALTIES,
    setting: str = "scaled",
    tolerance: float = GAP,
) -> tuple[float, SparsePath]:
    """CPU seconds and the path."""
    unit = np.linalg.norm(points) / (0.5 * weights.sum()) if setting == "scaled" else 1.0
    begin = time.process_time()
    path = sparse_convex_clustering_path(
        points,
        unit * penalties,
        weights,
        tolerance=tolerance,
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


def recorded(case: str, setting: str) -> tuple[float, Any, Any]:
    """CPU seconds, each tenth loss and number of clusters of a recorded run of CCMM, or NaN."""
    found = json.loads(RECORD.read_text())["cases"].get(f"{case}, {setting}")
    if found is None:
        return math.nan, np.full(1, np.nan), np.full(1, np.nan)
    return found["seconds"], np.array(found["losses"]), np.array(found["clusters"])


def record(case: str, setting: str, columns: tuple[float, Any, Any]) -> None:
    """Write CCMM's columns of a live run to the recorded ones, with versions and processor."""
    kept = json.loads(RECORD.read_text()) if RECORD.exists() else {"cases": {}}
    versions = "cat(R.version.string, '; CCMMR', format(packageVersion('CCMMR')))"
    r = subprocess.run(["Rscript", "-e", versions], capture_output=True, text=True, check=True)
    kept["software"] = r.stdout.strip()
    cpu = Path("/proc/cpuinfo")
    models = [line for line in cpu.read_text().splitlines() if line.startswith("model name")]
    kept["processor"] = models[0].partition(": ")[2] if models else platform.processor()
    seconds, losses, clusters = columns
    kept["cases"][f"{case}, {setting}"] = {
        "seconds": round(seconds, 4),
        "losses": [float(f"{x:.10g}") for x in losses[::EACH]],
        "clusters": clusters[::EACH].astype(int).tolist(),
    }
    RECORD.write_text(json.dumps(kept, indent=1).replace("\n    ", " ") + "\n")


def agreement(path: SparsePath, unit: float, losses: Any, clusters: Any) -> str:
    """A note: how our objectives, over ``unit``, and counts differ from CCMM's columns."""
    each = 1 if losses.size == path.penalties.size else EACH
    primal, count = path.primal[::each] / unit, path.n_clusters[::each]
    if losses.size != primal.size:
        return "no columns of CCMM"
    excess = (primal[1:] - losses[1:]) / losses[1:]
    apart = int((count != clusters).sum())
    return f"excess {excess.max():.1e}, mean {excess.mean():.1e}; clusters {apart}"


def compare(
    points: Any,
    kind: str,
    case: str,
    here: bool,
    penalties: Any = PENALTIES,
    *,
    setting: str = "scaled",
    weights: Any = None,
) -> tuple[dict[str, Any], SparsePath]:
    """The row of a data set in one setting, and our path."""
    points = points - points.mean(axis=0)
    if weights is None:
        weights = neighbour_weights(points, 15, decay=2.0, relative=True, connect="circulant")
    own = math.inf
    columns = recorded(case, setting) if not here else (math.inf, None, None)
    tolerance = EXACT if kind == "path" else GAP
    for _ in range(3 if len(points) <= 5000 else 1):
        seconds, path = ours(points, weights, kind, penalties, setting, tolerance)
        own = min(own, seconds)
        if here:
            columns = min(columns, ccmm(points, weights, penalties, setting), key=lambda x: x[0])
    if here and kind == "path" and os.environ.get("CFL_BENCH_RECORD") == "1":
        record(case, setting, columns)
    unit = float((points**2).sum()) if setting == "scaled" else 1.0
    note = agreement(path, unit, *columns[1:])
    if not here and math.isfinite(columns[0]):
        note += "; CCMM's time is recorded"
    if kind != "path":
        share = path.gap[1:] / path.primal[1:]
        note += f"; gap {share.max():.1e}, median {np.median(share):.1e}"
        note += f", {path.splits} splits"
    row = {
        "benchmark": f"{kind}, {setting}",
        "case": case,
        "ours": own,
        "other": columns[0],
        "ratio": columns[0] / own,
        "unit": f"CPU s for {penalties.size} penalties",
        "note": note,
        "live": here and columns[0] >= _CLOCK,
    }
    return row, path


def _half_moons(here: bool) -> list[dict[str, Any]]:
    """The rows of half moons in both settings, with gaps and splits, and the growth of each."""
    rows = []
    for setting in SETTINGS:
        own, other, clusters = {}, {}, {}
        for n in SIZES:
            for kind in KINDS if n <= LARGEST_WITH_GAPS else ("path",):
                row, path = compare(half_moons(n), kind, f"n={n}", here, setting=setting)
                rows.append(row)
                if kind == "path":
                    own[n], other[n] = row["ours"], row["other"]
                    clusters[n] = float(path.n_clusters.sum())
        ours_, theirs = growth(own), growth(other)
        rows.append(
            {
                "benchmark": "growth",
                "case": f"path, {setting}",
                "ours": ours_,
                "other": theirs,
                "ratio": theirs / ours_,
                "unit": "exponent of n",
                "note": f"clusters {growth(clusters):.2f}",
                "live": here,
            }
        )
    return rows


def run() -> list[dict[str, Any]]:
    here = ccmm_is_here()
    small = half_moons(50)
    for kind in KINDS:
        ours(small, neighbour_weights(small, 15, connect="circulant"), kind)
    rows = _half_moons(here)
    for setting in SETTINGS:
        for name in SETS:
            points = load(name)
            # once for the compilation of the kernels of these dimensions
            ours(points[:50], neighbour_weights(points[:50], 15, connect="circulant"), "path")
            case = f"{Path(name).stem} {points.shape}"
            rows.append(compare(points, "path", case, here, setting=setting)[0])
        for name in DRAWN:
            points = EMBEDDED[name]()
            points = points - points.mean(axis=0)
            weights = neighbour_weights(points, 50, decay=2.0)
            case = f"like {name} {points.shape}"
            rows.append(compare(points, "path", case, here, setting=setting, weights=weights)[0])
    for n, d, count, top in SHEETS:
        points = curved_sheets(n, d)
        ours(points[:200], neighbour_weights(points[:200], 15, connect="circulant"), "path")
        case = f"sheets {points.shape} to {top:g}"
        grid = np.linspace(0.0, top, count)
        rows.append(compare(points, "path", case, here, grid)[0])
    return rows
