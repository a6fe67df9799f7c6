"""Images from files that the tests write: formats, sizes and every way in which a file is wrong."""

import gzip
import hashlib
import os
import pickle
import struct

import numpy as np
import pytest

from tests.trials.networks.image_files import cifar_records, idx, write_cifar10, write_mnist
from trials.checks import InvalidParameter
from trials.networks import images
from trials.networks.federations import Federation
from trials.networks.images import read_cifar10, read_idx, read_mnist
from trials.networks.pickled import read_pickled

RNG = np.random.default_rng(0)
TRAIN = RNG.integers(0, 256, (5, 4, 3), dtype=np.uint8)
TEST = RNG.integers(0, 256, (2, 4, 3), dtype=np.uint8)


@pytest.fixture
def mnist(tmp_path):
    return write_mnist(tmp_path, TRAIN, np.arange(5), TEST, np.array([9, 0]))


PIXELS = RNG.integers(0, 256, (11, 3072), dtype=np.uint8)
LABELS = np.array([1, 0, 2, 0, 3, 0, 4, 0, 5, 0])


@pytest.fixture
def cifar(tmp_path):
    return write_cifar10(tmp_path, PIXELS[:10], LABELS, PIXELS[10:], np.array([9]))


def test_mnist_is_read_whether_compressed_or_not(mnist):
    found = read_mnist(mnist)
    assert np.array_equal(found.train.pixels, TRAIN.reshape(5, 12))
    assert np.array_equal(found.test.pixels, TEST.reshape(2, 12))
    assert found.train.labels.tolist() == [0, 1, 2, 3, 4]
    assert found.test.labels.tolist() == [9, 0]
    assert found.train.pixels.dtype == np.uint8


def test_a_compressed_file_needs_no_ending(tmp_path):
    (tmp_path / "plain").write_bytes(gzip.compress(idx(TRAIN)))
    assert np.array_equal(read_idx(tmp_path / "plain"), TRAIN)
    assert np.array_equal(read_idx(str(tmp_path / "plain")), TRAIN)


GZIPPED = gzip.compress(idx(TRAIN), mtime=0)  # two workers collect the same tests


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "first bytes are missing must be 00 00 08"),
        (b"\x89PNG\r\n", "first bytes 89 50 4e 47 must be 00 00 08"),
        (idx(TRAIN, kind=0x0D), "entries of type 0x0d must be unsigned bytes"),
        (b"\0\0\x08\0", "header of 0 axes"),
        (idx(TRAIN)[:9], "header of 3 axes must have 16 > 4 bytes"),
        (idx(TRAIN)[:-1], r"is truncated: 75 bytes, but the header's shape \(5, 4, 3\) needs 76"),
        (idx(TRAIN) + b"\0", r"holds too much: 77 bytes"),
        (struct.pack(">BBBB4I", 0, 0, 8, 4, *[2**32 - 1] * 4), "is truncated: 20 bytes"),
        (GZIPPED[:-12], "is no whole gzip file"),
        (GZIPPED[:12] + b"no deflate stream", "is no whole gzip file"),
        (b"\x1f\x8bno gzip", "is no whole gzip file"),
    ],
    ids=lambda given: given if isinstance(given, str) else f"{len(given)} bytes",
)
def test_a_wrong_idx_file_is_refused_in_one_line(tmp_path, content, words):
    (tmp_path / "images").write_bytes(content)
    with pytest.raises(InvalidParameter, match=f"images: .*{words}") as refused:
        read_idx(tmp_path / "images")
    assert "\n" not in str(refused.value)


def test_what_is_not_there_is_refused(tmp_path, mnist):
    with pytest.raises(InvalidParameter, match="cannot be read: No such file"):
        read_idx(tmp_path / "nothing")
    with pytest.raises(InvalidParameter, match="cannot be read: Is a directory"):
        read_idx(tmp_path)
    for bad in (None, 3, "\0", "two\nlines", "\ud800", b"images"):
        with pytest.raises(InvalidParameter, match="must be the path of a file"):
            read_idx(bad)
    with pytest.raises(InvalidParameter, match="must be a folder"):
        read_mnist(tmp_path / "nothing")
    (mnist / "train-labels-idx1-ubyte").unlink()
    with pytest.raises(InvalidParameter, match="must hold train-labels-idx1-ubyte or"):
        read_mnist(mnist)


@pytest.mark.parametrize(
    ("name", "array", "words"),
    [
        ("train-labels-idx1-ubyte", np.arange(4), r"shape \(4,\) must be \(5,\)"),
        ("train-labels-idx1-ubyte", np.arange(6, 11), "label 10 of image 4 must be in 0..9"),
        ("train-labels-idx1-ubyte", np.zeros((5, 1), int), r"shape \(5, 1\) must be \(5,\)"),
        ("t10k-images-idx3-ubyte", TEST[0], r"shape \(4, 3\) must be \(N, rows, columns\)"),
        ("t10k-images-idx3-ubyte", TEST[:0], r"shape \(0, 4, 3\) must be"),
        ("t10k-images-idx3-ubyte", TEST[:, :3], "12 pixels and test images of 9 must have"),
    ],
)
def test_files_of_mnist_that_do_not_fit_together_are_refused(mnist, name, array, words):
    (mnist / name).write_bytes(idx(array))
    with pytest.raises(InvalidParameter, match=words):
        read_mnist(mnist)


def test_cifar10_is_read_in_the_order_of_its_files(cifar):
    found = read_cifar10(cifar)
    assert np.array_equal(found.train.labels, LABELS)
    assert np.array_equal(found.train.pixels, PIXELS[:10])
    assert found.test.labels.tolist() == [9]
    assert np.array_equal(found.test.pixels, PIXELS[10:])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "size of 0 bytes must be a positive multiple of 3073"),
        (
            cifar_records(PIXELS[:2], [1, 2])[:-1],
            "size of 6145 bytes must be a positive multiple of 3073",
        ),
        (cifar_records(PIXELS[:2], [1, 10]), "label 10 of image 1 must be in 0..9"),
    ],
)
def test_a_wrong_cifar10_file_is_refused(cifar, content, words):
    (cifar / "data_batch_3.bin").write_bytes(content)
    with pytest.raises(InvalidParameter, match=f"data_batch_3.bin: .*{words}"):
        read_cifar10(cifar)


def pickled(folder, pixels, labels, test, test_labels, protocol=2):
    """The Python version, as Python 2 wrote it: keys and filenames are byte strings."""
    parts = [*np.array_split(np.arange(len(labels)), 5), None]
    for number, part in enumerate(parts, 1):
        name = "test_batch" if part is None else f"data_batch_{number}"
        images, classes = (test, test_labels) if part is None else (pixels[part], labels[part])
        content = {b"batch_label": b"x", b"labels": classes.tolist(), b"data": images,
                   b"filenames": [b"a.png"] * len(classes)}  # fmt: skip
        (folder / name).write_bytes(pickle.dumps(content, protocol))


@pytest.mark.parametrize("protocol", [0, 1, 2, 4])
def test_the_python_version_is_read_without_unpickling(tmp_path, protocol):
    pickled(tmp_path, PIXELS[:10], LABELS, PIXELS[10:], np.array([9]), protocol)
    found = read_cifar10(tmp_path)
    assert np.array_equal(found.train.labels, LABELS)
    assert np.array_equal(found.train.pixels, PIXELS[:10])
    assert np.array_equal(found.test.pixels, PIXELS[10:])
    assert not found.original


class Calls:
    """Unpickling it would call the program `false`."""

    def __reduce__(self):
        return os.system, ("false",)


SIZE = pickle.dumps(PIXELS[:1], 2)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"cos\nsystem\n(S'false'\ntR.", "must not name 'os.system'"),
        (pickle.dumps({"data": Calls(), "labels": [1]}), "must not name '(posix|nt).system'"),
        (pickle.dumps({"data": np.array([{}]), "labels": [1]}), "type 'O8'"),
        (pickle.dumps({"data": np.zeros(1, "i4,i4"), "labels": [1]}), "type 'V8'"),
        (pickle.dumps({"data": PIXELS[:1] * 1.0, "labels": [1]}), "of unsigned bytes"),
        (pickle.dumps({"data": PIXELS[:1, :7], "labels": [1]}), "data must be an array"),
        (pickle.dumps({"data": PIXELS[:1], "labels": [1, 2]}), "2 labels must be 1 > 0"),
        (pickle.dumps({"data": PIXELS[:1], "labels": [10**20]}), "must be in 0..9"),
        (pickle.dumps({"data": PIXELS[:1], "labels": ["1"]}), "list of whole numbers"),
        (pickle.dumps([1]), "must hold a dictionary"),
        (pickle.dumps({"data": PIXELS[:1], "labels": [1]})[:-9], "no whole pickle"),
        (pickle.dumps({"data": PIXELS[:1]}, 5), "must not name 'numpy._core.numeric._frombuffer'"),
        (b"", "no whole pickle"),
        (b"\x80\x02}r\xff\xff\xff\x7f.", "data must be an array"),  # a memo of 2**31 places
        (
            SIZE.replace(b"K\x01M\x00\x0c\x86", b"K\x02M\x00\x0c\x86"),
            r"3072 bytes for an array of shape \(2, 3072\), which needs 6144",
        ),
        (b"\x80\x02" + b"(" * 5000 + b"l" * 5000 + b".", "dictionary"),
    ],
    ids=lambda given: given if isinstance(given, str) else f"{len(given)} bytes",
)
def test_a_pickle_of_anything_else_is_refused_in_one_line(cifar, content, words):
    (cifar / "test_batch.bin").unlink()
    (cifar / "test_batch").write_bytes(content)
    with pytest.raises(InvalidParameter, match=words) as refused:
        read_cifar10(cifar)
    assert "\n" not in str(refused.value)
    (cifar / "test_batch").unlink()
    with pytest.raises(InvalidParameter, match=r"must hold test_batch.bin or test_batch; www.cs"):
        read_cifar10(cifar)


def test_a_header_that_promises_more_than_the_file_can_hold_is_refused_before_it_is_read(tmp_path):
    head = struct.pack(">BBBB3I", 0, 0, 8, 3, 10**6, 28, 28)
    (tmp_path / "bomb").write_bytes(gzip.compress(head + bytes(5000)))
    with pytest.raises(InvalidParameter, match="header needs 784000016 bytes; the file can hold"):
        read_idx(tmp_path / "bomb")
    (tmp_path / "long").write_bytes(gzip.compress(idx(TRAIN) + bytes(10**6)))
    with pytest.raises(InvalidParameter, match="holds too much"):
        read_idx(tmp_path / "long")


def test_checksums_are_those_of_the_content_and_not_of_its_compression(mnist, monkeypatch):
    assert not read_mnist(mnist).original
    for file in mnist.iterdir():
        content = file.read_bytes()
        content = gzip.decompress(content) if file.suffix == ".gz" else content
        known = hashlib.md5(content, usedforsecurity=False).hexdigest()
        monkeypatch.setitem(images.KNOWN, file.name.removesuffix(".gz"), known)
    assert read_mnist(mnist).original
    (mnist / "train-labels-idx1-ubyte").write_bytes(idx(np.array([1, 1, 2, 3, 4])))
    assert not read_mnist(mnist).original


def test_swapped_files_are_refused_by_their_shape_or_by_their_checksum(mnist, monkeypatch):
    """Images for labels have another shape.  Training for test images need the checksum."""
    one, two = mnist / "train-images-idx3-ubyte.gz", mnist / "train-labels-idx1-ubyte"
    contents = one.read_bytes(), two.read_bytes()
    two.write_bytes(contents[0])
    one.write_bytes(contents[1])
    with pytest.raises(InvalidParameter, match=r"images of shape \(5,\) must be \(N, rows"):
        read_mnist(mnist)
    one.write_bytes(idx(TEST))
    monkeypatch.setitem(
        images.KNOWN, "t10k-images-idx3-ubyte",
        hashlib.md5(idx(TEST), usedforsecurity=False).hexdigest(),
    )  # fmt: skip
    with pytest.raises(InvalidParameter, match=r"published content of t10k-images.*are swapped"):
        read_mnist(mnist)


def test_swapped_pickles_of_cifar10_are_refused_by_their_checksum(tmp_path, monkeypatch):
    pickled(tmp_path, PIXELS[:10], LABELS, PIXELS[10:], np.array([9]))
    content = (tmp_path / "test_batch").read_bytes()
    known = hashlib.md5(content, usedforsecurity=False).hexdigest()
    monkeypatch.setitem(images.KNOWN, "test_batch", known)
    read_cifar10(tmp_path)
    (tmp_path / "data_batch_2").write_bytes(content)
    with pytest.raises(InvalidParameter, match=r"data_batch_2: .*content of test_batch"):
        read_cifar10(tmp_path)


def test_cifar10_is_the_original_only_where_every_file_is(tmp_path, monkeypatch):
    pickled(tmp_path, PIXELS[:10], LABELS, PIXELS[10:], np.array([9]))
    for file in tmp_path.iterdir():
        known = hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest()
        monkeypatch.setitem(images.KNOWN, file.name, known)
    assert read_cifar10(tmp_path).original
    for name in ("data_batch_1", "data_batch_3", "test_batch"):
        with monkeypatch.context() as changed:
            changed.setitem(images.KNOWN, name, "0" * 32)
            assert not read_cifar10(tmp_path).original


def test_emnist_has_its_own_names_more_classes_and_transposed_images(tmp_path):
    for half, pixels, labels in (("train", TRAIN, np.arange(57, 62)), ("test", TEST, [61, 0])):
        (tmp_path / f"emnist-byclass-{half}-images-idx3-ubyte").write_bytes(idx(pixels))
        (tmp_path / f"emnist-byclass-{half}-labels-idx1-ubyte").write_bytes(idx(np.array(labels)))
    found = read_mnist(tmp_path, prefix="emnist-byclass-", classes=62)
    np.testing.assert_array_equal(found.train.pixels.reshape(5, 3, 4), TRAIN.transpose(0, 2, 1))
    assert found.test.labels.tolist() == [61, 0]
    with pytest.raises(InvalidParameter, match=r"label 57 of image 0 must be in 0..9"):
        read_mnist(tmp_path, prefix="emnist-byclass-")


def test_arrays_deep_inside_a_pickle_are_refused_and_shared_lists_take_no_time():
    """They had come out as the reader's own stand-ins.  Forty lists in each other name 2^40."""
    for deep in ([np.arange(3)], {"b": np.arange(3)}, [[(np.arange(3),)]]):
        with pytest.raises(InvalidParameter, match="array or a name inside a list or dictionary"):
            read_pickled(pickle.dumps({"a": deep}, 2), "f")
    lists = [1]
    for _ in range(40):
        lists = [lists, lists]
    found = read_pickled(pickle.dumps({"a": lists}, 2), "f")["a"]
    assert found[0] is found[1]
    lists[1] = lists
    round_about = read_pickled(pickle.dumps({"a": lists}, 2), "f")["a"]
    assert round_about[1] is round_about


@pytest.mark.parametrize("turn", [-5, -1, 0, 3, 4, 6])
def test_quarter_turns_of_a_client_are_counted_around(turn):
    pixels = np.arange(2 * 9, dtype=np.uint8).reshape(2, 1, 3, 3)
    one = Federation(
        pixels=pixels, labels=np.arange(2), rows=np.array([[0, 1]]), turns=np.array([turn]),
        clusters=np.array([0]),
    )  # fmt: skip
    x, _ = one.batch(np.array([0]))
    for image, original in zip(x[0, :, 0], pixels[:, 0], strict=True):
        for _ in range(turn % 4):
            original = original.T[::-1]
        np.testing.assert_allclose(image * 255.0, original, atol=1e-4)
