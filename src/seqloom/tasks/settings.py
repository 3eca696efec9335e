"""Which task a recipe is for."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from seqloom.settings import Frozen, impossible


class Translate(Frozen):
    """Pairs: read one sequence, write another. Also phonemes, inflections, summaries."""

    kind: Literal["translate"] = "translate"
    reverse: bool = Field(default=False, description="read the source from its end (Sutskever et al. 2014)")
    learn: Literal["target", "all"] = Field(
        default="target",
        description="what a decoder-only model learns to say: the target, or also the source (Liu et al. 2018)",
    )


class Language(Frozen):
    """Running text: say what comes next."""

    kind: Literal["language"] = "language"
    context: int = Field(default=256, ge=1, description="tokens that are read at once in training")
    lines: Literal["text", "documents"] = Field(
        default="text", description="the file is one running text, or each line is a text of its own"
    )


class Masked(Frozen):
    """Text with gaps: say what stands in them. Lines are sentences; an empty line ends a document."""

    kind: Literal["masked"] = "masked"
    context: int = Field(default=512, ge=6, description="tokens that are read at once, marks included")
    share: float = Field(default=0.15, gt=0, lt=1, description="of the tokens that are asked for")
    masked: float = Field(default=0.8, ge=0, le=1, description="share of these that a mark stands for")
    random: float = Field(default=0.1, ge=0, le=1, description="and that another token stands for; the rest stays")
    follows: bool = Field(
        default=True, description="examples are two segments, and the model says whether the second follows the first"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.masked + self.random > 1:
            raise impossible(f"masked and random are {self.masked + self.random:g} together, more than all", "random")
        return self


class Tag(Frozen):
    """One tag for each word."""

    kind: Literal["tag"] = "tag"
    spelled: bool = Field(
        default=False,
        description="words are read with their letters, so that unknown ones are known too: for an input of 'spelled'",
    )


class Classify(Frozen):
    """One class for the whole sequence."""

    kind: Literal["classify"] = "classify"


TaskSettings = Annotated[Translate | Language | Masked | Tag | Classify, Field(discriminator="kind")]
