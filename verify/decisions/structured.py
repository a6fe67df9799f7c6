"""Structured inputs for searches: point sets with their partition, and products of domains.

Each class is a `verify.decisions.domain.Domain`.  A point is a dictionary with one entry for each
structured value.  Arrays are float64.  `corners` gives the families that break statements about
such inputs: coincident points, one point far away, clusters of one point.  `shrink` goes towards
fewer points, smaller dimensions, zeros and rounder numbers, so that a witness can be read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trials.checks import InvalidParameter
from verify.decisions.domain import Domain, Point
from verify.decisions.sequences import FloatArray


def _repeated(x: FloatArray) -> int:
    """The points (n, d) that equal an earlier one."""
    return len(x) - len(np.unique(x, axis=0))


def _round(values: FloatArray) -> Iterator[FloatArray]:
    """The same array with fewer digits, fewest first, without repeated versions."""
    for digits in (0, 1, 2, 4, 8):
        # It rounds by text, so rounding again gives the same float.
        flat = [float(f"{v:.{digits}e}") for v in values.ravel().tolist()]
        candidate = np.array(flat, dtype=np.float64).reshape(values.shape)
        if not np.array_equal(candidate, values):
            yield candidate


def _log_between(u: float, low: float, high: float) -> float:
    return float(min(max(low * (high / low) ** u, low), high))


@dataclass(frozen=True, kw_only=True)
class LabelledPoints:
    """Data sets with a partition: points (n, d) under ``name``, labels (n,) under ``labels``.

    Every one of the k clusters has at least one point.  Centres lie within ``scale``.  The spread
    around them is log-uniform from ``spread[0]`` to ``spread[1]`` times that.  Corners: clusters of
    coincident points, one large and many single ones, centres on a line, nearly touching clusters,
    two clusters close together and one far away.
    """

    name: str
    labels: str
    clusters: tuple[int, int]
    points: tuple[int, int]
    dimensions: tuple[int, int]
    scale: float = 1.0
    spread: tuple[float, float] = (1e-6, 1.0)

    def check(self) -> None:
        """Refuse impossible sizes, spreads, and fewer points than clusters."""
        _check_sizes(self.name, "clusters", self.clusters)
        _check_sizes(self.name, "points", self.points)
        _check_sizes(self.name, "dimensions", self.dimensions)
        if self.points[1] < self.clusters[0]:
            raise InvalidParameter(
                f"{self.name}: points={self.points} must allow {self.clusters[0]} clusters"
            )
        low, high = self.spread
        if not (0 < low <= high < math.inf and 0 < self.scale < math.inf):
            raise InvalidParameter(f"{self.name}: spread={self.spread} must be ordered and > 0")

    def _shape(self, rng: np.random.Generator) -> tuple[int, NDArray[Any], int]:
        """Clusters, labels of all points, dimension."""
        k = _size(rng, (self.clusters[0], min(self.clusters[1], self.points[1])))
        n = _size(rng, (max(self.points[0], k), self.points[1]))
        weights = rng.dirichlet(np.full(k, _log_between(rng.random(), 0.1, 10.0)))
        extra = rng.choice(k, n - k, p=weights)
        labels = np.sort(np.concatenate([np.arange(k), extra]))
        return k, labels, _size(rng, self.dimensions)

    def sample(self, rng: np.random.Generator, n: int) -> Iterator[Point]:
        """Normal, two-valued and one-sided clusters of uneven sizes around random centres."""
        for i in range(n):
            k, labels, d = self._shape(rng)
            centres = rng.uniform(-1, 1, (k, d))
            noise = rng.standard_normal((labels.size, d))
            if i % 3 == 1:
                noise = np.sign(noise)
            elif i % 3 == 2:
                noise = np.abs(noise)
            spread = _log_between(rng.random(), *self.spread)
            yield self._point(centres[labels] + spread * noise, labels)

    def _point(self, x: FloatArray, labels: NDArray[Any]) -> Point:
        return {self.name: self.scale * x, self.labels: np.asarray(labels, dtype=np.int64)}

    def corners(self, rng: np.random.Generator, n: int) -> Iterator[Point]:
        """The families above, at the smallest and largest spread."""
        k, total, d = self.clusters[1], self.points[1], self.dimensions[1]
        k = min(k, total)
        even = np.sort(np.arange(total) % k)
        uneven = np.sort(np.concatenate([np.arange(k), np.zeros(total - k, dtype=np.int64)]))
        line = np.zeros((k, d))
        line[:, 0] = np.linspace(-1, 1, k) if k > 1 else 0.0
        far = line.copy()
        far[:, 0] = np.where(np.arange(k) == k - 1, 1.0, 1e-3 * np.arange(k))
        noise = rng.choice([-1.0, 1.0], (total, d))
        made = 0
        for spread in (0.0, self.spread[0], self.spread[1], 0.5 / max(k - 1, 1)):
            for labels in (even, uneven):
                for centres in (line, far):
                    if made == n:
                        return
                    made += 1
                    yield self._point(centres[labels] + spread * noise, labels)

    def perturb(self, rng: np.random.Generator, point: Point, size: float) -> Point:
        """Points moved, or one cluster moved whole, or the spread scaled."""
        x, labels = np.array(point[self.name], dtype=np.float64), point[self.labels]
        move = rng.integers(3)
        if move == 0:
            x += size * self.scale * rng.standard_normal(x.shape) * rng.random((x.shape[0], 1))
        elif move == 1:
            chosen = labels == rng.choice(np.unique(labels))
            x[chosen] += size * self.scale * rng.standard_normal(x.shape[1])
        else:
            centres = {j: x[labels == j].mean(axis=0) for j in np.unique(labels)}
            middle = np.array([centres[j] for j in labels])
            x = middle + (x - middle) * math.exp(size * rng.standard_normal())
        return {**point, self.name: x}

    def is_general(self, point: Point) -> bool:
        """Whether no two points coincide: a witness with such points misleads its reader."""
        return _repeated(point[self.name]) == 0

    def shrink(self, point: Point) -> Iterator[Point]:
        """Fewer clusters, fewer points, fewer dimensions, points at their centre, round numbers.

        No step makes points coincide that do not.
        """
        allowed = _repeated(point[self.name])
        for simpler in self._steps(point):
            if _repeated(simpler[self.name]) <= allowed:
                yield simpler

    def _steps(self, point: Point) -> Iterator[Point]:
        x, labels = point[self.name], point[self.labels]
        present = np.unique(labels)
        if present.size > self.clusters[0]:
            for j in present:
                kept = labels != j
                if kept.sum() >= self.points[0]:
                    renamed = np.unique(labels[kept], return_inverse=True)[1].astype(np.int64)
                    yield {**point, self.name: x[kept], self.labels: renamed}
        if x.shape[0] > self.points[0]:
            for i in range(x.shape[0]):
                if np.sum(labels == labels[i]) > 1:
                    yield {
                        **point,
                        self.name: np.delete(x, i, 0),
                        self.labels: np.delete(labels, i),
                    }
        if x.shape[1] > self.dimensions[0]:
            for i in range(x.shape[1]):
                yield {**point, self.name: np.delete(x, i, 1)}
        for i in range(x.shape[0]):
            if np.any(x[i] != 0):
                changed = x.copy()
                changed[i] = 0.0
                yield {**point, self.name: changed}
        for candidate in _round(x):
            yield {**point, self.name: candidate}

    def contains(self, point: Point) -> bool:
        """Whether sizes are allowed and no cluster is empty."""
        x, labels = np.asarray(point[self.name]), np.asarray(point[self.labels])
        if x.ndim != 2 or labels.shape != x.shape[:1] or not np.all(np.isfinite(x)):
            return False
        present = np.unique(labels)
        return bool(
            np.array_equal(present, np.arange(present.size))
            and self.clusters[0] <= present.size <= self.clusters[1]
            and self.points[0] <= x.shape[0] <= self.points[1]
            and self.dimensions[0] <= x.shape[1] <= self.dimensions[1]
        )

    def describe(self) -> str:
        """Sizes and spreads."""
        return (
            f"{self.name}: {_between(self.points)} points in {_between(self.dimensions)} "
            f"dimensions and {_between(self.clusters)} clusters, spread {self.spread[0]:g} to "
            f"{self.spread[1]:g}"
        )

    def meanings(self) -> dict[str, str]:
        """A structured value is explained where the domain is described."""
        return {}

    def names(self) -> tuple[str, ...]:
        """A structured value has no scalar parameters."""
        return ()

    def fix(self, values: Mapping[str, Any]) -> Domain:
        """Raise an error, because a structured value cannot be given on a command line."""
        given = ", ".join(values)
        raise InvalidParameter(f"{self.name} is a structured input: {given} cannot be held fixed")

    def parts(self) -> dict[str, Domain]:
        """No parts."""
        return {}


@dataclass(frozen=True)
class Product:
    """Several domains with different names, searched together."""

    domains: tuple[Domain, ...]

    def check(self) -> None:
        """Raise an error for an empty product, or when one of the domains raises."""
        if not self.domains:
            raise InvalidParameter("a product needs at least one domain")
        for domain in self.domains:
            domain.check()

    def sample(self, rng: np.random.Generator, n: int) -> Iterator[Point]:
        """One sample of each domain, joined.  The order within each domain is shuffled."""
        columns = [list(domain.sample(rng, n)) for domain in self.domains]
        for column in columns[1:]:
            rng.shuffle(column)  # type: ignore[arg-type]
        for points in zip(*columns, strict=False):
            yield {k: v for point in points for k, v in point.items()}

    def corners(self, rng: np.random.Generator, n: int) -> Iterator[Point]:
        """Corners of each with random corners of the others."""
        columns = [list(domain.corners(rng, n)) for domain in self.domains]
        for i in range(n):
            if i >= max(len(c) for c in columns) ** 2:
                return
            joined: Point = {}
            for j, column in enumerate(columns):
                turn = i % len(column) if j == i % len(columns) else int(rng.integers(len(column)))
                joined |= column[turn]
            yield joined

    def perturb(self, rng: np.random.Generator, point: Point, size: float) -> Point:
        """One domain's part moved, or all of them."""
        moved = dict(point)
        every = rng.random() < 0.5
        chosen = int(rng.integers(len(self.domains)))
        for i, domain in enumerate(self.domains):
            if every or i == chosen:
                moved = domain.perturb(rng, moved, size)
        return moved

    def shrink(self, point: Point) -> Iterator[Point]:
        """The steps of each domain in turn."""
        for domain in self.domains:
            yield from domain.shrink(point)

    def is_general(self, point: Point) -> bool:
        """Whether every part is in general position."""
        parts = (getattr(domain, "is_general", None) for domain in self.domains)
        return all(general(point) for general in parts if general is not None)

    def parts(self) -> dict[str, Domain]:
        """The parts of each domain, the others whole."""
        found: dict[str, Domain] = {}
        for i, domain in enumerate(self.domains):
            for name, part in domain.parts().items():
                found[name] = Product((*self.domains[:i], part, *self.domains[i + 1 :]))
        return found

    def contains(self, point: Point) -> bool:
        """Whether every domain contains its part."""
        return all(domain.contains(point) for domain in self.domains)

    def names(self) -> Sequence[str]:
        """The scalar parameters of all domains."""
        return tuple(name for domain in self.domains for name in domain.names())

    def meanings(self) -> dict[str, str]:
        """The meanings that the domains give."""
        return {name: text for domain in self.domains for name, text in domain.meanings().items()}

    def fix(self, values: Mapping[str, Any]) -> Product:
        """Each domain with those of its parameters held fixed."""
        if unknown := sorted(set(values) - set(self.names())):
            known = ", ".join(self.names()) or "none"
            raise InvalidParameter(f"no parameter {unknown[0]!r}; its parameters: {known}")
        fixed = []
        for domain in self.domains:
            own = {k: v for k, v in values.items() if k in domain.names()}
            fixed.append(domain.fix(own) if own else domain)
        return Product(tuple(fixed))

    def describe(self) -> str:
        """All descriptions."""
        return "; ".join(domain.describe() for domain in self.domains)


def _size(rng: np.random.Generator, ends: tuple[int, int]) -> int:
    return int(rng.integers(ends[0], ends[1] + 1))


def _check_sizes(name: str, what: str, ends: tuple[int, int]) -> None:
    if not 1 <= ends[0] <= ends[1]:
        raise InvalidParameter(f"{name}: {what}={ends} must be ordered and at least 1")


def _between(ends: tuple[int, int]) -> str:
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
