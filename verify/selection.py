"""Which claims a command line names, and at which values.

This module is read by commands that must answer at once, so it imports nothing that is slow.
"""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")

#: Longest number that is read: beyond it Python itself refuses to convert.
MAX_DIGITS = 400
#: More claims than this are not listed in a message.
_FEW = 20


@dataclass(frozen=True, kw_only=True)
class Selection:
    """A claim id with parameter values put into its cells: ``ifca.thm1[m=400,d=100]``.

    ``wild`` says that the name held ``*`` or ``?``.  It is not part of the selection's identity.
    """

    claim: str
    values: Mapping[str, Any]
    wild: bool = field(default=False, compare=False)

    @property
    def key(self) -> tuple[str, frozenset[tuple[str, Any]]]:
        """The claim and its values, in whatever order they are named."""
        return self.claim, frozenset(self.values.items())

    def __str__(self) -> str:
        inside = ",".join(f"{k}={v}" for k, v in self.values.items())
        return f"{self.claim}[{inside}]" if inside else self.claim


_SELECTION = re.compile(r"(?P<claim>[^\[\]]+)(\[(?P<values>[^\[\]]*)\])?")


def invalid(message: str) -> ValueError:
    """The error of bad input.  Its module loads NumPy, so it is imported when it is needed."""
    from trials.checks import InvalidParameter

    return InvalidParameter(message)


def parse_selection(text: str) -> Selection:
    """Read ``CLAIM`` or ``CLAIM[param=value,...]``.  Values are integers, floats or words.

    >>> parse_selection("ifca.thm1[m=400,sigma=0.5]").values
    {'m': 400, 'sigma': 0.5}
    """
    match = _SELECTION.fullmatch(text.strip())
    if match is None:
        raise invalid(f"claim {text!r} must look like CLAIM or CLAIM[param=value,...]")
    values: dict[str, Any] = {}
    for part in filter(None, (match["values"] or "").split(",")):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not (name and equals and value):
            raise invalid(f"{part.strip()!r} in {text!r} must look like param=value")
        if name in values:
            raise invalid(f"{name} is given twice in {text!r}")
        values[name] = _number(name, value)
    claim = match["claim"].strip()
    return Selection(claim=claim, values=values, wild=any(sign in claim for sign in "*?"))


def spelled(names: Iterable[str]) -> dict[tuple[str, frozenset[tuple[str, Any]]], str]:
    """Names by what they select (`Selection.key`).

    Names that select nothing are left out, and those that no run writes, such as ``a.b[m=05]``.

    >>> spelled(["a.b[m=5,d=10]", "a.b[m=05,d=10]", "a.b["])[parse_selection("a.b[d=10,m=5.0]").key]
    'a.b[m=5,d=10]'
    """
    found = {}
    for name in names:
        with suppress(ValueError):
            selection = parse_selection(name)
            if str(selection) == name:
                found[selection.key] = name
    return found


def _number(name: str, text: str) -> int | float | str:
    if len(text) > MAX_DIGITS:
        raise invalid(f"{name}={text!r} must be at most {MAX_DIGITS} characters long")
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def select(catalogue: Mapping[str, T], texts: Sequence[str]) -> list[tuple[Selection, T]]:
    """Claims named on the command line, or all claims.  Errors list the valid names.

    A name may hold ``*`` and ``?`` wild cards.  A claim that is named twice is tried once, also
    where its values are named in another order: twice would halve its level of error.
    """
    if not texts:
        return [(Selection(claim=name, values={}), claim) for name, claim in catalogue.items()]
    chosen = []
    for text in texts:
        selection = parse_selection(text)
        names = fnmatch.filter(catalogue, selection.claim) if selection.wild else []
        if selection.claim in catalogue:
            names = [selection.claim]
        if not names:
            close = difflib.get_close_matches(selection.claim[:100], catalogue, n=3)
            hint = f" (did you mean {' or '.join(close)}?)" if close else ""
            raise invalid(f"unknown claim {selection.claim!r}{hint}; {_some(catalogue)}")
        chosen += [
            (
                Selection(claim=name, values=selection.values, wild=selection.wild),
                catalogue[name],
            )
            for name in names
        ]
    different: dict[tuple[str, frozenset[tuple[str, Any]]], tuple[Selection, T]] = {}
    for selection, claim in chosen:
        different.setdefault(selection.key, (selection, claim))
    return list(different.values())


def _some(names: Iterable[str]) -> str:
    """All names where they are few, else how to list them."""
    known = list(names)
    if len(known) <= _FEW:
        return f"known: {', '.join(known)}"
    papers = ", ".join(f"{paper}.*" for paper in dict.fromkeys(n.partition(".")[0] for n in known))
    return f"`cfl-verify list` shows all {len(known)} claims of {papers}"
