"""The rooms' import rules hold, and the checker sees every way of breaking them."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests import arrows


def test_the_rules_hold() -> None:
    assert arrows.violations() == []


def plant(folder: Path, file: str, text: str) -> Path:
    """A package with one file in it, and the __init__.py that may import anything."""
    package = folder / "seqloom"
    (package / file).parent.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text("from seqloom.cli import main\n")
    (package / file).write_text(text)
    return package


@pytest.mark.parametrize(
    ("file", "text", "line", "what"),
    [
        ("layers/a.py", "import seqloom.models", 1, "layers (rank 1) imports models (rank 2)"),
        ("layers/a.py", "import os, seqloom.models.block as b", 1, "layers (rank 1) imports models (rank 2)"),
        ("layers/a.py", "\nfrom seqloom.models.block import Block", 2, "layers (rank 1) imports models (rank 2)"),
        ("layers/a.py", "from seqloom import settings, models", 1, "layers (rank 1) imports models (rank 2)"),
        ("layers/a.py", "from ..models import block", 1, "layers (rank 1) imports models (rank 2)"),
        ("layers/a.py", "from .. import models", 1, "layers (rank 1) imports models (rank 2)"),
        ("layers/positions/a.py", "from ...models import b", 1, "layers (rank 1) imports models (rank 2)"),
        ("layers/__init__.py", "from ..models import b", 1, "layers (rank 1) imports models (rank 2)"),
        ("layers/a.py", "def f():\n    import seqloom.cli", 2, "layers (rank 1) imports cli (rank 7)"),
        (
            "layers/a.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from seqloom.data import x",
            3,
            "layers (rank 1) imports data (rank 2)",
        ),
        ("layers/a.py", "from seqloom.text import x", 1, "layers (rank 1) imports text (rank 1)"),
        ("layers/a.py", "from seqloom.misc import x", 1, "layers imports seqloom.misc, which is in no room"),
        (
            "layers/a.py",
            "from seqloom import train",
            1,
            "layers imports seqloom.train, which is in no room",
        ),
        ("layers/a.py", "import seqloom", 1, "layers imports seqloom, which is in no room"),
        ("misc/a.py", "", 1, f"misc/a.py is in no room; the rooms are {', '.join(arrows.RANK)}"),
        ("misc.py", "", 1, f"misc.py is in no room; the rooms are {', '.join(arrows.RANK)}"),
        ("layers.py", "", 1, f"layers.py is in no room; the rooms are {', '.join(arrows.RANK)}"),
    ],
)
def test_a_violation_is_reported(tmp_path: Path, file: str, text: str, line: int, what: str) -> None:
    package = plant(tmp_path, file, text)
    assert arrows.violations(package) == [f"{package / file}:{line}: {what}"]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (
            "layers/a.py",
            "from seqloom.settings import Frozen\nfrom ..settings import Frozen\nfrom seqloom import settings",
        ),
        ("layers/a.py", "from seqloom.layers.b import x\nfrom . import b\nfrom .b import x\nimport seqloom.layers.b"),
        ("layers/positions/a.py", "from .. import masks\nfrom ..masks import x\nfrom . import rotary"),
        ("layers/a.py", "import torch\nimport seqloomy\nfrom models import x\nfrom cli.models import x"),
        ("cli/a.py", "from seqloom.serving import app\nfrom seqloom.settings import load"),
    ],
)
def test_what_is_allowed(tmp_path: Path, file: str, text: str) -> None:
    assert arrows.violations(plant(tmp_path, file, text)) == []


def test_it_runs_as_a_program(tmp_path: Path) -> None:
    bad = plant(tmp_path, "layers/a.py", "import seqloom.models")
    for package, expected in [
        ([], (0, "")),
        ([bad], (1, f"{bad}/layers/a.py:1: layers (rank 1) imports models (rank 2)\n")),
    ]:
        done = subprocess.run([sys.executable, arrows.__file__, *package], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == expected
