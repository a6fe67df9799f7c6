"""What each statistical claim of the paper is compared with: a run that does nothing, or why none.

`verify.procedures.placebos` says what an entry means.
"""

from __future__ import annotations

from verify.procedures.placebos import Entry, Placebo

#: Runs of ``sxy.end-to-end`` that leave out one phase, or both.
_END_TO_END = (
    Placebo(name="Phase 1 alone", columns={"both": "coarse"}),
    Placebo(name="Phase 2 from a random start", columns={"both": "random"}),
    Placebo(name="a run that stays at its start", columns={"both": "start"}),
)

PLACEBOS: dict[str, Entry] = {
    "sxy.end-to-end": _END_TO_END,
    "sxy.end-to-end-worst": _END_TO_END,
    "sxy.end-to-end-against-random": (
        Placebo(name="Phase 1 alone", columns={"fail_both": "fail_coarse"}, side="both phases"),
    ),
    "sxy.end-to-end-grows": (
        Placebo(name="a run that stays at its start", columns={"fail_both": 1.0}),
    ),
}
