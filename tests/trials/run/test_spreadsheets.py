"""No cell of a CSV table is a formula that a spreadsheet runs."""

from __future__ import annotations

import csv
import dataclasses

import numpy as np
import pytest

from reports.tables import csv_text
from tests.trials.toys import TOY
from trials.run.store import RunStore
from trials.text import spreadsheet_text

FORMULAS = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "=1"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_becomes_a_text(text):
    assert spreadsheet_text(text) == f"'{text}"
    rows = list(csv.reader(csv_text([text], [[text], [None], [-1.5]]).splitlines(keepends=True)))
    assert rows[0][0].startswith("'")
    assert [row[0] for row in rows[-2:]] == ["", "-1.5"]


def test_numbers_and_plain_texts_stay():
    for value in (1, -1.5, None, "", "-1.5", "+inf", "-1e-300", "a=b", "ok", True):
        assert spreadsheet_text(value) is value


def test_an_export_holds_no_formula(tmp_path):
    odd = dataclasses.replace(TOY, columns=("=first", "second"))
    values = np.zeros((16, 2))
    values[3, 1] = np.nan
    with RunStore.create(tmp_path / "run", root_seed=1, config={}) as store:
        store.put_block(odd, {"mode": "plain"}, 0, values, [(3, "=cmd|' /C calc'!A0")])
        (path,) = store.export_csv(tmp_path / "tables")
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    assert "'=first" in rows[0]
    assert "'=cmd|' /C calc'!A0" in rows[4]
    assert not any(cell[:1] in {"=", "+", "@"} for row in rows for cell in row)
