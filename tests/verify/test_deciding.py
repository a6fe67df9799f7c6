"""Workers name the trials that a claim needs, and decide it as one worker does."""

import pytest

from trials.run.engine import ensure
from trials.run.executors import make_executor
from verify import session
from verify.deciding import Decided, DecisionRequest, Needed, decide_request, try_claims
from verify.session import RunConfig

#: The first round does not decide it.
DOUBLED = "ifca.lemma1-law[n=1,d=2]"
LEVEL = 0.01


def prepared(tmp_path):
    config = RunConfig(claims=(DOUBLED,))
    return session.create(tmp_path, config), session.prepare(config).claims


def test_a_worker_names_the_trials_that_a_claim_needs_until_it_can_decide(tmp_path):
    store, (planned,) = prepared(tmp_path)
    request = DecisionRequest(
        selection=DOUBLED, profile="quick", level=LEVEL, run=str(store.path.resolve())
    )
    rounds = []
    with store, make_executor("serial") as executor:
        while isinstance(answer := decide_request(request), Needed):
            wanted = planned.procedure.demands(store, LEVEL)
            assert answer.demands() == list(wanted)
            rounds.append({d.n_blocks * d.experiment.block_size for d in wanted})
            ensure(store, answer.demands(), executor)
        (first,) = rounds[0]
        assert rounds == [{first * 2**i} for i in range(len(rounds))]
        assert len(rounds) >= 2
        assert answer.evidence == planned.procedure.decide(store, LEVEL)


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_two_workers_draw_the_rounds_of_one_and_decide_alike(tmp_path, kind):
    found = []
    for name, n in (("serial", 1), (kind, 2)):
        store, claims = prepared(tmp_path / name)
        started = []
        with store, make_executor(name, n) as executor:
            ((planned, decided),) = try_claims(
                store, claims, lambda _p: LEVEL, "quick", executor, started.append
            )
            found.append((decided.evidence, store.content_digest()))
        assert started == [planned] == list(claims)
        assert isinstance(decided, Decided)
        assert decided.seconds > 0
    assert found[0] == found[1]
