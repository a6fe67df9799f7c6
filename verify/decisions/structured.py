r"""Structured inputs for searches: matrices, covariances, spectra, point sets, partitions.

Each class is a `verify.decisions.domain.Domain`.  A point is a dictionary with one entry for each
structured value.  Arrays are float64.  `corners` gives the families that break statements about
such inputs: equal and extreme spectra, aligned and orthogonal directions, coincident points, one
point far away, everything scaled by 1e-6 and 1e6.  `shrink` goes towards fewer points, smaller
dimensions, zeros and rounder numbers, so that a witness can be read.  `Product` joins domains.

A matrix that must meet a constraint (a spectrum in [a, b]) is stored with rounding, so a violation
as small as its rounding is not one.  High-precision re-checks receive exactly the stored floats:
`exact_matrix` turns them into mpmath, and `exact_eigenvalues` gives their eigenvalues.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray

from trials.checks import InvalidParameter
from verify.decisions.domain import Domain, Point
from verify.decisions.sequences import FloatArray

_ROUNDING = 1e-9  # a stored spectrum may leave its interval by this relative amount


def exact_matrix(a: FloatArray) -> mpmath.matrix:
    """The stored floats as an mpmath matrix (a vector becomes a column)."""
    rows = np.atleast_2d(a).tolist() if a.ndim == 2 else [[float(v)] for v in a]
    return mpmath.matrix(rows)


def exact_eigenvalues(a: FloatArray) -> list[mpmath.mpf]:
    """Ascending eigenvalues of a symmetric matrix at mpmath's working precision."""
    return sorted(mpmath.eigsy(exact_matrix((a + a.T) / 2), eigvals_only=True))


def _rotation(rng: np.random.Generator, d: int) -> FloatArray:
    """A Haar orthogonal matrix, (d, d)."""
    q, r = np.linalg.qr(rng.standard_normal((d, d)))
    return np.asarray(q * np.sign(np.diag(r)))


def _rounded(values: FloatArray) -> Iterator[FloatArray]:
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
class _Single:
    """The base of domains of one structured value: its name.  No parameter can be fixed."""

    name: str

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


@dataclass(frozen=True, kw_only=True)
class Spectrum(_Single):
    """Eigenvalues in [low, high], descending, (d,) with d between ``dimensions``.

    ``low`` > 0.  Corners: all low, all high, one high, one low, half and half, geometric.
    """

    low: float
    high: float
    dimensions: tuple[int, int]

    def check(self) -> None:
        """Refuse an empty interval and impossible dimensions."""
        if not 0 < self.low <= self.high < math.inf:
            raise InvalidParameter(
                f"{self.name}: [{self.low}, {self.high}] must be ordered, positive and finite"
            )
        _check_sizes(self.name, "dimensions", self.dimensions)

    def _draw(self, rng: np.random.Generator, d: int) -> FloatArray:
        return -np.sort(-np.array([_log_between(u, self.low, self.high) for u in rng.random(d)]))

    def sample(self, rng: np.random.Generator, n: int) -> Iterator[Point]:
        """Log-uniform eigenvalues, dimensions even."""
        for _ in range(n):
            yield {self.name: self._draw(rng, _size(rng, self.dimensions))}

    def extremes(self, d: int) -> list[FloatArray]:
        """Extreme spectra of dimension d."""
        low, high = np.full(d, self.low), np.full(d, self.high)
        first = np.arange(d) == 0
        return [
            low,
            high,
            np.where(first, self.high, self.low),
            np.where(np.arange(d) == d - 1, self.low, self.high),
            np.where(np.arange(d) < (d + 1) // 2, self.high, self.low),
            np.geomspace(self.high, self.low, d) if d > 1 else high,
        ]

    def corners(self, _rng: np.random.Generator, n: int) -> Iterator[Point]:
        """Extreme spectra, smallest and largest dimension in turn."""
        every = [self.extremes(d) for d in dict.fromkeys(self.dimensions)]
        turns = (spectrum for group in zip(*every, strict=True) for spectrum in group)
        for spectrum, _ in zip(turns, range(n), strict=False):
            yield {self.name: spectrum}

    def perturb(self, rng: np.random.Generator, point: Point, size: float) -> Point:
        """Some eigenvalues moved in their logarithms."""
        values = np.array(point[self.name], dtype=np.float64)
        moved = rng.random(values.size) < max(1 / values.size, 0.5)
        reach = math.log(self.high / self.low) * size
        values[moved] *= np.exp(reach * rng.standard_normal(int(moved.sum())))
        return {**point, self.name: -np.sort(-np.clip(values, self.low, self.high))}

    def shrink(self, point: Point) -> Iterator[Point]:
        """Fewer eigenvalues, then ends of the interval, then rounder numbers."""
        values = point[self.name]
        for i in range(values.size):
            if values.size > self.dimensions[0]:
                yield {**point, self.name: np.delete(values, i)}
        for changed in self._simpler(values):
            yield {**point, self.name: -np.sort(-changed)}
        for candidate in _rounded(values):
            if np.all((candidate >= self.low) & (candidate <= self.high)):
                yield {**point, self.name: -np.sort(-candidate)}

    def _simpler(self, values: FloatArray) -> Iterator[FloatArray]:
        """One eigenvalue moved to one, to the lower end or to the upper end, and never back."""
        ends = [end for end in (1.0, self.low, self.high) if self.low <= end <= self.high]
        for rank, end in enumerate(ends):
            for i in range(values.size):
                if values[i] not in ends[: rank + 1]:
                    changed = values.copy()
                    changed[i] = end
                    yield changed

    def contains(self, point: Point) -> bool:
        """Whether all eigenvalues lie in the interval and their number is allowed."""
        values = np.asarray(point[self.name])
        return bool(
            values.ndim == 1
            and self.dimensions[0] <= values.size <= self.dimensions[1]
            and np.all((values >= self.low) & (values <= self.high))
        )

    def describe(self) -> str:
        """The interval and the dimensions."""
        return (
            f"{self.name}: eigenvalues from {self.low:g} to {self.high:g} in "
            f"{_between(self.dimensions)} dimensions"
        )


@dataclass(frozen=True, kw_only=True)
class Covariance(_Single):
    r"""Symmetric matrices with spectrum in [low, high], (d, d): :math:`Q \Lambda Q^\top`.

    Corners: extreme spectra in the coordinate axes and turned by 45 degrees.
    """

    low: float
    high: float
    dimensions: tuple[int, int]

    @property
    def spectrum(self) -> Spectrum:
        """The domain of its eigenvalues."""
        return Spectrum(name=self.name, low=self.low, high=self.high, dimensions=self.dimensions)

    def check(self) -> None:
        """Raise an error for an impossible spectrum."""
        self.spectrum.check()

    def sample(self, rng: np.random.Generator, n: int) -> Iterator[Point]:
        """Log-uniform spectra in random directions.  One in four is extreme."""
        for i, point in enumerate(self.spectrum.sample(rng, n)):
            values = point[self.name]
            if i % 4 == 0:
                extreme = self.spectrum.extremes(values.size)
                values = extreme[int(rng.integers(len(extreme)))]
            yield {self.name: _with_spectrum(_rotation(rng, values.size), values)}

    def corners(self, rng: np.random.Generator, n: int) -> Iterator[Point]:
        """Extreme spectra, diagonal and turned."""
        made = 0
        for point in self.spectrum.corners(rng, n):
            values = point[self.name]
            for turned in (False, True) if values.size > 1 else (False,):
                if made == n:
                    return
                made += 1
                basis = _turned(values.size) if turned else np.eye(values.size)
                yield {self.name: _with_spectrum(basis, values)}

    def perturb(self, rng: np.random.Generator, point: Point, size: float) -> Point:
        """Eigenvalues moved in their logarithms, directions by a small rotation."""
        values, basis = np.linalg.eigh(point[self.name])
        moved = self.spectrum.perturb(
            rng, {self.name: np.clip(values[::-1], self.low, self.high)}, size
        )[self.name]
        skew = min(size, 1.0) * rng.standard_normal(basis.shape)
        turn, _ = np.linalg.qr(np.eye(values.size) + skew - skew.T)
        return {**point, self.name: _with_spectrum(basis[:, ::-1] @ turn, moved)}

    def shrink(self, point: Point) -> Iterator[Point]:
        """Principal submatrices, the diagonal, its entries at the ends, then rounder entries."""
        a = point[self.name]
        d = a.shape[0]
        candidates: list[FloatArray] = []
        if d > self.dimensions[0]:
            candidates += [np.delete(np.delete(a, i, 0), i, 1) for i in range(d)]
        if np.any(a != np.diag(np.diag(a))):
            candidates.append(np.diag(np.diag(a)))
        else:
            candidates += [np.diag(c) for c in self.spectrum._simpler(np.diag(a).copy())]
        for rounded in _rounded(a):
            candidates.append((rounded + rounded.T) / 2)
        for candidate in candidates:
            if self.contains({self.name: candidate}):
                yield {**point, self.name: candidate}

    def contains(self, point: Point) -> bool:
        """Whether the matrix is symmetric with its spectrum in the interval, up to rounding."""
        a = np.asarray(point[self.name])
        if a.ndim != 2 or a.shape[0] != a.shape[1] or not np.array_equal(a, a.T):
            return False
        if not self.dimensions[0] <= a.shape[0] <= self.dimensions[1]:
            return False
        values = np.linalg.eigvalsh(a)
        slack = _ROUNDING * self.high
        return bool(values[0] >= self.low - slack and values[-1] <= self.high + slack)

    def describe(self) -> str:
        """The interval and the dimensions."""
        return (
            f"{self.name}: covariances with eigenvalues from {self.low:g} to {self.high:g} in "
            f"{_between(self.dimensions)} dimensions"
        )


@dataclass(frozen=True, kw_only=True)
class Matrix(_Single):
    """Real matrices, (rows, columns), entries at most ``scale`` in size.

    Corners: zero, identity, ones, rank one with alternating signs, one large entry, and the
    smallest and largest scale.
    """

    rows: tuple[int, int]
    columns: tuple[int, int]
    scale: float = 1.0
    smallest: float = 1e-6

    def check(self) -> None:
        """Refuse impossible sizes and scales."""
        _check_sizes(self.name, "rows", self.rows)
        _check_sizes(self.name, "columns", self.columns)
        if not 0 < self.smallest <= self.scale < math.inf:
            raise InvalidParameter(
                f"{self.name}: smallest={self.smallest} must be > 0 and at most scale={self.scale}"
            )

    def sample(self, rng: np.random.Generator, n: int) -> Iterator[Point]:
        """Normal, sparse, low-rank and badly scaled matrices in turn."""
        for i in range(n):
            m, k = _size(rng, self.rows), _size(rng, self.columns)
            a = rng.standard_normal((m, k))
            if i % 4 == 1:
                a *= rng.random((m, k)) < 0.3
            elif i % 4 == 2:
                a = np.outer(rng.standard_normal(m), rng.standard_normal(k))
            elif i % 4 == 3:
                a *= 10.0 ** rng.uniform(-3, 0, (m, 1))
            size = _log_between(rng.random(), self.smallest, self.scale)
            yield {self.name: self._fitted(a * size / max(float(np.abs(a).max()), 1e-300))}

    def _fitted(self, a: FloatArray) -> FloatArray:
        return np.clip(a, -self.scale, self.scale)

    def corners(self, _rng: np.random.Generator, n: int) -> Iterator[Point]:
        """The families above at the smallest and the largest size."""
        made: list[FloatArray] = []
        for m, k in dict.fromkeys(zip(self.rows, self.columns, strict=True)):
            signs = (-1.0) ** np.add.outer(np.arange(m), np.arange(k))
            single = np.zeros((m, k))
            single[0, 0] = 1.0
            for unit in (self.scale, self.smallest):
                made += [unit * a for a in (np.eye(m, k), np.ones((m, k)), signs, single)]
            made.append(np.zeros((m, k)))
        for a in made[:n]:
            yield {self.name: a}

    def perturb(self, rng: np.random.Generator, point: Point, size: float) -> Point:
        """Noise of the matrix's own scale, and at times a new scale."""
        a = np.array(point[self.name], dtype=np.float64)
        scale = max(float(np.abs(a).max()), self.smallest)
        a = a + size * scale * rng.standard_normal(a.shape) * (rng.random(a.shape) < 0.5)
        if rng.random() < 0.3:
            a *= math.exp(size * rng.standard_normal() * math.log(self.scale / self.smallest))
        return {**point, self.name: self._fitted(a)}

    def shrink(self, point: Point) -> Iterator[Point]:
        """Fewer rows and columns, zeros, then rounder entries."""
        a = point[self.name]
        for axis, (least, _) in enumerate((self.rows, self.columns)):
            if a.shape[axis] > least:
                for i in range(a.shape[axis]):
                    yield {**point, self.name: np.delete(a, i, axis)}
        for i, j in np.argwhere(a != 0):
            changed = a.copy()
            changed[i, j] = 0.0
            yield {**point, self.name: changed}
        for candidate in _rounded(a):
            if np.all(np.abs(candidate) <= self.scale):
                yield {**point, self.name: candidate}

    def contains(self, point: Point) -> bool:
        """Whether shape and entries are allowed."""
        a = np.asarray(point[self.name])
        return bool(
            a.ndim == 2
            and self.rows[0] <= a.shape[0] <= self.rows[1]
            and self.columns[0] <= a.shape[1] <= self.columns[1]
            and np.all(np.isfinite(a))
            and np.all(np.abs(a) <= self.scale)
        )

    def describe(self) -> str:
        """Sizes and scale."""
        return (
            f"{self.name}: {_between(self.rows)} by {_between(self.columns)} matrices with entries "
            f"up to {self.scale:g}"
        )


@dataclass(frozen=True, kw_only=True)
class LabelledPoints(_Single):
    """Data sets with a partition: points (n, d) under ``name``, labels (n,) under ``labels``.

    Every one of the k clusters has at least one point.  Centres lie within ``scale``.  The spread
    around them is log-uniform from ``spread[0]`` to ``spread[1]`` times that.  Corners: clusters of
    coincident points, one large and many single ones, centres on a line, nearly touching clusters,
    two clusters close together and one far away.
    """

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

    def shrink(self, point: Point) -> Iterator[Point]:
        """Fewer clusters, fewer points, fewer dimensions, points at their centre, round numbers."""
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
        for candidate in _rounded(x):
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


def _with_spectrum(basis: FloatArray, values: FloatArray) -> FloatArray:
    a = (basis * values) @ basis.T
    return np.asarray((a + a.T) / 2)


def _turned(d: int) -> FloatArray:
    """An orthogonal basis without zeros in its first vector: a Householder reflection."""
    v = np.ones(d) / math.sqrt(d)
    v[0] += 1.0
    return np.asarray(np.eye(d) - 2 * np.outer(v, v) / (v @ v))


def _size(rng: np.random.Generator, ends: tuple[int, int]) -> int:
    return int(rng.integers(ends[0], ends[1] + 1))


def _check_sizes(name: str, what: str, ends: tuple[int, int]) -> None:
    if not 1 <= ends[0] <= ends[1]:
        raise InvalidParameter(f"{name}: {what}={ends} must be ordered and at least 1")


def _between(ends: tuple[int, int]) -> str:
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
