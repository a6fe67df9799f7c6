"""The locked versions: one hash at least for each, one version a package, licences listed."""

import configparser
import json
import re
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from reports import engines
from reports.errors import ReportError
from tests import tools
from tests.audit import result
from tests.dependencies import FILES, ROOT, licence, locked

PAGE = Path(ROOT / "docs" / "dependencies.md").read_text("utf-8")


@pytest.mark.parametrize("name", FILES)
def test_every_package_has_hashes_and_no_address(name):
    text = (ROOT / "requirements" / f"{name}.txt").read_text("utf-8")
    stanzas = re.split(r"\n(?=[a-z0-9])", text)
    assert len(stanzas) > 30
    for stanza in stanzas:
        assert re.match(r"[a-z0-9.-]+==[^ ]+ (; .+ )?\\\n +--hash=sha256:[0-9a-f]{64}", stanza)
    assert "://" not in text


def test_the_two_commands_use_the_same_versions():
    main, tests = (locked(name) for name in FILES)
    assert main.items() <= tests.items()


def versions(text):
    """Each package with its version: some have one for each Python."""
    return set(re.findall(r"^([a-z0-9.-]+)==([^ ]+)", text, re.MULTILINE))


@pytest.mark.parametrize("group", [*tools.ALONE, *tools.BESIDE])
def test_every_tool_of_a_task_has_hashes_and_the_version_of_the_tests(group):
    text = (tools.TOOLS / f"{group}.txt").read_text("utf-8")
    pinned = versions(text)
    assert text.count("--hash=sha256:") >= len(pinned) > 0
    assert "://" not in text
    wanted = {canonicalize_name(Requirement(each).name) for each in tools.groups()[group]}
    assert wanted <= {package for package, _ in pinned}
    if group in tools.BESIDE:  # pip refuses two versions of one package
        tests = versions((ROOT / "requirements" / "tests.txt").read_text("utf-8"))
        shared = {package for package, _ in tests}
        assert {each for each in pinned if each[0] in shared} <= tests


def test_every_build_of_the_package_takes_its_backend_with_hashes():
    """tox builds in an environment of its own, where pip obeys PIP_CONSTRAINT and its hashes."""
    config = configparser.ConfigParser(interpolation=None)
    config.read(ROOT / "tox.ini")
    assert "{/}backend.txt" in config["testenv:.pkg"]["set_env"]
    backend, build = (
        versions((tools.TOOLS / f"{name}.txt").read_text("utf-8")) for name in ("backend", "build")
    )
    assert {name for name, _ in backend} == {"setuptools"}
    assert backend <= build
    recipe = (ROOT / "deploy" / "Containerfile").read_text("utf-8")
    assert recipe.count("pip wheel") == recipe.count("--no-build-isolation") == 1


def test_no_task_of_the_suite_installs_an_unpinned_tool():
    config = configparser.ConfigParser(interpolation=None)
    config.read(ROOT / "tox.ini")
    free = {"networks", "subjects-real", "lock"}  # each says so in its description or its comment
    for section in config.sections():
        deps = config[section].get("deps", "")
        unpinned = re.findall(r"^[\w-]+ *[<>=!~].*$", deps, re.MULTILINE)
        assert not unpinned or section.removeprefix("testenv:") in free, (section, unpinned)


@pytest.mark.parametrize("name", FILES)
def test_what_a_package_needs_is_pinned_too(name):
    """pip refuses the whole file where one is missing: it wants hashes of all or of none."""
    pinned = set(locked(name))
    needed = {
        canonicalize_name(wanted.name)
        for package in pinned
        for wanted in map(Requirement, metadata.distribution(package).requires or ())
        if wanted.marker is None or wanted.marker.evaluate({"extra": ""})
    }
    assert needed - pinned == set()


def test_the_page_lists_every_package_with_its_licence():
    for package, version in locked("tests").items():
        assert f"| {package} | {version} | {licence(package)} |" in PAGE


def test_a_missing_engine_is_refused_with_the_remedy(monkeypatch):
    monkeypatch.setattr(engines, "latex_missing", lambda: ["pdflatex"])
    monkeypatch.setattr(engines, "find_spec", lambda name: None if name == "pypandoc" else name)
    for asked in ("auto", "embedded"):
        with pytest.raises(ReportError, match=r"lacks pypandoc; .*pip install 'cfl-verify\[pdf\]'"):
            engines.choose(asked)


def answer(**packages):
    """What pip-audit prints: package -> its vulnerabilities, None where it was skipped."""
    return json.dumps(
        {
            "dependencies": [
                {"name": name, "skip_reason": "not found on PyPI"}
                if known is None
                else {"name": name, "version": "1.0", "vulns": known}
                for name, known in packages.items()
            ]
        }
    )


@pytest.mark.parametrize(
    ("printed", "lines", "code"),
    [
        (answer(a=[], b=[]), ["2 of 2 packages audited, 0 vulnerabilities"], 0),
        (
            answer(a=[], b=None),
            ["1 of 2 packages audited, 0 vulnerabilities", "NOT AUDITED: b"],
            0,
        ),
        (
            answer(a=[{"id": "PYSEC-1", "fix_versions": ["1.1"]}], b=None),
            [
                "a 1.0: PYSEC-1, mended in 1.1",
                "1 of 2 packages audited, 1 vulnerabilities",
                "NOT AUDITED: b",
            ],
            1,
        ),
    ],
)
def test_the_audit_counts_the_answers(printed, lines, code):
    assert result(printed, "No known vulnerabilities found") == (lines, code)


@pytest.mark.parametrize(
    ("printed", "errors", "words"),
    [
        (answer(a=None, b=None), "No known vulnerabilities found", "none of the 2 packages"),
        ("", "Traceback\nConnectionError: no route\n\n", "cannot be reached (ConnectionError: no"),
        ("[]", "", "cannot be reached (no answer)"),
    ],
)
def test_a_service_that_cannot_be_reached_is_no_clean_result(printed, errors, words):
    (line,), code = result(printed, errors)
    assert line.startswith("NOT AUDITED: ")
    assert words in line
    assert code == 0
