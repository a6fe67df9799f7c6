"""FEMNIST from files that the tests write, in both editions, and files that are wrong."""

import io
import json

import numpy as np
import pytest

from trials.checks import InvalidParameter
from trials.networks import femnist
from trials.networks.femnist import read_femnist

RNG = np.random.default_rng(0)
GREY = RNG.integers(0, 256, (5, 784)).astype(np.uint8)
X = (GREY / 255.0).tolist()


def leaf(**changed):
    """Two users of two images and one."""
    return {
        "users": ["f1", "f0"],
        "num_samples": [2, 1],
        "user_data": {"f0": {"x": X[:1], "y": [61]}, "f1": {"x": X[1:3], "y": [0, 5]}},
    } | changed


def test_json_files_of_leaf_are_put_together_by_writer(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(leaf()))
    more = leaf(users=["f1"], num_samples=[2], user_data={"f1": {"x": X[3:], "y": [1, 2]}})
    (tmp_path / "b.json").write_text(json.dumps({**more, "hierarchies": []}))
    found = read_femnist(tmp_path)
    assert found.names == ("f0", "f1")
    assert found.offsets.tolist() == [0, 1, 5]
    assert found.labels.tolist() == [61, 0, 5, 1, 2]
    np.testing.assert_array_equal(found.pixels, GREY)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is no json of LEAF"),
        (json.dumps(leaf())[:-30], "is no json of LEAF"),
        ("[" * 100_000, "is no json of LEAF"),
        (json.dumps(leaf(users=["f1"])), "must name the same users"),
        (json.dumps(leaf(users=["f1", "f9"])), "must name the same users"),
        (json.dumps(leaf(users=["f1", "f0", "f1"], num_samples=[2, 1, 2])), "each of them once"),
        (json.dumps(leaf(users=["f1", "f0"], num_samples=[2])), "must name the same users"),
        (
            json.dumps(leaf(users=["f0"], num_samples=[1],
                            user_data={"f0": {"x": [X[0]], "y": [1, 2]}})),
            "has 1 images and 2 classes; num_samples says 1",
        ),
        (
            json.dumps(leaf(users=["f0"], num_samples=[2],
                            user_data={"f0": {"x": [X[0]], "y": [1, 2]}})),
            "has 1 images and 2 classes; num_samples says 2",
        ),
        (json.dumps(leaf(num_samples=[3, 1])), "has 2 images and 2 classes; num_samples says 3"),
        (
            json.dumps(leaf(users=["f0"], num_samples=[1],
                            user_data={"f0": {"x": [X[0][:9]], "y": [1]}})),
            "an image of 9 values must have 784",
        ),
        (
            json.dumps(leaf(users=["f0"], num_samples=[1],
                            user_data={"f0": {"x": [[2.0] * 784], "y": [1]}})),
            r"must lie in \[0, 1\]",
        ),
        *(
            (
                json.dumps(leaf(users=["f0"], num_samples=[1],
                                user_data={"f0": {"x": [[grey] * 784], "y": [1]}})),
                "is no json of LEAF",
            )
            for grey in (True, "0.5", None, [0.5])
        ),
        (
            json.dumps(leaf(users=["f0"], num_samples=[1],
                            user_data={"f0": {"x": X[:1], "y": [62]}})),
            "class 62 must be in 0..61",
        ),
        (
            json.dumps(leaf(users=["f0"], num_samples=[1],
                            user_data={"f0": {"x": X[:1], "y": ["a"]}})),
            "is no json of LEAF",
        ),
    ],
    ids=lambda given: given[:40] if " " in given[:9] else f"{len(given)} characters",
)  # fmt: skip
def test_another_json_is_refused_in_one_line(tmp_path, content, words):
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(InvalidParameter, match=f"a.json: .*{words}") as refused:
        read_femnist(tmp_path)
    assert "\n" not in str(refused.value)


def png(grey, side=28):
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(grey.reshape(side, side)).save(stream, "PNG")
    return stream.getvalue()


def write(path, images, writers, characters, column="image"):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    struct = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    rows = [{"bytes": each, "path": None} for each in images]
    table = {column: pa.array(rows, struct), "writer_id": writers, "hsf_id": [0] * len(writers),
             "character": characters}  # fmt: skip
    parquet.write_table(pa.table(table), path / "train-0.parquet")


def test_parquet_files_hold_pngs_by_writer(tmp_path):
    write(tmp_path, [png(each) for each in GREY[:3]], ["b", "a", "b"], [3, 61, 0])
    found = read_femnist(tmp_path)
    assert found.names == ("a", "b")
    assert found.labels.tolist() == [61, 3, 0]
    np.testing.assert_array_equal(found.pixels, GREY[[1, 0, 2]])


@pytest.mark.parametrize(
    ("image", "character", "column", "words"),
    [
        (b"no image", 1, "image", "is no whole PNG"),
        (png(GREY[0])[:-40], 1, "image", "is no whole PNG"),
        (png(GREY[0, :100], 10), 1, "image", r"an image of \(10, 10\) must be 28 x 28"),
        (None, 1, "image", "must be a PNG of at most"),
        (png(GREY[0]), 62, "image", "class 62 must be in 0..61"),
        (png(GREY[0]), None, "image", "character a whole number"),
        (png(GREY[0]), 1, "picture", "must have the columns image.bytes"),
        (b"\0" * (2**16 + 1), 1, "image", "must have at most 65536 bytes"),
    ],
)
def test_another_parquet_file_is_refused(tmp_path, image, character, column, words):
    import pyarrow as pa

    write(tmp_path, [image], ["a"], pa.array([character], pa.int64()), column)
    with pytest.raises(InvalidParameter, match=words):
        read_femnist(tmp_path)


def test_a_png_of_a_huge_size_is_refused_by_its_header(tmp_path):
    """A header of 60,000 x 60,000 in a file of 100 bytes."""
    import struct
    import zlib

    head = b"IHDR" + struct.pack(">IIBBBBB", 60_000, 60_000, 8, 0, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + head + struct.pack(">I", zlib.crc32(head))
    write(tmp_path, [bomb + b"\0" * 60], ["a"], [1])
    with pytest.raises(InvalidParameter, match=r"60000|no whole PNG"):
        read_femnist(tmp_path)


def test_an_image_that_all_rows_share_is_refused_before_it_is_copied(tmp_path):
    """Eight rows of 6.5 MB of zeros are one text in the file, and one in memory."""
    pa = pytest.importorskip("pyarrow")
    size = 2**16 * 100
    write(tmp_path, [bytes(size)] * 8, ["a"] * 8, [1] * 8)
    usual, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(pool)
    try:
        with pytest.raises(InvalidParameter, match="must have at most 65536 bytes"):
            read_femnist(tmp_path)
    finally:
        pa.set_memory_pool(usual)
    assert size < pool.max_memory() < 5 * size


def test_a_group_of_rows_of_a_huge_size_is_refused_by_its_metadata(tmp_path, monkeypatch):
    write(tmp_path, [png(GREY[0])] * 2, ["a", "b"], [1, 2])
    monkeypatch.setattr(femnist, "_LARGEST_COLUMN", 100)
    with pytest.raises(InvalidParameter, match="bytes in a group of rows must have at most 100"):
        read_femnist(tmp_path)


def test_a_json_file_is_no_list_of_pythons_numbers(tmp_path):
    """200 images are 0.8 MB of text and 0.16 MB of bytes.  As floats they would be 5 MB."""
    import tracemalloc

    many = {"x": X[:1] * 200, "y": [1] * 200}
    text = json.dumps(leaf(users=["f0"], num_samples=[200], user_data={"f0": many}))
    (tmp_path / "a.json").write_text(text)
    tracemalloc.start()
    found = read_femnist(tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.pixels.dtype == np.uint8
    assert peak < 1.6 * len(text)


def test_what_is_not_there_is_refused(tmp_path):
    with pytest.raises(InvalidParameter, match=r"must hold json files of LEAF.*leaf.cmu.edu"):
        read_femnist(tmp_path)
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and nothing")
    with pytest.raises(InvalidParameter, match="is no parquet file"):
        read_femnist(tmp_path)
    for bad in (3, "two\nlines", tmp_path / "nowhere"):
        with pytest.raises(InvalidParameter, match="must be"):
            read_femnist(bad)
