"""The searches behind ODCL's clustering claims: planted variants, proofs, and their helpers."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from bounds.odcl import part_one as theorem_3
from bounds.odcl.requirements import REQUIREMENT_KM
from bounds.odcl.symbols import M, c, m, size_min
from bounds.statement import Term, evaluate
from trials.clustering.kmeans import lloyd, spectral_part_one
from trials.models.matching import overlaps
from verify.claims.odcl import (
    any_centers,
    clusterpath,
    convex,
    footnotes,
    kmeans,
    part_one,
    recovery,
    requirements,
    separability,
)
from verify.claims.odcl.data_sets import Clustered, data_sets, simplex
from verify.claims.odcl.mean_reductions import LEAST_C
from verify.claims.odcl.windows import window
from verify.decisions.measures import SHARE
from verify.decisions.search import SearchResult
from verify.evidence import Verdict
from verify.papers import catalogue, collect
from verify.procedures.base import Presentation, Profile
from verify.proofs.certificate import check

PROFILE = Profile(name="test", max_trials=256, searches=600)
CLAIMS = {
    claim.id: claim
    for claim in collect(
        *(separability, convex, footnotes, clusterpath, kmeans, requirements, part_one, recovery)
    )
    if claim.statement.kind == "deterministic"
}


def evidence(claim, statement=None):
    built = claim.builder(statement or claim.statement, PROFILE)
    return replace(built, present=lambda _result: Presentation()).decide(None, 0.0)


def times(claim, factor):
    """The claim's statement with every term multiplied."""
    terms = tuple(Term(name=t.name, expr=factor * t.expr) for t in claim.statement.terms)
    return replace(claim.statement, terms=terms)


#: Statements that are attained: a share of the room that one of these loses is found.
ATTAINED = {
    "odcl.def1-def3": sp.Rational(9, 10),
    "odcl.eq13-lower": sp.Rational(9, 10),
    "odcl.eq13-upper": sp.Rational(11, 10),
    "odcl.eq13-sharp": sp.Rational(11, 10),
    "odcl.lemma1": sp.Rational(3, 4),
    "odcl.lemma1-sharp": sp.Rational(9, 10),
    "odcl.lemma1-attained": sp.Rational(11, 10),
    "odcl.footnote3": sp.Rational(9, 10),
    "odcl.footnote3-upper": sp.Rational(11, 10),
    "odcl.footnote7-distance": sp.Rational(9, 10),
    "odcl.footnote7-singletons": sp.Rational(11, 10),
    "odcl.footnote7-one": sp.Rational(9, 10),
    "odcl.coarsening-interval": sp.Rational(11, 10),
    "odcl.coarsening": sp.Rational(11, 10),
    "odcl.unique": sp.Rational(11, 10),
    "odcl.def2-fixed-point": sp.Rational(9, 10),
    "odcl.lemma2-17": sp.Rational(9, 10),
    "odcl.lemma2-order": sp.Integer(2),
    "odcl.requirement-cc": sp.Rational(101, 100),
    "odcl.requirement-km": sp.Rational(101, 100),
    "odcl.cc-vs-km": sp.Rational(9, 10),
    "odcl.table1-ifca-cr": sp.Rational(101, 100),
    "odcl.comm-rounds": sp.Rational(101, 100),
    "odcl.comm-factor": sp.Rational(11, 10),
    "odcl.eq24-one": sp.Rational(9, 10),
    "odcl.thm3-threshold-sharp": sp.Rational(9, 10),
    "odcl.thm3-epsilon-sharp": sp.Rational(9, 10),
    "odcl.lemma9-floor": sp.Rational(9, 10),
    "odcl.remark20-relative": sp.Rational(9, 10),
    "odcl.remark20": sp.Rational(11, 10),
    "odcl.needs-sizes": sp.Rational(11, 10),
    "odcl.a-posteriori": sp.Rational(11, 10),
    "odcl.psi-event": sp.Rational(9, 10),
    "odcl.psi-prob": sp.Rational(9, 10),
    "odcl.lemma2": sp.Rational(1, 256),
    "odcl.lemma2-one": sp.Rational(1, 4),
    "odcl.gradient-clustering": sp.Rational(1, 4),
}


@pytest.mark.parametrize("name", ATTAINED)
def test_a_tenth_less_is_refuted(name):
    claim = CLAIMS[name]
    assert evidence(claim).verdict is Verdict.SUPPORTED
    assert evidence(claim, times(claim, ATTAINED[name])).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    "name", [n for n, one in CLAIMS.items() if one.expected is Verdict.REFUTED]
)
def test_what_is_printed_wrongly_is_refuted_and_certificates_hold(name):
    found = evidence(CLAIMS[name])
    assert found.verdict is Verdict.REFUTED
    if found.proof is not None:
        assert check(found.proof)
        tampered = {**found.proof, "inequalities": [dict(i) for i in found.proof["inequalities"]]}
        first = tampered["inequalities"][0]
        first["left"], first["right"] = first["right"], first["left"]
        with pytest.raises(ValueError, match="does not prove"):
            check(tampered)


def test_the_excess_is_positive_exactly_where_the_relation_fails():
    less = CLAIMS["odcl.lemma1"].statement
    more = CLAIMS["odcl.eq13-upper"].statement
    equal = CLAIMS["odcl.requirement-cc"].statement

    def excess(statement, observed, bound):
        return SHARE.violation(statement.relation, observed, bound)

    assert excess(less, 2.0, 1.0) > 0 > excess(less, 1.0, 2.0)
    assert excess(more, 1.0, 2.0) > 0 > excess(more, 2.0, 1.0)
    assert excess(equal, 1.0, 2.0) > 0 == excess(equal, 2.0, 2.0)
    assert excess(less, 0.0, 0.0) == 0.0
    assert excess(less, -1.0, -2.0) > 0 > excess(less, -2.0, -1.0)


# -- helpers -----------------------------------------------------------------------------------


def drawn(n, seed, **sizes):
    return [Clustered.of(p) for p in data_sets(**sizes).sample(np.random.default_rng(seed), n)]


def test_from_its_separation_on_a_clustering_is_a_fixed_point_of_lloyd():
    needs = [(data, kmeans.fixed_point_separation(data)) for data in drawn(40, 3)]
    needs = [(data, needed) for data, needed in needs if data.radius > 0.0 and needed > 0.0]
    assert len(needs) > 10
    for data, needed in needs:
        for factor, fixed in ((1.001, True), (0.999, False)):
            points = kmeans.at_separations(data, np.array([factor * needed]))
            shrunk = Clustered(points[0], data.labels)
            step = lloyd(points, shrunk.centres[None], max_iter=1)
            assert np.array_equal(step.labels[0], data.labels) == fixed


def test_a_shape_at_a_separation_has_it():
    wide = [data for data in drawn(20, 4) if data.radius > 0]
    assert len(wide) > 10
    for data in wide:
        points = kmeans.at_separations(data, np.array([3.0, 50.0]))
        for one, separation in zip(points, (3.0, 50.0), strict=True):
            shrunk = Clustered(one, data.labels)
            assert shrunk.gap / shrunk.radius == pytest.approx(separation, rel=1e-8)


def test_the_proximity_is_that_of_the_projections():
    for data in drawn(20, 5):
        largest = 0.0
        spectral = np.linalg.norm(data.deviations, 2)
        for k, other in itertools.permutations(range(data.k), 2):
            line = data.centres[other] - data.centres[k]
            for a in data.points[data.labels == k]:
                share = max((a - data.centres[k]) @ line / (line @ line), 0.0)
                projected = share * np.linalg.norm(line)
                roots = data.sizes[k] ** -0.5 + data.sizes[other] ** -0.5
                largest = max(largest, 2 * projected + 5.0 * roots * spectral)
        assert kmeans.proximity(data, 5.0) == pytest.approx(largest, rel=1e-9)


def test_errors_match_the_found_clusters_to_the_true_ones():
    labels = np.array([0, 0, 0, 1, 1, 2])
    table = overlaps(np.array([2, 2, 1, 0, 0, 1]), labels, 3)
    assert table.tolist() == [[2, 0, 1], [0, 2, 0], [0, 0, 1]]
    assert kmeans.own_share(table) == pytest.approx(2 / 3)
    assert kmeans.foreign_share(table) == 1.0


def test_the_simplex_needs_exactly_the_sharpened_separation():
    for k, half, extra in itertools.product((2, 3, 5), (1, 3), (0, 4)):
        data = simplex((2 * half, *[2 * half + extra] * (k - 1)), wide=1)
        assert [distance for _, _, distance in data.pairs()] == pytest.approx(
            [1.0] * (k * (k - 1) // 2)
        )
        stated = evaluate(CLAIMS["odcl.lemma1-sharp"].statement.expr, data.symbols)
        assert convex.needed_separation(data) == pytest.approx(float(stated), rel=1e-6)


def test_clusters_with_outliers_just_meet_definition_3():
    sizes = {"ratio": 1, "own": False}
    for k, outliers, every, reach in itertools.product((2, 3), (0, 1), (0, 1), (0.3, 0.55)):
        point = {"k": k, "outliers": outliers, "all": every, "reach": reach, "c": 12.0, **sizes}
        data = kmeans.with_outliers(point)
        ratio = data.gap / max(separability.center_separation(data, 12.0), 1e-300)
        assert ratio >= 0.98
        if outliers:
            assert ratio < 2.5


def test_an_outlier_beside_a_large_cluster_is_a_larger_share_of_its_small_one():
    """The share comes close to 4/c^2, where equal clusters stay below 1/c^2."""
    point = {"k": 2, "outliers": 1, "all": 0, "reach": 0.51, "c": 14.0, "ratio": 16, "own": False}
    data = kmeans.with_outliers(point)
    assert data.gap >= separability.center_separation(data, 14.0)
    assert 2.2 / 14.0**2 < 1 / data.sizes.min() < 4 / 14.0**2
    assert data.sizes.max() == 16 * data.sizes.min()


@pytest.mark.parametrize("claim", ["odcl.lemma10-own", "odcl.lemma10-foreign"])
def test_a_share_after_part_one_is_that_of_its_own_run_however_often_it_is_asked(claim):
    """Changed statements ask at the same points, and a point is all of its coordinates."""
    search = CLAIMS[claim].builder(CLAIMS[claim].statement, PROFILE)
    shape = {"k": 2, "outliers": 1, "all": 0, "ratio": 1, "own": claim.endswith("own")}
    for reach, seed in ((0.55, 3), (0.51, 3), (0.55, 4), (0.55, 3)):
        point = {**shape, "reach": reach, "c": 12.0, "seed": seed}
        data = kmeans.with_outliers(point)
        fit, _ = spectral_part_one(data.points[None], 2, np.random.default_rng(seed))
        table = overlaps(fit.labels[0], data.labels, 2)
        own, foreign = kmeans.own_share(table), kmeans.foreign_share(table)
        assert search.sides(point)[0] == (own if claim.endswith("own") else foreign)


def test_a_point_of_the_path_solves_each_penalty_once(monkeypatch):
    """0 and 1 join at 1/2, and 10 joins them at 19/6.  The unit of penalties is 10/3."""
    solved = []
    solve = clusterpath.convex_clustering
    monkeypatch.setattr(
        clusterpath,
        "convex_clustering",
        lambda points, penalty: solved.append(penalty) or solve(points, penalty),
    )
    search = CLAIMS["odcl.monotone-path"].builder(CLAIMS["odcl.monotone-path"].statement, PROFILE)
    point = {"points": np.array([[0.0], [1.0], [10.0]]), "labels": np.array([0, 0, 1])}
    for first, second, after, before in ((0.3, 0.03, 2, 3), (1.9, 0.3, 1, 2), (0.3, 1.9, 1, 2)):
        assert search.sides({**point, "first": first, "second": second}) == (after, before)
    assert sorted(round(3 * penalty / 10, 9) for penalty in solved) == [0.03, 0.3, 1.9]


def test_the_relative_reduction_is_that_of_the_requirements():
    share = 1 - theorem_3.PART_ONE_SAME_M / REQUIREMENT_KM
    for sizes in ((8, 2, 3), (100, 1, 7), (50, 25, 100)):
        at = dict(zip((m, size_min, c), map(sp.Integer, sizes), strict=True)) | {M: 1}
        assert sp.simplify((share - part_one.RELATIVE_REDUCTION).subs(at)) == 0


def test_the_counterexample_of_the_admissible_finding():
    data = Clustered(np.array([[-1.0], [1.0], [2.2]]), np.array([0, 0, 1]))
    assert data.gap == pytest.approx(2.2)
    assert data.radius == 1.0
    found = window(data)
    assert found.fused.low > found.merged.high


def test_the_smallest_counterexample_of_definition_3_is_rational():
    """Two pairs: Definition 3 squared is c^2 (2/sqrt 2)^2 4 r^2 = 8 c^2 r^2, printed 4 c^2 r^2."""
    r, constant = Fraction(1), Fraction(7)
    assert constant**2 * Fraction(2) * 4 * r**2 > (2 * constant * r) ** 2


def test_shares_of_a_cluster_are_relative_to_the_true_one():
    """8 of 10 points and 3 of 4 are kept.  One of 10 and two of 4 are foreign."""
    table = np.array([[8, 2], [1, 3]])
    assert kmeans.own_share(table) == pytest.approx(3 / 4)
    assert kmeans.foreign_share(table) == pytest.approx(2 / 4)
    assert kmeans.foreign_share(table.T) == pytest.approx(2 / 9)
    assert kmeans.foreign_share(np.diag([3, 1])) == 0.0


def test_pages_of_proved_shares_say_nothing_of_a_search_that_was_not_made():
    """Without a search the largest violation is minus infinity, which is no share."""
    found = replace(SearchResult.none(), largest=-0.75, largest_at={"c": 12.0})
    for present, share in (
        (kmeans._looseness, "0.25 of the stated one"),
        (any_centers._looseness, "$32/c^2$"),
    ):
        assert share in " ".join(present(found).sharpness)
        assert "inf" not in " ".join(present(SearchResult.none()).sharpness)


def test_lemma_10_is_stated_from_the_constant_on_from_which_it_is_proved():
    for name in ("own", "foreign", "any-centers"):
        claim = catalogue()[f"odcl.lemma10-{name}"]
        assert f"c\\ge{LEAST_C:g}" in claim.statement.quantifiers
        procedure = claim.build(PROFILE)
        assert procedure.proposition.ranges["c"].low == LEAST_C


def test_the_trials_of_theorem_1s_error_are_of_its_first_term():
    """A change of a term that is a hundredth of another one is no change that trials notice."""
    claim = catalogue()["odcl.thm1-mse"]
    for cell in claim.build(PROFILE).cells:
        at = recovery._several(cell)
        sizes = {term.name: float(evaluate(term.expr, at)) for term in claim.statement.terms}
        first = sizes.pop("variance")
        assert first == pytest.approx(
            2 * cell["sigma"] ** 2 * cell["d"] / (cell["n"] * cell["size_k"]), rel=1e-12
        )
        assert sum(sizes.values()) < first / 100
