r"""Algorithm 2 of IFCA: its options and random subsets, on drawn data.

Problem. Do the two options of Algorithm 2 differ with one local step, and what does a random subset
of clients do to a step?

Guarantee. `bounds.ifca.options`: equal steps up to the factor |S_j|/m, and a mean step that is
shorter by the share of the participants.

Algorithm. One iteration of `trials.ifca.options` with identities from the losses.

Computation. The factor between two displacements of the same model, as vectors.  Subsets are
enumerated: seeds are tried until each subset of the size was drawn, and each counts once.

Reference. TIT 2022, Algorithm 2.
"""

from __future__ import annotations

import math

import numpy as np

from bounds.ifca.options import OPTION_EQUALITY, PARTICIPATION
from bounds.statement import Statement
from trials.checks import FloatArray
from trials.ifca.options import IfcaOptions, run_ifca_options
from trials.ifca.options_records import OptionsResult
from trials.models.clients import ClientData
from verify.claim import claim
from verify.claims.common import Point
from verify.claims.searching import search
from verify.decisions.domain import IntRange, LogInterval, Ranges
from verify.procedures.base import Profile
from verify.procedures.search import Search

_UNIT = "common factor of the responses and of the models at the start"
DATA: Ranges = {
    "m": IntRange(1, 8),
    "n": IntRange(1, 6),
    "d": IntRange(1, 5),
    "k": IntRange(1, 4),
    "participants": IntRange(1, 8),
    "gamma": LogInterval(1e-6, 1e3),
    "unit": LogInterval(1e-3, 1e3, meaning=_UNIT),
    "seed": IntRange(0, 1000),
}


def _data(point: Point) -> tuple[ClientData, FloatArray]:
    """Gaussian features and responses in a unit, and k random models."""
    rng = np.random.default_rng(point["seed"])
    shape = (point["m"], point["n"])
    data = ClientData.equal(
        rng.standard_normal((*shape, point["d"])), point["unit"] * rng.standard_normal(shape)
    )
    return data, point["unit"] * rng.standard_normal((point["k"], point["d"]))


def _step(point: Point, gamma: float, options: IfcaOptions, seed: int) -> OptionsResult:
    data, start = _data(point)
    return run_ifca_options(
        data=data,
        starts=start[None],
        step_sizes=np.array([gamma]),
        n_iterations=1,
        options=options,
        rng=np.random.default_rng(seed),
        divergence_bound=1e100,
    )


def _measure_moves(point: Point, found: OptionsResult) -> FloatArray:
    """The displacements of all models, (k, d)."""
    return np.asarray(found.models[0] - _data(point)[1])


def factor_between(step: FloatArray, other: FloatArray) -> float:
    """The factor by which ``other`` becomes ``step``, plus the length of what it cannot give.

    The second part is zero for multiples, and in units of ``other``.  So two steps of the stated
    ratio of lengths that point in different directions have another value.

    Examples
    --------
    >>> x = np.array([3.0, 4.0])
    >>> factor_between(-2.0 * x, x), factor_between(np.array([4.0, -3.0]), x)
    (-2.0, 1.0)
    """
    squared = float(np.sum(other * other))
    factor = float(np.sum(step * other)) / squared
    apart = float(np.linalg.norm(step - factor * other))
    return factor + apart / math.sqrt(squared)


@claim("ifca.alg2-option-equality", OPTION_EQUALITY)
def option_equality(statement: Statement, profile: Profile) -> Search:
    """The most popular model, whole sets and random subsets of clients."""

    def few(point: Point) -> int:
        return int(min(point["participants"], point["m"]))

    def popular(point: Point) -> tuple[OptionsResult, int]:
        """A step with gradients, and the model that most participants take."""
        found = _step(point, point["gamma"], IfcaOptions(n_participants=few(point)), 1)
        labels = found.labels[0]
        return found, int(np.bincount(labels[labels >= 0]).argmax())

    def ratio(point: Point) -> float:
        found, j = popular(point)
        averages = IfcaOptions(n_participants=few(point), averaging="model")
        # a step of one is a multiple of every other step
        unit_step = _measure_moves(point, _step(point, 1.0, averages, 1))[j]
        return factor_between(_measure_moves(point, found)[j], unit_step)

    def symbols(point: Point) -> Point:
        found, j = popular(point)
        return {**point, "labelled": int(np.sum(found.labels[0] == j))}

    cut = "number of clients that take part, $|M_t|$, cut to $m$ where it is larger"
    domain = {
        **DATA,
        "participants": IntRange(1, 8, meaning=cut),
        "gamma": LogInterval(1e-2, 1e2),
    }
    return search(statement, profile, ratio, domain, at=symbols, budget=profile.searches // 16)


@claim("ifca.alg2-participation", PARTICIPATION)
def participation(statement: Statement, profile: Profile) -> Search:
    """The mean over all subsets of a size, along the step of all clients."""

    def along(point: Point) -> float:
        options = IfcaOptions(n_participants=point["participants"])
        moves: dict[tuple[int, ...], FloatArray] = {}
        seed = 0
        while len(moves) < math.comb(point["m"], point["participants"]):
            found = _step(point, point["gamma"], options, seed)
            moves[tuple(found.participants[0].tolist())] = _measure_moves(point, found)
            seed += 1
        full = _measure_moves(point, _step(point, point["gamma"], IfcaOptions(), 0))
        mean = np.asarray(sum(moves.values()) / len(moves))
        return factor_between(mean, full)

    domain = {
        **DATA,
        "m": IntRange(1, 4),
        "participants": IntRange(1, 4, meaning="number of clients that take part, $|M_t|$"),
        "gamma": LogInterval(1e-2, 1e2),
    }
    return search(
        statement,
        profile,
        along,
        domain,
        where=lambda point: point["participants"] <= point["m"],
        budget=max(profile.searches // 64, 8),
    )
