"""When the process began."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from seqloom.jobs.clock import process_began


def test_it_is_in_the_past_and_stands_still() -> None:
    assert process_began() < time.monotonic()
    assert process_began() == pytest.approx(process_began(), abs=0.05)


def test_a_young_process() -> None:
    code = (
        "import time; from seqloom.jobs.clock import process_began\n"
        "time.sleep(0.5); print(time.monotonic() - process_began())"
    )
    age = float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert 0.5 < age < 30


def test_where_the_system_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_file(*given: object, **more: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", no_file)
    assert process_began() == pytest.approx(time.monotonic(), abs=1)
