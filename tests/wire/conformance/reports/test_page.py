"""The HTML report in Chromium, opened from a file."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafkalet_conformance.reports.html_report import dumps
from kafkalet_conformance.results import Outcome, Run
from tests.unit.conformance.reports.runs import EVIL, case, differing, every_outcome, result, run, scenario
from tests.wire.control.browser import expect, launched, opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    with launched() as found:
        yield found


@pytest.fixture
def page(browser: "Browser", tmp_path: Path) -> Iterator["Page"]:
    """The report of a run with every outcome."""
    with opened(browser, url(every_outcome(), tmp_path)) as found:
        yield found


def url(made: Run, directory: Path) -> str:
    (directory / "report.html").write_text(dumps(made), encoding="utf-8")
    return (directory / "report.html").as_uri()


def scenarios(page: "Page") -> "Locator":
    """Return the names of the scenarios in the list."""
    return page.locator("#list > details > summary > strong")


def opened_details(page: "Page", name: str) -> "Locator":
    """Open a scenario and return its content, with that of its first case."""
    row = page.locator(f"details[data-scenario='{name}']")
    row.locator("> summary").click()
    expect(row.locator("> div")).to_be_visible()
    expect(row.locator("details[open]:not(:has(> div))")).to_have_count(0)
    return row.locator("> div")


def test_cells_have_the_worst_outcome_with_counts_and_names(page: "Page") -> None:
    cell = page.get_by_role("button", name="Fetch, fetch: 1 differs, 1 unstable, 1 not served, 1 as Kafka")
    assert cell.inner_text() == "≠ 1/4"
    assert page.get_by_role("button", name="Metadata, metadata: 1 differs").inner_text() == "≠ 1"
    assert page.get_by_role("rowheader").all_inner_texts() == ["(other)", "Fetch", "JoinGroup", "Metadata"]


def test_cell_of_scenarios_that_were_not_run_names_the_reasons(browser: "Browser", tmp_path: Path) -> None:
    needs = [result(scenario(name), Outcome.NOT_RUN, reason=f"needs {name} brokers") for name in ("2", "3")]
    with opened(
        browser, url(run(*needs, result(scenario("4"), Outcome.NOT_RUN, reason=needs[0].reason)), tmp_path)
    ) as page:
        cell = page.get_by_role("button", name="Fetch, fetch: 3 not run: needs 2 brokers; needs 3 brokers", exact=True)
        assert cell.get_attribute("title") == cell.get_attribute("aria-label")


def test_header_has_target_release_date_and_counts(page: "Page") -> None:
    header = page.locator("header").inner_text()
    for text in ("localhost:9092", "Apache Kafka 4.4", "2026-01-02T03:04:05", "1 as Kafka, 2 differ, 1 not served"):
        assert text in header


def test_cell_shows_its_scenarios(page: "Page") -> None:
    expect(scenarios(page)).to_have_count(7)
    page.get_by_role("button", name=re.compile("^JoinGroup, groups")).click()
    expect(scenarios(page)).to_have_text(["broken"])
    expect(page.get_by_role("status")).to_have_text("1 of 7 scenarios (JoinGroup, groups)")
    page.get_by_role("button", name=re.compile("^JoinGroup, groups")).click()
    expect(scenarios(page)).to_have_count(7)


def test_scenario_shows_request_and_both_responses_with_differing_lines_marked(page: "Page") -> None:
    details = opened_details(page, "codes")
    assert "The claim of codes." in details.inner_text()
    assert "9223372036854775807" in details.get_by_role("region", name="Request", exact=True).inner_text()
    assert details.locator(".minus").all_inner_texts() == ["-         error_code: 3 UNKNOWN_TOPIC_OR_PARTITION"]
    assert details.locator(".plus").all_inner_texts() == ["+         error_code: 0 NONE"]
    assert details.locator(".paths tbody").inner_text().split("\n")[0].startswith("topics[0].partitions[0].error_code")
    assert "00000000  00 01 61 62 63" in details.get_by_role("region", name="Request in bytes").inner_text()


def test_failed_scenario_shows_its_reason(page: "Page") -> None:
    broken, many = opened_details(page, "broken"), opened_details(page, "many")
    expect(broken).to_contain_text("the broker closed the connection", use_inner_text=True)
    expect(many).to_contain_text("needs a cluster of 3 brokers", use_inner_text=True)


def test_text_of_the_broker_is_never_markup_in_the_page(page: "Page") -> None:
    """`opened` fails if the page shows a dialog, loads an image or writes an error."""
    details = opened_details(page, "evil")
    assert "</script><script>alert(1)</script><img src=x" in details.inner_text()
    assert page.locator("img").count() == 0
    assert "</script><script>alert(1)" in page.locator("h1").inner_text()
    assert page.title().startswith("</script>")


def test_outcomes_and_levels_filter(page: "Page") -> None:
    page.get_by_label("≠ differs (2)").uncheck()
    expect(scenarios(page).get_by_text("codes")).to_have_count(0)
    page.get_by_label("must (5)").uncheck()
    expect(scenarios(page)).to_have_text(["shaky"])
    page.get_by_role("button", name="Show all").click()
    expect(scenarios(page)).to_have_count(7)
    expect(page.get_by_label("must (5)")).to_be_checked()


def test_search_finds_names_claims_and_apis(page: "Page") -> None:
    search = page.get_by_role("searchbox")
    search.fill("claim CODES")
    expect(scenarios(page)).to_have_text(["codes"])
    search.fill("joingroup")
    expect(scenarios(page)).to_have_text(["broken"])
    search.fill("nothing like this")
    expect(scenarios(page)).to_have_count(0)


def test_page_is_used_with_the_keyboard(page: "Page") -> None:
    page.locator("#matrix button[tabindex='0']").focus()
    assert page.evaluate("document.activeElement.dataset.api") == "(other)"
    page.keyboard.press("ArrowDown")
    assert page.evaluate("[document.activeElement.dataset.api, document.activeElement.dataset.area]") == [
        "Fetch",
        "groups",
    ]
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(page.locator("#list-title")).to_be_focused()
    expect(scenarios(page)).to_have_text(["codes", "shaky", "old", "good"])
    page.keyboard.press("Tab")
    for _ in range(20):
        if page.evaluate("document.activeElement.tagName") == "SUMMARY":
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("details[data-scenario='codes'][open]")).to_have_count(1)
    assert page.locator("#matrix button[tabindex='0']").count() == 1


def test_address_names_a_scenario(browser: "Browser", tmp_path: Path) -> None:
    address = url(every_outcome(), tmp_path)
    with opened(browser, address) as page:
        page.goto(f"{address}#scenario=codes")
        page.reload()
        expect(scenarios(page)).to_have_text(["codes"])
        page.get_by_text("3 UNKNOWN_TOPIC_OR_PARTITION").first.wait_for()


@pytest.mark.parametrize("width", [360, 1280])
def test_page_does_not_scroll_sideways(browser: "Browser", tmp_path: Path, width: int) -> None:
    with opened(browser, url(every_outcome(), tmp_path)) as page:
        page.set_viewport_size({"width": width, "height": 800})
        for name in ("codes", "evil", "broken"):
            opened_details(page, name).wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_have_enough_contrast(browser: "Browser", tmp_path: Path, scheme: str) -> None:
    with opened(browser, url(every_outcome(), tmp_path), color_scheme=scheme) as page:
        opened_details(page, "codes").wait_for()
        low = page.evaluate(CONTRASTS)
        assert low == []


CONTRASTS = """() => {
  const channels = text => text.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map(c => c / 255)
    .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const background = node => {
    for (; node; node = node.parentElement) {
      const color = channels(getComputedStyle(node).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color;
    }
  };
  const low = [];
  for (const node of document.querySelectorAll("body *:not(script)")) {
    if (![...node.childNodes].some(child => child.nodeType === 3 && child.data.trim())) continue;
    const values = [luminance(channels(getComputedStyle(node).color)), luminance(background(node))].sort();
    const ratio = (Math.max(...values) + 0.05) / (Math.min(...values) + 0.05);
    if (ratio < 4.5) low.push(`${node.tagName} ${node.className}: ${ratio}`);
  }
  return low;
}"""


def test_large_report_opens_and_stays_small(browser: "Browser", tmp_path: Path) -> None:
    cases = [differing(f"case {number}", version=number % 10) for number in range(30)]
    results = [
        result(scenario(f"s{number}", area=f"area_{number % 22}"), Outcome.DIFFERS, *cases) for number in range(340)
    ]
    made = run(*results, result(scenario("last"), Outcome.AS_KAFKA, case()))
    assert len(dumps(made)) < 12_000_000
    with opened(browser, url(made, tmp_path)) as page:
        expect(scenarios(page)).to_have_count(341)
        assert page.locator("*").count() < 6000, "details are built when they are opened"
        opened_details(page, "s7").get_by_text("0 NONE").first.wait_for()


def test_page_without_scenarios_opens(browser: "Browser", tmp_path: Path) -> None:
    with opened(browser, url(run(software=EVIL), tmp_path)) as page:
        expect(scenarios(page)).to_have_count(0)
