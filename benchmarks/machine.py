"""Where and with what a figure was measured."""

import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

import torch

from seqloom import __version__


def describe() -> str:
    cpu = next(
        (line.split(":")[1].strip() for line in _cpuinfo() if line.startswith("model name")), platform.processor()
    )
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else f"{cpu}, {torch.get_num_threads()} threads"
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers"))
    return f"{device}; Python {platform.python_version()}, {packages}, seqloom {__version__}; commit {_commit()}"


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.is_file() else []


def _commit() -> str:
    asked = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return asked.stdout.strip() or "unknown"
