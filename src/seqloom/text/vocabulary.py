"""Text to ids and back."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, assert_never

from pydantic import TypeAdapter, ValidationError
from tokenizers import Tokenizer

from seqloom.text import json_file
from seqloom.text.bpe_dropout import Dropout
from seqloom.text.display import Display
from seqloom.text.extension import extended
from seqloom.text.learning import Progress, learn
from seqloom.text.lookup import ByteTable, CharacterTable
from seqloom.text.memo import Lengths, Memo, Values, words_of
from seqloom.text.settings import BPE, Bytes, Characters, PieceSettings, Unigram, Words
from seqloom.text.specials import SPECIALS, UNKNOWN
from seqloom.text.surrogates import naming_surrogates

_WHAT = "a vocabulary"
_SETTINGS: TypeAdapter[PieceSettings] = TypeAdapter(PieceSettings)


class Vocabulary:
    """The pieces that texts are cut into, each with an id; it never changes.

    Ids 0 to 4 are the same in all: unknown, begin, end, mask, separator. No text ever becomes one of them, except that
    what is not in the vocabulary becomes UNKNOWN.
    """

    def __init__(self, settings: PieceSettings, text: str) -> None:
        """`text`: the JSON of a tokenizers.Tokenizer; see `train` and `load`."""
        self.settings = settings
        self._text = text
        self._tokenizer = Tokenizer.from_str(text)
        ids: dict[str, int] = self._tokenizer.get_vocab()
        self._pieces = sorted(ids, key=ids.__getitem__)
        if [ids[piece] for piece in self._pieces] != list(range(len(ids))):
            raise ValueError("the ids have gaps")
        if tuple(self._pieces[: len(SPECIALS)]) != SPECIALS:
            raise ValueError(f"the first pieces are not {', '.join(SPECIALS)}")
        self._display = Display(settings, self._pieces)
        self._encoder = self._build_encoder()

    def _build_encoder(self) -> Memo | CharacterTable | ByteTable:
        match self.settings:
            case Characters():
                known = {piece: id for id, piece in enumerate(self._pieces) if id >= len(SPECIALS)}
                return CharacterTable(known, self.normalise)
            case Bytes():
                return ByteTable(len(SPECIALS), self.normalise)
            case Words() | BPE() | Unigram():
                return Memo(self._tokenizer)
            case _:
                assert_never(self.settings)

    @classmethod
    def train(cls, settings: PieceSettings, texts: Iterable[str], progress: Progress | None = None) -> "Vocabulary":
        """Pieces from texts, which are read once; `progress` hears how many were read.

        Equal texts give an equal vocabulary. It may have fewer pieces than asked for.
        """
        return cls(settings, learn(settings, texts, progress).to_str())

    def extended(self, texts: Iterable[str], more: int) -> "Vocabulary":
        """With so many pieces of these texts besides, at most; those that it has keep their ids."""
        return Vocabulary(self.settings, extended(self.settings, self._text, texts, more))

    def cut_by(self, settings: PieceSettings) -> "Vocabulary | None":
        """As these settings cut it, if they are those of the pieces but for the dropout; else None."""
        plain = (
            one.model_copy(update={"dropout": 0.0}) if isinstance(one, BPE) else one
            for one in (settings, self.settings)
        )
        return Vocabulary(settings, self._text) if len(set(map(str, plain))) == 1 else None

    @property
    def names(self) -> tuple[str, ...]:
        """Every piece by its id, as it is kept: to find the same piece in another vocabulary."""
        return tuple(self._pieces)

    def __len__(self) -> int:
        return len(self._pieces)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"Vocabulary({self.settings.kind}, {len(self)} pieces, {self.fingerprint[:8]})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary, (self.settings, self._text)

    @cached_property
    def fingerprint(self) -> str:
        """Equal for equal vocabularies, on any machine."""
        content = json.dumps([self.settings.model_dump(mode="json"), self._text], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()

    def normalise(self, text: str) -> str:
        """The text that `decode` gives back if no piece is unknown (words: up to white space)."""
        rules = self.settings.normalise
        if text.isascii() and rules.spaces == "keep":
            return text.lower() if rules.lowercase else text  # the forms leave ASCII as it is
        normal: str = self._display.normaliser.normalize_str(text)
        return normal

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, without begin and end."""
        values, lengths = self.encode_arrays(texts)
        flat, ends = values.tolist(), lengths.cumsum().tolist()
        return [flat[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def encode_arrays(self, texts: Sequence[str]) -> tuple[Values, Lengths]:
        """The ids of all texts in a row, and how many each text has: the quickest form."""
        if isinstance(texts, str):
            raise TypeError("encode takes a list of texts; give [text]")
        with naming_surrogates(texts):
            return self._encoder.encode(texts)

    def encode_words(self, words: Sequence[str]) -> tuple[list[int], list[int]]:
        """The ids of words that are split already, and for each id the number of its word.

        Each word has at least one id: a word that leaves no piece, as it is empty, is UNKNOWN. What stands between two
        words belongs to the first of them.
        """
        each = [(ids or [UNKNOWN]) + self._between for ids in self.encode(words)]
        each[-1:] = [each[-1][: len(each[-1]) - len(self._between)]] if each else []
        return [id for ids in each for id in ids], [number for number, ids in enumerate(each) for _ in ids]

    @cached_property
    def _between(self) -> list[int]:
        """The space between two words, of characters and bytes; other pieces hold theirs, or need none."""
        if not isinstance(self.settings, Characters | Bytes):
            return []
        return [id for id in self.encode(["a b"])[0][1:-1] if id != UNKNOWN]

    def encode_dropout(self, texts: Sequence[str], seeds: Sequence[int]) -> list[list[int]]:
        """As `encode`, with BPE dropout: a function of the text and its seed. Other kinds have none."""
        if len(texts) != len(seeds):
            raise ValueError(f"{len(texts)} texts need as many seeds, not {len(seeds)}")
        if not isinstance(self.settings, BPE) or not self.settings.dropout:
            return self.encode(texts)
        with naming_surrogates(texts):
            return [self._dropout.encode(words_of(text), seed) for text, seed in zip(texts, seeds, strict=True)]

    @cached_property
    def _dropout(self) -> Dropout:
        assert isinstance(self.settings, BPE)
        ids = {piece: id for id, piece in enumerate(self._pieces)}
        pairs = json.loads(self._text)["model"]["merges"]
        merges = {(ids[left], ids[right]): (rank, ids[left + right]) for rank, (left, right) in enumerate(pairs)}
        singles = {piece: id for piece, id in ids.items() if len(piece) == 1}

        def split(text: str) -> Iterator[list[int]]:
            normal = self._tokenizer.normalizer.normalize_str(text)
            for part, _ in self._tokenizer.pre_tokenizer.pre_tokenize_str(normal):
                yield [singles.get(character, UNKNOWN) for character in part]

        return Dropout(merges, self.settings.dropout, split)

    def places(self, text: str) -> tuple[str, list[tuple[int, int]]]:
        """The normalised text, and from where to where in it each id of the text stands, the unknown ones too.

        A piece that is a part of a character stands where the whole character does.
        """
        (ids,) = self.encode([text])
        for form in (self.normalise(text), text):  # a text that changes when normalised again stays as it is
            code = self._tokenizer.encode(form, add_special_tokens=False)
            if code.ids == ids:
                break
        return form, code.offsets

    def words(self, text: str) -> list[tuple[int, int]]:
        """From where to where in the text the words of a word vocabulary stand; of others, what white space parts."""
        if isinstance(self.settings, Words):
            return [place for _, place in self._tokenizer.pre_tokenizer.pre_tokenize_str(text)]
        return [match.span() for match in re.finditer(r"\S+", text)]

    def unknown(self, texts: Sequence[str]) -> tuple[int, int]:
        """How many pieces of the texts are unknown, and how many there are."""
        values, _ = self.encode_arrays(texts)
        return int((values == UNKNOWN).sum()), len(values)

    def decode(self, ids: Iterable[int], unknown: Iterable[str] = ()) -> str:
        """The text of the ids; begin, end, mask and separator are left out, unknown is ⁇.

        unknown: what stands for the first unknown id, for the second, and so on.
        """
        return self._display.text(ids, unknown)

    def decode_many(self, rows: Iterable[Iterable[int]]) -> list[str]:
        return [self.decode(ids) for ids in rows]

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Each id's piece as people can see it: ▁ for a space, ↵ for a new line, \\xe2 for a part of a character."""
        return self._display.pieces(ids)

    def whole_words(self) -> list[str]:
        """Each id's piece as others write it, who know whole words only; a piece that goes on within one is empty."""
        seen = self.pieces(range(len(self)))
        if not isinstance(self.settings, BPE | Unigram):
            return seen
        return [piece.removeprefix("▁") if piece.startswith("▁") else "" for piece in seen]

    def word_of(self, ids: Iterable[int]) -> list[int]:
        """For each id the number of its word in `decode(ids)`, where white space parts words; -1: in none."""
        return self._display.word_of(ids)

    def save(self, path: str | Path) -> None:
        """Two files: `path` opens with tokenizers.Tokenizer.from_file; our settings lie beside it."""
        file = Path(path)
        json_file.write(file, self._text)
        beside = {"fingerprint": self.fingerprint, "settings": self.settings.model_dump(mode="json")}
        json_file.write(_beside(file), json.dumps(beside, indent=2, ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> "Vocabulary":
        file, beside = Path(path), _beside(Path(path))
        text, content = json_file.read(file, _WHAT), json_file.parse(beside, "a vocabulary's settings")
        try:
            settings = _SETTINGS.validate_python(content["settings"])
            fingerprint = content["fingerprint"]
        except (KeyError, TypeError, ValidationError) as error:
            reason = str(error).splitlines()[0]
            raise json_file.broken(beside, "a vocabulary's settings", reason) from None
        try:
            vocabulary = cls(settings, text)
        except Exception as error:  # tokenizers has no class of its own for what it cannot read
            raise json_file.broken(file, _WHAT, str(error)) from None
        if vocabulary.fingerprint != fingerprint:
            raise json_file.broken(file, f"the vocabulary that {beside.name} belongs to", "one of the two was changed")
        return vocabulary


def _beside(file: Path) -> Path:
    return file.with_name(f"{file.stem}.settings.json")
