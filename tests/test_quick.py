"""The list of cheap tests that the task quick runs."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = (ROOT / "tests" / "quick.txt").read_text("utf-8").split()


def test_every_listed_file_exists_once():
    assert len(FILES) == len(set(FILES))
    assert [name for name in FILES if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize("package", ["bounds", "trials", "verify", "reports"])
def test_every_package_has_cheap_tests(package):
    assert sum(name.startswith(f"tests/{package}/") for name in FILES) >= 5


def test_no_listed_file_starts_a_program():
    """A child's time is not seen in the CPU time by which the files were chosen."""
    words = ("subprocess", "Popen", "distributed", "CliRunner")
    texts = {name: (ROOT / name).read_text("utf-8") for name in FILES}
    assert [n for n, text in texts.items() if any(word in text for word in words)] == []
