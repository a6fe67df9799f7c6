"""Node problems.  Drivers call the kernels of this package only through this module.

A kernel does not check the shapes of its arguments, so an array with one column too few makes it
read or write beyond the end.  Drivers therefore never call a kernel with arrays that only should
belong together: `Nodes` holds the positions and masses of one problem, and its methods compare
every other array with them first.  `ShapeMismatch` reports a mistake in this package, not bad
input.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.clustering.convex import flows, newton, pairs


class ShapeMismatch(RuntimeError):
    """Arrays of different problems were passed to one kernel: a mistake in the calling code."""


def _expect(name: str, array: FloatArray | IntArray, shape: tuple[int, ...], kind: type) -> None:
    """Refuse an array that a kernel could not index as it will."""
    if array.shape != shape or array.dtype.type is not kind or not array.flags.c_contiguous:
        raise ShapeMismatch(
            f"{name} has shape {array.shape} and type {array.dtype}; the nodes need a contiguous "
            f"array of shape {shape} and type {np.dtype(kind)}"
        )


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """A lower bound on the penalty at which all nodes fuse, from values u of mean zero.

    Attributes
    ----------
    value : ``<x, u> / spread``, the bound, 0 where the spread is 0.
    spread : ``sum_{k<l} n_k n_l |u_k - u_l|``.
    square : ``sum_k n_k |u_k|^2``.
    """

    value: float
    spread: float
    square: float


@dataclass(frozen=True, kw_only=True)
class NewtonEnd:
    """How Newton's method ended: dual norm of the gradient, steps, Hessian products."""

    norm: float
    steps: int
    products: int


@dataclass(frozen=True, kw_only=True)
class Nodes:
    """K nodes in R^d, each the points of one fusion.  Lengths are in scaled units.

    Attributes
    ----------
    ids : (K,) node numbers.
    x : (d, K) positions, C-contiguous.
    mass : (K,) numbers of points, as floats.
    size : the number K of nodes.
    """

    ids: IntArray
    x: FloatArray
    mass: FloatArray
    size: int = field(init=False)

    def __post_init__(self) -> None:
        shape = self.x.shape
        if len(shape) != 2 or 0 in shape:
            raise ShapeMismatch(f"x has shape {shape}; nodes need (d, K) with d, K >= 1")
        object.__setattr__(self, "size", shape[1])
        _expect("x", self.x, shape, np.float64)
        _expect("mass", self.mass, shape[1:], np.float64)
        _expect("ids", self.ids, shape[1:], np.int64)

    @functools.cached_property
    def total(self) -> float:
        """The number of points that the nodes stand for."""
        return float(self.mass.sum())

    @functools.cached_property
    def squares(self) -> float:
        """Sum of the squared lengths of the positions, each as often as its mass."""
        return float(np.einsum("ck,ck,k->", self.x, self.x, self.mass))

    @functools.cached_property
    def weights(self) -> FloatArray:
        """(K, K) pair weights ``n_k n_l`` with a zero diagonal."""
        out = np.empty((self.size, self.size))
        pairs.mass_weights(self.mass, out)
        return out

    @functools.cached_property
    def renumbered(self) -> Nodes:
        """The same nodes, numbered 0..K-1."""
        return Nodes(ids=np.arange(self.size), x=self.x, mass=self.mass)

    def take(self, index: IntArray) -> Nodes:
        """The nodes of an index set (s,)."""
        x = np.ascontiguousarray(self.x[:, index])
        return Nodes(ids=self.ids[index], x=x, mass=self.mass[index])

    def mean(self, values: FloatArray) -> FloatArray:
        """(d, 1) mass-weighted mean of the values (d, K)."""
        mean: FloatArray = (values @ self.mass)[:, None]
        return mean / self.total

    def centred(self, values: FloatArray) -> FloatArray:
        """Values (d, K) about their mass-weighted mean."""
        return np.ascontiguousarray(values) - self.mean(values)

    def largest_flow(self, potentials: FloatArray, strength: float) -> float:
        """Largest flow that the potentials (d, K) need, see `flows.largest_flow`."""
        _expect("potentials", potentials, self.x.shape, np.float64)
        return float(flows.largest_flow(self.x, self.mass, potentials, strength))

    def fusion_ratio(self, values: FloatArray) -> Ratio:
        """Lower bound on the penalty at which all fuse, from values (d, K) of mean zero."""
        _expect("values", values, self.x.shape, np.float64)
        out = np.empty(3)
        flows.fusion_ratio(self.x, self.mass, values, out)
        return Ratio(value=float(out[0]), spread=float(out[1]), square=float(out[2]))

    def set_ratio(self, values: FloatArray, squares: FloatArray, index: IntArray) -> float:
        """`fusion_ratio` of the nodes ``index`` alone, from the squared distances of the values."""
        _expect("values", values, self.x.shape, np.float64)
        _expect("squares", squares, (self.size, self.size), np.float64)
        _expect_index(index, self.size)
        return float(flows.set_ratio(self.x, self.mass, values, squares, index))

    def minimise(
        self,
        values: FloatArray,
        lam: float,
        *,
        mu: float = 1.0,
        eps: float = 0.0,
        tol: float,
        max_steps: int,
        patience: int,
        weights: FloatArray | None = None,
    ) -> NewtonEnd:
        """Newton's method from ``values`` (d, K), in place.  See `newton.newton`."""
        weights = self.weights if weights is None else weights
        _expect("values", values, self.x.shape, np.float64)
        _expect("weights", weights, (self.size, self.size), np.float64)
        out = np.empty(3)
        newton.newton(
            self.x, self.mass, weights, lam, mu, eps, tol, max_steps, patience, values, out
        )
        return NewtonEnd(norm=float(out[0]), steps=int(out[1]), products=int(out[2]))

    def means(self, values: FloatArray, labels: IntArray) -> tuple[FloatArray, FloatArray]:
        """Mass-weighted means (d, k) of the values (d, K) of equal label, and the masses (k,)."""
        _expect("values", values, self.x.shape, np.float64)
        _expect("labels", labels, (self.size,), np.int64)
        count = int(labels.max()) + 1
        _expect_index(labels, count)
        out, mass = np.empty((self.x.shape[0], count)), np.empty(count)
        pairs.centroids(values, self.mass, labels, out, mass)
        return out, mass

    def formula_fusions(self, lam: float, allowance: float) -> tuple[IntArray, int]:
        """Labels (K,) after the fusions that the plain formula proves, and their number."""
        labels = np.empty(self.size, dtype=np.int64)
        squares = squared_distances(self.x)
        count = pairs.formula_fusions(squares, self.mass, lam, allowance, labels)
        return labels, int(count)

    def fused(self, labels: IntArray, values: FloatArray) -> tuple[Nodes, FloatArray]:
        """Replace the nodes of equal label by their centroid.  Values (d, K) are averaged too.

        The ids of fused nodes are left at -1 for the caller to number.  A node that does not fuse
        keeps its position bit for bit.
        """
        x, mass = self.means(self.x, labels)
        v, _ = self.means(values, labels)
        ids = np.full(mass.size, -1, dtype=np.int64)
        alone = np.bincount(labels, minlength=mass.size)[labels] == 1
        ids[labels[alone]] = self.ids[alone]
        return Nodes(ids=ids, x=x, mass=mass), v


def _expect_index(index: IntArray, size: int) -> None:
    """Refuse indices that do not all lie in 0..size-1."""
    _expect("index", index, (index.size,), np.int64)
    if index.size == 0 or int(index.min()) < 0 or int(index.max()) >= size:
        raise ShapeMismatch(f"index {index} must lie in 0..{size - 1}")


def squared_distances(values: FloatArray) -> FloatArray:
    """(K, K) squared distances of the columns of (d, K), the diagonal infinite."""
    if values.ndim != 2:
        raise ShapeMismatch(f"values have shape {values.shape}; distances need (d, K)")
    _expect("values", values, values.shape, np.float64)
    size = values.shape[1]
    out = np.empty((size, size))
    pairs.pair_squares(values, out)
    out.reshape(-1)[:: size + 1] = np.inf
    return out


def components(squares: FloatArray, threshold: float) -> IntArray:
    """(K,) labels of the connected components of the graph ``squares <= threshold``.

    They are numbered by first node.
    """
    size = squares.shape[0]
    _expect("squares", squares, (size, size), np.float64)
    out = np.empty(size, dtype=np.int64)
    pairs.components(squares, threshold, out)
    return out


def smallest_distance(values: FloatArray) -> float:
    """Smallest distance between two columns of (d, K), infinite for one column."""
    return math.sqrt(float(squared_distances(values).min()))
