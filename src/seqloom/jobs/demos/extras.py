"""Packages that only some demos need."""

from importlib import import_module
from typing import Any, Literal

from seqloom.settings import UserError


def need(module: str, extra: Literal["demos", "phonemes"], demo: str) -> Any:
    """Import a package that comes with an extra, or say how to get it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != package:
            raise  # the package is there, but broken: another matter
        raise UserError(
            f"the demo {demo!r} needs the package {package}, which is not installed: pip install 'seqloom[{extra}]'"
        ) from None
