"""Models are put away for others, and loaded anew when their run has changed."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
import torch

import seqloom
from seqloom.jobs.model import Model
from seqloom.serving.shelf import GB, Shelf
from seqloom.settings import UserError
from tests.jobs.asked_runs import Runs
from tests.serving.live import Live, paused, slowly, until


def held(live: Live) -> list[str]:
    return [name for name, book in live.shelf.books.items() if book.desk is not None]


@pytest.fixture(scope="module")
def sizes(runs: Runs) -> dict[str, int]:
    """Bytes of the weights, which are those of the files but for their heads."""
    with Live([runs["pairs"], runs["text"], runs["tags"]]) as server:
        return {name: book.bytes for name, book in server.shelf.books.items()}


@pytest.fixture
def tight(runs: Runs, sizes: dict[str, int]) -> Iterator[Live]:
    """Room for two of three."""
    room = (sizes["pairs"] + sizes["text"] + 100) / GB
    with Live([runs["pairs"], runs["text"], runs["tags"]], f"serving.memory={room:.9f}") as server:
        yield server


def test_the_least_recently_asked_makes_room(tight: Live) -> None:
    assert held(tight) == ["pairs", "text"]
    tight.predict(["ab"], model="text")
    tight.predict(["ab"], model="pairs")
    expected = tight.predict(["the film"], model="tags")
    assert held(tight) == ["pairs", "tags"]
    tight.predict(["ab"], model="text")
    assert held(tight) == ["text", "tags"]
    assert tight.predict(["the film"], model="tags") == expected
    assert "text: put away, to make room" in tight.log
    assert len(tight.client.get("/api/ps").json()["models"]) == 2
    assert len(tight.client.get("/api/tags").json()["models"]) == 3


def test_what_is_being_asked_is_not_put_away(tight: Live) -> None:
    """The third waits until one of the two is free."""
    with (
        slowly(tight, "pairs", 0.02),
        slowly(tight, "text", 0.02),
        tight.client.stream("POST", "/api/generate", json={"model": "text", "prompt": "the"}) as first,
        tight.client.stream("POST", "/api/generate", json={"model": "pairs", "prompt": "abcdefgh" * 5}) as second,
    ):
        assert first.status_code == second.status_code == 200
        assert tight.predict(["the film"], model="tags")
        assert len(held(tight)) == 2


def test_a_run_that_does_not_fit_at_all(runs: Runs) -> None:
    with pytest.raises(UserError, match=r"its weights take .* GB, but serving.memory = 1e-06; raise it"):
        Live([runs["pairs"]], "serving.memory=0.000001")


def test_settings_go_to_those_who_use_them(runs: Runs) -> None:
    with Live([runs["pairs"], runs["tags"]], "generation.beam=2") as server:
        beams = [book.desk.settings.beam for book in server.shelf.books.values() if book.desk is not None]
        assert beams == [2, 4]
    with pytest.raises(UserError, match="a tagger gives each word its likeliest tag; leave it out"):
        Live([runs["tags"]], "generation.beam=2")
    with pytest.raises(UserError, match=r"--set model\.width=3: a run is what it is"):
        Live([runs["tags"]], "model.width=3")


@pytest.fixture
def own(runs: Runs, tmp_path: Path) -> Path:
    run = tmp_path / "own"
    shutil.copytree(runs["pairs"], run)
    return run


def replace_model(run: Path, other: Path) -> None:
    """As training does it: the new file takes the place of the old one."""
    shutil.copy(other / "model.safetensors", run / "new")
    (run / "new").replace(run / "model.safetensors")


def test_a_new_model_is_loaded_while_requests_go_on(own: Path, runs: Runs) -> None:
    with Live([own], "serving.watch=0.05") as server:
        before = server.predict(["abcd", "hgfe"])
        expected = [[one.text] for one in seqloom.load(runs["other"]).predict(["abcd", "hgfe"])]
        assert [[one["text"] for one in each] for each in before] != expected
        book = server.shelf.books["own"]
        with ExitStack() as stay:
            with paused(server, "own", 1):
                asked = server.client.stream("POST", "/api/generate", json={"model": "own", "prompt": "abcd"})
                under_way = stay.enter_context(asked)
                old = book.desk
                replace_model(own, runs["other"])
                until(lambda: book.desk is not old)
                assert server.shelf.users[old] == 1
            assert before[0][0]["text"] in under_way.read().decode()  # it ends with the model that it began with
        until(lambda: old not in server.shelf.users)
        after = server.predict(["abcd", "hgfe"])
        assert [[one["text"] for one in each] for each in after] == expected
        assert "own: loaded anew" in server.log


def test_a_model_that_cannot_be_loaded_leaves_the_old_one(own: Path) -> None:
    with Live([own], "serving.watch=0.05") as server:
        before = server.predict(["abcd"])
        (own / "model.safetensors").write_bytes(b"nonsense")
        until(lambda: any("the old model goes on answering" in line for line in server.log))
        assert server.predict(["abcd"]) == before
        (own / "model.safetensors").unlink()
        assert server.predict(["abcd"]) == before
        assert len([line for line in server.log if "cannot be loaded" in line]) == 1  # it is tried once


def test_whatever_one_model_fails_at_the_next_is_loaded(own: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU may have no room for the old weights and the new ones."""

    def load(path: Path) -> tuple[Model, Sequence[str]]:
        raise torch.OutOfMemoryError("no room")

    with Live([own], "serving.watch=0.05") as server:
        with monkeypatch.context() as patch:
            patch.setattr(server.shelf, "_load", load)
            replace_model(own, runs["other"])
            until(lambda: any("cannot be loaded: OutOfMemoryError: no room" in line for line in server.log), 30)
        replace_model(own, runs["pairs"])
        until(lambda: "own: loaded anew" in server.log, 30)


def test_the_first_load_may_fail_at_anything(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Live([own], "serving.watch=0", "serving.memory=1") as server:

        async def put_away() -> None:
            server.shelf._put_away(*next(server.shelf._desks()))

        def load(path: Path) -> tuple[Model, Sequence[str]]:
            raise torch.OutOfMemoryError("no room")

        server.do(put_away())
        with monkeypatch.context() as patch:
            patch.setattr(server.shelf, "_load", load)
            answer = server.post("/v1/predict", {"inputs": ["ab"]})
        assert answer.status_code == 503
        assert "own: cannot be loaded: OutOfMemoryError: no room" in server.log
        assert server.predict(["ab"])


def test_a_watch_that_ended_keeps_no_desk_open(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    over = list[bool]()

    async def watch(_: Shelf) -> None:
        over.append(True)
        raise RuntimeError("no watch")

    monkeypatch.setattr(Shelf, "watch", watch)
    with Live([own]) as server:
        until(lambda: over)
        assert server.shelf.users
    assert not server.shelf.users


def test_all_are_loaded_anew_when_asked(own: Path) -> None:
    with Live([own], "serving.watch=0") as server:
        old = server.shelf.books["own"].desk
        server.do(server.shelf.reload())
        assert server.shelf.books["own"].desk is not old
        assert server.predict(["abcd"])


def test_a_model_that_is_gone_when_it_is_asked(own: Path, runs: Runs, sizes: dict[str, int]) -> None:
    room = (sizes["pairs"] + 100) / GB
    with Live([runs["pairs"], own], f"serving.memory={room:.9f}") as server:
        assert held(server) == ["pairs"]
        (own / "model.safetensors").unlink()
        answer = server.post("/v1/predict", {"model": "own", "inputs": ["ab"]})
        assert answer.status_code == 503
        assert str(own) not in answer.text
        assert "own: cannot be loaded" in "\n".join(server.log)
        assert server.predict(["ab"], model="pairs")


def test_a_run_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no such run"):
        Live([tmp_path / "none"])


def test_names(runs: Runs) -> None:
    with Live([runs["pairs"]]) as server:
        assert server.shelf.find(None).name == server.shelf.find("pairs:latest").name == "pairs"
