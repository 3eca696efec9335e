"""`make` sets the project up by itself, once, and says what is missing."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What the Makefile needs of a clone."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def make(clone: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(["make", *arguments], cwd=clone, env=environment, capture_output=True, text=True, check=False)


def program(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


@pytest.mark.parametrize(
    ("python", "message"),
    [
        (
            None,
            "seqloom needs Python 3.11 or newer, and there is no 'python' here; install it, or name another:"
            " make PYTHON=python3.12 test",
        ),
        (
            'if [ "$1" = --version ]; then echo Python 3.9.2; else exit 1; fi',
            "seqloom needs Python 3.11 or newer, and 'python' is Python 3.9.2; name another:"
            " make PYTHON=python3.12 test",
        ),
        (
            'case "$2" in *ensurepip*) exit 1;; esac',
            "'python' lacks its venv module; on Debian and Ubuntu: apt install python3-venv",
        ),
    ],
)
def test_what_is_missing_is_said(clone: Path, python: str | None, message: str) -> None:
    file = clone / "tools" / "python"
    if python:
        program(file, python)
    done = make(clone, f"PYTHON={file}", "test")
    assert done.returncode != 0
    assert done.stderr.splitlines()[0].replace(str(file), "python") == message
    assert not (clone / ".venv").exists()


def test_it_installs_once_and_again_when_the_versions_change(clone: Path) -> None:
    program(clone / ".venv" / "bin" / "pip", "")
    program(clone / ".venv" / "bin" / "python", 'case "$*" in *--dry-run*) ;; *) echo "$@" >> calls;; esac')

    def installs() -> int:
        assert make(clone, "install").returncode == 0
        return len((clone / "calls").read_text().splitlines())

    assert installs() == 1
    assert "--constraint constraints.txt --editable .[dev]" in (clone / "calls").read_text()
    assert installs() == 1
    for file, count in [("constraints.txt", 2), ("pyproject.toml", 3)]:
        later = (clone / ".venv" / ".installed").stat().st_mtime + 10
        os.utime(clone / file, (later, later))
        assert installs() == count
        os.utime(clone / file, (0, 0))


def test_everything_is_pinned() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = {line for line in lines if not line.startswith("#")}
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [*project["dependencies"], *(name for names in project["optional-dependencies"].values() for name in names)]
    wanted = {re.split(r"[\[<>=]", name)[0].lower() for name in named} - {"seqloom"}
    assert wanted <= {pin.partition("==")[0].lower().replace("_", "-") for pin in pins}


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="this machine has a GPU, for which GPU packages are right")
@pytest.mark.parametrize(("wanted", "installed"), [("", False), ("GPU=1", True)])
def test_gpu_packages_do_not_come_by_accident(clone: Path, wanted: str, installed: bool) -> None:
    program(clone / ".venv/bin/pip", "")
    # a pip that would bring a GPU package, and notes when it is asked to
    program(
        clone / ".venv/bin/python",
        'case "$*" in *--dry-run*) echo \'{"name": "nvidia-cublas"}\' > .venv/.plan.json;; *) touch installed;; esac',
    )
    done = make(clone, *([wanted] if wanted else []), "install")
    assert (done.returncode == 0) is installed
    assert (clone / "installed").exists() is installed
    if not installed:
        assert "there is no GPU here" in done.stderr
        assert "make GPU=1 install" in done.stderr
