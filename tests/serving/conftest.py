"""A server of small runs of every task."""

from collections.abc import Iterator

import pytest

from tests.jobs.asked_runs import Runs
from tests.serving.live import Live

NAMES = ("pairs", "sentences", "joined", "text", "documents", "tags", "chain", "classes", "masked")


@pytest.fixture(scope="session")
def live(runs: Runs) -> Iterator[Live]:
    with Live([runs[name] for name in NAMES]) as server:
        yield server
