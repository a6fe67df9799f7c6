"""``cfl-verify export``: tables that pandas reads back with their types."""

import json
import shutil
import subprocess
from functools import partial

import pandas as pd
import pytest
from click.testing import CliRunner

from trials.run.directory import STORE_NAME
from trials.run.engine import Demand, ensure, trial_id
from trials.run.executors import make_executor
from trials.run.store import RunStore
from verify.benchmark.fits import BLOCK, FIT
from verify.cli import exits, exporting
from verify.cli.app import application

CLAIM = "ifca.k2-random-as-printed"


def call(*arguments):
    return CliRunner().invoke(application, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "run"
    assert call("run", f"{CLAIM}[d=3]", "--output", folder, "--jobs", 1).exit_code in (0, 1, 2)
    return folder


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables_are_read_with_their_types(run, kind, tmp_path):
    assert call("export", run, tmp_path / "out", "--format", kind).exit_code == 0
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet}[kind]
    claims = read(tmp_path / "out" / f"claims.{kind}")
    cells = read(tmp_path / "out" / f"cells.{kind}")
    assert claims.claim.str.startswith(CLAIM).all()
    assert claims.n_trials.dtype.kind == "i"
    assert len(cells) > 0
    assert cells.n_trials.sum() == claims.n_trials.sum()
    assert json.loads(cells.params[0])["d"] == 3
    (trials,) = (tmp_path / "out" / "trials").glob(f"*.{kind}")
    frame = read(trials)
    assert frame.columns.is_unique
    assert len(frame) >= claims.n_trials.sum()


def test_json_is_one_record_a_claim(run, tmp_path):
    assert call("export", run, tmp_path / "out", "--format", "json").exit_code == 0
    (claim,) = json.loads((tmp_path / "out" / "claims.json").read_text())
    assert claim["paper"]
    assert claim["verdict"]
    assert not (tmp_path / "out" / "trials").exists()


def test_bad_requests_are_refused_and_nothing_is_overwritten(run, tmp_path):
    assert "xls must be among csv" in call("export", run, tmp_path / "o", "--format", "xls").output
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("x")
    result = call("export", run, tmp_path / "full")
    assert result.exit_code == exits.USAGE
    assert "name a new folder" in result.output
    assert [p.name for p in (tmp_path / "full").iterdir()] == ["mine"]


def test_polars_reads_the_tables_with_their_types(run, tmp_path):
    polars = pytest.importorskip("polars")
    assert call("export", run, tmp_path / "out", "--format", "csv,parquet").exit_code == 0
    for kind, read in (("csv", polars.read_csv), ("parquet", polars.read_parquet)):
        claims = read(tmp_path / "out" / f"claims.{kind}")
        assert claims["n_trials"].dtype.is_integer()
        cells = read(tmp_path / "out" / f"cells.{kind}")
        assert cells["n_trials"].sum() == claims["n_trials"].sum()


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_r_reads_the_tables_with_their_types(run, tmp_path):
    assert call("export", run, tmp_path / "out", "--format", "csv").exit_code == 0
    script = (
        "claims <- read.csv('claims.csv'); cells <- read.csv('cells.csv');"
        "stopifnot(is.numeric(claims$n_trials), is.numeric(cells$observed),"
        " !any(duplicated(names(cells))), sum(cells$n_trials) == sum(claims$n_trials));"
        "cat(nrow(cells))"
    )
    done = subprocess.run(
        ["Rscript", "-e", script],
        cwd=tmp_path / "out",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == len(pd.read_csv(tmp_path / "out" / "cells.csv"))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_run_without_cells_has_a_table_without_rows(kind, tmp_path):
    """A run that is all searches.  The columns are those of a run with cells."""
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    cell = {"params": {"d": 3}, "n_trials": 4, "observed": 0.5}
    cell |= dict.fromkeys(("se", "lower", "upper", "bound", "ratio"))
    told = {"n_trials": 4, "n_failed": 0, "level": 0.01, "summary": ""}
    found = []
    for name, cells in (("without", []), ("with", [cell])):
        (tmp_path / name).mkdir()
        with RunStore.create(tmp_path / name / STORE_NAME, root_seed=0, config={}) as store:
            evidence = {"verdict": "SUPPORTED", "cells": cells, **told}
            store.put_document("claim", "a.b", {"evidence": evidence})
        exporting.export_run(
            run=str(tmp_path / name), destination=str(tmp_path / f"{name}-out"), formats=kind,
            claims_files=(),
        )  # fmt: skip
        read = pd.read_csv if kind == "csv" else pd.read_parquet
        found.append(read(tmp_path / f"{name}-out" / f"cells.{kind}"))
    empty, one = found
    assert len(empty) == 0
    assert len(one) == 1
    assert list(empty) == list(one)
    assert "observed" in list(empty)


def test_tables_tell_void_cells_their_relation_and_the_error_of_a_failed_claim(tmp_path):
    """A void cell, which supports nothing, was exported like any other one."""
    cell = {"params": {"d": 3}, "n_trials": 4, "observed": 0.5, "relation": "at least"}
    cell |= dict.fromkeys(("se", "lower", "upper", "bound", "ratio"))
    told = {"n_trials": 4, "n_failed": 0, "level": 0.01, "summary": "", "verdict": "SUPPORTED"}
    cells = [{**cell, "quantile": 0.75, "void": "the placebo passes"}, {**cell, "verdict": "open"}]
    with RunStore.create(tmp_path / STORE_NAME, root_seed=0, config={}) as store:
        store.put_document("claim", "a.b", {"evidence": {**told, "cells": cells}})
        store.put_document("claim", "a.c", {"evidence": {**told, "cells": [], "error": "E: x"}})
    for form, read in (
        ("csv", partial(pd.read_csv, keep_default_na=False)),
        ("json", pd.read_json),
    ):
        exporting.export_run(
            run=str(tmp_path), destination=str(tmp_path / form), formats=form, claims_files=()
        )
        found = read(tmp_path / form / f"cells.{form}")
        assert list(found.void) == ["the placebo passes", ""]
        assert list(found.relation) == ["at least"] * 2
        assert list(found.verdict) == ["", "open"]  # the cells' own, and not the claim's
        assert found["quantile"][0] in (0.75, "0.75")
        assert list(read(tmp_path / form / f"claims.{form}").error) == ["", "E: x"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_metric_that_does_not_apply_is_missing_in_tables_and_in_a_replay(kind, tmp_path):
    """It was -1, which a reader takes for a value."""
    pytest.importorskip("sklearn")
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    made = tmp_path / "run"
    cell = FIT.check({"m": 4, "n": 6, "d": 2, "k": 2, "method": "local"})
    made.mkdir()
    with (
        RunStore.create(made / STORE_NAME, root_seed=0, config={}, code={}) as store,
        make_executor("serial") as executor,
    ):
        ensure(store, [Demand(FIT, cell, 1)], executor)
        stored = store.table(FIT, cell, 1)
    assert (stored["accuracy"] == -1.0).all()  # the store's own form
    assert call("export", made, tmp_path / "out", "--format", kind).exit_code == 0
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet}[kind]
    frame = read(tmp_path / "out" / "trials" / f"benchmark.fit.{kind}")
    assert frame["accuracy"].isna().all()
    assert list(frame["status"]) == ["ok"] * BLOCK
    assert frame["error"].tolist() == stored["error"].tolist()
    assert frame["recovered"].tolist() == [0.0] * BLOCK  # a zero is a value
    told = call("replay", made, trial_id(FIT, cell, 1), "--json")
    values = json.loads(told.output)["values"]
    assert values["accuracy"] is None
    assert values["error"] == stored["error"][1]
    text = call("replay", made, trial_id(FIT, cell, 1)).output
    assert "accuracy  does not apply\n" in text
    assert "-1.0" not in text
