"""TOML recipes as typed, frozen settings; every mistake is said with its place and the fix."""

from seqloom.settings.base import (
    Changes,
    FailedError,
    Frozen,
    OneOrMany,
    SettingsError,
    UserError,
    all_impossible,
    impossible,
)
from seqloom.settings.dump import dump
from seqloom.settings.load import load, loads
from seqloom.settings.schema import schema

__all__ = [
    "Changes",
    "FailedError",
    "Frozen",
    "OneOrMany",
    "SettingsError",
    "UserError",
    "all_impossible",
    "dump",
    "impossible",
    "load",
    "loads",
    "schema",
]
