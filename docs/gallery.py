"""Writes `docs/gallery.md` and its drawings from stored runs.

python docs/gallery.py RUN [RUN ...]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from reports import figures
from reports.collect import load
from reports.reading import Tried
from reports.text import capital
from trials.run.directory import STORE_NAME, find_run
from trials.run.store import RunStore

HOME = Path(__file__).parent
#: The claims and the figures that the gallery shows.
SHOWN = (
    ("ifca.thm1-as-printed", "step-sizes"),
    ("ifca.neurips-cor1-more-samples", "run"),
    ("ifca.k2-random-as-printed", "random-start"),
    ("ifca.lemma1", "exponents"),
    ("odcl.eq13", "clusterpath"),
    ("odcl.thm1-threshold-km", "success"),
    ("sxy.thm1-4-data", "trajectories"),
    ("sxy.noise-floor-rate", "exponents"),
)
HEAD = """\
# What was found

Some results of the suite's own papers. Each picture is the figure of a claim's page, and the
command below it tries the claim again at the same profile. `docs/gallery.py` writes this page from
stored runs.

"""


def drawing(claim: Tried, name: str) -> str:
    """The SVG of a claim's figure, with coordinates that are as exact as a screen is."""
    (data,) = (figure for figure in claim.evidence.figures if figure.name == name)
    text = figures.render(data, form="svg").decode()
    # The letters' scale, 1/64, stays: rounded to 0.02 it would crush them.
    text = re.sub(
        r"scale\([^)]*\)|-?\d+\.\d{3,}",
        lambda found: found[0] if found[0][0] == "s" else f"{float(found[0]):.2f}",
        text,
    )
    return re.sub(r">\s+<", "><", text)


def entry(claim: Tried, name: str, findings: list[str], profile: str) -> str:
    """One result: the statement's title, its verdict, the picture and the command."""
    (data,) = (figure for figure in claim.evidence.figures if figure.name == name)
    told = [f"**{claim.mark}** (`{claim.key}`, {claim.claim.source}). {capital(data.caption)}"]
    return "\n".join(
        [
            f"## {claim.claim.title}",
            "",
            *told,
            "",
            *(f"*Finding.* {text}\n" for text in findings[:1]),
            f"![{data.title}](gallery/{claim.name}.svg)",
            "",
            "```",
            f"cfl-verify run {claim.key} --profile {profile}",
            "```",
            "",
        ]
    )


def main(runs: list[str]) -> None:
    """Write the page and the drawings."""
    entries = {}
    for run in runs:
        with RunStore.open(find_run(run) / STORE_NAME, readonly=True) as store:
            read = load(store)
        for claim in read.claims:
            names = [name for key, name in SHOWN if key == claim.key]
            found = [
                finding.found
                for finding in read.findings.values()
                if claim.key in finding.claims
                and (finding.severity != "slip" or claim.verdict == "REFUTED")
            ]
            if names and claim.evidence.figures:
                (HOME / "gallery" / f"{claim.name}.svg").write_text(drawing(claim, names[0]))
                entries[claim.key] = entry(claim, names[0], found, str(read.summary.profile))
    missing = [key for key, _ in SHOWN if key not in entries]
    if missing:
        raise SystemExit(f"no run holds {', '.join(missing)}")
    text = HEAD + "\n".join(entries[key] for key, _ in SHOWN)
    (HOME / "gallery.md").write_text(text.rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
