"""What a run was made with, as comments at the head of its recipe."""

import platform
from collections.abc import Mapping
from typing import Any

import torch

from seqloom import __version__


def versions() -> str:
    return f"seqloom {__version__}, torch {torch.__version__}, Python {platform.python_version()}"


def header(fingerprints: Mapping[str, str], start: Mapping[str, Any] | None = None) -> str:
    """Comment lines: versions, a fingerprint of each file, and what it began from."""
    lines = [f"# {versions()}", *(f"# {name}: {value[:16]}" for name, value in fingerprints.items())]
    lines += [] if start is None else [f"# began from {start['run']}: {start['weights'][:16]}"]
    return "\n".join(lines) + "\n"
