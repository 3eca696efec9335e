"""A real browser before a real server. Every page is watched: no error, no warning, no request to another host."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Request, expect, sync_playwright

NAMED = "SEQLOOM_BROWSER"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# nothing but the page is to speak to anybody
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
LAPTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
STRAYS = r"""() => {
    const all = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
    while (all.nextNode()) {
        const { data, parentElement } = all.currentNode;
        const stray = /^(null|undefined|false|NaN)$|\[object |\bNaN\b/.test(data.trim());
        if (stray && !parentElement.closest("script, textarea, option")) found.push(data.trim());
    }
    return found;
}"""
PATIENCE = 120_000  # milliseconds, on a busy machine
expect.set_options(timeout=PATIENCE)


def find() -> str | None:
    named = os.environ.get(NAMED)
    return shutil.which(named) if named else next((found for name in NAMES if (found := shutil.which(name))), None)


@contextmanager
def started() -> Iterator[Browser]:
    path = find()
    if path is None:
        what = f"{NAMED} names {os.environ[NAMED]!r}" if NAMED in os.environ else f"looked for {', '.join(NAMES)}"
        pytest.skip(f"NO BROWSER, SO THE STUDIO IS NOT TESTED: {what}; apt-get install chromium, or set {NAMED}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


class Studio:
    """url: of the server, or of a file that `seqloom look` wrote."""

    def __init__(self, browser: Browser, url: str) -> None:
        self.browser, self.url = browser, url
        self.faults: list[str] = []
        self.pages: list[Page] = []
        self.refused = False
        """whether the server is to refuse something: browsers note that themselves"""

    def open(
        self,
        view: str,
        *,
        phone: bool = False,
        dark: bool = False,
        before: Callable[[Page], object] | None = None,
        **fields: Any,
    ) -> Page:
        """A view, drawn: open("flow", model="pairs", input="a b", box="encoder.blocks.0.mixer"). view:
        also all that stands behind #/. before: called with the page while it is still empty."""
        context = self.browser.new_context(
            viewport=PHONE if phone else LAPTOP,
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        self.pages.append(page)
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.faults.append(f"error in the page: {error}"))
        page.on("request", self._asked)
        if before is not None:
            before(page)
        page.goto(f"{self.url}#/{view}" + (f"?{urlencode(fields)}" if fields else ""))
        return drawn(page)

    def _said(self, message: ConsoleMessage) -> None:
        told = message.text.startswith("Failed to load resource") and "/studio/api/" in message.location.get("url", "")
        if message.type in ("error", "warning") and not (self.refused and told):
            self.faults.append(f"console: {message.text} ({message.location})")

    def _asked(self, request: Request) -> None:
        here, there = urlsplit(self.url), urlsplit(request.url)
        if there.scheme not in ("data", "blob") and (there.scheme, there.netloc) != (here.scheme, here.netloc):
            self.faults.append(f"a request to another host: {request.url}")

    def close(self) -> None:
        for page in self.pages:
            self.faults += [f"the page says {word!r}" for word in strays(page)]
            page.context.close()
        faults, self.faults = self.faults, []
        assert not faults, "\n".join(faults)


def strays(page: Page) -> list[str]:
    """What a page says that was meant for nobody: a value that is none, written out."""
    if page.is_closed() or not page.url.startswith(("http", "file")):
        return []
    words: list[str] = page.evaluate(STRAYS)
    return words


def drawn(page: Page) -> Page:
    """The same page, when its view is drawn."""
    expect(page.locator("main")).to_have_attribute("aria-busy", "false", timeout=PATIENCE)
    return page


def accessible(page: Page) -> None:
    """axe-core finds nothing serious."""
    found = Axe().run(page).response["violations"]
    serious = [
        f"{one['impact']}: {one['id']}: {one['help']}\n    "
        + "\n    ".join(node["html"][:200] for node in one["nodes"])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert not serious, "\n".join(serious)


def fits(page: Page) -> None:
    """The page itself need not be scrolled sideways."""
    wide, room = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= room, f"the page is {wide} wide, and there is room for {room}"


def matrix(figure: Locator) -> list[list[float]]:
    """All numbers of a heat map, as its table shows them: float32, to the last bit."""
    button = figure.get_by_role("button", name="as a table")
    if button.get_attribute("aria-expanded") == "false":
        button.click()
    rows = figure.locator("tbody tr")
    return [[number(cell) for cell in row.locator("td").all_inner_texts()] for row in rows.all()]


def number(text: str) -> float:
    """As the page writes it."""
    return float(text.replace("−", "-").replace("∞", "inf").replace("–", "nan").removesuffix(" %"))


def downloaded(page: Page, button: Locator, folder: Path) -> Path:
    with page.expect_download() as waiting:
        button.click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path
