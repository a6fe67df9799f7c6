"""Jacobi's rotations of many small matrices against LAPACK, also on matrices that are hard."""

from unittest import mock

import numpy as np
import pytest

import trials.mixed_regression.fed_regression as module
from trials.mixed_regression.fed_regression import local_spectra, run_fed_regression
from trials.mixed_regression.small_spectra import LARGEST_ORDER, _sort_places, small_spectra
from trials.models.clients import ClientData

ULP = np.finfo(np.float64).eps


def decomposed(grams):
    """Values (c, q) and vectors (c, q, q), of clients that are asked for in reverse order."""
    n, q = grams.shape[:2]
    starts = np.arange(n + 1)[:, None] * np.array([q, q * q])
    values, vectors = np.full(n * q, np.nan), np.full(n * q * q, np.nan)
    clients = np.arange(n)[::-1].copy()
    small_spectra(grams[clients], clients, starts, values, vectors)
    return values.reshape(n, q), vectors.reshape(n, q, q)


def grams(kind, n, q, rng):
    rows = {"few": max(q // 2, 1), "flat": 4 * q}.get(kind, q)
    x = rng.standard_normal((n, q, rows))
    if kind == "graded":
        x *= 10.0 ** -np.arange(q)[:, None]
    if kind == "equal":
        x[:] = np.linalg.qr(x)[0]
    if kind == "ones":
        x[:] = 1.0
    if kind == "zero":
        x[:] = 0.0
    if kind == "units":
        x *= 10.0 ** rng.integers(-140, 100, n)[:, None, None]
    if kind == "whole":
        x[:] = rng.integers(-1, 2, x.shape)
    return np.ascontiguousarray(x @ x.transpose(0, 2, 1))


@pytest.mark.parametrize(
    "kind", ["square", "few", "flat", "graded", "equal", "ones", "zero", "units", "whole"]
)
@pytest.mark.parametrize(("n", "q"), [(1, 1), (3, 2), (130, 3), (128, 5), (7, LARGEST_ORDER)])
def test_they_are_the_eigenvectors_to_rounding(kind, n, q):
    """The allowed error is 4 q rounding errors of the largest eigenvalue.  Both sides have some."""
    given = grams(kind, n, q, np.random.default_rng(q))
    values, vectors = decomposed(given)
    unit = np.maximum(given.trace(axis1=1, axis2=2), np.finfo(np.float64).tiny)[:, None]
    near = {"rtol": 0.0, "atol": 4 * q * ULP}
    assert (np.diff(values, axis=1) >= 0.0).all()
    assert (values >= 0.0).all()
    np.testing.assert_allclose(values / unit, np.linalg.eigvalsh(given) / unit, **near)
    identity = np.broadcast_to(np.eye(q), given.shape)
    np.testing.assert_allclose(vectors @ vectors.transpose(0, 2, 1), identity, **near)
    rebuilt = np.einsum("cai,ca,caj->cij", vectors, values / unit, vectors)
    np.testing.assert_allclose(rebuilt, given / unit[:, :, None], **near)


@pytest.mark.parametrize("q", [0, 1, 2, LARGEST_ORDER])
def test_places_are_sorted_as_numpy_sorts_them_stably(q):
    rng = np.random.default_rng(q)
    for values in (rng.normal(size=q), rng.integers(0, 3, q) * 1.0, np.arange(q, 0.0, -1.0)):
        order = np.empty(q, np.int64)
        _sort_places(values, order)
        assert order.tolist() == np.argsort(values, kind="stable").tolist()


@pytest.mark.parametrize("kept", [1, 3])
@pytest.mark.parametrize("largest", [0, LARGEST_ORDER])
def test_clients_in_chunks_have_the_spectra_of_their_own_rows(kept, largest):
    """Of orders 1 to 4, each in several chunks, by LAPACK and side by side."""
    sizes = np.random.default_rng(kept + largest).permutation(np.repeat([1, 2, 3, 4, 6], 7))
    ends = np.concatenate([[0], np.cumsum(sizes)])
    x = np.random.default_rng(largest).standard_normal((ends[-1], 4))
    data = ClientData(features=x, responses=np.zeros(len(x)), offsets=ends)
    with (
        mock.patch.object(module, "_CHUNK_BYTES", 8 * 4**2 * kept),
        mock.patch.object(module, "LARGEST_ORDER", largest),
    ):
        found = local_spectra(data)
    for i, n in enumerate(sizes):
        own, q = x[ends[i] : ends[i + 1]] / np.sqrt(n), min(n, 4)
        (value, vector), (value_end, vector_end) = found.starts[i], found.starts[i + 1]
        values, rows = found.values[value:value_end], found.vectors[vector:vector_end]
        vectors = rows.reshape(q, q)
        gram = own @ own.T if n <= 4 else own.T @ own
        np.testing.assert_allclose(vectors.T * values @ vectors, gram, rtol=0, atol=1e-13)
        np.testing.assert_allclose(vectors @ vectors.T, np.eye(q), rtol=0, atol=1e-13)
        assert found.largest[i] == values.max()


def test_units_that_are_powers_of_two_change_no_digit():
    given = grams("square", 5, 6, np.random.default_rng(0))
    values, vectors = decomposed(given)
    scaled, same = decomposed(given * 2.0**-300)
    np.testing.assert_array_equal(scaled, values * 2.0**-300)
    np.testing.assert_array_equal(same, vectors)


@pytest.mark.parametrize(
    ("update", "s", "step"), [("fedavg", 1, 0.9), ("fedavg", 5, 0.9), ("fedprox", 1, 3.0)]
)
def test_rounds_agree_with_those_of_lapack_to_twelve_digits(update, s, step):
    """Clients of 1 to 14 rows in seven dimensions, with dependent rows."""
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 15, 60)
    x = rng.standard_normal((sizes.sum(), 7))
    x[1::5] = x[::5][: len(x[1::5])]
    y = rng.standard_normal(len(x))
    data = ClientData(features=x, responses=y, offsets=np.concatenate([[0], np.cumsum(sizes)]))
    with mock.patch.object(module, "LARGEST_ORDER", 0):
        lapack = local_spectra(data)
    ours = local_spectra(data)
    assert not np.array_equal(ours.vectors, lapack.vectors)
    runs = [
        run_fed_regression(
            data=data, start=np.eye(3, 7), update=update, n_local_steps=s, n_rounds=40,
            step_size=step / lapack.largest.max(), spectra=spectra,
        )
        for spectra in (ours, lapack)
    ]  # fmt: skip
    np.testing.assert_array_equal(runs[0].labels, runs[1].labels)
    np.testing.assert_allclose(runs[0].models, runs[1].models, rtol=0, atol=1e-12)
