"""The page's files, and no others, whatever a path says."""

from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from seqloom.jobs.looking.studio_folder import files
from seqloom.serving.gate import Keeper
from seqloom.serving.studio_page import StudioPage, router


@pytest.fixture
def page(tmp_path: Path) -> StudioPage:
    folder = tmp_path / "studio"
    (folder / "views").mkdir(parents=True)
    for name, text in {
        "index.html": "<!doctype html>",
        "main.js": "export {}",
        "views/beam.js": "//",
        "look.css": "a{}",
        "README.md": "notes",
        ".secret.js": "no",
        "__pycache__.js": "no",
    }.items():
        (folder / name).write_text(text)
    (tmp_path / "outside.js").write_text("secret")
    (folder / "link.js").symlink_to(tmp_path / "outside.js")
    return StudioPage(files(folder))


@pytest.fixture
def client(page: StudioPage) -> TestClient:
    app = FastAPI(redirect_slashes=False, docs_url=None)
    app.include_router(router(page))
    return TestClient(Keeper(app, "token", page.paths))


def get(client: TestClient, path: str) -> httpx.Response:
    return client.get(path, follow_redirects=False)


@pytest.mark.parametrize(
    ("path", "kind", "text"),
    [
        ("/", "text/html", "<!doctype html>"),
        ("/studio/main.js", "text/javascript", "export {}"),
        ("/studio/views/beam.js", "text/javascript", "//"),
        ("/studio/look.css", "text/css", "a{}"),
    ],
)
def test_each_is_what_it_is(client: TestClient, path: str, kind: str, text: str) -> None:
    answer = get(client, path)
    assert (answer.status_code, answer.text) == (200, text)
    assert answer.headers["content-type"].startswith(kind)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "http" not in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    "path",
    [
        "/studio/README.md", "/studio/.secret.js", "/studio/link.js", "/studio/__pycache__.js",
        "/studio/../outside.js", "/studio/%2e%2e/outside.js", "/studio/..%2foutside.js", "/studio//main.js",
        "/studio/views/../main.js", "/studio/views/..%5c..%5coutside.js", "/studio/%00", "/studio/views",
        "/studio/views/", "/main.js", "/studio//etc/passwd",
    ],
)  # fmt: skip
def test_nothing_else_is_there(client: TestClient, path: str) -> None:
    answer = client.get(path, headers={"authorization": "Bearer token"})
    assert answer.status_code == 404 or answer.text == "export {}"  # the client itself takes /a/../ out of a path
    assert get(client, path).status_code in (401, 200)


def test_what_the_browser_has_is_not_sent_again(client: TestClient) -> None:
    mark = get(client, "/studio/main.js").headers["etag"]
    again = client.get("/studio/main.js", headers={"if-none-match": mark})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("path", ["/studio", "/studio/", "/studio/index.html"])
def test_other_names_lead_to_the_page(client: TestClient, path: str) -> None:
    assert client.get(path).text == "<!doctype html>"


def test_files_are_read_once(page: StudioPage, client: TestClient, tmp_path: Path) -> None:
    (tmp_path / "studio/main.js").write_text("changed")
    (tmp_path / "studio/new.js").write_text("new")
    assert get(client, "/studio/main.js").text == "export {}"
    assert get(client, "/studio/new.js").status_code == 401


def test_without_a_studio_there_is_the_plain_page(tmp_path: Path) -> None:
    page = StudioPage(files(tmp_path / "none"))
    assert "/" not in page.paths  # it tells the models' names, so it needs the token
