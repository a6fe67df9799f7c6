"""Writes the drawings of `docs/verdicts.md`: limits of a share of failures beside the stated share.

python docs/verdicts.py
"""

from pathlib import Path

HOME = Path(__file__).parent / "verdicts"
WIDTH, ROW, LEFT, RIGHT = 640, 34, 150, 610
#: Verdict -> the stated share, the trivial one, and rows of (words, lower limit, upper limit).
DRAWINGS = {
    "supported": (0.30, None, [("cell 1", 0.02, 0.12), ("cell 2", 0.08, 0.22)]),
    "refuted": (0.30, None, [("cell 1", 0.05, 0.15), ("cell 2", 0.42, 0.61)]),
    "inconclusive": (0.30, None, [("cell 1", 0.05, 0.15), ("cell 2", 0.22, 0.41)]),
    "supported-to-r": (0.02, None, [("cell 1", 0.0, 0.14), ("cell 2", 0.0, 0.14)]),
    "vacuous": (0.80, 0.55, [("algorithm", 0.05, 0.12), ("placebo", 0.45, 0.55)]),
}
COLOURS = {"supported": "#00695c", "supported-to-r": "#00695c", "refuted": "#b23a00",
           "inconclusive": "#7a5c00", "vacuous": "#5b4b8a"}  # fmt: skip


def at(share: float) -> float:
    """The place of a share on the axis."""
    return LEFT + share * (RIGHT - LEFT)


def text(x: float, y: float, words: str, anchor: str = "start") -> str:
    """Letters of 14 pixels."""
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{words}</text>'


def drawing(name: str) -> str:
    """One row a cell: a bar from the lower to the upper limit, and the stated share as a line."""
    stated, trivial, rows = DRAWINGS[name]
    bottom = 30 + ROW * len(rows)
    parts = [
        f'<line x1="{LEFT}" x2="{RIGHT}" y1="{bottom}" y2="{bottom}" stroke="#888"/>',
        text(LEFT, bottom + 20, "0", "middle"), text(RIGHT, bottom + 20, "1", "middle"),
        text((LEFT + RIGHT) / 2, bottom + 20, "share of the trials that fail", "middle"),
        f'<line x1="{at(stated):.0f}" x2="{at(stated):.0f}" y1="22" y2="{bottom}" '
        'stroke="#222" stroke-width="2" stroke-dasharray="6 4"/>',
        text(at(stated), 16, "stated", "middle"),
    ]  # fmt: skip
    if trivial is not None:
        parts.append(f'<line x1="{at(trivial):.0f}" x2="{at(trivial):.0f}" y1="22" '
                     f'y2="{bottom}" stroke="#888"/>')  # fmt: skip
        parts.append(text(at(trivial), 16, "passes anyway", "middle"))
    for i, (words, low, high) in enumerate(rows):
        y = 30 + ROW * (i + 0.5)
        parts.append(text(LEFT - 12, y + 5, words, "end"))
        parts.append(f'<line x1="{at(low):.0f}" x2="{at(high):.0f}" y1="{y:.0f}" y2="{y:.0f}" '
                     f'stroke="{COLOURS[name]}" stroke-width="8"/>')  # fmt: skip
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 30}" '
        f'font-family="sans-serif" font-size="14" fill="#222">{"".join(parts)}</svg>\n'
    )


if __name__ == "__main__":
    for verdict in DRAWINGS:
        (HOME / f"{verdict}.svg").write_text(drawing(verdict), encoding="utf-8")
