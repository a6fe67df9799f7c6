"""The examples of the documentation run, in order, as printed."""

from __future__ import annotations

import pkgutil
import re
import runpy
from pathlib import Path

import pytest

from verify.papers import catalogue

ROOT = Path(__file__).parents[1]
DOCS = [path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*.md")]


@pytest.mark.parametrize("page", ["docs/kernels.md", "docs/estimators.md"])
def test_examples_run(page):
    pytest.importorskip("sklearn")
    text = (ROOT / page).read_text("utf-8")
    parts = re.split(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(parts) > 1
    # prose as empty lines, so that a failure names the line of the page
    kept = ["\n" + part if i % 2 else "\n" * part.count("\n") for i, part in enumerate(parts)]
    exec(compile("".join(kept), page, "exec"), {"__name__": "example"})


PAGES = ["README.md", "CONTRIBUTING.md", *sorted(p.as_posix() for p in DOCS)]


@pytest.mark.parametrize("page", PAGES)
def test_the_modules_names_and_files_that_are_mentioned_exist(page):
    # A fault that cannot be planted any more may name a module that has gone.
    lines = (ROOT / page).read_text("utf-8").splitlines()
    text = "\n".join(line for line in lines if "cannot be planted any more" not in line)
    houses = "bounds|trials|verify|reports|tests"
    for name in set(re.findall(rf"`((?:{houses})(?:\.\w+)+)`", text)):
        pkgutil.resolve_name(name)  # its error says what is missing
    for name in set(re.findall(rf"`((?:{houses}|docs)/[\w/.]*)`", text)):
        assert (ROOT / name).exists(), name


def test_the_gallery_shows_claims_that_there_are():
    text = (ROOT / "docs" / "gallery.md").read_text("utf-8")
    named = re.findall(r"^cfl-verify run (\S+) --profile standard$", text, flags=re.MULTILINE)
    assert len(named) >= 8
    claims = catalogue()
    assert all(name in claims for name in named)
    shown = re.findall(r"\(gallery/(.*?)\)", text)
    assert sorted(shown) == sorted(path.name for path in (ROOT / "docs" / "gallery").iterdir())
    assert shown == [f"{name}.svg" for name in named]
    for name in shown:
        drawing = (ROOT / "docs" / "gallery" / name).read_text("utf-8")
        assert len(drawing) < 120_000  # four panels
        assert "<script" not in drawing


def test_attributes_of_the_reference_are_a_list_with_meanings():
    pytest.importorskip("docutils", reason="the task `docs` has Sphinx")
    as_lists = runpy.run_path(str(ROOT / "docs" / "conf.py"))["_as_lists"]
    text = "A thing.\n\nAttributes\n----------\nsize : how many,\n    in all.\nname, id : words.\n"
    lines = text.splitlines()
    as_lists(None, "class", "x", None, None, lines)
    assert [line for line in lines if line] == [
        "A thing.", "**Attributes**", "* *size*: how many,", "  in all.", "* *name, id*: words.",
    ]  # fmt: skip


def test_the_drawings_of_the_gallery_keep_the_size_of_their_letters() -> None:
    scales = {
        found
        for drawing in (ROOT / "docs/gallery").glob("*.svg")
        for found in re.findall(r'transform="scale\(([^)]*)\)"', drawing.read_text("utf-8"))
    }
    assert scales == {"0.015625"}
