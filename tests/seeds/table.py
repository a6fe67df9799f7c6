"""The table of verdicts over seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from verify.evidence import Verdict

#: claim -> (verdict, expected verdict) of one run.
Verdicts = Mapping[str, tuple[str, str]]
#: Verdicts that contradict each other.
OPPOSITE = {Verdict.SUPPORTED, Verdict.REFUTED}
#: Of a thousand verdicts so many may differ from the expected one.
ALLOWED_PER_THOUSAND = 2
#: Of twenty seeds so many may give one claim another verdict.
ALLOWED_PER_CLAIM = 1


@dataclass(frozen=True)
class Summary:
    """The verdicts of several seeds.

    Attributes
    ----------
    seeds : the seeds that were run.
    n_verdicts : claims times seeds.
    differing : claim -> seed -> the verdict that is not the expected one.
    expected : claim -> the expected verdict, for the claims that differ.
    """

    seeds: tuple[int, ...]
    n_verdicts: int
    differing: Mapping[str, Mapping[int, str]]
    expected: Mapping[str, str]

    @property
    def n_differing(self) -> int:
        """Verdicts that are not the expected ones."""
        return sum(len(by_seed) for by_seed in self.differing.values())

    def opposite(self) -> list[str]:
        """Claims that some seed supports and another one, or the catalogue, refutes."""
        found = []
        for claim, by_seed in self.differing.items():
            seen = {*by_seed.values(), self.expected[claim]}
            if seen >= OPPOSITE:
                found.append(claim)
        return found

    @property
    def meets_goals(self) -> bool:
        """At most 2 in 1,000 differ, none is opposite, no claim differs on two seeds of twenty."""
        most = max((len(by_seed) for by_seed in self.differing.values()), default=0)
        return (
            self.n_differing * 1000 <= ALLOWED_PER_THOUSAND * self.n_verdicts
            and not self.opposite()
            and most <= ALLOWED_PER_CLAIM
        )


def summarise(runs: Mapping[int, Verdicts]) -> Summary:
    """Collect what differs.  A claim that a seed did not run raises an error."""
    claims = {claim for verdicts in runs.values() for claim in verdicts}
    differing: dict[str, dict[int, str]] = {}
    expected: dict[str, str] = {}
    for seed, verdicts in runs.items():
        if missing := sorted(claims - set(verdicts)):
            raise ValueError(f"seed {seed} has no verdict for {', '.join(missing[:5])}")
        for claim, (verdict, catalogued) in verdicts.items():
            if verdict != catalogued:
                differing.setdefault(claim, {})[seed] = verdict
                expected[claim] = catalogued
    return Summary(
        seeds=tuple(runs),
        n_verdicts=len(claims) * len(runs),
        differing=dict(sorted(differing.items())),
        expected=expected,
    )


def page(summary: Summary, profile: str) -> str:
    """The summary as Markdown.

    >>> runs = {0: {"a.b": ("REFUTED", "SUPPORTED")}, 1: {"a.b": ("SUPPORTED", "SUPPORTED")}}
    >>> print(page(summarise(runs), "quick").splitlines()[2])
    Profile quick, seeds 0 to 1: 2 verdicts, 1 of them not the expected one, 1 claim contradicted.
    """
    n, opposite = summary.n_differing, summary.opposite()
    lines = [
        "# Verdicts over seeds",
        "",
        f"Profile {profile}, seeds {min(summary.seeds)} to {max(summary.seeds)}: "
        f"{summary.n_verdicts:,} verdicts, {n} of them not the expected one, "
        f"{len(opposite)} claim{'s' * (len(opposite) != 1)} contradicted.",
        "",
        "| claim | expected | other verdicts | seeds |",
        "| --- | --- | --- | --- |",
    ]
    for claim, by_seed in summary.differing.items():
        others = ", ".join(f"{word} {count}" for word, count in Counter(by_seed.values()).items())
        seeds = " ".join(map(str, by_seed))
        lines.append(f"| `{claim}` | {summary.expected[claim]} | {others} | {seeds} |")
    return "\n".join(lines)
