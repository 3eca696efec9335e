"""One browser and one server for all tests of the page."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.jobs.asked_runs import Runs
from tests.serving.live import Live
from tests.studio.browser import Studio, started

NAMES = ("pairs", "deep", "text", "tags", "classes")


# not for the whole session: while Playwright runs, no other test of the same process can run an event loop of its own
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with started() as browser:
        yield browser


@pytest.fixture(scope="package")
def live(runs: Runs) -> Iterator[Live]:
    with Live([runs[name] for name in NAMES], lecture=True) as server:
        yield server


@pytest.fixture
def studio(browser: Browser, live: Live) -> Iterator[Studio]:
    studio = Studio(browser, f"{live.url}/")
    yield studio
    studio.close()
