"""One conformance suite over every claim of every paper, the documentation's example included.

A claim that passes is complete, prints, stays inside its assumptions, varies the parameters that it
names, is built the same way twice, and depends on its statement.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import cache, partial
from pathlib import Path

import pytest
import sympy as sp

from bounds.readable import readable
from bounds.statement import Term
from trials.run.executors import make_executor
from trials.run.store import RunStore
from verify.claims.common import CannotTry
from verify.decisions.search import NoPoint
from verify.evidence import Verdict
from verify.mutation.fingerprint import cells_of, fingerprint
from verify.mutation.mutants import mutants, variables
from verify.mutation.score import REFUSALS, Examination, Standing
from verify.papers import catalogue
from verify.procedures.base import PROFILES, Profile, Sampling, UnknownParameter
from verify.procedures.rate import Rate
from verify.procedures.search import Search
from verify.procedures.threshold import Threshold
from verify.procedures.vacuity import Vacuity
from verify.proofs.certificate import proof

CATALOGUE = catalogue([Path(__file__).parents[1] / "docs" / "example_paper.py"])
QUICK = PROFILES["quick"]
every_claim = pytest.mark.parametrize("name", CATALOGUE)
#: What holds of every claim.  One test of a claim asks all of it, because each takes milliseconds.
CHECKS: list[Callable[[str], None]] = []


def check(function):
    """Note what `test_a_claim_is_complete` asks of every claim."""
    CHECKS.append(function)
    return function


@cache
def built(name):
    """The procedure of a claim at the smallest profile, built when it is first asked for."""
    return CATALOGUE[name].build(QUICK)


def search_of(name):
    """The procedure of a claim that is a search, nothing for another."""
    return built(name) if isinstance(built(name), Search) else None


@every_claim
def test_a_claim_is_complete(name):
    """Each check is a function below.  Its name says what holds."""
    for check in CHECKS:
        check(name)


# -- what a claim says -----------------------------------------------------------------------------


@check
def the_id_names_the_paper_and_the_statement(name):
    claim = CATALOGUE[name]
    assert re.fullmatch(r"[a-z][a-z0-9]*\.[a-z0-9][a-z0-9.-]*", name)
    assert CATALOGUE.paper(name).id == claim.statement.paper
    assert claim.statement.publication in CATALOGUE.paper(name).publications


@check
def the_statement_is_complete(name):
    statement = CATALOGUE[name].statement
    for text in (statement.title, statement.source, statement.quantifiers, statement.observed):
        assert text.strip(), name
    assert statement.terms or statement.contrasts or statement.printed or statement.assertion
    assert len({t.name for t in statement.terms}) == len(statement.terms)
    assert len({a.name for a in statement.assumptions}) == len(statement.assumptions)
    for constant in statement.constants:
        assert 0 <= constant.low < constant.high
        assert constant.meaning
    if "corrected" in statement.source:
        assert statement.reading, "a corrected statement says what was corrected"


@check
def formulas_print_as_latex_and_as_one_readable_line(name):
    statement = CATALOGUE[name].statement
    notation = statement.publication.notation
    formulas = [statement.latex(), statement.failure_latex(), statement.quantifiers]
    formulas += [a.latex(notation) for a in statement.assumptions]
    for latex in formulas:
        assert "**" not in latex
        assert latex.count("{") == latex.count("}")
        text = readable(latex)
        assert "\n" not in text
        assert "\\" not in text
        assert bool(text) == bool(latex)


@check
def the_procedure_describes_itself_in_sentences(name):
    text = built(name).describe()
    assert len(text) > 40
    assert text[0].isupper() or text[0].isdigit() or text[0] == "$"
    assert text.rstrip().endswith(".")
    assert text.count("$") % 2 == 0
    assert not re.search(r"<\w+ | object at |\bNone\b|\bnan\b", text)


@check
def the_expected_verdict_is_recorded_and_a_refuted_statement_has_a_finding(name):
    claim = CATALOGUE[name]
    assert isinstance(claim.expected, Verdict)
    assert claim.weight > 0
    if claim.expected is Verdict.REFUTED:
        assert claim.findings, "a statement known to be false says what was found"


@check
def the_document_is_plain_data(name):
    claim = CATALOGUE[name]
    document = claim.document(built(name))
    assert json.loads(json.dumps(document)) == document
    assert document["id"] == name
    assert document["expected"] == str(claim.expected)


# -- what a claim tries ----------------------------------------------------------------------------


@check
def every_cell_is_inside_the_assumptions(name):
    built(name).check()
    spelled = [repr(sorted(cell.items())) for cell in cells_of(built(name))]
    assert len(set(spelled)) == len(spelled)


#: Named by the statement and fixed by design, with the reason.
FIXED = {
    "ifca.eq7": {"sigma": "at its limit, 1, where the gradient is largest"},
    "ifca.k2-slightly-better": {"k": "two clusters"},
    "ifca.k2-random-as-printed": {"k": "two clusters"},
}
#: Names of cells that are symbols of statements.
SYMBOLS = ("m", "n", "d", "k", "Delta", "sigma", "alpha", "N", "rho", "t")


@check
def parameters_that_the_statement_names_are_varied(name):
    statement, cells = CATALOGUE[name].statement, cells_of(built(name))
    if not cells or CATALOGUE[name].expected is Verdict.REFUTED:
        return  # a search varies its domain, and one cell refutes
    expressions = [t.expr for t in statement.terms]
    expressions += [e for e in (statement.failure,) if e is not None]
    named = {s.name for e in expressions for s in e.free_symbols} & set(SYMBOLS)
    for symbol in named & set(cells[0]) - set(FIXED.get(name, {})):
        assert len({cell[symbol] for cell in cells}) > 1, f"{name} does not vary {symbol}"


@check
def the_builder_is_deterministic_and_cells_do_not_depend_on_the_profile(name):
    claim = CATALOGUE[name]
    again, full = claim.build(QUICK), claim.build(PROFILES["full"])
    assert again.describe() == built(name).describe()
    assert cells_of(again) == cells_of(built(name)) == cells_of(full)


@check
def an_unknown_parameter_is_refused_with_the_list_of_names(name):
    with pytest.raises(UnknownParameter, match=r"no parameter 'zzz'; its parameters: \w+"):
        built(name).override({"zzz": 1})


@check
def hidden_constants_of_the_assumptions_are_declared(name):
    claim, procedure = CATALOGUE[name], built(name)
    declared = set(claim.hidden) | set(getattr(procedure, "constants", {}))
    for assumption in claim.statement.assumptions:
        if assumption.constant is not None and not isinstance(procedure, Search):
            assert assumption.constant.name in declared, assumption.name
    if isinstance(procedure, Search):
        hidden = {a.constant.name for a in claim.statement.assumptions if a.constant is not None}
        assert hidden <= declared


#: Exact laws whose probabilities take more trials than the smallest profile has, drawn at once.
FIXED_NUMBER_OF_TRIALS = {"ifca.lemma1-law", "ifca.oracle-mse"}


def samplings(part, depth=0):
    """The samplings inside a procedure."""
    if isinstance(part, Sampling):
        yield part
    elif isinstance(part, tuple):
        for each in part:
            yield from samplings(each, depth)
    elif is_dataclass(part) and depth < 3:
        for field in fields(part):
            yield from samplings(getattr(part, field.name), depth + 1)


@check
def a_claim_keeps_to_the_trials_and_the_evaluations_of_its_profile(name):
    drawn = [sampling.max_trials for sampling in samplings(built(name))]
    if name in FIXED_NUMBER_OF_TRIALS:
        assert min(drawn) > QUICK.max_trials
    else:
        assert max(drawn, default=0) <= QUICK.max_trials
    if isinstance(built(name), Search):
        assert 0 < built(name).budget <= QUICK.searches


#: Fewer trials and evaluations than any profile has.
FEW = Profile(name="quick", max_trials=16, searches=24, seconds=2.0)


@check
def a_small_profile_limits_a_claim_unless_its_numbers_are_fixed(name):
    few = CATALOGUE[name].build(FEW)
    small, quick = ([s.max_trials for s in samplings(each)] for each in (few, built(name)))
    for drawn, at_quick in zip(small, quick, strict=True):
        assert drawn <= FEW.max_trials or drawn == at_quick
    if isinstance(few, Search):
        assert few.budget <= FEW.searches or few.budget == built(name).budget


# -- the verdict depends on the statement ----------------------------------------------------------


def with_terms(statement, change):
    """The statement with every term changed."""
    terms = tuple(Term(name=t.name, expr=change(t.expr)) for t in statement.terms)
    return replace(statement, terms=terms)


def contradicted(statement, factor):
    """A statement without terms as its opposite.

    Contrasts and trends are reversed, and printed numbers are scaled.
    """
    contrasts = tuple(
        replace(c, left=c.right, right=c.left, relation="<", margin=0.0)
        for c in statement.contrasts
    )
    opposite = {"increases": "decreases", "decreases": "increases"}
    trends = tuple(replace(t, direction=opposite[t.direction]) for t in statement.trends)
    printed = tuple(replace(p, value=factor * p.value) for p in statement.printed)
    return replace(statement, contrasts=contrasts, trends=trends, printed=printed)


def nonsense(statement):
    """The statement with another right-hand side: a hundred times smaller, or larger for >=."""
    if not statement.terms:
        return contradicted(statement, 100.0)
    factor = sp.Integer(100) if statement.relation == r"\ge" else sp.Rational(1, 100)
    return with_terms(statement, lambda expr: factor * expr)


def tilted(statement, shift):
    """The statement with other exponents."""
    return with_terms(
        statement, lambda expr: expr * sp.Mul(*variables(statement, expr)) ** sp.Integer(shift)
    )


def reads_exponents(procedure):
    """Whether the procedure compares exponents, so that a factor leaves it alone."""
    return isinstance(procedure, Rate) or (
        isinstance(procedure, Threshold) and bool(procedure.scaling)
    )


def room(relation, observed, bound):
    """The share by which a relation holds at a point, negative where it fails."""
    scale = max(abs(observed), abs(bound))
    if relation == "=":
        return -abs(observed - bound) / scale if scale else 0.0
    left = bound - observed if relation == r"\le" else observed - bound
    return left / scale if 0 < scale < math.inf else left


@check
def the_violation_of_a_search_is_what_its_sides_show(name):
    """Both are shown beside a counterexample.  A supported statement has none at a few points."""
    if search_of(name) is None:
        return
    statement, search = CATALOGUE[name].statement, search_of(name)
    try:
        points = replace(search, budget=8).visited(4)
    except NoPoint:  # a rare condition
        points = replace(search, budget=200).visited(4)
    assert points
    for point in points:
        violation, sides = float(search.violation(point)), tuple(map(float, search.sides(point)))
        holds = room(statement.relation, *sides)
        if violation > 1e-6:
            assert CATALOGUE[name].expected is Verdict.REFUTED
            assert holds < 0 or sides == (0.0, 0.0)  # logs are compared, the numbers underflow
        elif holds < -1e-3 and max(map(abs, sides)) > 1e-6:
            assert violation > 0


def has_a_certificate(name):
    """Whether a claim is a search that proves a refutation."""
    search = search_of(name)
    refuted = CATALOGUE[name].expected is Verdict.REFUTED
    return search is not None and search.certify is not None and refuted


@check
def a_refutation_with_a_certificate_is_proved(name):
    """At one of the points nearest to a counterexample: a faulty certificate proves none."""
    if not has_a_certificate(name):
        return
    search = replace(search_of(name), budget=100)
    proofs = (proof(partial(search.certify, point)) for point in search.visited(24))
    found = next((made for made in proofs if made is not None), None)
    assert found is not None
    said = [inequality["says"] for inequality in found["inequalities"]]
    assert len(set(said)) == len(said) > 0


def has_a_recheck(name):
    """Whether a claim is a search that looks at its counterexamples with more digits."""
    return search_of(name) is not None and search_of(name).recheck is not None


#: Logs of probabilities below this one underflow in double precision, which cuts them off.
UNDERFLOWS = -600.0


@check
def the_recheck_of_a_search_is_its_violation_with_more_digits(name):
    """Otherwise a counterexample could be taken back as rounding, or be told in another unit."""
    if not has_a_recheck(name):
        return
    search = replace(search_of(name), budget=100)
    points = search.visited(20)
    assert len(points) >= 5
    near = [point for point in points if search.violation(point) > UNDERFLOWS]
    assert near
    for point in near:
        size = 1.0 + sum(map(abs, search.sides(point)))
        assert float(search.recheck(point)) == pytest.approx(
            float(search.violation(point)), rel=1e-9, abs=1e-10 * size
        )


def test_the_checks_of_searches_reach_many_claims():
    """A check that asks nothing of a claim would pass on a catalogue of others."""
    assert sum(search_of(name) is not None for name in CATALOGUE) >= 200
    assert sum(has_a_certificate(name) for name in CATALOGUE) >= 40
    assert sum(has_a_recheck(name) for name in CATALOGUE) >= 10
    assert sum(claim.statement.failure is not None for claim in CATALOGUE.values()) >= 40
    assert sum(in_share(name) and search_of(name) is None for name in CATALOGUE) >= 20


#: Claims whose procedure cannot try the statement with another right-hand side, and why.
CANNOT_TRY_ANOTHER = {
    **dict.fromkeys(
        ("ifca.alpha-increases-as-printed", "ifca.alpha-increases"),
        "the experiment records whether an error grew",
    ),
    "ifca.near-optimal": "every cell is read after the same number of steps",
    **dict.fromkeys(
        ("sxy.prop1-rate-gap", "sxy.prop1-rate-no-gap", "sxy.prop1-gap", "sxy.prop1-gap-law"),
        "the sampled error has the factor delta^2 + sigma^2",
    ),
}


@every_claim
def test_another_right_hand_side_changes_the_test_or_is_refused(name):
    claim = CATALOGUE[name]
    other = nonsense(claim.statement)
    if reads_exponents(built(name)):
        other = tilted(claim.statement, 1)
    if name in CANNOT_TRY_ANOTHER:
        with pytest.raises(CannotTry):
            replace(claim, statement=other).build(QUICK)
    else:
        changed = replace(claim, statement=other).build(QUICK)
        assert fingerprint(changed) != fingerprint(claim.build(QUICK))


#: The smallest budget with which nonsense is plainly refuted.
TINY = Profile(name="quick", max_trials=64, searches=200, seconds=0.1)
#: Every claim, not the seeded share that needs trials, is decided where this is set.
WHOLE = os.environ.get("CFL_MUTATION") == "all"


def nonsenses(claim):
    """Statements of which at least one must lose the claim's verdict.

    A supported bound is made 10^100 times smaller and larger: one of the two is too strong (a bound
    may be negative).  A refuted bound is moved where nothing exceeds it.
    """
    statement = claim.statement
    if claim.expected is Verdict.REFUTED and (statement.relation == "=" or not statement.terms):
        return []  # no equation, contrast or number is plainly true
    if not statement.terms:
        return [contradicted(statement, 1e6)]
    if claim.expected is Verdict.REFUTED:
        trivial = sp.Float("1e100") * (-1 if statement.relation == r"\ge" else 1)
        return [with_terms(statement, lambda expr: expr + trivial)]
    if reads_exponents(built(claim.id)):
        return [tilted(statement, -1), tilted(statement, 1)]
    factors = (sp.Float("1e-100"), sp.Float("1e100"))
    return [with_terms(statement, lambda expr, f=f: f * expr) for f in factors]


def in_share(name):
    """Whether a claim that draws trials is among the fifth that every test run decides.

    Claims that are too dear for the profile quick are not.
    """
    cheap = CATALOGUE[name].smallest_profile == "quick"
    return WHOLE or (cheap and zlib.crc32(name.encode()) % 5 == 0)


#: Claims whose procedure refuses a nonsense, and why.  All others must decide it.
REFUSES_NONSENSE = {
    **CANNOT_TRY_ANOTHER,
    **dict.fromkeys(
        ("ifca.thm1-as-printed", "ifca.thm1-factor-three-as-printed",
         "ifca.neurips-thm1-as-printed"),
        "the contraction must be a number times the error",
    ),
    **dict.fromkeys(
        ("ifca.thm2-floor-rates-as-printed", "ifca.thm2-term3-rates-as-printed",
         "ifca.cor2-rates-as-printed"),
        "a term with a large number added has no exponent",
    ),
    **dict.fromkeys(
        ("ifca.cor2", "ifca.neurips-thm2"), "the accuracy must lie below the radius of the starts"
    ),
    "ifca.cor1-own-step": "a tiny accuracy asks for more steps than a run has",
    "ifca.identity-improves": "the logarithm of a share that underflows is not defined",
    "sxy.eq15": "the interval proof of a refutation has no value for the sum over clusters",
}  # fmt: skip


@check
def nonsense_does_not_keep_the_verdict(name):
    """A bound that is plainly too strong is refuted, and one that is plainly true is not.

    `tox -e mutation` decides every claim, other runs every search and a share of the rest.
    """
    if search_of(name) is None and not in_share(name):
        return
    claim = CATALOGUE[name]
    verdicts, refused = [], []
    with (
        tempfile.TemporaryDirectory() as folder,
        RunStore.create(Path(folder) / "store.sqlite", root_seed=0, config={}) as store,
        make_executor("serial") as executor,
    ):
        examination = Examination(
            claim=claim,
            profile=TINY,
            standing=Standing(verdict="", mark="", level=0.001),
            store=store,
            executor=executor,
            new_seconds=math.inf,
        )
        for other in nonsenses(claim):
            try:
                verdicts.append(examination.decide(other, quickly=True).verdict)
            except (ValueError, ArithmeticError) as error:
                refused.append(str(error))
    assert bool(refused) == (name in REFUSES_NONSENSE), refused
    if refused:
        return
    if claim.expected is Verdict.REFUTED:
        assert Verdict.REFUTED not in verdicts
    elif claim.expected is Verdict.VACUOUS:
        assert Verdict.SUPPORTED in verdicts, verdicts
    elif isinstance(built(name), Vacuity):  # it is lost where the bound says nothing
        assert Verdict.VACUOUS in verdicts, verdicts
    else:
        assert Verdict.REFUTED in verdicts, verdicts


@check
def another_failure_probability_changes_the_test(name):
    claim = CATALOGUE[name]
    if claim.statement.failure is not None:
        tiny = replace(claim.statement, failure=sp.Float("1e-300"))
        changed = replace(claim, statement=tiny).build(QUICK)
        assert fingerprint(changed) != fingerprint(built(name))


@check
def a_changed_statement_is_built_or_refused(name):
    """Dropped conditions, and every sixth other change.

    Another error than a refusal would end `mutate` in the middle.
    """
    claim, first = CATALOGUE[name], zlib.crc32(name.encode())
    changed = enumerate(mutants(claim.statement), first)
    for mutant in (m for i, m in changed if m.name.endswith(": dropped") or i % 6 == 0):
        with contextlib.suppress(*REFUSALS):
            assert replace(claim, statement=mutant.statement).build(QUICK) is not None, mutant.name
