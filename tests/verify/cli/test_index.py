"""The index: right after every change, private, and quick because nothing slow is imported."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from verify.cli import index
from verify.papers import catalogue

ROOT = Path(__file__).resolve().parents[3]
#: What no command that only looks at claims may load.
SLOW = ("numpy", "scipy", "sympy", "numba", "statsmodels", "matplotlib", "trials.run.store")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "cfl-verify" / "catalogue"


@pytest.fixture
def small(monkeypatch):
    """Building the index takes no time."""
    monkeypatch.setattr(index, "_build", lambda _files: {"ifca.thm1": {"expected": "SUPPORTED"}})


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A cache folder in which a call has left the index, and it.

    All tests of a user share one index of these sources, which takes 5 CPU seconds.
    """
    folder = tmp_path_factory.mktemp("kept")
    shared = index._path()
    if shared is not None:
        index.entries(())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        if shared is not None:
            shutil.copy(shared, index._path())
        built = index.entries(())
    return folder, built


def told(arguments, folder):
    """Output, and the slow modules that a call of the program has loaded."""
    code = (
        f"import sys; sys.argv[1:] = {arguments}\n"
        "from verify.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        f"print(','.join(m for m in {SLOW} if m in sys.modules), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "XDG_CACHE_HOME": str(folder), "PYTHONPATH": str(ROOT)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr.splitlines()[-1]


def test_the_stored_index_is_the_built_one_and_is_the_catalogue(kept, monkeypatch):
    folder, built = kept
    (file,) = (folder / "cfl-verify" / "catalogue").iterdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    assert index.entries(()) == built == json.loads(file.read_text())["claims"]
    assert list(built) == list(catalogue())
    assert {n: e["expected"] for n, e in built.items()} == {
        n: str(c.expected) for n, c in catalogue().items()
    }


def test_the_stored_entries_are_those_of_the_sources(kept):
    """Claims of each paper, built anew: of trials, of searches, and of a refuted one."""
    _, built = kept
    few = ["ifca.thm1", "ifca.thm1-as-printed", "odcl.eq11", "sxy.eq35", "sxy.lemma6"]
    anew = index._build((), [name for name in built if name not in few])
    assert anew == {name: built[name] for name in built if name in few}
    assert len(anew) == len(few)


def test_a_changed_source_makes_a_new_index(tmp_path, monkeypatch):
    package = tmp_path / "some_paper"
    package.mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    digests = set()
    for content in ("x = 1\n", "x = 2\n", "x = 1\n"):
        (package / "__init__.py").write_text(content)
        digests.add(index.sources_digest(("some_paper",)))
    (package / "more.py").write_text("")
    digests.add(index.sources_digest(("some_paper",)))
    assert len(digests) == 3
    assert "some_paper" not in sys.modules


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 0}', '{"format": 1, "claims": 3}'])
def test_a_damaged_index_is_made_again(cache, small, content):
    built = index.entries(())
    (file,) = cache.iterdir()
    file.write_text(content)
    assert index.entries(()) == built


def test_the_six_newest_indices_are_kept_with_the_one_that_was_written_now(cache, small):
    cache.mkdir(parents=True)
    for age in range(1, 9):
        (cache / f"{age}.json").write_text("{}")
        os.utime(cache / f"{age}.json", (1000 - age, 1000 - age))
    (cache / "notes.txt").touch()
    index.entries(())
    others = {path.name for path in cache.iterdir()} - {index._path().name, "notes.txt"}
    assert others == {f"{age}.json" for age in range(1, 6)}
    assert index._path().is_file()
    assert (cache / "notes.txt").is_file()


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners and modes here")
def test_an_index_that_others_can_write_is_not_read(cache, small, monkeypatch):
    built = index.entries(())
    (file,) = cache.iterdir()
    planted = json.dumps({"format": 1, "claims": {"planted": {}}})
    file.write_text(planted)
    for mode in (0o666, 0o660, 0o602):  # all others, the group alone, the others alone
        file.write_text(planted)
        file.chmod(mode)
        assert index.entries(()) == built
    file.write_text(planted)
    file.chmod(0o600)
    for mode in (0o777, 0o770, 0o702):
        cache.chmod(mode)
        assert index.entries(()) == built
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert index.entries(()) == built


def test_without_a_folder_to_write_to_the_index_is_built_each_time(tmp_path, small, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert list(index.entries(())) == ["ifca.thm1"]
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    assert list(index.entries(())) == ["ifca.thm1"]
    assert not Path("relative").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["run", "--help"],
        ["resume", "--help"],
        ["list"],
        ["list", "--json"],
        ["info", "ifca.thm1"],
        ["info", "ifca.thm1", "--cells", "--profile", "full"],
        ["completion", "bash"],
    ],
)
def test_looking_loads_nothing_slow(arguments, kept):
    """The aim is half a second of wall time.  The imported modules decide it on every machine."""
    output, slow = told(arguments, kept[0])
    assert slow == ""
    assert output


@pytest.mark.parametrize("library", ["numpy", "scipy", "sympy"])
def test_another_build_of_a_library_makes_a_new_index(library, tmp_path, monkeypatch):
    """By its file's time or size: numbers and formulas of the index come from these libraries."""
    files = {name: tmp_path / name for name in ("numpy", "scipy", "sympy")}
    for path in files.values():
        path.write_text("old")
        os.utime(path, ns=(10**18, 10**18))
    origin = index._origin
    monkeypatch.setattr(index, "_origin", lambda name: files.get(name) or origin(name))
    digests = [index.sources_digest(())]
    os.utime(files[library], ns=(10**18, 10**18 + 1))
    digests.append(index.sources_digest(()))
    files[library].write_text("newer")
    os.utime(files[library], ns=(10**18, 10**18))
    digests.append(index.sources_digest(()))
    assert len(set(digests)) == 3
    files[library].write_text("old")
    os.utime(files[library], ns=(10**18, 10**18))
    assert index.sources_digest(()) == digests[0]
