"""A run follows from its configuration: refusals, documents, levels, extension."""

import shlex
from dataclasses import replace

import pytest

from bounds.statement import OutsideTheorem
from trials.checks import InvalidParameter
from trials.run.engine import ensure
from trials.run.executors import make_executor
from trials.run.store import RunStore, StoreError
from verify import deciding, session
from verify.evidence import Verdict
from verify.papers import Catalogue, catalogue
from verify.procedures.base import PROFILES, takes_level
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


def test_a_start_that_was_stopped_leaves_the_directory_free(tmp_path):
    (tmp_path / session.STORE_NAME).touch()
    with session.create(tmp_path, RunConfig(seed=2**128 - 1)) as store:
        assert store.root_seed == 2**128 - 1
    store, config = session.open_run(tmp_path, readonly=True)
    with store:
        assert config.seed == 2**128 - 1


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"profile": "quick", "later": 1}, "unknown field 'later'; a later version"),
        ({"seed": "1"}, r"Expected `int`, got `str` - at `\$.seed`"),
        ({"claims": {"a": 1}}, "Expected `array`, got `object`"),
        ({"level": None}, "Expected `float`, got `null`"),
    ],
)
def test_a_stored_configuration_of_another_version_is_refused_in_one_line(
    tmp_path, config, message
):
    RunStore.create(tmp_path / session.STORE_NAME, root_seed=1, config=config).close()
    with pytest.raises(StoreError, match=message):
        session.open_run(tmp_path)
    with RunStore.open(tmp_path / session.STORE_NAME):  # the refusal left no lock
        pass


def test_an_odd_extension_is_refused_in_one_line(tmp_path):
    with session.create(tmp_path, RunConfig()) as store:
        store.put_document("run", "extension", {"profile": ["quick"]})
    with pytest.raises(StoreError, match=r"document run/extension .*Expected `str`"):
        session.open_run(tmp_path)


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


SAMPLED = ("ifca.minimax", "ifca.eq7")


def levels_of(store):
    return {name: d["evidence"]["level"] for name, d in store.documents("claim").items()}


def test_the_familywise_level_is_split_by_paper_and_searches_take_no_share(tmp_path):
    config = RunConfig(claims=(*CLAIMS, *SAMPLED), level=0.04)
    with session.create(tmp_path / "run", config) as store:
        executed(store, config)
        levels, summary = levels_of(store), store.document("run", "summary")
    statistical = [c for c in catalogue().values() if takes_level(c.build(PROFILES["quick"]))]
    assert 20 < len(statistical) < len(catalogue())
    share = 0.04 * 0.25 / len(statistical)
    assert levels == pytest.approx(dict.fromkeys(SAMPLED, share) | dict.fromkeys(CLAIMS, 0.0))
    assert summary["familywise_level"] == 0.04
    assert dict(summary["allocation"]) == levels
    assert set(summary["environment"]) >= {"python", "numpy", "numba", "platform"}


def without_times(documents):
    return {name: {**d, "seconds": 0.0} for name, d in documents.items()}


def replayed(store, name, tmp_path):
    """The document of a claim that its own replay command runs again."""
    words = shlex.split(store.document("claim", name)["replay"][0])
    assert words[:4] == ["python", "-m", "verify", "run"]
    options = dict(zip(words[5::2], words[6::2], strict=True))
    config = RunConfig(
        claims=(words[4],),
        profile=options["--profile"],
        seed=int(options["--seed"]),
        level=float(options["--level"]),
    )
    with session.create(tmp_path / f"again-{len(list(tmp_path.iterdir()))}", config) as alone:
        executed(alone, config)
        return without_times(alone.documents("claim"))


def test_a_claims_replay_command_reproduces_its_document(tmp_path):
    """Alone, beside others, and beside the same claim at other values."""
    twice = "ifca.minimax[N=64]", "ifca.minimax[N=256]"
    config = RunConfig(claims=(*SAMPLED, *twice), seed=3, level=0.07)
    with session.create(tmp_path / "run", config) as store:
        executed(store, config)
        before = without_times(store.documents("claim"))
        for name in (SAMPLED[0], twice[1]):
            again = replayed(store, name, tmp_path)[name]
            assert again["evidence"] == before[name]["evidence"]
            assert again["replay"] == before[name]["replay"]


def test_two_workers_give_the_documents_of_one_in_the_same_order(tmp_path):
    config = RunConfig(claims=(SAMPLED[0], *CLAIMS))
    documents, orders = [], []
    for kind, jobs in (("serial", 1), ("threads", 2)):
        seen = []
        listener = Listener(on_outcome=lambda outcome, seen=seen: seen.append(outcome.selection))
        with (
            session.create(tmp_path / kind, config) as store,
            make_executor(kind, jobs) as executor,
        ):
            session.execute(store, config, executor, listener)
            documents.append(without_times(store.documents("claim")))
            orders.append(seen)
    assert documents[0] == documents[1]
    assert orders[0] == orders[1] == list(config.claims)


def test_a_claim_that_is_too_dear_for_a_profile_is_listed_as_not_run(tmp_path, monkeypatch):
    paper = catalogue().paper("ifca")
    claims = tuple(
        replace(c, smallest_profile="standard", why_not_smaller="a trial takes a minute")
        if c.id == CLAIMS[1]
        else c
        for c in paper.claims
    )
    changed = Catalogue([replace(paper, claims=claims)])
    monkeypatch.setattr(session, "catalogue", lambda: changed)
    config = RunConfig(claims=CLAIMS)
    with session.create(tmp_path / "run", config) as store:
        outcomes = executed(store, config)
        summary = store.document("run", "summary")
    assert [o.selection for o in outcomes] == [CLAIMS[0]]
    reason = "not run below standard: a trial takes a minute"
    assert summary["not_run"] == [[CLAIMS[1], reason]]
    session.prepare(RunConfig(claims=(CLAIMS[1],), profile="standard"))
    with pytest.raises(InvalidParameter, match=f"{CLAIMS[1]}: {reason}; choose a larger"):
        session.prepare(RunConfig(claims=(CLAIMS[1],)))


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


def test_with_two_workers_the_first_trials_of_all_claims_are_drawn_together(tmp_path, monkeypatch):
    """The end of each call of `ensure` leaves workers without work."""
    asked = []

    def recorded(store, demands, executor, on_block=None):
        asked.append({demand.experiment.name for demand in demands})
        return ensure(store, demands, executor, on_block)

    monkeypatch.setattr(deciding, "ensure", recorded)
    config = RunConfig(claims=("ifca.lemma2-noise", "ifca.thm1-as-printed", "ifca.eq7"))
    first = {
        demand.experiment.name
        for planned in session.prepare(config).claims
        if takes_level(planned.procedure)
        for demand in planned.procedure.demands(
            RunStore.create(tmp_path / f"{planned.claim.id}", root_seed=0, config={}), 0.01
        )
    }
    with (
        make_executor("threads", 2) as executor,
        session.create(tmp_path / "run", config) as store,
    ):
        session.execute(store, config, executor)
    assert asked[0] == first
    assert len(first) > 1
