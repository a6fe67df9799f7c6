"""Escaping, numbers and names."""

from __future__ import annotations

import html
import re
import string
import subprocess
from decimal import Decimal
from pathlib import Path

import pypandoc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reports
from reports.errors import ReportError
from reports.mathematics import (
    display_source,
    exponentials,
    math_source,
    require_allowed,
    why_refused,
)
from reports.text import (
    code,
    escape_text,
    estimate,
    formula,
    interval,
    latex_field,
    number,
    parameter,
    prose,
    run_in,
    value,
    visible_length,
)

FILTER = Path(reports.__file__).parent / "templates" / "embedded.lua"
PRINTABLE = "".join(c for c in string.printable if c.isprintable())


def printed(latex: str) -> str:
    """The printed text of a LaTeX fragment, by an independent reader of LaTeX."""
    done = subprocess.run(
        [
            pypandoc.get_pandoc_path(), "--from=latex+raw_tex", "--to=html", "--wrap=none",
            f"--lua-filter={FILTER}", "--fail-if-warnings",
        ],
        input=latex, capture_output=True, text=True, check=True,
    )  # fmt: skip
    text = html.unescape(re.sub(r"<[^>]*>", "", done.stdout.strip()))
    return text.translate({ord("’"): "'", ord("‘"): "'", ord("“"): '"', ord("”"): '"', 0xA0: " "})


@settings(deadline=None, max_examples=25)
@given(st.text(PRINTABLE.replace("$", ""), min_size=40, max_size=200))
def test_escaped_text_prints_as_it_was(text: str) -> None:
    assert printed("x " + escape_text(text) + " x") == f"x {' '.join(text.split())} x"


@pytest.mark.parametrize("text", ["&<000>", "_<1-2> <<a>>", "#<+->", "%<0>_<-"])
def test_what_looks_like_the_slides_of_a_presentation_is_printed(text: str) -> None:
    assert printed("x " + escape_text(text) + " x") == f"x {text} x"
    assert printed("x " + code(text) + " x") == f"x {text} x"


@settings(deadline=None, max_examples=15)
@given(st.text(PRINTABLE.replace("$", ""), min_size=40, max_size=120))
def test_code_prints_as_it_was(text: str) -> None:
    assert printed("x " + code(text) + " x") == f"x {' '.join(text.split())} x"


@settings(deadline=None, max_examples=200)
@given(st.text())
def test_escaped_text_is_balanced_and_leaves_no_special_character_bare(text: str) -> None:
    escaped = escape_text(text)
    outside = re.sub(r"(?<!\\)\$(?:\\.|[^$\\])*\$", "", escaped)
    outside = re.sub(r"\\[A-Za-z]+|\\.", "", outside)
    assert not re.search(r"[$%&#_^]", outside)
    assert outside.count("{") == outside.count("}")
    assert all(c.isascii() or "¡" <= c <= "ž" for c in escaped)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.sampled_from([r"x_1 \le 2", r"\frac{a}{b}", r"\{1\}", "p_{\\min}"]), max_size=4))
def test_inline_math_is_kept(formulas: list[str]) -> None:
    text = "100% of a_b " + " & ".join(f"${f}$" for f in formulas)
    escaped = escape_text(text)
    assert escaped.startswith(r"100\% of a\_b")
    assert [m.rstrip() for m in re.findall(r"(?<!\\)\$(.*?)(?<!\\)\$", escaped)] == formulas


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("costs $5", r"costs \$5"),
        ("$x", r"\$x"),
        ("$x}$ y", r"\$x\}\$ y"),
        ("$a % b$", r"\$a \% b\$"),
        ("$a\\$ b", r"\$a\textbackslash{}\$ b"),
        ("", ""),
        ("ρ ≥ 1", r"$\rho$ $\ge$ 1"),
        ('a "b" c', "a ``{}b''{} c"),
        ('"a $b$" c', "``{}a $b$''{} c"),
        ("'a $b$' isn't 'c d'", "`a $b$' isn't `c d'"),
        ("$x'$ of 'y'", "$x'$ of `y'"),
        ("--seed", "-{}-seed"),
        ("漢", "{[}U+6F22{]}"),
    ],
)
def test_escape_text_of_awkward_pieces(text: str, expected: str) -> None:
    assert escape_text(text) == expected


@pytest.mark.parametrize(
    ("items", "shown"),
    [
        (["a"], "a."),
        (["a", "b!"], "a; b!"),
        ([r"a: \cflformula{x}", "b"], r"a: \cflformula{x} b."),
        (["a", r"b: \cflformula{x}"], r"a; b: \cflformula{x}"),
        ([r"a: \cflformula{x} (note)"], r"a: \cflformula{x} (note)."),
        ([], ""),
    ],
)
def test_no_mark_follows_a_formula_on_its_own_lines(items: list[str], shown: str) -> None:
    assert run_in(items) == shown


def test_math_uses_one_dialect() -> None:
    assert math_source(r"\|x\| + \left\|y\right\|") == (
        r"\lVert x\rVert  + \left\lVert y\right\rVert"
    )
    assert math_source(r"a\!b\;c") == r"ab\,c"
    assert math_source(r"\bigl(x\Big)") == "(x)"
    assert math_source(r"\bigcup A_i") == r"\bigcup A_i"
    assert math_source("ρ≤θ").split() == [r"\rho", r"\le", r"\theta"]


@pytest.mark.parametrize("source", ["$$x$$", r"\[x\]", "$x$", r"\(x\)", "x"])
def test_display_source_drops_delimiters(source: str) -> None:
    assert display_source(source) == "x"


def test_stored_latex_is_told_from_text() -> None:
    assert latex_field(r"\forall m, n'") == r"$\forall m, n'$"
    assert latex_field(r"For all $m$ and \(n\),") == "For all $m$ and $n$,"
    assert latex_field("for every start") == "for every start"
    assert formula("m") == "$m$"
    assert formula("") == ""


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (None, "--"),
        (True, "yes"),
        (0, "$0$"),
        (0.0, "$0$"),
        (4000, "$4000$"),
        (12000, r"$12\,000$"),
        (-1234567, r"$-1\,234\,567$"),
        (0.041234567890123456, "$0.0412$"),
        (0.5, "$0.5$"),
        (1.2345e-5, r"$1.23 \times 10^{-5}$"),
        (1e-7, "$10^{-7}$"),
        (-1e9, "$-10^{9}$"),
        (123456.789, r"$123\,000$"),
        (9.999e-6, "$10^{-5}$"),
        (float("inf"), r"$\infty$"),
        (float("nan"), "not a number"),
    ],
)
def test_number_has_few_digits(item: float | None, expected: str) -> None:
    assert number(item) == expected


@settings(deadline=None, max_examples=300)
@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300))
def test_number_is_within_half_a_unit_of_its_last_digit(x: float) -> None:
    text = number(x).strip("$").replace(r"\,", "")
    match = re.fullmatch(r"(-?[\d.]*)(?: ?\\times )?(?:10\^\{(-?\d+)\})?", text)
    assert match is not None, text
    mantissa = match[1] if match[1] not in ("", "-") else match[1] + "1"
    read = Decimal(mantissa).scaleb(int(match[2] or 0))
    exact = Decimal(x)
    # Three significant digits: relative error at most 0.5 / 100, up to binary rounding.
    assert abs(read - exact) <= abs(exact) * Decimal("0.0050001")


def test_estimate_rounds_to_two_digits_of_its_error() -> None:
    assert estimate(0.04101234, 0.00112) == r"$0.0410 \pm 0.0011$"
    assert estimate(4.1234e-5, 1.09e-6) == r"$(4.12 \pm 0.11) \times 10^{-5}$"
    assert estimate(12345.6, 98.0) == r"$12\,346 \pm 98$"
    assert estimate(0.5, None) == "$0.5$"
    assert estimate(None, 0.1) == "--"
    assert estimate(0.0, 0.5) == r"$0.00 \pm 0.50$"


def test_interval_ends_differ_when_the_values_do() -> None:
    assert interval(0.1, 0.2) == r"$[0.100,\ 0.200]$"
    assert interval(3.9e-5, 4.71e-5) == r"$[3.90,\ 4.71] \times 10^{-5}$"
    low, high = re.findall(r"\d\.\d+", interval(0.1234567, 0.1234569))
    assert low != high
    assert interval(0.2275858074, 0.2275858083) == r"$[0.2275858,\ 0.2275858]$"  # seven digits
    assert interval(None, 1.0) == r"{[}$-\infty$, $1${]}"
    assert interval(None, None) == "--"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("m", "$m$"),
        ("rho", r"$\rho$"),
        ("Delta_sq", r"$\Delta^{2}$"),
        ("n_prime", "$n'$"),
        ("p_min", r"$p_{\mathrm{min}}$"),
        ("alpha_0", r"$\alpha_{0}$"),
        ("theta_star", r"$\theta^{\ast}$"),
        ("step_rule", "step rule"),
        ("at_2x", r"\texttt{at\_2x}"),
    ],
)
def test_parameter_names_become_symbols(name: str, expected: str) -> None:
    assert parameter(name) == expected


def test_values_of_any_kind_are_shown() -> None:
    assert value([0.5, 2]) == "($0.5$, $2$)"
    assert value("worst_case") == r"worst\_case"
    assert value(list(range(20))).endswith(r"\ldots{})")


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (0.4999999, "$0.5-10^{-7}$"),  # below one half, and shown so
        (1.00001, "$1+10^{-5}$"),
        (0.09999999999999998, "$0.1$"),  # binary rounding
        (0.328125, "$0.3281$"),
        (1e7, r"$10\,000\,000$"),
        (64.0, "$64$"),
        (10**9, "$10^{9}$"),
        (1_234_567_890, r"$1\,234\,567\,890$"),
    ],
)
def test_parameter_values_keep_what_distinguishes_them(item: float, expected: str) -> None:
    assert value(item) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("at N=1, a=100.0, seed=0: 1.5", "at $N=1$, $a=100$, seed $=0$: 1.5"),
        ("delta 1e-07 at rho", r"$\delta$ $10^{-7}$ at $\rho$"),
        ("n from 1 to 1000000; phi_a from 0 to 3.142", None),
        ("closest -0.693, c_2 >= 1", r"closest $-0.693$, $c_{2}$ $\ge$ 1"),
        ("resolution 0.00199059 only", "resolution $0.001991$ only"),
        ("$\\alpha=0.4999999$ stays", r"$\alpha=0.4999999$ stays"),
        ("ifca.alpha-increases, 2026-11-21, (11)-(12), 3.11.7, v=a", None),
    ],
)
def test_prose_sets_numbers_and_symbols(text: str, expected: str | None) -> None:
    if text.startswith("n from"):
        expected = r"$n$ from $1$ to $1\,000\,000$; $\phi_{a}$ from $0$ to $3.142$"
    assert prose(text) == (text if expected is None else expected)


def test_fractions_do_not_stay_in_exponents() -> None:
    assert exponentials(r"2 e^{- n \frac{a}{b}} + e^{-x}") == (
        r"2 \exp\left(- n \frac{a}{b}\right) + e^{-x}"
    )
    assert exponentials(r"\theta e^{\frac{1}{2}") == r"\theta e^{\frac{1}{2}"  # unbalanced: kept


def test_visible_length_ignores_markup() -> None:
    assert visible_length(r"\textbf{abc}") == 3
    assert visible_length(r"a\newline bcd") == pytest.approx(4, abs=1)
    assert visible_length(r"$10^{-5}$") < 8


@pytest.mark.parametrize(
    ("source", "length"),
    [
        ("abc", 3.0),
        ("Abc", 3.3),  # a capital letter is a third wider
        (r"\texttt{abC}", 1.15 * 3.3),
        ("$x^{12}$", 3.0),
        ("$x^{-5}$", 2.0),  # superscripts are narrow
        (r"a\newline bcd", 4.0),  # the longest line
        (r"\textcolor{muted}{ab}", 2.0),
        (r"$1 \times 10$", 5.0),
        (r"$12\,000$", 5.0),
        (r"$[0.1,\ 0.2]$", 10.0),
        (r"\rho 50\%", 5.0),
        (r"\hyperref[sec:a]{ab}, page~\pageref{sec:a}", 9.0),
        (r"\left[a\right]", 3.0),
    ],
)
def test_the_visible_length_counts_what_is_printed(source: str, length: float) -> None:
    assert visible_length(source) == pytest.approx(length)


@pytest.mark.parametrize(
    ("source", "changed"),
    [
        (r"e^{\frac{a}{b}}", r"\exp\left(\frac{a}{b}\right)"),
        (r"e^{-x}", r"e^{-x}"),
        (r"2e^{ \frac{a}{b}} + 1", r"2\exp\left(\frac{a}{b}\right) + 1"),
        (r"e^{e^{\frac{a}{b}}}", r"\exp\left(e^{\frac{a}{b}}\right)"),  # the outer one only
        (
            r"e^{\frac{a}{b}}e^{\frac{c}{d}}",
            r"\exp\left(\frac{a}{b}\right)\exp\left(\frac{c}{d}\right)",
        ),
        (r"\le^{\frac{a}{b}}", r"\le^{\frac{a}{b}}"),
        (r"e^{\frac{a}{b}", r"e^{\frac{a}{b}"),  # braces that do not pair
    ],
)
def test_exponentials_of_fractions_are_written_out(source: str, changed: str) -> None:
    assert exponentials(source) == changed


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{a}", ""),
        ("{a", "its braces do not pair"),
        ("a}", "its braces do not pair"),
        ("}a{", "its braces do not pair"),  # as many of both
        (r"\{a", ""),  # a printed brace
        ("a % b", "it holds %, which would end or change the formula"),
        ("a^^b", "it holds ^^, which would end or change the formula"),
        (r"a^\rho^b", ""),
        (r"\input{x}", r"it uses \input, which formulas may not use"),
        ("\\" + "q" * 60, "it uses \\" + "q" * 40 + ", which formulas may not use"),
        ("\\", "it uses \\, which formulas may not use"),
        (r"\@", r"it uses \@, which formulas may not use"),
        (r"\1", r"it uses \1, which formulas may not use"),
        (r"a\,b\;c\!d", ""),
        (r"\begin{tikz}\end{tikz}", "it uses the environment tikz, which formulas may not use"),
        (r"\begin", "it uses the environment ?, which formulas may not use"),
    ],
)
def test_the_reason_for_which_a_formula_is_refused(source: str, reason: str) -> None:
    assert why_refused(source) == reason


def test_an_error_quotes_eighty_characters_of_a_formula() -> None:
    with pytest.raises(ReportError) as caught:
        require_allowed("x" * 79 + "y%" + "z" * 40)
    assert f"'{'x' * 79}y'" in str(caught.value)


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        *[("$$", "$$"), ("$a$", "a"), ("$$a$$", "a"), (r"\begin{equation*}a\end{equation*}", "a")],
        *[(source, source) for source in (r"\[$a$\]", r"$$\(a\)$$")],  # one pair alone
    ],
)
def test_delimiters_around_something_are_dropped(source: str, shown: str) -> None:
    if shown == source:
        with pytest.raises(ReportError):
            display_source(source)
    else:
        assert display_source(source) == shown


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_double_bars_open_and_close_in_turn(n: int) -> None:
    bars = [r"\lVert", r"\rVert"] * 2
    source = "a".join([r"\|"] * n)
    assert math_source(source).replace(" ", "") == "a".join(bars[:n])


@pytest.mark.parametrize(
    ("text", "is_formula"),
    [
        ("x_1", True),
        ("m = 3", True),
        ("the x = 3", True),
        ("the rate = 3", False),
        ("abc", False),
    ],
)
def test_a_field_of_words_of_four_letters_is_text(text: str, is_formula: bool) -> None:
    assert latex_field(text).startswith("$") is is_formula
