"""Worlds of the benchmark: two copies of one method, and a method that is better by a known share.

A batch is a benchmark that is looked at as `verify.benchmark.running` does, and stopped as soon as
its contrasts are decided or as narrow as asked.  The two copies have the same law and other random
numbers, on data that vary from trial to trial.

In the last world a batch is a run of the program: federations are drawn, both copies are fitted,
and blocks are stored, read and looked at until the program stops.  The copies are IFCA after one
round from a random start, whose models differ in every trial, under two spellings.  So their fits
have other seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.stats import binomtest

from tests.verify.calibration_world import LEVEL, World
from trials.run.executors import make_executor
from trials.run.store import RunStore
from verify.benchmark.contrasts import Comparing, n_limits
from verify.benchmark.design import Benchmark
from verify.benchmark.running import run

#: Trials at which a benchmark is looked at, up to the default budget.
LOOKS = (4, 8, 12, 20, 32, 48, 72, 108, 128)
Values = dict[str, np.ndarray]
#: Where a store costs no time of a disk.
MEMORY = Path("/dev/shm")


def decided(rule: Comparing, values: Values, first: str = "a", second: str = "b") -> str | None:
    """The method that the benchmark shows to be better, at the first look that ends it."""
    for n in LOOKS:
        found = rule.contrast(first, second, values[first][:n], values[second][:n])
        if found.state != "open":
            return found.better
    return None


def copies(rng: np.random.Generator, spread: float, failing: float = 0.0) -> Values:
    """Errors of two copies: common data, own random numbers, and failed fits."""
    data = rng.lognormal(0.0, 1.0, LOOKS[-1])
    found = {}
    for name in "ab":
        x = data * rng.lognormal(0.0, spread, LOOKS[-1])
        x[rng.random(x.size) < failing] = np.nan
        found[name] = x
    return found


def _separated(
    make: Callable[[np.random.Generator], Values], rule: Comparing
) -> Callable[..., int]:
    return lambda rng: int(decided(rule, make(rng)) is not None)


COPIES = Benchmark(
    name="copies",
    question="Which of two copies is better?",
    methods="ifca(n_rounds=1), ifca(n_rounds=1, n_init=1)",
    federations=({"m": 8, "n": 8, "d": 2, "k": 2, "sigma": 0.5},),
    level=LEVEL,
    max_trials=48,
)


def separated_run(rng: np.random.Generator) -> int:
    """Whether one run of the program separates the two copies."""
    seed = int(rng.integers(2**62))
    with (
        TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder,
        RunStore.create(Path(folder, "run"), root_seed=seed, config={}, code={}) as store,
        make_executor("serial") as executor,
    ):
        found = run(store, COPIES.checked(), executor)
    return int(found.federations[0].contrasts[0].better is not None)


def benchmark_worlds() -> list[World]:
    """Two copies of one method, separated wrongly."""
    alone = Comparing(level=LEVEL, n_limits=n_limits(2), horizon=LOOKS[-1])
    scores = Comparing(
        scale="difference", level=LEVEL, n_limits=n_limits(2), low=0.0, horizon=LOOKS[-1]
    )
    made: list[tuple[str, Callable[[np.random.Generator], Values], Comparing]] = [
        ("two copies, errors apart by 30 %", lambda rng: copies(rng, 0.3), alone),
        ("two copies, a fifth of the fits fails", lambda rng: copies(rng, 0.3, 0.2), alone),
        ("two copies, heavy tails", lambda rng: copies(rng, 3.0), alone),
        (
            "two copies, recovered or not",
            lambda rng: {name: rng.binomial(1, 0.7, LOOKS[-1]) * 1.0 for name in "ab"},
            scores,
        ),
    ]
    return [
        *(
            World(
                "benchmark", "false separation", data, _separated(make, rule), full=1_000, quick=60
            )
            for data, make, rule in made
        ),
        World(
            "benchmark, whole runs",
            "false separation",
            "two copies of IFCA after one round",
            separated_run,
            full=1_000,
            quick=8,
        ),
    ]


def power(spread: float, n_methods: int, n_batches: int, gain: float = 0.05) -> int:
    """Benchmarks in which a method with ``gain`` less error is found to be better."""
    rule = Comparing(level=LEVEL, n_limits=n_limits(n_methods), horizon=LOOKS[-1])
    rng = np.random.default_rng([round(1000 * spread), n_methods])
    found = 0
    for _ in range(n_batches):
        values = copies(rng, spread / np.sqrt(2.0))
        values["a"] = (1.0 - gain) * values["a"]
        found += decided(rule, values) == "a"
    return found


POWER_HEADING = "## Power of a benchmark"


def power_table(n_batches: int = 500) -> str:
    """The table of the benchmark's power."""
    lines = [
        "",
        POWER_HEADING,
        "",
        "How often a method with 5 per cent less error is found to be better within 128 trials.",
        "*Spread* is the standard deviation of the logarithm of the ratio of two errors in one",
        "trial.  The level is shared by all pairs of methods.  The last column is an exact lower",
        "confidence limit (95 per cent).",
        "",
        "| methods | spread | found | batches | rate | lower limit |",
        "|---|---|---|---|---|---|",
    ]
    for n_methods in (2, 8):
        for spread in (0.02, 0.05, 0.1, 0.2):
            n = power(spread, n_methods, n_batches)
            low = binomtest(n, n_batches, alternative="greater").proportion_ci(0.95, "exact").low
            lines.append(
                f"| {n_methods} | {spread:g} | {n} | {n_batches} | {100 * n / n_batches:.1f} % | "
                f"{100 * low:.1f} % |"
            )
    return "\n".join([*lines, ""])
