"""Planting faults: every place gives one, the text around it stays, and a test finds it."""

from __future__ import annotations

import ast
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.faults import running
from tests.faults.__main__ import _words, again
from tests.faults.judged import EQUIVALENT, reason
from tests.faults.known import KNOWN, known_faults
from tests.faults.meaning import MEANINGS, meaning_faults
from tests.faults.nearest import MOST_CLAIMS, MOST_RECORDS, Nearest, imported
from tests.faults.page import log, meaning_section, page, read, survivors
from tests.faults.planting import Fault, faults_in, located, modules
from tests.faults.running import Workshop

ROOT = Path(__file__).parents[1]
SOURCE = '''"""Text with 1 / 2."""
from __future__ import annotations


def share(level: float, cells: list[int], é: int = 1) -> float:
    """Halve 3 < 4."""
    if not cells or level <= 0.5:
        raise ValueError(f"{1 + 1} is wrong")
    total = max(len(cells), 2)
    total += é
    print(total)
    return -level / total
'''


def test_each_kind_of_place_is_found_and_replaced() -> None:
    shown = {(f.line, f.kind, f.old, f.new) for f in faults_in("a.py", SOURCE)}
    assert {
        (7, "and/or changed", "not cells or level <= 0.5", "(not cells and level <= 0.5)"),
        (7, "sign dropped", "not cells", "(cells)"),
        (7, "comparison flipped", "level <= 0.5", "(level > 0.5)"),
        (7, "constant changed", "0.5", "1.0"),
        (8, "line dropped", 'raise ValueError(f"{1 + 1} is wrong")', "pass"),
        (9, "function changed", "max", "min"),
        (9, "constant changed", "2", "3"),
        (10, "line dropped", "total += é", "pass"),
        (11, "line dropped", "print(total)", "pass"),
        (12, "divisor dropped", "-level / total", "(-level)"),
        (12, "sign dropped", "-level", "(level)"),
        (5, "constant changed", "1", "2"),
    } == shown


def test_a_planted_fault_changes_one_place_and_still_parses() -> None:
    for fault in faults_in("a.py", SOURCE):
        planted = fault.planted(SOURCE)
        ast.parse(planted)
        assert planted != SOURCE
        assert planted[: fault.start] == SOURCE[: fault.start]
        assert planted.endswith(SOURCE[fault.start + len(fault.old) :])


def test_a_fault_in_changed_text_is_refused() -> None:
    fault = Fault("a.py", 0, "x", "y", "known", 1)
    with pytest.raises(ValueError, match=r"a\.py:1: the text has changed"):
        fault.planted("z")


@cache
def places_of_statements(path: str) -> tuple[str, list[int]]:
    """A module's text, and the places in it where its statements begin, with its end.

    They are the lines that begin with a letter: to parse all modules takes two CPU seconds.
    """
    text = (ROOT / path).read_text()
    return text, [*(found.start() for found in re.finditer(r"^\w", text, re.MULTILINE)), len(text)]


def parse_planted(fault: Fault) -> None:
    """Parse the statements in which a fault stands, with it.

    Where these do not parse (a text can hold lines that begin with a letter), the module must.
    """
    text, places = places_of_statements(fault.path)
    first = max((place for place in places if place <= fault.start), default=0)
    last = min(place for place in places if place >= fault.start + len(fault.old))
    planted = fault.planted(text)
    try:
        ast.parse(planted[first : len(planted) - len(text) + last])
    except SyntaxError:
        ast.parse(planted)


def test_statements_with_a_fault_are_parsed_and_a_module_where_they_do_not() -> None:
    """A fault in a text of which a line begins with a letter, and one that does not parse."""
    path = "tests/test_faults.py"
    text = (ROOT / path).read_text()
    start = text.index("-level / total")
    parse_planted(Fault(path, start, "-level / total", "(level", "known", 1))
    start = text.index("def parse_planted")
    with pytest.raises(SyntaxError):
        parse_planted(Fault(path, start, "def parse_planted", "def (parse", "known", 1))


def test_the_listed_faults_have_their_places_and_planting_them_parses() -> None:
    faults = known_faults(ROOT)
    assert len(faults) == len(KNOWN) > 30
    for fault in faults:
        parse_planted(fault)


def test_the_faults_of_meaning_have_their_places_and_tests_with_oracles() -> None:
    """A text that was rewritten is named with what its fault means, so that it is written anew."""
    faults = meaning_faults(ROOT)
    assert len(faults) == len(MEANINGS) >= 60
    for fault, entry in zip(faults, MEANINGS, strict=True):
        parse_planted(fault)
        for name in entry.suite.split():
            assert (ROOT / name).is_file(), name
            assert not name.startswith("tests/records/")
    assert len({entry.means for entry in MEANINGS}) == len(MEANINGS)
    assert len({(entry.path, entry.old, entry.new) for entry in MEANINGS}) == len(MEANINGS)
    gone = MEANINGS[0]._replace(old="no such text")
    with pytest.raises(ValueError, match=f"occurs 0 times.*{gone.means!r} is stale"):
        meaning_faults(ROOT, [gone])


def test_a_text_that_has_moved_within_its_package_is_found_there(tmp_path: Path) -> None:
    for name, text in (("a/old.py", "x = 1\n"), ("a/b/new.py", "y = 2\ny = 3\n"), ("c/d.py", "z")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert located(tmp_path, "a/old.py", "x = 1") == "a/old.py"
    assert located(tmp_path, "a/old.py", "y = 2") == "a/b/new.py"
    assert located(tmp_path, "a/gone.py", "y = 3") == "a/b/new.py"
    for path, text, times in (
        ("a/old.py", "y = ", 2),
        ("a/old.py", "z", 0),
        ("a/b/new.py", "y", 2),
    ):
        with pytest.raises(ValueError, match=f"occurs {times} times, not once"):
            located(tmp_path, path, text)


def test_a_judgement_of_an_equivalent_fault_holds_on_its_line_alone() -> None:
    for path, kind, old, new, line in EQUIVALENT:
        source = (ROOT / path).read_text()
        same = [f for f in faults_in(path, source) if (f.kind, f.old, f.new) == (kind, old, new)]
        there = [f for f in same if line in source.splitlines()[f.line - 1]]
        assert there, f"{path}: {line!r} has changed: remove the judgement"
        assert [f for f in same if reason(f, source)] == there


def test_every_module_with_code_is_drawn_from() -> None:
    found, claims = modules(ROOT, "verify"), modules(ROOT, "verify/claims")
    assert "verify/decisions/rates.py" in found
    assert "verify/claims/ifca/cells.py" in claims
    assert not set(found) & set(claims)
    assert not any(path.endswith("__init__.py") for path in found)


def test_numbers_that_a_claim_lists_are_choices_and_numbers_in_formulas_are_not() -> None:
    source = "CELLS = [dict(m=10, n=2 * k), (3, {'d': 4}, 7**8)]\nbad = x > 5\nreturn_ = cut(6)\n"
    kinds = {(f.old, f.kind) for f in faults_in("verify/claims/ifca/cells.py", source)}
    numbers = {old for old, kind in kinds if kind == "constant changed"}
    assert numbers == {"2", "5"}
    everywhere = {f.old for f in faults_in("verify/plan.py", source)}
    assert {"10", "2", "3", "4", "5", "6", "7", "8", "7**8"} <= everywhere


@cache
def nearest_tests() -> Nearest:
    """The tests of this tree: every file is read once."""
    return Nearest(ROOT)


IMPORTS = '''"""Text.

from here to there
import of goods
"""
import a.b, c as d
from e.f import (
    g,  # a comment
    h as i,
)
from . import beside

def inner():
    from j import k
'''


def test_what_a_file_imports_is_read_off_its_lines() -> None:
    """In brackets and in functions as well.  Prose that begins so, and a folder's own, is none."""
    assert imported(IMPORTS) == {"a.b", "c", "e.f", "e.f.g", "e.f.h", "j", "j.k"}
    own = imported((ROOT / "verify/deciding.py").read_text())
    assert own == {name for each in ast.walk(ast.parse((ROOT / "verify/deciding.py").read_text()))
                   for name in names_imported_by(each)}  # fmt: skip


def names_imported_by(node: ast.AST) -> list[str]:
    """The names of one statement, by the parser."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


def test_a_module_is_shown_to_its_mirror_first_and_to_its_papers_claims() -> None:
    nearest = nearest_tests()
    assert nearest.files("verify/decisions/rates.py")[0] == "tests/verify/decisions/test_rates.py"
    assert nearest.claims("verify/decisions/rates.py") == ()
    assert "ifca.more-general-gradient" in nearest.claims("verify/claims/ifca/strongly_convex.py")
    for path in ("bounds/sxy/symbols.py", "trials/experiments/sxy/moments.py"):
        found = nearest.claims(path)
        assert 3 <= len(found) <= MOST_CLAIMS
        assert all(name.startswith("sxy.") for name in found)
    (records, files, conformance) = nearest.suites("bounds/odcl/part_one.py")
    assert "test_records.py::" in records
    assert "tests/bounds/odcl/test_clustering_statements.py" in files
    assert conformance.startswith("tests/test_every_claim.py -k '[odcl.")


@pytest.mark.parametrize(
    ("path", "first"),
    [
        ("trials/run/store/opening.py", "tests/trials/run/test_store.py"),  # its package's mirror
        ("trials/run/store/cells.py", "tests/trials/run/test_store_blocks.py"),  # imports it
        ("trials/ifca/skipping_kernels.py", "tests/trials/ifca/test_skipping.py"),  # its first word
        ("trials/clustering/kmeans/seeding.py", "tests/trials/clustering/test_kmeans.py"),
        ("verify/procedures/rate_figures.py", "tests/verify/procedures/test_rate.py"),
        ("reports/site/pages.py", "tests/reports/site/test_site.py"),
    ],
)
def test_a_module_without_a_mirror_is_shown_to_the_tests_that_are_closest(
    path: str, first: str
) -> None:
    assert nearest_tests().files(path)[0] == first


def test_of_tests_beside_a_module_those_that_reach_it_by_few_imports_come_first() -> None:
    """`trials.run.local` is imported by `trials.run.executors`, which few tests import."""
    found = nearest_tests().files("trials/run/local.py")
    assert "tests/trials/run/test_executors.py" in found
    assert "tests/trials/run/test_directory.py" not in found


def test_a_module_without_a_mirror_is_shown_to_wide_tests_as_well() -> None:
    nearest = nearest_tests()
    assert nearest.suites("reports/site/pages.py")[-1].startswith("tests/reports/test_assemble.py")
    assert len(nearest.suites("reports/tables.py")) == 2  # records, and the files of tests


def line_of(path: str, text: str) -> int:
    """The line at which a text first stands."""
    return (ROOT / path).read_text("utf-8").partition(text)[0].count("\n") + 1


@pytest.mark.parametrize(
    ("path", "text", "record"),
    [
        ("trials/experiments/ifca/step.py", "errors[:, :-1]", "ifca.trajectory"),
        ("verify/claims/ifca/rounds.py", "return", "claims.*ifca"),
        ("reports/marks.py", "def draw_panel", "documents.*figure, "),
        ("verify/cli/verdicts.py", "def fields", "commands.*resume"),
        ("verify/testing/subjects/rounding.py", "return", "subjects.*kernel"),
    ],
)
def test_a_fault_is_tried_first_on_the_records_that_its_function_reaches(
    path: str, text: str, record: str
) -> None:
    found = nearest_tests().records(path, line_of(path, text))
    assert 0 < len(found) <= MOST_RECORDS
    assert any(re.search(record, each) for each in found)


def tree_of(folder: Path, tests: str) -> Path:
    """A tree of one module and its tests."""
    for name, text in {
        "bounds/__init__.py": "",
        "bounds/half.py": HALF,
        "tests/bounds/test_half.py": tests,
        "verify/__init__.py": "",
        "verify/papers.py": "def catalogue():\n    return {}\n",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    return folder


def test_a_fault_is_found_by_the_test_that_fails_with_it_and_passes_without(
    tmp_path: Path,
) -> None:
    """Of three tests one fails always, one with the fault, one never.

    That the first passed in another tree, whose times are given, makes it find nothing.
    """
    times = tmp_path / "of-another-tree"
    times.write_text("0.010 tests/bounds/test_half.py::test_fails\n")
    workshop = Workshop(tree_of(tmp_path / "given", TESTS_OF_HALF), tmp_path, times)
    (divisor, _constant) = faults_in("bounds/half.py", HALF)
    suites = [f"tests/bounds/test_half.py::test_{n}" for n in ("fails", "finds", "sleeps")]
    assert not workshop.try_fault(divisor, [suites[0], suites[2]]).found
    # In one suite the test that always fails comes first and hides none of the others.
    assert workshop.try_fault(divisor, ["tests/bounds/test_half.py"]).by == suites[1]
    assert (workshop.root / "bounds/half.py").read_text().endswith("x / 2\n")
    with pytest.raises(ValueError, match=r"pytest cannot run tests/bounds/test_gone\.py"):
        workshop.try_fault(divisor, ["tests/bounds/test_gone.py"])


@pytest.mark.parametrize("last", ["finds", "sleeps"])
def test_a_suite_that_runs_out_of_time_finds_a_fault_only_where_one_of_its_tests_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    """The third dear test in one process ends it, as the limit does.  Alone each of them passes.

    They are dear once they passed: each burns more CPU time than a test may take.
    """
    monkeypatch.setattr(running, "DEAR", 0.2)
    workshop = Workshop(tree_of(tmp_path / "given", LONG + TESTS[last]), tmp_path)
    (divisor, _constant) = faults_in("bounds/half.py", HALF)
    outcome = workshop.try_fault(divisor, ["tests/bounds/test_half.py"])
    assert outcome.by == ("tests/bounds/test_half.py::test_finds" if last == "finds" else "")


HALF = "def half(x):\n    return x / 2\n"
TESTS = {
    "fails": "def test_fails():\n    assert False\n",
    "finds": "def test_finds():\n    assert half(4) == 2\n",
    "sleeps": "def test_sleeps():\n    half(4)\n",
}
TESTS_OF_HALF = "from bounds.half import half\n" + "".join(TESTS.values())
LONG = """
import os, signal, time
from bounds.half import half
burnt = []
def burn():
    burnt.append(1)
    if len(burnt) == 3:
        os.kill(os.getpid(), signal.SIGXCPU)
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass
def test_burns():
    burn()
def test_burns_again():
    burn()
def test_burns_once_more():
    burn()
"""


PRINTED = """\
found        7.1 s  verify/plan.py:3 constant changed: 1 -> 2  by tests/verify/test_plan.py::test_a
SURVIVED     9.0 s  verify/plan.py:9 operator changed: a | b -> (a & b)
verify/claims, seed 7:
SURVIVED     9.0 s  verify/claims/x/y.py:2 line dropped: f() -> pass
EQUIVALENT   9.0 s  reports/figures.py:1 constant changed: 6 -> 7  because six curves are a choice
verify: 1 of 2 faults found
verify, seed 8:
SURVIVED     1.0 s  verify/plan.py:3 constant changed: 5 -> 6
again, seed 0:
found        8.0 s  verify/plan.py:11 operator changed: a | b -> (a & b)  by 't.py::test_b[1 2]'
"""


EQUAL = "equivalent: six curves are a choice |"


def now(test: str) -> str:
    return f"found now by {test} |"


def test_the_page_counts_a_fault_at_its_first_and_at_its_last_trial_seed_by_seed() -> None:
    text = log(read(PRINTED.splitlines()))
    assert "| `verify` | 0 | 2 | 0 | 1 of 2 (50%, 1% to 99%) | 0 | 2 of 2 (100%) | 95% |" in text
    assert "| `verify` | 8 | 1 | 0 | 0 of 1 (0%, 0% to 98%) | 0 | 0 of 1 (0%) | 95% |" in text
    assert (
        "| `verify/claims` | 7 | 1 | 0 | 0 of 1 (0%, 0% to 98%) | 0 | 0 of 1 (0%) | 90% |" in text
    )
    assert "| `bounds` | - | 0 | 0 | not measured | 0 | not measured | 90% |" in text
    notes = [t.split(" | ") for t in text.partition("| module | fault |")[2].splitlines()[2:]]
    assert notes == [
        ["| `verify/plan.py`", "`operator changed: a ¦ b -> (a & b)`", now("`t.py::test_b[1 2]`")],
        ["| `verify/plan.py`", "`constant changed: 5 -> 6`", "survives |"],
        ["| `verify/claims/x/y.py`", "`line dropped: f() -> pass`", "survives |"],
        ["| `reports/figures.py`", "`constant changed: 6 -> 7`", EQUAL],
    ]


def test_a_group_without_faults_to_find_has_no_share() -> None:
    (row,) = [t for t in log(read(PRINTED.splitlines())).splitlines() if "`reports`" in t]
    assert row == "| `reports` | 7 | 1 | 1 | not measured | 0 | not measured | 90% |"


def test_survivors_are_tried_again_where_they_stand_now() -> None:
    """A fault's text may occur twice in a module: the place nearest to its old line is taken."""
    path = "verify/decisions/rates.py"
    faults = [f for f in faults_in(path, (ROOT / path).read_text()) if f.new == "2"]
    chosen = faults[-1]
    lines = [
        f"SURVIVED 1.0 s  {path}:{chosen.line + 1} {str(chosen).partition(' ')[2]}",
        f"SURVIVED 1.0 s  {path}:1 constant changed: 123456 -> 123457",
        f"SURVIVED 1.0 s  {path}:7 constant changed: 5 -> 6",
        f"found 1.0 s  {path}:7 constant changed: 5 -> 6  by tests/a.py::test_b",
    ]
    (found,), gone = again(ROOT, survivors(read(lines)))
    assert (found.old, found.new, found.line) == (chosen.old, chosen.new, chosen.line)
    assert [each.what for each in gone] == ["constant changed: 123456 -> 123457"]


def test_a_text_that_is_cut_at_a_blank_is_one_fault_however_its_line_ends() -> None:
    lines = [
        "SURVIVED     6.0 s  verify/plan.py:9 operator changed: a + -> (a - ",
        "again, seed 0:",
        "found        1.0 s  verify/plan.py:9 operator changed: a + -> (a -   by t.py::test_b",
    ]
    assert not survivors(read(lines))
    cut = Fault("verify/plan.py", 0, "a + b", "x" * 59 + " y", "operator changed", 9)
    assert _words(cut).endswith("x")


TWICE = """\
verify, seed 3:
SURVIVED     1.0 s  verify/plan.py:10 constant changed: 1 -> 2
found        1.0 s  verify/plan.py:50 constant changed: 1 -> 2  by t.py::test_a
SURVIVED     1.0 s  verify/plan.py:90 constant changed: 1 -> 2
SURVIVED     1.0 s  verify/plan.py:70 line dropped: f() -> pass
again, seed 0:
found        1.0 s  verify/plan.py:84 constant changed: 1 -> 2  by t.py::test_b
GONE         0.0 s  verify/plan.py:70 line dropped: f() -> pass
verify, seed 4:
found        1.0 s  verify/plan.py:84 constant changed: 1 -> 2  by t.py::test_b
"""


def test_faults_with_one_text_at_several_places_are_counted_apart() -> None:
    """The one tried again is the nearest survivor.  A place that is gone counts at first only."""
    text = log(read(TWICE.splitlines()))
    assert "| `verify` | 3 | 4 | 0 | 1 of 4 (25%, 1% to 81%) | 0 | 2 of 3 (67%) | 95% |" in text
    assert "| `verify` | 4 | 1 | 0 | 1 of 1 (100%, 3% to 100%) | 0 | 1 of 1 (100%) | 95% |" in text
    judgements = [t.split(" | ")[-1] for t in text.splitlines() if t.startswith("| `verify/plan")]
    gone = "it cannot be planted any more: the code or the rule of what counts has changed |"
    assert judgements == ["survives |", now("`t.py::test_b`"), gone]


def test_the_page_of_the_documentation_is_that_of_the_kept_lines() -> None:
    kept = (ROOT / "tests/faults/printed.txt").read_text("utf-8").splitlines()
    expected = page(read(kept)) + meaning_section(MEANINGS)
    assert (ROOT / "docs/faults.md").read_text("utf-8") == expected
    assert (ROOT / "tests/faults/log.md").read_text("utf-8") == log(read(kept))


def test_the_page_sums_over_seeds_and_lists_what_survives() -> None:
    text = page(read(PRINTED.splitlines()))
    assert (
        "| `verify` | 3 | 1 of 3 (33%, 1% to 91%) | 2 of 3 (67%) | 0 of 1 (0%, 0% to 98%) |" in text
    )
    assert "* `verify/claims/x/y.py`: `line dropped: f() -> pass`" in text
    assert "figures.py" not in text, "an equivalent fault is no fault"


def test_the_table_of_faults_of_meaning_counts_packages_and_all() -> None:
    one = MEANINGS[0]
    faults = [
        one._replace(path="bounds/a.py"),
        one._replace(path="trials/b.py", missed=True),
        one._replace(path="bounds/c.py", missed=True),
    ]
    rows = meaning_section(faults).splitlines()[-3:]
    assert rows[0] == "| `bounds` | 2 | 1 of 2 (50%, 1% to 99%) |"
    assert rows[1].startswith("| `trials` | 1 | 0 of 1 (0%")
    assert rows[2].startswith("| all | 3 | 1 of 3 (33%")
