"""Where compiled kernels are kept: a private folder, one subfolder for each state of the sources.

Numba's ``cache=True`` looks at the file that holds a kernel.  It does not look at the other files
whose functions and constants were compiled into it.  So it would run stale machine code after an
edit of a helper.  Here a digest names a kernel's subfolder.  It covers the kernel's module and all
that the module imports in this program (`trials.sources.closure`).  It also covers the versions of
Numba, llvmlite and NumPy, and the options that change generated code.  So stale code is never
found, and an edit recompiles only the kernels that depend on it.

Numba's index files are pickles: a person who writes them runs code here.  So the folder must belong
to this user, and no one else may write it.  The folders above belong to this user or to root, and
nobody else may write them, unless they are sticky.  Both are looked at before every load.  Where no
such folder is available, a private temporary one is used until the program ends, and one line says
so.

Processes that need the same new kernel at the same time compile it once: one of them compiles, the
others wait and load (`_compile_once`).

A kernel rounds in the same way whether a process compiles it or loads it, and whatever the process
loaded before (`_link_privately`).

Numba has a list of *locators* that give the folder of a function.  This module puts its own first
in that list as soon as Numba is imported.  Its locator applies to modules of this program only.
Other modules and the environment stay as they are.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import gc
import hashlib
import importlib
import importlib.abc
import importlib.util
import os
import re
import shutil
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from trials import sources

FOLDER = "cfl-verify-jit"
#: Names the temporary folder of the process that made it, for its worker processes.
INHERITED = "CFL_VERIFY_JIT_DIR"
_KEPT = 3  # states of one module's sources
_HOUR = 3600.0
_LONGEST_UNUSED = 60 * 24 * _HOUR
_OPTIONS = (
    *("BOUNDSCHECK", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "ENABLE_AVX", "DISABLE_INTEL_SVML"),
    *("USING_SVML", "DEBUGINFO_DEFAULT", "CPU_NAME", "CPU_FEATURES", "LLVM_REFPRUNE_PASS"),
    *("LLVM_REFPRUNE_FLAGS", "EXTEND_VARIABLE_LIFETIMES", "DISABLE_JIT"),
)
_MANY = 100_000  # new objects between two collections while a kernel is compiled
#: Seconds that a process waits for another one to compile a kernel, before it does it itself.
_LONGEST_WAIT = 120.0
_lock = threading.RLock()
#: Folders that `place` has given to Numba.
_folders: set[Path] = set()
#: Lock file -> its descriptor, and the number of forms of the kernel that are being compiled here.
_turns: dict[Path, tuple[int, int]] = {}


# -- a folder that only this user can write ------------------------------------------------------


def objection(folder: Path) -> str | None:
    """Make a folder of mode 0700, and return the reason why it must not be used.

    Returns None when it can be used.  It must be a folder and no link, belong to this user and be
    writable by this user alone.  Every folder above it must belong to this user or to root, and
    nobody else may write it, unless it is sticky, as ``/tmp`` is.  So nobody else can put another
    folder in its place.
    """
    try:
        _make_above(folder.parent)
        reason = _foreign(folder.parent)
        if reason is not None:
            return reason
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        reason = _unfit(folder)
        if reason is None:
            tempfile.TemporaryFile(dir=folder).close()
    except (OSError, ValueError) as error:
        return f"{folder}: {getattr(error, 'strerror', None) or error}"
    return reason


def _make_above(folder: Path) -> None:
    """Make the folders that are missing, writable by this user alone whatever the umask is."""
    if not folder.is_dir():
        _make_above(folder.parent)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)


def _foreign(folder: Path) -> str | None:
    """The reason why somebody else could exchange a folder or one above it, links followed too."""
    named = Path(os.path.abspath(folder))
    resolved = folder.resolve()
    links = [path for path in (named, *named.parents) if path.is_symlink()]
    for above in dict.fromkeys((resolved, *resolved.parents, *(link.parent for link in links))):
        found = above.stat()
        if hasattr(os, "geteuid") and found.st_uid not in (0, os.geteuid()):
            return f"{above} belongs to another user"
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not found.st_mode & stat.S_ISVTX:
            return f"others may write {above}"
    for link in links:  # in a sticky folder anybody may have made it
        if hasattr(os, "geteuid") and link.lstat().st_uid not in (0, os.geteuid()):
            return f"{link} belongs to another user"
    return None


def _unfit(folder: Path) -> str | None:
    """The reason why a folder itself must not be used.  Rights of others to read are taken away.

    The folder is opened first and looked at by its descriptor, so that what is looked at is what
    was opened.
    """
    if not hasattr(os, "O_DIRECTORY"):  # Windows: rights are no bits of a mode
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode):
            return f"{folder} is no folder"
        return f"others may write {folder}" if found.st_mode & stat.S_IWOTH else None
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            return f"{folder} is no folder"
        raise
    try:
        found = os.fstat(descriptor)
        if found.st_uid != os.geteuid():
            return f"{folder} belongs to another user"
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return f"others may write {folder}"
        if found.st_mode & 0o077:
            os.fchmod(descriptor, 0o700)
    finally:
        os.close(descriptor)
    return None


def still_ours(folder: Path) -> bool:
    """Whether a folder of kernels, its parent and all above are still as `objection` wants them.

    It is asked before every load and every store of a kernel.
    """
    try:
        return _unfit(folder) is None and _unfit(folder.parent) is None and not _foreign(folder)
    except OSError:  # it has gone: nothing is loaded from it, and it is made again
        return False


def _choose_folder() -> tuple[Path | None, str]:
    """The folder that the environment names, or None with the reason."""
    config = getattr(sys.modules.get("numba"), "config", None)
    chosen = getattr(config, "CACHE_DIR", "") or os.environ.get("NUMBA_CACHE_DIR", "")
    if chosen:
        return Path(chosen).absolute() / FOLDER, ""
    home = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(home):  # the XDG specification has relative paths ignored
        return Path(home) / FOLDER, ""
    try:
        below = Path.home() / ".cache"
    except (RuntimeError, KeyError):
        return None, "this user has no home folder"
    return (
        (below / FOLDER, "") if below.is_absolute() else (None, f"HOME={below.parent} is relative")
    )


@cache
def base_folder() -> Path:
    """Return the folder of all compiled kernels.

    The first call makes the folder, and warns if it cannot.
    """
    wanted, reason = _choose_folder()
    if wanted is not None:
        found = objection(wanted)
        if found is None:
            return wanted
        reason = found
    inherited = os.environ.get(INHERITED, "")
    if inherited and objection(Path(inherited)) is None:
        return Path(inherited)
    folder = _temporary()
    os.environ[INHERITED] = str(folder)
    print(
        f"cfl-verify: compiled kernels are kept until this program ends and compiled again by the "
        f"next one ({reason}); set XDG_CACHE_HOME to a folder of your own",
        file=sys.stderr,
    )
    return folder


def _temporary() -> Path:
    folder = Path(tempfile.mkdtemp(prefix=FOLDER + "-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


# -- the state of the sources --------------------------------------------------------------------


def _settings() -> tuple[str, ...]:
    """Versions and options that generated code depends on."""
    modules = {name: sys.modules.get(name) for name in ("numba", "llvmlite", "numpy")}
    config = getattr(modules["numba"], "config", None)
    return (
        f"python {sys.version}",
        *(f"{name} {getattr(module, '__version__', '')}" for name, module in modules.items()),
        *(f"{name} {getattr(config, name, None)}" for name in _OPTIONS),
    )


def place(module: str) -> tuple[Path, str] | None:
    """Return the folder and the source stamp of a module's kernels.

    Returns None for a module of another program.  A module is of this program when it belongs to
    `trials` or imports it, also through other modules.
    """
    with _lock:
        found = _closure(module)
        if found is None:
            return None
        stamp = sources.hash_sources(found, *_settings(), *data_digests(found))
        if sources.find_changed(found):
            return _unkept(), stamp
        folder = base_folder() / f"{module}-{stamp[:20]}"
        _touch(folder, module)
        _folders.add(folder)
        return folder, stamp


#: Strings of a source that look like the name of a file of data.
_DATA_NAME = re.compile(
    rb"""["']([\w./ -]{1,120}\.(?:json|toml|ya?ml|csv|tsv|txt|npy|npz|dat|ini))["']"""
)
_MOST_DATA = 1 << 28  # bytes of one file


def data_digests(found: Sequence[sources.Source]) -> tuple[str, ...]:
    """Digests of the files of data that the sources name, so that a constant read from one is new.

    A name in quotes is looked for beside the module and in the working folder.  A name that is put
    together at run time is not seen.
    """
    digests = []
    for known in found:
        beside = [] if known.path is None else [known.path.parent]
        for name in sorted(set(_DATA_NAME.findall(known.text))):
            for folder in (*beside, Path.cwd()):
                path = folder / os.fsdecode(name)
                with contextlib.suppress(OSError):
                    if path.is_file() and path.stat().st_size <= _MOST_DATA:
                        digest = hashlib.sha256(path.read_bytes()).hexdigest()
                        digests.append(f"{known.name} {os.fsdecode(name)} {digest}")
                        break
    return tuple(digests)


@cache
def _closure(module: str) -> tuple[sources.Source, ...] | None:
    top = module.partition(".")[0]
    if top in sources.LIBRARIES or top in sys.stdlib_module_names:
        return None
    found = sources.closure([module])
    return found if any(known.name.partition(".")[0] == "trials" for known in found) else None


@cache
def _unkept() -> Path:
    """Folder of the kernels that a process compiles from files changed after it started.

    It is unknown which of the two texts was imported, so no other process may find the result.
    """
    return _temporary()


@cache
def _touch(folder: Path, module: str) -> None:
    """Note that a folder is in use.

    When the folder is new, older ones of the same module are removed.
    """
    with contextlib.suppress(OSError):
        if folder.is_dir():
            os.utime(folder)
            return
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        prune(folder.parent, module)


def prune(base: Path, module: str) -> None:
    """Keep the last three states of a module, and no folder that was unused for two months.

    Folders that were used within the last hour stay, because another process may be writing them.
    """
    now = time.time()
    of_module = re.compile(re.escape(module) + r"-[0-9a-f]{20}")
    others: list[tuple[float, Path]] = []
    for folder in base.iterdir():
        with contextlib.suppress(OSError):
            used = folder.stat().st_mtime
            if now - used > _LONGEST_UNUSED:
                shutil.rmtree(folder, ignore_errors=True)
            elif of_module.fullmatch(folder.name):
                others.append((used, folder))
    for used, folder in sorted(others, reverse=True)[_KEPT:]:
        if now - used > _HOUR:
            shutil.rmtree(folder, ignore_errors=True)


# -- Numba's side --------------------------------------------------------------------------------


def _locator_class(base: Any) -> Any:
    class Locator(base):  # type: ignore[misc]
        """The locator for the kernels of this program."""

        def __init__(self, function: Any, file: str, folder: Path, stamp: str) -> None:
            self._py_file = file  # Numba reads this name for its warnings
            self._lineno = function.__code__.co_firstlineno
            self._folder = folder
            self._stamp = stamp

        def get_cache_path(self) -> str:
            return str(self._folder)

        def get_source_stamp(self) -> str:
            return self._stamp

        def get_disambiguator(self) -> str:
            return str(self._lineno)

        @classmethod
        def from_function(cls, function: Any, file: str) -> Any:
            found = place(str(function.__module__))
            return None if found is None else cls(function, file, *found)

    return Locator


def _look_before_loading(caching: ModuleType) -> None:
    """Have Numba ask `still_ours` before it reads or writes the index of one of our folders.

    Where somebody else could have put a file there, the kernel is compiled as if nothing were kept.
    Numba's own folders and those of other programs are not looked at.
    """
    kept: Any = getattr(caching, "IndexDataCacheFile", None)
    if kept is None or hasattr(kept, "_looks_first"):
        return
    load, save = kept.load, kept.save

    def is_open(self: Any) -> bool:
        folder = Path(self._cache_path)
        return folder in _folders and folder.is_dir() and not still_ours(folder)

    def checked_load(self: Any, key: Any) -> Any:
        return None if is_open(self) else load(self, key)

    def checked_save(self: Any, key: Any, data: Any) -> Any:
        return None if is_open(self) else save(self, key, data)

    kept.load, kept.save, kept._looks_first = checked_load, checked_save, True


def _take_turn(path: Path) -> None:
    """Wait until no other process compiles the kernel of a lock file, and keep others waiting.

    Where files cannot be locked nobody waits, and processes may compile the same kernel.  The
    system frees the lock of a process that ends.
    """
    if path in _turns:
        descriptor, n_forms = _turns[path]
        _turns[path] = descriptor, n_forms + 1
        return
    try:
        import fcntl

        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except (ImportError, OSError):  # Windows, or a folder that cannot be written
        return
    last = time.monotonic() + _LONGEST_WAIT
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES) and time.monotonic() < last:
                time.sleep(0.01)
                continue
            os.close(descriptor)
            return
        _turns[path] = descriptor, 1
        return


def _end_turn(path: Path) -> None:
    """Let the next process have the kernel, once no form of it is being compiled here."""
    if path not in _turns:
        return
    descriptor, n_forms = _turns.pop(path)
    if n_forms > 1:
        _turns[path] = descriptor, n_forms - 1
    else:
        os.close(descriptor)


def _lock_file(kept: Any) -> Path | None:
    """The lock file of a function's cache, None outside our folders."""
    index = Path(str(getattr(getattr(kept, "_cache_file", None), "_index_path", "")))
    return index.with_suffix(".lock") if index.parent in _folders else None


def _compile_once(caching: ModuleType) -> None:
    """Have a process that lacks a kernel look again once no other process compiles it.

    Numba asks its cache, compiles, and saves.  Between the first and the last step the kernel's
    lock is held, and a compilation that fails ends it as well.  A kernel may wait for those that it
    calls, and these never for it, so that no two processes wait for each other.
    """
    kept: Any = getattr(caching, "Cache", None)
    if kept is None or hasattr(kept, "_takes_turns"):
        return
    load, save = kept.load_overload, kept.save_overload

    def load_or_take_turn(self: Any, sig: Any, context: Any) -> Any:
        found, path = load(self, sig, context), _lock_file(self)
        if found is not None or path is None or not still_ours(path.parent):
            return found
        _take_turn(path)
        found = load(self, sig, context)
        if found is not None:
            _end_turn(path)
        return found

    def save_and_end_turn(self: Any, sig: Any, data: Any) -> Any:
        try:
            return save(self, sig, data)
        finally:
            if (path := _lock_file(self)) is not None:
                _end_turn(path)

    kept.load_overload, kept.save_overload = load_or_take_turn, save_and_end_turn
    kept._takes_turns = True
    event: Any = importlib.import_module("numba.core.event")

    class Failures(event.Listener):  # type: ignore[misc]
        """Ends the turn of a kernel whose compilation failed, because nothing will be saved."""

        def on_start(self, _event: object) -> None:
            """A turn begins where the cache is asked."""

        def on_end(self, event: Any) -> None:
            # Numba's own `is_failed` is true of a success.
            if getattr(event, "_exc_details", None) is not None:
                path = _lock_file(getattr((event.data or {}).get("dispatcher"), "_cache", None))
                if path is not None:
                    _end_turn(path)

    event.register("numba:compile", Failures())


def _link_privately(codegen: ModuleType) -> None:
    """Have a kernel call its own copies of the functions that are compiled into it.

    Numba links those copies as weak symbols.  The loader then drops a copy if the process already
    holds the function, as it does after it compiled the function or called it alone.  The two are
    optimised in different modules, so sums with ``fastmath`` may round differently.  Internal
    symbols are never exchanged.  They are weak again where a kernel is linked into another one,
    which then holds each function once.  A Numba without these two methods stays as it is.
    """
    library: Any = getattr(codegen, "CPUCodeLibrary", None)
    optimise = getattr(library, "_optimize_final_module", None)
    share = getattr(library, "_get_module_for_linking", None)
    if optimise is None or share is None or hasattr(library, "_own_copies"):
        return

    def optimise_and_own(self: Any) -> None:
        optimise(self)
        self._own_copies = []
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage.name == "linkonce_odr":
                function.linkage = "internal"
                self._own_copies.append(function.name)

    def share_weakly(self: Any) -> Any:
        module = share(self)
        if module is not self._final_module:
            for name in self._own_copies:
                module.get_function(name).linkage = "linkonce_odr"
        return module

    library._own_copies = ()
    library._optimize_final_module = optimise_and_own
    library._get_module_for_linking = share_weakly


def _collect_rarely() -> None:
    """Have the garbage collector run rarely while Numba compiles.

    A compilation makes many objects and drops few of them in cycles, so the collector finds little,
    and each full collection looks at all objects of the process.
    """
    event: Any = importlib.import_module("numba.core.event")

    class Collector(event.Listener):  # type: ignore[misc]
        """One compilation may ask for others.  Numba's lock lets one thread compile."""

        depth = 0
        before: tuple[int, int, int] = (0, 0, 0)

        def on_start(self, _event: object) -> None:
            if self.depth == 0:
                self.before = gc.get_threshold()
                if self.before[0]:  # zero: it never runs
                    gc.set_threshold(max(self.before[0], _MANY), *self.before[1:])
            self.depth += 1

        def on_end(self, _event: object) -> None:
            self.depth -= 1
            if self.depth == 0:
                _call_all_old()
                gc.set_threshold(*self.before)

    event.register("numba:compile", Collector())


def _call_all_old() -> None:
    """Have the collector take all objects for old ones, and look at none of them now.

    It would look at all that a compilation left as soon as it runs often again, 90 times in a cold
    warm-up.  What is garbage among them is found with the next full collection.
    """
    if gc.isenabled() and gc.get_freeze_count() == 0:  # the caller's own frozen objects stay so
        gc.freeze()
        gc.unfreeze()


def _compare_options_briefly() -> None:
    """Have Numba compare two sets of options by those that one of the two states.

    Each call in a kernel is looked up under the types of its arguments and the options of the
    compilation.  Numba reads some twenty properties of two objects at each look-up, to compare
    them and for a hash.  That takes a tenth of a compilation.  The answers are Numba's own: options
    that neither states have one default, and the hash depends on the names of a class's options.
    """
    module: Any = importlib.import_module("numba.core.targetconfig")
    options: Any = getattr(module, "TargetConfig", None)
    if options is None or "_values" not in getattr(options, "__slots__", ()):
        return
    compare, digest = options.__eq__, options.__hash__
    hashes: dict[type, int] = {}

    def is_same(self: Any, other: Any) -> Any:
        if type(self) is not type(other):
            return compare(self, other)
        mine, others = self._values, other._values
        return mine == others or all(
            getattr(self, name) == getattr(other, name) for name in mine.keys() | others.keys()
        )

    def hash_of(self: Any) -> int:
        found = hashes.get(type(self))
        if found is None:
            found = hashes[type(self)] = digest(self)
        return found

    options.__eq__, options.__hash__ = is_same, hash_of


def _install(caching: ModuleType) -> None:
    """Put the locator first in Numba's list.

    If Numba has no such list, the whole cache folder is keyed by the sources.
    """
    _look_before_loading(caching)
    _compile_once(caching)
    _link_privately(sys.modules["numba.core.codegen"])  # caching imports it
    _collect_rarely()
    _compare_options_briefly()
    owner = getattr(caching, "CacheImpl", None) or getattr(caching, "_CacheImpl", None)
    located: Any = getattr(owner, "_locator_classes", None)
    base: Any = getattr(caching, "_CacheLocator", None)
    numba_config: Any = sys.modules["numba.core.config"]
    if not isinstance(located, list) or base is None:
        every = [known for name, known in sources.snapshot().items() if name.startswith("trials")]
        numba_config.CACHE_DIR = str(base_folder() / f"all-{sources.hash_sources(every)[:20]}")
        return
    globals()["Locator"] = locator = _locator_class(base)
    located.insert(0, locator)
    listed = getattr(numba_config, "CACHE_LOCATOR_CLASSES", "")
    if listed:
        numba_config.CACHE_LOCATOR_CLASSES = f"{__name__}.Locator,{listed}"


class _WhenImported(importlib.abc.MetaPathFinder):
    """Runs `_install` right after Numba's caching module was imported.

    It never finds a module itself.
    """

    NAME = "numba.core.caching"

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self.NAME:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return None
        loader: Any = spec.loader
        execute = loader.exec_module

        def execute_and_install(module: ModuleType) -> None:
            execute(module)
            _install(module)

        loader.exec_module = execute_and_install
        return spec


def configure() -> None:
    """Have Numba keep this program's kernels in the folders that `place` returns.

    A second call changes nothing.
    """
    caching = sys.modules.get(_WhenImported.NAME)
    if caching is not None:
        if "Locator" not in globals():
            _install(caching)
    elif not any(isinstance(finder, _WhenImported) for finder in sys.meta_path):
        sys.meta_path.insert(0, _WhenImported())
