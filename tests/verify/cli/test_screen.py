"""Lines on a terminal: they fit, no word is broken, marks of any length are ready."""

import io
import re
from collections import defaultdict
from itertools import islice, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trials.text import one_line, printable, shorten
from verify.cli import catalogue, screen, verdicts
from verify.evidence import Verdict
from verify.session import Outcome


def outcome(selection, verdict="SUPPORTED", expected="SUPPORTED", mark=None):
    evidence = {
        "verdict": verdict,
        "summary": "no more than $\\frac{1}{m}$",
        "n_trials": 12_345,
        "n_failed": 0,
        "cells": [{"observed": 0.041, "se": 0.001, "bound": 0.12, "ratio": 0.34}],
    } | ({"mark": mark} if mark else {})
    return Outcome(selection=selection, expected=Verdict(expected), document={"evidence": evidence})


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 120, 200])
def test_packed_fields_fit_and_keep_their_words(columns):
    parts = [
        *verdicts.fields(outcome("ifca.thm1[m=400,d=100,sigma=0.25]", mark="SUPPORTED TO .008"))
    ]
    lines = screen.pack([part.strip() for part in parts], columns)
    assert all(len(line) <= columns for line in lines)
    if columns >= 40:
        words = set(" ".join(parts).split())
        assert {word for line in lines for word in line.split()} == words


def test_a_pipe_gets_one_line():
    (line,) = screen.pack(verdicts.fields(outcome("ifca.thm1")), None)
    assert line.endswith("SUPPORTED")


def test_a_name_longer_than_the_terminal_is_broken_after_punctuation():
    text = "ifca.some-long-claim[m=400,d=100,sigma=0.25]"
    lines = screen.broken(text, 24)
    assert "".join(lines) == text
    assert all(re.search(r"[,\-./\[_\]]$", line) for line in lines)


def test_the_tally_counts_marks_by_their_word_and_names_the_unexpected():
    found = [
        outcome("a"),
        outcome("b", mark="SUPPORTED TO 0.008"),
        outcome("c", verdict="REFUTED"),
    ]
    assert verdicts.tally(found[:2]) == ["2 claims: 1 SUPPORTED, 1 SUPPORTED TO r; all as expected"]
    assert verdicts.tally(found) == [
        "3 claims: 1 SUPPORTED, 1 SUPPORTED TO r, 1 REFUTED",
        "1 not as expected: c",
    ]


def test_identities_of_formulas_are_counted_apart_and_named_in_their_line():
    same = outcome("b")
    same.document["identity"] = "both sides come from (1)"
    assert verdicts.tally([outcome("a"), same]) == [
        "1 claim: 1 SUPPORTED; and 1 identity of formulas; all as expected"
    ]
    assert verdicts.tally([same, same]) == [
        "no claim; and 2 identities of formulas; all as expected"
    ]
    assert verdicts.fields(same)[-1] == "(identity of formulas)"


def test_the_closing_table_has_the_unexpected_last_and_formulas_as_text(capsys):
    found = [outcome("first", verdict="REFUTED"), outcome("second", mark="SUPPORTED TO 0.008")]
    verdicts.print_closing(found, screen.make_console())
    text = capsys.readouterr().out
    assert text.index("second") < text.index("first")
    assert "SUPPORTED TO 0.008" in text
    assert "REFUTED (expected SUPPORTED)" in text
    assert "no more than 1/m" in text


def test_messages_are_one_line_without_control_characters_and_inputs_are_shortened():
    given = "claim[" + "x" * 3000 + "=1]"
    line = one_line(f"bad {given!r}\n\x1b[31m\u202e", [given])
    assert len(line) < 300
    assert line.isprintable()
    assert "(3,000 characters)" in line or "(3,009 characters)" in line
    assert printable("a\u2028b\x9bc") == "a\\u2028b\\x9bc"
    assert shorten("short") == "short"


def test_square_brackets_are_text_and_json_has_no_nan(capsys):
    screen.say("[red]x[/] [/] [b :warning:")
    screen.print_json({"a": float("nan"), "b": [float("inf"), 1.5], 3: "\x1b"})
    out = capsys.readouterr().out
    assert out.startswith("[red]x[/] [/] [b :warning:\n")
    assert '"a": null' in out
    assert "\x1b" not in out


def test_a_wrapped_last_column_continues_below_itself(monkeypatch):
    monkeypatch.setattr(screen, "columns_of", lambda _console: 40)
    row = ("one", "22", "three", "a text of several words that is broken")
    heading, *lines = screen.table(("a", "b", "c", "d"), [row], right={1})
    assert heading == "a     b  c      d"
    start = 3 + 2 + 2 + 2 + 5 + 2  # three columns, each with a gap of two
    assert len(lines) > 1
    assert lines[0].startswith("one  22  three  a text")
    assert all(line[:start].isspace() and not line[start].isspace() for line in lines[1:])
    assert " ".join(line[start:] for line in lines) == row[-1]
    assert all(len(line) <= 40 for line in lines)


def test_a_pipe_keeps_its_width_where_colours_are_forced_on_a_dumb_terminal(monkeypatch):
    for name, value in (("FORCE_COLOR", "1"), ("TERM", "dumb")):
        monkeypatch.setenv(name, value)
    assert screen.make_console(stderr=True).width == screen.PIPE_WIDTH


@pytest.mark.parametrize(("columns", "as_table"), [(21, True), (20, False)])
def test_verdicts_are_a_table_while_claim_and_verdict_fit_with_the_gap(
    columns, as_table, monkeypatch
):
    """Names of 10 letters and verdicts of 9, two blanks apart."""
    monkeypatch.setenv("COLUMNS", str(columns))
    rows = [("a.claim-10", "SUPPORTED", "12,345", "a few words")]
    lines = list(verdicts._fit(rows, columns))
    if as_table:
        assert lines[0].split() == ["claim", "verdict"]
        assert lines[1] == "a.claim-10  SUPPORTED"
    else:
        assert lines == ["a.claim-10", "    SUPPORTED"]


def test_numbers_of_trials_end_in_one_column(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    rows = [("a.b", "SUPPORTED", "5", "short"), ("a.longer", "REFUTED", "12,345", "x")]
    _, first, second = verdicts._fit(rows, 120)
    assert first.index("5  short") == second.index("5  x")


WORDS = st.text("ab,-./[_x", min_size=1, max_size=24)
TEXTS = st.lists(WORDS, max_size=12).map(" ".join)


@given(text=TEXTS, columns=st.integers(1, 40))
def test_broken_lines_fit_and_lose_nothing(text, columns):
    width = max(columns, 8)
    lines = screen.broken(text, columns)
    assert all(len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())
    if len(text) <= width:
        assert lines == [text]


@given(word=st.text("ab,-./[_x", min_size=1, max_size=60), columns=st.integers(8, 40))
def test_a_long_word_is_broken_after_the_last_punctuation_that_fits(word, columns):
    lines, rest = [], word
    while len(rest) > columns:
        ends = [i + 1 for i in range(columns) if rest[i] in ",-./[_"]
        at = ends[-1] if ends else columns
        lines.append(rest[:at])
        rest = rest[at:]
    assert screen.broken(word, columns) == [*lines, rest]


@given(
    fields=st.lists(st.text("abc =", max_size=14).map(lambda t: f"x{t}x"), min_size=1, max_size=8),
    columns=st.integers(20, 60),
)
def test_fields_side_by_side_are_filled_in_from_the_left(fields, columns):
    lines = screen.pack(fields, columns)
    taken, at = [], 0
    while at < len(fields):  # no field here is wider than a line
        indent = "    " if taken else ""
        line = f"{indent}{fields[at]}"
        at += 1
        while at < len(fields) and len(f"{line}  {fields[at]}") <= columns:
            line = f"{line}  {fields[at]}"
            at += 1
        taken.append(line)
    assert lines == taken


@pytest.mark.parametrize("columns", [20, 30, 59, 60, 61, 90])
@pytest.mark.parametrize("label", [12, 18])
def test_a_definition_has_its_text_in_a_column_of_its_own(columns, label, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    text = "a text of some words that is much longer than any of these terminals is wide, by far"
    lines = list(screen.definition("name", text, label=label))
    if columns < 60:
        assert lines[0] == "name"
        texts = lines[1:]
        indent, room = 2, columns - 2
    else:
        assert lines[0].startswith("name".rjust(label) + "  a text")
        texts = [" " * label + lines[0][label:], *lines[1:]]
        indent, room = label + 2, columns - label - 2
    assert all(line[:indent].isspace() and not line[indent].isspace() for line in texts)
    assert [line[indent:] for line in texts] == screen.broken(text, room)


@pytest.mark.parametrize("columns", [20, 24, 25, 26, 40, 80])
@pytest.mark.parametrize("last", ["short", "a last column of quite a few words", ""])
def test_columns_are_left_out_from_the_right_until_the_others_fit(columns, last, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    rows = [("one", "22", last), ("three", "4", last)]
    heading, *lines = screen.table(("a", "bb", "c"), rows, right={1})
    room = columns - (5 + 2 + 2 + 2)  # beside two columns and their gaps
    wanted = min(16, max(len(last), 1))
    if room >= wanted:
        assert heading == "a      bb  c"
        start = 11
        assert [line[:start].rstrip() for line in lines if line[:start].strip()] == [
            "one    22", "three   4",
        ]  # fmt: skip
        shown = " ".join(line[start:].strip() for line in lines).split()
        assert shown == [*last.split(), *last.split()]
    else:
        assert (heading, *lines) == ("a      bb", "one    22", "three  4")
    assert all(len(line) <= columns for line in lines)


def test_marks_that_begin_alike_have_their_own_colours():
    marks = ("SUPPORTED", "SUPPORTED TO 0.01", "REFUTED")
    found = [outcome(name, mark=name) for name in marks]
    colours = {"SUPPORTED": "green", "SUPPORTED TO 0.01": "cyan", "REFUTED": "red"}
    for order in permutations(found):
        for mark, colour in colours.items():
            line = f"a.claim[x=1]  {mark}  12,345  it is"
            shown = verdicts._colour_first(line, order)
            assert shown == f"a.claim\\[x=1]  [{colour}]{mark}[/]  12,345  it is"


@pytest.mark.parametrize(
    ("told", "columns"), [("0", None), ("", None), ("-3", None), ("x", None), ("7", 7)]
)
def test_columns_that_no_terminal_has_are_passed_over(monkeypatch, told, columns):
    monkeypatch.setenv("COLUMNS", told)
    pipe = screen.Console(file=io.StringIO())
    assert screen.columns_of(pipe) == columns


def test_a_word_as_wide_as_the_terminal_is_one_line():
    assert screen.broken("yy,xxxxxxxx", 8) == ["yy,", "xxxxxxxx"]
    assert screen.broken("yy,xxxxxxxxz", 8) == ["yy,", "xxxxxxxx", "z"]


def test_info_tells_the_assumptions_of_the_paper_from_added_ones():
    view = {"kind": "", "mark": "", "quantifiers": "", "statement": "", "fails_with": ""}
    view["assumptions"] = [
        {"name": "first", "text": "a > b", "note": "", "added": False},
        {"name": "second", "text": "c > d", "note": "why", "added": True},
    ]
    lines = catalogue._lines(defaultdict(list, view), all_cells=False)
    told = list(islice(lines, 7))
    assert ("assumption", "first: a > b") in told
    assert ("not in the paper", "second: c > d (why)") in told
