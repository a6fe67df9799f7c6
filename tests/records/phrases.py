"""The phrases that many claims say, recorded once and not in each claim.

A claim's texts are made of sentences.  One that many claims say, with other numbers in it, is a
phrase.  The claims' own records leave it out: ``…`` stands for any words without a digit, and the
numbers are kept between.  So a record still shows a changed number and a changed sentence of its
own, and a changed phrase shows in this record alone, which holds the phrases of a few claims that
say all of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set
from functools import cache
from typing import Any

from tests.records import claims
from tests.records.files import read, recorded_names
from tests.records.values import GAP

KIND = "phrases"
NAME = "claims"
#: Claims that say a phrase, at least, and words of a sentence that may be one.
MANY, WORDS = 3, 4
#: Parts of a claim's record that are formulas, names and points: they are kept as they are.
EXACT = frozenset({
    "settings", "bound_latex", "failure_latex", "latex", "parts", "points", "witness", "left",
    "right", "params", "overridden", "cells_of",
})  # fmt: skip
_SENTENCE = re.compile(r"(?<=[.;:])\s+")
_NUMBER = re.compile(r"(?:(?<!\w)-)?\d+(?:[.,]\d+)*(?:e[-+]?\d+)?")


def names() -> list[str]:
    """There is one entry: the phrases of the claims."""
    return [NAME]


def again(_name: str, recorded: Mapping[str, Any]) -> dict[str, list[str]]:
    """What the claims that are examples say now, each phrase under the one that has it."""
    return {
        claim: sorted(common_of(claim) - (known() - {*phrases}))
        for claim, phrases in recorded.items()
    }


def fresh(_name: str, recorded: Mapping[str, Any]) -> dict[str, list[str]]:
    """The same, and what the records of many claims have in common by now."""
    records = {claim: read(claims.KIND, claim) for claim in recorded_names(claims.KIND)}
    said = {claim: sorted(common_of(claim)) for claim in recorded if claim in records}
    return with_common(said, records)


def common_of(claim: str) -> set[str]:
    """The sentences of a claim that its record leaves out."""
    record = read(claims.KIND, claim)
    return {*sentences(claims.again(claim, record))}.difference(sentences(record))


def with_common(found: Mapping[str, list[str]], records: Mapping[str, Any]) -> dict[str, list[str]]:
    """Claim -> its phrases, with those that many records have in common, under a few claims."""
    own = {claim: {*sentences(record)} for claim, record in records.items()}
    number = Counter(form for forms in own.values() for form in forms)
    result: dict[str, set[str]] = {}
    for claim, said in found.items():  # examples share phrases
        result[claim] = {*said}.difference(*result.values())
    left = {form for form, n in number.items() if n >= MANY}.difference(*result.values())
    while left:
        best = max(own, key=lambda claim: len(own[claim] & left))
        result.setdefault(best, set()).update(own[best] & left)
        left -= own[best]
    return {claim: sorted(said) for claim, said in sorted(result.items()) if said}


@cache
def known() -> Set[str]:
    """All phrases that are recorded."""
    return {phrase for said in read(KIND, NAME).values() for phrase in said}


def sentences(value: Any) -> Iterator[str]:
    """The sentences of a claim's texts, with ``#`` for a number."""
    for text in _texts(value):
        for piece in text.split(GAP):
            yield from (form for form, _ in _split(piece) if form)


def shortened(value: Any) -> Any:
    """What a claim says without the phrases that are recorded."""
    return _changed(value, _without_phrases)


def _without_phrases(text: str) -> str:
    parts: list[str] = []
    for i, piece in enumerate(text.split(GAP)):
        parts += [GAP] if i else []
        for form, sentence in _split(piece):
            if form in known():
                parts += [part for n in _NUMBER.findall(sentence) for part in (GAP, n)] + [GAP]
            elif sentence:
                parts.append(sentence)
    return " ".join(a for a, b in zip(parts, [*parts[1:], ""], strict=True) if not a == b == GAP)


def _split(text: str) -> Iterator[tuple[str, str]]:
    """(its form, a sentence) for the sentences of a text.  A few words have no form."""
    for sentence in _SENTENCE.split(text.strip(" ")):
        is_prose = sentence.count(" ") >= WORDS - 1
        yield (_NUMBER.sub("#", sentence) if is_prose else ""), sentence


def _texts(value: Any) -> Iterator[str]:
    found: list[str] = []
    _changed(value, lambda text: found.append(text) or text)
    return iter(found)


def _changed(value: Any, change: Callable[[str], str], key: str = "") -> Any:
    """The value with its texts changed."""
    if key in EXACT:
        return value
    if isinstance(value, dict):
        return {k: _changed(v, change, k) for k, v in value.items()}
    if isinstance(value, list):
        return [_changed(v, change) for v in value]
    return change(value) if isinstance(value, str) and " " in value else value
