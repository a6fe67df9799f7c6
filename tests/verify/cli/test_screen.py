"""Lines on a terminal: they fit, no word is broken, marks of any length are ready."""

import re

import pytest

from trials.text import one_line, printable, shorten
from verify.cli import screen, verdicts
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
