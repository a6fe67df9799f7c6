"""The tests that one fault is shown to: those nearest to its module.

The mirror of the module in `tests/` comes first, then the files that import the module, then those
named after it or its package, and then those that reach it by the fewest imports, small ones first.
A module of a paper (its statements, experiments and claims) has the claims that use it as
well: the conformance suite of all claims runs over them.  Those whose builders lead to the changed
line come first.

Records that a function reaches come before all of these: they take a second or two.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

#: Files of tests that one fault is shown to, the closest first.
MOST_FILES = 5
#: Imports by which a file of tests may reach the module.
MOST_STEPS = 4
#: Claims of a paper's module that the conformance suite runs over.
MOST_CLAIMS = 8
#: Recorded values that one fault is tried on, and what each function reaches.
MOST_RECORDS = 32
REACH = "tests/records/data/reach.json"
RECORD = "tests/records/test_records.py::test_the_value_is_the_recorded_one[{}]"
SIDES = "tests/bounds/test_side_formulas.py"
CONFORMANCE = "tests/test_every_claim.py"
#: Wide tests of a folder, for modules with few tests of their own.
WIDE = (
    ("verify/cli/", "tests/verify/cli/test_counted.py tests/verify/cli/test_commands.py"),
    ("verify/testing/", "tests/verify/testing/test_planted.py"),
    ("verify/", "tests/verify/test_session.py"),
    ("reports/", "tests/reports/test_assemble.py tests/reports/test_latex.py"),
    ("trials/run/", "tests/trials/run/test_engine.py tests/trials/run/test_executors.py"),
)
_OF_A_PAPER = re.compile(r"(bounds|trials/experiments|verify/claims)/(\w+)/\w+\.py")
#: A text of several lines: prose and programs stand there.
_TEXT = re.compile(r'"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\'', re.DOTALL)
#: A statement that imports, on its line or on the lines of its brackets.
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+[\w.]+[ \t]+import[ \t]+(?:\([^)]*\)|[^\n(]*)|import[ \t]+[^\n]*)",
    re.MULTILINE,
)
#: Another process imports the tree: what this one has imported, all of its children have.
_LIST = """
from verify.papers import catalogue
for claim in catalogue().values():
    print(claim.builder.__module__, claim.builder.__name__, claim.id)
"""


class Nearest:
    """The tests of a tree, and what each of them imports."""

    def __init__(self, root: Path) -> None:
        sources = {
            path.relative_to(root).as_posix(): path.read_text()
            for package in ("tests", "bounds", "trials", "verify", "reports")
            for path in sorted((root / package).rglob("*.py"))
        }
        self._sources = sources
        self._imports = {path: imported(text) for path, text in sources.items()}
        self._size = {path: len(text) for path, text in sources.items()}
        self._tests = [path for path in sources if "/test_" in path]
        self._root = root
        noted = root / REACH
        self._reach = json.loads(noted.read_text("utf-8")) if noted.is_file() else {}
        self._entries = self._reach.pop("entries", [])
        self._recorded = {
            f"{file.parent.name} {file.name.removesuffix('.json')}"
            for file in noted.parent.glob("*/*.json")
        }

    @cached_property
    def _builders(self) -> dict[str, dict[str, str]]:
        return builders(self._root)

    def suites(self, path: str, line: int = 0) -> tuple[str, ...]:
        """The suites of a line of a module, one line of arguments of pytest each."""
        files, records = self.files(path), self.records(path, line)
        found = (" ".join(map(shlex.quote, records)),) if records else ()
        found += (" ".join(files),) if files else ()
        if claims := self.claims(path, line):
            chosen = " or ".join(f"[{name}]" for name in claims)
            found += (f"{CONFORMANCE} -k {shlex.quote(chosen)}",)
        elif mirror_of(path) not in files:
            found += tuple(tests for start, tests in WIDE if path.startswith(start))[:1]
        return found

    def files(self, path: str) -> tuple[str, ...]:
        """The files of tests of a module."""
        module, folder = _module(path), path.rpartition("/")[0]
        paper = _OF_A_PAPER.fullmatch(path)
        own = [t for t in (mirror_of(path), SIDES) if t in self._tests]
        if not (paper and path.startswith("bounds/")):
            own = [t for t in own if t != SIDES]
        direct = [t for t in self._tests if module in self._imports[t]]
        beside = [t for t in self._tests if t.startswith(f"tests/{folder}/")]
        named = [t for t in self._tests if paper and f"{paper[2]}_" in t.rpartition("/")[2]]
        groups = [direct, [mirror_of(f"{folder}.py")], named or self._named_after(path), beside]
        if named and path.startswith("verify/claims/"):  # the tests of experiments know no claims
            groups.remove(named)
        if path.startswith("bounds/"):  # formulas coded a second time
            groups.insert(0, beside)
        steps = self._steps(path)
        ranked = own
        for group in [*groups, list(steps)]:
            ranked += sorted(
                (t for t in group if t in self._tests and t not in ranked),
                key=lambda t: (steps.get(t, MOST_STEPS + 1), self._size[t]),
            )
        return tuple(t for t in ranked if t != CONFORMANCE)[:MOST_FILES]

    def records(self, path: str, line: int) -> tuple[str, ...]:
        """Some recorded values that reach a line, those of its own function first.

        Where none does, they are those that reach another part of the module.
        """
        reached = self._reach.get(path, {})
        source = self._sources.get(path, "")
        around = enclosing(source, line)
        leading = leading_to(source, line) if line else set()
        named = {name for name in reached if name in leading or name.partition(".")[0] in leading}
        found: dict[str, None] = {}
        if path.startswith("verify/claims/"):
            found.update(dict.fromkeys(f"claims {name}" for name in self.claims(path, line)))
        for name in (*around, *sorted(named)) if named or set(around) & set(reached) else reached:
            found.update(dict.fromkeys(self._entries[i] for i in reached.get(name, ())))
        few = [entry for entry in found if entry in self._recorded]
        few = few[: MOST_RECORDS // 2] + _spread(few[MOST_RECORDS // 2 :], MOST_RECORDS // 2)
        return tuple(RECORD.format(entry) for entry in few)

    def _named_after(self, path: str) -> list[str]:
        """The tests in the folder of a module, or one above, with its name or its package's."""
        folder, _, file = path.rpartition("/")
        above, _, package = folder.rpartition("/")
        words = {package, _first_word(file)}
        places = {f"tests/{folder}", f"tests/{above}"}
        return [
            t
            for t in self._tests
            if t.rpartition("/")[0] in places
            and _first_word(t.rpartition("/")[2].removeprefix("test_")) in words
        ]

    def _steps(self, path: str) -> dict[str, int]:
        """File -> the number of imports by which it reaches a module, where they are few."""
        reached = {path: 0}
        for step in range(1, MOST_STEPS + 1):
            names = {_module(each) for each, at in reached.items() if at == step - 1}
            for each in self._sources:
                if each not in reached and self._imports[each] & names:
                    reached[each] = step
        return reached

    def claims(self, path: str, line: int = 0) -> tuple[str, ...]:
        """Some claims of a paper that use a line of a module, those of the same topic first."""
        paper = _OF_A_PAPER.fullmatch(path)
        if paper is None:
            return ()
        own = self._builders.get(path, {})
        leading = leading_to(self._sources[path], line) if own and line else set()
        found = [claim for claim, builder in own.items() if builder in leading]
        if found:
            return tuple(_some(found))
        beside = f"verify/claims/{paper[2]}/{path.rpartition('/')[2]}"
        found = list(self._builders.get(beside, ()))
        new = reached = {path, beside}
        while new and len(found) < MOST_CLAIMS:
            new = self._users(new, paper[2]) - reached
            reached = reached | new
            for topic in sorted(new):
                found += self._builders.get(topic, ())
        return tuple(_some(found))

    def _users(self, of: Iterable[str], paper: str) -> set[str]:
        """The paper's modules that import one of these."""
        modules = {path.removesuffix(".py").replace("/", ".") for path in of}
        return {
            path
            for path, names in self._imports.items()
            if (match := _OF_A_PAPER.fullmatch(path)) and match[2] == paper and names & modules
        }


def mirror_of(path: str) -> str:
    """The file of tests at a module's place in `tests/`, whether or not there is one."""
    folder, _, file = path.rpartition("/")
    return f"tests/{folder}/test_{file}"


def _module(path: str) -> str:
    """The name under which a file is imported."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _first_word(file: str) -> str:
    return file.removesuffix(".py").partition("_")[0]


def _some(claims: list[str]) -> list[str]:
    """A few of the claims, spread over them all."""
    return _spread(claims, MOST_CLAIMS)


def _spread(items: list[str], most: int) -> list[str]:
    """A few of the items, spread over them all."""
    return items[:: -(-len(items) // most) or 1]


def builders(root: Path) -> dict[str, dict[str, str]]:
    """Module of claims -> the claims that it builds, each with the name of its builder."""
    printed = subprocess.run(
        [sys.executable, "-c", _LIST], cwd=root, check=True, capture_output=True, text=True
    ).stdout
    listed: dict[str, dict[str, str]] = {}
    for row in printed.splitlines():
        module, builder, claim = row.split()
        listed.setdefault(module.replace(".", "/") + ".py", {})[claim] = builder
    return listed


def leading_to(source: str, line: int) -> set[str]:
    """The functions and values of a module that use, at any depth, what stands on a line."""
    users: dict[str, set[str]] = {}
    start = ""
    for node in ast.parse(source).body:
        for name in defined(node):
            for used in ast.walk(node):
                if isinstance(used, ast.Name):
                    users.setdefault(used.id, set()).add(name)
            if node.lineno <= line <= (node.end_lineno or 0):
                start = name
    found: set[str] = set()
    new = {start} - {""}
    while new:
        found |= new
        new = {user for name in new for user in users.get(name, ())} - found
    return found


def enclosing(source: str, line: int) -> list[str]:
    """The function at a line, with its class before it, and the class: the inner one first."""
    found: list[str] = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and _holds(node, line):
            inner = node.body if isinstance(node, ast.ClassDef) else []
            methods = [n for n in inner if isinstance(n, ast.FunctionDef) and _holds(n, line)]
            found = [*(f"{node.name}.{method.name}" for method in methods), node.name]
    return found


def _holds(node: ast.FunctionDef | ast.ClassDef, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or 0)


def defined(node: ast.stmt) -> list[str]:
    """The names that a statement at the top of a module defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign):
        targets = [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def imported(source: str) -> set[str]:
    """The modules that a file imports, with their names and their packages.

    Only the lines that import are parsed, outside of texts: all files take three CPU seconds.
    """
    names: set[str] = set()
    for found in _IMPORT.finditer(_TEXT.sub("", source)):
        for node in _parsed(found[0].strip()):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module)
                names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def _parsed(line: str) -> list[ast.stmt]:
    """The statements of a line, none where it is a line of prose."""
    try:
        return ast.parse(line).body
    except SyntaxError:
        return []
