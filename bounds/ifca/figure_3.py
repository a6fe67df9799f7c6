"""Figure 3 of IFCA (Figure 2 of the conference version): success over R, sigma, m and n.

The curves have no numbers in the text.  So each panel becomes an event in half of the trials or
more, where the figure's easiest setting is, and the sentences about the curves become trends.  The
text and the authors' published code differ in the optima: rescaled to norm R, or multiplied by R.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from bounds.ifca.practice import R, share, trend
from bounds.ifca.symbols import m, n, sigma
from bounds.shown import MORE_OFTEN_THAN_NOT
from bounds.statement import Statement, Term

_TEXT = (
    "The optima are rescaled to norm $R$, and the starts are 0/1 vectors, of norm "
    "$\\sqrt{d/2}=22.4$. "
)
_CODE = "The published code multiplies the 0/1 vectors by $R$ and does not rescale them. "
_EASIEST = "The figure is read as success in half of the trials or more at its easiest setting, "


_RESCALED = (
    "The optima and the starts are rescaled to norm $R$. The text rescales the optima alone. "
)
_READINGS = {
    "text": ("as printed", _TEXT),
    "code": ("the authors' published code", _CODE),
    "rescaled starts": ("with rescaled starts", _RESCALED),
}


def _panel(id_: str, reading: str, panel: str, setting: str, at: str) -> Statement:
    source, words = _READINGS[reading]
    return share(
        id_,
        f"Fig. 3 ({panel}): success at {setting}, {reading}",
        f"Fig. 3 ({panel}), Section VI-A, {source}",
        r"\text{success}",
        MORE_OFTEN_THAN_NOT,
        quantifiers=at,
        reading=f"{words}{_EASIEST}{setting}.",
    )


_A = ("a", "$R=1$ and $\\sigma=0.1$", r"k=2,\ (m,n,d)=(100,100,1000)")
_B = ("b", "$R=1$ and $\\sigma=0.1$", r"k=4,\ (m,n,d)=(400,100,1000)")
_C = ("c", "$m=400$ and $n=200$", r"k=2,\ (R,d)=(0.1,1000),\ \sigma=0.1")
_D = ("d", "$m=800$ and $n=200$", r"k=4,\ (R,d)=(0.5,1000),\ \sigma=0.1")
A_TEXT, A_CODE = _panel("ifca.fig3a-text", "text", *_A), _panel("ifca.fig3a-code", "code", *_A)
A_RESCALED = _panel("ifca.fig3a-rescaled-starts", "rescaled starts", *_A)
B_TEXT, B_CODE = _panel("ifca.fig3b-text", "text", *_B), _panel("ifca.fig3b-code", "code", *_B)
B_RESCALED = _panel("ifca.fig3b-rescaled-starts", "rescaled starts", *_B)
C_TEXT, C_CODE = _panel("ifca.fig3c-text", "text", *_C), _panel("ifca.fig3c-code", "code", *_C)
D_TEXT, D_CODE = _panel("ifca.fig3d-text", "text", *_D), _panel("ifca.fig3d-code", "code", *_D)


def _rises(id_: str, panel: str, symbol: sp.Symbol, name: str, at: str) -> Statement:
    """A curve of the figure at full size, with the optima of the published code."""
    return trend(
        id_,
        f"Fig. 3 ({panel}): success grows with {name}",
        symbol,
        "increases",
        0.15,
        source=f"Fig. 3 ({panel}), Section VI-A",
        observed=r"P(\text{success})",
        quantifiers=at,
        reading=_CODE,
    )


A_RISES = _rises("ifca.fig3a-rises-with-r", "a", R, "r", _A[2])
B_RISES = _rises("ifca.fig3b-rises-with-r", "b", R, "r", _B[2])
C_RISES = _rises(
    "ifca.fig3c-rises-with-m", "c", m, "m", r"k=2,\ n=100,\ (R,d)=(0.1,1000),\ \sigma=0.1"
)
D_RISES = _rises(
    "ifca.fig3d-rises-with-m", "d", m, "m", r"k=4,\ n=100,\ (R,d)=(0.5,1000),\ \sigma=0.1"
)

C_RISES_WITH_N = _rises(
    "ifca.fig3c-rises-with-n", "c", n, "n", r"k=2,\ m=100,\ (R,d)=(0.1,1000),\ \sigma=0.1"
)
D_RISES_WITH_N = _rises(
    "ifca.fig3d-rises-with-n", "d", n, "n", r"k=4,\ m=200,\ (R,d)=(0.5,1000),\ \sigma=0.1"
)

_SMALL = "At a tenth of the figure's $n$ and $d$, with the optima of the published code. "


def _success(id_: str, title: str, symbol: sp.Symbol, reading: str) -> Statement:
    fields: dict[str, Any] = {"observed": r"P(\text{success})", "reading": _SMALL + reading}
    return trend(id_, title, symbol, "increases", 0.15, source="Section VI-A, on Fig. 3", **fields)


MONOTONE_R = _success("ifca.fig3-monotone-r", "Success grows with R", R, "Ten starts a trial.")
MONOTONE_MN = _success(
    "ifca.fig3-monotone-mn", "Success grows with the number of clients", m, "$n$ and $R$ are fixed."
)
FLOOR = share(
    "ifca.fig3-floor",
    "A run succeeds only where least squares with known clusters does",
    "Section VI-A, on Fig. 3 (c-d)",
    r"\text{no success, or}\ \mathsf{dist}_{\mathrm{oracle}}\le0.6\sigma",
    reading=(
        _SMALL + "The oracle's distance is about $\\sigma\\sqrt{kd/(mn-kd)}$. So $0.6\\sigma$ "
        "needs $mn\\ge3.8kd$, whatever $R$ is, and this alone makes success grow with $mn$."
    ),
)
SNR_FLOOR = share(
    "ifca.fig3-snr-floor",
    "The final error is proportional to the noise",
    "Section VI-A",
    "",
    reading=_SMALL + "The best of three starts, where the clusters are found.",
    kind="rate",
    observed=r"E\,\mathsf{dist}",
    relation=r"\propto",
    terms=(Term(name="floor", expr=sigma),),
)
