"""Every command and every block of code in the documents: run, or parsed with the reason why not.

`tests/verify/cli/test_readme.py` runs the README's list of commands, and `tests/test_docs.py` the
examples of the kernels and the estimators.  This file runs what else a reader would type.  A
command that takes minutes is parsed: its options exist, and its names mean claims.
"""

import ast
import re
import shlex
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests import forking
from verify.cli import subject
from verify.cli.app import application
from verify.cli.index import entries
from verify.selection import parse_selection
from verify.testing import try_check

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md"]
PAGES += sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "docs").rglob("*.md"))
#: Pages whose commands are run here from the first to the last, in one folder.
RUN = ("docs/tutorial.md", "docs/worked-papers.md", "docs/your-own-paper.md",
       "docs/your-own-implementation.md")  # fmt: skip
#: Commands of these pages that are parsed only, by their beginning, with the reason.
DEAR = {
    "cfl-verify prove --claims mypaper.py": "the reader's file; tests/verify/proofs run prove",
    "cfl-verify run --claims mypaper.py": "the reader's file",
}
#: Commands of a shell, by their beginning, with the reason why no test runs them.
SHELL = {
    "python3 .ci/tox.py": "tasks: tests/test_tox_entry.py",
    "pip install": "tox -e package installs the wheel and runs it",
    "python3 -m venv": "tox -e package makes an environment",
    ". env/bin/activate": "tox -e package makes an environment",
    "python -m pytest": "this is such a run",
    "python -m tests.": "tests/records and tests/test_faults.py call these modules",
    "dask ": "a cluster's machines", "export ": "a shell's variable",
    "docker ": "no container engine here", "sbatch ": "no cluster here", "kubectl ": "no cluster",
    "python docs/networks.py": "takes an hour; tests/test_networks_page.py",
    "python docs/table_2.py": "takes minutes; tests/test_table_2.py",
    'python -c "': "a million users, ten CPU minutes",
}  # fmt: skip
#: Pages whose Python is run elsewhere, or needs packages that no test has.
PYTHON = {
    "docs/kernels.md": "tests/test_docs.py", "docs/estimators.md": "tests/test_docs.py",
    "docs/clusters.md": "needs a cluster: compiled only",
    "docs/proofs.md": "a reduction of a claim not shown: compiled only",
    "docs/examples.md": "below, with what it prints",
    "docs/which-method.md": "tests/verify/benchmark run methods of a file: compiled only",
}  # fmt: skip


def blocks(page, language=None):
    """The fenced blocks of a page as (language, text), those that Sphinx fills left out."""
    text = (ROOT / page).read_text("utf-8")
    found = re.findall(r"^```(\S*)[^\n]*\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    return [b for b in found if not b[0].startswith("{") and language in (None, b[0])]


def commands(page):
    """The commands in the blocks of a page, without what is said of them beside."""
    lines = [
        line.removeprefix("$ ")
        for language, text in blocks(page)
        if language in ("", "sh", "console")
        for line in text.splitlines()
    ]
    typed = ("cfl-verify ", *SHELL)
    return [re.split(r"\s{2,}", line)[0] for line in lines if line.startswith(typed)]


ALL = [(page, command) for page in PAGES for command in dict.fromkeys(commands(page))]


def test_the_documents_have_commands():
    assert len(ALL) >= 60
    assert {page for page, _ in ALL} >= {*RUN, "README.md", "docs/gallery.md", "docs/figure-3.md"}


@pytest.mark.parametrize(("page", "command"), ALL, ids=[f"{p}: {c}" for p, c in ALL])
def test_a_command_has_options_that_exist_and_names_that_mean_claims(page, command):
    if not command.startswith("cfl-verify "):
        assert command.startswith(tuple(SHELL)), f"{page}: nobody runs {command!r}"
        return
    _, name, *arguments = shlex.split(command)
    known = application.commands[name]
    context = known.make_context(name, arguments, resilient_parsing=False)
    given = context.params.get("claims") or context.params.get("claim") or ()
    files = context.params.get("claims_files") or ()
    for text in [given] if isinstance(given, str) else given:
        pattern = parse_selection(text).claim
        own = pattern.startswith(("mypaper", "table2", "networks", "hoeffding"))
        found = any(fnmatchcase(claim, pattern) for claim in entries(()))
        assert files or own or found, pattern


@pytest.mark.parametrize("page", RUN)
def test_the_commands_of_a_page_work_in_its_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    for text in [text for _, text in blocks(page, "python")]:
        if name := re.match(r"# (\w+\.py)\n", text):
            (tmp_path / name[1]).write_text(text)
    ran = 0
    for command in commands(page):
        if not command.startswith("cfl-verify ") or command.startswith(tuple(DEAR)):
            continue
        _, name, *arguments = shlex.split(command)
        if name == "mutate":
            arguments += ["--sample", "1"]  # all of them take a minute
        if name in ("mutate", "run", "resume") and "--jobs" not in arguments:
            arguments += ["--jobs", "1"]  # a process for each worker takes CPU seconds to start
        if name == "subject":  # the page's code has a bug, and the page mends it
            monkeypatch.setattr(subject, "try_check", partial(try_check, shrink=False))
            if len(arguments) > 2 and "--examples" not in arguments:
                arguments += ["--examples", "8"]  # a hundred inputs for each check take 10 s
            assert CliRunner().invoke(application, [name, *arguments]).exit_code in (0, 1)
        elif name == "report":
            typed = ["-m", "verify", name, *arguments, "--format", "tex"]
            done = forking.run(typed, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
        else:
            result = CliRunner().invoke(application, [name, *arguments])
            assert result.exit_code == 0, (command, result.output)
        ran += 1
    assert ran >= 1


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")])
def test_python_in_a_page_runs_or_compiles(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = [text for _, text in blocks(page, "python")]
    assert texts
    for text in texts:
        ast.parse(text, filename=page)
    if page in PYTHON:
        return
    monkeypatch.syspath_prepend(tmp_path)
    space = {"__name__": "example"}
    for text in texts:
        if name := re.match(r"# (\w+\.py)\n", text):
            (tmp_path / name[1]).write_text(text)
        exec(compile(text, page, "exec"), space)


def test_the_examples_print_what_their_page_shows(capsys):
    """Each example stands alone: none reads a name of another."""
    pytest.importorskip("sklearn")
    told = blocks("docs/examples.md")
    assert [language for language, _ in told] == ["python", "text"] * (len(told) // 2)
    for (_, code), (_, output) in zip(told[::2], told[1::2], strict=True):
        exec(compile(code, "docs/examples.md", "exec"), {"__name__": "example"})
        assert capsys.readouterr().out == output
