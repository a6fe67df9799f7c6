"""``export``: a run as tidy tables for pandas, polars, R and other programs.

=================  =============================================================================
``claims``         a row a claim: id, paper, source, kind, verdict, level, trials, error
``cells``          a row a cell of a claim: parameters as JSON, observed value, limits, bound,
                   ratio, and the reason why a void cell supports nothing
``trials/NAME``    a row a trial of the experiment NAME: its parameters, outcome and columns
=================  =============================================================================

An empty field, or null in Parquet, stands where a metric of a benchmark's fit does not apply, such
as the accuracy of a linear response, and in the row of a trial that failed.  ``status`` tells the
two apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trials.checks import InvalidParameter
from trials.run.directory import STORE_NAME, find_run
from trials.run.store import RunStore, StoreError
from trials.run.store.export import for_spreadsheets
from verify.benchmark.marks import MARKS
from verify.cli.screen import as_json, say
from verify.cli.signals import interruptible
from verify.cli.verdicts import mark
from verify.stored import claim_documents

if TYPE_CHECKING:
    import pandas as pd

FORMATS = ("csv", "parquet", "json")
_MEASURES = {
    "n_trials": "Int64", "n_failed": "Int64", "observed": "Float64", "se": "Float64",
    "lower": "Float64", "upper": "Float64", "bound": "Float64", "ratio": "Float64",
    "quantile": "Float64",
}  # fmt: skip


def export_run(*, run: str, destination: str, formats: str, claims_files: Sequence[str]) -> None:
    """Write the tables of a run into a new folder."""
    del claims_files
    wanted = tuple(dict.fromkeys(part.strip() for part in formats.split(",") if part.strip()))
    unknown = [name for name in wanted if name not in FORMATS]
    if unknown or not wanted:
        raise InvalidParameter(
            f"--format {', '.join(unknown) or '(none)'} must be among {', '.join(FORMATS)}"
        )
    if not destination or not destination.isprintable():
        raise InvalidParameter(f"DEST={destination!r} must name a new folder")
    folder = Path(destination)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StoreError(f"{folder}: exists already; name a new folder")
    interruptible()
    with RunStore.open(find_run(run) / STORE_NAME, readonly=True) as store:
        documents = claim_documents(store)
        if "csv" in wanted:
            store.export_csv(folder / "trials", MARKS)
        if "parquet" in wanted:
            store.export_parquet(folder / "trials", MARKS)
    folder.mkdir(parents=True, exist_ok=True)
    for name, table, types in (
        ("claims", _claims, {"level": "Float64", "n_trials": "Int64"}),
        ("cells", _cells, _MEASURES),
    ):
        # a run of searches has no cells: its table has the columns and no row
        (example,) = table({"": {"evidence": {"verdict": "", "cells": [{}]}}})
        _write(folder / name, list(table(documents)), list(example), types, wanted)
    say(f"exported to {folder}")


def _claims(documents: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for name, document in documents.items():
        evidence = document.get("evidence") or {}
        yield {
            "claim": name,
            "paper": document.get("paper", ""),
            "source": document.get("source", ""),
            "title": document.get("title", ""),
            "kind": document.get("kind", ""),
            "verdict": evidence.get("verdict", ""),
            "mark": mark(document),
            "expected": document.get("expected", ""),
            "grade": evidence.get("grade", ""),
            "level": evidence.get("level"),
            "n_trials": evidence.get("n_trials"),
            "n_failed": evidence.get("n_failed"),
            "summary": evidence.get("summary", ""),
            "error": evidence.get("error", ""),
        }


def _cells(documents: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for name, document in documents.items():
        for i, cell in enumerate((document.get("evidence") or {}).get("cells") or ()):
            yield {
                "claim": name,
                "cell": i,
                "params": json.dumps(cell.get("params", {}), sort_keys=True),
                **{key: cell.get(key) for key in _MEASURES},
                "relation": cell.get("relation", ""),
                "verdict": cell.get("verdict", ""),
                "void": cell.get("void", ""),
                "note": cell.get("note", ""),
            }


def _frame(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], types: Mapping[str, str]
) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame(list(rows)) if rows else pd.DataFrame(columns=list(columns))
    return frame.astype({name: kind for name, kind in types.items() if name in frame})


def _write(
    path: Path,
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    types: Mapping[str, str],
    formats: Sequence[str],
) -> None:
    frame = _frame(rows, columns, types)
    if "csv" in formats:
        for_spreadsheets(frame).to_csv(path.with_suffix(".csv"), index=False)
    if "parquet" in formats:
        frame.to_parquet(path.with_suffix(".parquet"), index=False)
    if "json" in formats:
        # not by pandas, which cuts a number after ten decimals: a bound of 1e-12 becomes zero
        path.with_suffix(".json").write_text(as_json(rows), "utf-8")
