"""What a compiled library depends on."""

import sys
from pathlib import Path

import pytest

from seqloom.layers.native import compiler
from seqloom.layers.native.compiler import Compiler

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs programs of its own")


def test_another_compiler_behind_a_wrapper_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ccache", "gcc"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    wrapped = Compiler((str(tmp_path / "ccache"), "gcc", "-pipe"))
    before = wrapped.facts
    assert wrapped.facts == before
    (tmp_path / "gcc").write_text("#!/bin/sh\n# a newer one\n")
    assert wrapped.facts != before


def test_processors_of_one_family_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    found = []
    for name in ("Apple M1", "Apple M4"):
        monkeypatch.setattr(compiler, "_on_a_mac", lambda name=name: name)
        compiler.processor.cache_clear()
        found.append(compiler.processor())
    compiler.processor.cache_clear()
    assert found[0] != found[1]


def test_a_mac_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*given: object, **named: object) -> object:
        raise FileNotFoundError("sysctl")

    monkeypatch.setattr(compiler.subprocess, "run", missing)
    assert compiler._on_a_mac() == ""
