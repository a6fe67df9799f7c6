"""Workers name the trials that a claim needs, and decide it as one worker does."""

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.verify.toys import VALUE
from trials.checks import InvalidParameter
from trials.run.engine import Demand, ensure
from trials.run.executors import ExecutorError, make_executor
from trials.run.store import StoreError
from trials.sources import USER_PREFIX
from verify import deciding, session
from verify.cli import verdicts
from verify.deciding import (
    Decided,
    DecisionRequest,
    Needed,
    _Board,
    _next_step,
    decide_request,
    load_claims,
    try_claims,
)
from verify.evidence import Evidence, Verdict
from verify.papers import ClaimsFile, catalogue
from verify.plan import plan
from verify.procedures.interface import Procedure
from verify.session import RunConfig

pytestmark = pytest.mark.usefixtures("forked_workers")
#: The first round does not decide it.
DOUBLED = "ifca.lemma1-law[n=1,d=2]"
LEVEL = 0.01


def prepared(tmp_path, *names):
    config = RunConfig(claims=(DOUBLED, *names))
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


def test_a_worker_plans_a_claim_of_several_requests_once(tmp_path, monkeypatch):
    """Before its first request it plans those of chance alone: a search is asked for once."""
    planned = []

    def counted(papers, texts, profile):
        planned.append((*texts, profile.name))
        return plan(papers, texts, profile)

    deciding._planned.cache_clear()
    larger = "ifca.comm-saving"  # not run at quick, where it would be refused
    known = {name: catalogue()[name] for name in ("ifca.lemma1", larger, "ifca.lemma1-law")}
    monkeypatch.setattr(deciding, "catalogue", lambda: known)
    monkeypatch.setattr(deciding, "plan", counted)
    for profile in ("standard", "quick"):
        load_claims(profile)
    laws = [("ifca.lemma1-law", "standard"), ("ifca.lemma1-law", "quick")]
    assert planned == [(larger, "standard"), *laws]
    store, _ = prepared(tmp_path)
    for name, profile in (*laws, (DOUBLED, "quick"), (DOUBLED, "quick")):
        request = DecisionRequest(selection=name, profile=profile, level=LEVEL, run=str(store.path))
        assert isinstance(decide_request(request), Needed)
    assert planned == [(larger, "standard"), *laws, (DOUBLED, "quick")]
    (tmp_path / "own.py").write_text("X = 1\n")
    own = ClaimsFile.read(tmp_path / "own.py")
    with pytest.raises(InvalidParameter, match=r"own\.py"):
        decide_request(replace(request, files=(own,)))


def decided_by(folder, kind, n):
    """The evidence and the digest of a run of two claims by so many workers."""
    store, claims = prepared(folder, "ifca.eq3")
    started = []
    with store, make_executor(kind, n) as executor:
        found = list(try_claims(store, claims, lambda _p: LEVEL, "quick", executor, started.append))
        assert started == [planned for planned, _ in found] == list(claims)
        assert all(isinstance(decided, Decided) for _, decided in found)
        assert all(decided.seconds > 0 for _, decided in found)
        return [decided.evidence for _, decided in found], store.content_digest()


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What one worker decides."""
    return decided_by(tmp_path_factory.mktemp("alone"), "serial", 1)


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_two_workers_draw_the_rounds_of_one_and_decide_alike(tmp_path, alone, kind):
    assert decided_by(tmp_path, kind, 2) == alone


class OwnTrials(Procedure):
    """The five methods alone: two blocks of trials of one law, asked for one after the other."""

    def __init__(self, law):
        self.cell = VALUE.check({"law": law})

    def check(self): ...
    def describe(self): ...
    def override(self, values): ...

    def demands(self, store, _level):
        n_blocks = len(store.blocks(VALUE, self.cell))
        return [Demand(VALUE, self.cell, n_blocks + 1)] if n_blocks < 2 else []

    def decide(self, store, level):
        drawn = store.table(VALUE, self.cell, 2)
        told = f"the mean is {drawn['value'].mean()!r}"
        n_trials = drawn.n_trials
        return Evidence(verdict=Verdict.SUPPORTED, summary=told, level=level, n_trials=n_trials)


def test_a_procedure_of_five_methods_gets_its_trials_from_several_workers(tmp_path, monkeypatch):
    """It names no cells and no experiment.  Its class alone says that it draws trials."""
    own = [OwnTrials(law) for law in ("uniform", "coin", "exponential")]
    claims = [
        SimpleNamespace(selection=str(i), procedure=each, demands=each.demands, decide=each.decide)
        for i, each in enumerate(own)
    ]
    monkeypatch.setattr(deciding, "_planned", lambda name, *_rest: claims[int(name)])
    found = []
    for n in (1, 2):
        store = session.create(tmp_path / str(n), RunConfig(claims=(DOUBLED,)))
        with store, make_executor("serial") as executor:
            executor.n_workers = n  # a worker with memory of its own would not know these claims
            tried = try_claims(store, claims, lambda _p: LEVEL, "quick", executor, [].append)
            found.append([decided.evidence for _, decided in tried])
            for evidence, each in zip(found[-1], own, strict=True):
                assert (evidence.error, evidence.n_trials) == ("", 2 * VALUE.block_size)
                mean = store.table(VALUE, each.cell, 2)["value"].mean()
                assert evidence.summary == f"the mean is {mean!r}"
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("n_workers", "n_claims", "where"),
    [(1, 2, "here"), (2, 2, "elsewhere"), (3, 4, "elsewhere"), (2, 1, "here")],
)
def test_only_several_claims_are_handed_over_and_only_to_several_workers(
    monkeypatch, n_workers, n_claims, where
):
    class Board:
        def __init__(self, _store, claims, *_arguments):
            self.calls = dict.fromkeys(range(len(claims)))

        def decided(self, _i):
            return "elsewhere"

    monkeypatch.setattr(deciding, "_Board", Board)
    monkeypatch.setattr(deciding, "_decided_here", lambda *_arguments: "here")
    executor = SimpleNamespace(n_workers=n_workers)
    claims = [f"claim {i}" for i in range(n_claims)]
    found = try_claims(None, claims, lambda _p: LEVEL, "quick", executor, print)
    assert list(found) == [(claim, where) for claim in claims]


def test_the_seconds_of_a_claim_are_its_own_and_its_share_of_those_drawn_together(monkeypatch):
    """Two claims wait for trials, which take 8 seconds; a third one has been decided."""
    board = object.__new__(_Board)
    needed = [Needed(blocks=(), seconds=own) for own in (1.0, 5.0)]
    results = [*needed, Decided(evidence=None, seconds=2.0)]
    board._store = board._executor = board._on_block = None
    board._seconds = dict.fromkeys(range(3), 0.25)
    board.calls = {i: Finished(result) for i, result in enumerate(results)}
    asked = []
    board._ask = asked.append
    clock = iter([100.0, 108.0])
    monkeypatch.setattr(deciding.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(deciding, "ensure", lambda *_arguments: None)
    board._draw()
    assert asked == [0, 1]
    assert board._seconds == {0: 0.25 + 1.0 + 4.0, 1: 0.25 + 5.0 + 4.0, 2: 0.25}
    assert board.decided(2).seconds == 2.25


def test_the_first_trials_of_all_claims_are_paid_for_by_those_that_asked(monkeypatch):
    """Two of four claims ask for trials, which take 8 seconds.  They were in no claim's seconds."""
    asked = {"0": (1.0, 0.5), "2": (5.0, 0.125)}  # to name its trials, and to be decided
    calls = []

    def submitted(_function, request):
        name, level = request.selection, request.level
        calls.append((name, level, request.run is not None))
        first = [each for each, *_ in calls].count(name) == 1
        if first and name in asked:
            return Finished(Needed(blocks=(), seconds=asked[name][0]))
        return Finished(Decided(evidence=None, seconds=asked.get(name, (0.0, 0.25))[1]))

    clock = iter([100.0, 108.0])
    monkeypatch.setattr(deciding.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(deciding, "ensure", lambda *_arguments: None)
    claims = [
        SimpleNamespace(selection=str(i), procedure=SimpleNamespace(statistical=i < 3))
        for i in range(4)
    ]
    board = _Board(
        SimpleNamespace(path=Path("run")),
        claims,
        lambda planned: 0.01 * int(planned.selection),
        "quick",
        SimpleNamespace(n_workers=2, submit_call=submitted),
        None,
        (),
    )
    assert [board.decided(i).seconds for i in range(4)] == [5.5, 0.25, 9.125, 0.25]
    of_chance = [(str(i), 0.01 * i, True) for i in (0, 0, 1, 2, 2)]
    assert sorted(calls) == [*of_chance, ("3", 0.03, False)]


class Finished:
    """The call of a worker that has answered."""

    def __init__(self, answer):
        self.answer = answer

    def done(self):
        return True

    def result(self):
        return self.answer


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_claim_whose_statement_lacks_a_value_fails_alone(tmp_path, monkeypatch, n_jobs):
    """The other claims of the run are decided, and the failed one is tried again by `resume`."""
    asked = []

    def noted(store, claims, *rest):
        asked.append([str(planned.selection) for planned in claims])
        return try_claims(store, claims, *rest)

    monkeypatch.setattr(session, "try_claims", noted)
    example = (Path(__file__).parents[2] / "docs" / "example_paper.py").read_text()
    broken = example.replace("claims=(tail,)", "claims=(unfilled, tail)")
    broken = broken.replace(
        "PAPER = api.Paper",
        "UNFILLED = replace(TAIL, id='hoeffding.unfilled', terms=(api.Term(name='tail', "
        "expr=sp.Symbol('who') * sp.exp(-2 * n * t**2)),))\n"
        "unfilled = api.claim('hoeffding.unfilled', UNFILLED)(tail.builder)\nPAPER = api.Paper",
    ).replace("import sympy", "from dataclasses import replace\n\nimport sympy")
    # A process holds one experiment of a name, and other tests load the example as well.
    broken = broken.replace("hoeffding.mean", f"hoeffding.mean{n_jobs}")
    file = tmp_path / "mine.py"
    file.write_text(broken)
    papers = catalogue([file])
    config = RunConfig(claims=("hoeffding.*",))
    with (
        session.create(tmp_path / "run", config) as store,
        make_executor("threads" if n_jobs > 1 else "serial", n_jobs) as executor,
    ):
        failed, fine = session.execute(store, config, executor, papers=papers)
        assert fine.verdict is Verdict.SUPPORTED
        evidence = failed.document["evidence"]
        assert (evidence["verdict"], evidence["summary"]) == ("INCONCLUSIVE", "the claim failed")
        assert evidence["error"].startswith("KeyError: 'no value for who; given: n, t'")
        assert verdicts.exit_code([failed, fine]) == 1
        assert "(failed: KeyError" in verdicts.fields(failed)[-1]
        again, kept = session.execute(store, config, executor, papers=papers)
        assert again.document["evidence"]["error"]
        assert asked == [["hoeffding.unfilled", "hoeffding.tail"], ["hoeffding.unfilled"]]
        assert kept.document["seconds"] == fine.document["seconds"]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (None, "TypeError: decide must return an Evidence, and returns None"),
        ({"notes": ({1},)}, "TypeError: set is not JSON-ready"),
        ({"required": {"C": 1.5 + 0j}}, "TypeError: complex is not JSON-ready"),
    ],
)
def test_evidence_that_no_run_can_hold_is_the_error_of_its_claim(answer, told):
    """It ended the run of all other claims as a fault of cfl-verify."""
    level = 0.125
    plain = Evidence(verdict=Verdict.SUPPORTED, summary="held", level=level, n_trials=3)
    planned = SimpleNamespace(
        demands=lambda _store, _level: [],
        decide=lambda _store, _level: answer and replace(plain, **answer),
    )
    failed = _next_step(planned, None, level)
    assert (failed.verdict, failed.summary) == (Verdict.INCONCLUSIVE, "the claim failed")
    assert failed.error.startswith(told)
    planned.decide = lambda _store, _level: plain
    assert _next_step(planned, None, level) is plain


def test_a_failure_inside_this_program_is_told_at_the_line_of_the_users_file(tmp_path, monkeypatch):
    """NumPy and this program raise further inside.  Without such a line the last one is told."""
    file = tmp_path / "mine.py"
    file.write_text(
        "import numpy as np\n\nfrom trials.checks import function_of\n\n\n"
        "def refused(*_):\n    return function_of('event', 7)\n\n\n"
        "def singular(*_):\n    return np.linalg.inv(np.zeros((2, 2)))\n"
    )
    names: dict[str, object] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    loaded = SimpleNamespace(__file__=str(file))
    monkeypatch.setitem(sys.modules, f"{USER_PREFIX}mine", loaded)
    for name, line in (("refused", 7), ("singular", 11)):
        planned = SimpleNamespace(demands=names[name], decide=names[name])
        assert _next_step(planned, None, 0.05).error.endswith(f"(mine.py, line {line})")
    planned = SimpleNamespace(demands=None)  # which cannot be called
    assert "(deciding.py, line " in _next_step(planned, None, 0.05).error


def test_a_claim_that_ends_the_program_fails_alone():
    """`sys.exit(0)` in a claim's function ended the run with the status of success."""
    planned = SimpleNamespace(demands=lambda *_: sys.exit(0))
    found = _next_step(planned, None, 0.05)
    assert found.verdict == "INCONCLUSIVE"
    assert found.error.startswith("SystemExit: 0 (test_deciding.py, line ")


@pytest.mark.parametrize("error", [StoreError, ExecutorError, OSError, MemoryError])
@pytest.mark.parametrize("step", ["demands", "decide"])
def test_what_is_wrong_with_the_run_itself_is_no_failure_of_a_claim(error, step):
    """Each claim after a damaged block would fail too.  Any other error is the claim's own."""

    def planned(raised):
        def fails(*_):
            raise raised("by hand")

        steps = {"demands": lambda *_: [], "decide": lambda *_: None}
        return SimpleNamespace(**{**steps, step: fails})

    with pytest.raises(error, match="by hand"):
        _next_step(planned(error), None, LEVEL)
    found = _next_step(planned(ValueError), None, LEVEL)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.error.startswith("ValueError: by hand (test_deciding.py, line ")


@pytest.mark.parametrize(("n", "n_workers"), [(0, 2), (1, 3), (7, 1), (7, 2), (8, 3), (3, 5)])
def test_workers_begin_in_parts_of_their_own_and_nothing_is_lost(n, n_workers):
    items = list(range(100, 100 + n))
    dealt = deciding.deal(items, n_workers)
    assert sorted(dealt) == items
    length = max(1, -(-n // n_workers))
    assert dealt[: -(-n // length)] == items[::length]
