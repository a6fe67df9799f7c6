"""``python -m tests.bench [--record] [NAME ...]``: run benchmarks and print one table.

Every benchmark module has ``run()``, which times both sides in this process, on one thread, and
returns rows with the keys benchmark, case, ours, other, ratio, unit, note.

``tests/bench/ratios.json`` holds the ratios of an earlier run.  A row whose ratio is more than 15 %
below its recorded one ends the command with status 1, if a second run of the benchmark shows it
again.  ``--record`` writes the ratios of the rows that are run, and keeps the others.  A row with
``live`` false has an other side from another run, and is neither recorded nor compared.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import pkgutil
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_info, threadpool_limits

import tests.bench

PREFIX = "bench_"
KEYS = ("benchmark", "case", "ours", "other", "ratio", "unit", "note")

#: The recorded ratios, and how far a ratio may fall below its own.
RATIOS, ALLOWED = Path(__file__).with_name("ratios.json"), 0.15


def available() -> list[str]:
    """Names of the benchmark modules, without their prefix."""
    modules = pkgutil.iter_modules(tests.bench.__path__)
    return sorted(m.name.removeprefix(PREFIX) for m in modules if m.name.startswith(PREFIX))


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def ratios(rows: list[dict[str, Any]]) -> dict[str, float]:
    """The ratios of the rows whose two sides ran now."""
    return {
        f"{row['benchmark']}: {row['case']}": float(f"{row['ratio']:.3g}")
        for row in rows
        if row.get("live", True) and math.isfinite(row["ratio"])
    }


def regressions(now: dict[str, float], kept: dict[str, float]) -> list[str]:
    """A line for each ratio that fell by more than `ALLOWED` below the one that is kept."""
    return [
        f"{name}: ratio {now[name]:.3g}, recorded {kept[name]:.3g}"
        for name in sorted(now.keys() & kept.keys())
        if now[name] < (1.0 - ALLOWED) * kept[name]
    ]


def _compare(name: str, module: Any, rows: list[dict[str, Any]], *, record: bool) -> list[str]:
    """Record the ratios of a benchmark, or return those that fell in two runs of it."""
    kept = json.loads(RATIOS.read_text()) if RATIOS.exists() else {}
    now = ratios(rows)
    if record:
        kept[name] = kept.get(name, {}) | now  # a run of other sizes keeps the rows of this one
        RATIOS.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
        return []
    fallen = regressions(now, kept.get(name, {}))
    if fallen:
        with threadpool_limits(1):
            again = ratios(module.run())
        best = {key: max(value, again.get(key, value)) for key, value in now.items()}
        fallen = regressions(best, kept[name])
    return fallen


def main(names: list[str]) -> int:
    """Run the named benchmarks, all by default.  An unknown name prints the valid ones."""
    record = "--record" in names
    names = [name for name in names if name != "--record"]
    unknown = sorted(set(names) - set(available()))
    if unknown:
        known = ", ".join(available())
        print(f"error: unknown benchmark {unknown[0]!r}; known: {known}", file=sys.stderr)
        return 3
    if "OPENBLAS_CORETYPE" in os.environ:
        print("error: unset OPENBLAS_CORETYPE: it slows NumPy's BLAS only", file=sys.stderr)
        return 3
    console = Console(width=None if sys.stdout.isatty() else 160)
    fallen: list[str] = []
    for name in names or available():
        module = importlib.import_module(f"tests.bench.{PREFIX}{name}")
        begin = time.perf_counter()
        with threadpool_limits(1):
            rows = module.run()
        table = Table(title=f"{name} ({time.perf_counter() - begin:.0f} s)", pad_edge=False)
        for key in KEYS:
            table.add_column(key, justify="right" if key in ("ours", "other", "ratio") else "left")
        for row in rows:
            table.add_row(*(_cell(row[key]) for key in KEYS))
        console.print(table)
        fallen += _compare(name, module, rows, record=record)
    blas = {f"{i['internal_api']} {i.get('architecture', '')}" for i in threadpool_info()}
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg()) if hasattr(os, "getloadavg") else "?"
    console.print(f"one thread; BLAS {', '.join(sorted(blas))}; load averages {load}")
    for line in fallen:
        print(f"slower than recorded: {line}", file=sys.stderr)
    return 1 if fallen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
