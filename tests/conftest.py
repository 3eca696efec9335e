"""What holds for every test."""

import os
import signal

import hypothesis
import pytest
import torch

from seqloom.layers.native.library import wait_for_all
from tests.jobs.asked_runs import Runs

# Time limits would fail on a busy machine, not on a wrong result. The same examples every time, unless one goes
# exploring: HYPOTHESIS_PROFILE=explore make test
_PHASES = [phase for phase in hypothesis.Phase if phase is not hypothesis.Phase.explain]
hypothesis.settings.register_profile("seqloom", deadline=None, derandomize=True, max_examples=6, phases=_PHASES)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=300, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "seqloom"))

# kernels in C are compared from their first call on, and never change places with the plain lines in the middle
os.environ.setdefault("SEQLOOM_NATIVE", "1")

# a shell that runs tests in the background has Ctrl-C ignored, and programs that they start would ignore it, too
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# tests run side by side, one thread each
torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def _kernels() -> None:
    """They are made before any test, on a machine that has none yet: a run against the clock would wait for them."""
    wait_for_all()


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Small trained runs of every task, each made when it is first asked for."""
    return Runs(tmp_path_factory.mktemp("runs"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a GPU where there is none."""
    if torch.cuda.is_available():
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="needs a GPU"))
