"""Every line that a command prints about a plan, a verdict or a claim, from data made by hand."""

from __future__ import annotations

import errno
import io
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from tests.trials.toys import TOY
from trials.run.block import WrongValues
from trials.run.engine import trial_id
from trials.run.origin import Origin, load, user_module_name
from trials.run.store import CellStatus, RunStore
from verify.cli import exits, progress
from verify.cli.catalogue import _lines, _same
from verify.cli.describe import _spread
from verify.cli.exits import explain
from verify.cli.running import _announce
from verify.cli.runs import _experiments, _holds
from verify.cli.verdicts import (
    as_data,
    exit_code,
    fields,
    print_closing,
    print_line,
    tally,
    worst_cell,
)
from verify.evidence import Verdict
from verify.plan import OwnValues, Plan
from verify.procedures.base import DroppedCell
from verify.session import Outcome


def console() -> Console:
    """A console that looks at no variable of the environment, such as FORCE_COLOR or TERM."""
    return Console(
        file=io.StringIO(), width=150, height=50, force_terminal=False, highlight=False, emoji=False
    )


def printed(to: Console) -> list[str]:
    assert isinstance(to.file, io.StringIO)
    return to.file.getvalue().splitlines()


# -- plans -----------------------------------------------------------------------------------------


def planned(name: str, own: OwnValues | None) -> Any:
    return SimpleNamespace(selection=name, own_values=own)


def test_a_plan_says_what_it_leaves_out_and_what_own_values_cost() -> None:
    dropped = tuple(DroppedCell(params={"m": m}, reason=f"m={m} is small") for m in (3, 4))
    plan = Plan(
        claims=(
            planned("p.a[m=3]", OwnValues(dropped=dropped, weaker=("one cell", "no trend"))),
            planned("p.b", OwnValues()),
            planned("p.h[m=4]", OwnValues(weaker=("two cells",))),
            planned("p.c", None),
        ),
        skipped={
            "p.d": "claim p.d has no parameter 'm'; known: n",
            "p.e": "claim p.e has no parameter 'm'; known: k",
            "p.f": "m=3 must be even",
        },
        not_run={"p.g": "it needs standard"},
    )
    _announce(plan, to := console())
    assert printed(to) == [
        "skipped, they have no parameter 'm': p.d, p.e",
        "skipped: p.f: m=3 must be even",
        "not run: p.g: it needs standard",
        "p.a[m=3]: 2 cells leave the theorem at these values and are dropped, e.g.: m=3 is small",
        "p.a[m=3]: a weaker test than the registered one: one cell; no trend",
        "p.h[m=4]: a weaker test than the registered one: two cells",
    ]
    _announce(Plan(claims=(planned("p.b", None),)), to := console())
    assert printed(to) == []


def test_many_claims_that_are_not_run_take_one_line_and_a_line_each_when_asked():
    reasons = {f"p.c{i}": "not run below standard: it is long" for i in range(5)}
    plan = Plan(claims=(), not_run=reasons | {"p.d": "not run below full: it is longer"})
    _announce(plan, to := console())
    assert printed(to) == [
        "not run: 6 claims (5 with --profile standard, 1 with --profile full); --verbose names them"
    ]
    _announce(plan, to := console(), verbose=True)
    assert len(printed(to)) == 6


# -- verdicts --------------------------------------------------------------------------------------


def cell(observed: float | None, ratio: float | None, **more: Any) -> dict[str, Any]:
    return {"observed": observed, "ratio": ratio, "se": None, "bound": None, **more}


def outcome(
    name: str = "p.a",
    verdict: Verdict = Verdict.SUPPORTED,
    expected: Verdict = Verdict.SUPPORTED,
    cells: tuple[dict[str, Any], ...] = (),
    own: dict[str, Any] | None = None,
    **evidence: Any,
) -> Outcome:
    document = {
        "evidence": {
            "verdict": str(verdict), "n_trials": 1200, "n_failed": 7, "level": 0.01,
            "summary": "It holds.", "cells": list(cells), **evidence,
        },
        "own_values": own,
        "replay": ["cfl-verify run p.a"],
    }  # fmt: skip
    return Outcome(selection=name, expected=expected, document=document)


def test_the_worst_cell_is_the_observed_one_with_the_largest_ratio() -> None:
    cells = (cell(None, 9.0), cell(1.0, None), cell(2.0, -0.5), cell(3.0, 0.25))
    assert worst_cell({"cells": cells}) == cells[3]
    assert worst_cell({"cells": cells[:3]}) == cells[2]
    assert worst_cell({"cells": cells[:2]}) == cells[1]
    assert worst_cell({"cells": cells[:1]}) is None


def test_a_verdict_is_told_with_all_that_its_worst_cell_has() -> None:
    own = {"weaker": ["one cell"], "dropped": [{}, {}]}
    found = outcome(
        cells=(cell(0.12345, 0.61728, se=0.0111, bound=0.2),),
        expected=Verdict.REFUTED,
        mark="SUPPORTED TO 0.01",
        own=own,
    )
    assert [part.strip() for part in fields(found)] == [
        "p.a", "1,200", "failed 7", "observed 0.123 ± 0.011", "bound 0.2", "ratio 0.62",
        "SUPPORTED TO 0.01", "(expected REFUTED)", "(weaker test: one cell)",
    ]  # fmt: skip
    assert [part.strip() for part in fields(outcome(cells=(cell(0.5, None),)))][3:] == [
        "observed 0.5",
        "SUPPORTED",
    ]
    assert len(fields(outcome())) == 4
    told = as_data(found)
    assert (told["weaker"], told["dropped_cells"], told["as_expected"]) == (["one cell"], 2, False)
    assert (told["n_trials"], told["n_failed"], told["level"]) == (1200, 7, 0.01)
    assert told["replay"] == ["cfl-verify run p.a"]
    assert (as_data(outcome())["weaker"], as_data(outcome())["dropped_cells"]) == ([], 0)


@pytest.mark.parametrize(
    ("pairs", "lines"),
    [
        (["S"], ["1 claim: 1 SUPPORTED; all as expected"]),
        (["S", "S", "I"], ["3 claims: 2 SUPPORTED, 1 INCONCLUSIVE", "1 not as expected: p.2"]),
        (["R", "S", "R"], ["3 claims: 2 REFUTED, 1 SUPPORTED", "2 not as expected: p.0, p.2"]),
    ],
)
def test_a_tally_begins_with_the_most_frequent_verdict(pairs: list[str], lines: list[str]) -> None:
    words = {"S": Verdict.SUPPORTED, "R": Verdict.REFUTED, "I": Verdict.INCONCLUSIVE}
    assert tally([outcome(f"p.{i}", words[w]) for i, w in enumerate(pairs)]) == lines


def test_marks_of_any_resolution_are_counted_together() -> None:
    found = [outcome(mark=f"SUPPORTED TO {r}") for r in (0.01, 0.02)]
    assert tally(found) == ["2 claims: 2 SUPPORTED TO r; all as expected"]


def test_the_closing_table_lists_unexpected_verdicts_last() -> None:
    outcomes = [outcome("p.bad", Verdict.REFUTED), outcome("p.good")]
    print_closing(outcomes, to := console())
    lines = printed(to)
    assert lines[:2] == ["", "Verdicts"]
    assert [line.split()[0] for line in lines[2:] if line.startswith(("claim", "p."))] == [
        "claim",
        "p.good",
        "p.bad",
    ]
    assert "REFUTED (expected SUPPORTED)" in lines[-4]
    assert lines[-3:] == ["", "2 claims: 1 REFUTED, 1 SUPPORTED", "1 not as expected: p.bad"]
    print_closing([], to := console())
    assert printed(to) == []
    print_line(outcomes[1], to := console())
    assert " ".join(printed(to)[0].split()) == "p.good 1,200 failed 7 SUPPORTED"
    assert exit_code(outcomes) == exits.UNEXPECTED


# -- runs ------------------------------------------------------------------------------------------


def test_a_terminal_counts_the_claims_that_are_done_and_not_the_one_in_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: dict[int, dict[str, Any]] = {}

    class Recorded(progress.Progress):
        def update(self, task: Any, **values: Any) -> None:  # type: ignore[override]
            shown[task] = values

    monkeypatch.setattr(progress, "Progress", Recorded)
    to = Console(file=io.StringIO(), force_terminal=True, width=80)
    with progress.display(to) as listener:
        listener.on_claim("p.a", 0, 3)
        assert (shown[0]["completed"], shown[0]["total"]) == (0, 3)
        listener.on_claim("p.c", 2, 3)
        assert (shown[0]["completed"], shown[0]["total"]) == (2, 3)
        assert shown[1] == {"visible": False}


def test_progress_is_told_every_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    listener = progress._plain_listener(to := console())
    demand: Any = SimpleNamespace(experiment=SimpleNamespace(name="toy"))
    for clock[0] in (100.0, 110.0, 110.5):
        listener.on_claim("p.a", 2, 9)
    for clock[0] in (120.5, 121.0):
        listener.on_block(3, 8, demand, 5)
    assert printed(to) == ["  claim 3 of 9: p.a", "  toy: 3/8 blocks, 5 failed"]


def test_the_totals_of_an_experiment_are_sums_over_its_cells() -> None:
    def status(experiment: str, number: int, blocks: int) -> CellStatus:
        return CellStatus(
            experiment=experiment, number=number, params={}, n_blocks=blocks,
            n_trials=100 * blocks, n_failed=blocks, seconds=0.5 * blocks,
        )  # fmt: skip

    cells = [status("toy", 1, 0), status("other", 2, 0), status("toy", 255, 3), status("toy", 4, 1)]
    # A run that was stopped may lack a cell's first blocks: its first trial is in the third one.
    store: Any = SimpleNamespace(blocks=lambda name, params: {4, 2, 3})
    toy, other = _experiments(store, cells)
    assert toy == {
        "experiment": "toy", "cells": 3, "trials": 400, "failed": 4, "worker_seconds": 2.0,
        "trial": "toy:00000000000000ff:200",
    }  # fmt: skip
    assert (other["cells"], other["trial"]) == (1, "")


def test_a_run_holds_the_trials_of_its_blocks_and_no_others(tmp_path) -> None:
    """Trials were counted from zero, also where the first block was missing."""
    with RunStore.create(tmp_path / "a", root_seed=0, config={}) as store:
        size = TOY.block_size
        for block in (1, 3):
            store.put_block(TOY, {}, block, np.zeros((size, 2)))
        held = [i for i in range(5 * size) if _holds(store, trial_id(TOY, {}, i))]
        assert held == [*range(size, 2 * size), *range(3 * size, 4 * size)]
        assert not _holds(store, trial_id(TOY, {"mean": 1.0}, size))


# -- claims ----------------------------------------------------------------------------------------

VIEW: dict[str, Any] = {
    "kind": "upper bound", "mark": "SUPPORTED TO r", "quantifiers": "for all m",
    "statement": "e <= 1/m", "fails_with": "1/m",
    "assumptions": [{"name": "size", "text": "m > 1", "note": "added", "added": False},
                    {"name": "d", "text": "d > 0", "note": "", "added": False}],
    "constants": [{"name": "c", "low": 1e-3, "high": 10.0, "meaning": "factor"}],
    "reading": "", "parameters": [{"name": "m", "domain": "1, 2"}],
    "cells": {"cells": [{"m": 1, "s": 0.25}], "cells elsewhere": [{"m": 2}, {"m": 3}]},
    "dropped": [{"params": {"m": 5}, "reason": "odd"}, {"params": {"m": 7}, "reason": "odd"}],
    "weaker": ["one", "two"], "procedure": "Trials.", "profile": "quick",
}  # fmt: skip


def test_info_tells_everything_about_a_claim() -> None:
    short = [
        ("kind", "upper bound"),
        ("expected", "SUPPORTED TO r"),
        ("quantifiers", "for all m"),
        ("statement", "e <= 1/m"),
        ("fails with", "probability 1/m"),
        ("assumption", "size: m > 1 (added)"),
        ("assumption", "d: d > 0"),
        ("constant", "c from 0.001 to 10: factor"),
        ("reading", "as printed"),
        ("parameter", "m: 1, 2"),
        (
            "cells",
            "1 cells, 2 cells elsewhere (whole parameter assignments, fixed before a trial runs; "
            "`--cells` prints them)",
        ),
        ("dropped cell", "m=5: odd"),
        ("dropped cells", "2 leave the theorem at these values"),
        ("weaker test", "at these values: one; two"),
        ("procedure (quick)", "Trials."),
    ]
    assert list(_lines(VIEW, all_cells=False)) == short
    everything = list(_lines(VIEW, all_cells=True))
    assert [line for line in everything if line not in short] == [
        ("cells", "1 cells, 2 cells elsewhere (whole parameter assignments, fixed before a trial "
         "runs)"),
        ("dropped cell", "m=7: odd"),
        ("cell", "m=1, s=0.25"),
        ("cell elsewhere", "m=2"),
        ("cell elsewhere", "m=3"),
    ]  # fmt: skip
    assert "dropped cells" not in dict(everything)  # all of them are listed
    bare = {**VIEW, "fails_with": None, "cells": {}, "dropped": [], "weaker": []}
    told = dict(_lines(bare, all_cells=True))
    assert told["fails with"] == "never"
    assert not {"cells", "dropped cell", "dropped cells", "weaker test"} & set(told)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([3, 1, 2, 1], "1, 2, 3"),
        ([1, 2, 3, 4, 5], "1, 2, 3, 4, 5"),
        ([6, 5, 4, 3, 2, 1], "1 to 6 (6 values)"),
        (["b", 2, "a", 1, "c", "d"], "1, 2, a, b, c, d"),
        ([(1, 2), (3, 4)], "2 values"),
    ],
)
def test_values_of_a_parameter_are_listed_up_to_five(values: list[Any], words: str) -> None:
    assert _spread(values) == words


def test_filters_do_not_see_case_blanks_and_hyphens() -> None:
    assert _same("Upper_Bound ", "upper-bound")
    assert not _same("upper", "upper bound")


# -- whose mistake ---------------------------------------------------------------------------------


def test_a_mistake_in_ones_own_file_names_the_file_and_the_line(tmp_path):
    own = tmp_path / "mine.py"
    text = b"import json\n\n\ndef violation(x):\n    return json.loads(x.text)\n"
    found = vars(load(Origin(user_module_name(text), str(own), text)))
    with pytest.raises(AttributeError) as missing:
        found["violation"](3)
    code, message = explain(missing.value)
    assert code == 3
    assert message.startswith(f"{own}:5: AttributeError: 'int' object has no attribute 'text'")

    with pytest.raises(TypeError) as deep:  # raised inside the standard library
        found["violation"](type("X", (), {"text": 3}))
    assert explain(deep.value)[1].startswith(f"{own}:5: TypeError")


def test_a_fault_of_the_house_below_ones_own_line_is_ours(tmp_path):
    """The user's line stands in the traceback too, above the frame that made the mistake."""
    own = tmp_path / "calls.py"
    text = (
        b"from verify.cli.running import _announce\n\n\n"
        b"def there():\n    raise KeyError('mine')\n\n\n"
        b"def call(make, *rest):\n    return make(*rest)\n"
    )
    found = vars(load(Origin(user_module_name(text), str(own), text)))
    with pytest.raises(AttributeError) as ours:
        found["call"](_announce, None, console())
    code, message = explain(ours.value)
    assert code == exits.INTERNAL
    assert f"(a fault of cfl-verify or of {own}, of which `" in message  # its values may be wrong
    assert f" check-paper {own}` tells more; please report it" in message
    with pytest.raises(KeyError) as theirs:
        found["call"](found["there"])
    code, message = explain(theirs.value)
    assert code == exits.USAGE
    assert message.startswith(f"{own}:5: KeyError")


def test_a_mistake_of_ours_stays_ours():
    with pytest.raises(AttributeError) as raised:
        _announce(None, console())
    code, message = explain(raised.value)
    assert code == 70
    assert "a fault of cfl-verify" in message


def test_values_of_a_wrong_shape_are_their_authors_and_no_fault_of_the_program():
    told = "mine.error.simulate must return float64 of shape (256, 1)"
    assert explain(WrongValues(told)) == (exits.USAGE, told)


def test_an_error_of_an_open_file_is_told_in_one_line():
    """The system names such a file by its number, which is no path: the error had no exit code."""
    error = OSError(errno.ENOTDIR, "Not a directory", 3)
    assert explain(error) == (exits.USAGE, "Not a directory")
