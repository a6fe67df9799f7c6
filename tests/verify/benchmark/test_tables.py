"""One's own data: read from three kinds of file, and refused in one line that names the fault."""

import zipfile

import numpy as np
import pytest

from trials.checks import InvalidParameter
from verify.benchmark import images, tables

GOOD = "site,age,dose,result\n" + "".join(
    f"{'abc'[i % 3]},{i},{(i * 7) % 5},{i + (i * i) % 4}\n" for i in range(30)
)


def cell_of(path, text=GOOD, **more):
    path.write_text(text)
    return tables.check({"data": str(path), "client": "site", "target": "result", **more})


def test_a_split_keeps_every_client_on_both_sides(tmp_path):
    cell = cell_of(tmp_path / "rows.csv", held_share=0.3)
    found = tables.split(cell, np.random.default_rng(0))
    assert tables.check(cell) == cell
    assert np.bincount(found.clients).tolist() == [7, 7, 7]
    assert np.bincount(found.test_clients).tolist() == [3, 3, 3]
    np.testing.assert_allclose(found.features[:, :2].mean(0), 0.0, atol=1e-12)
    np.testing.assert_allclose(found.features[:, -1], 1.0)
    again = tables.split(cell, np.random.default_rng(1))
    assert not np.array_equal(found.responses, again.responses)


@pytest.mark.parametrize("share", [0.01, 0.2, 0.5, 0.9])
def test_every_client_has_rows_to_fit_and_rows_to_judge_by(share):
    sizes = np.arange(2, 14)
    clients = np.repeat(np.arange(sizes.size), sizes)
    judged = tables._held_out(clients, share, np.random.default_rng(0))
    wanted = [min(max(round(share * size), 1), size - 1) for size in sizes.tolist()]
    assert np.bincount(clients, weights=judged).tolist() == wanted


def test_three_kinds_of_file_hold_the_same_rows(tmp_path):
    csv = tables.split(cell_of(tmp_path / "rows.csv"), np.random.default_rng(0))
    rows = [line.split(",") for line in GOOD.strip().split("\n")[1:]]
    who, age, dose, result = (np.array(column) for column in zip(*rows, strict=True))
    numbers = {"age": age.astype(float), "dose": dose.astype(float), "result": result.astype(float)}
    np.savez(tmp_path / "rows.npz", site=who, **numbers)
    asked = {"client": "site", "target": "result"}
    npz = tables.check({"data": str(tmp_path / "rows.npz"), **asked})
    found = tables.split(npz, np.random.default_rng(0))
    np.testing.assert_array_equal(found.features, csv.features)
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"site": who, **numbers}), tmp_path / "rows.parquet")
    cell = tables.check({"data": str(tmp_path / "rows.parquet"), **asked})
    np.testing.assert_array_equal(
        tables.split(cell, np.random.default_rng(0)).features, csv.features
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.replace("b,1,", "b,,"), "column age, row 2 is empty"),
        (lambda t: t.replace("b,1,", "b,nan,"), "column age, row 2 is nan"),
        (lambda t: t.replace("b,1,", "b,old,"), "column age, row 2 is no number: 'old'"),
        (lambda t: t.replace("a,0,", "lonely,0,"), r"client lonely has one row \(1 such clients\)"),
        (lambda t: t.replace("b,", "a,").replace("c,", "a,"), "one client only: two are needed"),
        (lambda t: t.replace("b,1,", "b,NA,"), r"row 2 is NA \(1 such rows\); fill or drop"),
        (lambda t: t.replace(",", ";"), "it is separated by semicolons, and must be by commas"),
        (lambda t: t.replace(",", "\t"), "it is separated by tabs, and must be by commas"),
        (  # decimal commas: a row had more columns than the first line, and nothing said why
            lambda t: t.replace(",", ";").replace("b;1;", "b;1,5;"),
            "it is separated by semicolons, and must be by commas",
        ),
        (lambda t: t.replace("b,1,", 'b,"1,5",'), "no number: '1,5'; write decimal points"),
        (lambda t: t.replace("site", "place"), "no column 'site'; it has place, age"),
        (lambda t: t + "a,1,2\n", "line 32 has 3 columns"),
        (lambda t: "\n\n" + t + "a,1,2\n", "line 34 has 3 columns"),  # empty lines are passed over
        (lambda t: t.replace("dose", " age"), "two columns have the name 'age'"),
        (lambda t: t.replace("b,1,", ",1,"), "column site, row 2 names no client"),
        (lambda t: t.partition("\n")[0] + "\n", "has no rows"),
        (lambda t: "", "is empty"),
        (lambda t: t.replace("site,age", "site,"), "a column has no name of its own, as pandas"),
        (lambda t: t.replace("age", "__index_level_0__"), "a column has no name of its own"),
        (lambda t: t.replace("c,2,", "c,,").replace("b,1,", "b, ,"), r"row 2 is empty \(2 such"),
        (lambda t: t.replace("c,2,4,2", "c,2,4,ill"), "result holds the text 'ill': numbers are"),
    ],
)
def test_bad_data_are_refused_in_one_line(tmp_path, change, message):
    with pytest.raises(InvalidParameter, match=message) as found:
        cell_of(tmp_path / "rows.csv", change(GOOD))
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("classes", [("well", "sick"), ("2", "1"), ("True", "False"), ("b", "1")])
def test_two_classes_are_numbers_or_texts_and_the_second_in_order_is_plus_one(tmp_path, classes):
    """Before, texts were refused as no numbers."""
    rows = [f"{'ab'[i % 2]},{i},{classes[i % 3 == 0]}" for i in range(12)]
    cell = cell_of(
        tmp_path / "rows.csv", "\n".join(["site,age,result", *rows]) + "\n", response="logistic"
    )
    read = tables.read(cell["data"], "site", "result", "logistic", cell["digest"])
    second = max(classes)
    wanted = [1.0 if classes[int(i) % 3 == 0] == second else -1.0 for i in read.features[:, 0]]
    assert read.target.tolist() == wanted


def test_a_class_that_is_missing_or_the_third_is_refused(tmp_path):
    rows = [f"{'ab'[i % 2]},{i},{('well', 'sick')[i % 3 == 0]}" for i in range(12)]
    text = "\n".join(["site,age,result", *rows]) + "\n"
    for old, new, match in (
        (",4,well", ",4,", "column result, row 5 is empty"),
        (",4,well", ",4,dead", "target result has 3 values: logistic needs two"),
        ("sick", "well", "target result is constant"),
    ):
        with pytest.raises(InvalidParameter, match=match):
            cell_of(tmp_path / "rows.csv", text.replace(old, new), response="logistic")


def test_a_truth_value_of_a_csv_file_is_a_number(tmp_path):
    rows = [f"{'ab'[i % 2]},{i % 3 == 0},{i}" for i in range(8)]
    cell = cell_of(tmp_path / "rows.csv", "\n".join(["site,old,result", *rows]) + "\n")
    read = tables.read(cell["data"], "site", "result", "linear", cell["digest"])
    assert read.features[:, 0].tolist() == [float(i % 3 == 0) for i in read.target]


def test_a_file_in_another_encoding_is_refused_in_plain_words(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(GOOD.encode() + "M\xfcnchen,1,2,3\n".encode("latin-1"))
    with pytest.raises(InvalidParameter, match="it is no UTF-8 text; save it as one"):
        tables.check({"data": str(path), "client": "site", "target": "result"})


def with_member(file, shape, body=b"", name="a.npy"):
    """An archive of one array whose header says ``shape``."""
    text = repr({"descr": "<f8", "fortran_order": False, "shape": shape}).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body)


def damaged(file):
    """A compressed array with 60 changed bytes."""
    np.savez_compressed(file, a=np.random.default_rng(0).random(1000))
    content = bytearray(file.read_bytes())
    content[200:260] = bytes(byte ^ 0x55 for byte in content[200:260])
    file.write_bytes(content)


def no_array(file):
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("notes.txt", "hello")


@pytest.mark.parametrize(
    ("name", "write", "message"),
    [
        ("q.csv", lambda f: f.write_text('a,b\n1,"2\n' + "1,2\n" * 40_000), "a quotation mark may"),
        ("e.npz", lambda f: f.write_bytes(b""), "is no archive of arrays: write it by numpy.savez"),
        ("t.npz", lambda f: f.write_bytes(b"PK\x03\x04aaaa"), "is no archive of arrays"),
        ("y.npz", lambda f: np.save(f.open("wb"), np.zeros(3)), "is no archive of arrays"),
        ("d.npz", damaged, "cannot be read: Error -3 while decompressing"),
        ("s.npz", lambda f: with_member(f, (5,), b"abc"), "cannot be read: EOF: reading array"),
        ("n.npz", no_array, "notes.txt must be an array of numbers or texts"),
        ("r.npz", lambda f: np.savez(f, a=np.zeros(3, "f8,i8")), "a must be an array of numbers"),
    ],
)
def test_a_damaged_file_or_one_of_another_kind_is_refused_in_one_line(
    tmp_path, name, write, message
):
    """Each was an error of CSV, of zip or of a type: a fault of cfl-verify."""
    file = tmp_path / name
    write(file)
    with pytest.raises(InvalidParameter, match=message) as refused:
        tables.check({"data": str(file), "client": "a", "target": "b"})
    assert str(refused.value).startswith(f"{file}: ")
    assert "\n" not in str(refused.value)


def test_a_small_archive_of_many_zeros_is_refused_before_it_is_read(tmp_path, monkeypatch):
    """Its 80 kB of zeros are 1 kB, and the limit here is 64 kB."""
    monkeypatch.setattr(tables, "MAX_BYTES", 1 << 16)
    monkeypatch.setattr(np, "load", None)
    file = tmp_path / "zeros.npz"
    np.savez_compressed(file, a=np.zeros(10_000))
    assert file.stat().st_size < 1_000
    with pytest.raises(InvalidParameter, match="its arrays are larger than"):
        tables.check({"data": str(file), "client": "a", "target": "b"})


def test_a_list_in_a_parquet_file_is_no_number(tmp_path):
    """Arrow has no distinct lists, and said so as a fault of cfl-verify."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {"who": ["a", "a", "b", "b"], "x": [[1], [2], [3], [4]], "y": [1.0, 2.0, 3.0, 4.0]}
    parquet.write_table(arrow.table(columns), tmp_path / "rows.parquet")
    asked = {"data": str(tmp_path / "rows.parquet"), "client": "who", "target": "y"}
    with pytest.raises(InvalidParameter, match=r"column x, row 1 is no number: '\[1\]'"):
        tables.check(asked)


def test_a_column_is_the_clients_or_the_target(tmp_path):
    """Before, one column for both was a fault of the program."""
    path = tmp_path / "rows.csv"
    path.write_text(GOOD)
    with pytest.raises(InvalidParameter, match="are both 'age'; they must be two columns"):
        tables.check({"data": str(path), "client": "age", "target": "age"})


def test_no_array_of_a_file_takes_the_place_of_another(tmp_path):
    """Before, the second column of ``a`` was lost without a word."""
    rows = np.arange(24.0).reshape(8, 3)
    np.savez(tmp_path / "rows.npz", a=rows[:, :2], a1=rows[:, 2], who=np.arange(8) % 2)
    with pytest.raises(InvalidParameter, match="two columns have the name 'a1'"):
        tables.check({"data": str(tmp_path / "rows.npz"), "client": "who", "target": "a0"})
    np.savez(tmp_path / "fine.npz", a=rows[:, :2], b=rows[:, 2], who=np.arange(8) % 2)
    cell = tables.check({"data": str(tmp_path / "fine.npz"), "client": "who", "target": "b"})
    read = tables.read(cell["data"], "who", "b", "linear", cell["digest"])
    np.testing.assert_array_equal(read.features, rows[[0, 2, 4, 6, 1, 3, 5, 7], :2])


def test_constant_columns_targets_and_wrong_classes_are_named(tmp_path):
    constant = "".join(f"{'ab'[i % 2]},1,{i}\n" for i in range(8))
    with pytest.raises(InvalidParameter, match="column age is constant"):
        cell_of(tmp_path / "a.csv", "site,age,result\n" + constant)
    flat = "".join(f"{'ab'[i % 2]},{i},1\n" for i in range(8))
    with pytest.raises(InvalidParameter, match="target result is constant"):
        cell_of(tmp_path / "b.csv", "site,age,result\n" + flat)
    with pytest.raises(InvalidParameter, match="logistic needs two"):
        cell_of(tmp_path / "c.csv", response="logistic")
    with pytest.raises(InvalidParameter, match="needs --target"):
        tables.check({"data": str(tmp_path / "c.csv"), "client": "site"})
    with pytest.raises(InvalidParameter, match=r"must end in \.csv"):
        cell_of(tmp_path / "rows.txt")


def test_a_category_of_a_parquet_file_needs_a_row(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    sites = pyarrow.DictionaryArray.from_arrays([0, 1, 0, 1], ["a", "b", "closed"])
    rows = {"site": sites, "age": [1.0, 2, 3, 4], "result": [1.0, 3, 2, 4]}
    parquet.write_table(pyarrow.table(rows), tmp_path / "rows.parquet")
    with pytest.raises(InvalidParameter, match="column site lists closed, which has no row"):
        tables.check({"data": str(tmp_path / "rows.parquet"), "client": "site", "target": "result"})


def test_a_file_that_changes_is_another_table(tmp_path):
    cell = cell_of(tmp_path / "rows.csv")
    (tmp_path / "rows.csv").write_text(GOOD + "a,90,1,1\n")
    with pytest.raises(InvalidParameter, match="has changed"):
        tables.check(cell)


@pytest.mark.parametrize(("name", "m"), [("digits", 8), ("diabetes", 8)])
def test_tables_of_scikit_learn_are_federations(name, m):
    pytest.importorskip("sklearn")
    given = {"m": 8, "n": 20, "k": 3} if name == "digits" else {}
    cell = tables.check({"data": name, **given})
    found = tables.split(cell, np.random.default_rng(0))
    assert found.n_clients == m
    assert (found.labels is None) == (name == "diabetes")


def test_glyphs_are_turned_by_their_cluster_and_keep_their_parity(monkeypatch):
    """Drawn images with one bright corner, whose place tells the turn.  A row tells its class."""

    class Drawn:
        labels = np.arange(40) % 10
        pixels = np.zeros((40, 1, 28, 28), dtype=np.uint8)

    Drawn.pixels[:, 0, :2, :2] = 255
    Drawn.pixels[:, 0, 14, 14] = 20 * Drawn.labels
    monkeypatch.setattr(images, "glyphs", lambda *, n, labels, rng: Drawn)
    cell = images.GLYPHS.check({"m": 8, "n": 5})
    rows, parity, clients, labels = images.glyph_rows(cell, np.random.default_rng(0))
    assert sorted(labels) == [0, 0, 1, 1, 2, 2, 3, 3]
    grid = rows.reshape(-1, 14, 14)
    corners = grid[:, [0, 13, 13, 0], [0, 0, 13, 13]]  # a quarter turn moves the first to the next
    np.testing.assert_array_equal(corners.argmax(axis=1), labels[clients])
    digits = np.rint((rows.sum(axis=1) - 1.0) * 4 * 255 / 20)
    np.testing.assert_array_equal(parity > 0, digits % 2 == 1)
    assert sorted(digits) == sorted(Drawn.labels)


def test_writers_of_glyphs_are_clients_of_groups_and_exchange_digits_of_opposite_classes():
    """The class is that of the label, and a group's exchanged forms have the other class."""
    cell = images.GLYPHS.check({"m": 4, "n": 200, "k": 2, "differ": "style"})
    rows, classes, clients, labels = images.glyph_rows(cell, np.random.default_rng(0))
    assert rows.shape == (800, 196)
    assert labels.tolist() == [0, 0, 1, 1]
    assert np.bincount(clients).tolist() == [200] * 4
    drawn = images.glyphs(n=800, writers=4, styles=2, habits=True, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(classes > 0, drawn.labels >= 5)
    for one, two in ("17", "49"):
        assert (int(one) in images.YES["style"]) != (int(two) in images.YES["style"])


@pytest.mark.parametrize("differ", [{}, {"differ": "style"}])
def test_skewed_clients_prefer_one_class_by_the_share_that_is_stated(differ):
    """2,000 images of each of 40 clients: the share lies within five deviations of 1 / (2 - s)."""
    cell = images.GLYPHS.check({"m": 40, "n": 2000, "label_skew": 0.9, **differ})
    digits = images.skewed(cell, np.random.default_rng(1)).reshape(40, 2000)
    yes = np.isin(digits, images.YES[differ.get("differ", "turn")]).mean(axis=1)
    share = 1 / 1.1
    assert {bool(each) for each in yes > 0.5} == {True, False}
    assert (abs(np.maximum(yes, 1 - yes) - share) < 5 * np.sqrt(share * (1 - share) / 2000)).all()
    counts = np.bincount(digits.ravel(), minlength=10)
    assert (abs(counts / counts.sum() - 0.1) < 0.06).all(), "the digits of a class are alike"


def test_skewed_glyphs_keep_their_rotation_and_class(monkeypatch):
    class Drawn:
        def __init__(self, labels):
            self.labels = labels
            self.pixels = np.zeros((len(labels), 1, 28, 28), dtype=np.uint8)
            self.pixels[:, 0, :2, :2] = 255

    monkeypatch.setattr(images, "glyphs", lambda *, n, rng, labels: Drawn(labels))
    cell = images.GLYPHS.check({"m": 8, "n": 5, "label_skew": 0.5})
    rows, parity, clients, labels = images.glyph_rows(cell, np.random.default_rng(0))
    corners = rows.reshape(-1, 14, 14)[:, [0, 13, 13, 0], [0, 0, 13, 13]]
    np.testing.assert_array_equal(corners.argmax(axis=1), labels[clients])
    drawn = images.skewed(cell, np.random.default_rng(0))
    np.testing.assert_array_equal(parity > 0, drawn % 2 == 1)


def test_glyphs_are_a_federation_of_classes():
    cell = tables.check({"data": "glyphs", "m": 4, "n": 10, "k": 2})
    found = tables.split(cell, np.random.default_rng(0))
    assert found.response == "logistic"
    assert found.k == 2
    assert sorted(found.labels) == [0, 0, 1, 1]
    assert set(np.unique(found.responses)) == {-1.0, 1.0}
    assert np.bincount(found.test_clients).tolist() == [2, 2, 2, 2]
    with pytest.raises(InvalidParameter, match="k=5"):
        tables.check({"data": "glyphs", "k": 5})


@pytest.mark.parametrize("n", [12, 24, 36])
def test_a_column_that_is_constant_but_for_rounding_is_left_out(tmp_path, n):
    """The mean of equal numbers is rounded, and their deviation is not 0 then."""
    text = "site,age,rare,result\n" + "".join(
        f"{'ab'[i % 2]},{i},{5.0 if i == 0 else 0.1},{7.0 if i == 1 else 0.1}\n" for i in range(n)
    )
    cell = cell_of(tmp_path / "rows.csv", text, held_share=0.5)
    rare, flat = 0, 0
    for seed in range(12):
        found = tables.split(cell, np.random.default_rng(seed))
        # a standardised entry is at most the root of the number of rows
        assert np.abs(found.features).max() <= np.sqrt(n)
        assert np.abs(found.test_features).max() < 100.0
        assert np.abs(found.test_responses).max() < 100.0
        rare += found.features.shape[1] == 2  # the age and the ones
        flat += np.ptp(found.responses) == 0.0
    assert 0 < rare < 12
    assert 0 < flat < 12


@pytest.mark.parametrize("power", [-700, -1000, 700, 1000])
def test_the_unit_of_a_column_changes_no_split(tmp_path, power):
    """Squares of 1e-211 vanish, so that the column was left out, and 1e211 made it zeros."""
    texts = [
        "site,age,dose,result\n"
        + "".join(
            f"{'abc'[i % 3]},{i * unit!r},{(i * 7) % 5},{(i + (i * i) % 4) * unit!r}\n"
            for i in range(30)
        )
        for unit in (1.0, 2.0**power)
    ]
    plain, scaled = (
        tables.split(cell_of(tmp_path / "rows.csv", text), np.random.default_rng(0))
        for text in texts
    )
    for name in ("features", "responses", "test_features", "test_responses"):
        assert np.array_equal(getattr(plain, name), getattr(scaled, name))


def test_the_clients_of_scikit_learns_digits_have_their_clusters_in_random_order():
    """Equal clusters, two of four clients each.  By chance 16 seeds agree once in 10^12 tries."""
    pytest.importorskip("sklearn")
    cell = tables.check({"data": "digits", "m": 8, "n": 5, "k": 2})
    drawn = [tables.split(cell, np.random.default_rng(seed)).labels for seed in range(8)]
    assert all(sorted(labels) == [0, 0, 0, 0, 1, 1, 1, 1] for labels in drawn)
    assert len({tuple(labels) for labels in drawn}) > 1
