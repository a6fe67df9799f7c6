"""The code that computed a block: the sources that an experiment depends on, and the libraries.

Two blocks of one cell must come from the same code.  An experiment's *code* is the text of its
module and of all that it imports in this program, of the modules that compute a block, and the
versions of the numerical libraries.  One SHA-256 names it.  The digest is sent with every task, and
the worker compares it with its own.  It is stored with every block, and `resume` compares it with
the present one.

The texts are those of `trials.sources`: as they were when this process imported them.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from operator import is_
from types import MappingProxyType
from typing import Any

from trials import sources
from trials.run.block import ExecutorError
from trials.run.experiment import Experiment, experiments, module_of

_MACHINERY = ("trials.run.block",)
#: Packages that compute what a block or a bound holds, and whose versions belong to the code.
_COMPUTING = sources.LIBRARIES | {"mpmath", "python-flint", "sympy"}
_DIGITS = 16  # of a module's digest in a run's record, where it only has to show a change


@dataclass(frozen=True)
class Code:
    """The code of an experiment or of a function.

    Attributes
    ----------
    digest : SHA-256, hexadecimal, of all parts.
    parts : library or module name -> version or digest of the text.
    """

    digest: str
    parts: Mapping[str, str]


class CodeMismatch(ExecutorError):
    """A worker has other code than the run.  The message names the parts that differ."""


class MachineMismatch(ExecutorError):
    """A worker runs on another kind of machine than the run.  The message says what differs."""


@cache
def libraries() -> Mapping[str, str]:
    """Versions of Python (major.minor) and of the libraries that compute."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return MappingProxyType(
        {"python": python, **{name: metadata.version(name) for name in sorted(_COMPUTING)}}
    )


_lock = threading.RLock()
_codes: dict[tuple[str, ...], tuple[tuple[sources.Source, ...], Code]] = {}
_loaded: dict[str, Any] = {}
_told: set[str] = set()
#: Experiment -> itself and its modules.
_written: dict[str, tuple[Experiment, tuple[str, ...]]] = {}
#: Modules -> their digest, and all modules of the code with their specs at the last look at files.
_seen: dict[tuple[str, ...], tuple[str, tuple[str, ...], tuple[Any, ...]]] = {}


def _modules(experiment: Experiment) -> tuple[str, ...]:
    """Where the parts of an experiment are written."""
    found = {module_of(experiment), *_MACHINERY}
    for function in (experiment.simulate, experiment.check):
        inner: Any = function
        while hasattr(inner, "func"):  # functools.partial
            inner = inner.func
        found.add(str(getattr(inner, "__module__", None) or type(inner).__module__))
    return tuple(sorted(found))


def code_of(experiment: Experiment) -> Code:
    """The code that an experiment's blocks depend on.

    Raises
    ------
    ExecutorError
        When a source file changed on disk before this process imported it: the process then runs
        a mixture of two versions.
    """
    return code_of_modules(_modules(experiment))


def digest_after_block(experiment: Experiment) -> str:
    """The digest of `code_of`, for a block that this process sends, computes or receives."""
    with _lock:
        known, modules = _written.get(experiment.name, (None, ()))
        if known is not experiment:
            modules = _modules(experiment)
            _written[experiment.name] = experiment, modules
        return digest_of_modules(modules)


def digest_of_modules(modules: tuple[str, ...]) -> str:
    """The digest of `code_of_modules`, for one message of many.

    Only an import makes a mixture.  So the files are looked at again only where a module of the
    code was imported since the last look: a look is one call of the file system a module.
    """
    with _lock:
        if modules in _seen:
            digest, names, specs = _seen[modules]
            if all(map(is_, map(_spec, names), specs)):
                return digest
        digest = code_of_modules(modules).digest
        names = tuple(known.name for known in _codes[modules][0])
        _seen[modules] = digest, names, tuple(map(_spec, names))
        return digest


def code_of_modules(modules: tuple[str, ...]) -> Code:
    """The code of modules, and of the modules that they import from this program."""
    return _codes_of([modules])[0]


def _codes_of(every: Iterable[tuple[str, ...]]) -> list[Code]:
    """The codes of several lists of modules.  A file that many of them import is looked at once."""
    with _lock:
        kept = [
            _codes.get(modules) or _codes.setdefault(modules, _code(modules)) for modules in every
        ]
        _refuse_a_mixture({known.name: known for found, _ in kept for known in found}.values())
        return [code for _, code in kept]


def _code(modules: tuple[str, ...]) -> tuple[tuple[sources.Source, ...], Code]:
    found = sources.closure(modules)
    nameless = [known for known in found if _is_nameless(known.name)]
    absent = set(modules) - {known.name for known in found}  # a prompt: it cannot be compared
    digest = sources.hash_sources(
        [known for known in found if not _is_nameless(known.name)],
        *sorted(known.digest for known in nameless),
        *sorted(absent),
        *(f"{name} {version}" for name, version in libraries().items()),
    )
    return found, Code(digest, MappingProxyType({**_parts(found), **libraries()}))


def _parts(found: tuple[sources.Source, ...]) -> dict[str, str]:
    """Map each module to the first digits of its digest.

    A user's file is listed under its file name.
    """
    return {_label(known): known.digest[:_DIGITS] for known in found}


def _label(known: sources.Source) -> str:
    if not _is_nameless(known.name):
        return known.name
    file = known.path or getattr(sys.modules.get(known.name), "__file__", None) or known.name
    return os.path.basename(file)


def _is_nameless(name: str) -> bool:
    """A script or a user's file: its module name differs from process to process."""
    return name in ("__main__", "__mp_main__") or name.startswith(sources.USER_PREFIX)


def _refuse_a_mixture(found: Collection[sources.Source]) -> None:
    """Refuse sources that changed on disk, unless this process imported them before the change."""
    edited = set(sources.find_changed(found))
    for known in found:
        spec = _spec(known.name)
        if known.name not in edited:
            if spec is not None:
                _loaded[known.name] = spec
        elif spec is None or _loaded.get(known.name) is not spec:
            raise ExecutorError(
                f"{known.path} changed on disk after this process started; start it again, so "
                "that it runs one version of the code"
            )
        elif known.name not in _told:
            _told.add(known.name)
            warnings.warn(
                f"{known.path} changed on disk; this process goes on with the version that it "
                "imported",
                stacklevel=4,
            )


def _spec(name: str) -> Any:
    """The spec of the module that this process has imported, or None."""
    return getattr(sys.modules.get(name), "__spec__", None)


def differences(theirs: Mapping[str, str], ours: Mapping[str, str]) -> list[str]:
    """The differences of two codes, in words: libraries first, then modules."""
    found = []
    for name in sorted({*theirs, *ours}, key=lambda n: (n not in libraries(), n)):
        old, new = theirs.get(name), ours.get(name)
        if old == new:
            continue
        if name in libraries():
            found.append(f"{name} {old or 'absent'} against {new or 'absent'}")
        else:
            how = "is new" if old is None else "is gone" if new is None else "differs"
            found.append(f"{name} {how}")
    return found


def enumerate_few(found: list[str], most: int = 4) -> str:
    """A short enumeration."""
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return ", ".join(found[:most]) + more


def run_code() -> dict[str, str]:
    """The record of a new run: libraries, the modules of `trials`, and those of every experiment.

    The record serves to name a change.  The digest in each block decides whether there is one.  It
    cannot distinguish users' files of one name in different folders, so these are left out.
    """
    own = [known for name, known in sources.snapshot().items() if name.startswith("trials")]
    codes = _codes_of(map(_modules, experiments()))
    every = [_parts(tuple(own)), *(code.parts for code in codes)]
    found: dict[str, set[str]] = {}
    for name, value in (part for parts in every for part in parts.items()):
        found.setdefault(name, set()).add(value)
    known = {name: values.pop() for name, values in found.items() if len(values) == 1}
    # Last, because an experiment may simulate with a function of a library's own module.
    return {**known, **libraries()}


def changed_since(recorded: Mapping[str, str], present: Code) -> list[str]:
    """The differences between the code of an experiment and the record that a run made at its
    start.

    Only what both name is compared.  An experiment that is new to the run has no blocks there, and
    a module that is new to an experiment is imported by another one that changed.
    """
    ours = {name: value for name, value in present.parts.items() if name in recorded}
    return differences({name: recorded[name] for name in ours}, ours)
