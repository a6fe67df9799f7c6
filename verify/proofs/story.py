"""The idea of a certificate in a few sentences, from its steps."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

_FEW = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def story(certificate: Mapping[str, Any]) -> str:
    """What a certificate does, in two to five sentences.

    Examples
    --------
    >>> story({"step": "sum"})
    'The certificate has one step and 14 bytes. The claim is a sum of terms that are not negative.'
    """
    kinds = Counter(_kinds(certificate))
    size = len(json.dumps(certificate, separators=(",", ":")))
    told = [f"The certificate has {_number(kinds.total(), 'step')} and {size:,} bytes."]
    before = [
        _number(kinds[kind], *words)
        for kind, words in (
            ("let", ("substitution",)),
            ("cut", ("intermediate fact",)),
            ("lemma", ("tangent of a logarithm or an exponential",
                       "tangents of logarithms or exponentials")),
            ("induct", ("induction over the steps of a recursion",
                        "inductions over the steps of a recursion")),
            ("square", ("comparison of squares", "comparisons of squares")),
        )
        if kinds[kind]
    ]  # fmt: skip
    if before:
        told.append(f"It uses {_listed(before)}.")
    if kinds["cases"]:
        told.append(f"It distinguishes two cases {_number(kinds['cases'], 'time')}.")
    ends = [
        words
        for kind, words in (
            ("sum", "is a sum of terms that are not negative"),
            ("boxes", "is enclosed by balls in each part of a box"),
            ("monotone", "grows from a value where it holds"),
        )
        if kinds[kind]
    ]
    subject = "Each claim that is left" if kinds.total() > 1 else "The claim"
    told.append(f"{subject} {_listed(ends, 'or')}.")
    return " ".join(told)


def _kinds(certificate: Mapping[str, Any]) -> Iterator[str]:
    yield certificate["step"]
    for below in certificate.get("then", ()):
        yield from _kinds(below)


def _number(count: int, one: str, more: str = "") -> str:
    word = _FEW[count] if count < len(_FEW) else f"{count:,}"
    return f"{word} {one if count == 1 else more or one + 's'}"


def _listed(parts: list[str], last: str = "and") -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}"
