"""Which task a recipe is for."""

from typing import Annotated, Literal

from pydantic import Field

from seqloom.settings import Frozen


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


class Tag(Frozen):
    """One tag for each word."""

    kind: Literal["tag"] = "tag"


class Classify(Frozen):
    """One class for the whole sequence."""

    kind: Literal["classify"] = "classify"


TaskSettings = Annotated[Translate | Language | Tag | Classify, Field(discriminator="kind")]
