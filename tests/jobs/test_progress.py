"""What is told of long work where there is no terminal."""

import pytest

from seqloom.jobs import progress


@pytest.mark.parametrize("before", [0, 500])
def test_what_is_left_is_told_from_the_first_report_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], before: int
) -> None:
    """Half of what there was to do took 20 seconds, whatever was done before."""
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    with progress.line_bar("file", 1000, before=before) as report:
        now = 20.0
        report(7, before + (1000 - before) // 2)
    assert capsys.readouterr().err.endswith("0:00:20 left\n")
