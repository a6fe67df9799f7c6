"""Run the claims with several seeds and list the verdicts that are not the expected ones.

    python -m tests.seeds FOLDER --seeds 20 [--profile quick] [--jobs 2] [CLAIM ...]

Every seed has a run of its own in FOLDER.  A seed whose run is complete is not run again, and an
interrupted run is continued.  The table goes to the standard output as Markdown.

Exit status: 0 when the goals of `tests.seeds.table.Summary.meets_goals` are met, else 1.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from tests.seeds.table import Verdicts, page, summarise
from verify.cli import exits


def run_seed(folder: Path, seed: int, profile: str, jobs: int, claims: list[str]) -> Verdicts:
    """The verdicts of one seed: claim -> (verdict, expected verdict)."""
    answer = folder / f"{profile}-{seed}.json"
    if not answer.exists():
        directory = folder / f"{profile}-{seed}"
        begun = (directory / "store.sqlite").exists()
        what = ["resume", str(directory)] if begun else ["run", *claims, "--profile", profile]
        if not begun:
            what += ["--seed", str(seed), "--output", str(directory)]
        command = [sys.executable, "-m", "verify", *what, "--jobs", str(jobs), "--json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode not in (exits.EXPECTED, exits.UNEXPECTED, exits.INCONCLUSIVE):
            raise SystemExit(f"seed {seed}: {' '.join(command)} ended with {done.returncode}")
        answer.write_text(done.stdout, encoding="utf-8")
    document = json.loads(answer.read_text(encoding="utf-8"))
    return {c["claim"]: (str(c["verdict"]), str(c["expected"])) for c in document["claims"]}


def main() -> int:
    """Run the seeds that are missing and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.seeds", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("claims", nargs="*")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--profile", default="quick")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_intermixed_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for seed in range(asked.first, asked.first + asked.seeds):
        found[seed] = run_seed(asked.folder, seed, asked.profile, asked.jobs, asked.claims)
        print(f"seed {seed}: {len(found[seed])} claims", file=sys.stderr, flush=True)
    summary = summarise(found)
    print(page(summary, asked.profile))
    return 0 if summary.meets_goals else 1


if __name__ == "__main__":
    sys.exit(main())
