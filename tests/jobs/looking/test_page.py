"""One file that needs no other: every module, style and picture is inside, and no text can end a script."""

import base64
import json
import re
from pathlib import Path

import pytest

from seqloom.jobs.looking import page as module
from seqloom.jobs.looking.studio_folder import files, folder
from seqloom.settings import FailedError

DOCUMENTS = [{"path": "models", "request": {}, "answer": {"models": ["</script><script>alert(1)//<!--"]}}]


@pytest.fixture(scope="module")
def page() -> str:
    return module.look_page(DOCUMENTS, "a <b> title", "#/flow?input=</script>")


def inside(page: str, kind: str) -> str:
    (found,) = re.findall(rf'<script type="{kind}"[^>]*>(.*?)</script>', page, re.DOTALL)
    return str(found)


def test_nothing_is_fetched(page: str) -> None:
    assert not re.search(r"""\b(src|href)="(?!data:|#)""", page)
    assert "default-src 'none'" in page
    assert "connect-src" not in page  # so that the default holds
    assert not re.search(r"https?://(?!www\.w3\.org)", page)


def test_every_module_is_there_and_finds_the_others(page: str) -> None:
    modules = json.loads(inside(page, "importmap"))["imports"]
    assert set(modules) == {f"studio/{name}" for name in files(folder()) if name.endswith(".js")}
    for name, address in modules.items():
        assert address.startswith("data:text/javascript;base64,")
        text = base64.b64decode(address.partition(",")[2]).decode()
        for found in re.findall(r"""^(?:import|export)\b[^"']*?\bfrom\s*["']([^"']+)["']""", text, re.MULTILINE):
            assert found in modules, f"{name} imports {found}"


def test_documents_are_what_they_were(page: str) -> None:
    assert json.loads(inside(page, "application/json")) == DOCUMENTS
    assert "alert(1)//<!--" not in page
    assert "<title>a &lt;b&gt; title</title>" in page
    assert page.count("<script") == page.count("</script>") == 4


def test_styles_are_there(page: str) -> None:
    styles = [body.decode() for name, body in files(folder()).items() if name.endswith(".css")]
    assert all(style[:200] in page for style in styles)


def test_a_studio_that_is_not_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "folder", lambda: tmp_path)
    with pytest.raises(FailedError, match="the studio's files are not there"):
        module.look_page([], "x")
    (tmp_path / "index.html").write_text('<link rel="stylesheet" href="studio/a.css">')
    with pytest.raises(FailedError, match=r"index.html names a.css, which is not there"):
        module.look_page([], "x")
