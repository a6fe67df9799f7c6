"""The one decoder of stored JSON: bounded in size and depth, typed, safe to print."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, TypeVar

import msgspec

from trials.run.store.limits import MAX_DEPTH, MAX_DOCUMENT
from trials.text import printable

T = TypeVar("T")


class Undecodable(ValueError):
    """A stored text is not of the expected form.  The message says where and why."""


def _clean(value: Any, depth: int = 0) -> Any:
    """Return the value with its texts made printable.  Line breaks and tabulators stay."""
    if isinstance(value, str):
        return printable(value, keep="\n\t")
    if not isinstance(value, (list, dict)):
        return value
    if depth == MAX_DEPTH:
        raise Undecodable(f"is nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, list):
        return [_clean(one, depth + 1) for one in value]
    return {printable(key): _clean(one, depth + 1) for key, one in value.items()}


def _fields(type_: Any) -> set[str] | None:
    """The names of a record type's fields, or None for another type."""
    if isinstance(type_, type) and issubclass(type_, msgspec.Struct):
        return set(type_.__struct_encode_fields__)
    if dataclasses.is_dataclass(type_):
        return {field.name for field in dataclasses.fields(type_)}
    return None


def decode(text: object, type_: type[T], limit: int = MAX_DOCUMENT) -> T:
    """The value that a stored JSON text spells, of the given type.

    Parameters
    ----------
    text : the content of the column.  It may have any type.
    type_ : anything that `msgspec.convert` knows: ``dict[str, int]``, a `msgspec.Struct`, a
        dataclass.
    limit : the largest number of characters.

    Raises
    ------
    Undecodable
        When the text is no text, too long, no JSON, nested too deep, of another type, or a record
        with a field that this version does not know.

    Examples
    --------
    >>> decode('{"first": [3, 5]}', dict[str, list[int]])
    {'first': [3, 5]}
    """
    if not isinstance(text, str):
        raise Undecodable(f"is not text but {type(text).__name__}")
    if len(text) > limit:
        raise Undecodable(f"has {len(text)} characters, at most {limit} are allowed")
    try:
        value = _clean(json.loads(text))
    except RecursionError:
        raise Undecodable(f"is nested more than {MAX_DEPTH} levels deep") from None
    except Undecodable:
        raise
    except ValueError as error:
        raise Undecodable(f"is not JSON ({error})") from None
    known = _fields(type_)
    if known is not None and isinstance(value, dict) and not set(value) <= known:
        unknown = min(set(value) - known)
        raise Undecodable(
            f"has the unknown field {unknown!r}; a later version of cfl-verify may have written it"
        )
    try:
        return msgspec.convert(value, type_)
    except (msgspec.ValidationError, ValueError, TypeError, OverflowError) as error:
        raise Undecodable(f"is not as expected ({error})") from None
