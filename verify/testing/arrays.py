"""The border between this suite, which computes in NumPy, and a subject's own arrays.

A subject gets the arrays that it works with: those of NumPy, PyTorch, JAX, CuPy or any other
package with the array API's function ``from_dlpack``.  It returns arrays of any package that
exports them by DLPack or ``__array__``.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trials.checks import FloatArray, InvalidParameter, one_of, shown
from verify.testing.case import Case, Clients

PRECISIONS: dict[str, Any] = {"double": np.float64, "single": np.float32}


@dataclass(frozen=True, kw_only=True)
class Border:
    """What a subject computes with.

    Attributes
    ----------
    package : name of a module with ``from_dlpack``, e.g. ``numpy``, ``torch`` or ``jax.numpy``.
    precision : ``double`` or ``single``, of the arrays that the subject gets.

    Raises
    ------
    InvalidParameter : a package that cannot be imported or has no ``from_dlpack``, an unknown
        precision.

    Examples
    --------
    >>> border = Border()
    >>> border.take(border.give(np.ones((2, 1)))).tolist()
    [[1.0], [1.0]]
    """

    package: str = "numpy"
    precision: str = "double"

    def __post_init__(self) -> None:
        one_of("precision", self.precision, PRECISIONS)
        if not hasattr(self._module(), "from_dlpack"):
            raise InvalidParameter(
                f"arrays={self.package} must be a package with the array API's from_dlpack, "
                "such as numpy, torch or jax.numpy"
            )

    def _module(self) -> Any:
        try:
            return importlib.import_module(self.package)
        except Exception as error:  # a package may fail in any way while it is loaded
            raise InvalidParameter(
                f"arrays={shown(self.package)} must be a package that can be imported: {error}"
            ) from None

    @property
    def unit(self) -> float:
        """The unit roundoff u: half the distance from 1 to the next number."""
        return float(np.finfo(PRECISIONS[self.precision]).eps) / 2.0

    def rounded(self, case: Case) -> Case:
        """The same case in numbers of the subject's precision, so that both sides see the same."""
        if self.precision == "double":
            return case
        return {name: self._round(value) for name, value in case.items()}

    def _round(self, value: Any) -> Any:
        if isinstance(value, Clients):
            return Clients(tuple((self._round(x), self._round(y)) for x, y in value))
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            return value.astype(np.float32).astype(np.float64)
        return float(np.float32(value)) if isinstance(value, float) else value

    def give(self, array: FloatArray) -> Any:
        """The subject's own copy of an array."""
        kind = PRECISIONS[self.precision] if array.dtype.kind == "f" else array.dtype
        own = np.array(array, dtype=kind, order="C")
        return own if self.package == "numpy" else self._module().from_dlpack(own)

    def take(self, value: Any) -> NDArray[Any]:
        """A returned array as a NumPy array on this machine's main memory."""
        for method in ("detach", "cpu"):  # PyTorch: out of the graph, off the accelerator
            value = getattr(value, method, lambda value=value: value)()
        if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
            try:
                return np.from_dlpack(value)
            except (BufferError, RuntimeError, TypeError, AttributeError):
                pass  # an odd device or type: the array's own conversion may know it
        return np.asarray(value)


def own_arguments(border: Border, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Copies of all arguments in the subject's own arrays."""
    given: dict[str, Any] = {}
    for name, value in arguments.items():
        if isinstance(value, Clients):
            given[name] = [(border.give(x), border.give(y)) for x, y in value]
        else:
            given[name] = border.give(value) if isinstance(value, np.ndarray) else value
    return given


def changed_argument(
    border: Border, arguments: Mapping[str, Any], given: Mapping[str, Any]
) -> str | None:
    """The name of the first argument that a subject has changed in place, if there is one."""
    for name, value in arguments.items():
        own = given[name]
        if isinstance(value, Clients):
            kept = len(own) == len(value) and all(
                isinstance(new, tuple | list)
                and len(new) == len(old)
                and all(_has_values(border, a, b) for a, b in zip(new, old, strict=True))
                for new, old in zip(own, value, strict=True)
            )
        else:
            kept = not isinstance(value, np.ndarray) or _has_values(border, own, value)
        if not kept:
            return name
    return None


def _has_values(border: Border, given: Any, array: FloatArray) -> bool:
    """Whether a subject's own copy still has the values of an array."""
    try:
        now = border.take(given)
    except Exception:  # it is no array any more, such as a buffer that was given away
        return False
    return now.shape == array.shape and np.array_equal(now, array.astype(now.dtype))
