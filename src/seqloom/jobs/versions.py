"""What a run was made with, as comments at the head of its recipe."""

import platform
from collections.abc import Mapping

import torch

from seqloom import __version__


def versions() -> str:
    return f"seqloom {__version__}, torch {torch.__version__}, Python {platform.python_version()}"


def header(fingerprints: Mapping[str, str]) -> str:
    """Comment lines: versions, and a fingerprint of each file."""
    lines = [f"# {versions()}", *(f"# {name}: {value[:16]}" for name, value in fingerprints.items())]
    return "\n".join(lines) + "\n"
