"""Rows of a matrix as vectors of the processor, in jitted kernels.

A loop over the coordinates of two rows is not vectorised: the compiler cannot know that the rows
written do not overlap those read.  A row of this module is read once, stays in registers, and is
written once.  That takes a third of the time of a product with a Hessian in seven dimensions.

``lanes`` is a tuple of zeros, of which only the length counts: 2 or 8 coordinates.  The
number is a part of its type, so that each kernel is compiled for it.  A matrix (n, d) for `load`
and `store` is C-contiguous, and d is a multiple of the number of lanes.  See `pad`.

Rows add, subtract and multiply, coordinate by coordinate, and a number times a row is a row.  With
the compiler switched off they are arrays of NumPy.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic, models, overload, register_model

from trials.checks import FloatArray

#: As `trials.clustering.convex.pairs.FAST`.
_FLAGS = ("reassoc", "contract", "nsz")
_WIDTHS = (2, 8)
cgutils: Any = _cgutils


def _instruction(build: Any) -> Any:
    """A function of jitted code that is written in the compiler's own language."""
    return intrinsic(build)


def lanes_of(d: int) -> tuple[int, ...]:
    """The lanes for rows of ``d`` coordinates.

    Examples
    --------
    >>> len(lanes_of(2)), len(lanes_of(7)), len(lanes_of(30))
    (2, 8, 8)
    """
    return (0,) * next((width for width in _WIDTHS if width >= d), _WIDTHS[-1])


def pad(x: FloatArray) -> FloatArray:
    """The matrix (n, d) with columns of zeros up to a multiple of its lanes.

    Examples
    --------
    >>> pad(np.ones((2, 1))).tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    n, d = x.shape
    width = len(lanes_of(d))
    out = np.zeros((n, -(-d // width) * width))
    out[:, :d] = x
    return out


def load(lanes: tuple[int, ...], x: FloatArray, i: int, k: int) -> Any:
    """The coordinates from ``k`` on of row ``i`` of an array (n, d)."""
    return x[i, k : k + len(lanes)].copy()


def store(x: FloatArray, i: int, k: int, row: Any) -> None:
    """Write a row to the coordinates from ``k`` on of row ``i``."""
    x[i, k : k + row.size] = row


def total(row: Any) -> float:
    """The sum of the coordinates."""
    return float(row.sum())


class _Row(types.Type):  # type: ignore[misc]
    """Type of a row."""

    def __init__(self, width: int) -> None:
        self.width = width
        super().__init__(name=f"Row({width})")  # type: ignore[no-untyped-call]


@register_model(_Row)
class _RowModel(models.PrimitiveModel):  # type: ignore[misc]
    """A vector of LLVM."""

    def __init__(self, manager: Any, row: _Row) -> None:
        super().__init__(manager, row, ir.VectorType(ir.DoubleType(), row.width))  # type: ignore[no-untyped-call]


def _place(context: Any, builder: Any, kind: Any, at: Any, width: int) -> Any:
    """Pointer to the coordinates from k on of row i: ``at`` is (array, i, k)."""
    x, i, k = at
    array = context.make_array(kind)(context, builder, x)
    columns = cgutils.unpack_tuple(builder, array.shape)[1]
    first = builder.gep(array.data, [builder.add(builder.mul(i, columns), k)])
    return builder.bitcast(first, ir.VectorType(ir.DoubleType(), width).as_pointer())


@_instruction
def _load(_context: Any, lanes: Any, x: Any, i: Any, k: Any) -> Any:
    row = _Row(len(lanes))

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = _place(context, builder, signature.args[1], args[1:], row.width)
        return builder.load(at, align=8)

    return row(lanes, x, types.int64, types.int64), build


@_instruction
def _store(_context: Any, x: Any, i: Any, k: Any, row: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = _place(context, builder, signature.args[0], args[:3], row.width)
        builder.store(args[3], at, align=8)
        return context.get_dummy_value()

    return types.void(x, types.int64, types.int64, row), build


@_instruction
def _total(_context: Any, row: Any) -> Any:
    def build(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        number = ir.DoubleType()
        kind = ir.FunctionType(number, [number, ir.VectorType(number, row.width)])
        name = f"llvm.vector.reduce.fadd.v{row.width}f64"
        function = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.call(function, [ir.Constant(number, 0.0), args[0]], fastmath=_FLAGS)

    return types.float64(row), build


@_instruction
def _times(_context: Any, number: Any, row: Any) -> Any:
    def build(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        vector = ir.VectorType(ir.DoubleType(), row.width)
        first = ir.Constant(ir.IntType(32), 0)
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), row.width), [0] * row.width)
        nothing = ir.Constant(vector, ir.Undefined)
        one = builder.insert_element(nothing, args[0], first)
        return builder.fmul(builder.shuffle_vector(one, nothing, everywhere), args[1], flags=_FLAGS)

    return row(types.float64, row), build


def _between_rows(name: str) -> Any:
    """An operation of LLVM on two rows."""

    @_instruction
    def operation(_context: Any, left: Any, right: Any) -> Any:
        def build(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            return getattr(builder, name)(*args, flags=_FLAGS)

        return left(left, right), build

    return operation


_sum, _difference, _product = (_between_rows(name) for name in ("fadd", "fsub", "fmul"))


@overload(load, strict=False)
def _overload_load(lanes: Any, x: Any, i: Any, k: Any) -> Any:
    return lambda lanes, x, i, k: _load(lanes, x, i, k)


@overload(store, strict=False)
def _overload_store(x: Any, i: Any, k: Any, row: Any) -> Any:
    return lambda x, i, k, row: _store(x, i, k, row)


@overload(total, strict=False)
def _overload_total(row: Any) -> Any:
    return lambda row: _total(row)


@overload(operator.add, strict=False)
def _overload_add(left: Any, right: Any) -> Any:
    if isinstance(left, _Row) and isinstance(right, _Row):
        return lambda left, right: _sum(left, right)
    return None


@overload(operator.sub, strict=False)
def _overload_sub(left: Any, right: Any) -> Any:
    if isinstance(left, _Row) and isinstance(right, _Row):
        return lambda left, right: _difference(left, right)
    return None


@overload(operator.mul, strict=False)
def _overload_mul(left: Any, right: Any) -> Any:
    if isinstance(right, _Row):
        if isinstance(left, _Row):
            return lambda left, right: _product(left, right)
        if isinstance(left, types.Float):
            return lambda left, right: _times(left, right)
    return None
