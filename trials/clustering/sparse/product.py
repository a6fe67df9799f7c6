"""A Hessian on a graph, and its jitted product with a vector."""

from __future__ import annotations

from typing import NamedTuple

from trials.checks import FloatArray, IntArray
from trials.clustering.convex.pairs import FAST
from trials.clustering.sparse.graph import IndexArray
from trials.clustering.sparse.rows import load, store, total
from trials.kernel import inner_kernel


class Hessian(NamedTuple):
    """A Hessian on a graph: an edge x has the matrix ``first I - second x x^T``.

    Attributes
    ----------
    indptr, indices : (n + 1,) and (E,), the edges as in `trials.clustering.sparse.newton`.
    mass : (n,) masses of the nodes.
    first, second : (E,) over lengths, and over cubes of lengths.
    u : (n, d) places of the nodes.
    """

    indptr: IntArray
    indices: IndexArray
    mass: FloatArray
    first: FloatArray
    second: FloatArray
    u: FloatArray


@inner_kernel(error_model="numpy", fastmath=FAST)
def product(lanes: tuple[int, ...], hessian: Hessian, p: FloatArray, out: FloatArray) -> float:
    """Write the Hessian times ``p`` (n, d) to ``out`` (n, d) and return <p, H p>."""
    indptr, indices, mass, first, second, u = hessian
    n, d = u.shape
    width = len(lanes)
    for i in range(n):
        for c in range(0, d, width):
            store(out, i, c, mass[i] * load(lanes, p, i, c))
    bend = 0.0
    for i in range(n):
        if d == width:
            u_here, p_here, sums = (
                load(lanes, u, i, 0),
                load(lanes, p, i, 0),
                load(lanes, out, i, 0),
            )
            for e in range(indptr[i], indptr[i + 1]):
                j = indices[e]
                x = u_here - load(lanes, u, j, 0)
                q = p_here - load(lanes, p, j, 0)
                t = first[e] * q - (second[e] * total(x * q)) * x
                sums = sums + t
                store(out, j, 0, load(lanes, out, j, 0) - t)
            store(out, i, 0, sums)
            bend += total(p_here * sums)
            continue
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            along = 0.0
            for c in range(0, d, width):
                x = load(lanes, u, i, c) - load(lanes, u, j, c)
                along += total(x * (load(lanes, p, i, c) - load(lanes, p, j, c)))
            along *= second[e]
            for c in range(0, d, width):
                x = load(lanes, u, i, c) - load(lanes, u, j, c)
                t = first[e] * (load(lanes, p, i, c) - load(lanes, p, j, c)) - along * x
                store(out, i, c, load(lanes, out, i, c) + t)
                store(out, j, c, load(lanes, out, j, c) - t)
        for c in range(0, d, width):
            bend += total(load(lanes, p, i, c) * load(lanes, out, i, c))
    return bend
