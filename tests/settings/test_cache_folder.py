"""Where the cache is."""

import sys
from pathlib import Path

import pytest

from seqloom.settings.cache_folder import cache_folder


def test_the_platforms_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEQLOOM_CACHE", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == Path("/home/me/.cache/seqloom")
    monkeypatch.setenv("XDG_CACHE_HOME", "/fast")
    assert cache_folder() == Path("/fast/seqloom")
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert cache_folder() == Path("/home/me/.cache/seqloom")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_folder() == Path("/home/me/Library/Caches/seqloom")
    monkeypatch.setenv("SEQLOOM_CACHE", "~/mine")
    assert cache_folder() == Path("/home/me/mine")
