"""How answers are written."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from seqloom.generation.rerank import MBR
from seqloom.generation.sampling import Sampling
from seqloom.settings import Checked, Conflicts, Frozen

LONGEST = 100_000
"""Tokens that any answer may have; more is a slip, and a search may not end before it."""

ROWS = 512
"""Hypotheses that are written together: with fewer, matrix products are slow; with more, nothing is gained."""


WritingPrecision = Annotated[
    Literal["auto", "full", "bf16", "int8"], BeforeValidator(lambda name: "full" if name == "float32" else name)
]
"""float32: what full is called in training (training.precision)."""


class WuLength(Frozen):
    """log_prob / ((5 + length) / 6) ** alpha (Wu et al. 2016, eq. 14); the end mark counts."""

    kind: Literal["wu"] = "wu"
    alpha: float = Field(default=0.6, ge=0, description="0: long answers are not helped")


class MeanLength(Frozen):
    """log_prob / length ** alpha; the end mark counts."""

    kind: Literal["mean"] = "mean"
    alpha: float = Field(default=1.0, ge=0, description="1: the mean of the tokens; 0: long answers are not helped")


class NoLength(Frozen):
    """The log_prob as it is: of two answers the likelier one, which is mostly the shorter."""

    kind: Literal["none"] = "none"


LengthSettings = Annotated[WuLength | MeanLength | NoLength, Field(discriminator="kind")]


class GenerationSettings(Checked):
    """Beam search with a narrow beam, which suits pairs: translations, spellings, dates.

    Four hypotheses give nearly all that wider beams give, at a quarter of the cost of 16, and the length penalty of
    Wu et al. keeps them from ending too early. Characters and words alike: the penalty counts tokens of whichever
    kind the model writes. A language model's likeliest text is dull and repeats itself, whatever the beam; set
    `sample` to draw from it instead (Holtzman et al. 2020).
    """

    beam: int = Field(
        default=4, ge=1, description="hypotheses kept for each answer; 1: greedy. Not used when tokens are drawn"
    )
    batch: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        default="auto",
        description="answers written together; it does not change what they say. auto: of all together 512 hypotheses",
    )
    precision: WritingPrecision = Field(
        default="auto",
        description="of products. auto: full on a CPU; on a GPU bf16, if the model was trained so. int8: in eight "
        "bits, on a CPU: some times as fast where there is a C compiler, and nearly the same answers",
    )
    engine: Literal["auto", "own", "ctranslate2"] = Field(
        default="auto",
        description="what writes greedily on a CPU. auto: CTranslate2 where it is installed, can hold the model, says "
        "the same and measures faster, seqloom's own engine otherwise; ctranslate2: without measuring",
    )
    n_best: int = Field(default=1, ge=1, description="answers to each input, best first")
    length: LengthSettings = Field(default=WuLength(), description="what long answers get for their length")
    coverage: float = Field(
        default=0.0,
        ge=0,
        description="penalty for what attention left unread (Wu et al. 2016, eq. 14); 0.2 is usual; 0: none",
    )
    groups: int = Field(
        default=1,
        ge=1,
        description="parts of the beam that avoid each other's tokens (Vijayakumar et al. 2016); 1: off",
    )
    diversity: float = Field(default=0.5, ge=0, description="what a token costs that an earlier group chose")
    sample: Sampling | None = Field(default=None, description="draw tokens by chance; unset: search for the likeliest")
    seed: int = Field(default=1, ge=0, le=2**63 - 1, description="of chance; the same seed draws the same answers")
    no_repeat: int = Field(default=0, ge=0, description="no run of so many tokens twice in an answer; 0: it may be")
    shortest: int = Field(default=0, ge=0, description="tokens of an answer at least")
    longest: int | None = Field(
        default=None,
        ge=1,
        le=LONGEST,
        description="tokens of an answer at most; unset: 2 × the input's tokens + 50, where an input counts as no "
        "longer than an example could be in training (data.longest; the context of running text)",
    )
    rerank: MBR | None = Field(default=None, description="choose among many answers by comparing them")
    replace_unknown: bool = Field(
        default=False, description="an unknown token becomes the input's word that was looked at most"
    )

    @property
    def together(self) -> int:
        """Answers that are written together."""
        if self.batch != "auto":
            return self.batch
        return max(1, ROWS // (self.beam if self.sample is None else self.n_best))

    def _conflicts(self) -> Conflicts:
        searched = self.sample is None and (self.rerank is None or self.rerank.of == "n-best")
        if searched and self.n_best > self.beam:
            yield ("n_best",), f"{self.n_best} answers cannot come from a beam of {self.beam}; set beam = {self.n_best}"
        if self.beam % self.groups:
            yield ("groups",), f"a beam of {self.beam} cannot be split into {self.groups} equal groups"
        if self.sample is not None and self.groups > 1:
            yield ("groups",), "groups are parts of a beam, and with sample there is no beam; keep one of them"
        if self.sample is not None and self.coverage:
            yield ("coverage",), "coverage steers a search, and with sample there is none; set coverage = 0"
        if self.longest is not None and self.shortest > self.longest:
            yield ("shortest",), f"at least {self.shortest} tokens, but longest = {self.longest}"
        if self.engine == "ctranslate2":
            yield from self._engine_faults()
        if self.rerank is not None:
            yield from self._rerank_faults(self.rerank)

    def _engine_faults(self) -> Conflicts:
        plain = {"beam": 1, "sample": None, "coverage": 0, "no_repeat": 0, "shortest": 0, "rerank": None}
        for name, value in (plain | {"replace_unknown": False}).items():
            if getattr(self, name) != value:
                fix = f"leave {name} out" if value is None else f"set {name} = {str(value).lower()}"
                yield (
                    ("engine",),
                    f"ctranslate2 writes the likeliest token and heeds no {name}; {fix}, or engine = 'auto'",
                )
                return

    def _rerank_faults(self, rerank: MBR) -> Conflicts:
        if self.n_best > rerank.candidates:
            yield ("n_best",), f"{self.n_best} answers cannot come from {rerank.candidates} candidates"
        if rerank.of == "samples" and self.groups > 1:
            yield ("groups",), "rerank draws its answers by chance, without a beam; set groups = 1, or of = 'n-best'"
        if rerank.of == "n-best" and self.sample is not None:
            yield ("rerank", "of"), "n-best answers come from a beam, and with sample there is none; set of = 'samples'"
        if rerank.of == "n-best" and self.sample is None and rerank.candidates > self.beam:
            reason = (
                f"{rerank.candidates} answers cannot come from a beam of {self.beam}; set beam = {rerank.candidates}"
            )
            yield ("rerank", "candidates"), reason
