"""serving.memory holds for runs that had no model at first, for new models and for old ones that are still in use."""

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from seqloom.jobs.model import load
from seqloom.serving.shelf import GB
from seqloom.serving.weight import weight, weight_in
from seqloom.settings import UserError
from seqloom.store import RunFolder
from tests.jobs.asked_runs import Runs
from tests.serving.live import Live, paused, until

Copy = Callable[[str], Path]


@pytest.fixture(scope="module")
def sizes(runs: Runs) -> dict[str, int]:
    return {name: weight(load(runs[name], "cpu")) for name in ("pairs", "text", "tags", "documents")}


@pytest.fixture
def own(runs: Runs, tmp_path: Path) -> Copy:
    """Makes a run of this name that of another."""

    def copy(name: str) -> Path:
        shutil.rmtree(tmp_path / "own", ignore_errors=True)
        shutil.copytree(runs[name], tmp_path / "own")
        return tmp_path / "own"

    return copy


@pytest.fixture
def young(tmp_path: Path) -> Iterator[RunFolder]:
    """It trains, and has no model yet."""
    run = RunFolder(tmp_path / "young")
    run.create()
    with run.locked():
        yield run


def first_model(run: RunFolder, of: Path) -> None:
    shutil.copytree(of / "vocabulary", run.vocabulary)
    for name in ("recipe.toml", "model.safetensors"):
        shutil.copy(of / name, run.path / name)


def memory(size: int) -> str:
    return f"serving.memory={(size + 100) / GB:.9f}"


def held(live: Live) -> list[str]:
    return [name for name, book in live.shelf.books.items() if book.desk is not None]


def stream(live: Live, model: str) -> Any:
    return live.client.stream("POST", "/api/generate", json={"model": model, "prompt": "abcd"})


def test_the_weights_in_a_file(runs: Runs, sizes: dict[str, int], tmp_path: Path) -> None:
    """A model that shares its output with the token vectors holds these once more on a CPU; others are their files."""
    assert weight_in(runs["text"]) == sizes["text"]
    assert weight_in(runs["pairs"]) < sizes["pairs"]
    assert weight_in(tmp_path) == 0
    RunFolder(tmp_path).model.write_bytes(b"nonsense")
    assert weight_in(tmp_path) == 0


def test_what_is_shared_counts_once(runs: Runs) -> None:
    model = load(runs["pairs"], "cpu")
    before = weight(model)
    model.networks.append(model.networks[0])
    assert weight(model) == before


def test_the_first_model_of_a_run_makes_room(runs: Runs, sizes: dict[str, int], young: RunFolder) -> None:
    most = sizes["tags"] + sizes["text"]
    with Live([runs["tags"], runs["text"], young.path], memory(most), "serving.watch=0") as server:
        server.predict(["ab"], model="text")
        first_model(young, runs["documents"])
        assert server.predict(["the film"], model="young")
        assert held(server) == ["text", "young"]
        assert server.shelf.held == sizes["text"] + sizes["documents"]


def test_a_model_larger_than_its_file_makes_room(runs: Runs, sizes: dict[str, int], young: RunFolder) -> None:
    most = sizes["text"] + weight_in(runs["pairs"])
    with Live([runs["text"], young.path], memory(most), "serving.watch=0") as server:
        first_model(young, runs["pairs"])
        assert server.predict(["ab"], model="young")
        assert held(server) == ["young"]


def test_a_run_that_became_too_large(runs: Runs, sizes: dict[str, int], own: Copy) -> None:
    """It is refused at once, and keeps nobody else waiting."""
    with Live([runs["tags"], own("documents")], memory(sizes["tags"]), "serving.watch=0") as server:
        expected = server.predict(["the film"], model="tags")
        own("pairs")
        answer = server.post("/v1/predict", {"model": "own", "inputs": ["ab"]})
        assert answer.status_code == 503
        assert any("own: cannot be loaded" in line and "but serving.memory = 1.31e-05" in line for line in server.log)
        assert held(server) == ["tags"]
        assert server.predict(["the film"], model="tags") == expected


def test_what_is_too_large_is_refused_before_it_is_loaded(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqloom.serving.shelf.load", None)
    with pytest.raises(UserError, match=r"its weights take .* GB, but serving.memory = 1e-06; raise it"):
        Live([runs["pairs"]], "serving.memory=0.000001")


def test_a_new_model_that_is_too_large(sizes: dict[str, int], own: Copy) -> None:
    with Live([own("documents")], memory(sizes["documents"]), "serving.watch=0") as server:
        server.predict(["the film"])
        own("pairs")
        server.do(server.shelf.reload())
        assert any("the old model goes on answering" in line and "serving.memory" in line for line in server.log)
        assert server.predict(["the film"])
        own("documents")
        server.do(server.shelf.reload())
        assert "own: loaded anew" in server.log


def test_a_larger_new_model_makes_room(runs: Runs, sizes: dict[str, int], own: Copy) -> None:
    most = sizes["documents"] + sizes["tags"]
    with Live([own("documents"), runs["tags"]], memory(most), "serving.watch=0") as server:
        assert held(server) == ["own", "tags"]
        own("pairs")
        server.do(server.shelf.reload())
        assert server.log[-2:] == ["tags: put away, to make room", "own: loaded anew"]
        assert held(server) == ["own"]
        assert server.shelf.held == sizes["pairs"]


def test_a_larger_new_model_waits_for_room(runs: Runs, sizes: dict[str, int], own: Copy) -> None:
    """The old one goes on answering; that is told once, and others are not kept from being loaded."""
    most = sizes["documents"] + sizes["text"]
    with Live([own("documents"), runs["text"]], memory(most), "serving.watch=0") as server:
        with ExitStack() as stay:
            with paused(server, "text", 1):
                under_way = stay.enter_context(stream(server, "text"))
                own("pairs")
                for _ in range(3):
                    server.do(server.shelf.reload(all_of_them=False))
                assert sum("the old model answers until there is room" in line for line in server.log) == 1
                assert server.predict(["the film"], model="own")
                assert held(server) == ["own", "text"]
            under_way.read()
        until(lambda: not any(server.shelf.users.values()))
        server.do(server.shelf.reload(all_of_them=False))
        assert "own: loaded anew" in server.log
        assert held(server) == ["own"]


def test_an_old_model_in_use_is_held(runs: Runs, sizes: dict[str, int], own: Copy) -> None:
    """Whoever needs its room waits for it."""
    most = sizes["pairs"] + sizes["tags"]
    with Live([own("pairs"), runs["tags"], runs["text"]], memory(most), "serving.watch=0") as server:
        answered = threading.Event()

        def ask() -> None:
            server.predict(["the film"], model="text")
            answered.set()

        with ExitStack() as stay:
            with paused(server, "own", 1):
                under_way = stay.enter_context(stream(server, "own"))
                own("other")
                server.do(server.shelf.reload(all_of_them=False))
                assert server.shelf.held == 2 * sizes["pairs"] + sizes["tags"]
                thread = threading.Thread(target=ask)
                thread.start()
                until(lambda: "own: put away, to make room" in server.log)
                time.sleep(0.2)
                assert not answered.is_set()
            under_way.read()
        thread.join(30)
        assert answered.is_set()
        assert server.shelf.held <= most
