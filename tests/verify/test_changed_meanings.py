"""Statements made false by a change of meaning lose their support.

Each one kept its support before the cells of `verify.claims.ifca.ruling_cells`.  A claim's trials
are drawn once, with a fixed seed.
"""

import numpy as np
import pytest

from trials.run.engine import ensure
from trials.run.executors import make_executor
from trials.run.store import RunStore
from verify.evidence import Verdict
from verify.mutation.examination import Examination, Standing
from verify.mutation.meaning import change_meaning
from verify.papers import catalogue
from verify.procedures.base import PROFILES
from verify.procedures.placebos import decide, demands

QUICK = PROFILES["quick"]
LEVEL = 1e-4
#: claim -> changes of its formulas, as `verify.mutation.meaning.change_meaning` names them.
PLANTED = {
    "ifca.eq30": (
        "term pull: n for m",
        "term fluctuation: delta_1 dropped",
        "term fluctuation: p for delta_1",
        "failure probability: k dropped",
    ),
    "ifca.eq30-sharp": (
        "term pull: 1/k for theta_max",
        "term fluctuation: L dropped",
        "term fluctuation: delta dropped",
        "failure probability: alpha for delta",
    ),
    "ifca.eq32": (
        "term pull: delta_2 for alpha",
        "term pull: L for lam",
        "term fluctuation: Delta dropped",
        "term fluctuation: n for m",
        "term fluctuation: L dropped",
    ),
    "ifca.thm2": (
        "term floor: m for n",
        "term floor: n for m",
        "term floor: delta dropped",
        "term pull: alpha dropped",
        "term pull: 1/k for delta",
        "term pull: L for lam",
        "failure probability: p for delta",
    ),
    "ifca.eq32-sharp": (
        "term pull: alpha dropped",
        "term pull: lam dropped",
        "term pull: delta dropped",
        "term fluctuation: n for m",
    ),
    "ifca.thm2-sharp": (
        "term contraction: 1/k for p_j",
        "term floor: p for p_j",
        "term floor: delta dropped",
        "term floor: L dropped",
        "term pull: alpha dropped",
        "term pull: theta_max dropped",
    ),
}


#: Changes of a claim that an ordinary run decides.  The task slow decides all.
FIRST = 2


@pytest.fixture(scope="module")
def trials(tmp_path_factory):
    """A store and an executor.  Claims with the same cells share their trials."""
    path = tmp_path_factory.mktemp("trials") / "store.sqlite"
    with (
        RunStore.create(path, root_seed=11, config={}) as store,
        make_executor("serial") as executor,
    ):
        yield store, executor


def kept(claim_id, names, store, executor):
    """The named changes that keep the claim's support, after the claim has got its own."""
    found = catalogue()
    claim, placebos = found[claim_id], found.placebos_of(claim_id)
    own = claim.build(QUICK)
    while missing := demands(own, placebos, store, LEVEL):
        ensure(store, missing, executor)
    evidence = decide(own, placebos, store, LEVEL)
    assert evidence.verdict is Verdict.SUPPORTED
    assert evidence.resolution is None
    standing = Standing(verdict=str(evidence.verdict), mark=evidence.mark, level=LEVEL)
    examined = Examination(
        claim=claim, profile=QUICK, standing=standing, store=store, executor=executor
    )
    points = list(own.tried_at(store))
    changes = {change.name: change for change in change_meaning(claim.statement, points)}
    with np.errstate(all="ignore"):
        decided = {name: examined.decide(changes[name].statement) for name in names}
    return [
        name
        for name, now in decided.items()
        if now.verdict is Verdict.SUPPORTED and now.resolution is None
    ]


@pytest.mark.statistical
@pytest.mark.parametrize("claim_id", PLANTED)
def test_a_false_meaning_loses_its_support(trials, claim_id):
    assert kept(claim_id, PLANTED[claim_id][:FIRST], *trials) == []


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("claim_id", PLANTED)
def test_every_false_meaning_loses_its_support(trials, claim_id):
    assert kept(claim_id, PLANTED[claim_id], *trials) == []
