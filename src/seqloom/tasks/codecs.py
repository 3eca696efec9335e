"""What turns the two sides of an example into numbers: vocabularies and labels."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from seqloom.data.graph.graph import Graph, has_graph
from seqloom.data.reading import Block, Shape
from seqloom.text import Labels, TextSettings, Vocabulary

Read = Callable[[], Iterator[Block]]
"""The training examples from their beginning; may be asked for several times."""


@dataclass(frozen=True)
class Codecs:
    """The same object on both sides: one vocabulary is shared."""

    source: Vocabulary
    target: Vocabulary | Labels
    graph: Graph | None = None
    """What a task of nodes is about."""

    @property
    def fingerprint(self) -> str:
        if self.graph is not None:
            return f"{self.graph.fingerprint}-{self.target.fingerprint}"
        return f"{self.source.fingerprint}-{self.target.fingerprint}"

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        if self.graph is not None:
            self.graph.save(folder)
        self.source.save(folder / ("shared.json" if self.target is self.source else "source.json"))
        if self.target is not self.source:
            self.target.save(folder / ("labels.json" if isinstance(self.target, Labels) else "target.json"))

    @classmethod
    def load(cls, folder: Path) -> "Codecs":
        if (folder / "shared.json").exists():
            shared = Vocabulary.load(folder / "shared.json")
            return cls(shared, shared)
        source = Vocabulary.load(folder / "source.json")
        if (folder / "labels.json").exists():
            graph = Graph.load(folder) if has_graph(folder) else None
            return cls(source, Labels.load(folder / "labels.json"), graph)
        return cls(source, Vocabulary.load(folder / "target.json"))


def learn(settings: TextSettings, shape: Shape, read: Read, more: str = "") -> Codecs:
    """Vocabularies and labels of the training examples. more: a text whose pieces the source is to know too."""

    def column(*numbers: int) -> Iterator[str]:
        texts = (text for block in read() for number in numbers for text in _texts(block, shape, number))
        return chain(texts, [more]) if more and 0 in numbers else texts

    match shape:
        case "pairs" if settings.shared:
            shared = Vocabulary.train(settings.source, column(0, 1))
            return Codecs(shared, shared)
        case "pairs":
            target = settings.source if settings.target is None else settings.target
            return Codecs(Vocabulary.train(settings.source, column(0)), Vocabulary.train(target, column(1)))
        case "text":
            only = Vocabulary.train(settings.source, column(0))
            return Codecs(only, only)
        case "tags" | "classes":
            return Codecs(Vocabulary.train(settings.source, column(0)), Labels.train(column(1)))


def _texts(block: Block, shape: Shape, number: int) -> Iterator[str]:
    match shape, number:
        case "tags", 0:
            return (" ".join(words) for words in block.columns[0])
        case "tags", _:
            return (tag for tags in block.columns[1] for tag in tags)
        case "text", _:
            return (line + "\n" for line in block.columns[0])
        case _:
            return iter(block.columns[number])
