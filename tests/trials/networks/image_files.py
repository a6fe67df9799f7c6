"""Writers of image files, from the descriptions of their formats."""

import gzip
import struct

import numpy as np


def idx(array, kind=8):
    """The bytes of an IDX file."""
    head = struct.pack(f">BBBB{array.ndim}I", 0, 0, kind, array.ndim, *array.shape)
    return head + array.astype(np.uint8).tobytes()


def cifar_records(pixels, labels):
    """The bytes of a CIFAR-10 file: a label and 3,072 pixels an image."""
    return np.column_stack([labels, pixels]).astype(np.uint8).tobytes()


def write_mnist(folder, train, train_labels, test, test_labels):
    """The four files.  The training images and the test labels are compressed."""
    (folder / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(train)))
    (folder / "train-labels-idx1-ubyte").write_bytes(idx(train_labels))
    (folder / "t10k-images-idx3-ubyte").write_bytes(idx(test))
    (folder / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(test_labels)))
    return folder


def write_cifar10(folder, pixels, labels, test, test_labels):
    """Five files of the training images, in order, and the file of the test images."""
    for number, part in enumerate(np.array_split(np.arange(len(labels)), 5), 1):
        (folder / f"data_batch_{number}.bin").write_bytes(cifar_records(pixels[part], labels[part]))
    (folder / "test_batch.bin").write_bytes(cifar_records(test, test_labels))
    return folder
