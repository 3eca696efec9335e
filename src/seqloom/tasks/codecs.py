"""What turns the two sides of an example into numbers: vocabularies and labels."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from seqloom.data.reading import Block, Shape
from seqloom.settings import UserError
from seqloom.tasks.scales import Scales
from seqloom.text import Labels, TextSettings, Vocabulary, Words

SCALES = "scales.json"

Read = Callable[[], Iterator[Block]]
"""The training examples from their beginning; may be asked for several times."""


@dataclass(frozen=True)
class Codecs:
    """The same object on both sides: one vocabulary is shared."""

    source: Vocabulary
    target: Vocabulary | Labels
    scales: Scales | None = None
    """Of series of numbers, where both vocabularies are empty."""

    @classmethod
    def of_series(cls, scales: Scales) -> "Codecs":
        nothing = Vocabulary.train(Words(), ["-"])
        return cls(nothing, nothing, scales)

    @property
    def fingerprint(self) -> str:
        if self.scales is not None:
            return self.scales.fingerprint
        return f"{self.source.fingerprint}-{self.target.fingerprint}"

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        if self.scales is not None:
            (folder / SCALES).write_text(self.scales.dumps(), encoding="utf-8")
            return
        self.source.save(folder / ("shared.json" if self.target is self.source else "source.json"))
        if self.target is not self.source:
            self.target.save(folder / ("labels.json" if isinstance(self.target, Labels) else "target.json"))

    @classmethod
    def load(cls, folder: Path) -> "Codecs":
        if (folder / SCALES).exists():
            return cls.of_series(_scales(folder / SCALES))
        if (folder / "shared.json").exists():
            shared = Vocabulary.load(folder / "shared.json")
            return cls(shared, shared)
        source = Vocabulary.load(folder / "source.json")
        if (folder / "labels.json").exists():
            return cls(source, Labels.load(folder / "labels.json"))
        return cls(source, Vocabulary.load(folder / "target.json"))


def _scales(file: Path) -> Scales:
    try:
        return Scales.loads(file.read_text(encoding="utf-8"))
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{file}: cannot be read ({error}); put it back as it was saved") from None


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
        case "timeline":
            raise ValueError("a series has scales, and no words to learn")
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
