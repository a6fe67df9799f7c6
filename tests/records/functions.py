"""Records of the drivers of `trials` and `bounds`: their values at good arguments and beside them.

The good arguments are those of `tests.test_api_fuzz`.  Then one argument at a time takes another
value: the other options, the other value of a flag, the ends of a domain, and numbers nearby.
"""

from __future__ import annotations

import copy
import math
import time
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from bounds.statement import OutsideTheorem
from tests.records.values import plain, told
from tests.test_api_fuzz import DRIVERS, IMAGES, good_arguments
from trials.checks import InvalidParameter
from trials.parameters import Flag, Integer, Maybe, Options, Real

KIND = "functions"
#: Variants of one function, at most, and the CPU seconds of one and of all of them.
MOST, LONGEST, TOGETHER = 14, 0.05, 0.12
#: Arguments that take no other value: a stream, a folder and its files.
FIXED = ("rng", "path", "folder")


#: Angles between subspaces that meet are zero up to the root of the processor's rounding.
#: tests/trials/methods compares them with SciPy's.
ANGLES = "trials.methods.pacfl."


def names() -> list[str]:
    """The drivers whose values are the same on every machine."""
    return [name for name in DRIVERS if not name.startswith(ANGLES)]


def again(name: str, recorded: Mapping[str, Any]) -> dict[str, Any]:
    """The values at the recorded variants.  One that is gone counts as nothing."""
    known = dict(variants(name))
    return {label: called(name, known[label]) for label in recorded if label in known}


def fresh(name: str, recorded: Mapping[str, Any]) -> dict[str, Any]:
    """The values at the recorded variants, or at the good arguments and what takes little time."""
    if recorded:
        return again(name, recorded)
    called(name, {})  # compiles
    found, spent = {}, 0.0
    for label, change in variants(name):
        begin = time.process_time()
        value = called(name, change)
        seconds = time.process_time() - begin
        if label == "good" or (seconds < LONGEST and spent + seconds < TOGETHER):
            found[label] = value
            spent += seconds
        if len(found) == MOST:
            break
    return found


def called(name: str, change: Mapping[str, Any]) -> Any:
    """The value of a driver with some arguments changed, or its error."""
    arguments = {**good_arguments(name, DRIVERS[name]), **copy.deepcopy(dict(change))}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return plain(DRIVERS[name](**arguments))
    except (InvalidParameter, OutsideTheorem, ValueError, TypeError, ArithmeticError) as error:
        # The name of the folder of images is drawn anew in every process.
        return told(error).replace(str(IMAGES), "FOLDER")


def variants(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(label, changed arguments): the good ones, then rounds of one change of each argument."""
    yield "good", {}
    good = good_arguments(name, DRIVERS[name])
    domains = getattr(DRIVERS[name], "domains", {})
    each = {
        p: iter(others(name, p, value, domains.get(p)))
        for p, value in good.items()
        if p not in FIXED
    }
    while each:
        for p in list(each):
            try:
                label, value = next(each[p])
            except StopIteration:
                del each[p]
            else:
                yield f"{p}={label}", {p: value}


def others(name: str, argument: str, good: Any, domain: Any) -> Iterator[tuple[str, Any]]:
    """(label, value): other values of one argument."""
    inner = domain.domain if isinstance(domain, Maybe) else domain
    if isinstance(inner, Options):
        yield from ((option, option) for option in inner.options if option != good)
    elif isinstance(inner, Flag) or isinstance(good, bool):
        yield str(not good), not good
    elif isinstance(good, np.ndarray) and good.dtype.kind == "f":
        rng = np.random.default_rng(len(name) + len(argument))
        yield "nearby", good * (1.0 + 0.3 * rng.uniform(-1.0, 1.0, good.shape))
        yield "half", 0.5 * good
        yield "large", 8.0 * good
    elif isinstance(good, np.ndarray) and good.dtype.kind in "iu" and good.size:
        yield "reversed", good[::-1].copy()
    elif isinstance(inner, Integer) or type(good) is int:
        low = inner.low if isinstance(inner, Integer) else 1
        start = good if isinstance(good, int) else low
        yield from ((str(v), v) for v in (start + 1, low, start + 4) if v != good)
    elif isinstance(inner, Real) or type(good) is float:
        start = good if isinstance(good, float) else 0.5
        yield from ((f"{v:.4g}", v) for v in (0.7 * start, 1.6 * start, 4.0 * start))
        if isinstance(inner, Real):
            ends = (v for v in (inner.low, inner.high) if math.isfinite(v) and abs(v) < 1e6)
            yield from ((f"{v:.4g}", v) for v in ends)
    if isinstance(domain, Maybe) and good is not None:
        yield "None", None
