"""Hugging Face datasets, against a stand-in for the package."""

import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from seqloom.data.reading import fingerprint, size
from tests.data.reading.examples import corpus, fault, rows

DATA = {
    "opus": {"id": [1, 2], "translation": [{"en": "a", "de": "x"}, {"en": "b", "de": "y"}]},
    "films": {"text": ["good", "bad", "secret"], "label": [1, 0, -1]},
}


class Label:
    def int2str(self, number: int) -> str:
        return ["negative", "positive"][number]


class Streamed:
    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.columns = columns
        self.features = {"label": Label()}

    def iter(self, batch_size: int) -> Iterator[dict[str, list[Any]]]:
        yield self.columns


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    calls: list[tuple[Any, ...]] = []

    def load_dataset(path: str, config: str | None, split: str, streaming: bool) -> Streamed:
        calls.append((path, config, split))
        assert streaming
        if path not in ("someone/opus", "someone/films"):
            raise FileNotFoundError(f"Dataset '{path}' doesn't exist on the Hub.\nmore")
        return Streamed(DATA[path.partition("/")[2]])

    def load_dataset_builder(path: str, config: str | None) -> Any:
        return SimpleNamespace(config_id=config, hash="abc", info=SimpleNamespace(version=None))

    module = ModuleType("datasets")
    module.load_dataset = load_dataset  # type: ignore[attr-defined]
    module.load_dataset_builder = load_dataset_builder  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", module)
    return calls


def test_translations(package: list[tuple[Any, ...]]) -> None:
    assert rows("hub:someone/opus") == [(1, "a", "x"), (2, "b", "y")]
    assert rows("hub:someone/opus/de-en:test", source="de", target="en") == [(1, "x", "a"), (2, "y", "b")]
    assert package == [("someone/opus", None, "train"), ("someone/opus", "de-en", "test")]


def test_classes_have_names(package: object) -> None:
    assert rows("hub:someone/films", shape="classes", bad="skip") == [(1, "good", "positive"), (2, "bad", "negative")]
    assert fault("hub:someone/films", shape="classes").startswith("hub:someone/films:3: no label; use another split")


def test_fingerprint_and_size(package: object) -> None:
    one, two = corpus("hub:someone/opus"), corpus("hub:someone/opus:test")
    assert fingerprint(one) == fingerprint(one) != fingerprint(two)
    assert size(one) == 0


def test_faults(package: object) -> None:
    said = "hub:someone/else: cannot be read (Dataset 'someone/else' doesn't exist on the Hub); look up its name"
    assert fault("hub:someone/else").startswith(said)
    assert "no column 'fr'" in fault("hub:someone/opus", source="fr", target="de")
    assert "a dataset is written hub:owner/name" in fault("hub:a/b/c/d")


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    said = "hub:someone/opus: Hugging Face datasets need one more package: pip install 'seqloom[hub]'"
    assert fault("hub:someone/opus") == said
