"""Formulas as MathML: every command has a drawing, and text stays text."""

from __future__ import annotations

import re
from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reports.errors import ReportError
from reports.mathematics import COMMANDS, ENVIRONMENTS, display_source, math_source, why_refused
from reports.site.mathml import _check, _expand, _plain, mathml
from tests.reports.test_catalogue_formulas import formulas

TWO_ARGUMENTS = {"frac", "dfrac", "tfrac", "binom", "overset", "underset", "stackrel"}
FENCES = {"left", "right", "middle", "begin", "end"}


def text_of(source: str) -> str:
    return "".join(fromstring(f"<p>{mathml(source)}</p>").itertext())


@pytest.mark.parametrize("name", sorted(COMMANDS - FENCES))
def test_every_command_that_formulas_may_use_is_drawn(name: str) -> None:
    source = rf"\{name}{{x}}{{y}}" if name in TWO_ARGUMENTS else rf"\{name} {{x}} y"
    assert "\\" not in mathml(str(math_source(source)))


@pytest.mark.parametrize("name", sorted(ENVIRONMENTS))
def test_every_environment_has_its_rows(name: str) -> None:
    source = rf"\begin{{{name}}}a\\b\end{{{name}}}"
    tree = fromstring(mathml(source))
    assert [len(list(tree.iter("mtr"))), "\\" in mathml(source)] == [2, False]


def test_fences_of_all_kinds_are_drawn() -> None:
    assert text_of(r"\left\lVert \frac{a}{b} \middle| x \right\rVert") == "‖ab|x‖"


def test_every_formula_of_the_catalogue_is_drawn() -> None:
    found = formulas()
    assert len(found) > 1000
    for source in found:
        page = mathml(str(display_source(source)), display=True)
        assert "\\" not in page, source
        assert fromstring(page).get("display") == "block"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("12\\,000", "12\u202f000"),
        ("-0.5", "−0.5"),
        (r"1.2 \times 10^{-5}", "1.2 × 10<sup>−5</sup>"),
        (r"(1.2 \pm 0.1) \times 10^{7}", "(1.2 ± 0.1) × 10<sup>7</sup>"),
        (r"[0.1,\ 0.2]", "[0.1, 0.2]"),
        (r"-\infty", "−∞"),
    ],
)
def test_numbers_are_text(source: str, shown: str) -> None:
    assert mathml(source) == shown


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (r"\norm{\norm{x}+y}", "‖‖x‖+y‖"),
        (r"\abs x", "|x|"),
        (r"\poly(m)\polylog m", "poly(m)polylogm"),
        (r"a \when{m \ge k}", "aif m≥k"),
    ],
)
def test_the_macros_of_the_report_are_known(source: str, shown: str) -> None:
    assert text_of(source).replace("\u00a0", " ") == shown


@pytest.mark.parametrize(
    "source", [r"\text{<script>alert(1)</script>}", r"\text{&lt;b&gt;}", r"\mathrm{<i>}x", "x<b>y"]
)
def test_text_in_a_formula_stays_text(source: str) -> None:
    assert why_refused(source) == ""  # the formula is one that a stranger may store
    page = mathml(source)
    assert {element.tag for element in fromstring(page).iter()} <= {
        *("math", "mrow", "mtext", "mi", "mo", "mn"),
    }
    assert "<script" not in page
    assert "<b" not in page


@settings(deadline=None, max_examples=200)
@given(st.text(st.sampled_from("\\{}_^&<>\"'ab1 textmathrmfracnormsqrt"), max_size=30))
def test_a_formula_is_mathml_or_an_error(source: str) -> None:
    assume(not why_refused(source))
    try:
        page = mathml(str(math_source(source)))
    except ReportError:
        page = ""
    tags = {element.tag for element in fromstring(f"<p>{page}</p>").iter()}
    assert all(tag in ("p", "sup", "math") or tag.startswith("m") for tag in tags)


def test_a_formula_that_is_nested_without_end_is_an_error() -> None:
    with pytest.raises(ReportError, match="nested too deeply"):
        mathml("{" * 3000 + "}" * 3000)


def test_an_error_quotes_eighty_characters() -> None:
    with pytest.raises(ReportError, match=re.escape(f"'{'{' * 80}'")):
        mathml("{" * 3000 + "}" * 3000)


@pytest.mark.parametrize(("depth", "drawn"), [(20, True), (70, False)])
def test_a_tree_may_be_sixty_elements_deep(depth: int, drawn: bool) -> None:
    source = r"\sqrt{" * depth + "x" + "}" * depth
    if drawn:
        assert mathml(source).count("<msqrt>") == depth
    else:
        with pytest.raises(ReportError, match="nested too deeply"):
            mathml(source)


@pytest.mark.parametrize("source", ["3^{a}", "3^2", "{3}", "x", "-", "3^{2"])
def test_what_is_no_plain_number_is_a_formula(source: str) -> None:
    assert _plain(source) is None


@pytest.mark.parametrize(
    ("source", "name", "before", "after"),
    [
        (r"\log n", "log", "0", "0.167em"),
        (r"n \log n", "log", "0.167em", "0.167em"),
        (r"\log(n)", "log", "0", "0"),
        (r"2\log[n]", "log", "0.167em", "0"),
        (r"\log {n+1}", "log", "0", "0"),
        (r"n \log", "log", "0.167em", "0.167em"),
        ("a/b", "/", "0", "0"),
    ],
)
def test_names_and_strokes_have_the_blanks_of_tex(
    source: str, name: str, before: str, after: str
) -> None:
    tree = fromstring(mathml(source))
    (operator,) = (element for element in tree.iter() if element.text == name)
    assert (operator.get("lspace"), operator.get("rspace")) == (before, after)
    assert operator.tag == "mo"


@pytest.mark.parametrize(
    ("source", "inside"),
    [
        (r"\norm{a{b}c}d", r"\left\lVert a{b}c\right\rVert d"),
        (r"\norm xy", r"\left\lVert x\right\rVert y"),
        (r"\norm{a}\norm{b}", r"\left\lVert a\right\rVert \left\lVert b\right\rVert "),
        (r"\normal{a}", r"\normal{a}"),
    ],
)
def test_a_macro_takes_its_argument(source: str, inside: str) -> None:
    assert _expand(source) == inside


@pytest.mark.parametrize(
    "element", ["<script/>", '<mi onclick="f()">x</mi>', "<mrow><mi>x</mi>y</mrow>"]
)
def test_one_thing_that_is_no_mathml_is_enough_for_a_refusal(element: str) -> None:
    """An element, an attribute, and text between elements."""
    with pytest.raises(ValueError, match="<"):
        _check(fromstring(element))


@pytest.mark.parametrize(
    ("source", "n_formulas"),
    [
        (r"\forall m,n,d,k", 1),
        (r"\forall m,n,d,k,p", 5),
        (r"\forall m,n,d,f(a,b,c)", 1),
        (r"m,n,d,\{a,b\},[c,e]", 5),
    ],
)
def test_a_list_of_five_entries_may_break_behind_its_commas(source: str, n_formulas: int) -> None:
    """A comma within brackets is no end of an entry, and none is lost."""
    page = mathml(source)
    assert page.count("<math") == n_formulas
    shown = re.sub(r"<[^>]*>|\s", "", page)
    assert shown == re.sub(r"\\forall|\\|\s", lambda m: "∀" if "f" in m[0] else "", source)


@pytest.mark.parametrize("name", sorted(ENVIRONMENTS))
def test_a_line_does_not_break_inside_an_environment(name: str) -> None:
    """The pieces were halves of it, and the site was lost."""
    assert mathml(rf"x=\begin{{{name}}}a,b,c,d,e\end{{{name}}}").count("<math") == 1
