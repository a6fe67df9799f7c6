"""What a benchmark is: methods, federations, the metric that decides and the precision asked for.

`NAMED` holds those that ship.  Each asks one question.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from trials.checks import InvalidParameter, integer_between, real_between
from verify.benchmark.catalogue import require_possible
from verify.benchmark.contrasts import Comparing, n_limits
from verify.benchmark.fits import FIT, federation_of
from verify.benchmark.methods import parse_methods
from verify.benchmark.metrics import metric
from verify.benchmark.tables import draws_clusters, response_of


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """A benchmark's declaration, fixed before the first trial and stored with it.

    Attributes
    ----------
    methods : as `verify.benchmark.methods.parse_methods` reads them.
    federations : cells of `verify.benchmark.federation` or of `verify.benchmark.tables`.
    vary : the parameter in which the federations differ, empty where there is one.
    metric : the metric whose contrasts decide when to stop.
    level : error probability of all limits of the table together.
    width : a contrast is narrow within this factor less one (ratios) or range (differences).
    max_trials : trials of each federation at most, rounded up to whole blocks.
    cpu_seconds : the run ends when its fits have used so much.
    limit : seconds of one fit.
    """

    name: str
    question: str
    methods: str
    federations: tuple[Mapping[str, Any], ...]
    vary: str = ""
    metric: str = "error"
    level: float = 0.05
    width: float = 0.1
    max_trials: int = 128
    cpu_seconds: float = 30.0
    limit: float = 60.0
    notes: tuple[str, ...] = field(default=())

    def checked(self) -> Benchmark:
        """The benchmark with complete cells.  Everything that can be refused is refused here."""
        metric(self.metric)
        integer_between("trials", self.max_trials, 1, 10**7)
        real_between("cpu-seconds", self.cpu_seconds, 0.0, 1e9, open_low=True)
        methods = parse_methods(self.methods)
        if len(methods) < 2:
            raise InvalidParameter(
                f"methods={self.methods!r:.80} must name at least two, such as ifca,odcl-km,local"
            )
        found = tuple(federation_of(f) for f in self.federations)
        self.comparing()
        for cell in found:
            require_metric(self.metric, cell)
        for method in methods:
            for cell in found:
                FIT.check({**cell, "method": method.text, "limit": self.limit})
                if not method.own:
                    require_possible(
                        method.name,
                        method.options,
                        response_of(cell),
                        clusters_known=draws_clusters(cell),
                        n_models=0 if "data" in cell else cell["k"],
                        k=cell["k"] if "data" in cell else cell["k_told"],
                    )
        return replace(self, federations=found, methods=", ".join(m.text for m in methods))

    @property
    def method_names(self) -> list[str]:
        """The methods, each in its one spelling."""
        return [m.text for m in parse_methods(self.methods)]

    def comparing(self) -> Comparing:
        """The rule by which methods are compared."""
        decided = metric(self.metric)
        return Comparing(
            scale=decided.scale,
            level=self.level,
            n_limits=n_limits(len(self.method_names), len(self.federations)),
            width=self.width,
            low=decided.low,
            high=decided.high,
            horizon=self.max_trials,
        )

    def cell(self, federation: Mapping[str, Any], method: str) -> dict[str, Any]:
        """The cell of `verify.benchmark.fits.FIT` for a method on a federation."""
        return dict(FIT.check({**federation, "method": method, "limit": self.limit}))

    def document(self) -> dict[str, Any]:
        """The declaration as a JSON document."""
        return {**asdict(self), "federations": [dict(f) for f in self.federations]}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Benchmark:
        """The declaration that `document` wrote."""
        given = dict(document)
        given["federations"] = tuple(given["federations"])
        given["notes"] = tuple(given.get("notes", ()))
        return cls(**given)


def require_metric(name: str, cell: Mapping[str, Any]) -> None:
    """Refuse a metric that no fit on a federation has, by which all methods would be equal.

    Raises
    ------
    InvalidParameter : for a metric of classes, of true models or of true clusters without them.
    """
    data = cell.get("data")
    if name in ("accuracy", "wrong", "worst-decile") and response_of(cell) != "logistic":
        raise InvalidParameter(f"metric={name} needs classes: these responses are numbers")
    if name in ("error", "worst") and data is not None:
        raise InvalidParameter(f"metric={name} needs the true models: rows of {data} have none")
    if name in ("ari", "recovered", "rounds-to-oracle") and not draws_clusters(cell):
        raise InvalidParameter(f"metric={name} needs the true clusters: rows of {data} have none")


_COMMON = "local, global, oracle, ifca, odcl-km"


def _over(vary: str, values: tuple[Any, ...], **fixed: Any) -> dict[str, Any]:
    return {"vary": vary, "federations": tuple({**fixed, vary: v} for v in values)}


NAMED: dict[str, Benchmark] = {
    b.name: b
    for b in (
        Benchmark(
            name="few-samples",
            question="How many samples must a client have before clustering pays?",
            methods=_COMMON,
            **_over("n", (8, 16, 32, 64), m=40, d=5, k=4, separation=1.0, sigma=0.5),
        ),
        Benchmark(
            name="many-clusters",
            question="What does the number of clusters cost?",
            methods=_COMMON,
            **_over("k", (2, 4, 8, 16), m=96, n=40, d=16, separation=1.0, sigma=0.3),
        ),
        Benchmark(
            name="ragged",
            question="Who copes with clients of very different sizes?",
            methods=_COMMON,
            **_over(
                "size_spread", (0.0, 0.6, 1.0), sizes="zipf", m=60, n=40, d=6, k=3, sigma=0.3
            ),
        ),
        Benchmark(
            name="heavy-tails",
            question="What do heavy tails of features and noise cost?",
            methods=_COMMON,
            **_over(
                "degrees", (2.5, 4.0, 30.0), features="heavy", noise_law="heavy",
                m=40, n=40, d=6, k=3, sigma=0.5,
            ),
        ),
        Benchmark(
            name="close-clusters",
            question="What happens when two clusters have nearly the same model?",
            methods=_COMMON,
            **_over(
                "separation", (0.05, 0.2, 0.8), layout="close-pair", m=40, n=40, d=6, k=3, sigma=0.3
            ),
        ),
        Benchmark(
            name="wrong-k",
            question="What does a wrong number of clusters cost?",
            methods=_COMMON,
            **_over("k_told", (2, 4, 8), m=48, n=40, d=6, k=4, separation=1.0, sigma=0.3),
        ),
        Benchmark(
            name="outliers",
            question="How many clients without a cluster can a method bear?",
            methods=_COMMON,
            **_over("outliers", (0.0, 0.1, 0.3), m=50, n=40, d=6, k=3, sigma=0.3),
        ),
        Benchmark(
            name="inside-ifca",
            question="What does IFCA do where Theorem 1 promises a step?",
            methods="oracle, ifca-near, ifca, odcl-km-10",
            federations=({"m": 20, "n": 5000, "d": 12, "k": 2, "sigma": 0.5},),
            max_trials=64,
        ),
        Benchmark(
            name="inside-odcl",
            question="What does one-shot clustering do where Theorem 1 promises recovery?",
            methods="oracle, oracle-average, odcl-spectral, odcl-km",
            federations=(
                {
                    "m": 4, "n": 1_300_000, "d": 1, "k": 2, "sigma": 0.5,
                    "features": "rademacher", "noise_law": "rademacher",
                },
            ),
            max_trials=16,
        ),
        Benchmark(
            name="digits",
            question="Who separates clients that ask different questions about the same images?",
            methods="local, global, ifca, odcl-km",
            metric="held-out",
            **_over("n", (20, 60), data="digits", m=24, k=3),
        ),
        Benchmark(
            name="glyphs",
            question="Who classifies best when clients hold images turned by four angles?",
            methods=_COMMON,
            metric="wrong",
            **_over("n", (50, 200), data="glyphs", m=24),
        ),
        Benchmark(
            name="glyph-writers",
            question="Who classifies best when writers come in two groups with their own habits?",
            methods=_COMMON,
            metric="wrong",
            **_over("n", (50, 200), data="glyphs", m=24, k=2, differ="style"),
        ),
        Benchmark(
            name="glyph-skew",
            question="What does it cost when each client of rotated images prefers one class?",
            methods=_COMMON,
            metric="wrong",
            **_over("label_skew", (0.5, 0.9), data="glyphs", m=24, n=100),
        ),
    )
}  # fmt: skip


def named(name: str) -> Benchmark:
    """The shipped benchmark of that name.  The error for an unknown one lists the known ones."""
    if name not in NAMED:
        raise InvalidParameter(f"unknown benchmark {name!r:.60}; known: {', '.join(NAMED)}")
    return NAMED[name]
