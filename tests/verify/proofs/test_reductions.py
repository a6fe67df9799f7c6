"""Reductions of statements about arrays and laws: true at random inputs, and no looser than said.

A reduction says that the left-hand side of a claim is at most an expression in a few quantities.  A
false one would make a proof of something else.  So it is compared with what the claim's own code
computes, at points of the claim's domain, and false ones must be refused there.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import islice

import numpy as np
import pytest
import sympy as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bounds.ifca import lemma_3 as bl
from tests.verify.proofs.comparing import n_compared
from trials.checks import InvalidParameter
from verify.claims.searching import search
from verify.decisions.domain import Interval, LogInterval, as_domain
from verify.evidence import proof_mark
from verify.papers import catalogue
from verify.procedures.base import PROFILES
from verify.procedures.search import Search
from verify.proofs.lemmas import LEMMAS, cited, is_claim
from verify.proofs.propositions import POSITIVE, Proposition, Reduction, Sizes
from verify.proofs.shelf import prove, stored

QUICK = PROFILES["quick"]
#: A test of all claims of a paper builds them once, and not while tests are collected.
each_paper = pytest.mark.parametrize("paper", [paper.id for paper in catalogue().papers])


@cache
def searches(paper: str) -> dict[str, Search]:
    """The searches of a paper's claims: name -> the search."""
    built = {name: claim.build(QUICK) for name, claim in catalogue().items()
             if name.startswith(f"{paper}.")}  # fmt: skip
    return {name: each for name, each in built.items() if isinstance(each, Search)}


def reduced(paper: str) -> dict[str, tuple[Search, tuple[Proposition, ...]]]:
    """Claims with a reduction: name -> the search and its propositions."""
    found = {}
    for name, procedure in searches(paper).items():
        all_of = procedure.instances or (procedure.proposition,)
        if all_of[0] is not None and all_of[0].reduction is not None:
            found[name] = procedure, all_of
    assert len(found) >= 10
    return found


@contextmanager
def named(name: str) -> Iterator[None]:
    """What fails says of which claim it is, also where nothing is raised that should be."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"of the claim {name}")
        raise


def points_of(procedure, seed, n):
    """Random points of a claim's domain, and corners, inside its conditions."""
    domain, rng = as_domain(procedure.domain), np.random.default_rng(seed)

    def drawn():  # the corners are drawn only if they are needed, and after the sample
        yield from domain.sample(rng, 4 * n)
        yield from domain.corners(rng, n)

    return list(islice(filter(procedure.is_inside, drawn()), n))


def is_refused(procedure, propositions, points):
    """Whether the comparison refuses one of the propositions at one of the points."""
    try:
        for each in propositions:
            procedure.compare(each, points)
    except InvalidParameter:
        return True
    return False


#: Points of which a proposition speaks, after which the comparison ends.
ENOUGH = 16


@each_paper
def test_a_reduction_holds_at_random_inputs(paper):
    for name, (procedure, propositions) in reduced(paper).items():
        with named(name):
            points = points_of(procedure, 7, 400 if procedure.instances else 48)
            assert len(points) >= 8
            for each in propositions:
                n = n_compared(procedure, each, points, ENOUGH)
                assert n >= (1 if procedure.instances else 8)


@each_paper
@settings(max_examples=10)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_a_reduction_holds_at_inputs_that_hypothesis_draws(paper, data, seed):
    procedure, propositions = reduced(paper)[data.draw(st.sampled_from(sorted(reduced(paper))))]
    points = points_of(procedure, seed, 6)
    assume(sum(procedure.compare(each, points) for each in propositions) > 0)


#: How far a reduction may be from equality at the points that are drawn.  The others are within 2.
LOOSE: dict[str, float] = {
    # Under Assumption 2 the probabilities are far below the bounds of Lemma 1.
    "ifca.eq12": 1e90,
    "ifca.half-correct": 1e90,
    "ifca.poly-m": 1e90,
    # A product above 16 N d is far rarer than one factor above four times its mean.
    "ifca.lemma2-noise": 1e3,
    # Probabilities at most one, or at most one half, each bounded by 1 or by 2.
    "ifca.eq20": 2.1,
    "odcl.p-tail": 5.0,
    "sxy.lemma10": 4.0,
}


def easier(proposition, factor):
    """The reduced left-hand side made easier by a factor, or shifted for an equation."""
    times = {r"\le": 1 / factor, r"\ge": factor}.get(proposition.relation, sp.Rational(101, 100))
    left = proposition.left
    shift = sp.log(times) if proposition.logs else (times - 1) * sp.Abs(left)
    return replace(proposition, left=left + shift)


@each_paper
def test_a_false_reduction_is_refused(paper):
    for name, (procedure, propositions) in reduced(paper).items():
        factor = sp.Rational(repr(LOOSE.get(name, 2.0)))
        points = points_of(procedure, 11, 400 if procedure.instances else 160)
        assert is_refused(procedure, [easier(each, factor) for each in propositions], points), name


@each_paper
def test_the_proof_of_a_reduction_is_stored_and_says_what_is_argued(paper):
    for name, (procedure, propositions) in reduced(paper).items():
        with named(name):
            for each in propositions:
                proved = stored(each)
                assert proved is not None, f"cfl-verify prove {name}"
                assert each.reduction.idea in proved["by"]
                assert proof_mark(proved) == "PROVED UP TO A LEMMA"
            if procedure.instances:
                assert procedure.decide(None, 1e-3).mark == f"PROVED FOR {procedure.up_to}"


@each_paper
def test_an_idea_is_two_to_five_sentences_and_its_lemmas_are_known_or_claims(paper):
    """A claim on which a proof rests is itself supported."""
    for name, (_, propositions) in reduced(paper).items():
        for each in propositions:
            assert 2 <= each.reduction.idea.count(". ") + 1 <= 5, name
            cited(each.reduction.lemmas)
            for key in filter(is_claim, each.reduction.lemmas):
                assert str(catalogue()[key].expected) == "SUPPORTED", (name, key)


def test_every_lemma_has_a_source_and_is_used_or_general():
    assert all(lemma.says and lemma.source for lemma in LEMMAS.values())
    with pytest.raises(InvalidParameter, match="no lemma"):
        cited(("wishful-thinking",))


# -- The machinery, on statements of its own -----------------------------------------------------

x, y, total = sp.symbols("x y total")


def toy(everywhere, observed=lambda p: p["a"] + p["b"]):
    """a + b against 2 max(a, b), in the quantities of a reduction."""
    return search(
        replace(bl.LEMMA_3_GAP, id="toy.sum", relation=r"\le", terms=(
            replace(bl.LEMMA_3_GAP.terms[0], expr=2 * y),), assumptions=()),
        QUICK, observed, {"a": Interval(0.0, 1.0), "b": LogInterval(1e-3, 1.0)},
        at=lambda p: {"y": max(p["a"], p["b"])}, everywhere=everywhere,
    )  # fmt: skip


SUM = Reduction(
    idea="A sum of two numbers is their sum. Neither exceeds the larger one.",
    lemmas=("triangle",),
    ranges=dict.fromkeys(("x", "y"), POSITIVE),
    given=((2 * y, x),),
    quantities=lambda p: {"x": p["a"] + p["b"]},
    left=x,
)


def test_a_reduction_is_proved_up_to_its_lemmas(tmp_path):
    procedure = toy(SUM)
    assert isinstance(procedure.proposition, Proposition)
    assert prove("toy.sum", procedure.proposition, tmp_path) is not None
    proved = stored(procedure.proposition, [tmp_path])
    assert proof_mark(proved) == "PROVED UP TO A LEMMA"
    assert "the triangle inequality" in proved["by"]
    assert procedure.compare(procedure.proposition, points_of(procedure, 1, 20)) == 20


@pytest.mark.parametrize(
    "changed",
    [
        {"left": x / 2},
        {"given": ((y, x),)},
        {"ranges": {"x": Interval(0.0, 0.5), "y": POSITIVE}},
        {"right": 3 * y},
        {"quantities": lambda p: {"x": p["a"]}},
    ],
    ids=["left", "given", "range", "right", "quantity"],
)
def test_a_false_part_of_a_reduction_is_refused(changed):
    procedure = toy(replace(SUM, **changed))
    with pytest.raises(InvalidParameter):
        procedure.compare(procedure.proposition, points_of(procedure, 1, 200))


def test_sizes_are_proved_one_by_one_and_said(tmp_path, monkeypatch):
    both = Sizes(
        up_to="n <= 2",
        each=tuple(
            replace(SUM, of=lambda p, low=low: (p["a"] >= 0.5) == low, left=left)
            for low, left in ((False, x), (True, x + 0 * y))
        ),
    )
    procedure = toy(both)
    assert procedure.proposition is None
    assert len(procedure.instances) == 2
    points = points_of(procedure, 1, 40)
    assert sum(procedure.compare(each, points) for each in procedure.instances) == 40
    monkeypatch.setattr("verify.proofs.shelf.SHELF", tmp_path)
    monkeypatch.setattr("verify.proofs.shelf._OWN", {tmp_path: None})
    assert procedure._prove() is None
    for each in procedure.instances:
        prove("toy.sum", each, tmp_path)
    evidence = procedure.decide(None, 1e-3)
    assert evidence.mark == "PROVED FOR n <= 2"
    assert "Larger sizes are searched, not proved." in evidence.notes[0]
