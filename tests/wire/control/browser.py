"""Chromium for the tests of the web page, and the page of a cluster in it."""

import contextlib
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, LocatorAssertions, Page

COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
TIMEOUT_MS = 20_000.0


@contextlib.contextmanager
def launched() -> Iterator["Browser"]:
    """Run Chromium without a window. Skips the test if there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="the web page is tested with: pip install -e '.[test-all]'")
    executable = next(filter(None, map(shutil.which, COMMANDS)), None)
    with api.sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        except api.Error as error:
            if executable is not None:
                raise
            pytest.skip(f"no Chromium; install it, or run: playwright install chromium ({str(error).splitlines()[0]})")
        yield browser
        browser.close()


@contextlib.contextmanager
def opened(browser: "Browser", url: str, **options: Any) -> Iterator["Page"]:
    """Open a page, which must neither write an error to the console nor send a request to another host."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
    context.set_default_timeout(TIMEOUT_MS)
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(f"{error}\n{error.stack}"))
    page.on("console", lambda message: problems.append(message.text) if _is_problem(message) else None)
    page.on("request", lambda request: None if request.url.startswith(url) else problems.append(request.url))
    page.on("dialog", lambda dialog: (problems.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.goto(url)
    try:
        yield page
        assert problems == []
    finally:
        context.close()


def expect(locator: "Locator") -> "LocatorAssertions":
    """Return assertions that wait until they hold. Some effects of a click come later, such as a new address."""
    from playwright.sync_api import expect as assertions

    assertions.set_options(timeout=TIMEOUT_MS)
    return assertions(locator)


def _is_problem(message: Any) -> bool:
    """Return whether a message of the console is an error, other than a failed request, which the page itself shows."""
    return message.type in ("error", "warning") and not message.text.startswith("Failed to load resource")
