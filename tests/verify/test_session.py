"""A run follows from its configuration: refusals, documents, levels, extension."""

import pytest

from bounds.statement import OutsideTheorem
from trials.checks import InvalidParameter
from trials.run.executors import make_executor
from trials.run.store import RunStore, StoreError
from verify import session
from verify.evidence import Verdict
from verify.session import Listener, RunConfig

CLAIMS = ("ifca.lemma1-init-as-printed", "ifca.cor1-rounds")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (RunConfig(profile="huge"), "unknown profile 'huge'; known: quick, standard, full"),
        (RunConfig(seed=-1), "seed=-1 must be an integer >= 0"),
        (RunConfig(seed=1.5), r"seed=1\.5 must be"),  # type: ignore[arg-type]
        (RunConfig(level=0.0), r"level=0\.0 must lie strictly between 0 and 1"),
        (RunConfig(level=float("nan")), "level=nan must lie"),
        (RunConfig(claims=("ifca.none",)), "unknown claim"),
        (RunConfig(claims=("ifca.thm1[n=0]",)), "n=0 must be"),
    ],
)
def test_a_configuration_that_cannot_be_run_is_refused_before_any_work(config, message):
    with pytest.raises(InvalidParameter, match=message):
        session.prepare(config)


def test_cells_outside_the_theorem_are_refused_before_any_work():
    with pytest.raises(OutsideTheorem, match="closeness"):
        session.prepare(RunConfig(claims=("ifca.cor1[alpha=0.5]",)))


def test_a_run_directory_is_made_once(tmp_path):
    config = RunConfig(claims=CLAIMS, seed=9)
    with session.create(tmp_path / "a" / "b", config) as store:
        assert store.root_seed == 9
    with pytest.raises(StoreError, match="already holds a run"):
        session.create(tmp_path / "a" / "b", config)
    store, again = session.open_run(tmp_path / "a" / "b", readonly=True)
    with store:
        assert again == config


def executed(store, config, listener=None):
    with make_executor("serial", 1) as executor:
        return session.execute(store, config, executor, listener)


def test_verdicts_are_stored_reported_in_order_and_not_tried_twice(tmp_path):
    config = RunConfig(claims=CLAIMS)
    seen = []
    listener = Listener(
        on_claim=lambda name, i, n: seen.append((name, i, n)),
        on_outcome=lambda outcome: seen.append(str(outcome.verdict)),
    )
    with session.create(tmp_path / "run", config) as store:
        outcomes = executed(store, config, listener)
        assert seen == [(CLAIMS[0], 0, 2), "REFUTED", (CLAIMS[1], 1, 2), "SUPPORTED"]
        assert [o.verdict for o in outcomes] == [Verdict.REFUTED, Verdict.SUPPORTED]
        assert all(o.verdict is o.expected for o in outcomes)
        first = store.documents("claim")
        executed(store, config)
        assert store.documents("claim") == first  # seconds included: nothing was done again


def test_the_familywise_level_is_split_over_the_claims(tmp_path):
    config = RunConfig(claims=CLAIMS, level=0.02)
    with session.create(tmp_path / "run", config) as store:
        executed(store, config)
        levels = [d["evidence"]["level"] for d in store.documents("claim").values()]
        summary = store.document("run", "summary")
    assert levels == pytest.approx([0.01, 0.01])
    assert summary["familywise_level"] == 0.02
    assert dict(summary["allocation"]) == pytest.approx(dict.fromkeys(CLAIMS, 0.01))
    assert set(summary["environment"]) >= {"python", "numpy", "numba", "platform"}


def test_a_run_is_only_ever_extended(tmp_path):
    config = RunConfig(claims=CLAIMS)
    assert session.resumed(config, None) is config
    assert session.resumed(config, "full").profile == "full"
    assert session.resumed(config, "full").claims == CLAIMS
    with pytest.raises(InvalidParameter, match="must not be smaller"):
        session.resumed(RunConfig(profile="full"), "quick")
    with pytest.raises(InvalidParameter, match="unknown profile"):
        session.resumed(config, "huge")
    with session.create(tmp_path / "run", config) as store:
        executed(store, config)
        executed(store, session.resumed(config, "standard"))
        assert {d["profile"] for d in store.documents("claim").values()} == {"standard"}
    store, again = session.open_run(tmp_path / "run", readonly=True)
    with store:
        assert again.profile == "standard"


def test_a_read_only_run_cannot_be_executed(tmp_path):
    config = RunConfig(claims=CLAIMS)
    session.create(tmp_path / "run", config).close()
    store = RunStore.open(tmp_path / "run" / session.STORE_NAME, readonly=True)
    with store, pytest.raises(StoreError):
        executed(store, config)
