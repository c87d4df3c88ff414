"""The pages in a real Chromium: what is shown, clicked and typed, in all schemes and widths."""

from __future__ import annotations

import itertools
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait
from tests.dashboard.conftest import PATIENCE_S
from tests.dashboard.played import NAME

from brimline.bulk import contents
from brimline.cli.surface import program
from brimline.dashboard import index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.dashboard.conftest import Served
    from tests.dashboard.played import Played

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
# Set where it was installed for these tests, so that none is left out unnoticed.
REQUIRED = os.environ.get("CHROMIUM_REQUIRED")
OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
    "--hide-scrollbars --disable-background-networking --disable-component-update "
    "--disable-dev-shm-usage"
)
PAGES = (
    *("/", "/day", f"/session/{NAME}", f"/session/{NAME}/request/3", "/overall"),
    *("/stored", "/memory", "/rules", "/health"),
)
WIDTHS = (390, 1280, 1920)
# The least contrast of any text with what is behind it.
CONTRAST = """
const linear = (x) => x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4;
const light = (c) => { const v = c.map(x => linear(x / 255));
  return .2126 * v[0] + .7152 * v[1] + .0722 * v[2]; };
const parts = (text) => (text.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
const behind = (e) => { for (; e; e = e.parentElement) {
  const c = parts(getComputedStyle(e).backgroundColor);
  if (c.length < 4 || c[3] > 0) return c.slice(0, 3); } return [255, 255, 255]; };
const found = [];
for (const e of document.querySelectorAll("body *")) {
  const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
  if (!own || !e.getClientRects().length || e.closest("title,option,.skip")) continue;
  const style = getComputedStyle(e);
  const ink = parts(e.ownerSVGElement ? style.fill : style.color).slice(0, 3);
  const [a, b] = [light(ink), light(behind(e))];
  const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  if (ratio < 4.5) found.push([e.tagName, e.textContent.trim().slice(0, 30), ratio]);
}
return found;
"""
# How much of the compactions is out of sight.
CUT_OFF = """
const is_meant = (e) => e.querySelector("h2")?.textContent === "Compactions";
const meant = [...document.querySelectorAll("section:has(table)")].filter(is_meant);
return Math.max(0, ...meant.map((e) => e.scrollWidth - e.clientWidth));
"""
# Whether the page is there as it is to be seen: its style, in this width and scheme.
STYLED = """
return document.readyState === "complete" && innerWidth === arguments[0]
  && matchMedia(`(prefers-color-scheme: ${arguments[1]})`).matches
  && getComputedStyle(document.documentElement).getPropertyValue("--ink") !== "";
"""


class Browser:
    """A window, and what it complained of and asked for."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def look(self, url: str, width: int = 1280, scheme: str = "light") -> None:
        """Open a page in a width and a colour scheme."""
        chosen = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", chosen)
        self.resize(width, 900)
        self.driver.get(url)
        if url != "about:blank":
            self.wait(lambda: self.driver.execute_script(STYLED, width, scheme))

    def resize(self, width: int, height: int) -> None:
        """Make the window larger or smaller."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def complaints(self) -> list[str]:
        """Everything on the console: errors of scripts, refused styles, missing files."""
        return [one["message"] for one in self._log("browser")]

    def asked(self) -> set[str]:
        """Every address that was asked for."""
        told = [json.loads(one["message"])["message"] for one in self._log("performance")]
        sent = [one for one in told if one["method"] == "Network.requestWillBeSent"]
        urls = {one["params"]["request"]["url"] for one in sent}
        return {url for url in urls if not url.startswith(("chrome", "data:", "about:"))}

    def _log(self, name: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.driver.get_log(name)  # type: ignore[no-untyped-call]
        return found

    def find(self, selector: str) -> Any:
        """The first that fits."""
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def wait(self, until: Callable[[], object]) -> None:
        """Until something is so; what is replaced at that moment is looked for again."""
        waiting = WebDriverWait(self.driver, PATIENCE_S, 0.1, [WebDriverException])
        waiting.until(lambda _: until())


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """Chromium with a profile of its own; where it is not installed, one line says so."""
    if not CHROMIUM or not DRIVER:
        if REQUIRED:
            pytest.fail("Chromium or its driver is missing, and CHROMIUM_REQUIRED is set")
        pytest.skip("browser suite not run: apt-get install chromium chromium-driver")
    folder = tmp_path_factory.mktemp("chromium")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for option in (*OPTIONS.split(), f"--user-data-dir={folder}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    environment = os.environ | {"HOME": str(folder)}
    service = webdriver.ChromeService(DRIVER, env=environment)
    made = webdriver.Chrome(options=options, service=service)
    made.set_page_load_timeout(PATIENCE_S)
    made.set_script_timeout(PATIENCE_S)
    try:
        yield made
    finally:
        made.quit()


@pytest.fixture
def browser(driver: webdriver.Chrome, served: Served) -> Iterator[Browser]:
    """A window that was let in, and is somewhere else before the dashboard ends."""
    found = Browser(driver)
    found.look(f"file://{served.file}")
    found.wait(lambda: driver.current_url == f"http://{served.host}/")
    found.wait(lambda: "Sessions" in driver.title)
    assert "key=" not in driver.current_url
    found.asked(), found.complaints()
    yield found
    found.look("about:blank")


@pytest.mark.row("S2-48")
def test_every_page_is_sound_in_both_schemes_and_widths(browser: Browser, served: Served) -> None:
    """No complaint, nothing from elsewhere, nothing cut off, nothing hard to read."""
    browser.complaints()
    for page in PAGES:
        between = ((760, "light"), (1010, "dark")) if page == "/" else ()
        for width, scheme in (*itertools.product(WIDTHS, ("light", "dark")), *between):
            browser.look(f"http://{served.host}{page}", width, scheme)
            seen = f"{page} at {width} {scheme}"
            assert browser.complaints() == [], seen
            assert browser.driver.execute_script(CONTRAST) == [], seen
            wide = "return document.documentElement.scrollWidth"
            assert browser.driver.execute_script(wide) <= width, seen
            assert browser.driver.execute_script(CUT_OFF) == 0, seen
    assert {url for url in browser.asked() if not url.startswith(f"http://{served.host}/")} == set()


def test_a_click_shows_what_came_in_and_so_do_keys(browser: Browser, served: Served) -> None:
    """The text of a request, below the chart; arrows move, Enter opens."""
    browser.look(f"http://{served.host}/session/{NAME}")
    charts = browser.find(".charts")
    last = browser.find("[data-readout]").text

    charts.send_keys(Keys.HOME, Keys.ARROW_RIGHT)
    assert browser.find("[data-readout]").text.startswith("Request 2,")
    assert browser.find("[data-readout]").text != last
    charts.send_keys(Keys.ARROW_LEFT, Keys.ENTER)
    browser.wait(lambda: "the import drops rows" in browser.find("#detail").text)
    chart = browser.find(".plot.pick svg.wide")
    webdriver.ActionChains(browser.driver).move_to_element(chart).click().perform()
    browser.wait(lambda: "Request 1 " not in browser.find("#detail").text)
    assert browser.find("#detail pre").text
    assert browser.complaints() == []


def test_a_running_session_grows_on_it(browser: Browser, served: Served, played: Played) -> None:
    """Without a click; what is open, pointed at and focused stays so; one that is gone says so."""
    browser.look(f"http://{served.host}/session/{NAME}")
    browser.wait(lambda: browser.find(".charts").send_keys(Keys.HOME, Keys.ENTER) or True)
    browser.wait(lambda: browser.find("#detail").is_displayed())
    browser.find("details:not(#detail *) summary").click()
    focused = "return document.activeElement.getAttribute('href')"
    focus = "document.querySelector('td a[href*=request]:not(#detail *)').focus();"
    link = browser.driver.execute_script(focus + focused)
    assert link.startswith(f"/session/{NAME}/request/")
    played.session.reply(51_234)

    browser.wait(lambda: "51,234 of 200,000" in browser.find(".lead").text)

    browser.wait(lambda: browser.find("#detail").is_displayed())
    assert browser.find("details[open]:not(#detail *) pre").is_displayed()
    assert browser.find("[data-readout]").text.startswith("Request 1,")
    assert browser.driver.execute_script(focused) == link
    assert browser.complaints() == []
    Path(played.session.path).unlink()
    browser.wait(lambda: "This session is gone" in browser.find("main").text)
    assert browser.find("#main").get_attribute("data-live") == ""


def test_the_first_session_appears_by_itself(
    browser: Browser, served: Served, played: Played, home_dir: str
) -> None:
    """On the page that says that there is none yet."""
    there = Path(played.session.path)
    rows = there.read_bytes()
    there.unlink()
    index.Index(home_dir).refresh()
    browser.look(f"http://{served.host}/")
    assert "it appears here by itself" in browser.find("main").text
    there.write_bytes(rows)
    index.Index(home_dir).refresh()

    browser.wait(lambda: browser.find(f'a[href="/session/{NAME}"]').is_displayed())

    Select(browser.find("select[name=sort]")).select_by_value("cost")
    browser.wait(lambda: "sort=cost" in browser.driver.current_url)
    assert browser.complaints() == []


def test_sessions_are_filtered_and_an_output_is_read(
    browser: Browser, served: Served, home_dir: str
) -> None:
    """By choosing, and on a page that is reached by links."""
    browser.look(f"http://{served.host}/")
    Select(browser.find("select[name=sort]")).select_by_value("cost")
    browser.wait(lambda: "sort=cost" in browser.driver.current_url)
    browser.find(f'a[href="/session/{NAME}"]').click()
    (blob,) = contents.list_blobs(home_dir)
    browser.find(f'a[href="/stored/{blob.digest}"]').click()
    assert "INFO batch 7: ok" in browser.find("pre").text

    assert browser.complaints() == []


def test_a_bar_leads_to_its_day_and_a_session_from_there(browser: Browser, served: Served) -> None:
    """What was asked on that day, and the page of the session that was asked."""
    browser.look(f"http://{served.host}/overall")
    bar = browser.find('.wide a[href^="/day?day="]')
    webdriver.ActionChains(browser.driver).move_to_element(bar).click().perform()
    browser.wait(lambda: "/day?day=" in browser.driver.current_url)
    assert "compacted by the client itself" in browser.find(".work").text

    browser.find(".work h2 a").click()

    browser.wait(lambda: f"/session/{NAME}" in browser.driver.current_url)
    assert browser.complaints() == []


def test_all_links_and_fields_are_reached_by_keys_alone(browser: Browser, served: Served) -> None:
    """In their order, the way to the content first, and each shows that it is meant."""
    browser.look(f"http://{served.host}/")
    reached = []
    for _ in range(18):
        webdriver.ActionChains(browser.driver).send_keys(Keys.TAB).perform()
        script = "const e = document.activeElement; return [e.getAttribute('href') ?? e.name ?? "
        script += "e.textContent, getComputedStyle(e).outlineStyle]"
        reached.append(browser.driver.execute_script(script))

    assert [name for name, _ in reached[:3]] == ["#main", "/", "/"]
    assert {"/overall", "/health", "project", "sort"} <= {name for name, _ in reached}
    assert {style for _, style in reached} == {"solid"}


def test_a_report_opens_from_a_file(driver: webdriver.Chrome, played: Played) -> None:
    """It draws, answers to keys, asks for nothing and complains of nothing."""
    done = CliRunner().invoke(program, ["report", NAME, "-o", "report.html"])
    assert done.exit_code == 0
    browser = Browser(driver)
    browser.asked()
    browser.complaints()  # of the test before
    address = Path("report.html").absolute().as_uri()

    browser.look(address)
    browser.find(".charts").send_keys(Keys.HOME)

    assert browser.find("[data-readout]").text.startswith("Request 1,")
    assert browser.find("path.fill.tool_result").is_displayed()
    assert browser.asked() == {address}
    assert browser.complaints() == []
