"""The site in a real browser: filters, search, keyboard, links, dark colours, no way outside.

Needs Chromium, its driver and Selenium: the tox environment `browser`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reports.assemble import write_report
from tests.reports.fakes import claim, refuted
from tests.reports.site.test_site import linked_run

selenium = pytest.importorskip("selenium", reason="the tox environment `browser` has Selenium")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    BROWSER is None or DRIVER is None, reason="chromium and chromedriver are not installed"
)
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--window-size=1280,1000",
)  # fmt: skip
N_CLAIMS = 43


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of a run with enough claims to need filters."""
    made = linked_run()
    claims: Any = made.documents("claim")
    bare = {"figures": [], "tables": []}
    for i in range(40):
        document = (refuted if i % 4 == 0 else claim)(f"p.many{i}")
        document["evidence"] |= bare
        document["kind"] = "rate" if i % 2 else "probability"
        if i == 7:
            document["title"] = "An uncommon word: xylophone"
        claims[f"p.many{i}"] = document
    folder = tmp_path_factory.mktemp("run")
    write_report(made, folder, formats=("html",))
    return folder / "site"


@pytest.fixture(scope="module", name="started")
def _started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from selenium.webdriver import Chrome
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = str(BROWSER)
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options=options, service=Service(str(DRIVER)))
    driver.get("about:blank")
    yield driver
    driver.quit()


def asked_by_pages(browser: Any) -> list[str]:
    """The addresses that pages asked for since the log was read last.

    Chromium starts with its page for new tabs, which is made of 80 files of its own.  On a busy
    machine they are still on their way when a test begins.  A page that goes to another address is
    named by that address, so it is counted.
    """
    messages = (json.loads(entry["message"])["message"] for entry in browser.get_log("performance"))
    sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return [
        params["request"]["url"]
        for params in sent
        if not params["documentURL"].startswith(("chrome://", "about:"))
    ]


@pytest.fixture(name="browser")
def _browser(started: Any) -> Iterator[Any]:
    """The browser.  After each test its console is empty and it has asked for local files only."""
    for log in ("browser", "performance"):
        started.get_log(log)
    yield started
    assert started.get_log("browser") == []
    asked = asked_by_pages(started)
    assert asked
    assert all(address.startswith("file:///") for address in asked), asked


def open_page(browser: Any, folder: Path, name: str) -> None:
    browser.get("about:blank#")
    browser.get(f"{(folder / 'index.html').parent.as_uri()}/{name}")


def find(browser: Any, selector: str) -> Any:
    return browser.find_element("css selector", selector)


def shown(browser: Any) -> list[str]:
    rows = browser.find_elements("css selector", "#claims tbody tr")
    return [row.find_element("css selector", "a").text for row in rows if row.is_displayed()]


def wait(browser: Any, condition: Any) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 10).until(lambda _browser: condition())


def choose(browser: Any, name: str, text: str) -> None:
    from selenium.webdriver.support.ui import Select

    Select(find(browser, f"select[name={name}]")).select_by_visible_text(text)


def test_search_and_filters_leave_the_rows_that_match(browser: Any, folder: Path) -> None:
    open_page(browser, folder, "index.html")
    assert len(shown(browser)) == N_CLAIMS
    find(browser, "input[type=search]").send_keys("xylophone")
    assert shown(browser) == ["p.many7"]
    assert find(browser, "#count").text == f"1 of {N_CLAIMS} claims"
    assert find(browser, "#count").get_attribute("aria-live") == "polite"
    find(browser, "button[type=reset]").click()
    wait(browser, lambda: len(shown(browser)) == N_CLAIMS)
    choose(browser, "verdict", "REFUTED")
    wait(browser, lambda: len(shown(browser)) == 11)
    choose(browser, "kind", "rate")
    wait(browser, lambda: shown(browser) == [])
    choose(browser, "kind", "probability")
    wait(browser, lambda: len(shown(browser)) == 10)
    choose(browser, "verdict", "all")
    wait(browser, lambda: len(shown(browser)) == 20)
    find(browser, "input[name=unexpected]").click()
    wait(browser, lambda: len(shown(browser)) == 10)


def test_an_address_holds_the_filters(browser: Any, folder: Path) -> None:
    open_page(browser, folder, "index.html")
    choose(browser, "verdict", "REFUTED")
    wait(browser, lambda: browser.current_url.endswith("#verdict=REFUTED"))
    address = browser.current_url
    open_page(browser, folder, "index.html")
    browser.get(address)
    assert len(shown(browser)) == 11
    open_page(browser, folder, "index.html")
    find(browser, ".tally a.refuted").click()
    wait(browser, lambda: len(shown(browser)) == 11)


def test_columns_are_sorted_and_say_so(browser: Any, folder: Path) -> None:
    open_page(browser, folder, "index.html")
    verdict = find(browser, "#claims thead th:nth-child(2)")
    button = verdict.find_element("css selector", "button")
    button.click()
    assert verdict.get_attribute("aria-sort") == "ascending"
    assert find(browser, "#claims tbody tr .badge").text == "REFUTED"
    button.click()
    assert verdict.get_attribute("aria-sort") == "descending"
    assert find(browser, "#claims tbody tr .badge").text == "SUPPORTED"


def test_the_keyboard_reaches_the_content_the_filters_and_a_claim(
    browser: Any, folder: Path
) -> None:
    from selenium.webdriver.common.keys import Keys

    open_page(browser, folder, "index.html")
    body = find(browser, "body")
    body.send_keys(Keys.TAB)
    assert browser.switch_to.active_element.text == "Skip to the content"
    assert browser.switch_to.active_element.is_displayed()
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    wait(browser, lambda: browser.switch_to.active_element.get_attribute("id") == "main")
    seen = set()
    for _ in range(60):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        focused = browser.switch_to.active_element
        seen.add(focused.get_attribute("name") or focused.tag_name)
        if focused.tag_name == "a" and focused.text == "p.lemma1":
            break
    assert {"q", "paper", "verdict", "kind", "unexpected"} <= seen
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    wait(browser, lambda: browser.current_url.endswith("claims/p.lemma1.html"))


def test_a_claim_shows_its_figure_its_formula_and_its_neighbours(
    browser: Any, folder: Path
) -> None:
    open_page(browser, folder, "claims/p.thm1.html")
    size = browser.execute_script(
        "const i = document.querySelector('figure img'); return [i.complete, i.naturalWidth];"
    )
    assert size[0]
    assert size[1] > 100
    formula = find(browser, "math[display=block]")
    assert formula.size["height"] > 15
    wide = browser.execute_script(
        "return document.documentElement.scrollWidth - document.documentElement.clientWidth;"
    )
    assert wide <= 0
    find(browser, ".warning a").click()
    wait(browser, lambda: browser.current_url.endswith("claims/p.lemma1.html"))
    find(browser, "a[rel=next]").click()
    wait(browser, lambda: "claims/" in browser.current_url)


def test_the_graph_marks_the_lines_of_a_statement_and_leads_to_its_page(
    browser: Any, folder: Path
) -> None:
    open_page(browser, folder, "proofs-p.html")
    node = find(browser, "#graph [data-id='p.thm1']")
    browser.execute_script("arguments[0].focus()", node)
    assert len(browser.find_elements("css selector", ".edge.near")) == 2
    assert len(browser.find_elements("css selector", ".node.near")) == 3
    boxes = browser.execute_script(
        "return Array.from(document.querySelectorAll('.node')).map((node) =>"
        "node.querySelector('text').getComputedTextLength() - node.querySelector('rect').width"
        ".baseVal.value);"
    )
    assert max(boxes) < 0
    node.click()
    wait(browser, lambda: browser.current_url.endswith("claims/p.thm1.html"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_colours_follow_the_system(browser: Any, folder: Path, scheme: str) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )
    open_page(browser, folder, "claims/p.thm1.html")
    ground, text, image = browser.execute_script(
        "const style = (s) => getComputedStyle(document.querySelector(s));"
        "return [style('body').backgroundColor, style('body').color, style('figure img').filter];"
    )
    red = [int(colour.partition("(")[2].partition(",")[0]) for colour in (ground, text)]
    assert (red[0] > red[1]) == (scheme == "light")
    assert (image == "none") == (scheme == "light")


def test_a_narrow_window_needs_no_sideways_scrolling(browser: Any, folder: Path) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True},
    )
    for name in ("index.html", "claims/p.thm1.html", "proofs-p.html", "reading.html"):
        open_page(browser, folder, name)
        assert browser.execute_script("return document.documentElement.scrollWidth;") <= 390
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_without_scripts_every_row_is_there(browser: Any, folder: Path) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    open_page(browser, folder, "index.html")
    rows = browser.find_elements("css selector", "#claims tbody tr")
    assert sum(row.is_displayed() for row in rows) == N_CLAIMS
    assert not find(browser, "#filters").is_displayed()
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.mark.parametrize(
    "body",
    [
        '<img src="http://127.0.0.1:9/outside" alt="">',
        '<link rel="stylesheet" href="http://127.0.0.1:9/outside">',
        '<script>fetch("http://127.0.0.1:9/outside").catch(() => 0)</script>',
        '<iframe src="http://127.0.0.1:9/outside"></iframe>',
        '<script>location.href = "http://127.0.0.1:9/outside"</script>',
    ],
    ids=["image", "style", "fetch", "frame", "address"],
)
def test_a_page_that_asks_outside_is_seen(started: Any, tmp_path: Path, body: str) -> None:
    """The check above would fail.  Nothing listens at this address."""
    (tmp_path / "page.html").write_text(f"<!doctype html><title>x</title>{body}", encoding="utf-8")
    asked: list[str] = []

    def seen() -> bool:
        asked.extend(asked_by_pages(started))
        return "http://127.0.0.1:9/outside" in asked

    started.get((tmp_path / "page.html").as_uri())
    wait(started, seen)
    started.get("about:blank")


def test_the_page_for_new_tabs_is_not_counted(started: Any) -> None:
    asked_by_pages(started)
    started.get("chrome://version")
    wait(started, lambda: started.title)
    assert asked_by_pages(started) == []
    started.get("about:blank")
