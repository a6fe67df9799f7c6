"""Every command about a run whose numbers are known in advance, because its trials are counted.

The expected numbers are worked out here from the rule of `counted_paper`: of sixteen trials ``k``
are bad and one fails, which counts as bad as well.
"""

from __future__ import annotations

import csv
import html
import io
import json
import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from reports.assemble import build
from trials.run.directory import STORE_NAME
from trials.run.store import RunStore
from verify.cli.app import application

PAPER = Path(__file__).with_name("counted_paper.py")
N, BLOCK = 128, 16
#: Claim -> the bound of each of its cells, by k, in the order of the cells.
BOUNDS = {
    "counted.kept": {1: Fraction(3, 5), 2: Fraction(4, 5)},
    "counted.broken": {8: Fraction(1, 10), 1: Fraction(1, 80)},
    "counted.near": {8: Fraction(1, 2)},
}
VERDICTS = {
    "counted.kept": "SUPPORTED",
    "counted.broken": "REFUTED",
    "counted.near": "INCONCLUSIVE",
}
EXPECTED = {**VERDICTS, "counted.near": "SUPPORTED"}
WORST = {"counted.kept": 2, "counted.broken": 1, "counted.near": 8}
#: Three papers ship with the program, and this is the fourth.
LEVEL = 0.05 / 4 / len(BOUNDS)


def share(k: int) -> Fraction:
    """The share of trials that count as bad."""
    return Fraction(k + 1, BLOCK)


def ratio(name: str, k: int) -> Fraction:
    return share(k) / BOUNDS[name][k]


def error(k: int) -> float:
    """The standard error of a share of all trials."""
    return math.sqrt(share(k) * (1 - share(k)) / N)


def invoke(*arguments, code=0):
    result = CliRunner(env={"COLUMNS": None}).invoke(application, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("counted")


@pytest.fixture(scope="module")
def run(folder):
    """The run's directory, and what it printed."""
    flags = ["--claims", PAPER, "--executor", "serial"]
    return folder / "run", invoke("run", "counted.*", *flags, "--output", folder / "run", code=2)


def is_cell(cell, name, k):
    """A cell as plain data, JSON's or a table's."""
    assert (cell["n_trials"], cell["n_failed"]) == (N, N // BLOCK)
    for field, value in (
        ("observed", share(k)),
        ("bound", BOUNDS[name][k]),
        ("ratio", ratio(name, k)),
        ("se", error(k)),
    ):
        assert float(cell[field]) == pytest.approx(float(value), rel=1e-9), field
    assert float(cell["lower"]) < float(share(k)) < float(cell["upper"])
    assert cell["verdict"] == VERDICTS[name]
    if VERDICTS[name] != "REFUTED":
        assert (float(cell["upper"]) <= BOUNDS[name][k]) == (VERDICTS[name] == "SUPPORTED")
    assert (float(cell["lower"]) > BOUNDS[name][k]) == (VERDICTS[name] == "REFUTED")


def test_a_line_a_claim_shows_the_cell_with_the_largest_ratio(run):
    lines = {line.split()[0]: line.split("  ") for line in run[1].splitlines() if "failed" in line}
    assert list(lines) == list(BOUNDS)
    for name, line in lines.items():
        cells, k = len(BOUNDS[name]), WORST[name]
        assert k == max(BOUNDS[name], key=lambda each: ratio(name, each))
        words = [part.strip() for part in line[1:] if part.strip()]
        assert words[:6] == [
            f"{cells * N}",
            f"failed {cells * N // BLOCK}",
            f"observed {float(share(k)):.3g} ± {error(k):.2g}",
            f"bound {float(BOUNDS[name][k]):.3g}",
            f"ratio {float(ratio(name, k)):.2g}",
            VERDICTS[name],
        ]
        wrong = [] if EXPECTED[name] == VERDICTS[name] else [f"(expected {EXPECTED[name]})"]
        assert words[6:] == wrong


def test_the_closing_table_has_the_unexpected_claim_last_and_the_tally_counts(run):
    closing = run[1].split("Verdicts\n")[1].splitlines()
    assert [line.split()[0] for line in closing[1:4]] == list(BOUNDS)
    assert [line.split()[1] for line in closing[1:4]] == list(VERDICTS.values())
    assert "(expected SUPPORTED)" in closing[3]
    assert "3 claims: 1 SUPPORTED, 1 REFUTED, 1 INCONCLUSIVE" in closing
    assert "1 not as expected: counted.near" in closing
    assert f"run directory: {run[0]}" in closing
    # the worst count of the refuted claim, its limit and its bound
    assert "2 of 2 cells exceed delta; worst: 72/128," in closing[2]
    assert closing[2].endswith("against delta=0.1")
    assert closing[3].endswith("1 of 1 cells unresolved: 72/128 bad is too close to 0.5")


def test_a_run_as_json_has_the_same_numbers_and_nothing_else_on_its_output(folder):
    flags = ["--claims", PAPER, "--executor", "serial", "--json"]
    data = json.loads(invoke("run", "counted.*", *flags, "--output", folder / "json", code=2))
    assert (data["seed"], data["level"], data["profile"]) == (0, 0.05, "quick")
    assert (data["run"], data["exit_code"]) == (str(folder / "json"), 2)
    assert [claim["claim"] for claim in data["claims"]] == list(BOUNDS)
    for claim in data["claims"]:
        name = claim["claim"]
        cells = len(BOUNDS[name])
        assert (claim["n_trials"], claim["n_failed"]) == (cells * N, cells * N // BLOCK)
        assert (claim["verdict"], claim["expected"]) == (VERDICTS[name], EXPECTED[name])
        assert claim["mark"] == claim["verdict"]
        assert claim["as_expected"] is (VERDICTS[name] == EXPECTED[name])
        assert claim["level"] == pytest.approx(LEVEL)
        assert claim["worst_cell"]["params"] == {"k": WORST[name]}
        is_cell(claim["worst_cell"], name, WORST[name])
        rerun, *replays = claim["replay"]
        assert rerun.startswith(f"cfl-verify run {name} --claims ")
        assert rerun.endswith(" --profile quick --seed 0 --level 0.05")
        assert len(replays) == (VERDICTS[name] == "REFUTED")


def test_the_status_counts_every_stored_trial_once(run):
    """Five cells of claims are three of the experiment."""
    data = json.loads(invoke("status", run[0], "--json"))
    assert data["claims"] == VERDICTS
    assert (data["decided"], data["seed"], data["level"]) == (3, 0, 0.05)
    (row,) = data["experiments"]
    assert (row["experiment"], row["cells"]) == ("counted.trials", 3)
    assert (row["trials"], row["failed"]) == (3 * N, 3 * N // BLOCK)
    text = invoke("status", run[0]).splitlines()
    assert text[0].endswith("profile quick  seed 0  3/3 claims decided")
    assert [line.split() for line in text[1:4]] == [list(pair) for pair in VERDICTS.items()]
    fields = text[-1].split()
    assert fields[:4] == ["counted.trials", "3", f"{3 * N}", f"{3 * N // BLOCK}"]
    assert fields[5] == row["trial"]


def test_a_replayed_trial_has_the_counted_value(run):
    first = json.loads(invoke("status", run[0], "--json"))["experiments"][0]["trial"]
    cell = first.rpartition(":")[0]
    for index, value, status in ((0, 1.0, "ok"), (14, 0.0, "ok"), (31, None, "diverged")):
        found = json.loads(invoke("replay", run[0], f"{cell}:{index}", "--json"))
        assert found["values"] == {"bad": value}
        assert found["status"].partition(":")[0] == status
        assert (found["identical"], found["distance"]) == (True, 0.0)


def table(path):
    return list(csv.DictReader(io.StringIO(path.read_text())))


def test_the_exported_tables_have_a_row_a_claim_a_cell_and_a_trial(run, folder):
    invoke("export", run[0], folder / "tables", "--format", "csv,json")
    claims = table(folder / "tables" / "claims.csv")
    assert {row["claim"]: row["verdict"] for row in claims} == VERDICTS
    assert {row["claim"]: row["expected"] for row in claims} == EXPECTED
    for row in claims:
        cells = len(BOUNDS[row["claim"]])
        assert int(row["n_trials"]) == cells * N
        assert int(row["n_failed"]) == cells * N // BLOCK
        assert float(row["level"]) == pytest.approx(LEVEL)
    cells = table(folder / "tables" / "cells.csv")
    told = json.loads((folder / "tables" / "cells.json").read_text())
    assert len(cells) == len(told) == 5
    for row, same in zip(cells, told, strict=True):
        name, k = row["claim"], json.loads(row["params"])["k"]
        assert list(BOUNDS[name])[int(row["cell"])] == k
        is_cell(
            {**row, "n_trials": int(row["n_trials"]), "n_failed": int(row["n_failed"])}, name, k
        )
        assert (same["claim"], same["params"]) == (name, row["params"])
        is_cell(same, name, k)
    trials = table(folder / "tables" / "trials" / "counted.trials.csv")
    assert len(trials) == 3 * N
    for k in (1, 2, 8):
        own = [row for row in trials if int(row["k"]) == k]
        assert [int(row["trial"]) for row in own] == list(range(N))
        for i, row in enumerate(own):
            assert int(row["block"]) == i // BLOCK
            assert row["status"] == ("diverged" if i % BLOCK == BLOCK - 1 else "ok")
            assert bool(row["reason"]) is (row["status"] != "ok")
            assert row["bad"] == ("" if row["reason"] else str(float(i % BLOCK < k)))


@pytest.fixture
def copied(run, tmp_path):
    """A copy of the run, and how to multiply an observed value of one of its cells."""
    invoke("copy", run[0], tmp_path / "copy")

    def change(name, position, factor):
        with RunStore.open(tmp_path / "copy" / STORE_NAME) as store:
            document = store.document("claim", name)
            document["evidence"]["cells"][position]["observed"] *= factor
            store.put_document("claim", name, document)

    return tmp_path / "copy", change


def test_a_check_says_rounding_only_where_nothing_else_differs(run, copied):
    directory, change = copied
    last = invoke("check", directory, "--against", run[0]).splitlines()[-1]
    assert last == "no difference"
    change("counted.kept", 0, 1 + 1e-9)
    line = invoke("check", directory, "--against", run[0], "--rtol", "1e-6").splitlines()[-1]
    assert line == "no difference beyond rounding: relative differences up to 1.0e-09"
    change("counted.near", 0, 1.5)
    lines = invoke("check", directory, "--against", run[0], "--rtol", "1e-6", code=1).splitlines()
    assert lines[-1] == "1 difference"
    assert lines[-2].startswith('counted.near: {"k": 8}: observed 0.84375, baseline 0.5625 ')
    change("counted.broken", 1, 1 + 1e-5)
    data = json.loads(
        invoke("check", directory, "--against", run[0], "--rtol", "1e-6", "--json", code=1)
    )
    assert [line.split(":")[0] for line in data["differences"]] == [
        "counted.broken",
        "counted.near",
    ]
    assert data["distance"] == pytest.approx(1e-9, rel=1e-3)


def test_claims_are_listed_and_told_with_what_they_state(run):
    del run
    listed = json.loads(invoke("list", "--claims", PAPER, "--paper", "counted", "--json"))
    assert {row["id"]: row["expected"] for row in listed} == EXPECTED
    refuted = invoke("list", "--claims", PAPER, "--paper", "counted", "--verdict", "REFUTED")
    assert [line.split()[0] for line in refuted.splitlines() if "counted." in line] == [
        "counted.broken"
    ]
    told = invoke("info", "counted.broken", "--claims", PAPER)
    assert "P(S) ≤ k/80" in told
    assert "k: 1, 8" in told


# -- the report ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(run, folder):
    """Page -> its words, without marks, drawings and formulas."""
    build(run[0], out_dir=folder / "report", formats=("html",))
    pages = {}
    for path in (folder / "report").rglob("*.html"):
        text = re.sub(r"<(script|style|svg|math).*?</\1>", " ", path.read_text("utf-8"), flags=re.S)
        pages[path.stem] = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())
    return pages, folder / "report"


def digits(value: Fraction | float, n: int) -> str:
    return f"{float(value):.{n}g}"


@pytest.mark.parametrize("name", BOUNDS)
def test_the_page_of_a_claim_has_the_numbers_of_its_cells_the_worst_first(site, name):
    pages, folder = site
    cells = len(BOUNDS[name])
    failed = N // BLOCK
    page = pages[name]
    wrong = "" if EXPECTED[name] == VERDICTS[name] else f"expected {EXPECTED[name]}"
    assert f"{VERDICTS[name]} {wrong}".strip() in page
    assert ("as expected" in page) is (not wrong)
    assert f"{cells * N} trials, {cells * failed} failed; level {LEVEL:.2g}." in page
    table_of_cells = page.split("obs./bound ")[1].split(" At full precision")[0]
    rows = re.findall(r"(\d+) 8 ([\d.]+ ± [\d.]+) \[[\d., ]+\] ([\d.]+) ([\d.]+)", table_of_cells)
    worst_first = sorted(BOUNDS[name], key=lambda k: -ratio(name, k))
    assert len(rows) == cells
    for k, (first, observed, bound, found) in zip(worst_first, rows, strict=True):
        assert int(first) == (k if cells > 1 else N)
        mean, _, spread = observed.partition(" ± ")
        assert float(mean) == pytest.approx(float(share(k)), abs=5.1e-4)
        assert float(spread) == pytest.approx(error(k), abs=5e-4)
        assert bound == digits(BOUNDS[name][k], 3)
        assert float(found) == pytest.approx(float(ratio(name, k)), rel=5e-3)
    stored = next(folder.rglob(f"{name}-cells.csv"))
    for k, row in zip(BOUNDS[name], table(stored), strict=True):
        assert int(row["k"]) == k
        is_cell(
            {**row, "n_trials": int(row["n_trials"]), "n_failed": int(row["n_failed"])}, name, k
        )


def test_the_first_page_counts_claims_and_trials_and_shows_each_worst_cell(site):
    page = site[0]["index"]
    assert f"3 claims were tried with {5 * N} trials ({5 * N // BLOCK} failed)" in page
    assert "1 SUPPORTED , 1 REFUTED and 1 INCONCLUSIVE" in page
    assert "Not as the catalogue expects: counted.near ." in page
    assert "error level of the batch is 0.05" in page
    assert "in 72 of 128 trials" in page
    assert "Observed failure rate 0.56, stated at most 0.1." in page
    rows = page.split("Claim Verdict Observed Bound Ratio ")[1]
    for name, k in WORST.items():
        own = rows.split(name)[1]
        numbers = " ".join(digits(v, 2) for v in (share(k), BOUNDS[name][k], ratio(name, k)))
        assert numbers in own.split("counted.")[0]


def test_the_row_of_the_lemma_has_the_median_bound_over_truth_of_its_live_cells(site):
    """Of two cells the median lies between them."""
    factors = [float(1 / ratio("counted.kept", k)) for k in (1, 2)]
    told = f"{np.median(factors):.2g} {min(factors):.2g} to {max(factors):.2g}"
    assert told in site[0]["1-Lemma-1"]


def test_the_page_of_findings_has_the_printed_and_the_corrected_text_and_its_claim(site):
    page = site[0]["findings"]
    assert "Stated results that are false Lemma 1 Printed" in page
    assert page.index("Printed") < page.index("Found") < page.index("Corrected")
    assert "Evidence counted.broken REFUTED ." in page
