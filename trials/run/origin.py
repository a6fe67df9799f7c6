"""Where an experiment's module comes from, and how a worker gets it.

A worker imports the module by its name.  A worker on another machine may lack a module of the
user's own.  Such a module is sent as its text and loaded from the text.  A file that is not part of
a package (`load_file`) is loaded under a name made of its SHA-256.  So the same text has the same
name in every process, and it is loaded once.
"""

from __future__ import annotations

import hashlib
import importlib
import linecache
import os
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from trials import sources
from trials.checks import InvalidParameter
from trials.run.block import ExecutorError
from trials.run.experiment import all_or_nothing

MAX_FILE_BYTES = 1 << 20
_lock = threading.RLock()


@dataclass(frozen=True)
class Origin:
    """How to get a module: by its name, and, for a user's own, by its text as well.

    Attributes
    ----------
    module : the name to import, or to load the text under.
    filename : of the text, for error messages.
    text : the source, or None when the module must be installed.
    """

    module: str
    filename: str | None = None
    text: bytes | None = None


def load_file(path: str | os.PathLike[str]) -> ModuleType:
    """Load a Python file of the user's own, such as one that registers experiments and claims.

    Parameters
    ----------
    path : a ``.py`` file.  It may import what is installed.  It cannot import files beside it,
        because a worker on another machine gets this one file only.  Several files need a package.

    Returns
    -------
    The module.  A second call with the same text returns the same module.

    Raises
    ------
    InvalidParameter : When the file is missing, is no Python source, raises while it is loaded (the
        message gives the line), or registers a name or design number that is taken. Nothing stays
        registered.
    """
    try:
        path = Path(path)
        text = path.read_bytes()
    except FileNotFoundError:
        raise InvalidParameter(f"{path}: no such file") from None
    except (OSError, ValueError, TypeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidParameter(f"{str(path)!r:.200}: cannot be read ({reason})") from None
    if len(text) > MAX_FILE_BYTES:
        raise InvalidParameter(
            f"{path}: its size, {len(text)} bytes, must be at most {MAX_FILE_BYTES}; it is sent to "
            "every worker"
        )
    return _load_text(user_module_name(text), str(path.resolve()), text)


def user_module_name(text: bytes) -> str:
    """The module name of a user's file: made of its SHA-256, so the same in every process."""
    return sources.USER_PREFIX + hashlib.sha256(text).hexdigest()[:16]


def _load_text(name: str, filename: str, text: bytes) -> ModuleType:
    with _lock:
        if name in sys.modules:
            return sys.modules[name]
        try:
            code = compile(text, filename, "exec", dont_inherit=True)
        except SyntaxError as error:
            raise InvalidParameter(f"{filename}: line {error.lineno}: {error.msg}") from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise InvalidParameter(f"{filename}: is not Python source ({error})") from None
        module = ModuleType(name)
        module.__file__ = filename
        sys.modules[name] = module  # dataclasses and pickle look a module up while it is loaded
        sources.add_text(name, text)
        shown = text.decode("utf-8", "replace")
        linecache.cache[filename] = (len(text), None, shown.splitlines(keepends=True), filename)
        try:
            with all_or_nothing():
                exec(code, module.__dict__)
        except BaseException as error:
            del sys.modules[name]
            sources.remove(name)
            if isinstance(error, (KeyboardInterrupt, MemoryError)):
                raise
            raise InvalidParameter(_where(filename, error)) from error
        return module


def _where(filename: str, error: BaseException) -> str:
    """``FILE: line N: message``: the last line of the file that took part."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename:
            line = trace.tb_lineno
        trace = trace.tb_next
    told = " ".join(str(error).split())[:500]
    kind = "" if isinstance(error, InvalidParameter) else f"{type(error).__name__}: "
    return f"{filename}: " + (f"line {line}: " if line else "") + kind + told


def origin_of(module: str) -> Origin:
    """How a worker gets a module of this process.

    Raises
    ------
    InvalidParameter : When the module is a prompt or a notebook: it has neither an importable name
        nor a file.
    """
    if module.partition(".")[0] in sources.PACKAGES:
        return Origin(module)
    known = sources.source(module)
    if module in ("__main__", "__mp_main__"):
        if known is None:
            raise InvalidParameter(
                "an experiment that is defined at a prompt or in a notebook has no file that a "
                "worker could load; put it into a file, or use the executor 'threads'"
            )
        return Origin(user_module_name(known.text), str(known.path), known.text)
    if known is None:  # compiled, installed, or of the standard library
        return Origin(module)
    filename = getattr(sys.modules.get(module), "__file__", None)
    return Origin(module, filename, known.text)


def load(origin: Origin) -> ModuleType:
    """The module in a worker.

    Raises
    ------
    ExecutorError
        When the module is neither importable here nor came as a text that can be loaded.
    """
    if origin.module in sys.modules:
        return sys.modules[origin.module]
    if not origin.module.startswith(sources.USER_PREFIX):
        try:
            return importlib.import_module(origin.module)
        except ImportError as error:
            if origin.text is None or "." in origin.module:
                raise ExecutorError(
                    f"the worker cannot import {origin.module} ({error}); install the same "
                    "version there as here"
                ) from None
    assert origin.text is not None
    try:
        return _load_text(origin.module, origin.filename or origin.module, origin.text)
    except InvalidParameter as error:
        raise ExecutorError(f"the worker cannot load {error}") from None
