"""The dependencies of a module are read from its import statements."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import ModuleType

import pytest

from trials import sources


def _names(*modules):
    return {known.name for known in sources.closure(modules)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import a.b", {"a.b.*"}),
        ("import a.b as c, d", {"a.b.*", "d.*"}),
        ("from a import b", {"a", "a.b"}),
        ("from . import b", {"p", "p.b"}),
        ("from .b import c", {"p.b", "p.b.c"}),
        ("from ..b import c", {"b", "b.c"}),
        ("def f():\n    from a import (b,\n        c)", {"a", "a.b", "a.c"}),
        ("from .b import(c)", {"p.b", "p.b.c"}),
        ("from.b import c; import d", {"p.b", "p.b.c", "d.*"}),
        ("try: import a\nexcept ImportError: from b import c", {"a.*", "b", "b.c"}),
        ("from a import (  # all (of it)\n    b,  # and )\n    c,\n)", {"a", "a.b", "a.c"}),
        ("from a \\\n    import b, \\\n    c", {"a", "a.b", "a.c", "b.*", "c.*"}),
        ("import a . b, \\\r\n  c", {"a.b.*", "c.*"}),
        ("s = '''\nfrom a import (see\n'''\nfrom b import c\n(1)", {"b", "b.c"}),
        ("def f():\n\timport a  # import b", {"a.*"}),
        ("important = 1\nfrom_ = imports = 2\nx.import_ = 3", set()),
        ("import_module('a')", {"*"}),
        ("importlib.import_module(name)", {"importlib", "*"} - {"importlib"}),
        ("__import__('a')", {"*"}),
        ("if TYPE_CHECKING:\n    import a", {"a.*"}),
        ("model.eval()", set()),
        ("exec this is no Python", {"*"}),
    ],
)
def test_import_statements(text, expected):
    assert sources._imported_names(text.encode(), "p.m", is_package=False) == expected


@pytest.mark.parametrize("package", ["trials/run", "trials/clustering", "trials/ifca"])
def test_no_statement_of_the_whole_text_parsed_is_missed(package):
    def names(nodes):
        found = (n for n in nodes if isinstance(n, ast.Import | ast.ImportFrom))
        return {ast.unparse(n) for n in found}

    for path in (Path(sources.__file__).parents[1] / package).rglob("*.py"):
        text = path.read_bytes()
        assert names(sources._statements(text)) >= names(ast.walk(ast.parse(text))), path


def test_closures_in_this_package():
    assert _names("trials.laws.step") >= {
        "trials.laws.step",
        "trials.laws.wishart",
        "trials.checks",
    }
    assert _names("trials.norms") == {
        "trials.norms",
        "trials.checks",
        "trials.compiling",
        "trials.kernel",
    }
    assert _names("trials.text") == {"trials.text"}
    assert _names("numpy", "math", "no.such.module") == set()
    whole = {name for name in sources.snapshot() if name.startswith("trials")}
    assert _names("trials.run.origin") >= whole  # it loads files by computed names


def test_every_module_of_the_package_is_in_the_snapshot_with_its_text():
    known = sources.source("trials.sources")
    assert known is not None
    assert known.path is not None
    assert known.path.read_bytes() == known.text
    assert sources.source("trials.no_such_module") is None


def test_a_touched_file_has_not_changed_and_an_edited_or_removed_one_has(tmp_path):
    path = tmp_path / "m.py"
    path.write_text("x = 1\n")
    known = sources._read("m", path)
    assert sources.find_changed([known]) == []
    path.write_text("x = 1\n")
    assert sources.find_changed([known]) == []
    path.write_text("x = 2\n")
    assert sources.find_changed([known]) == ["m"]
    path.unlink()
    assert sources.find_changed([known]) == ["m"]


def test_an_installed_package_counts_only_as_the_root_of_its_own_closure(tmp_path, monkeypatch):
    """Caller and worker must find the same closure, independently of earlier calls."""
    folder = tmp_path / "installed"
    (folder / "paper_pkg").mkdir(parents=True)
    (folder / "paper_pkg" / "__init__.py").write_text("")
    (folder / "paper_pkg" / "base.py").write_text("import trials.norms\n")
    (folder / "paper_pkg" / "top.py").write_text("from paper_pkg import base\n")
    (tmp_path / "user_module.py").write_text("import paper_pkg.top\n")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sources, "_is_installed", lambda path: folder in path.parents)
    monkeypatch.setattr(sources, "_sources", dict(sources._sources))  # what it reads now is wrong
    __import__("user_module")
    whole = {"paper_pkg", "paper_pkg.base", "paper_pkg.top", "trials.norms"}
    for _ in range(2):
        assert _names("user_module") == {"user_module"}
        assert _names("paper_pkg.top") >= whole


def test_packages_of_another_environment_on_the_path_are_installed_ones(tmp_path, monkeypatch):
    """A virtual environment with the packages of its base: those are no texts of this program."""
    for folder in ("lib/python3/site-packages", "lib/python3/dist-packages"):
        package = tmp_path / folder / f"other_{Path(folder).name[:4]}"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("import trials.norms\n")
        monkeypatch.syspath_prepend(package.parent)
        __import__(package.name)
        assert sources.source(package.name) is None
    (tmp_path / "mine_alone.py").write_text("import other_site, other_dist\n")
    monkeypatch.syspath_prepend(tmp_path)
    __import__("mine_alone")
    assert _names("mine_alone") == {"mine_alone"}


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("p", "from . import b", {"p", "p.b"}),
        ("p", "from .b import c", {"p.b", "p.b.c"}),
        ("p.q", "from . import b", {"p.q", "p.q.b"}),
        ("p.q", "from .. import b", {"p", "p.b"}),
        ("p.q", "from ..b import c", {"p.b", "p.b.c"}),
        ("p.q.r", "from ...b import c", {"p.b", "p.b.c"}),
        ("p.q", "from a import b", {"a", "a.b"}),
    ],
)
def test_one_dot_in_a_package_is_the_package_itself(name, text, expected):
    assert sources._imported_names(text.encode(), name, is_package=True) == expected


def test_the_closure_of_a_users_package_follows_its_relative_imports(tmp_path, monkeypatch):
    """What Python imports for the package is what the closure lists, and no more."""
    texts = {
        "own_pack/__init__.py": "from . import top\n",
        "own_pack/top.py": "from .low import deep\n",
        "own_pack/low/__init__.py": "from .side import x\n",
        "own_pack/low/side.py": "from .. import base\nx = 1\n",
        "own_pack/low/deep.py": "from ..base import y\n",
        "own_pack/base.py": "y = 2\n",
        "own_pack/alone.py": "from . import base\n",
    }
    for path, text in texts.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sources, "_sources", dict(sources._sources))
    __import__("own_pack")
    loaded = {name for name in sys.modules if name.partition(".")[0] == "own_pack"}
    assert loaded == {
        "own_pack", "own_pack.top", "own_pack.low", "own_pack.low.side", "own_pack.low.deep",
        "own_pack.base",
    }  # fmt: skip
    assert _names("own_pack") == loaded
    assert _names("own_pack.low") == {"own_pack.low", "own_pack.low.side", "own_pack.base"} | {
        "own_pack", "own_pack.top", "own_pack.low.deep"
    }  # fmt: skip
    assert _names("own_pack.base") == {"own_pack.base"}


def test_a_hash_reads_every_letter_of_the_further_strings_and_where_each_ends():
    """The versions of the compiler are such a string, of more letters than a line."""
    found = sources.closure(["trials.sources"])
    long = "numba 0.60 " * 20
    others = ([], [long], [long + "1"], [long, "1"], ["1", long], [long, "", "1"])
    hashes = [sources.hash_sources(found, *more) for more in others]
    assert len(set(hashes)) == len(others)
    assert [sources.hash_sources(found, *more) for more in others] == hashes
    assert sources.hash_sources(found[:-1], long) != hashes[1]


def test_a_link_belongs_where_the_file_lies(tmp_path):
    """A package that is installed for editing is a link to the user's own file."""
    own, installed = tmp_path / "mine.py", tmp_path / "site-packages" / "theirs.py"
    installed.parent.mkdir()
    for path in (own, installed):
        path.write_text("")
    (tmp_path / "linked.py").symlink_to(installed)
    (installed.parent / "editable.py").symlink_to(own)
    found = {path: sources._is_installed(path) for path in tmp_path.rglob("*.py")}
    assert found == {
        own: False, installed: True, tmp_path / "linked.py": True,
        installed.parent / "editable.py": False,
    }  # fmt: skip


@pytest.fixture
def unread(tmp_path, monkeypatch):
    """A process that has read no package of this program and stands in a folder of other texts."""
    for name in ("_sources", "_packages_read", "_imports"):
        monkeypatch.setattr(sources, name, type(getattr(sources, name))())
    (tmp_path / "ifca").mkdir()
    for name in ("shown.py", "ifca/rate.py"):
        (tmp_path / name).write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _texts(package):
    """The texts below a package's folder, by the names that Python imports them by."""
    found = {}
    for path in package.rglob("*.py"):
        name = ".".join(path.relative_to(package.parent).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path.read_bytes()
    return found


def test_a_package_that_was_not_imported_yet_is_read_where_python_finds_it(unread, monkeypatch):
    """A worker has imported `trials` alone, and a module that it is sent may use the bounds."""
    monkeypatch.delitem(sys.modules, "bounds", raising=False)
    assert sources.source("bounds.no_such_module") is None
    folder = Path(sources.__file__).parents[1] / "bounds"
    assert {name: known.text for name, known in sources.snapshot().items()} == _texts(folder)
    assert "bounds" not in sys.modules  # it is found and not imported


def test_a_package_that_was_imported_is_read_where_it_came_from(unread, monkeypatch):
    """Python might find another one by now, as after a change of its path."""
    folder = unread / "elsewhere" / "bounds"
    (folder / "low").mkdir(parents=True)
    for name, text in (("__init__", ""), ("low/__init__", "y = 1\n"), ("low/deep", "z = 2\n")):
        (folder / f"{name}.py").write_text(text)
    package = ModuleType("bounds")
    package.__file__ = str(folder / "__init__.py")
    monkeypatch.setitem(sys.modules, "bounds", package)
    assert sources.source("bounds.low.deep").text == b"z = 2\n"
    found = {name: known.text for name, known in sources.snapshot().items()}
    assert found == {"bounds": b"", "bounds.low": b"y = 1\n", "bounds.low.deep": b"z = 2\n"}


def test_a_package_that_python_does_not_find_has_no_sources(unread, monkeypatch):
    """A module that stands for it may have neither a file nor a specification."""
    monkeypatch.setitem(sys.modules, "bounds", ModuleType("bounds"))
    for _ in range(2):
        assert sources.source("bounds.ifca") is None
    assert sources.snapshot() == {}
