"""Which records a function of the program reaches.

It serves to choose records for a planted fault, and no test depends on it.  It is noted when the
records are written: the Python functions that an entry calls, and the kernels that they name.
"""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

import numba

from bounds.statement import Statement
from tests.records import claims
from tests.records.files import DATA, read, recorded_names
from tests.records.kinds import KINDS

ROOT = Path(__file__).parents[2]
OWN = ("bounds", "trials", "verify", "reports")
FILE = DATA / "reach.json"
#: Entries that are noted for a function.
MOST = 16
#: A function with a name, a method with its class before it.  Others are ``<lambda>``.
NAME = re.compile(r"\w+(\.\w+)*")


def traced(call: Callable[[], Any]) -> set[tuple[str, str]]:
    """(path, name) of the functions that a call reaches.  A method has its class before it."""
    codes: dict[CodeType, dict[str, Any]] = {}

    def note(frame: FrameType, _event: str, _argument: object) -> None:
        codes.setdefault(frame.f_code, frame.f_globals)  # calls alone: no line is traced

    sys.settrace(note)
    try:
        call()
    finally:
        sys.settrace(None)
    return {place for code, names in codes.items() for place in _places(code, names)}


def _places(code: CodeType, names: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """A function, and the kernels that it names, at any depth."""
    left, seen = [(code, names)], {code}
    while left:
        code, names = left.pop()
        path = Path(code.co_filename)
        if not path.is_relative_to(ROOT) or path.relative_to(ROOT).parts[0] not in OWN:
            continue
        yield path.relative_to(ROOT).as_posix(), code.co_qualname.partition(".<locals>")[0]
        for kernel in _kernels(code, names):
            inner = kernel.py_func
            if inner.__code__ not in seen:
                seen.add(inner.__code__)
                left.append((inner.__code__, inner.__globals__))


def _kernels(code: CodeType, names: dict[str, Any]) -> Iterator[Any]:
    """The kernels that a function names, itself or as parts of modules: ``newton.newton``."""
    found = [names[name] for name in code.co_names if name in names]
    for module in [each for each in found if isinstance(each, ModuleType)]:
        found += [vars(module)[name] for name in code.co_names if name in vars(module)]
    return (each for each in found if isinstance(each, numba.core.registry.CPUDispatcher))


def note_all(kinds: Sequence[str]) -> None:
    """Trace every entry and write the file."""
    note(kinds, {})


def note_new(kinds: Sequence[str]) -> None:
    """Trace the entries that the file does not name, and add what they reach."""
    note(kinds, kept())


def kept() -> dict[str, dict[str, list[str]]]:
    """What the file holds, without functions and entries that are gone."""
    noted = json.loads(FILE.read_text("utf-8"))
    every = noted.pop("entries")
    there = {f"{kind} {name}" for kind in KINDS for name in recorded_names(kind)}
    found = {}
    for path, functions in noted.items():
        defined = names_in(ROOT / path)
        is_python = path.endswith(".py")  # a template's functions are its blocks
        left = {
            name: [every[i] for i in few if every[i] in there]
            for name, few in functions.items()
            if not is_python or name in defined or not NAME.fullmatch(name)
        }
        if (ROOT / path).is_file() and any(left.values()):
            found[path] = {name: few for name, few in left.items() if few}
    return found


def names_in(path: Path) -> set[str]:
    """The functions, classes and constants that a file has, a method with its class before it."""
    if not path.is_file() or path.suffix != ".py":
        return set()
    found: set[str] = set()
    left: list[tuple[ast.AST, str]] = [(ast.parse(path.read_text("utf-8")), "")]
    while left:
        node, before = left.pop()
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            inner = f"{before}{child.name}." if named else before
            found |= {inner.removesuffix(".")} if named else set()
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                found.add(f"{before}{child.id}")
            if isinstance(child, ast.alias):  # a statement that another file defines
                found.add(child.asname or child.name)
            left.append((child, inner))
    return found


def note(kinds: Sequence[str], reached: dict[str, dict[str, list[str]]]) -> None:
    """Trace the entries that are not yet noted, and write the file."""
    known = {e for functions in reached.values() for few in functions.values() for e in few}
    for kind in kinds:
        module = importlib.import_module(f"tests.records.{kind}")
        claims.forget()  # what one kind has asked is asked again, so that it is traced
        entries = recorded_names(kind)
        for name in sorted(entries, key=lambda name: name != "run"):  # others look at its run
            if f"{kind} {name}" in known:
                continue
            old = read(kind, name)
            for path, function in sorted(traced(partial(module.again, name, old))):
                reached.setdefault(path, {}).setdefault(function, []).append(f"{kind} {name}")
    for path, name, claim in statements():
        noted = reached.setdefault(path, {}).setdefault(name, [])
        noted += [f"claims {claim}"] if f"claims {claim}" not in noted else []
    write(reached)


def write(reached: dict[str, dict[str, list[str]]]) -> None:
    """Write the file, with a number for each entry."""
    every = sorted({e for functions in reached.values() for few in functions.values() for e in few})
    number = {entry: i for i, entry in enumerate(every)}
    lines = [f'"entries": {json.dumps(every)}']
    for path, functions in sorted(reached.items()):
        few = {n: [number[e] for e in spread(found)] for n, found in sorted(functions.items())}
        lines.append(f"{json.dumps(path)}: {json.dumps(few, separators=(',', ':'))}")
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def statements() -> Iterator[tuple[str, str, str]]:
    """(path, name, claim): where the statement of a claim is defined."""
    import bounds
    from tests.records.claims import papers

    owners = {id(claim.statement): name for name, claim in papers().items()}
    for info in pkgutil.walk_packages(bounds.__path__, "bounds."):
        for name, thing in vars(importlib.import_module(info.name)).items():
            if isinstance(thing, Statement) and id(thing) in owners:
                yield info.name.replace(".", "/") + ".py", name, owners[id(thing)]


def spread(entries: list[str]) -> list[str]:
    """A few of the entries, spread over them all."""
    n = len(entries)
    return entries if n <= MOST else [entries[i * n // MOST] for i in range(MOST)]
