"""The texts of the modules that this process runs, and which of them a module depends on.

A snapshot of the package's sources is taken before any other module of it is imported.  Digests of
this snapshot name the compiled kernels and the simulated blocks.  A file that changes on disk later
is noticed by its size and its time of change.

A module's *closure* is the module and everything that it imports, directly or through others,
within the sources that belong to this program: the packages `trials`, `bounds` and `verify`, and a
user's own modules.  The standard library and installed packages are left out.  The import
statements are read from the text.  A module that imports by a computed name (`import_module`,
`__import__`, `exec`, `eval`) is taken to depend on every module of its package.  Packages that a
dotted name only passes through are left out: their ``__init__`` must not alter other modules.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib.util
import re
import sys
import sysconfig
import threading
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

#: The packages of this program whose import statements are followed.
PACKAGES = frozenset({"trials", "bounds", "verify"})
#: Installed packages that are named by their version and never by their text.
LIBRARIES = frozenset({"numpy", "numba", "llvmlite", "scipy"})
#: Modules that were loaded from a file of no package are named by this and the file's SHA-256.
USER_PREFIX = "cfl_verify_user_"
_DYNAMIC = frozenset({"import_module", "__import__", "exec", "eval", "run_path", "run_module"})
#: An import statement where one can begin.  Matches overlap, so that no string hides a statement.
_IMPORT = re.compile(
    rb"(?:^|[;:])(?=[ \t\f]*("
    rb"(?:from\b(?:[^;\n#(\\]|\\\r?\n)*?\bimport\b|import\b)"
    rb"(?:[ \t\f]*\((?:[^()#]|#[^\n]*)*\)|(?:[^;\n#\\]|\\\r?\n)*)))",
    re.MULTILINE,
)
_DYNAMIC_WORDS = re.compile(rb"\b(" + "|".join(sorted(_DYNAMIC)).encode() + rb")\b")


@dataclass(frozen=True, kw_only=True)
class Source:
    """The text of one module as it was when the snapshot was taken.

    Attributes
    ----------
    name : dotted module name.
    path : its file, or None for a text that came with a task.
    text : the source, as bytes.
    digest : SHA-256 of the text, hexadecimal.
    stamp : (time of change in ns, size) of the file when it was read.
    own : False for a module of an installed package other than this program.
    """

    name: str
    path: Path | None
    text: bytes
    digest: str
    stamp: tuple[int, int] | None
    own: bool = True


_lock = threading.RLock()
_sources: dict[str, Source] = {}
_imports: dict[str, frozenset[str]] = {}
_packages_read: set[str] = set()
_unchanged: dict[str, tuple[tuple[int, int], bool]] = {}


def _read(name: str, path: Path, own: bool = True) -> Source:
    status = path.stat()
    text = path.read_bytes()
    return Source(
        name=name,
        path=path,
        text=text,
        digest=hashlib.sha256(text).hexdigest(),
        stamp=(status.st_mtime_ns, status.st_size),
        own=own,
    )


def _module_name(package: str, folder: Path, path: Path) -> str:
    parts = path.relative_to(folder).with_suffix("").parts
    if parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join((package, *parts))


def add_package(package: str, folder: Path) -> None:
    """Take the snapshot of a whole package.  A second call changes nothing."""
    with _lock:
        if package in _packages_read:
            return
        _packages_read.add(package)
        for path in sorted(folder.rglob("*.py")):
            name = _module_name(package, folder, path)
            _sources.setdefault(name, _read(name, path))


def add_text(name: str, text: bytes) -> None:
    """Add a module whose text came with a task, or was read by the caller."""
    digest = hashlib.sha256(text).hexdigest()
    with _lock:
        _sources[name] = Source(name=name, path=None, text=text, digest=digest, stamp=None)


def remove(name: str) -> None:
    """Forget a module that could not be loaded."""
    with _lock:
        _sources.pop(name, None)


def source(name: str, packages: frozenset[str] = frozenset()) -> Source | None:
    """The source of a module of this program, added to the snapshot when it is new.

    Parameters
    ----------
    name : dotted module name.
    packages : installed packages that count as part of the program too.

    Returns
    -------
    The source, or None for a module of the standard library, of another installed package, or one
    that has no Python file (a prompt, a compiled extension).
    """
    top = name.partition(".")[0]
    with _lock:
        if top in PACKAGES and top not in _packages_read:
            _add_by_spec(top)
        known = _sources.get(name)
        if known is None and top not in PACKAGES | LIBRARIES | sys.stdlib_module_names:
            path = _file(name)
            if path is not None:
                own = not _is_installed(path)
                if own or top in packages:
                    known = _sources[name] = _read(name, path, own=own)
        return known if known is not None and (known.own or top in packages) else None


def _add_by_spec(package: str) -> None:
    module = sys.modules.get(package)
    file = getattr(module, "__file__", None)
    if file is None:
        try:
            spec = importlib.util.find_spec(package)
        except (ImportError, ValueError):
            spec = None
        file = spec.origin if spec is not None else None
    if file is not None:
        add_package(package, Path(file).parent)
    _packages_read.add(package)


def _file(name: str) -> Path | None:
    file = getattr(sys.modules.get(name), "__file__", None)
    if not isinstance(file, str) or not file.endswith(".py"):
        return None
    path = Path(file)
    return path if path.is_file() else None


#: Folders that hold installed packages carry one of these names, in every environment that this
#: one reaches: the base of a virtual environment, the user's own, one that a ``.pth`` file adds.
_INSTALLED = frozenset({"site-packages", "dist-packages"})


@cache
def _installed_folders() -> tuple[Path, ...]:
    kinds = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = {sysconfig.get_path(kind) for kind in kinds}
    return tuple(Path(folder).resolve() for folder in folders if folder)


def _is_installed(path: Path) -> bool:
    """Whether a file belongs to the standard library or to an installed package."""
    resolved = path.resolve()
    if not _INSTALLED.isdisjoint(resolved.parts):
        return True
    return any(resolved.is_relative_to(folder) for folder in _installed_folders())


def _statements(text: bytes) -> list[ast.stmt]:
    """The import statements of a text.

    Each is parsed alone, which takes a tenth of the time of the whole.  A line of a string that
    reads like an import statement is taken for one.
    """
    found: list[ast.stmt] = []
    for match in _IMPORT.finditer(text):
        with contextlib.suppress(SyntaxError, ValueError):  # a sentence of a docstring
            found.extend(ast.parse(match[1]).body)
    return found


def _imported_names(text: bytes, name: str, is_package: bool) -> frozenset[str]:
    """Every dotted name that an import statement of the text could mean.

    A computed name is listed as "*".
    """
    nodes: Iterable[ast.AST] = _statements(text)
    if _DYNAMIC_WORDS.search(text) is not None:
        try:
            nodes = ast.walk(ast.parse(text))
        except (SyntaxError, ValueError):
            return frozenset({"*"})
    package = name if is_package else name.rpartition(".")[0]
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            # "import a.b" also gives access to all that lies below a.b
            found.update(f"{alias.name}.*" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                parents = parents[: len(parents) - node.level + 1]
                base = ".".join([*parents, base] if base else parents)
            found.add(base)
            found.update(f"{base}.{alias.name}" for alias in node.names)
        elif (isinstance(node, ast.Name) and node.id in _DYNAMIC) or (
            isinstance(node, ast.Attribute) and node.attr in _DYNAMIC - {"eval", "exec"}
        ):
            found.add("*")
    return frozenset(found)


def _direct(known: Source, packages: frozenset[str]) -> set[str]:
    """The modules of this program that one module imports."""
    key = f"{known.name}:{known.digest}"
    if key not in _imports:
        is_package = known.path is not None and known.path.name == "__init__.py"
        _imports[key] = _imported_names(known.text, known.name, is_package)
    below: set[str] = set()
    found: set[str] = set()
    for name in _imports[key]:
        if name == "*":
            below.add(known.name.partition(".")[0])
        elif name.endswith(".*"):
            below.add(name[:-2])
        elif source(name, packages) is not None:
            found.add(name)
    for base in below:
        if source(base, packages) is not None:
            found.add(base)
            found.update(n for n in _sources if n.startswith(base + "."))
    return found


def closure(names: Iterable[str]) -> tuple[Source, ...]:
    """The sources that modules depend on, the modules included, ordered by name.

    An installed package to which one of the modules belongs is part of the program here, unless it
    is one of the numerical libraries.  Modules without a Python file are left out.
    """
    names = tuple(names)
    packages = frozenset(name.partition(".")[0] for name in names) - LIBRARIES
    with _lock:
        todo = list(names)
        found: dict[str, Source] = {}
        while todo:
            name = todo.pop()
            known = None if name in found else source(name, packages)
            if known is not None:
                found[name] = known
                todo.extend(_direct(known, packages))
        return tuple(found[name] for name in sorted(found))


def find_changed(sources: Iterable[Source]) -> list[str]:
    """The names of those whose file on disk no longer holds the text of the snapshot."""
    return [known.name for known in sources if _has_changed(known)]


def _has_changed(known: Source) -> bool:
    if known.path is None or known.stamp is None:
        return False
    try:
        status = known.path.stat()
        stamp = (status.st_mtime_ns, status.st_size)
        if stamp == known.stamp:
            return False
        key = str(known.path)
        if key not in _unchanged or _unchanged[key][0] != stamp:
            same = known.path.read_bytes() == known.text  # the file was only touched
            _unchanged[key] = stamp, same
        return not _unchanged[key][1]
    except OSError:
        return True


def snapshot() -> dict[str, Source]:
    """Every module that is known so far, by name."""
    with _lock:
        return dict(sorted(_sources.items()))


def hash_sources(sources: Iterable[Source], *more: str) -> str:
    """One SHA-256, hexadecimal, of the names and texts of sources and of further strings."""
    digest = hashlib.sha256()
    for known in sources:
        digest.update(f"{known.name}\0{known.digest}\n".encode())
    for text in more:
        digest.update(f"{text}\n".encode())
    return digest.hexdigest()


def user_files() -> list[str]:
    """The files of the user's that this process has loaded, in their order."""
    modules = list(sys.modules.items())
    return [str(module.__file__) for name, module in modules if name.startswith(USER_PREFIX)]


def user_line(error: BaseException) -> traceback.FrameSummary | None:
    """The last line of a user's file that an error passed, None where it passed none.

    What this program or a package refuses further inside was given to it by that line.
    """
    own = user_files()
    frames = reversed(traceback.extract_tb(error.__traceback__))
    return next((frame for frame in frames if frame.filename in own), None)
