"""Arrays from a pickle, without unpickling: nothing that the file names is imported or called.

`pickletools` splits the file into its instructions.  Those that build numbers, texts, lists,
dictionaries and NumPy's arrays are carried out here, and any other one is refused.  An array is
made only after its shape and type agree with the number of its bytes.  CIFAR-10's files are of the
protocol 2.  From protocol 5 on NumPy writes arrays in another way, which is refused.

References
----------
The module ``pickle`` of Python, "Restricting Globals", and NumPy's ``ndarray.__reduce__``.
"""

from __future__ import annotations

import math
import pickletools
from dataclasses import dataclass
from typing import Any

import numpy as np

from trials.checks import InvalidParameter, shown

_RECONSTRUCT = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
}
_GLOBALS = {
    **dict.fromkeys(_RECONSTRUCT, "reconstruct"),
    ("numpy", "ndarray"): "ndarray",
    ("numpy", "dtype"): "dtype",
    ("_codecs", "encode"): "encode",
}
_KINDS = {"u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"}
_MARK = object()

_VALUES = {
    "BININT", "BININT1", "BININT2", "INT", "LONG", "LONG1", "LONG4", "BINFLOAT", "FLOAT",
    "STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE",
    "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8",
}  # fmt: skip
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_PUTS = {"PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"}
_GETS = {"GET", "BINGET", "LONG_BINGET"}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


class _Unreadable(Exception):
    """What the file asks for and does not get."""


@dataclass(frozen=True)
class _Name:
    """A permitted name of the file: never the object of that name."""

    name: str


@dataclass
class _Dtype:
    kind: str
    order: str = "|"


@dataclass
class _Array:
    value: np.ndarray[Any, Any] | None = None


def read_pickled(content: bytes, name: str) -> dict[str, Any]:
    """The dictionary of a pickle that holds numbers, texts, lists and numeric arrays.

    Parameters
    ----------
    content : all bytes of the file.
    name : of the file, for messages.

    Returns
    -------
    Text -> number, text, list, dictionary or array.  Lists and dictionaries inside hold no
    arrays.  Texts of Python 2 are read as Latin-1.

    Raises
    ------
    InvalidParameter : In one line: any other instruction or name, a broken file, an array whose
        bytes do not fit its shape.

    Examples
    --------
    >>> import pickle
    >>> read_pickled(pickle.dumps({"labels": [3, 1]}), "batch")
    {'labels': [3, 1]}
    """
    try:
        found = _plain(_Machine().run(content))
    except _Unreadable as error:
        raise InvalidParameter(f"{name}: as a pickle of arrays only, it {error}") from None
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidParameter(f"{name}: is no whole pickle: {shown(str(error))}") from None
    if not isinstance(found, dict):
        raise InvalidParameter(f"{name}: must hold a dictionary, not {type(found).__name__}")
    return found


class _Machine:
    """The stack of a pickle, for the permitted instructions."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self, content: bytes) -> Any:
        for code, argument, _ in pickletools.genops(content):
            if code.name == "STOP":
                return self.stack.pop()
            self.step(code.name, argument)
        raise _Unreadable("ends too early")

    def step(self, code: str, argument: Any) -> None:
        stack = self.stack
        if code in _VALUES:
            stack.append(argument)
        elif code in _PUTS:
            self.memo[len(self.memo) if argument is None else int(argument)] = stack[-1]
        elif code in _GETS:
            stack.append(self.memo[int(argument)])
        elif code in _CONSTANTS:
            stack.append(_CONSTANTS[code])
        elif code in _TUPLES:
            parts = [stack.pop() for _ in range(_TUPLES[code])]
            stack.append(tuple(reversed(parts)))
        elif code not in ("PROTO", "FRAME"):
            self.build(code, argument)

    def build(self, code: str, argument: Any) -> None:
        """The instructions that make containers, names and arrays."""
        stack = self.stack
        if code == "MARK":
            stack.append(_MARK)
        elif code in ("EMPTY_LIST", "EMPTY_DICT", "EMPTY_TUPLE"):
            stack.append({"EMPTY_LIST": [], "EMPTY_DICT": {}, "EMPTY_TUPLE": ()}[code])
        elif code in ("TUPLE", "LIST"):
            parts = self.since_mark()
            stack.append(tuple(parts) if code == "TUPLE" else parts)
        elif code == "DICT":
            stack.append(_filled({}, self.since_mark()))
        elif code in ("APPEND", "APPENDS"):
            parts = self.since_mark() if code == "APPENDS" else [stack.pop()]
            _of(list, stack[-1]).extend(parts)
        elif code in ("SETITEM", "SETITEMS"):
            parts = self.since_mark() if code == "SETITEMS" else [stack.pop(-2), stack.pop()]
            _filled(_of(dict, stack[-1]), parts)
        elif code in ("GLOBAL", "STACK_GLOBAL"):
            name = stack.pop() if code == "STACK_GLOBAL" else None
            module = stack.pop() if code == "STACK_GLOBAL" else None
            pair = (module, name) if argument is None else tuple(str(argument).split(" ", 1))
            if pair not in _GLOBALS:
                raise _Unreadable(f"must not name {shown('.'.join(map(str, pair)))}")
            stack.append(_Name(_GLOBALS[pair]))  # type: ignore[index]
        elif code == "REDUCE":
            arguments = stack.pop()
            stack.append(_made(_of(_Name, stack.pop()).name, _of(tuple, arguments)))
        elif code == "BUILD":
            state = stack.pop()
            _set_state(stack[-1], _of(tuple, state))
        else:
            raise _Unreadable(f"must not use the instruction {code}")

    def since_mark(self) -> list[Any]:
        parts = []
        while (part := self.stack.pop()) is not _MARK:
            parts.append(part)
        return parts[::-1]


def _of(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise _Unreadable(f"holds a {type(value).__name__} where a {kind.__name__} must be")
    return value


def _filled(target: dict[str, Any], parts: list[Any]) -> dict[str, Any]:
    for key, value in zip(parts[::2], parts[1::2], strict=True):
        text = key.decode("latin-1") if isinstance(key, bytes) else key
        target[_of(str, text)] = value
    return target


def _made(name: str, arguments: tuple[Any, ...]) -> Any:
    """The stand-in for the result of a permitted call."""
    if name == "reconstruct":
        return _Array()
    if name == "dtype":
        kind = str(_text(arguments[0]))
        if kind not in _KINDS:
            raise _Unreadable(f"holds an array of type {shown(kind)}, which must be a number's")
        return _Dtype(kind)
    if name == "encode" and arguments[1:] == ("latin1",):
        return _of(str, arguments[0]).encode("latin-1")
    raise _Unreadable(f"must not call {name}")


def _text(value: Any) -> Any:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _set_state(target: Any, state: tuple[Any, ...]) -> None:
    """The state of a type, (version, byte order, ...), or of an array, (version, shape, ...)."""
    if isinstance(target, _Dtype):
        target.order = str(_text(state[1]))
        if target.order not in "|<>" or any(part is not None for part in state[2:5]):
            raise _Unreadable("holds an array of a structured type")
        return
    array: _Array = _of(_Array, target)
    _, shape, dtype, fortran, raw = state
    dtype = _of(_Dtype, dtype)
    raw = raw.encode("latin-1") if isinstance(raw, str) else _of(bytes, raw)
    if not all(type(size) is int and size >= 0 for size in _of(tuple, shape)) or len(shape) > 8:
        raise _Unreadable(f"holds an array of shape {shown(shape)}")
    wanted = math.prod(shape) * int(dtype.kind[1:])
    if wanted != len(raw):
        raise _Unreadable(
            f"holds {len(raw)} bytes for an array of shape {shown(shape)}, which needs {wanted}"
        )
    kind = np.dtype(dtype.order.replace("|", "=") + dtype.kind)
    array.value = np.frombuffer(raw, kind).reshape(shape, order="F" if fortran else "C")


def _plain(value: Any) -> Any:
    """The value with arrays for their stand-ins, in the first two levels, where arrays may be.

    Deeper ones are refused, each container being looked at once: a short file can name one in
    many places, and in itself.
    """
    if isinstance(value, dict):
        return {key: _finished(part) for key, part in value.items()}
    return _finished(value)


def _finished(value: Any) -> Any:
    if isinstance(value, _Array):
        if value.value is None:
            raise _Unreadable("holds an array without content")
        return value.value
    if isinstance(value, _Name | _Dtype):
        raise _Unreadable("holds a name where a value must be")
    inside, seen = [value], set()
    while inside:
        part = inside.pop()
        if isinstance(part, _Array | _Name | _Dtype):
            raise _Unreadable("holds an array or a name inside a list or dictionary")
        if isinstance(part, dict | list | tuple) and id(part) not in seen:
            seen.add(id(part))
            inside.extend(part.values() if isinstance(part, dict) else part)
    return value
