"""The data sets of the benchmarks, with tables that the tests write."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from tests.bench.data_sets import (
    EMBEDDED,
    UCI,
    curved_sheets,
    half_moons,
    load,
    read_csv,
    standardised,
)
from trials.checks import InvalidParameter


def test_a_table_with_header_names_and_missing_entries_is_read(tmp_path):
    path = tmp_path / "set.csv"
    path.write_text("a;b;kind;c\n1;2.5;x;7\n-3;1e3;y;?\n\n4;0;z;1\n", encoding="utf-8")
    np.testing.assert_array_equal(read_csv(path), [[1.0, 2.5, 7.0], [4.0, 0.0, 1.0]])


def test_a_uci_set_by_path_is_the_one_of_scikit_learn(tmp_path):
    iris = load_iris()
    rows = [
        ",".join([*map(repr, row.tolist()), iris.target_names[kind]])
        for row, kind in zip(iris.data, iris.target, strict=True)
    ]
    path = tmp_path / "iris.data"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    np.testing.assert_array_equal(read_csv(path), iris.data)
    np.testing.assert_array_equal(load(str(path)), load("iris"))


@pytest.mark.parametrize("name", UCI)
def test_columns_have_mean_zero_and_variance_one(name):
    points = load(name)
    np.testing.assert_allclose(points.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(points.var(axis=0), 1.0)


def test_constant_columns_are_left_out():
    table = np.array([[1.0, 5.0], [3.0, 5.0]])
    np.testing.assert_array_equal(standardised(table), [[-1.0], [1.0]])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "rows of equal length"),
        ("1,2\n3\n", "rows of equal length"),
        ("a,b\nx,y\nz,w\n", "a table of numbers"),
        ("a,b\n1,2\n", "two rows or more"),
    ],
)
def test_a_file_without_a_table_is_refused(tmp_path, text, reason):
    path = tmp_path / "set.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidParameter, match=reason):
        read_csv(path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InvalidParameter, match="must be a readable CSV file"):
        load(str(tmp_path / "none.csv"))


def test_drawn_sets_have_their_shapes_and_are_the_same_again():
    assert half_moons(30).shape == (30, 2)
    assert curved_sheets(40, 7).shape == (40, 7)
    np.testing.assert_array_equal(curved_sheets(40, 7), curved_sheets(40, 7))
    shapes = {"banknotes": (1372, 2), "musk": (6598, 2), "gamma": (19020, 2)}
    assert {name: draw().shape for name, draw in EMBEDDED.items()} == shapes
