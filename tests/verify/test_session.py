"""A run follows from its configuration: refusals, documents, levels, extension."""

import shlex
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from bounds.statement import OutsideTheorem
from tests.trials.toys import TOY
from trials.checks import InvalidParameter
from trials.run import engine
from trials.run.engine import ensure
from trials.run.executors import make_executor
from trials.run.provenance import code_of
from trials.run.store import RunStore, StoreError
from verify import deciding, session
from verify.cli import exits
from verify.cli.app import application
from verify.deciding import Decided
from verify.evidence import Evidence, Verdict
from verify.papers import Catalogue, catalogue
from verify.procedures.base import PROFILES
from verify.session import Listener, RunConfig
from verify.stored import read_time, summary

pytestmark = pytest.mark.usefixtures("forked_workers")
EXAMPLE = Path(__file__).parents[2] / "docs" / "example_paper.py"
SERIAL = ("--executor", "serial")
COIN = "ifca.k2-random-as-printed[d=10]"
TWICE = "ifca.k2-random-as-printed[d=20]"
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


def test_a_claim_that_no_document_can_be_named_after_is_refused_before_any_work():
    """The trials were drawn, and the verdict had no name under which the store would take it."""
    values = {"m": 1000, "n": 400, "k": 2, "d": 1, "lam": 1.0, "start": "edge"}
    values |= dict.fromkeys(("ratio", "Delta", "L", "v"), 1.0000000000000002)
    values |= {"eta": 0.5000000000000001, "alpha": 0.25000000000000006, "cluster": "smallest"}
    spelled = ",".join(f"{name}={value}" for name, value in values.items())
    with pytest.raises(InvalidParameter, match="must be at most 200 printable characters long"):
        session.prepare(RunConfig(claims=(f"ifca.eq30[{spelled}]",)))
    assert session.prepare(RunConfig(claims=("ifca.eq30[eta=0.5000000000000001]",))).claims


def test_a_run_in_the_folder_where_the_user_stands_has_its_name(tmp_path, monkeypatch):
    """The run of `--output .` was called "" in its report."""
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path / "mine")
    config = RunConfig(claims=CLAIMS[:1])
    with session.create(Path("."), config) as store, make_executor("serial") as executor:
        session.execute(store, config, executor)
        assert summary(store)["run_id"] == "mine"


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


#: Claims that are decided by trials, of which a few thousand take little.
SAMPLED = (COIN, "ifca.oracle-mse[N=64,sigma=1.0,d=2]")


def levels_of(store):
    return {name: d["evidence"]["level"] for name, d in store.documents("claim").items()}


def test_the_familywise_level_is_split_by_paper_and_searches_take_no_share(tmp_path):
    config = RunConfig(claims=(*CLAIMS, *SAMPLED), level=0.04)
    with session.create(tmp_path / "run", config) as store:
        executed(store, config)
        levels, summary = levels_of(store), store.document("run", "summary")
    claims = catalogue().paper("ifca").claims
    statistical = [c for c in claims if c.build(PROFILES["quick"]).statistical]
    assert 20 < len(statistical) < len(claims)
    share = 0.04 * 0.25 / len(statistical)
    assert levels == pytest.approx(dict.fromkeys(SAMPLED, share) | dict.fromkeys(CLAIMS, 0.0))
    assert summary["familywise_level"] == 0.04
    assert dict(summary["allocation"]) == levels
    assert set(summary["environment"]) >= {"python", "numpy", "numba", "platform"}


@pytest.mark.parametrize("over", [False, True])
def test_a_list_of_claims_that_grew_does_not_spend_more_than_the_papers_share(tmp_path, over):
    """The first claim had the level of a shorter list: with the other one it fills the share."""
    config = RunConfig(claims=SAMPLED[:1], level=0.04)
    with session.create(tmp_path / "run", config) as store:
        executed(store, config)
        document = store.document("claim", SAMPLED[0])
        earlier = 0.04 * 0.25 - document["evidence"]["level"] * (1 - 0.01 * over)
        document["evidence"]["level"] = earlier
        store.put_document("claim", SAMPLED[0], document)
        both = replace(config, claims=SAMPLED)
        before = store.documents("claim"), store.document("run", "plan")
        if over:
            with pytest.raises(StoreError, match=r"of ifca has changed .* paper's 0\.01; start a"):
                executed(store, both)
            assert (store.documents("claim"), store.document("run", "plan")) == before
        else:
            executed(store, both)
            assert sum(levels_of(store).values()) == pytest.approx(0.01, rel=1e-12)
            # A larger profile decides both again, at the levels of the present list.
            executed(store, replace(both, profile="standard"))
            assert sum(levels_of(store).values()) == pytest.approx(2 * (0.01 - earlier))


def without_times(documents):
    return {name: {**d, "seconds": 0.0} for name, d in documents.items()}


def run_again(command, directory):
    """The claims' documents after a replay command, with only its run directory chosen here."""
    words = shlex.split(command)
    assert words[:2] == ["cfl-verify", "run"]
    arguments = [*words[1:], "--output", str(directory), *SERIAL]
    result = CliRunner().invoke(application, arguments)
    assert result.exit_code in (exits.EXPECTED, exits.INCONCLUSIVE), result.output
    store, _ = session.open_run(directory, readonly=True)
    with store:
        return without_times(store.documents("claim"))


def test_a_claims_replay_command_reproduces_its_document(tmp_path):
    """Alone, with own values, and beside the same claim at other values."""
    config = RunConfig(claims=(*SAMPLED, TWICE, *CLAIMS), seed=3, level=0.07)
    with session.create(tmp_path / "run", config) as store:
        executed(store, config)
        before = without_times(store.documents("claim"))
    for i, name in enumerate((SAMPLED[1], TWICE, CLAIMS[1])):
        again = run_again(before[name]["replay"][0], tmp_path / f"again-{i}")[name]
        assert again["evidence"] == before[name]["evidence"]
        assert again["replay"][0] == before[name]["replay"][0]  # the others name the directory


#: A claim that every trial refutes, in a file whose name the shell would split.
FALSE_SIGN = "sp.exp(-2 * n * t**2)", "sp.exp(-2 * n * (t + 1) ** 2)"


@pytest.mark.parametrize("beside", [True, False])
def test_the_replay_commands_of_a_users_paper_run_as_they_are_printed(
    tmp_path, monkeypatch, beside
):
    """The file and the run lie below the working directory, or elsewhere."""
    home = tmp_path / "my papers"
    home.mkdir()
    own = home / "own paper.py"
    name = f"replayed{beside}"  # experiments are registered once in a process
    own.write_text(EXAMPLE.read_text().replace(*FALSE_SIGN).replace("hoeffding", name))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path if beside else tmp_path / "elsewhere")
    result = CliRunner().invoke(
        application,
        ["run", f"{name}.tail", "--claims", str(own), "--output", str(home / "run"), *SERIAL],
    )
    assert result.exit_code == exits.UNEXPECTED, result.output
    store, _ = session.open_run(home / "run", readonly=True)
    with store:
        document = store.document("claim", f"{name}.tail")
    run, replay = document["replay"]
    place = "'my papers/own paper.py'" if beside else f"'{own}'"
    assert f" --claims {place} " in run
    (tmp_path / "again").mkdir()
    words = [*shlex.split(run)[1:], "--output", str(tmp_path / "again" / "run"), *SERIAL]
    assert CliRunner().invoke(application, words).exit_code == exits.UNEXPECTED
    again, _ = session.open_run(tmp_path / "again" / "run", readonly=True)
    with again:
        repeated = again.document("claim", f"{name}.tail")
    assert repeated["evidence"] == document["evidence"]
    assert repeated["replay"][0] == run
    words = shlex.split(replay)
    assert words[:2] == ["cfl-verify", "replay"]
    result = CliRunner().invoke(application, words[1:])
    assert result.exit_code == exits.EXPECTED, result.output
    assert "identical to the stored trial" in result.stdout


def test_two_workers_give_the_documents_of_one_in_the_same_order(tmp_path):
    config = RunConfig(claims=(SAMPLED[1], *CLAIMS))
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


@pytest.mark.parametrize(("named", "level"), [((COIN,), 0.04), ((COIN, TWICE), 0.02)])
def test_the_command_that_repeats_a_claim_gives_it_alone_the_level_that_it_had(named, level):
    """A claim that is named twice splits its level, so that alone it takes half of the run's."""
    config = RunConfig(claims=named, level=0.04)
    prepared = session.prepare(config)
    allocation = session.allocate_levels(0.04, catalogue(), prepared, config.profile)
    evidence = Evidence(verdict=Verdict.SUPPORTED, summary="", level=0.01, n_trials=0)
    decided = Decided(evidence=evidence, seconds=0.0)
    for planned in prepared.claims:
        document = session._document(planned, decided, allocation, config, Path("run"), None)
        assert document["replay"][0].endswith(f" --level {level}")
        alone = session.prepare(RunConfig(claims=(str(planned.selection),), level=level))
        again = session.allocate_levels(level, catalogue(), alone, config.profile)
        name = str(planned.selection)
        assert again.levels[name] == pytest.approx(allocation.levels[name], rel=1e-12)


def test_the_times_of_a_run_count_from_its_first_call_and_all_calls(tmp_path, monkeypatch):
    """A run that was interrupted for hours was "started" when it was resumed, and took seconds."""
    clock, days = iter((10.0, 17.5, 100.0, 102.0, 500.0, 501.0)), iter(f"day {i}" for i in range(9))
    monkeypatch.setattr(session, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    monkeypatch.setattr(session, "_now", lambda: next(days))
    config = RunConfig(claims=CLAIMS)
    stopping = False

    def outcomes(*_):
        if stopping:
            raise KeyboardInterrupt
        return []

    monkeypatch.setattr(session, "_outcomes", outcomes)

    def work(store):
        with make_executor("serial") as executor:
            session.execute(store, config, executor)

    with session.create(tmp_path / "run", config) as store:
        stopping = True
        with pytest.raises(KeyboardInterrupt):
            work(store)
        assert read_time(store) == {"started": "day 0", "wall_seconds": 7.5}
        assert summary(store) == {}
        stopping = False
        work(store)
        found = summary(store)
        assert (found["started"], found["finished"]) == ("day 0", "day 1")
        assert found["wall_seconds"] == 9.5
        store.put_document("run", "summary", {"started": "before", "wall_seconds": 30.0})
        assert read_time(store) == {"started": "day 0", "wall_seconds": 9.5}
    with session.create(tmp_path / "older", config) as store:  # which recorded its summary alone
        assert read_time(store) is None
        store.put_document("run", "summary", {"started": "before", "wall_seconds": 30.0})
        work(store)
        assert (summary(store)["started"], summary(store)["wall_seconds"]) == ("before", 31.0)


def test_a_run_names_all_the_commands_that_made_it(tmp_path, monkeypatch):
    """The report of an extended run told its reader to resume a run that he does not have."""
    stopping = True

    def outcomes(*_):
        if stopping:
            raise KeyboardInterrupt
        return []

    monkeypatch.setattr(session, "_outcomes", outcomes)
    config = RunConfig(claims=CLAIMS)

    def work(store, command, config=config):
        with make_executor("serial") as executor:
            session.execute(store, config, executor, commands=[command])

    with session.create(tmp_path / "run", config) as store:
        with pytest.raises(KeyboardInterrupt):
            work(store, "run a")
        stopping = False
        work(store, "resume latest")
        assert summary(store)["commands"] == ["run a", "resume latest"]
        work(store, "resume latest")
        work(store, "resume --profile full")
        assert summary(store)["commands"] == ["run a", "resume latest", "resume --profile full"]
    with session.create(tmp_path / "older", config) as store:  # which recorded its summary alone
        store.put_document("run", "summary", {"commands": ["run a"]})
        work(store, "resume latest")
        assert summary(store)["commands"] == ["run a", "resume latest"]
    with session.create(tmp_path / "done", config) as store:
        monkeypatch.undo()
        with make_executor("serial") as executor:
            session.execute(store, config, executor, commands=["run a"])
            session.execute(store, config, executor, commands=["resume latest"])
        assert summary(store)["commands"] == ["run a"]  # the second found nothing to do


def test_a_run_is_only_ever_extended(tmp_path):
    config = RunConfig(claims=CLAIMS)
    assert session.resume_config(config, None) is config
    assert session.resume_config(config, "full").profile == "full"
    assert session.resume_config(config, "full").claims == CLAIMS
    with pytest.raises(InvalidParameter, match="must not be smaller"):
        session.resume_config(RunConfig(profile="full"), "quick")
    with pytest.raises(InvalidParameter, match="unknown profile"):
        session.resume_config(config, "huge")
    with session.create(tmp_path / "run", config) as store:
        executed(store, config)
        told = store.document("run", "summary")
        begun = {"wall_seconds": 1e6, "started": "long ago"}
        store.put_document("run", "time", begun)
        executed(store, session.resume_config(config, "standard"))
        extended = store.document("run", "summary")
        assert 1e6 < extended["wall_seconds"] < 2e6  # both parts of the work
        assert extended["started"] == "long ago"
        assert (told["profile"], extended["profile"]) == ("quick", "standard")
        assert {d["profile"] for d in store.documents("claim").values()} == {"standard"}
    store, again = session.open_run(tmp_path / "run", readonly=True)
    with store:
        assert again.profile == "standard"


def contents(run):
    """Everything that the file of a run holds, as SQL."""
    with closing(sqlite3.connect(run / session.STORE_NAME)) as connection:
        return list(connection.iterdump())


@pytest.mark.parametrize(
    ("profile", "n_workers", "uncounted"),
    [(None, 1, False), (None, 2, True), ("full", 1, True), ("full", 2, False)],
)
def test_a_run_of_other_code_is_left_as_it_was(
    tmp_path, monkeypatch, profile, n_workers, uncounted
):
    """Claims of two experiments, of which the second has changed code.

    A run of an older store format, whose rows are not counted, keeps its format.
    """
    config = RunConfig(claims=("ifca.oracle-mse[N=64,sigma=1.0,d=2]", COIN))
    with session.create(tmp_path, config) as store:
        executed(store, config)
        if profile is None:  # one claim is not decided at this profile yet
            document = store.document("claim", COIN)
            store.put_document("claim", COIN, {**document, "profile": "smaller"})
    if uncounted:
        with closing(sqlite3.connect(tmp_path / session.STORE_NAME)) as connection, connection:
            connection.execute("DROP TABLE tally")
            connection.execute("PRAGMA user_version = 2")
    before = contents(tmp_path)
    assert any('INSERT INTO "block"' in line for line in before)

    def edited(experiment):
        code = code_of(experiment)
        if experiment.name != "ifca.random-start":
            return code
        return replace(code, parts={**code.parts, "numpy": "1.0.0"})

    monkeypatch.setattr(engine, "code_of", edited)
    arguments = ["resume", str(tmp_path), "--jobs", str(n_workers)]
    more = [] if profile is None else ["--profile", profile]
    result = CliRunner().invoke(application, [*arguments, *more])
    assert result.exit_code == exits.USAGE
    assert "ifca.random-start has changed since this run was made (numpy" in result.stderr
    assert contents(tmp_path) == before


def test_changed_code_of_a_decided_claim_does_not_stop_the_others(tmp_path, monkeypatch):
    asked = []

    def refuse(_store, experiments):
        asked.extend(experiment.name for experiment in experiments)
        raise StoreError("by hand")

    monkeypatch.setattr(session, "refuse_other_code", refuse)
    config = RunConfig(claims=("ifca.oracle-mse[N=64,sigma=1.0,d=2]", COIN))
    evidence = Evidence(
        verdict=Verdict.SUPPORTED, summary="by hand", level=0.01, n_trials=0
    ).as_dict()
    with session.create(tmp_path, config) as store:
        store.put_document("claim", COIN, {"profile": "quick", "evidence": evidence})
        with make_executor("serial") as executor, pytest.raises(StoreError, match="by hand"):
            session.execute(store, config, executor)
    (open_claim,) = session.prepare(RunConfig(claims=config.claims[:1])).claims
    assert asked == [open_claim.procedure.experiment().name]


def test_a_mixture_tells_what_is_peculiar_to_each_of_its_machines(tmp_path):
    with session.create(tmp_path, RunConfig(claims=CLAIMS)) as store:
        for i, facts in enumerate(({"blas": "a"}, {"blas": "b"}, {"blas": "a", "libm": "c"})):
            store.put_document("machine", f"{i:016x}", facts)
            store.put_block(TOY, {}, i, np.zeros((16, 2)), machine=f"{i:016x}")
        assert session.mixture(store) == (
            "blocks of 3 kinds of machine meet: blas a against b, libm not recorded against c"
        )


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
        if planned.procedure.statistical
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


def test_what_a_run_did_not_record_is_a_difference_and_its_processors_are_none():
    now = session.environment()
    assert session.other_environment({"environment": now}) == []
    assert session.other_environment({"environment": {**now, "cpus": "1000"}}) == []
    for name in now.keys() - {"cpus"}:
        rest = {key: value for key, value in now.items() if key != name}
        recorded = {**now, name: "older"}
        assert session.other_environment({"environment": recorded}) == [
            f"{name} older then, {now[name]} now"
        ]
        assert session.other_environment({"environment": rest}) == [
            f"{name} not recorded then, {now[name]} now"
        ]
    for nothing in (None, {}, {"environment": {}}):
        assert len(session.other_environment(nothing)) == len(now) - 1


@pytest.mark.parametrize("profile", ["quick", "standard", "full"])
def test_a_run_goes_on_with_its_own_profile_or_a_larger_one(profile):
    order = list(PROFILES)
    config = RunConfig(claims=CLAIMS, profile=profile)
    for other in order:
        if order.index(other) < order.index(profile):
            with pytest.raises(InvalidParameter, match="must not be smaller than the run's own"):
                session.resume_config(config, other)
        else:
            assert session.resume_config(config, other) == replace(config, profile=other)
