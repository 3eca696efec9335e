"""The page of the docs tells what is so: its first programs run, and it names every change."""

import re
from pathlib import Path
from typing import get_args

from seqloom.inspect.changes import Change

PAGE = (Path(__file__).parents[2] / "docs" / "inspect.md").read_text(encoding="utf-8")


def test_its_programs_run() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        if "runs/demo-dates" not in block:  # which somebody has to train first; tests/jobs/test_look.py does the same
            exec(block, names)
    assert "found" in names


def test_it_names_every_change_and_what_it_takes() -> None:
    union, *_ = get_args(Change)
    for change in get_args(union):
        fields = [name for name in change.model_fields if name != "kind"]
        assert f"`{change.__name__}({', '.join(fields)})`" in PAGE
