"""How text is cut into pieces, as a recipe says it."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from seqloom.settings import Frozen, impossible
from seqloom.text.specials import SPECIALS

BYTES = 256
SMALLEST = len(SPECIALS) + 1


class Normalise(Frozen):
    """What is done to a text before it is cut. What is lost here, no answer can have."""

    form: Literal["none", "nfc", "nfkc"] = Field(
        default="nfc",
        description="Unicode normalisation: nfc joins accents to their letters and changes nothing that is seen; "
        "nfkc also makes ﬁ, ｆ and ² plain",
    )
    lowercase: bool = False
    spaces: Literal["keep", "collapse"] = Field(
        default="keep", description="collapse: each run of white space becomes one space, none at the ends"
    )


class Characters(Frozen):
    """Each character is a piece."""

    kind: Literal["characters"] = "characters"
    least: int = Field(default=1, ge=1, description="rarer characters are unknown")
    normalise: Normalise = Normalise()


class Bytes(Frozen):
    """Each byte of the text in UTF-8 is a piece: nothing is unknown, nothing is learnt."""

    kind: Literal["bytes"] = "bytes"
    normalise: Normalise = Normalise()


class Words(Frozen):
    """Each word is a piece. The answer has one space between words, whatever the text had."""

    kind: Literal["words"] = "words"
    size: int | None = Field(default=None, ge=SMALLEST, description="pieces in all, at most; unset: no limit")
    least: int = Field(default=1, ge=1, description="rarer words are unknown")
    split: Literal["spaces", "punctuation"] = Field(
        default="spaces", description="punctuation: also between words and punctuation"
    )
    normalise: Normalise = Normalise()


class BPE(Frozen):
    """Byte-pair encoding: the most frequent neighbours become one piece, again and again (Sennrich et al. 2016)."""

    kind: Literal["bpe"] = "bpe"
    size: int = Field(default=8000, ge=SMALLEST, description="pieces in all, at most")
    dropout: float = Field(
        default=0.0, ge=0, lt=1, description="in training, the share of merges left out (Provilkov et al. 2020)"
    )
    bytes: bool = Field(default=False, description="merge bytes and not characters: nothing is unknown")
    normalise: Normalise = Normalise()

    @model_validator(mode="after")
    def _room_for_bytes(self) -> Self:
        least = BYTES + len(SPECIALS)
        if self.bytes and self.size < least:
            raise impossible(f"size {self.size} has no room for all bytes; {least} is the least", "size")
        return self


class Unigram(Frozen):
    """Pieces of a unigram language model; of all ways to cut a word the likeliest is taken (Kudo 2018)."""

    kind: Literal["unigram"] = "unigram"
    size: int = Field(default=8000, ge=SMALLEST, description="pieces in all, at most")
    normalise: Normalise = Normalise()


PieceSettings = Annotated[Characters | Bytes | Words | BPE | Unigram, Field(discriminator="kind")]


class TextSettings(Frozen):
    """The pieces of both sides."""

    source: PieceSettings = BPE()
    target: PieceSettings | None = Field(default=None, description="unset: as the source")
    shared: bool = Field(default=False, description="one vocabulary for both sides")
    extend: int | None = Field(
        default=None,
        ge=1,
        description="with --from: so many pieces of the new data, at most, join those of the run; unset: none",
    )

    @model_validator(mode="after")
    def _shared_is_one(self) -> Self:
        if self.shared and self.target not in (None, self.source):
            reason = "a shared vocabulary is cut in one way; remove target, or set shared = false"
            raise impossible(reason, "target")
        return self
