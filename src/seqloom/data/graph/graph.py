"""A graph: what its nodes are, which of them are joined, and which of them are learnt from."""
# N nodes  E edges  P features that are not 0

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from seqloom.data.graph.islands import islands
from seqloom.data.ragged import Longs
from seqloom.settings import UserError
from seqloom.text import json_file

Part = Literal["train", "valid", "test", "other"]
PARTS: tuple[Part, ...] = ("train", "valid", "test", "other")

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Graph:
    """ids, labels and parts: of each node; a label is "" where there is none.

    Feature column_P[p] of node row_P[p] is value_P[p]; all others are 0. An edge goes from source_E to target_E: what
    the source is matters to the target.
    """

    ids: tuple[str, ...]
    labels: tuple[str, ...]
    parts: tuple[Part, ...]
    row_P: Longs
    column_P: Longs
    value_P: Floats
    features: int
    source_E: Longs
    target_E: Longs
    words: tuple[str, ...] = ()
    """What the features are, where they were counted in texts."""
    position_NK: Floats | None = None
    """Where each node stands. It is kept: another machine may turn vectors of equal eigenvalues otherwise."""

    def __len__(self) -> int:
        return len(self.ids)

    def numbers_of(self, part: Part) -> Longs:
        """Of the nodes of a part."""
        return np.flatnonzero(np.array([one == part for one in self.parts]))

    def neighbours(self) -> Longs:
        """How many other nodes each is joined to, whatever the direction."""
        low, high = np.minimum(self.source_E, self.target_E), np.maximum(self.source_E, self.target_E)
        pairs = np.unique(np.stack((low, high))[:, low != high], axis=1)
        return np.bincount(pairs.ravel(), minlength=len(self))

    @cached_property
    def island_N(self) -> Longs:
        """Which part of the graph each node is in; no edge joins two of them."""
        return islands(len(self), self.source_E, self.target_E)

    @property
    def dense(self) -> bool:
        """Whether so much is not 0 that a matrix of all is smaller."""
        return len(self.value_P) > 0.25 * len(self) * self.features

    @property
    def fingerprint(self) -> str:
        digest = hashlib.blake2b(digest_size=16)
        digest.update(json.dumps(self._texts()).encode())
        for array in self._arrays().values():
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def _texts(self) -> dict[str, Any]:
        return {
            "ids": self.ids,
            "labels": self.labels,
            "parts": self.parts,
            "features": self.features,
            "words": self.words,
        }

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "row": self.row_P,
            "column": self.column_P,
            "value": self.value_P,
            "source": self.source_E,
            "target": self.target_E,
            **({} if self.position_NK is None else {"position": self.position_NK}),
        }

    def save(self, folder: Path) -> None:
        """Two files without pickle: texts as JSON, numbers as numpy keeps them."""
        json_file.write(folder / "graph.json", json.dumps(self._texts(), ensure_ascii=False))
        numbers = folder / "graph.npz"
        try:
            np.savez(numbers, allow_pickle=False, **self._arrays())
        except OSError as error:
            raise UserError(f"{numbers}: cannot be written: {error.strerror}") from None

    @classmethod
    def load(cls, folder: Path) -> "Graph":
        try:
            texts = json.loads((folder / "graph.json").read_text(encoding="utf-8"))
            with np.load(folder / "graph.npz", allow_pickle=False) as arrays:
                numbers = [arrays[name] for name in ("row", "column", "value", "source", "target")]
                position_NK = arrays.get("position")
            row_P, column_P, value_P, source_E, target_E = numbers
            ids, labels, parts, words = (tuple(texts[name]) for name in ("ids", "labels", "parts", "words"))
            features = int(texts["features"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{folder}: the graph cannot be read ({error}); put it back, or train anew") from None
        return cls(ids, labels, parts, row_P, column_P, value_P, features, source_E, target_E, words, position_NK)


def has_graph(folder: Path) -> bool:
    return (folder / "graph.json").exists()
