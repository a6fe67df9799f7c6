"""Claims are built, selected by name and wild card, and written down as plain data."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trials.checks import InvalidParameter
from verify.cli import describe
from verify.evidence import Verdict
from verify.papers import catalogue
from verify.plan import plan
from verify.procedures.base import PROFILES
from verify.selection import Selection, parse_selection, select


def test_a_smallest_profile_is_one_that_exists_and_comes_with_a_reason():
    claim = catalogue()["ifca.eq3"]
    dear = replace(claim, smallest_profile="full", why_not_smaller="an hour a trial")
    assert [bool(dear.not_run_at(name)) for name in PROFILES] == [True, True, False]
    assert not any(claim.not_run_at(name) for name in PROFILES)
    with pytest.raises(
        InvalidParameter, match=r"ifca\.eq3: smallest_profile='huge' must be one of"
    ):
        replace(claim, smallest_profile="huge")
    with pytest.raises(InvalidParameter, match="not run below 'full' must say why"):
        replace(claim, smallest_profile="full")


def test_a_larger_profile_may_decide_a_claim_that_is_open_at_a_smaller_one():
    """Its verdicts are expected from that profile on, and `list` names them."""
    claim = catalogue()["ifca.thm1"]
    wanted = {"standard": Verdict.SUPPORTED}
    open_at_first = replace(claim, expected=Verdict.INCONCLUSIVE, larger=wanted)
    expected = [open_at_first.at(name).expected for name in PROFILES]
    assert expected == [Verdict.INCONCLUSIVE, Verdict.SUPPORTED, Verdict.SUPPORTED]
    runs = [plan({claim.id: open_at_first}, [claim.id], profile) for profile in PROFILES.values()]
    assert [run.claims[0].claim.expected for run in runs] == expected
    mark = describe._expected_mark(open_at_first, claim.build(PROFILES["quick"]))
    assert mark == "INCONCLUSIVE, SUPPORTED from standard on"
    with pytest.raises(
        InvalidParameter, match=r"'quick': \.\.\.\} must name a profile above 'quick'"
    ):
        replace(open_at_first, larger={"quick": Verdict.REFUTED})
    with pytest.raises(InvalidParameter, match="expected=SUPPORTED must be INCONCLUSIVE where"):
        replace(claim, larger=wanted)


def test_whether_a_claim_is_statistical_is_read_off_its_builder_or_off_what_it_builds():
    """Only a claim whose builder does not say what it returns is built for this question."""
    asked = []

    def told(builder):
        def silent(statement, profile):
            asked.append(profile)
            return builder(statement, profile)

        return silent

    for name, statistical in (("ifca.eq3", False), ("ifca.thm1", True)):
        claim = catalogue()[name]
        assert claim.statistical is statistical
        silent = replace(claim, builder=told(claim.builder))
        assert silent.statistical is statistical
        never = replace(claim, builder=told(claim.builder))
        never.builder.__annotations__["return"] = claim.builder.__annotations__["return"]
        never.builder.__wrapped__ = claim.builder  # where the annotation's names are
        n_asked = len(asked)
        assert never.statistical is statistical
        assert len(asked) == n_asked
    assert asked == [PROFILES["quick"]] * 2


@pytest.mark.parametrize(
    ("text", "claim", "values"),
    [
        ("ifca.thm1", "ifca.thm1", {}),
        ("ifca.thm1[]", "ifca.thm1", {}),
        ("ifca.thm1[m=400,d=100]", "ifca.thm1", {"m": 400, "d": 100}),
        (
            " ifca.thm1[ m = 400 , init=adversarial ] ",
            "ifca.thm1",
            {"m": 400, "init": "adversarial"},
        ),
        ("a.b[x=1e-3,y=-2]", "a.b", {"x": 1e-3, "y": -2}),
    ],
)
def test_a_selection_is_read(text, claim, values):
    selection = parse_selection(text)
    assert (selection.claim, dict(selection.values)) == (claim, values)
    for name, value in values.items():
        assert type(selection.values[name]) is type(value)


@given(
    st.dictionaries(
        st.from_regex(r"[a-z_]{1,8}", fullmatch=True),
        st.one_of(
            st.integers(), st.floats(allow_nan=False), st.from_regex("x[a-z]{1,5}", fullmatch=True)
        ),
        max_size=4,
    )
)
@settings(max_examples=50, deadline=None)
def test_a_selection_reads_back_what_it_prints(values):
    selection = Selection(claim="ifca.thm1", values=values)
    assert parse_selection(str(selection)) == selection


@pytest.mark.parametrize(
    "text", ["", "[m=1]", "ifca.thm1[m", "ifca.thm1[m]", "a[=3]", "a[m=]", "a]b", "a[m=[1]]"]
)
def test_what_is_not_a_selection_is_refused_by_name(text):
    with pytest.raises(InvalidParameter, match="must look like"):
        parse_selection(text)


def test_no_name_selects_all_and_wild_cards_select_some():
    everything = select(catalogue(), [])
    assert [s.claim for s, _ in everything] == list(catalogue())
    some = [s.claim for s, _ in select(catalogue(), ["ifca.eq1*"])]
    assert some == [name for name in catalogue() if name.startswith("ifca.eq1")]
    assert len(some) > 2
    both = select(catalogue(), ["ifca.lemma1[n=3]", "ifca.eq3"])
    assert [(s.claim, dict(s.values)) for s, _ in both] == [
        ("ifca.lemma1", {"n": 3}),
        ("ifca.eq3", {}),
    ]
    twice = select(catalogue(), ["ifca.eq3", "ifca.eq3[cluster=12]", "ifca.?q3"])
    assert [str(s) for s, _ in twice] == ["ifca.eq3", "ifca.eq3[cluster=12]"]


@pytest.mark.parametrize("text", ["ifca.thm", "thm1", "none.*", "ifca.thm1 ifca.eq3"])
def test_an_unknown_claim_names_the_valid_ones_in_one_line(text):
    with pytest.raises(InvalidParameter) as caught:
        select(catalogue(), [text])
    message = str(caught.value)
    assert "\n" not in message
    assert repr(text) in message
    assert f"`cfl-verify list` shows all {len(catalogue())} claims of" in message
    few = {name: claim for name, claim in catalogue().items() if name.startswith("ifca.lemma1")}
    with pytest.raises(InvalidParameter) as caught:
        select(few, [text])
    assert all(name in str(caught.value) for name in few)
