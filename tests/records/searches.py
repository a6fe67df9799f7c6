"""Records of the searches: what domains hold, and what searches find in made statements.

Hypothesis is left out of a search, because another version of it draws other examples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any
from unittest.mock import patch

import mpmath
import numpy as np

from tests.records.values import plain, told
from verify.decisions import search as searching
from verify.decisions.domain import (
    Box,
    Choice,
    Domain,
    Interval,
    IntRange,
    LogInterval,
    Point,
)
from verify.decisions.structured import (
    LabelledPoints,
    Product,
)
from verify.procedures.base import Presentation
from verify.procedures.search import Search

KIND = "searches"
LEVEL = 0.01
BUDGET = 96
#: Points of each sort that are kept.
N = 9
SIZES = (1e-3, 0.3, 1.0)

SCALARS = Box({
    "alpha": Interval(-0.5, 2.0), "sigma": LogInterval(1e-6, 1e6), "m": IntRange(1, 50),
    "k": IntRange(3, 3), "rule": Choice(("mean", "largest", 3)),
})  # fmt: skip
POINTS = LabelledPoints(
    name="a", labels="labels", clusters=(1, 3), points=(2, 7), dimensions=(1, 2), scale=3.0
)
DOMAINS: dict[str, Domain] = {
    "box": SCALARS,
    "narrow box": Box({"x": Interval(1.0, 1.0), "p": LogInterval(0.25, 0.5), "n": IntRange(-2, 9)}),
    "wide box": Box({f"x{i}": Interval(-1.0, float(i)) for i in range(12)}),
    "points": POINTS,
    "product": Product((SCALARS, POINTS)),
}
REFUSED: dict[str, Domain] = {
    "no parameter": Box({}),
    "no choice": Box({"rule": Choice(())}),
    "unordered": Box({"x": Interval(2.0, 1.0)}),
    "infinite": Box({"x": Interval(0.0, math.inf)}),
    "zero in logs": Box({"x": LogInterval(0.0, 1.0)}),
    "no dimension": LabelledPoints(
        name="a", labels="l", clusters=(1, 1), points=(1, 1), dimensions=(0, 2)
    ),
    "unordered sizes": LabelledPoints(
        name="a", labels="l", clusters=(1, 1), points=(3, 2), dimensions=(1, 1)
    ),
    "no scale": LabelledPoints(
        name="a", labels="l", clusters=(1, 1), points=(1, 1), dimensions=(1, 1), scale=0.0
    ),
    "too few points": LabelledPoints(
        name="a", labels="l", clusters=(5, 6), points=(2, 4), dimensions=(1, 1)
    ),
    "no spread": LabelledPoints(
        name="a", labels="l", clusters=(1, 2), points=(2, 4), dimensions=(1, 1), spread=(2.0, 1.0)
    ),
    "no domain": Product(()),
}


def names() -> list[str]:
    """Domains and searches."""
    return list(ENTRIES)


def again(name: str, _recorded: Mapping[str, Any]) -> Any:
    """What a domain holds, or what a search finds."""
    return ENTRIES[name]()


# -- domains ---------------------------------------------------------------------------------------


def held(domain: Domain) -> dict[str, Any]:
    """What a domain says of itself, its points, and the points near them."""
    domain.check()
    points = list(islice(domain.sample(np.random.default_rng(3), N), N))
    corners = list(domain.corners(np.random.default_rng(4), N))
    rng = np.random.default_rng(5)
    near = [domain.perturb(rng, point, size) for size in SIZES for point in (*points, *corners)[:4]]
    simpler = [list(islice(domain.shrink(point), N)) for point in (points[-1], near[-1])]
    found = {
        "described": domain.describe(),
        "names": list(domain.names()),
        "parts": {name: part.describe() for name, part in domain.parts().items()},
        "points": points,
        "corners": corners,
        "near": near,
        "simpler": simpler,
        "inside": [domain.contains(point) for point in (*points, *corners, *near)],
        "outside": [domain.contains(point) for point in moved(points[0])],
        "fixed": {name: fixed(domain, {name: points[0].get(name)}) for name in domain.names()},
        "refused": "" if domain.names() else fixed(domain, {"other": 1.0}),
    }
    return {name: plain(value) for name, value in found.items()}


def fixed(domain: Domain, values: Mapping[str, Any]) -> str:
    """A domain with a value held, in words, or the error."""
    try:
        return domain.fix(values).describe()
    except ValueError as error:
        return told(error)


def moved(point: Point) -> Iterator[Point]:
    """The point with one value at a time that is far away, no integer, or no option."""
    for name, value in point.items():
        if isinstance(value, str):
            yield {**point, name: "other"}
        elif isinstance(value, np.ndarray):
            yield {**point, name: 100.0 * value}
        else:
            yield {**point, name: 1e9 * value + 1e7}
            yield {**point, name: value + 0.5}


def refusals() -> dict[str, Any]:
    """The errors of domains that are empty or malformed."""
    found = {}
    for name, domain in REFUSED.items():
        try:
            domain.check()
        except ValueError as error:
            found[name] = told(error)
        else:
            found[name] = "accepted"
    return found


# -- searches --------------------------------------------------------------------------------------


def height(point: Point) -> float:
    """A smooth function of all numbers of a point, with many maxima."""
    sizes: list[float] = []
    for value in point.values():
        sizes += [len(value)] if isinstance(value, str) else np.ravel(value).tolist()
    return math.fsum(math.cos(2.0 * i + math.asinh(x)) for i, x in enumerate(sizes)) / len(sizes)


def is_even(point: Point) -> bool:
    """A constraint that most domains meet at every other point."""
    return math.floor(8.0 * height(point)) % 2 == 0


STATEMENTS: dict[str, dict[str, Any]] = {
    "true": {"violation": lambda point: height(point) - 1.5},
    "false": {"violation": lambda point: height(point) - 0.35},
    "false somewhere": {"violation": lambda point: height(point) - 0.95},
    "false and certain": {
        "violation": lambda point: height(point) - 0.3,
        "recheck": lambda point: mpmath.mpf(height(point)) - mpmath.mpf("0.3"),
    },
    "rounding": {
        "violation": lambda point: height(point) - 0.2,
        "recheck": lambda point: mpmath.mpf(-1),
    },
    "constrained": {"violation": lambda point: height(point) - 0.7, "constraints": is_even},
    "undefined": {
        "violation": lambda point: math.nan if is_even(point) else height(point) - 1.5,
        "present": lambda result: Presentation(notes=(result.summary,)),
    },
    "without points": {"violation": height, "constraints": lambda point: False},
}


def searched(domain: Domain, statement: Mapping[str, Any]) -> Any:
    """The evidence of a search, and the points that it remembers."""
    search = Search(
        name="made", domain=domain, budget=BUDGET, seed=7, unit="height above one half",
        sides=lambda point: (height(point), 0.5), constants={"c": 0.5}, **statement,
    )  # fmt: skip
    with patch.object(searching, "_hypothesis", lambda *_: None):
        try:
            search.check()
            evidence = search.decide(None, LEVEL).as_dict()  # type: ignore[arg-type]
        except searching.NoPoint as error:
            return {"error": told(error)}
        visited = search.visited(8)
    return plain(evidence) | {
        "visited": plain(visited),
        "fails": [search.fails_at(visited[i : i + 1]) for i in range(len(visited))],
    }


ENTRIES: dict[str, Callable[[], Any]] = {
    **{name: lambda d=d: held(d) for name, d in DOMAINS.items()},
    "refused domains": refusals,
    **{
        f"{name}, {kind}": lambda d=DOMAINS[name], s=statement: searched(d, s)
        for name in ("box", "points", "product")
        for kind, statement in STATEMENTS.items()
    },
}
