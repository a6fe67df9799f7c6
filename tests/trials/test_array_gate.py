"""One gate for arrays: no driver forgets a mask, an imaginary part or the structure of a matrix."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from bounds.statement import OutsideTheorem
from tests.test_api_fuzz import DRIVERS, good_arguments
from trials.checks import (
    InvalidParameter,
    hides_entries,
    plain_array,
    real_between,
    sparse_matrix,
)
from trials.clustering import kmeans, recovery, selection
from trials.clustering.convex import (
    check_certificate,
    check_weighted_certificate,
    convex_clustering,
    convex_clustering_path,
)
from trials.clustering.gradient import gradient_clustering
from trials.clustering.sparse import (
    check_sparse_certificate,
    fusing_penalty,
    neighbour_weights,
    sparse_convex_clustering,
    sparse_convex_clustering_path,
)
from trials.ifca.options_records import IfcaOptions
from trials.local_erm import least_squares, logistic, projected_sgd, strong_convexity

RNG = np.random.default_rng(3)
POINTS = RNG.standard_normal((12, 2)) + 9.0 * (np.arange(12) % 2)[:, None]
LABELS = np.arange(12) % 2
WEIGHTS = neighbour_weights(POINTS, 3, connect="tree")
BATCH, STARTS = POINTS[None], POINTS[None, :2]
X, Y = RNG.standard_normal((2, 9, 2)), np.where(RNG.random((2, 9)) < 0.5, -1.0, 1.0)


def rng():
    return np.random.default_rng(0)


#: Drivers of packages that the fuzz of the API does not walk: (function, its arguments).
OTHERS = {
    "lloyd": (kmeans.lloyd, {"points": BATCH, "centers": STARTS}),
    "seed_kmeans_pp": (kmeans.seed_kmeans_pp, {"points": BATCH, "k": 2, "rng": rng()}),
    "kmeans_pp": (kmeans.kmeans_pp, {"points": BATCH, "k": 2, "rng": rng()}),
    "spectral_kmeans": (kmeans.spectral_kmeans, {"points": BATCH, "k": 2, "rng": rng()}),
    "gradient_clustering": (gradient_clustering, {"points": BATCH, "centers": STARTS}),
    "convex_clustering": (convex_clustering, {"points": POINTS, "penalty": 0.1}),
    "weighted": (
        convex_clustering,
        {"points": POINTS, "penalty": 0.1, "weights": WEIGHTS.toarray()},
    ),
    "convex_clustering_path": (convex_clustering_path, {"points": POINTS}),
    "recovery_window": (recovery.recovery_window, {"points": POINTS, "labels": LABELS}),
    "recovery_interval": (
        selection.recovery_interval,
        {"points": BATCH, "labels": LABELS[None]},
    ),
    "silhouette": (selection.silhouette, {"points": BATCH, "labels": LABELS[None]}),
    "neighbour_weights": (neighbour_weights, {"points": POINTS, "n_neighbours": 2}),
    "sparse": (
        sparse_convex_clustering,
        {"points": POINTS, "penalty": 0.1, "weights": WEIGHTS.toarray()},
    ),
    "sparse_path": (
        sparse_convex_clustering_path,
        {"points": POINTS, "penalties": np.array([0.1, 0.2]), "weights": WEIGHTS.toarray()},
    ),
    "approximate_kmeans": (kmeans.approximate_kmeans, {"points": BATCH, "k": 2, "rng": rng()}),
    "spectral_projection": (kmeans.spectral_projection, {"points": BATCH, "k": 2}),
    "choose_k": (selection.choose_k, {"points": BATCH, "k_max": 3, "rng": rng()}),
    "clusterpath": (
        selection.clusterpath,
        {
            "points": POINTS,
            "lambdas": np.array([0.1, 0.2]),
            "partition": selection.convex_partition,
        },
    ),
    "elbow": (selection.elbow, {"costs": np.array([[3.0, 1.0]]), "threshold": 0.5}),
    "least_squares": (least_squares, {"X": X, "y": Y}),
    "logistic": (logistic, {"X": X, "y": Y, "l2": 0.1}),
    "projected_sgd": (
        projected_sgd,
        {
            "X": X,
            "y": Y,
            "rng": rng(),
            "loss": "logistic",
            "mu": np.array([0.1, 0.1]),
            "radius": 1.0,
            "n_steps": 5,
            "l2": 0.1,
        },
    ),
    "strong_convexity": (strong_convexity, {"X": X}),
}


def replaced(change):
    """(driver, argument, call) of every array of every driver, replaced by ``change(array)``."""
    for name, function in sorted(DRIVERS.items()):
        try:
            good = good_arguments(name, function)
        except KeyError:  # the fuzz of the API has a test that asks for good values of it
            continue
        for p, value in good.items():
            if isinstance(value, np.ndarray) and value.size:
                arguments = good_arguments(name, function)
                yield f"{name}: {p}", function, {**arguments, p: change(value)}
    for name, (function, arguments) in OTHERS.items():
        for p, value in arguments.items():
            if isinstance(value, np.ndarray):
                yield f"{name}: {p}", function, {**arguments, p: change(value)}


def masked(array):
    mask = np.zeros(array.shape, dtype=bool)
    mask.flat[0] = True
    return np.ma.array(array, mask=mask)


def accepted(change):
    """The drivers that take a changed array without a word."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, function, arguments in replaced(change):
            try:
                function(**arguments)
            except (InvalidParameter, OutsideTheorem):
                continue
            found.append(name)
    return found


def test_no_driver_forgets_a_mask():
    """`lloyd` counted the masked point: its inertia was eleven times too large."""
    assert accepted(masked) == []


def test_no_driver_forgets_an_imaginary_part():
    assert accepted(lambda array: array + 1j) == []


def test_no_driver_takes_objects_that_are_no_numbers():
    def with_object(array):
        odd = array.astype(object)
        odd.flat[0] = "1.5"
        return odd

    assert accepted(with_object) == []


def test_lists_of_masked_arrays_and_masked_numbers_hide_entries_too():
    row = np.ma.array([1.0, 2.0], mask=[False, True])
    assert hides_entries([row, row])
    assert not hides_entries(np.ma.array([1.0, 2.0]))
    with pytest.raises(InvalidParameter, match=r"points must have no masked entries"):
        convex_clustering([row, row], 0.1)
    with pytest.raises(InvalidParameter, match=r"penalty=masked must be a finite number"):
        convex_clustering(POINTS, np.ma.masked)
    for array in (np.ma.array([1.0, 2.0]), [1.0, 2.0]):
        assert plain_array("x", array).tolist() == [1.0, 2.0]
    assert real_between("x", np.ma.array(0.5), 0.0) == 0.5


def test_verifiers_refuse_masked_proofs():
    fit = convex_clustering(POINTS, 0.1)
    answer = check_certificate(masked(POINTS), 0.1, fit.labels, fit.certificate)
    assert (answer.valid, answer.reason) == (False, "points must have no masked entries")
    weights = WEIGHTS.toarray()
    fit = convex_clustering(POINTS, 0.1, weights=weights)
    answer = check_weighted_certificate(POINTS, 0.1, fit.labels, fit.certificate, masked(weights))
    assert (answer.valid, answer.reason) == (False, "weights must have no masked entries")


def spoiled(kind, change):
    """The neighbours' weights in a format of SciPy's, its arrays changed by their owner."""
    matrix = WEIGHTS.asformat(kind).copy()
    change(matrix)
    return matrix


def set_entry(name, at, value):
    def change(matrix):
        getattr(matrix, name)[at] = value

    return change


BROKEN = {
    "an index beyond the matrix": ("csr", set_entry("indices", 0, 10**6)),
    "the index after the last one": ("csr", set_entry("indices", -1, 12)),
    "a negative index": ("csr", set_entry("indices", 3, -1)),
    "a negative start": ("csr", set_entry("indptr", 3, -5)),
    "starts that fall": ("csr", set_entry("indptr", 3, 10**6)),
    "a last start beyond the entries": ("csr", set_entry("indptr", -1, 10**6)),
    "a first start": ("csr", set_entry("indptr", 0, 2)),
    "columns": ("csc", set_entry("indices", 0, 10**6)),
    "blocks": ("bsr", set_entry("indices", 0, 10**6)),
    "coordinates": ("coo", lambda m: m.row.__setitem__(0, 10**6)),
    "negative coordinates": ("coo", lambda m: m.col.__setitem__(0, -1)),
    "rows of a list": ("lil", lambda m: m.rows[0].__setitem__(0, 10**6)),
    "data of another length": ("csr", lambda m: setattr(m, "data", m.data[:-3])),
    "no indices": ("csr", lambda m: setattr(m, "indices", None)),
}


@pytest.mark.parametrize("case", BROKEN)
def test_the_index_arrays_of_sparse_weights_are_checked_before_use(case):
    """`w.indices[0] = 10**6` ended the process, and -1 broke the heap for whoever came next."""
    weights = spoiled(*BROKEN[case])
    calls = (
        lambda: sparse_convex_clustering(POINTS, 0.1, weights),
        lambda: sparse_convex_clustering_path(POINTS, [0.1], weights),
        lambda: fusing_penalty(POINTS, weights),
        lambda: check_sparse_certificate(
            POINTS, weights, 0.1, np.arange(12), POINTS - POINTS[0], np.zeros((12, 2))
        ),
    )
    for call in calls:
        with pytest.raises(InvalidParameter, match=r"^weights") as refused:
            call()
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
def test_every_format_of_sparse_weights_is_one_matrix(kind):
    given = WEIGHTS.asformat(kind)
    found = sparse_matrix("weights", given, 12)
    assert (found != WEIGHTS).nnz == 0
    assert found.has_canonical_format
    if kind == "csr":
        assert not np.shares_memory(found.data, given.data)
    assert fusing_penalty(POINTS, given) == fusing_penalty(POINTS, WEIGHTS.toarray())


def test_a_sparse_matrix_of_other_numbers_or_shapes_is_refused():
    for wrong in (
        sp.csr_array(np.eye(12), dtype=complex),
        sp.csr_array(np.eye(11)),
        sp.coo_array(np.ones(12)),
        np.full((12, 12), "1"),
        sp.csr_array(np.full((12, 12), np.nan)),
    ):
        with pytest.raises(InvalidParameter, match=r"^weights"):
            fusing_penalty(POINTS, wrong)


def test_arguments_of_odd_types_and_sizes_are_refused_in_one_line():
    """Found by an attack on the drivers: each was a traceback, NaN, or hours without an answer."""
    path = {"points": POINTS, "penalties": [0.1], "weights": WEIGHTS}
    for call in (
        lambda: logistic(X, Y, l2=0.1, intercept=3),
        lambda: logistic(X, Y, l2=0.1, intercept=2**31),
        lambda: selection.clusterpath(POINTS, [0.1], 1),
        lambda: selection.clusterpath(POINTS, [0.1], lambda _points, _lam: [0, 1]),
        lambda: selection.clusterpath_grid(POINTS, selection.convex_partition, n_values=1e15),
        lambda: recovery.recovery_window(POINTS, LABELS + 0.5),
        lambda: recovery.recovery_window(POINTS + 1j, LABELS),
        lambda: recovery.recovery_window(POINTS[:, 0], LABELS),
        lambda: sparse_convex_clustering_path(**path, tolerance=5e-324),
        lambda: least_squares(X * 5e-324, Y),
        lambda: IfcaOptions(averaging="model", local_steps=1e17),
        lambda: IfcaOptions(averaging="model", local_steps=2**31),
    ):
        with pytest.raises(InvalidParameter) as refused:
            call()
        assert "\n" not in str(refused.value)
    # a whole number written as a float is one
    window = recovery.recovery_window(POINTS, LABELS.astype(float))
    assert window == recovery.recovery_window(POINTS, LABELS)
