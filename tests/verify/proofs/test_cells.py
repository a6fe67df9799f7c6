"""Tails of exact laws in cells: as another library computes them, and no false one is proved."""

from dataclasses import replace

import flint
import mpmath
import numpy as np
import pytest
import sympy as sp

from trials.checks import InvalidParameter
from verify.evidence import proof_mark
from verify.mutation.mutants import mutants
from verify.papers import catalogue
from verify.procedures.base import PROFILES
from verify.proofs.cells import ExactTail
from verify.proofs.checker import Rejected, check, enclose

QUICK = PROFILES["quick"]
#: Claims whose cells are proved, with their number.
CLAIMS = {
    "ifca.lemma2-opnorm": 13,
    "sxy.lemma8": 13,
    "sxy.lemma11-zeta": 8,
    "sxy.lemma11-phi": 11,
    "sxy.lemma11-equal-sizes": 5,
}


def procedure_of(name):
    """The procedure of a claim."""
    return catalogue()[name].build(QUICK)


def times(statement, factor):
    """The statement with its right-hand side times a number."""
    terms = tuple(replace(term, expr=term.expr * factor) for term in statement.terms)
    return replace(statement, terms=terms)


def test_a_tail_is_that_of_another_library(monkeypatch):
    monkeypatch.setattr(flint.ctx, "prec", 128)
    rng = np.random.default_rng(0)
    for _ in range(200):
        degrees, ratio = int(10 ** rng.uniform(0, 4)), 10 ** rng.uniform(-1, 1.5)
        x = sp.Rational(round(degrees * ratio * 1000), 1000)
        ball = enclose(["chi-square", str(degrees), str(x)], {})
        with mpmath.workdps(40):
            a, b = mpmath.mpf(degrees) / 2, mpmath.mpf(x.p) / x.q / 2
            known = mpmath.gammainc(a, b, regularized=True)
        assert ball.rad() <= 1e-12 * ball.mid()
        assert abs(ball.mid() - flint.arb(mpmath.nstr(known, 30))) <= 1e-12 * ball.mid()


@pytest.mark.parametrize("name", CLAIMS)
def test_every_cell_is_proved_and_the_proof_can_be_checked_again(name):
    procedure = procedure_of(name)
    proved = procedure.prove(procedure.cells)
    assert proof_mark(proved) == f"PROVED FOR {CLAIMS[name]} cells"
    documents = [proved, *proved["others"]]
    assert len(documents) == len(procedure.cells)
    for document in documents:
        check(document["statement"], document["certificate"])
        relation, stated, limit = document["statement"]["claim"]
        for tampered in ([relation, limit, stated], [relation, ["*", "1/1000000", limit], limit]):
            with pytest.raises(Rejected):
                check({**document["statement"], "claim": tampered}, document["certificate"])


@pytest.mark.parametrize("name", CLAIMS)
def test_the_limit_is_the_one_that_supports_the_cell(name):
    """The limit in the certificate is at least the one that the procedure computes."""
    procedure = procedure_of(name)
    for cell in procedure.cells:
        document = procedure.prove([cell])
        limit = enclose(document["statement"]["claim"][2], {})
        own = procedure.log_limit(procedure.sampling.experiment.check(cell))
        if own > -1e5:
            assert float(limit.log().mid()) == pytest.approx(own, abs=1e-6, rel=1e-9)


@pytest.mark.parametrize("name", CLAIMS)
def test_a_statement_with_a_tenth_of_the_bound_is_not_proved(name):
    claim = catalogue()[name]
    procedure = claim.builder(times(claim.statement, sp.Rational(1, 10)), QUICK)
    assert procedure.prove(procedure.cells) is None


@pytest.mark.parametrize("name", CLAIMS)
def test_a_mutant_is_proved_only_where_the_law_keeps_it_in_every_cell(name):
    """The law's limit in floats is another program than the certificate's terms."""
    claim, n_refused = catalogue()[name], 0
    for mutant in mutants(claim.statement):
        try:
            procedure = claim.builder(mutant.statement, QUICK)
            if procedure.prove(procedure.cells) is None:
                n_refused += 1
                continue
        except (InvalidParameter, KeyError, TypeError, ValueError):
            continue
        for cell in procedure.cells:
            full = procedure.sampling.experiment.check(cell)
            limit, stated = procedure.log_limit(full), procedure.log_delta(cell)
            assert limit <= stated + 1e-9 * abs(stated), (mutant.name, cell)
    assert n_refused >= 1


def test_a_limit_with_an_unknown_symbol_proves_nothing():
    statement = catalogue()["sxy.lemma8"].statement
    tail = ExactTail(idea="None.", limit=sp.Symbol("unknown"))
    assert tail.prove(statement, {"k": 2, "d": 3, "C": 5.0, "sigma": 1.0}) is None
    assert tail.prove_all(statement, []) is None
