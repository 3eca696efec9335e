from pathlib import Path

import pytest

from seqloom.jobs.demos.extras import need


def test_a_package_that_is_there() -> None:
    assert need("json.decoder", "demos", "digits").JSONDecoder


def test_a_package_that_lacks_another_is_not_called_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "halfthere.py").write_text("import nowhere_at_all\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="nowhere_at_all"):
        need("halfthere", "demos", "digits")
