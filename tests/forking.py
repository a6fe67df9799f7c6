"""Python programs that tests start, forked from one process that has imported what they need.

A new process of the program spends one to two CPU seconds on its imports.  A fork of a process that
has done them needs hundredths.  `multiprocessing` has the server: one for each process of the
tests, started at the first use, with the modules of `tests.forked`.  It runs no kernel and no
thread, so that a fork of it is safe.

A fork is the program from `main` on.  Tests of what happens before that (start-up, imports, the
choice of arithmetic, an encoding of the streams) start a process of their own, and so does a
variable that a library reads when it is imported: `start` refuses those.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import types
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing import connection, forkserver
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[1]

#: Variables that are read while modules are imported, by their first letters.  The threads and the
#: seed of hashes, which change no result, are the server's.
_READ_EARLY = ("NUMBA_", "OPENBLAS_", "NPY_", "CFL_", "DASK_", "LC_", "LANG", "PYTHON")
_NOT_READ_EARLY = ("PYTHONPATH", "PYTHONHASHSEED", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")

_lock = threading.Lock()
_environment = dict(os.environ)


def remember_environment() -> None:
    """The server starts with the variables that the process has now."""
    _environment.clear()
    _environment.update(os.environ)


class Forked:
    """A program that runs, with the methods of `subprocess.Popen` that the tests use."""

    def __init__(self, process: multiprocessing.process.BaseProcess) -> None:
        self._process = process
        self.pid = process.pid
        self.args = process.name

    @property
    def returncode(self) -> int | None:
        """The exit code, None while it runs, and minus the number of the signal that ended it."""
        with _lock:  # two threads must not read the one message of its end
            return self._process.exitcode

    def poll(self) -> int | None:
        """The same as `returncode`."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        connection.wait([self._process.sentinel], timeout)
        code = self.returncode
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal.  Nothing happens where it has ended."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid or 0, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


def start(
    arguments: Sequence[str],
    *,
    cwd: Path | str = ROOT,
    env: Mapping[str, str] | None = None,
    stdout: IO[Any] | int = subprocess.DEVNULL,
    stderr: IO[Any] | int = subprocess.DEVNULL,
) -> Forked:
    """Start ``python ARGUMENTS``, where they begin with ``-m MODULE`` or ``-c TEXT``.

    Raises
    ------
    ValueError
        For other options, and for a variable that was read before the fork and has another value.
    """
    if arguments[0] not in ("-m", "-c"):
        raise ValueError(f"arguments={list(arguments)!r:.100} must begin with -m or -c")
    wanted = dict(os.environ if env is None else env)
    for name in sorted(wanted.keys() | _environment.keys()):
        early = name.startswith(_READ_EARLY) and name not in _NOT_READ_EARLY
        if early and wanted.get(name) != _environment.get(name):
            raise ValueError(f"{name}={wanted.get(name)!r} was read before the fork")
    with open(os.devnull, "wb") as nothing:
        streams = [
            nothing.fileno()
            if stream == subprocess.DEVNULL
            else (stream if isinstance(stream, int) else stream.fileno())
            for stream in (stdout, stderr)
        ]
        return _forked(_run_program, list(arguments), str(cwd), wanted, streams=streams)


def run(
    arguments: Sequence[str],
    *,
    cwd: Path | str = ROOT,
    env: Mapping[str, str] | None = None,
    check: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run ``python ARGUMENTS`` to its end, and return its exit code and what it printed."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = start(arguments, cwd=cwd, env=env, stdout=out, stderr=err).wait()
        told = [_text(stream) for stream in (out, err)]
    done = subprocess.CompletedProcess(list(arguments), code, *told)
    if check:
        done.check_returncode()
    return done


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return io.TextIOWrapper(io.BytesIO(stream.read()), "utf-8").read()


def start_worker(path: Sequence[str], descriptor: int) -> Forked:
    """Start a worker process of an executor (`trials.run.local`)."""
    return _forked(_serve, list(path), os.getcwd(), dict(os.environ), streams=[1, 2, descriptor])


def start_parent(path: Sequence[str], control: int, descriptors: Sequence[int]) -> Forked:
    """Start a process that forks the workers of an executor (`trials.run.forks`)."""
    streams = [1, 2, control, *descriptors]
    return _forked(_serve_forks, list(path), os.getcwd(), dict(os.environ), streams=streams)


def _forked(
    target: Any, given: list[str], cwd: str, env: dict[str, str], streams: list[int]
) -> Any:
    with _lock, _as_the_tests_began():
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["tests.forked"])
        forkserver.ensure_running()
    with _lock:
        process = context.Process(target=_Program(target, given, cwd, env, streams))
        process.start()
    return Forked(process)


@contextlib.contextmanager
def _as_the_tests_began() -> Iterator[None]:
    """The folder and the variables with which the server starts are no test's own."""
    if forkserver._forkserver._forkserver_pid is not None:  # type: ignore[attr-defined]
        yield
        return
    folder, variables = Path.cwd(), dict(os.environ)
    try:
        os.chdir(ROOT)
        os.environ.clear()
        os.environ.update(_environment)
        yield
    finally:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(variables)


class _Program:
    """What the fork does.  The streams are duplicated for it when it is pickled."""

    def __init__(
        self, target: Any, given: list[str], cwd: str, env: dict[str, str], streams: list[int]
    ) -> None:
        self.target, self.given, self.cwd, self.env = target, given, cwd, env
        self.streams: list[Any] = streams

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "streams": [DupFd(stream) for stream in self.streams]}

    def __call__(self) -> None:
        out, err, *rest = (stream.detach() for stream in self.streams)
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY))
        sys.stdout = sys.__stdout__ = _stream(1, "strict")  # type: ignore[misc]
        sys.stderr = sys.__stderr__ = _stream(2, "backslashreplace")  # type: ignore[misc]
        os.chdir(self.cwd)
        os.environ.clear()
        os.environ.update(self.env)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.target(self.given, *rest)


def _stream(descriptor: int, errors: str) -> IO[str]:
    return os.fdopen(descriptor, "w", encoding="utf-8", errors=errors, closefd=False)


def _serve(path: list[str], descriptor: int) -> None:
    from trials.run.local import serve

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.path[:] = path
    serve(descriptor)


def _serve_forks(path: list[str], control: int, *descriptors: int) -> None:
    from trials.run import forks, local

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.path[:] = path
    forks.serve_forks(control, descriptors, local.serve, local.start_worker)


def _run_program(arguments: list[str]) -> None:
    """Run a module or a text as Python does, and end as it does."""
    option, program, *rest = arguments
    own = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [os.getcwd(), *filter(None, own), *(p for p in sys.path if p)]
    sys.argv = [option, *rest]
    if option == "-m":
        runpy.run_module(program, run_name="__main__", alter_sys=True)
        return
    sys.modules["__main__"] = main = types.ModuleType("__main__")
    exec(compile(program, "<string>", "exec"), main.__dict__)
