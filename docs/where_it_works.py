"""Writes the table and the drawing of `docs/where-it-works.md`: both phases beside random starts.

python docs/where_it_works.py FOLDER

The trials are those of ``sxy.end-to-end``.  They are stored in FOLDER, so that an interrupted call
goes on where it was.
"""

import sys
from pathlib import Path

import scipy

from trials.experiments.sxy.end_to_end import END_TO_END
from trials.run.cell import Params
from trials.run.engine import Demand, ensure
from trials.run.executors import make_executor
from trials.run.store import RunStore

DRAWING = Path(__file__).parent / "where-it-works.svg"
CLUSTERS = (2, 3, 4)
CLIENTS = (100, 300, 1_000, 3_000, 10_000)
DIMENSIONS = (5, 10, 20, 40)
BLOCKS = 2
#: Row -> the column of failures that it shows.
ROWS = {"both phases": "fail_both", "a random start": "fail_random"}
SIDE, LEFT, TOP, GAP = 42, 120, 46, 46


def cell(k: int, n_clients: int, d: int) -> Params:
    """A place of the diagram.  All else is the experiment's own choice."""
    return {"k": k, "M": n_clients, "d": d}


def places() -> list[tuple[int, int, int]]:
    """All places, the cheap ones first."""
    found = [(k, m, d) for k in CLUSTERS for m in CLIENTS for d in DIMENSIONS]
    return sorted(found, key=lambda place: place[0] * place[1] * place[2])


def successes(store: RunStore) -> dict[tuple[int, int, int], tuple[int, dict[str, int]]]:
    """Trials, and successes of both rows, at each place."""
    found = {}
    for place in places():
        table = store.table(END_TO_END, END_TO_END.check(cell(*place)), BLOCKS)
        good = {row: ~table.failed & (table[name] == 0.0) for row, name in ROWS.items()}
        # A trial that failed is no success, and it counts.
        found[place] = table.failed.size, {row: int(each.sum()) for row, each in good.items()}
    return found


def markdown(found: dict[tuple[int, int, int], tuple[int, dict[str, int]]]) -> str:
    """One line for each number of clusters and of clients."""
    head = ["k", "M", *(f"d = {d}" for d in DIMENSIONS)]
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for k in CLUSTERS:
        for m in CLIENTS:
            shown = [" and ".join(map(str, found[k, m, d][1].values())) for d in DIMENSIONS]
            lines.append(f"| {k} | {m:,} | " + " | ".join(shown) + " |")
    n = max(trials for trials, _ in found.values())
    limits = [scipy.stats.binomtest(good, n).proportion_ci(0.95) for good in (0, n // 2, n)]
    shown = "; ".join(f"{x.low:.2f} to {x.high:.2f}" for x in limits)
    lines.append(f"\n{n} trials a place. 95 % limits of none, half and all of them: {shown}.")
    return "\n".join(lines)


def drawing(found: dict[tuple[int, int, int], tuple[int, dict[str, int]]]) -> str:
    """One square a place, darker with more successes, for each row and each number of clusters."""
    parts, width = [], LEFT + len(CLUSTERS) * (len(CLIENTS) * SIDE + GAP)
    for i, row in enumerate(ROWS):
        top = TOP + i * (len(DIMENSIONS) * SIDE + GAP)
        for j, k in enumerate(CLUSTERS):
            left = LEFT + j * (len(CLIENTS) * SIDE + GAP)
            parts.append(text(left + len(CLIENTS) * SIDE / 2, top - 8, f"{row}, k = {k}"))
            for x, m in enumerate(CLIENTS):
                if i == len(ROWS) - 1:
                    below = top + len(DIMENSIONS) * SIDE + 16
                    parts.append(text(left + (x + 0.5) * SIDE, below, f"{m:,}"))
                for y, d in enumerate(reversed(DIMENSIONS)):
                    n, good = found[k, m, d]
                    parts.append(square(left + x * SIDE, top + y * SIDE, good[row] / n))
        for y, d in enumerate(reversed(DIMENSIONS)):
            parts.append(text(LEFT - 30, top + (y + 0.6) * SIDE, f"d = {d}"))
    height = TOP + len(ROWS) * (len(DIMENSIONS) * SIDE + GAP) + 10
    parts.append(text(LEFT / 2, height - GAP + 6, "clients M"))
    parts.append(text(width / 2, 16, "share of runs that reach the optima: white none, green all"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="12" fill="#222">{"".join(parts)}</svg>\n'
    )


def square(x: float, y: float, share: float) -> str:
    """A square from white (no success) to dark green, with its share where it is neither."""
    on = "#fff" if share > 0.6 else "#222"
    at = x + SIDE / 2, y + SIDE * 0.6
    words = "" if share in (0.0, 1.0) else text(*at, f"{share:.2f}"[1:], on)
    return (
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{SIDE - 2}" height="{SIDE - 2}" stroke="#888" '
        f'fill="#00695c" fill-opacity="{share:.2f}"/>{words}'
    )


def text(x: float, y: float, words: str, colour: str = "#222") -> str:
    """Letters of 12 pixels around a place."""
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="middle" fill="{colour}">{words}</text>'


def main(folder: Path) -> None:
    """Draw what trials are missing, print the table and write the drawing."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "store.sqlite"
    opened = RunStore.open(path) if path.exists() else RunStore.create(path, root_seed=0, config={})
    with opened as store, make_executor("serial") as executor:
        for place in places():
            ensure(store, [Demand(END_TO_END, END_TO_END.check(cell(*place)), BLOCKS)], executor)
        found = successes(store)
    print(markdown(found))
    DRAWING.write_text(drawing(found), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
