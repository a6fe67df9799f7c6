"""Checks that the verdict depends on the statement: another statement is tried otherwise."""

from __future__ import annotations

import contextlib
import math
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path

import mpmath
import numpy as np
import sympy as sp

from bounds.statement import Statement, Term
from trials.run.engine import ensure
from trials.run.executors import make_executor
from trials.run.store import RunStore, StoreError
from verify.conformance.case import QUICK, Case, Check
from verify.deciding import storable
from verify.decisions.domain import as_domain
from verify.evidence import Verdict
from verify.mutation.examination import REFUSALS, Examination, Standing
from verify.mutation.fingerprint import fingerprint
from verify.mutation.mutants import mutants, variables
from verify.procedures.base import Profile
from verify.procedures.interface import Procedure
from verify.procedures.probability import Probability
from verify.procedures.search import Point, Search
from verify.procedures.vacuity import Vacuity
from verify.proofs.certificate import proof

#: The smallest budget with which nonsense is plainly refuted.
TINY = Profile(name="quick", max_trials=64, searches=200, seconds=0.1)
#: Of the verdicts on these trials.
LEVEL = 0.001
#: Logs of probabilities below this one underflow in double precision, which cuts them off.
UNDERFLOWS = -600.0


# -- a search shows what it compares ---------------------------------------------------------------


def room(relation: str, observed: float, bound: float) -> float:
    """The share by which a relation holds at a point, negative where it fails."""
    scale = max(abs(observed), abs(bound))
    if relation == "=":
        return -abs(observed - bound) / scale if scale else 0.0
    left = bound - observed if relation == r"\le" else observed - bound
    return left / scale if 0 < scale < math.inf else left


def spread(search: Search, n_points: int) -> Sequence[Point]:
    """Corners of a search's domain and points that fill it, those inside the constraints.

    A rare condition is met by none of a few points, so that more are looked at.
    """
    domain, rng = as_domain(search.domain), np.random.default_rng(0)
    corners = domain.corners(rng, n_points // 3)
    found = list(filter(search.is_inside, chain(corners, domain.sample(rng, n_points))))
    return found or list(filter(search.is_inside, domain.sample(rng, 32 * n_points)))[:n_points]


def the_violation_of_a_search_is_what_its_sides_show(case: Case) -> Iterator[str]:
    """Both are shown beside a counterexample.  A supported statement has none at a few points."""
    if case.search is None:
        return
    points = spread(case.search, 16)
    if not points:
        yield "its search finds no point that meets the assumptions"
    for point in points:
        violation = float(case.search.violation(point))
        left, right = map(float, case.search.sides(point))
        holds = room(case.statement.relation, left, right)
        if violation > 1e-6:
            if case.claim.expected is not Verdict.REFUTED:
                yield f"it is violated by {violation:.3g} at {point}"
            elif not (holds < 0 or left == right == 0.0):  # logs are compared, numbers underflow
                yield f"it is violated at {point}, and its sides {left:.6g}, {right:.6g} are not"
        elif holds < -1e-3 and max(abs(left), abs(right)) > 1e-6 and not violation > 0:
            yield f"its sides {left:.6g}, {right:.6g} contradict it at {point}, unseen"


def a_refutation_with_a_certificate_is_proved(case: Case) -> Iterator[str]:
    """At one of the points nearest to a counterexample: a faulty certificate proves none."""
    if case.search is None or case.search.certify is None:
        return
    if case.claim.expected is not Verdict.REFUTED:
        return
    search = replace(case.search, budget=100)
    proofs = (proof(partial(case.search.certify, point)) for point in search.visited(24))
    found = next((made for made in proofs if made is not None), None)
    said = [] if found is None else [inequality["says"] for inequality in found["inequalities"]]
    if not said:
        yield "its proof of the refutation proves nothing at the points nearest to one"
    elif len(set(said)) < len(said):
        yield "two inequalities of its proof say the same"


def the_recheck_of_a_search_is_its_violation_with_more_digits(case: Case) -> Iterator[str]:
    """Otherwise a counterexample could be taken back as rounding, or be told in another unit."""
    recheck = None if case.search is None else case.search.recheck
    if case.search is None or recheck is None:
        return
    search = replace(case.search, budget=100)
    points = search.visited(20)
    near = [point for point in points if search.violation(point) > UNDERFLOWS]
    if len(points) < 5 or not near:
        yield f"its search finds {len(near)} points at which both sides can be compared"
    for point in near:
        size = 1.0 + sum(map(abs, search.sides(point)))
        seen = float(search.violation(point))
        again = float(mpmath.mpf(recheck(point)))
        if not (again == seen or abs(again - seen) <= max(1e-9 * abs(seen), 1e-10 * size)):
            yield f"with fifty digits its violation at {point} is {again:.9g}, and not {seen:.9g}"


# -- another statement is another test -------------------------------------------------------------


def with_terms(statement: Statement, change: Callable[[sp.Expr], sp.Expr]) -> Statement:
    """The statement with every term changed."""
    terms = tuple(Term(name=t.name, expr=change(t.expr)) for t in statement.terms)
    return replace(statement, terms=terms)


def contradicted(statement: Statement, factor: float) -> Statement:
    """A statement without terms as its opposite.

    Contrasts and trends are reversed, and printed numbers are scaled.
    """
    contrasts = tuple(
        replace(c, left=c.right, right=c.left, relation="<", margin=0.0)
        for c in statement.contrasts
    )
    opposite = {"increases": "decreases", "decreases": "increases"}
    trends = tuple(
        replace(t, direction=opposite[t.direction])  # type: ignore[arg-type]
        for t in statement.trends
    )
    printed = tuple(replace(p, value=factor * p.value) for p in statement.printed)
    return replace(statement, contrasts=contrasts, trends=trends, printed=printed)


def nonsense(statement: Statement) -> Statement:
    """The statement with another right-hand side: a hundred times smaller, or larger for >=."""
    if not statement.terms:
        return contradicted(statement, 100.0)
    factor = sp.Integer(100) if statement.relation == r"\ge" else sp.Rational(1, 100)
    return with_terms(statement, lambda expr: factor * expr)


def tilted(statement: Statement, shift: int) -> Statement:
    """The statement with other exponents."""
    return with_terms(
        statement, lambda expr: expr * sp.Mul(*variables(statement, expr)) ** sp.Integer(shift)
    )


def tests_the_same(case: Case, statement: Statement) -> bool:
    """Whether the fingerprint for another statement is the claim's own.

    Two searches are told apart by the first point at which their violations differ.
    """
    procedure = replace(case.claim, statement=statement).build(QUICK)
    if case.search is None or not isinstance(procedure, Search):
        return bool(fingerprint(procedure) == case.tested)
    with np.errstate(over="ignore"):  # as in a fingerprint
        pairs = zip_longest(case.search.violations(), procedure.violations())
        return all(one is two or one == two for one, two in pairs)


def another_right_hand_side_changes_the_test(case: Case) -> Iterator[str]:
    """Exponents, factors and limits are the statement's, and are not typed again in the claim."""
    other = tilted(case.statement, 1) if case.reads_exponents else nonsense(case.statement)
    try:
        same = tests_the_same(case, other)
    except REFUSALS as error:
        yield f"its procedure refuses another right-hand side: {error}"
        return
    if same:
        yield (
            "its procedure tests the same whatever the right-hand side is: take the bound, the "
            "exponents and the limits from the statement"
        )


def another_failure_probability_changes_the_test(case: Case) -> Iterator[str]:
    """The stated failure probability is the statement's, too."""
    if case.statement.failure is None:
        return
    tiny = replace(case.statement, failure=sp.Float("1e-300"))
    try:
        same = tests_the_same(case, tiny)
    except REFUSALS as error:
        yield f"its procedure refuses another failure probability: {error}"
        return
    if same:
        yield "its procedure tests the same whatever the failure probability is"


def nonsenses(case: Case) -> list[Statement]:
    """Statements of which at least one must lose the claim's verdict, the likelier one first.

    A supported bound is made 10^100 times smaller and larger: one of the two is too strong (a bound
    may be negative).  A refuted bound is moved where nothing exceeds it.
    """
    statement, refuted = case.statement, case.claim.expected is Verdict.REFUTED
    if refuted and (statement.relation == "=" or not statement.terms):
        return []  # no equation, contrast or number is plainly true
    if case.claim.expected is Verdict.VACUOUS and isinstance(case.built, Vacuity):
        # A condition that fails would keep it void, whatever the bound is.
        plain = {"left": sp.Integer(1), "right": sp.Integer(0), "constant": None}
        met = tuple(replace(a, **plain) for a in statement.assumptions)  # type: ignore[arg-type]
        statement = replace(statement, assumptions=met)
    if not statement.terms:
        return [contradicted(statement, 1e6)]
    if refuted:
        trivial = sp.Float("1e100") * (-1 if statement.relation == r"\ge" else 1)
        return [with_terms(statement, lambda expr: expr + trivial)]
    if case.reads_exponents:
        return [tilted(statement, -1), tilted(statement, 1)]
    factors = [sp.Float("1e-100"), sp.Float("1e100")]
    if statement.relation == r"\ge":
        factors.reverse()  # the stronger one first
    return [with_terms(statement, lambda expr, f=f: f * expr) for f in factors]  # type: ignore[misc]


def nonsense_does_not_keep_the_verdict(case: Case) -> Iterator[str]:
    """A bound that is plainly too strong is refuted, and one that is plainly true is not.

    It draws a few trials.  Where they leave the verdict open, it draws those of the profile quick.
    Once the verdict is lost, the other nonsense is only evaluated.
    """
    refuted = case.claim.expected is Verdict.REFUTED
    lost = verdict_of_nonsense(case)
    for profile in (TINY, QUICK):
        try:
            verdicts = verdicts_of_nonsense(case, lost, profile)
        except (ValueError, ArithmeticError) as error:
            yield f"its procedure refuses a bound that is plainly false or true: {error}"
            return
        if refuted != (lost in verdicts):
            return
        if Verdict.INCONCLUSIVE not in verdicts:
            break
    told = " and ".join(map(str, verdicts))
    open_ = Verdict.INCONCLUSIVE in verdicts
    remedy = ": its trials cannot tell, so take more of them, or more cells" if open_ else ""
    yield f"with a plainly false or plainly true bound it is {told}{remedy}"


def verdicts_of_nonsense(case: Case, lost: Verdict, profile: Profile) -> list[Verdict]:
    """The verdicts on `nonsenses`, up to the first one that is ``lost``."""
    verdicts: list[Verdict] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        RunStore.create(Path(folder) / "store.sqlite", root_seed=0, config={}) as store,
        make_executor("serial") as executor,
    ):
        examination = Examination(
            claim=case.claim,
            profile=profile,
            standing=Standing(verdict="", mark="", level=LEVEL),
            store=store,
            executor=executor,
            new_seconds=math.inf,
        )
        for other in nonsenses(case):
            if lost in verdicts:
                evaluated(examination.inside(other))
            else:
                verdicts.append(examination.decide(other, quickly=True).verdict)
    return verdicts


def what_it_shows_can_be_stored_and_drawn(case: Case) -> Iterator[str]:
    """Its figures and tables, made of a few trials: a run makes them after all its trials.

    The error of a figure is the error of this check.  One that the claim has without its figures
    is told by another check.  The suite's own claims are left out, because tests read their pages.
    """
    if case.catalogue.file_of(case.name) is None:
        return
    procedure = case.claim.build(TINY)
    with (
        tempfile.TemporaryDirectory() as folder,
        RunStore.create(Path(folder) / "store.sqlite", root_seed=0, config={}) as store,
        make_executor("serial") as executor,
    ):
        try:
            procedure.check()
            while missing := procedure.demands(store, LEVEL):
                ensure(store, missing, executor)
            procedure.without_figures().decide(store, LEVEL)
        except (StoreError, OSError, MemoryError):
            raise
        except Exception:
            return
        storable(procedure.decide(store, LEVEL))
    yield from ()


def verdict_of_nonsense(case: Case) -> Verdict:
    """The verdict that one nonsense must have, and that a refuted claim's must not have."""
    if case.claim.expected is Verdict.VACUOUS and not isinstance(case.built, Probability):
        return Verdict.SUPPORTED  # a void bound on a probability stays void where it is larger
    if isinstance(case.built, Vacuity) and case.claim.expected is not Verdict.REFUTED:
        return Verdict.VACUOUS  # it is lost where the bound says nothing
    return Verdict.REFUTED


def evaluated(procedure: Procedure) -> None:
    """Have a procedure refuse what it cannot try, as where it decides."""
    procedure.check()
    fingerprint(procedure)


def a_changed_statement_is_built_or_refused(case: Case) -> Iterator[str]:
    """Dropped conditions, and every sixth other change.

    Another error than a refusal would end `mutate` in the middle.
    """
    first = zlib.crc32(case.name.encode())
    changed = enumerate(mutants(case.statement), first)
    for mutant in (m for i, m in changed if m.name.endswith(": dropped") or i % 6 == 0):
        with contextlib.suppress(*REFUSALS):
            try:
                replace(case.claim, statement=mutant.statement).build(QUICK)
            except (TypeError, AttributeError, IndexError) as error:
                told = f"{type(error).__name__}: {error}"
                yield f"the changed statement {mutant.name!r} ends in {told}"


CHECKS: tuple[Check, ...] = (
    the_violation_of_a_search_is_what_its_sides_show,
    a_refutation_with_a_certificate_is_proved,
    the_recheck_of_a_search_is_its_violation_with_more_digits,
    another_right_hand_side_changes_the_test,
    another_failure_probability_changes_the_test,
    a_changed_statement_is_built_or_refused,
    nonsense_does_not_keep_the_verdict,
    what_it_shows_can_be_stored_and_drawn,
)
