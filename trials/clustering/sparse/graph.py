"""Sparse pair weights: the graph of nearest neighbours, its connection, and validation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial import cKDTree

from trials.checks import (
    FloatArray,
    IntArray,
    InvalidParameter,
    integer_between,
    one_of,
    real_between,
    sparse_matrix,
)
from trials.clustering.convex.problem import scale_points
from trials.kernel import kernel

#: Neighbours of a node: half of the memory of 64 bits, and a third less time.
IndexArray = NDArray[np.int32]
#: Neighbours among which a component looks for its closest point outside.
_NEIGHBOURS = 16
CONNECTIONS = ("none", "tree", "circulant")


class Graph(NamedTuple):
    """A symmetric graph in CSR form without loops, which kernels take as one argument.

    Attributes
    ----------
    indptr : (n + 1,) starts of the rows.
    indices : (E,) int32, neighbours, each edge in both directions (but see `upper`).
    w : (E,) positive weights.
    """

    indptr: IntArray
    indices: IndexArray
    w: FloatArray

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.indptr.size - 1)

    def rows(self) -> IntArray:
        """(E,) node from which each entry starts."""
        return np.repeat(np.arange(self.n_nodes), np.diff(self.indptr))

    def upper(self) -> Graph:
        """The graph with each edge once, in the row of its smaller node."""
        rows = self.rows()
        once = rows < self.indices
        indptr = np.zeros(self.n_nodes + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows[once], minlength=self.n_nodes), out=indptr[1:])
        return Graph(indptr=indptr, indices=self.indices[once], w=self.w[once])

    def matrix(self) -> Any:
        """The graph as a SciPy sparse array."""
        shape = (self.n_nodes, self.n_nodes)
        short = sp.get_index_dtype(maxval=max(self.w.size, self.n_nodes))
        return sp.csr_array((self.w, self.indices, self.indptr.astype(short)), shape=shape)


def join_entries(w: FloatArray, rows: IntArray, cols: IntArray, n: int) -> Any:
    """Entries of an (n, n) SciPy sparse array, added up where they meet.

    Indices have 32 bits where they can: SciPy's trees took no others before 1.16.
    """
    short = sp.get_index_dtype(maxval=max(w.size, n))
    return sp.csr_array((w, (rows.astype(short), cols.astype(short))), shape=(n, n))


def check_graph(weights: Any, n_points: int) -> Graph:
    """Validate sparse pair weights: (n, n), finite, symmetric, >= 0.  The diagonal is ignored."""
    w = sparse_matrix("weights", weights, n_points)
    if (w.data < 0.0).any():
        raise InvalidParameter("weights must be finite and >= 0")
    rows = np.repeat(np.arange(n_points), np.diff(w.indptr))
    w.data[rows == w.indices] = 0.0
    w.eliminate_zeros()
    other = sp.csr_array(w.T)
    other.sort_indices()
    if (
        (w.indptr != other.indptr).any()
        or (w.indices != other.indices).any()
        or (w.data != other.data).any()
    ):
        raise InvalidParameter("weights must be symmetric")
    return Graph(indptr=w.indptr.astype(np.int64), indices=w.indices.astype(np.int32), w=w.data)


def neighbour_weights(
    points: ArrayLike,
    n_neighbours: int,
    *,
    decay: float = 0.0,
    relative: bool = False,
    connect: str = "none",
) -> Any:
    r"""Sparse symmetric weights ``exp(-decay |a_i - a_j|^2)`` of nearest neighbours.

    Parameters
    ----------
    points : (n, d) finite array.
    n_neighbours : 1 to n - 1.  Two points are linked when either is among the other's
        ``n_neighbours`` nearest.
    decay : phi >= 0, per squared unit of the points.  0 gives weights 1.
    relative : divides the squared distances by their mean over all pairs, so that ``decay`` has no
        unit.
    connect : ``"tree"`` adds the edges of a minimum spanning tree between the components: each
        joins the closest pair of points among those found.  ``"circulant"`` links i with i + 1, and
        the last point with the first.  ``"none"`` leaves the graph as it is.

    Returns
    -------
    scipy.sparse.csr_array (n, n) with zero diagonal.  Weights that underflow to 0 are kept at the
    smallest normal number, so that the graph stays as connected as it was made.

    Notes
    -----
    O(n k log n) by a k-d tree in few dimensions, memory O(n k).

    Examples
    --------
    >>> neighbour_weights([[0.0], [1.0], [10.0]], 1).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]

    References
    ----------
    Armacki et al. (2024), Remark 23; Sun, Toh & Yuan (2021), section 5; Touw, Groenen & Terada
    (2022), section 3 (circulant and spanning tree).
    """
    data = scale_points(points)
    x = np.ascontiguousarray(data.x.T)
    n = x.shape[0]
    n_neighbours = integer_between("n_neighbours", n_neighbours, 1, n - 1, "the other points")
    decay = real_between("decay", decay, 0.0)
    connect = one_of("connect", connect, CONNECTIONS)
    tree = cKDTree(x)
    _, near = tree.query(x, n_neighbours + 1)
    rows = np.repeat(np.arange(n), n_neighbours + 1)
    cols = near.reshape(-1).astype(np.int64)
    # Among equal points the point itself may be missing from its list.  Then the last one goes.
    itself = cols == rows
    missing = np.flatnonzero(~itself.reshape(n, -1).any(axis=1))
    keep = ~itself
    keep[missing * (n_neighbours + 1) + n_neighbours] = False
    rows, cols = rows[keep], cols[keep]
    if connect == "circulant" and n > 1:
        rows = np.concatenate([rows, np.arange(n)])
        cols = np.concatenate([cols, (np.arange(n) + 1) % n])
    if connect == "tree":
        rows, cols = _join(x, tree, rows, cols)
    low, high = np.minimum(rows, cols), np.maximum(rows, cols)
    edges = np.unique(low * n + high)
    low, high = edges // n, edges % n
    squares = ((x[low] - x[high]) ** 2).sum(axis=1)
    if relative:
        spread = 2.0 * float(((x - x.mean(axis=0)) ** 2).sum()) / max(n - 1, 1)
        exponent = decay * squares / spread if spread > 0.0 else np.zeros(squares.size)
    else:
        with np.errstate(over="ignore"):
            lengths = data.scale * np.sqrt(squares)
            exponent = lengths * (decay * lengths) if decay > 0.0 else np.zeros(squares.size)
    w = np.maximum(np.exp(-exponent), np.finfo(np.float64).tiny)
    half = sp.coo_array((w, (low, high)), shape=(n, n))
    return sp.csr_array(half + half.T)


def _join(x: FloatArray, tree: Any, rows: IntArray, cols: IntArray) -> tuple[IntArray, IntArray]:
    """The edges (E,) with those of a spanning tree of components added (Boruvka's rounds)."""
    n = x.shape[0]
    while True:
        graph = join_entries(np.ones(rows.size), rows, cols, n)
        count, label = connected_components(graph, directed=False)
        if count == 1:
            return rows, cols
        sizes = np.bincount(label)
        largest = int(np.argmax(sizes))
        new_rows, new_cols, gaps = [], [], []
        order = np.argsort(label, kind="stable")
        starts = np.concatenate([[0], np.cumsum(sizes)])
        for k in range(count):
            if k == largest:
                continue
            own = order[starts[k] : starts[k + 1]]
            i, j, gap = _closest(x, tree, own, label)
            new_rows.append(i)
            new_cols.append(j)
            gaps.append(gap)
        # Each component brings its shortest edge.  Equal gaps may close a circle: a spanning tree
        # of the components drops it.
        a, b = label[new_rows], label[new_cols]
        low, high = np.minimum(a, b), np.maximum(a, b)
        kept = minimum_spanning_tree(join_entries(np.ones(low.size), low, high, count)).tocoo()
        chosen = {}
        for t in np.argsort(gaps, kind="stable")[::-1]:
            chosen[(int(low[t]), int(high[t]))] = t
        take = [chosen[(int(p), int(q))] for p, q in zip(kept.row, kept.col, strict=True)]
        rows = np.concatenate([rows, np.array(new_rows)[take]])
        cols = np.concatenate([cols, np.array(new_cols)[take]])


def _closest(x: FloatArray, tree: Any, own: IntArray, label: IntArray) -> tuple[int, int, float]:
    """The closest pair of a point of the component ``own`` and a point outside, with its distance.

    Most components are small, so that a few neighbours of a point reach outside.  For the points of
    which they do not, a tree of the points outside is built.
    """
    k = min(_NEIGHBOURS, x.shape[0])
    distance, near = tree.query(x[own], k)
    apart = np.where(label[near] != label[own[0]], distance, np.inf)
    spot = int(np.argmin(apart))
    best, pair = float(apart.flat[spot]), (int(own[spot // k]), int(near.flat[spot]))
    left = own[np.isinf(apart).all(axis=1) & (distance[:, -1] < best)]
    if left.size:
        others = np.flatnonzero(label != label[own[0]])
        gap, place = cKDTree(x[others]).query(x[left])
        spot = int(np.argmin(gap))
        if gap[spot] < best:
            best, pair = float(gap[spot]), (int(left[spot]), int(others[place[spot]]))
    return (*pair, best)


def reorder(graph: Graph, order: IntArray) -> Graph:
    """The graph whose node i is the node ``order[i]``, order (n,), of the given one."""
    indptr, indices, w = (
        np.empty_like(graph.indptr),
        np.empty_like(graph.indices),
        np.empty_like(graph.w),
    )
    _reorder(graph, order, indptr, indices, w)
    return Graph(indptr=indptr, indices=indices, w=w)


@kernel(error_model="numpy")
def _reorder(
    graph: Graph, order: IntArray, new_indptr: IntArray, new_indices: IndexArray, new_w: FloatArray
) -> None:
    """Write the graph with its nodes in the ``order`` (n,), rows sorted."""
    indptr, indices, w = graph
    n = order.size
    place = np.empty(n, dtype=np.int64)
    new_indptr[0] = 0
    for i in range(n):
        place[order[i]] = i
        new_indptr[i + 1] = new_indptr[i] + indptr[order[i] + 1] - indptr[order[i]]
    # The graph is symmetric: each node in turn enters the rows of its neighbours.
    fill = new_indptr[:-1].copy()
    for i in range(n):
        for e in range(indptr[order[i]], indptr[order[i] + 1]):
            row = place[indices[e]]
            new_indices[fill[row]] = i
            new_w[fill[row]] = w[e]
            fill[row] += 1
