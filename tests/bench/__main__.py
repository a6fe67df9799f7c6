"""``python -m tests.bench [NAME ...]``: run benchmarks and print one table.

Every benchmark module has ``run()``, which times both sides in this process, on one thread, and
returns rows with the keys benchmark, case, ours, other, ratio, unit, note.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
import time
from typing import Any

from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_info, threadpool_limits

import tests.bench

PREFIX = "bench_"
KEYS = ("benchmark", "case", "ours", "other", "ratio", "unit", "note")


def available() -> list[str]:
    """Names of the benchmark modules, without their prefix."""
    modules = pkgutil.iter_modules(tests.bench.__path__)
    return sorted(m.name.removeprefix(PREFIX) for m in modules if m.name.startswith(PREFIX))


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def main(names: list[str]) -> int:
    """Run the named benchmarks, all by default.  An unknown name prints the valid ones."""
    unknown = sorted(set(names) - set(available()))
    if unknown:
        known = ", ".join(available())
        print(f"error: unknown benchmark {unknown[0]!r}; known: {known}", file=sys.stderr)
        return 3
    if "OPENBLAS_CORETYPE" in os.environ:
        print("error: unset OPENBLAS_CORETYPE: it slows NumPy's BLAS only", file=sys.stderr)
        return 3
    console = Console(width=None if sys.stdout.isatty() else 160)
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
    blas = {f"{i['internal_api']} {i.get('architecture', '')}" for i in threadpool_info()}
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg()) if hasattr(os, "getloadavg") else "?"
    console.print(f"one thread; BLAS {', '.join(sorted(blas))}; load averages {load}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
