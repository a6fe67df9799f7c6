"""Records of the parts of `verify` that claims do not reach: tests, procedures, texts and pages.

All inputs are made here.  `tests.records.calls` keeps the values.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import sympy as sp

from bounds.statement import Assumption, Contrast, Printed
from tests.verify import toys
from tests.verify.mutation.test_page import SCORES as SCORES_OF_TESTS
from tests.verify.mutation.test_page import judged
from tests.verify.procedures.test_reproduction import claim as reproduction
from trials.run.executors import make_executor
from trials.run.store import RunStore
from verify import coverage
from verify.cli import describe
from verify.decisions import means, search
from verify.decisions.comparisons import ContrastTest, TrendTest, trend_p_value
from verify.decisions.domain import Box, Choice, Interval, IntRange, LogInterval
from verify.decisions.means import Knowledge, LowerTest, MeanTest
from verify.decisions.reproductions import ReproductionTest
from verify.mutation import examination as examined
from verify.mutation import mutants, opened, page, score
from verify.papers import catalogue
from verify.plan import plan
from verify.procedures.base import PROFILES, Profile
from verify.procedures.reproduction import Reproduction

Calls = dict[str, Callable[[], Any]]

R = np.random.default_rng(7)
LEVELS = {"refute_level": 0.04, "support_level": 0.1}
KNOWN = {
    "share": means.SHARE,
    "from zero": Knowledge(low=0.0),
    "with a variance": Knowledge(variance=0.2),
    "of one value": Knowledge(variance=0.0),
    "asymptotic": Knowledge(asymptotic=True),
    "unknown": Knowledge(),
}
SHARES = R.beta(2.0, 3.0, 400)
SAMPLES = {
    "shares": SHARES,
    "few": SHARES[:40],
    "bits": (SHARES > 0.5).astype(np.float64),
    "zeros": np.zeros(30),
    "lost": np.append(SHARES[:300], np.inf),
    "skewed": R.lognormal(0.0, 1.2, 300),
    "heavy": R.pareto(1.1, 300),
    "none": np.empty(0),
}
#: A common part, so that pairs say more than two samples.
COMMON, OWN = R.gamma(4.0, 0.1, 600), R.gamma(16.0, 1 / 16, 600)


# -- tests of means, contrasts, trends and printed numbers -----------------------------------------


def of_means() -> Calls:
    """Limits and statuses of means, by what is known about a value."""

    def lower(x: np.ndarray, known: Knowledge) -> Any:
        test = LowerTest(knowledge=known, target=0.35, level=0.05, horizon=1024)
        rejected = [test.rejects(x, m) for m in (0.2, 0.35, 0.45)] if x.size else []
        return [test.exact, test.limit(x), *rejected]

    def mean(x: np.ndarray, known: Knowledge, side: Any) -> Any:
        test = MeanTest(
            bound=0.4, side=side, margin=0.1 if side == "equals" else 0.0,
            knowledge=known, horizon=1024, **LEVELS,
        )  # fmt: skip
        return [test.trivial, *test.status(x), *test.limits(x)]

    found: Calls = {}
    for words, known in KNOWN.items():
        for name, x in SAMPLES.items():
            found[f"limit, {words}, {name}"] = lambda x=x, k=known: lower(x, k)
        for name, side in (
            (n, s) for n in ("shares", "few") for s in ("at most", "at least", "equals")
        ):
            x = SAMPLES[name]
            found[f"{side}, {words}, {name}"] = lambda x=x, k=known, s=side: mean(x, k, s)
    large = np.tile(SHARES, 4)
    return found | {
        "asymptotic limit": lambda: LowerTest(
            knowledge=KNOWN["asymptotic"], target=0.4, level=0.05, horizon=4096
        ).limit(large),
        **{
            f"why not, {name}": lambda x=x: means.why_not_asymptotic(np.tile(x, 8), 0.05)
            for name, x in SAMPLES.items()
            if name != "none"
        },
        **{
            f"with failures, {side}": lambda s=side: means.as_values(
                [0.2, math.nan, 0.7], [False, True, False], KNOWN["share"], s
            )
            for side in ("at most", "at least")
        },
    }


def of_contrasts() -> Calls:
    """Two methods on the same data: means and signs, alike, better and worse."""
    right = COMMON * OWN[::-1]

    def contrast(relation: Any, scale: Any, gain: float, known: Knowledge, margin: float) -> Any:
        test = ContrastTest(
            contrast=Contrast(left="a", relation=relation, right="b", margin=margin),
            knowledge=known, horizon=1024, scale=scale, **LEVELS,
        )  # fmt: skip
        return test.decide(gain * COMMON * OWN, right, n_failed=2)

    found: Calls = {}
    for relation, margin in (("<", 0.0), ("<=", 0.1), ("=", 0.1)):
        for gain in (0.8, 1.0, 1.25):
            for scale, known in (
                ("mean", KNOWN["asymptotic"]),
                ("mean", Knowledge(low=0.0, high=3.0)),
                ("sign", KNOWN["unknown"]),
            ):
                found[f"{gain} {relation}, {scale}, {known.high}"] = (
                    lambda r=relation, s=scale, g=gain, k=known, m=margin: contrast(r, s, g, k, m)
                )
    other = ContrastTest(
        contrast=Contrast(left="a", relation="<", right="b"),
        knowledge=KNOWN["unknown"], horizon=64, **LEVELS,
    )  # fmt: skip
    return found | {
        "other shapes": lambda: other.decide(right, right[1:]),
        "negative values": lambda: other.decide(-right, right),
        "without limits": lambda: other.decide(right, right, limits=False),
    }


def of_trends() -> Calls:
    """Means along a parameter: up, flat, down, and too few trials."""
    groups = {
        "up": [0.3 * SHARES[:100], 0.6 * SHARES[100:200], SHARES[200:300]],
        "flat": [SHARES[:100], SHARES[100:250], SHARES[250:]],
        "down": [SHARES[:100], 0.5 * SHARES[100:200]],
        "few": [SHARES[:9], 1.1 * SHARES[9:18]],
        "with ties": [np.round(SHARES[:50], 1), np.round(SHARES[50:120] + 0.1, 1)],
        "alike": [np.zeros(3), np.zeros(4)],
        "one": [SHARES],
    }

    def trend(margin: float, cells: list[np.ndarray], known: means.Knowledge = means.SHARE) -> Any:
        test = TrendTest(margin=margin, knowledge=known, horizon=512, **LEVELS)
        return test.decide(cells)

    indicators = [(SHARES[:60] < share) * 1.0 for share in (0.2, 0.6, 0.5)]

    return {
        **{
            f"{name}, {margin}": lambda g=cells, m=margin: trend(m, g)
            for name, cells in groups.items()
            for margin in (0.0, 0.3)
        },
        **{
            f"indicators, {margin}": lambda m=margin: trend(m, indicators, means.INDICATOR)
            for margin in (0.0, 0.3)
        },
        **{
            f"p-value, {name}": lambda g=cells: trend_p_value(g, 0.05)
            for name, cells in groups.items()
        },
    }


def of_printed_numbers() -> Calls:
    """Printed numbers against means and medians, with and without the paper's own error."""

    def printed(x: np.ndarray, value: float, estimand: Any, se: float, known: Knowledge) -> Any:
        test = ReproductionTest(
            printed=Printed(at={}, value=value, tolerance=0.06, se=se, runs=4),
            knowledge=known, horizon=1024, estimand=estimand, **LEVELS,
        )  # fmt: skip
        return test.decide(x, n_failed=1)

    found: Calls = {}
    for value in (0.2, 0.4, 0.45, 0.7):
        for estimand, words in (("mean", "share"), ("mean", "asymptotic"), ("median", "unknown")):
            for se in (0.0, 0.03):
                for name in ("shares", "few", "lost"):
                    found[f"{value}, {estimand}, {words}, {se}, {name}"] = (
                        lambda v=value, e=estimand, s=se, k=KNOWN[words], x=SAMPLES[name]: printed(
                            x, v, e, s, k
                        )
                    )
    return found


# -- a procedure that no claim uses ----------------------------------------------------------------


@contextmanager
def empty_store() -> Iterator[RunStore]:
    """A new run in a folder that is removed."""
    with (
        tempfile.TemporaryDirectory() as folder,
        RunStore.create(Path(folder) / "store.sqlite", root_seed=1, config={}) as store,
    ):
        yield store


def decided(procedure: Reproduction) -> Any:
    """The evidence of a procedure, with the number of rounds that it asked for."""
    with tempfile.TemporaryDirectory() as folder:
        evidence, rounds = toys.tried(procedure, Path(folder), seed=1)
        return [len(rounds), evidence]


def reproduced() -> Calls:
    """The procedure of printed numbers, whole."""
    two, three = reproduction(0.5, 1.0), reproduction(0.5, 1.0, 1.5)
    return {
        "both": lambda: decided(two),
        "the other reading": lambda: decided(reproduction(0.5, 1.0, 1.5, named="doubled")),
        "median": lambda: decided(replace(reproduction(0.5, 1.2), estimand="median")),
        "one number": lambda: decided(three.override({"scale": 2.0})),
        "words": three.describe,
        "name": lambda: [three.name, three.check()],
        "no such number": lambda: three.override({"scale": 7.0}),
        "no such parameter": lambda: three.override({"law": 7.0}),
        "no such reading": lambda: replace(two, named="x").check(),
        "no number": lambda: reproduction().check(),
    }


# -- weaker conditions -----------------------------------------------------------------------------

x, n, y = sp.symbols("x n y", positive=True)
#: Conditions before and after they were made weaker.
WEAKER = {
    "dropped": (x, sp.Integer(1), sp.oo, False),
    "twice": (x, sp.Integer(1), sp.Integer(2), False),
    "equality": (x, sp.Integer(1), sp.Integer(1), True),
    "of two symbols": (x, n, 2 * n, False),
    "of whole numbers": (n, sp.Integer(12), sp.Integer(24), False),
    "of a square": (x**2, sp.Integer(4), sp.Integer(9), False),
}
BOX = Box({
    "x": Interval(0.1, 0.9), "n": IntRange(2, 12), "y": LogInterval(0.1, 10.0),
    "k": Choice((1, 2)),
})  # fmt: skip


def widened() -> Calls:
    """Boxes and cells outside a condition."""

    def box(left: sp.Expr, old: sp.Expr, new: sp.Expr, strict: bool) -> Any:
        before = Assumption(name="limit", left=left, right=old, strict=strict)
        after = Assumption(name="limit", left=left, right=new)
        ranges = opened._widen(BOX, before, after, ())
        return [
            {name: repr(r) for name, r in ranges.ranges.items()},  # type: ignore[attr-defined]
            opened._solve(before), opened._edge(before, after),
        ]  # fmt: skip

    start = {"m": 16, "x": 0.5, "flag": True, "rule": "mean", "zero": 0}
    regions: dict[str, Callable[[Mapping[str, Any]], bool]] = {
        "above": lambda cell: cell["m"] > 40,
        "between": lambda cell: 0.1 < cell["x"] < 0.3,
        "nowhere": lambda _cell: False,
    }
    return {
        **{name: lambda given=given: box(*given) for name, given in WEAKER.items()},
        **{
            f"cells {name}": lambda o=outside: list(opened._move(start, o))  # type: ignore[arg-type]
            for name, outside in regions.items()
        },
    }


def opened_claims() -> Calls:
    """The cells, or the domain, in which a weaker condition of a claim is tried."""

    def tried(name: str) -> Any:
        claim = catalogue()[name]
        original = claim.build(PROFILES["quick"])
        changed = (m for m in mutants.mutants(claim.statement) if m.kind in mutants.CONDITIONS)
        found: dict[str, Any] = {}
        for mutant in islice(changed, 3):
            weaker = replace(claim, statement=mutant.statement).build(PROFILES["quick"])
            try:
                there = opened.open_condition(mutant, claim.statement, original, weaker)
            except ValueError as error:
                found[mutant.name] = str(error)
                continue
            domain = getattr(there, "domain", None)
            found[mutant.name] = (
                repr(domain)
                if domain is not None
                else [dict(cell) for cell in opened.cells_of(there)]
            )
        return found

    return {name: lambda name=name: tried(name) for name in OPENED}


#: Searches, probabilities, constants and a threshold, with cells outside and without any.
OPENED = (
    "ifca.eq8", "ifca.eq12", "ifca.thm1", "ifca.thm1-wider", "odcl.lemma7-as-printed",
    "odcl.remark19-foreign", "odcl.thm1-threshold-km", "sxy.lemma4", "sxy.lemma7-lower",
    "sxy.thm2-floor",
)  # fmt: skip
#: A search, a law, a rate and cells with trials, with their numbers of evaluations or trials.
SCORED = ("ifca.eq2", "ifca.half-correct", "ifca.near-optimal", "ifca.eq4", "odcl.lemma1")


def scored(name: str) -> Any:
    """The outcomes of all changed statements of a claim, and the nearest refuted changes."""
    profile = Profile(name="quick", max_trials=128, searches=100, seconds=1.0)
    with (
        empty_store() as store,
        make_executor("serial") as executor,
        patch.object(search, "_hypothesis", lambda *_: None),
    ):
        claim = catalogue()[name]
        examination = examined.Examination(
            claim=claim, profile=profile, store=store, executor=executor,
            standing=examined.Standing(verdict="", mark="", level=0.01),
        )  # fmt: skip
        standing = examined.Standing.of(examination.decide(claim.statement))
        found = score.score_mutants(replace(examination, standing=standing), steps=1)
        judged = {j.mutant: [j.outcome, j.verdict, j.why] for j in found.judged}
        return [standing, judged, found.boundaries, found.share, found.refuted(), found.needed()]


def scores() -> Calls:
    """The changed statements of a few claims."""
    return {name: lambda name=name: scored(name) for name in SCORED}


# -- texts and pages -------------------------------------------------------------------------------


#: Those of the page's tests, and outcomes that they do not hold.
SCORES: dict[str, Any] = SCORES_OF_TESTS | {
    "odcl.lemma1": {
        "procedure": "Search",
        "n_mutants": 2,
        "judged": [
            judged("failure", "true here", "failure probability: halved"),
            judged("boundary", "few trials", "condition m: equality allowed"),
        ],
    },
}
LINES = (
    coverage.Line(id="a", source="Lemma | 1", says="it is  true.", claims=("ifca.eq3",)),
    coverage.Line(id="b", source="(3)", says="x_1 < 2*y", second=True, reason="no number."),
    coverage.Line(id="a", source="", says="", claims=("ifca.none", "ifca.lemma1"), reason="part"),
    coverage.Line(id="c", source="", says=""),
)


@cache
def planned() -> tuple[Any, ...]:
    """Claims at the user's own values."""
    return plan(
        catalogue(),
        ["ifca.eq3", "ifca.thm1-own-step[d=20]", "odcl.lemma1", "sxy.lemma4"],
        PROFILES["quick"],
    ).claims


def written() -> Calls:
    """Pages of Markdown and descriptions of claims."""

    def section() -> str:
        (paper,) = (p for p in catalogue().papers if p.id == "ifca")
        known = (LINES[0], LINES[1])
        text = coverage._section(paper, known, catalogue())
        return "\n".join(text.splitlines()[:8]) + str(len(coverage.find_unlisted(paper, known)))

    return {
        "scores": lambda: page.page(SCORES, catalogue(), "quick").splitlines(),
        "no scores": lambda: page.page({}, catalogue(), "full").splitlines()[-1:],
        "coverage": section,
        "problems of coverage": lambda: list(coverage.problems(LINES, set(catalogue()))),
        **{
            f"description {i}": lambda i=i: describe.describe_planned(planned()[i])
            for i in range(4)
        },
        "spread": lambda: [
            describe._spread(v)
            for v in ([1, 2, 2, 1.5], list(range(9)), ["a", 1, "b"], [(1,), (2,)], [0.1234567891])
        ],
    }


ENTRIES: dict[str, Callable[[], Calls]] = {
    "tests of means": of_means,
    "tests of contrasts": of_contrasts,
    "tests of trends": of_trends,
    "tests of printed numbers": of_printed_numbers,
    "reproduction": reproduced,
    "weaker conditions": widened,
    "weaker conditions of claims": opened_claims,
    "scores of claims": scores,
    "pages and descriptions": written,
}
