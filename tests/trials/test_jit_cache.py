"""Stale machine code is never found, and no other user can put code where kernels are kept."""

from __future__ import annotations

import errno
import fcntl
import gc
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path

import llvmlite.binding
import numba
import numba.core.codegen
import pytest
from numba.core import compiler, event, targetconfig

from trials import jit_cache

ROOT = Path(__file__).parents[2]

only_root = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only root can act for another user"
)

KERNEL = """
from numba import njit
from trials.beta import shift

@njit(cache=True, nogil=True)
def kernel(x):
    return shift(x) + 1.0
"""
HELPER = """
from numba import njit

@njit(cache=True, nogil=True)
def shift(x):
    return x + {value}
"""
PROGRAM = """
import trials, sys
from trials.alpha import kernel
print(kernel(0.0), sum(kernel.stats.cache_hits.values()), kernel._cache.cache_path)
"""


@pytest.fixture
def tree(tmp_path):
    """A copy of the package's foundation with a kernel in one file and its helper in another."""
    return _lay_tree(tmp_path)


@pytest.fixture
def open_tree():
    """The same where other users may read: pytest closes its own folder at each of its starts."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield _lay_tree(Path(folder))


def _lay_tree(folder):
    package = folder / "tree" / "trials"
    package.mkdir(parents=True)
    for name in ("__init__.py", "jit_cache.py", "sources.py"):
        shutil.copy(ROOT / "trials" / name, package / name)
    (package / "alpha.py").write_text(KERNEL)
    (package / "beta.py").write_text(HELPER.format(value=1.0))
    (package / "gamma.py").write_text("x = 1\n")
    return folder


#: It has imported Numba and compiled once, but nothing of the package, and forks for every program.
#: What a program sees is what a new process sees that imports Numba first.
NURSERY = """
import json, os, sys
import numba.core.caching
numba.njit(lambda x: x)(1.0)
for line in sys.stdin:
    program, folder, variables, streams = json.loads(line)
    child = os.fork()
    if not child:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
for number, stream in enumerate((os.devnull, *streams)):
    os.dup2(os.open(stream, os.O_RDWR | os.O_CREAT), number)
sys.stdin = open(0, closefd=False)
os.chdir(folder)
os.environ.clear()
os.environ.update(variables)
numba.config.reload_config()  # as every compilation does; here before the package reads the options
sys.path[:] = ["", variables["PYTHONPATH"], *sys.path[1:]]
del json, line, number, stream, streams, child, folder
exec(compile(program, "<string>", "exec"))
"""


@pytest.fixture(scope="module", autouse=True)
def nursery():
    """One process for the programs of this file, without the imports of each."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    process = subprocess.Popen(
        [sys.executable, "-c", NURSERY],
        env={**clean, "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    _NURSERY.append(process)
    yield
    _NURSERY.clear()
    process.communicate()


_NURSERY: list[subprocess.Popen[str]] = []


def _run(folder, program=PROGRAM, *, new=False, **environment):
    """Run a program of the tree: in a fork, or in a ``new`` process."""
    clean = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("NUMBA_", "XDG_", "CFL_VERIFY", "PYTEST"))
    }
    values = {
        **clean,
        "HOME": str(folder / "home"),
        "PYTHONPATH": str(folder / "tree"),
        # An edit of the same length within the same second leaves Python's own bytecode stale.
        "PYTHONDONTWRITEBYTECODE": "1",
        **environment,
    }
    variables = {key: value for key, value in values.items() if value is not None}
    command = [sys.executable, "-c", program]
    if new:
        return subprocess.run(
            command, cwd=folder, env=variables, capture_output=True, text=True, check=True
        )
    (process,) = _NURSERY
    with tempfile.TemporaryDirectory() as streams:
        files = [Path(streams, name) for name in ("out", "err")]
        process.stdin.write(
            json.dumps([program, str(folder), variables, [*map(str, files)]]) + "\n"
        )
        process.stdin.flush()
        code = int(process.stdout.readline())
        found = subprocess.CompletedProcess(command, code, *(f.read_text() for f in files))
    assert not found.returncode, found.stderr
    return found


def _result(found):
    value, hits, path = found.stdout.split(maxsplit=2)
    return float(value), int(hits), Path(path.strip())


def test_an_edit_of_a_helper_recompiles_what_depends_on_it_and_nothing_else(tree):
    value, hits, first = _result(_run(tree, new=True))
    assert (value, hits) == (2.0, 0)
    assert first.parent == tree / "home" / ".cache" / jit_cache.FOLDER
    assert stat.S_IMODE(first.parent.stat().st_mode) == 0o700
    (tree / "tree" / "trials" / "gamma.py").write_text("x = 2\n")
    assert _result(_run(tree)) == (2.0, 1, first)
    (tree / "tree" / "trials" / "beta.py").write_text(HELPER.format(value=5.0))
    value, hits, second = _result(_run(tree))
    assert (value, hits) == (6.0, 0)
    assert second != first
    (tree / "tree" / "trials" / "beta.py").write_text(HELPER.format(value=1.0))
    assert _result(_run(tree)) == (2.0, 1, first)  # an older state is found again


def test_a_folder_that_the_user_chose_is_keyed_too(tree):
    chosen = tree / "chosen"
    value, _, path = _result(_run(tree, NUMBA_CACHE_DIR=str(chosen)))
    assert value == 2.0
    assert path.parent == chosen / jit_cache.FOLDER
    (tree / "tree" / "trials" / "beta.py").write_text(HELPER.format(value=5.0))
    assert _result(_run(tree, NUMBA_CACHE_DIR=str(chosen)))[:2] == (6.0, 0)


def test_a_program_started_by_one_that_imported_the_package_runs_the_present_code(tree):
    """A notebook that imported the package, an edit, a command started from the notebook."""
    program = f"""
import os, subprocess, sys, trials, numba
from trials.alpha import kernel
kernel(0.0)
with open("tree/trials/beta.py", "w") as file:
    file.write({HELPER.format(value=5.0)!r})
assert "NUMBA_CACHE_DIR" not in os.environ
subprocess.run([sys.executable, "-c", {PROGRAM!r}], check=True)
"""
    assert _result(_run(tree, program))[:2] == (6.0, 0)


def test_what_was_imported_before_an_edit_is_kept_under_no_key(tree):
    """The helper is imported, edited, and only then the kernel is compiled with the old helper."""
    program = f"""
import trials.beta
with open("tree/trials/beta.py", "w") as file:
    file.write({HELPER.format(value=5.0)!r})
{PROGRAM}
"""
    value, hits, path = _result(_run(tree, program))
    assert (value, hits) == (2.0, 0)  # the old helper, as imported
    assert path.parent != tree / "home" / ".cache" / jit_cache.FOLDER
    assert not path.exists()  # removed when the process ended
    assert _result(_run(tree))[:2] == (6.0, 0)


def test_options_that_change_the_code_change_the_key(tree):
    options = [{"NUMBA_BOUNDSCHECK": "1"}, {"NUMBA_OPT": "1"}, {"NUMBA_LOOP_VECTORIZE": "0"}]
    paths = [_result(_run(tree))[2]]
    for option in options:
        _, hits, path = _result(_run(tree, **option))
        assert hits == 0
        assert path not in paths
        paths.append(path)
    assert _result(_run(tree, **options[0]))[1:] == (1, paths[1])


def test_other_programs_kernels_and_locators_are_left_alone(tree):
    (tree / "other.py").write_text(HELPER.format(value=3.0))
    program = (
        "import trials, sys; sys.path.insert(0, '.'); from other import shift; "
        "print(shift(1.0), 0, shift._cache.cache_path)"
    )
    value, _, path = _result(_run(tree, program))
    assert value == 4.0
    assert path == tree / "__pycache__"
    listed = "UserProvidedCacheLocator,InTreeCacheLocator"
    found = _result(_run(tree, new=True, NUMBA_CACHE_LOCATOR_CLASSES=listed))  # read at import
    assert found[2].parent == tree / "home" / ".cache" / jit_cache.FOLDER


def test_numba_imported_first_makes_no_difference(tree):
    first = _result(_run(tree, "import numba, numba.core.caching\n" + PROGRAM))
    value, hits, path = _result(_run(tree, new=True))
    assert first == (value, 0, path)
    assert hits == 1


def test_a_users_kernel_that_uses_this_package_depends_on_it(tree):
    (tree / "mine.py").write_text(KERNEL)
    program = PROGRAM.replace("trials.alpha", "mine")
    program = "import sys; sys.path.insert(0, '.')\n" + program
    value, _, path = _result(_run(tree, program))
    assert value == 2.0
    assert path.name.startswith("mine-")
    (tree / "tree" / "trials" / "beta.py").write_text(HELPER.format(value=5.0))
    assert _result(_run(tree, program))[:2] == (6.0, 0)


#: Modules of installed packages, and those that lead to the helper of `tree`, directly or not.
INSTALLED = {
    "pack": "",
    "pack.low": "from trials.beta import shift",
    "pack.high": "from pack.low import shift",
    "pack.top": "def shift():\n    from . import high\n    return high.shift",
    "pack.side": "import trials.gamma",
    "pack.alone": "n_trials = 1  # of no trials",
    "whole": "import trials.beta",
    "whole.part": "x = 1",
    "trialsome": "x = 1",
}
ON_THE_HELPER = {"pack.low", "pack.high", "pack.top", "whole"}
PLACES = f"""
import json, sys
sys.path.insert(0, "site-packages")
from trials import jit_cache
names = {list(INSTALLED)}
for name in names:
    __import__(name)
print(json.dumps({{name: jit_cache.place(name) for name in names}}, default=str))
"""


def test_an_installed_module_is_keyed_by_what_leads_it_to_this_package(tree):
    """A kernel two imports away from an edited one ran its old code, 2 for 6."""
    for name, text in INSTALLED.items():
        package = name in {"pack", "whole"}
        path = tree / "site-packages" / name.replace(".", "/")
        path = path / "__init__.py" if package else path.with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    places = json.loads(_run(tree, PLACES).stdout)
    assert {name for name, place in places.items() if place} == {*ON_THE_HELPER, "pack.side"}
    for name in (*ON_THE_HELPER, "pack.side"):
        folder, stamp = places[name]
        assert Path(folder).parent == tree / "home" / ".cache" / jit_cache.FOLDER
        assert Path(folder).name == f"{name}-{stamp[:20]}"
    (tree / "tree" / "trials" / "beta.py").write_text(HELPER.format(value=5.0))
    later = json.loads(_run(tree, PLACES).stdout)
    assert {name for name in places if places[name] != later[name]} == ON_THE_HELPER


# -- folders that cannot or must not be used -----------------------------------------------------


def _one_notice(found, reason):
    (line,) = found.stderr.splitlines()
    assert line.startswith("cfl-verify: compiled kernels are kept until this program ends")
    assert reason in line
    value, _, path = _result(found)
    assert value == 2.0
    assert not path.exists()


def test_a_cache_folder_that_cannot_be_made_is_one_line(tree):
    (tree / "home").write_text("no folder")
    _one_notice(_run(tree), "Not a directory")


def test_a_relative_cache_home_is_ignored(tree):
    found = _run(tree, XDG_CACHE_HOME="relative")
    assert _result(found)[2].parent == tree / "home" / ".cache" / jit_cache.FOLDER
    assert not (tree / "relative").exists()


def test_a_relative_home_is_one_line(tree):
    _one_notice(_run(tree, HOME="home"), "HOME=home is relative")


BECOME = """
import ast, os, shutil, tempfile, numba, numpy
numba.njit(lambda x: x)(1.0)  # everything that this user cannot read is loaded by now
os.setgroups([])
os.setresgid(54321, 54321, 54321)
os.setresuid(54321, 54321, 54321)
"""


@only_root
def test_a_user_without_home_and_a_folder_without_leave_are_one_line(open_tree):
    _one_notice(_run(open_tree, BECOME + PROGRAM, HOME=None), "this user has no home folder")
    folder = open_tree / "home" / ".cache" / jit_cache.FOLDER
    folder.mkdir(parents=True)
    os.chown(folder, 54321, 54321)
    folder.chmod(0o500)
    _one_notice(_run(open_tree, BECOME + PROGRAM), "Permission denied")


def test_a_foreign_linked_or_open_folder_is_refused(tmp_path):
    tmp_path.chmod(0o755)
    folder = tmp_path / "kept"
    assert jit_cache.objection(folder) is None
    assert jit_cache.objection(folder) is None
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.chmod(0o755)  # others may read: closed again
    assert jit_cache.objection(folder) is None
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for mode in (0o720, 0o702, 0o777):  # others may have written
        folder.chmod(mode)
        assert jit_cache.objection(folder) == f"others may write {folder}"
    folder.chmod(0o700)
    (tmp_path / "link").symlink_to(folder)
    assert jit_cache.objection(tmp_path / "link") == f"{tmp_path / 'link'} is no folder"
    below = tmp_path / "open" / "kept"
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)  # others could exchange what is in it
    assert jit_cache.objection(below) == f"others may write {tmp_path / 'open'}"
    (tmp_path / "open").chmod(0o1777)  # as /tmp is
    assert jit_cache.objection(below) is None


@only_root
def test_a_folder_of_another_user_is_refused(tmp_path):
    """Numba's index is a pickle: with a folder that another user laid out, he runs code here."""
    tmp_path.chmod(0o755)
    folder = tmp_path / "planted"
    folder.mkdir(mode=0o700)
    os.chown(folder, 54321, 54321)
    assert jit_cache.objection(folder) == f"{folder} belongs to another user"


@only_root
def test_a_folder_below_one_of_another_user_or_of_a_group_is_refused(tmp_path):
    """Who owns a folder above may exchange what is in it, whatever its mode is."""
    tmp_path.chmod(0o755)
    for depth in (1, 2):
        above = tmp_path / f"foreign-{depth}"
        folder = above.joinpath(*["x"] * depth, "kept")
        folder.parent.mkdir(parents=True)
        os.chown(above, 54321, 54321)
        assert jit_cache.objection(folder) == f"{above} belongs to another user"
        os.chown(above, 0, 0)
        above.chmod(0o775)
        assert jit_cache.objection(folder) == f"others may write {above}"
        above.chmod(0o755)
        assert jit_cache.objection(folder) is None
    # a link in a sticky folder, which anybody may have put there
    sticky = tmp_path / "sticky"
    sticky.mkdir()
    sticky.chmod(0o1777)
    (sticky / "link").symlink_to(tmp_path / "foreign-1")
    assert jit_cache.objection(sticky / "link" / "kept") is None
    os.lchown(sticky / "link", 54321, 54321)
    link = sticky / "link"
    assert jit_cache.objection(link / "kept") == f"{link} belongs to another user"


def test_folders_that_are_made_on_the_way_are_the_users_own_whatever_the_umask_is(tmp_path):
    tmp_path.chmod(0o755)
    before = os.umask(0o002)
    try:
        assert jit_cache.objection(tmp_path / "a" / "b" / "kept") is None
    finally:
        os.umask(before)
    for folder in (tmp_path / "a", tmp_path / "a" / "b"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_folder_that_others_may_write_by_now_is_neither_read_nor_written(tree):
    """It was fit when the program began.  What somebody put there since is a pickle."""
    _run(tree)
    program = """
import trials, os
from trials.alpha import kernel
folder = kernel._cache.cache_path
base = os.path.dirname(folder)
before = os.listdir(folder)
os.chmod(base, 0o777)
print(kernel(0.0), sum(kernel.stats.cache_hits.values()), folder)
kernel(0)  # nothing is kept of other types either
os.chmod(base, 0o700)
assert os.listdir(folder) == before
"""
    value, hits, _ = _result(_run(tree, program))
    assert (value, hits) == (2.0, 0)
    assert _result(_run(tree))[1] == 1


def test_a_constant_that_is_read_from_a_file_of_data_joins_the_key(tree):
    """It was compiled into the kernel, and stayed what it had been."""
    package = tree / "tree" / "trials"
    (package / "beta.py").write_text(
        "import json\nfrom pathlib import Path\nfrom numba import njit\n"
        "VALUE = json.loads((Path(__file__).parent / 'constant.json').read_text())\n"
        "@njit(cache=True, nogil=True)\ndef shift(x):\n    return x + VALUE\n"
    )
    (package / "constant.json").write_text("1.0")
    assert _result(_run(tree))[:2] == (2.0, 0)
    assert _result(_run(tree))[:2] == (2.0, 1)
    (package / "constant.json").write_text("5.0")
    assert _result(_run(tree))[:2] == (6.0, 0)


def test_worker_processes_share_the_temporary_folder_without_another_notice(tree):
    (tree / "home").write_text("no folder")
    program = f"""
import subprocess, sys
{PROGRAM}
subprocess.run([sys.executable, "-c", {PROGRAM!r}], check=True)
"""
    found = _run(tree, program)
    assert len(found.stderr.splitlines()) == 1
    hits = sorted(line.split()[1] for line in found.stdout.splitlines())
    assert hits == ["0", "1"]


def test_old_states_are_removed_and_recent_ones_stay(tmp_path):
    day = 86400
    ages = {f"trials.a-{i:020x}": i * day for i in range(5)}
    ages |= {f"trials.b-{9:020x}": 61 * day, f"trials.b-{8:020x}": 59 * day, "other": 3 * day}
    ages |= {f"trials.a-{20 + i:020x}": 60 for i in range(4)}
    for name, age in ages.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.nbi").write_text("")
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    jit_cache.prune(tmp_path, "trials.a")
    kept = {path.name for path in tmp_path.iterdir()}
    recent = {f"trials.a-{20 + i:020x}" for i in range(4)}
    assert kept == {f"trials.b-{8:020x}", "other", *recent, f"trials.a-{0:020x}"}


def test_a_numba_without_the_list_of_locators_is_keyed_by_the_whole_package(tree):
    program = f"""
import numba.core.caching as caching

caching.CacheImpl._locator_classes = tuple(caching.CacheImpl._locator_classes)
{PROGRAM}
"""
    value, _, first = _result(_run(tree, program))
    assert value == 2.0
    assert first.parent.name.startswith("all-")
    (tree / "tree" / "trials" / "gamma.py").write_text("x = 2\n")
    assert _result(_run(tree, program))[2].parent != first.parent


def test_a_kernel_keeps_its_own_copy_of_a_function_that_the_process_may_hold_too():
    """A weak copy would be dropped for the one that is there, which may round otherwise."""

    def parse():
        return llvmlite.binding.parse_assembly(
            """
            define i64 @kernel(i64 %x) { %y = call i64 @copied(i64 %x) ret i64 %y }
            define linkonce_odr i64 @copied(i64 %x) { %y = call i64 @outside(i64 %x) ret i64 %y }
            declare i64 @outside(i64)
            """
        )

    def linkages(module):
        return {function.name: function.linkage.name for function in module.functions}

    class Library:
        def __init__(self):
            self._final_module = parse()
            self.optimised = {}

        def _optimize_final_module(self):
            self.optimised = linkages(self._final_module)

        def _get_module_for_linking(self):
            return self._final_module.clone()

    codegen = types.SimpleNamespace(CPUCodeLibrary=Library)
    jit_cache._link_privately(codegen)
    jit_cache._link_privately(codegen)  # changes nothing
    library = Library()
    weak = {"kernel": "external", "copied": "linkonce_odr", "outside": "external"}
    assert linkages(library._get_module_for_linking()) == weak
    library._optimize_final_module()
    assert library.optimised == weak  # the code is as it was
    assert linkages(library._final_module) == weak | {"copied": "internal"}
    assert linkages(library._get_module_for_linking()) == weak  # once in the kernel that calls it
    # Numba's own class has the methods, and one without them stays as it is.
    assert hasattr(numba.core.codegen.CPUCodeLibrary, "_own_copies")
    jit_cache._link_privately(types.SimpleNamespace(CPUCodeLibrary=object))


def test_the_collector_runs_rarely_while_a_kernel_is_compiled_and_as_before_afterwards():
    before, seen = gc.get_threshold(), []

    class Seen(event.Listener):
        def on_start(self, _event):
            seen.append(gc.get_threshold()[0])

        on_end = on_start

    @numba.njit
    def inner(x):
        return x + 1.0

    @numba.njit
    def outer(x):
        return inner(x) + 1.0

    @numba.njit
    def wrong(x):
        return inner(x).no_such_name

    try:
        gc.set_threshold(700, 10, 10)
        with event.install_listener("numba:compile", Seen()):
            assert outer(1.0) == 3.0
            assert gc.get_threshold() == (700, 10, 10)
            with pytest.raises(numba.TypingError):
                wrong(1)
        assert gc.get_threshold() == (700, 10, 10)
        assert len(seen) % 2 == 0  # a start and an end of each, those of the failures too
        ends_of_outermost = 2  # this listener comes after the reset
        assert seen.count(700) == ends_of_outermost
        assert seen.count(100_000) == len(seen) - ends_of_outermost >= 4
        gc.set_threshold(0)
        with event.install_listener("numba:compile", Seen()):
            outer(1)
        assert seen[-1] == seen[-2] == gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*before)


def test_what_a_compilation_leaves_is_old_for_the_collector_and_what_is_frozen_stays_so():
    """Oracle: the collector's own lists of young and of old objects."""
    kept, by_the_tests = gc.get_threshold(), gc.get_freeze_count()
    gc.set_threshold(10**9, *kept[1:])  # no collection on the way
    gc.unfreeze()
    try:
        made = [[] for _ in range(50)]
        jit_cache._call_all_old()
        ids = set(map(id, made))
        assert len(ids & set(map(id, gc.get_objects(generation=2)))) == 50
        gc.freeze()
        frozen = gc.get_freeze_count()
        young = [[] for _ in range(50)]
        jit_cache._call_all_old()
        assert gc.get_freeze_count() == frozen > 50
        ids = set(map(id, young))
        assert len(ids & set(map(id, gc.get_objects(generation=0)))) == 50
    finally:
        gc.unfreeze()
        if by_the_tests:
            gc.freeze()
        gc.set_threshold(*kept)


def test_options_of_a_compilation_are_equal_where_numba_says_so():
    def sets_of_options():
        fast, spelled, quiet = (compiler.Flags() for _ in range(3))
        fast.fastmath = True
        spelled.fastmath = compiler.Flags().fastmath  # a default that is set is the same
        quiet.nrt = True
        return [compiler.Flags(), fast, spelled, quiet, quiet.copy()]

    def values(options):
        return {name: getattr(options, name) for name in options.options}

    assert "jit_cache" in targetconfig.TargetConfig.__eq__.__module__
    for one in sets_of_options():
        assert one != values(one)
        for other in sets_of_options():
            assert (one == other) is (values(one) == values(other))
            assert one != other or hash(one) == hash(other)


def held_elsewhere(path):
    """A lock on a file through a descriptor of its own, which counts as another process's."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor


def is_free(path):
    try:
        os.close(held_elsewhere(path))
    except BlockingIOError:
        return False
    return True


@pytest.fixture
def waits(monkeypatch):
    """The pauses of a process that waits.  The clock moves with them alone."""
    made = []
    monkeypatch.setattr(jit_cache, "_turns", {})
    clock = types.SimpleNamespace(monotonic=lambda: sum(made), sleep=made.append)
    monkeypatch.setattr(jit_cache, "time", clock)
    return made


def test_a_process_waits_for_the_one_that_compiles_and_keeps_the_next_one_waiting(tmp_path, waits):
    path = tmp_path / "kernel.lock"
    other = held_elsewhere(path)

    def sleep(seconds):
        waits.append(seconds)
        if len(waits) == 3:
            os.close(other)

    jit_cache.time.sleep = sleep
    jit_cache._take_turn(path)
    assert len(waits) == 3
    assert not is_free(path)
    jit_cache._take_turn(path)  # another form of the same kernel, inside the first
    jit_cache._end_turn(path)
    assert not is_free(path)
    jit_cache._end_turn(path)
    assert is_free(path)
    jit_cache._end_turn(path)  # a kernel whose turn was not taken
    assert jit_cache._turns == {}
    assert len(waits) == 3


def test_nobody_waits_for_ever_or_where_files_cannot_be_locked(tmp_path, waits, monkeypatch):
    path = tmp_path / "kernel.lock"
    other = held_elsewhere(path)
    jit_cache._take_turn(path)
    assert sum(waits) == pytest.approx(jit_cache._LONGEST_WAIT, abs=0.02)
    os.close(other)
    assert is_free(path)
    waits.clear()
    jit_cache._take_turn(tmp_path / "no folder" / "kernel.lock")
    with monkeypatch.context() as patch:

        def refuse(*_arguments):
            raise OSError(errno.ENOLCK, "no locks on this file system")

        patch.setattr(fcntl, "flock", refuse)
        jit_cache._take_turn(path)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "fcntl", None)  # as on Windows
        jit_cache._take_turn(path)
    assert waits == []
    assert jit_cache._turns == {}
    assert is_free(path)


#: It tells when it waits, and whether a kernel that cannot be compiled leaves its lock.
WAITING = """
import time
from trials import jit_cache
pause = time.sleep
def sleep(seconds):
    if not told:
        print("waits", flush=True)
        told.append(True)
    pause(seconds)
told = []
jit_cache.time.sleep = sleep
from trials.alpha import kernel
print(kernel(0.0), sum(kernel.stats.cache_hits.values()), len(jit_cache._turns))
try:
    kernel("text")
except Exception as error:
    print(type(error).__name__, len(jit_cache._turns))
"""


def test_a_kernel_that_another_process_compiles_is_awaited_and_loaded(tree):
    _, _, folder = _result(_run(tree))
    kept = tree / "kept"
    kept.mkdir()
    for path in folder.glob("alpha.kernel*.nb?"):
        shutil.move(path, kept / path.name)
    (lock,) = folder.glob("alpha.kernel*.lock")
    other = held_elsewhere(lock)
    clean = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    places = {"HOME": str(tree / "home"), "PYTHONPATH": str(tree / "tree")}
    for name in ("XDG_CACHE_HOME", jit_cache.INHERITED):
        clean.pop(name, None)
    program = subprocess.Popen(
        [sys.executable, "-B", "-c", WAITING], cwd=tree, env={**clean, **places},
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    first = program.stdout.readline()
    for path in kept.iterdir():
        shutil.move(path, folder / path.name)
    os.close(other)
    rest, _ = program.communicate()
    assert [first, *rest.splitlines()] == ["waits\n", "2.0 1 0", "TypingError 0"]
