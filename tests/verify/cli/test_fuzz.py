"""Random command lines and configuration files: a documented exit code, one line, no traceback.

``CFL_FUZZ_LINES`` and ``CFL_FUZZ_CONFIGS`` set how many are tried, ``CFL_FUZZ_SEED`` which ones.
They come in batches.  A batch has a seed of its own (SEED + its number) and a folder of its own.
Work that a valid line would start is replaced by nothing: what is tried is the way to it.
"""

import os
import random
import signal
import string
import unicodedata
from pathlib import Path

import pytest
from click.testing import CliRunner

from trials.run import distributed
from trials.run.store import RunStore
from verify import plan, session
from verify.claim import Claim
from verify.cli import exits, proving, reporting, warming
from verify.cli.app import application

LINES = int(os.environ.get("CFL_FUZZ_LINES", "500"))
CONFIGS = int(os.environ.get("CFL_FUZZ_CONFIGS", "100"))
SEED = int(os.environ.get("CFL_FUZZ_SEED", "0"))
BATCH = 500
#: CPU seconds of one command.
SECONDS = 20

CLAIMS = (
    "ifca.eq3",
    "ifca.thm1",
    "ifca.lemma1",
    "ifca.cor1-as-printed",
    "ifca.oracle-mse",
    "ifca.*",
)
PARAMETERS = ("m", "n", "d", "k", "Delta", "sigma", "alpha", "cluster", "rho", "p_min", "profile")
NUMBERS = (
    *("0", "1", "-1", "2", "0.5", "1e-300", "9e-115", "1e300", "1e999", "nan", "inf", "-inf"),
    *("9" * 30, "9" * 400, "9" * 5000, "1_000", "１２", "0x10", "1e", "--1", "", " ", "true"),
)
NASTY = (
    *("", " ", "\0", "a\0b", "a\nb", "\r", "\x1b[31mred\x1b[0m", "\udcff", "\u202eabc", "é", "∞"),
    *("x" * 3000, "x" * 70_000, "/" * 300, "[", "]", "[[", "]]", "a[b=c", "a]b[c", "=", ",", "%s"),
    *("-", "--", "---", "-x", "--json", "--debug", "--help", "--claims", "--profile=", "--seed"),
    *(".", "..", "/", "~", "/dev/null", "/dev/zero", "/proc/self/mem", "latest", "run", "nowhere"),
    *("a.toml", "b.toml", "c.toml", "binary.toml", "own.py", "broken.py", "{}", "[red]x[/]", ":x:"),
    *("ifca.eq3:0123456789abcdef:0", "x.y:0123456789abcdef:9", "a:b:c", "🙂" * 200, "$(x)", "\\"),
)
SCHEDULERS = (
    *("tcp://127.0.0.1:1", "tls://127.0.0.1:1", "ucx://a", "inproc://x", "tcp://", "a:b:c", "://"),
    *("ws://127.0.0.1:1", "127.0.0.1:1", "tcp://[::1", "zmq://x", "tcp://127.0.0.1:999999", "\0"),
)
#: Without `worker`, which waits for a scheduler and whose options are Dask's.
COMMANDS = tuple(name for name in application.commands if name != "worker")
OPTIONS = (
    *("--profile", "--seed", "--level", "--jobs", "--executor", "--config", "--output", "--json"),
    *("--claims", "--cells", "--paper", "--kind", "--verdict", "--against", "--format", "--engine"),
    *("--version", "--help", "--unknown", "-h", "--debug"),
)


def word(rng):
    """Something that a hostile or tired user might type."""
    kind = rng.randrange(8)
    if kind == 0:
        return rng.choice(NASTY)
    if kind == 1:
        return rng.choice(NUMBERS)
    if kind in (2, 3):
        inside = ",".join(
            f"{rng.choice(PARAMETERS)}={rng.choice(NUMBERS)}" for _ in range(rng.randrange(3))
        )
        claim = rng.choice(CLAIMS)
        return f"{claim}[{inside}]" if inside else claim
    if kind == 4:
        return rng.choice(("quick", "standard", "full", "serial", "threads", "latest", "run"))
    if kind == 5:
        text = list(rng.choice((*CLAIMS, *COMMANDS, "latest")))
        text[rng.randrange(len(text))] = rng.choice(string.printable)
        return "".join(text)
    if kind == 6:
        return "".join(chr(rng.randrange(1, 0x3000)) for _ in range(rng.randrange(1, 12)))
    return rng.choice(OPTIONS)


def line(rng):
    """One command line."""
    parts = [rng.choice(COMMANDS) if rng.random() < 0.95 else word(rng)]
    for _ in range(rng.randrange(5)):
        if rng.random() < 0.5:
            parts.append(rng.choice(OPTIONS))
        elif rng.random() < 0.1:
            parts += ["--scheduler", rng.choice(SCHEDULERS)]
        parts.append(word(rng))
    return parts


def toml(rng):
    """The text of a configuration file, right or wrong."""
    kind = rng.randrange(8)
    if kind == 0:
        return b"claims = " + b"[" * 50_000
    if kind == 1:
        return bytes(rng.randrange(256) for _ in range(rng.randrange(60)))
    keys = ("claims", "profile", "seed", "level", "jobs", "executor", "scheduler", "output", "x")
    values = (
        *("1", "-1", "0.05", "nan", "inf", "true", "[]", "['ifca.eq3']", "[1]", "[[[]]]", "{a=1}"),
        *(
            '"quick"',
            '"serial"',
            '"a\\u0000b"',
            '"a\\nb"',
            '""',
            "'''x'''",
            "2020-01-01",
            "'ifca.*'",
        ),
        *(str(2**128), str(2**127), "9" * 5000, f"'{'y' * 3000}'", "['ifca.eq3[m=1]', 'ifca.*']"),
        *('"/dev/null/x"', '"run"', '"\\u001b[31m"', '"tcp://127.0.0.1:1"', "0x" + "f" * 40),
    )
    lines = [f"{rng.choice(keys)} = {rng.choice(values)}" for _ in range(rng.randrange(5))]
    return "\n".join(lines).encode()


@pytest.fixture
def idle(monkeypatch, tmp_path):
    """Valid lines start no work.  There is one run, and there are files to name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(session, "execute", lambda *_a, **_k: [])
    monkeypatch.setattr(warming, "_call", lambda *_a, **_k: None)
    # `prove` searches for longer than SECONDS, and writes into the certificates of the program
    monkeypatch.setattr(proving, "prove", lambda *_a, **_k: None)
    monkeypatch.setattr(proving, "_refute", lambda *_a, **_k: None)
    monkeypatch.setattr(reporting.subprocess, "call", lambda *_a, **_k: exits.USAGE)
    monkeypatch.setattr(distributed, "CONNECT_SECONDS", 0.05)
    build_once(monkeypatch)
    session.create(Path("runs/run"), session.RunConfig(claims=("ifca.eq3",))).close()
    Path("a.toml").write_text("claims = ['ifca.eq3']\nexecutor = 'serial'\n")
    Path("b.toml").write_bytes(b"claims = " + b"[" * 50_000)
    Path("c.toml").mkdir()
    Path("binary.toml").write_bytes(bytes(range(256)))
    Path("own.py").write_text("x = 1\n")
    Path("broken.py").write_text("raise SystemExit('bye')\n")
    return tmp_path


KEPT = {}  #: What `build_once` built.  Claims are kept as well, so that their ids stay their own.


def build_once(monkeypatch):
    """Build and check each claim at its own cells once.  No line can change the result.

    Half of the time would pass in it: a line that names no claim plans all of them.  That builders
    are deterministic is tested in tests/test_every_claim.py.
    """
    build, planned = Claim.build, plan._plan

    def build_kept(claim, profile):
        key = "built", id(claim), profile.name
        if key not in KEPT:
            KEPT[key] = build(claim, profile), claim
        return KEPT[key][0]

    def planned_kept(selection, claim, profile):
        if selection.values:
            return planned(selection, claim, profile)
        key = "planned", id(claim), profile.name
        if key not in KEPT:
            KEPT[key] = planned(selection, claim, profile), claim
        return KEPT[key][0]

    monkeypatch.setattr(Claim, "build", build_kept)
    monkeypatch.setattr(plan, "_plan", planned_kept)


class Late(BaseException):
    """A command took more CPU time than it may."""


def tried(arguments):
    """The result of one line, within the time limit."""

    def late(_number, _frame):
        raise Late

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        return CliRunner().invoke(application, arguments)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


def shown_as_it_is(character):
    """Whether a terminal shows it and obeys nothing."""
    return character.isprintable() or unicodedata.category(character) == "Zs"


def check(arguments, result):
    """What holds for every command line."""
    shown = [a if len(a) < 200 else a[:200] + "..." for a in arguments]
    assert isinstance(result.exception, SystemExit | type(None)), (shown, result.exception)
    assert result.exit_code in set(exits.CODES) - {exits.INTERNAL}, (shown, result.stderr)
    assert "--debug" in arguments or "Traceback" not in result.output, shown
    for text in (result.stdout, result.stderr):
        assert all(c == "\n" or shown_as_it_is(c) for c in text), (shown, text)
    if result.exit_code == exits.USAGE and arguments and "--debug" not in arguments:
        lines = result.stderr.splitlines()
        assert not lines or lines[-1].startswith("error: ") or "Usage:" in result.stderr, shown
        assert all(len(x) < 5000 for x in lines), shown


def snapshot(folder):
    """The files of a folder.  SQLite makes two more beside a run for whoever reads it."""
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if "runs/" not in str(path) and not path.name.endswith(("-wal", "-shm"))
    }


def batches(total):
    """(first seed, size) of each batch: a test of its own."""
    sizes = [min(BATCH, total - start) for start in range(0, total, BATCH)]
    return pytest.mark.parametrize(
        ("seed", "size"), [(SEED + i, size) for i, size in enumerate(sizes)]
    )


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="needs an alarm")
@batches(LINES)
def test_random_command_lines_end_with_a_documented_code(idle, seed, size):
    rng = random.Random(seed)
    codes = set()
    for _ in range(size):
        arguments = line(rng)
        before = snapshot(idle)
        result = tried(arguments)
        check(arguments, result)
        codes.add(result.exit_code)
        if result.exit_code == exits.USAGE:
            assert snapshot(idle) == before, arguments
    assert codes >= {exits.EXPECTED, exits.USAGE}
    with RunStore.open(Path("runs/run/store.sqlite"), readonly=True) as store:
        assert store.root_seed == 0  # the run that was there still opens


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="needs an alarm")
@batches(CONFIGS)
def test_random_configuration_files_end_with_a_documented_code(idle, seed, size):
    rng = random.Random(f"configuration {seed}")
    codes = set()
    for i in range(size):
        Path("a.toml").write_bytes(toml(rng))
        before = snapshot(idle)
        arguments = ["run", "--config", "a.toml", "--executor", "serial"]
        arguments += ["--output", f"out-{i}"] if rng.random() < 0.5 else []
        result = tried(arguments)
        check(arguments, result)
        codes.add(result.exit_code)
        if result.exit_code == exits.USAGE:
            assert snapshot(idle) == before
    assert codes >= {exits.EXPECTED, exits.USAGE}
