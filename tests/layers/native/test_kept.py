"""Where libraries of our kernels are kept."""

import os
from pathlib import Path

import pytest

from seqloom.layers.native import kept
from seqloom.layers.native.compiler import CompilerError

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owners here")


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()


def test_a_drive_that_gives_what_is_made_to_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = kept._own
    monkeypatch.setattr(kept, "_own", lambda path: real(path) and "cache" not in path.parts)
    assert kept.folder_to_write().parent == tmp_path / "temporary"
    assert not list((tmp_path / "cache").iterdir()), "nothing is left behind"


def test_what_is_there_already_and_is_of_others_is_a_fault(tmp_path: Path) -> None:
    """Somebody may have put it there."""
    folder = kept.folder_to_write()
    folder.chmod(0o777)
    with pytest.raises(CompilerError, match="others may write to it; delete it"):
        kept.folder_to_write()


def test_a_user_without_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(kept, "cache_folder", homeless)
    assert kept.folder_to_write().parent == tmp_path / "temporary"
    assert kept.kept("norm", 3) is None
