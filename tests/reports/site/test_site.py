"""The site as a whole: whole pages, links that lead somewhere, and no way to the outside."""

from __future__ import annotations

import csv
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any
from urllib.parse import unquote

import pytest

from reports import figures
from reports.assemble import write_report
from reports.claim_page import Files
from reports.collect import load
from reports.schema import Reader
from reports.site import site
from tests.reports.fakes import FakeRun, claim, refuted, run, undrawn
from tests.reports.test_hostile import hostile_run

VOID = {"meta", "link", "img", "br", "input", "path", "rect"}


class Page(HTMLParser):
    """The elements of a page, and whether they are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, tag
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def values(self, name: str) -> list[str]:
        """The values of an attribute."""
        return [attributes[name] for _, attributes in self.elements if name in attributes]


def linked_run() -> FakeRun:
    """A run of a paper with three statements, one of which rests on a refuted one."""
    made = run(p_thm1=claim("p.thm1"), p_lemma1=refuted("p.lemma1"), p_thm2=claim("p.thm2"))
    documents: Any = made._documents
    documents["paper"] = {
        "p": {
            "title": "A paper",
            "publications": [["p2020", "@article{p2020}"]],
            "uses": {"p.thm1": ["p.lemma1", "p.lemma2"]},
        }
    }
    documents["finding"]["d1"]["severity"] = "statement"
    return made


def pages_of(reader: Reader) -> tuple[Files, dict[str, Page]]:
    """The files of a site, and its pages, each of which is closed."""
    files = site(load(reader))
    pages = {name: Page(str(text)) for name, text in files.items() if name.endswith(".html")}
    assert not any(page.open for page in pages.values())
    return files, pages


@pytest.fixture(scope="module", name="built")
def _built() -> tuple[Files, dict[str, Page]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "render", lambda _data, **_options: b"<svg/>")
        return pages_of(linked_run())


def test_every_link_leads_to_a_file_and_a_place(built: tuple[Files, dict[str, Page]]) -> None:
    files, pages = built
    assert {"index.html", "findings.html", "proofs-p.html", "claims/p.thm1.html"} <= set(pages)
    for name, page in pages.items():
        ids = page.values("id")
        assert len(ids) == len(set(ids)), name
        for address in page.values("href") + page.values("src"):
            target, _, place = address.partition("#")
            where = normpath(join(dirname(name), target)) if target else name
            assert where in files, (name, address)
            if place and "=" not in place:
                assert place in pages[where].values("id"), (name, address)


def test_every_page_has_landmarks_and_forbids_other_sources(
    built: tuple[Files, dict[str, Page]],
) -> None:
    for page in built[1].values():
        tags = [tag for tag, _ in page.elements]
        for landmark in ("header", "nav", "main", "footer", "h1"):
            assert tags.count(landmark) == 1 or (landmark == "nav" and tags.count("nav") == 2)
        (policy,) = (
            attributes["content"]
            for tag, attributes in page.elements
            if attributes.get("http-equiv") == "Content-Security-Policy"
        )
        assert policy.startswith("default-src 'none';")
        assert not re.search(r"unsafe|https?:|\*", policy)
        # Styles and scripts inside a page would need an exception of the policy.
        assert "style" not in tags
        assert not page.values("style")
        assert not [name for _, found in page.elements for name in found if name.startswith("on")]


def test_the_numbers_of_each_figure_stand_beside_it_for_who_does_not_see_it(
    built: tuple[Files, dict[str, Page]],
) -> None:
    """The text for screen readers promised them in a table of cells, where few of them are."""
    files, pages = built
    shown = pages["claims/p.thm1.html"]
    (address,) = [a for a in shown.values("href") if a.endswith(".csv") and "figures/" in a]
    (image,) = [a for a in shown.values("src") if a.endswith(".svg")]
    assert address.removesuffix(".csv") == image.removesuffix(".svg")
    rows = [*csv.DictReader(str(files[address.removeprefix("../")]).splitlines())]
    (stored,) = claim("p.thm1")["evidence"]["figures"]
    points = [
        (series["label"], x, y)
        for series in stored["series"]
        for x, y in zip(series["x"], series["y"], strict=True)
    ]
    read = [(r["series"], float(r["x"]), float(r["y"]) if r["y"] else None) for r in rows]
    assert read == points
    (caption,) = [text for tag, text in shown.elements if tag == "img"]
    assert caption["alt"].endswith("A link to its numbers follows.")


def test_a_claim_says_what_it_rests_on(built: tuple[Files, dict[str, Page]]) -> None:
    pages = built[1]
    assert "The proof rests on a refuted step: p.lemma1" in pages["claims/p.thm1.html"].text
    assert "rests on a refuted step" not in pages["claims/p.lemma1.html"].text
    assert "The proofs of these statements use this one" in pages["claims/p.lemma1.html"].text
    graph = {
        found["data-id"]: found["class"]
        for _, found in pages["proofs-p.html"].elements
        if "data-id" in found
    }
    assert graph == {
        "p.thm1": "node supported shaken",
        "p.lemma1": "node refuted",
        "p.lemma2": "node notrun",
    }


def test_rows_carry_what_the_filters_need(built: tuple[Files, dict[str, Page]]) -> None:
    rows = [found for tag, found in built[1]["index.html"].elements if "data-verdict" in found]
    assert [row["data-verdict"] for row in rows] == ["SUPPORTED", "REFUTED", "SUPPORTED"]
    assert ["data-unexpected" in row for row in rows] == [False, True, False]


def test_a_hostile_run_is_shown_as_text() -> None:
    """Nothing of a stranger's text becomes an element, an attribute or an address."""
    reader: Any = hostile_run()
    markup = (
        "<script>alert(1)</script><img src=http://x.example/ onerror=alert(1)> \"'><svg onload=x>"
    )
    documents = reader._documents
    documents["claim"]["p.thm1"] |= {
        "title": markup, "kind": markup, "source": markup, "expected": markup,
        "statement": rf"$\text{{{markup.replace('$', '')}}}$", "replay": [markup],
    }  # fmt: skip
    documents["claim"]["p.thm1"]["evidence"] |= {"verdict": markup, "mark": markup}
    documents["claim"][markup] = claim(markup, paper=markup)
    documents["paper"] = {"p": {"title": markup, "uses": {"p.thm1": [markup]}}}
    documents["run"]["summary"] |= {"title": markup, "commands": [markup], "run_id": markup}
    documents["symbol"]["p"]["symbols"].append(["x", markup])
    plain, seen = pages_of(linked_run())[1], pages_of(reader)[1]
    known = {tag for page in plain.values() for tag, _ in page.elements}
    names = {name for page in plain.values() for _, found in page.elements for name in found}
    for name, page in seen.items():
        tags = {tag for tag, _ in page.elements}
        assert {tag for tag in tags if not re.fullmatch("m[a-z]+", tag)} <= known, name
        assert [found["src"] for tag, found in page.elements if tag == "script"] == [
            "../" * name.count("/") + "site.js"
        ]
        assert not [value for value in page.values("href") if ":" in value]
        used = {found for tag, attributes in page.elements for found in attributes}
        math = {"lspace", "rspace", "stretchy", "fence", "form", "mathvariant", "width"}
        assert used <= names | math, used - names - math


def test_the_site_is_written_beside_the_report(tmp_path: Path) -> None:
    result = write_report(run(), tmp_path, formats=("html",))
    assert result.opened == (tmp_path / "site" / "index.html",)
    assert all(path.is_file() for path in result.paths)
    assert not (tmp_path / "report.tex").exists()
    svg = next((tmp_path / "site" / "figures").glob("*.svg")).read_text()
    assert svg.count("<svg") == 1
    assert "<script" not in svg
    assert not re.search(r"(?:href|src)=\"(?!#)", svg)


def test_an_empty_run_has_a_site() -> None:
    assert "This run holds no claim yet." in pages_of(FakeRun({}))[1]["index.html"].text


def luminance(colour: str) -> float:
    """WCAG's relative luminance of ``#rrggbb``."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_all_text_has_enough_contrast_by_day_and_by_night() -> None:
    css = str(site(load(FakeRun({})))["site.css"])
    light, dark = (
        dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6})", block))
        for block in re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    )
    assert light.keys() == dark.keys()
    for colours in (light, dark):
        for name in set(colours) - {"paper", "panel", "line", "focus"}:
            for ground in ("paper", "panel"):
                pair = sorted((luminance(colours[name]), luminance(colours[ground])))
                assert (pair[1] + 0.05) / (pair[0] + 0.05) >= 4.5, (name, ground)


def test_the_notation_of_every_paper_and_the_commands_stand_on_their_pages() -> None:
    made = run(p_thm1=claim("p.thm1"), q_thm1=claim("q.thm1"))
    documents: Any = made._documents
    documents["symbol"] = {
        "p": {"symbols": [["m", "clients of the first"]]},
        "q": {"symbols": [["m", "clients of the second"], ["d", "its size"]]},
    }
    documents["paper"] = {
        key: {"title": f"Paper {key}", "publications": [[f"{key}1", "@article{x}"]]} for key in "pq"
    }
    documents["run"]["summary"]["commands"] = ["cfl-verify  run\n--seed 7", "cfl-verify status"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "render", lambda _data, **_options: b"<svg/>")
        _, pages = pages_of(made)
    notation = pages["notation.html"].text
    for words in ("clients of the first", "clients of the second", "its size"):
        assert notation.count(words) == 1
    assert notation.index("Paper p") < notation.index("Paper q")
    facts = pages["run.html"].text
    assert "cfl-verify run --seed 7" in facts
    assert "cfl-verify status" in facts
    assert "p1" in facts
    assert "q1" in facts


def test_texts_that_are_latex_are_typeset_and_never_quoted(
    built: tuple[Files, dict[str, Page]],
) -> None:
    """No command, no dollar and no brace is left on a page of texts."""
    source = str(built[0]["reading.html"])
    for heading in ("Aims", "Data-generating mechanisms", "Estimands", "Methods"):
        assert re.search(rf"<h(\d)\b[^>]*>{heading}</h\1>", source), heading
    assert {"em", "dl"} <= {tag for tag, _ in built[1]["reading.html"].elements}
    for name in ("reading.html", "notation.html"):
        assert not re.search(r"\\[A-Za-z]|\$|\{", built[1][name].text), name


def test_every_version_of_every_paper_is_in_the_bibliography() -> None:
    """A conference and a journal version, and a paper of one version, in their order."""
    made = run(p_thm1=claim("p.thm1"), q_thm1=claim("q.thm1"))
    documents: Any = made._documents
    documents["paper"] = {
        "p": {
            "title": "Paper p",
            "publications": [["p2020", "@inproceedings{p2020}"], ["p2022", "@article{p2022}"]],
        },
        "q": {"title": "Paper q", "publications": [["q2021", "@misc{q2021}"]]},
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "render", lambda _data, **_options: b"<svg/>")
        files, _ = pages_of(made)
    shown = re.findall(
        r"<h2>(\w+)</h2>\s*<pre[^>]*><code>(@\w+)\{\1\}</code>", str(files["run.html"])
    )
    assert shown == [
        ("p2020", "@inproceedings"),
        ("p2022", "@article"),
        ("q2021", "@misc"),
    ]


def test_a_result_lists_each_of_its_claims_with_its_own_verdict_and_figure() -> None:
    """Claims of one statement were listed twice with the verdict of the first.

    A claim whose name begins with another's lent it its figure.
    """
    own = refuted("p.thm1") | {"source": "Theorem 1", "selection": "p.thm1[m=4]"}
    other = claim("p.thm1-b", source="Theorem 2")
    plain = claim("p.thm1", source="Theorem 1")
    plain["evidence"]["figures"] = own["evidence"]["figures"] = []
    made = FakeRun({"claim": {"p.thm1": plain, "p.thm1[m=4]": own, "p.thm1-b": other}})
    files = site(load(made))
    first, second = (Page(str(files[f"results/1-Theorem-{i}.html"])) for i in (1, 2))
    assert "../claims/p.thm1.html" in first.values("href")
    assert "../claims/p.thm1-m-4.html" in first.values("href")
    assert "REFUTED" in first.text
    assert "p.thm1[m=4]" in first.text
    assert not any(src.endswith(".svg") for src in first.values("src"))
    assert next(src for src in second.values("src") if src.endswith(".svg")) in {
        f"../{name}" for name in files if name.startswith("figures/p.thm1-b-")
    }


@pytest.mark.parametrize(
    ("ratio", "sorted_by"), [(float("inf"), "Infinity"), (float("-inf"), "-Infinity"), (0.5, "0.5")]
)
def test_a_ratio_without_end_is_sorted_as_the_script_reads_it(ratio: float, sorted_by: str) -> None:
    document = undrawn(claim("p.a"))
    document["evidence"] |= {
        "cells": [],
        "witness": {"description": "x", "observed": ratio, "bound": 1.0},
    }
    page = Page(str(site(load(FakeRun({"claim": {"p.a": document}})))["index.html"]))
    cells = [a["data-sort"] for tag, a in page.elements if tag == "td" and "data-sort" in a]
    assert cells[1:] == [sorted_by, "1.0", ""]


def test_each_claim_leads_to_its_neighbours_and_the_ends_to_one_only(
    built: tuple[Files, dict[str, Page]],
) -> None:
    keys = [c.key for c in load(linked_run()).claims]
    for i, key in enumerate(keys):
        around = {
            a["rel"]: a["href"] for _, a in built[1][f"claims/{key}.html"].elements if "rel" in a
        }
        around.pop("stylesheet")
        near = {"prev": keys[i - 1 : i] if i else [], "next": keys[i + 1 : i + 2]}
        assert around == {side: f"{names[0]}.html" for side, names in near.items() if names}


def test_a_verdict_of_the_tally_leads_to_as_many_claims_as_it_counts() -> None:
    """ "3 PROVED" led to all that are supported, and identities are counted apart."""
    marks = ["PROVED"] * 3 + ["SUPPORTED"] * 2 + ["SUPPORTED TO 0.1", "SUPPORTED TO 0.2"]
    marks += ["PROVED FOR d <= 3", "PROVED UP TO A LEMMA"]
    documents = {f"p.c{i}": undrawn(claim(f"p.c{i}")) for i in range(len(marks) + 2)}
    for document, mark in zip(documents.values(), [*marks, "PROVED", "SUPPORTED"], strict=True):
        document["evidence"]["mark"] = mark
    documents["p.c9"]["identity"] = documents["p.c10"]["identity"] = "both sides are (1)"
    _, pages = pages_of(FakeRun({"claim": documents}))
    page = pages["index.html"]
    chosen = [unquote(a.partition("=")[2]) for a in page.values("href") if a.startswith("#verdict")]
    rows = Counter(page.values("data-verdict"))
    assert {name: rows[name] for name in chosen} == {
        "PROVED": 3, "SUPPORTED": 2, "SUPPORTED TO r": 2, "PROVED FOR SIZES": 1,
        "PROVED UP TO A LEMMA": 1,
    }  # fmt: skip
    assert rows["identity of formulas"] == 2
    options = page.text[page.text.index("Verdict all") :].partition(" Kind")[0]
    assert all(name in options for name in [*chosen, "identity of formulas"])


def test_the_known_results_of_a_certificate_have_their_formulas_set() -> None:
    """A page showed "the best approximation of rank $K$" with its dollars."""
    document = undrawn(claim("p.a"))
    document["evidence"]["proved"] = {"lemmas": ["the best approximation of rank $K_1$"]}
    files, _ = pages_of(FakeRun({"claim": {"p.a": document}}))
    item = re.search(
        r"<li>the best approximation of rank (.*?)</li>", str(files["claims/p.a.html"])
    )
    assert item is not None
    assert "<msub>" in item[1]
    assert "$" not in re.sub(r"<[^>]*>", "", item[1])


def test_the_pages_of_single_results_are_listed_by_paper() -> None:
    documents = {
        f"p.{paper}{i}": undrawn(claim(f"p.{paper}{i}", source=name, paper=f"Paper {paper}"))
        for paper in "ba" for i, name in enumerate(("Lemma 2", "Theorem 1"))
    }  # fmt: skip
    text = str(pages_of(FakeRun({"claim": documents}))[0]["index.html"])
    lists = re.findall(r"<p>(Paper \w): (.*?)\.</p>", text)
    assert [(paper, re.findall(r">([^<]+)</a>", items)) for paper, items in lists] == [
        (f"Paper {paper}", ["Theorem 1", "Lemma 2"]) for paper in "ab"
    ]
