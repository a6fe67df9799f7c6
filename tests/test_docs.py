"""The examples of the documentation run, in order, as printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("page", ["docs/kernels.md"])
def test_examples_run(page):
    text = (ROOT / page).read_text("utf-8")
    parts = re.split(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(parts) > 1
    # prose as empty lines, so that a failure names the line of the page
    kept = ["\n" + part if i % 2 else "\n" * part.count("\n") for i, part in enumerate(parts)]
    exec(compile("".join(kept), page, "exec"), {"__name__": "example"})


@pytest.mark.parametrize("page", ["docs/kernels.md", "README.md", "CONTRIBUTING.md"])
def test_the_modules_and_files_that_are_named_exist(page):
    text = (ROOT / page).read_text("utf-8")
    for name in set(re.findall(r"`((?:bounds|trials|verify|reports)\.[a-z_.]+)`", text)):
        path = ROOT / name.replace(".", "/")
        if not path.is_dir() and not path.with_suffix(".py").exists():
            __import__(name)  # says which one is missing
    for name in set(re.findall(r"`((?:bounds|trials|verify|reports|tests|docs)/[\w/.]*)`", text)):
        assert (ROOT / name).exists() or "<" in name, name
