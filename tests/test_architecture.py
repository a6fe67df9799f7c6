"""The project's rules, read from the sources: imports, packages, kernels, tracked text."""

import ast
import graphlib
import importlib
import pkgutil
import re
import subprocess
import tomllib
from functools import cache

import pytest
from numba.core.caching import FunctionCache

import trials.experiments
import trials.norms
from tests.parsed import ROOT, SOURCES, trees, walk
from trials.run.experiment import Experiment

HOUSE = ("bounds", "trials", "verify", "reports")
ALLOWED = {
    "bounds": set(),
    "trials": set(),
    "verify": {"bounds", "trials"},
    "reports": {"trials"},
}


def statements(tree):
    """Every statement, wherever it stands.  Expressions hold none, and are most of a tree."""
    todo = [tree]
    while todo:
        for node in ast.iter_child_nodes(todo.pop()):
            if isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):
                yield node
                todo.append(node)


def imported(tree):
    """Top-level names of every import, wherever it stands."""
    for node in statements(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").split(".")[0] if not node.level else "."


def forbidden(package, names):
    """The imports that a module of a package may not have."""
    others = {".", "tests", *HOUSE} - {package}  # "." is an import that is not absolute
    return names & (others - ALLOWED[package])


def test_imports_follow_the_arrows():
    found = {
        str(path.relative_to(ROOT)): wrong
        for path, tree in trees().items()
        if (wrong := forbidden(path.relative_to(ROOT).parts[0], set(imported(tree))))
    }
    assert len(trees()) > 300
    assert found == {}


def modules_and_imports():
    """Every module with the project's modules that it imports, at any place in its text."""
    names = {
        ".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): p
        for p in SOURCES
    }
    for name, path in names.items():
        found = set()
        for node in statements(trees()[path]):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        # A package's ``__init__`` imports its own modules, which is not counted as a circle.
        inside = {n for n in found & set(names) if not n.startswith(f"{name}.")}
        yield name, inside - {name}


def circle(graph):
    """The first circle of modules that import each other, empty where there is none."""
    try:
        list(graphlib.TopologicalSorter(graph).static_order())
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def test_no_import_circle_counting_imports_inside_functions():
    assert circle(dict(modules_and_imports())) == []


def test_every_import_of_the_sources_is_among_the_statements():
    """Compared with all nodes of the trees, in the package with the most imports in functions."""
    kinds = (ast.Import, ast.ImportFrom)
    some = [tree for path, tree in trees().items() if path.parent.name in ("cli", "benchmark")]
    assert len(some) > 20
    for tree in some:
        every = sum(isinstance(node, kinds) for node in ast.walk(tree))
        assert sum(isinstance(node, kinds) for node in statements(tree)) == every


def test_a_circle_would_be_seen():
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"a"}})) == {"a", "b", "c"}


def test_a_wrong_arrow_would_be_seen():
    source = "def late():\n    from verify.claim import Claim\n    import reports.model as r\n"
    assert set(imported(ast.parse(source))) == {"verify", "reports"}
    assert forbidden("trials", set(imported(ast.parse(source)))) == {"verify", "reports"}
    assert forbidden("bounds", set(imported(ast.parse("from . import x\nimport tests")))) == {
        ".",
        "tests",
    }
    assert not forbidden("verify", {"verify", "bounds", "trials", "numpy"})


def test_every_package_is_listed_and_every_listed_package_exists():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    listed = set(project["tool"]["setuptools"]["packages"])
    folders = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in SOURCES
        if path.name == "__init__.py"
    }
    with_code = {".".join(path.parent.relative_to(ROOT).parts) for path in SOURCES}
    assert listed == folders == with_code


#: The decorators of `trials.kernel`.
KERNELS = ("kernel", "inner_kernel")


def decorators(tree):
    """(function, decorator, keyword arguments) of everything compiled in a module."""
    for node in statements(tree):
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                call = decorator.func if isinstance(decorator, ast.Call) else decorator
                name = call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "")
                if name in (*KERNELS, "njit", "jit", "vectorize", "guvectorize"):
                    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
                    yield node, name, {k.arg for k in keywords}


@cache
def kernels():
    """(path, function, decorator, names of options) of everything compiled."""
    return [(path, *found) for path, tree in trees().items() for found in decorators(tree)]


def test_every_kernel_is_cached_and_releases_the_interpreter():
    """Two decorators say so, and no kernel has another or changes what they say."""
    assert len(kernels()) > 200
    for path, function, decorator, options in kernels():
        where = f"{path.relative_to(ROOT)}:{function.lineno} {function.name}"
        assert decorator in KERNELS, where
        assert options <= {"fastmath", "error_model"}, where
    stated = trials.norms.length.targetoptions
    assert (stated["nogil"], stated["no_cfunc_wrapper"]) == (True, True)
    assert "parallel" not in stated
    assert isinstance(trials.norms.length._cache, FunctionCache)


def module_of(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports(tree):
    """The names that a module takes from others: name -> (module, name there)."""
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in statements(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def reads_of_python(path, tree):
    """What a module reads outside kernels of its own kernels and of what it imports."""
    within = {id(node) for function, *_ in decorators(tree) for node in walk(function)}
    known = {
        **{function.name: (module_of(path), function.name) for function, *_ in decorators(tree)},
        **imports(tree),
    }
    for node in walk(tree):
        if id(node) in within:
            continue
        if isinstance(node, ast.Name) and node.id in known:
            yield known[node.id]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            package, name = known.get(node.value.id, ("", ""))
            yield f"{package}.{name}", node.attr


def test_only_kernels_call_inner_kernels_and_python_calls_the_others():
    """A kernel that Python calls needs machine code of its own.  Any other one would waste it.

    A name that a package passes on is followed to its module.
    """
    passed_on = {
        (module_of(path), name): found
        for path, tree in trees().items()
        if path.name == "__init__.py"
        for name, found in imports(tree).items()
    }
    read = {
        passed_on.get(found, found)
        for path, tree in trees().items()
        for found in reads_of_python(path, tree)
    }
    for path, function, decorator, _ in kernels():
        by_python = (module_of(path), function.name) in read
        assert by_python == (decorator == "kernel"), f"{module_of(path)}.{function.name}"


def test_a_kernel_that_python_reads_would_be_seen():
    source = """
from trials.kernel import inner_kernel, kernel
from trials.other import hidden, shown
from trials import third

@inner_kernel
def own(x):
    return hidden(x)

@kernel
def outer(x):
    return own(x)

def driver(x):
    return outer(x) + shown(x) + third.last(x)
"""
    found = set(reads_of_python(ROOT / "trials" / "made.py", ast.parse(source)))
    assert {("trials.made", "outer"), ("trials.other", "shown"), ("trials.third", "last")} <= found
    assert not {("trials.made", "own"), ("trials.other", "hidden")} & found


def test_kernels_do_not_raise_or_print():
    for path, function, *_ in kernels():
        where = f"{path.relative_to(ROOT)}:{function.lineno} {function.name}"
        for node in walk(function):
            assert not isinstance(node, ast.Raise), where
            if isinstance(node, ast.Call):
                assert getattr(node.func, "id", "") != "print", where


def shipped_experiments():
    """The experiments that the modules of `trials.experiments` define.

    The registry of this process holds those of tests, of papers and of docstrings as well: which
    ones depends on the tests that ran before.
    """
    package = trials.experiments
    modules = [
        importlib.import_module(info.name)
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]
    defined = {id(x): x for m in modules for x in vars(m).values() if isinstance(x, Experiment)}
    return list(defined.values())


def test_names_and_design_numbers_are_unique_and_small():
    """Numbers from 4e9 up are those of the tests' own experiments and of users'."""
    shipped = shipped_experiments()
    assert len(shipped) > 45
    assert len({e.design for e in shipped}) == len({e.name for e in shipped}) == len(shipped)
    assert [e.name for e in shipped if not 0 < e.design < 4_000_000_000] == []
    in_sources = re.findall(
        r"^ +design=(\d+),", "\n".join(p.read_text() for p in SOURCES), re.MULTILINE
    )
    assert len(in_sources) == len(set(in_sources))


def tracked_texts():
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if path.is_file():
            try:
                yield name, path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue


#: A path of one machine, or the address of a package index.
NOT_PORTABLE = re.compile(
    r"(?<![\w.:/])/(?:home|Users|root|work|mnt|tmp/env)/\w"
    r"|[a-z]:\\\\?users"
    r"|(?:index-url|extra-index)[ =]"
    r"|https?://(?:pypi\.|files\.pythonhosted|[^/\s]*(?:artifactory|nexus|devpi))",
    re.IGNORECASE,
)


#: One of these stands in every such text.  To look for words is thirty times as fast.
SIGNS = (
    *("/home/", "/users/", "/root/", "/work/", "/mnt/", "/tmp/env/", ":\\users", ":\\\\users"),
    *("index-url", "extra-index", "://pypi.", "://files.pythonhosted"),
    *("artifactory", "nexus", "devpi"),
)


def not_portable(text):
    """The first path of one machine or address of a package index, None where there is none."""
    small = text.lower()
    return NOT_PORTABLE.search(text) if any(sign in small for sign in SIGNS) else None


def test_tracked_files_name_no_machine_and_no_package_index():
    found = [
        f"{name}: {match[0]}"
        for name, text in tracked_texts()
        if name != "tests/test_architecture.py" and (match := not_portable(text))
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        *("cd /home/me/x", "'/mnt/data/run'", "--index-url https://x", "https://pypi.org/simple"),
        *("/Users/me", "=/root/x", "(/work/x", "/tmp/env/x", r"C:\Users", r"c:\\users"),
        *("extra-index=x", "http://files.pythonhosted.org", "https://a.artifactory.b"),
        *("http://NEXUS/x", "https://devpi"),
    ],
)
def test_such_text_would_be_seen(text):
    assert not_portable(text)
    assert not not_portable("docs/work/notes and https://example.org/home/page")


def test_every_package_has_a_mirror_of_tests():
    for name in ("bounds", "trials", "verify", "reports"):
        assert any((ROOT / "tests" / name).rglob("test_*.py"))
