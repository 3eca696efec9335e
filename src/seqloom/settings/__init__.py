"""TOML recipes as typed, frozen settings; every mistake is said with its place and the fix."""

from seqloom.settings.base import (
    Changes,
    Checked,
    Conflicts,
    FailedError,
    Frozen,
    OneOrMany,
    SettingsError,
    UserError,
    impossible,
)
from seqloom.settings.dump import dump
from seqloom.settings.load import load, loads
from seqloom.settings.schema import schema

__all__ = [
    "Changes",
    "Checked",
    "Conflicts",
    "FailedError",
    "Frozen",
    "OneOrMany",
    "SettingsError",
    "UserError",
    "dump",
    "impossible",
    "load",
    "loads",
    "schema",
]
