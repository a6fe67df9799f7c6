"""The locked versions: one hash at least for each, one version a package, licences listed."""

import re
from pathlib import Path

import pytest

from reports import engines
from reports.errors import ReportError
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


def test_the_page_lists_every_package_with_its_licence():
    for package, version in locked("tests").items():
        assert f"| {package} | {version} | {licence(package)} |" in PAGE


def test_a_missing_engine_is_refused_with_the_remedy(monkeypatch):
    monkeypatch.setattr(engines, "latex_missing", lambda: ["pdflatex"])
    monkeypatch.setattr(engines, "find_spec", lambda name: None if name == "pypandoc" else name)
    for asked in ("auto", "embedded"):
        with pytest.raises(ReportError, match=r"lacks pypandoc; .*pip install 'cfl-verify\[pdf\]'"):
            engines.choose(asked)
