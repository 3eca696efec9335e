"""What every task says: how examples become numbers, what a model is to say, and how wrong it is."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from seqloom.data.cache import Examples
from seqloom.data.encoding import Encoder
from seqloom.data.order import Reshape
from seqloom.data.ragged import Ragged
from seqloom.data.reading import Block, Shape
from seqloom.data.streams import Streams
from seqloom.models import Sizes
from seqloom.models.build import Model
from seqloom.models.settings import ModelSettings
from seqloom.tasks.batch import Batch
from seqloom.tasks.codecs import Codecs
from seqloom.tasks.recut import recut_columns


@dataclass(frozen=True)
class Goals:
    """How a loss is to be counted."""

    smoothing: float = 0.0
    r_drop: float = 0.0
    activation: float = 0.0
    temporal: float = 0.0


class Task(ABC):
    """One kind of work. Built of its settings and of what turns text into numbers."""

    shape: ClassVar[Shape]
    columns: ClassVar[tuple[str, ...]]
    scores: ClassVar[tuple[str, ...]]
    """What a validation tells; one of them decides which model is the best."""
    joined: ClassVar[bool] = False
    """Whether a batch holds both sides of an example as one sequence."""
    codecs: Codecs
    encoder: Encoder

    @staticmethod
    @abstractmethod
    def refuses(model: ModelSettings) -> str | None:
        """Why this model cannot do the task; None if it can."""

    @property
    def marks(self) -> int:
        """How many tokens more a row has in a batch than in the cache: one for begin or end."""
        return 1

    @abstractmethod
    def sizes(self) -> Sizes: ...

    def encode(self, block: Block) -> Mapping[str, Ragged]:
        """The columns of a block's examples as numbers."""
        return self.encoder(block.columns)

    @property
    def reshape(self) -> Reshape | None:
        """What an epoch makes of examples that follow each other; None: they stay as they are."""
        return None

    @property
    def streams(self) -> Streams | None:
        """How a text is read side by side, where a batch goes on with the state that the one before left."""
        return None

    def vary(self, examples: Examples, seeds: Sequence[int], longest: int | None) -> Examples:
        """What training makes of some examples in an epoch, by chance: other pieces, where the text has dropout.

        seeds: one for each example. longest: tokens that a side may have.
        """
        target = self.codecs.source if self.columns == ("target",) else self.codecs.target
        known = {"source": self.codecs.source, "target": target}
        return recut_columns(examples, {name: known[name] for name in self.columns}, seeds, longest)

    @abstractmethod
    def batch(self, examples: Examples) -> Batch: ...

    def valid_batch(self, examples: Examples) -> Batch:
        """What a validation asks for; less than training, where that teaches more than will be asked."""
        return self.batch(examples)

    @abstractmethod
    def loss(self, model: Model, batch: Batch, goals: Goals) -> Tensor:
        """The sum over all parts of the goal that count (`batch.count`), in nats."""
