"""A whole model's settings: what its stacks are made of, and what goes in and comes out."""

from typing import Literal

from pydantic import Field

from seqloom.layers.attentive_recurrence import AttentiveRecurrence
from seqloom.layers.embedding import InputSettings, Patches, Tokens, Vectors
from seqloom.layers.images import Images
from seqloom.layers.recurrence import Recurrence, begins_apart
from seqloom.models.head_settings import (
    ClassesOutput,
    HorizonOutput,
    NumbersOutput,
    OutputSettings,
    TagsOutput,
    TokensOutput,
)
from seqloom.models.stack_settings import Family, StackSettings, concatenates, fault_path, stack_faults
from seqloom.settings import Changes, Checked, Conflicts, Frozen

OWN_VECTORS = {"vectors": None, "frozen": False}


class Unfold(Frozen):
    """A source of n steps gets times · n + more: a decoder that stands on its encoder then has what to stand on.

    Kalchbrenner et al. 2016, section 3.2 (dynamic unfolding). The steps that are added are empty. An answer may go on
    behind them, and reads nothing there.
    """

    times: float = Field(default=1.2, ge=1)
    more: int = Field(default=0, ge=0)


class ModelSettings(Checked, StackSettings):
    """What stands at the top holds for both stacks; [model.encoder] and [model.decoder] change it for one."""

    family: Family = "encoder-decoder"
    width: int = Field(default=512, ge=1)
    input: InputSettings = Tokens()
    target_input: InputSettings | None = Field(
        default=None, description="what a decoder reads back; unset: as the input, or vectors where it writes numbers"
    )
    output: OutputSettings = TokensOutput()
    tie: Literal["none", "inputs", "output", "all"] = Field(
        default="none",
        description="inputs: source and target share token vectors; output: the vectors of what is written are also "
        "the output's weights; all: both",
    )
    unfold: Unfold | None = Field(default=None, description="lengthen the source before the encoder (ByteNet)")
    encoder: Changes[StackSettings] = StackSettings()
    decoder: Changes[StackSettings] = StackSettings()

    def side(self, name: Literal["encoder", "decoder"]) -> StackSettings:
        """One stack's settings: the shared ones, and on top what was set for it."""
        changes: StackSettings = getattr(self, name)
        values = {field: getattr(self, field) for field in StackSettings.model_fields}
        values |= {field: getattr(changes, field) for field in changes.model_fields_set}
        return StackSettings.model_construct(**values)

    @property
    def decoder_input(self) -> InputSettings:
        if self.target_input is not None:
            return self.target_input
        if isinstance(self.output, NumbersOutput):
            return self.input if isinstance(self.input, Vectors) else Vectors()
        # a file of the source's words is not for the target's, unless both share their vectors
        if isinstance(self.input, Tokens) and self.tie in ("inputs", "all"):
            return self.input
        return self.input.model_copy(update=OWN_VECTORS) if isinstance(self.input, Tokens) else Tokens()

    def _conflicts(self) -> Conflicts:
        """Of each setting the first: the others may come of it."""
        found: dict[tuple[str | int, ...], str] = {}
        for path, why in self._faults():
            found.setdefault(path, why)
        yield from found.items()

    def _faults(self) -> Conflicts:
        for name in ("encoder", "decoder"):
            if name in self.family:
                for path, why in stack_faults(self.side(name), self.width, name, self.family):
                    changed = path[0] in getattr(self, name).model_fields_set
                    yield ((name, *path) if changed else path), why
            elif getattr(self, name).model_fields_set:
                yield (name,), f"a model of family '{self.family}' has no {name}"
        yield from self._begins()
        yield from self._ties()
        yield from self._inputs()
        yield from self._outputs()

    def _begins(self) -> Conflicts:
        """Decoder layers that begin where the encoder's ended must be like them."""
        encoder, decoder = self.side("encoder"), self.side("decoder")
        if any(stack.mixer == () for stack in (encoder, decoder)):
            return
        changed = ("decoder",) if "mixer" in self.decoder.model_fields_set else ()
        for block, mixer in enumerate(decoder.mixers() if self.family == "encoder-decoder" else []):
            if isinstance(mixer, Recurrence | AttentiveRecurrence) and mixer.initial == "layers":
                other = encoder.mixers()[block] if block < encoder.depth else None
                for why in begins_apart(mixer, other, self.width):
                    yield (*changed, *fault_path(decoder, "mixer", block, "initial")), why

    def _ties(self) -> Conflicts:
        if self.tie == "none":
            return
        pairs = self.family == "encoder-decoder"
        if not isinstance(self.output, TokensOutput):
            yield ("tie",), f"an output of {self.output.kind} has no token vectors to share"
        elif self.tie in ("output", "all") and self.output.narrow is not None:
            yield ("tie",), "token vectors have the model's width, and output.narrow is another: not shareable"
        if self.tie == "inputs" and not pairs:
            yield ("tie",), f"a model of family '{self.family}' has one input only; use tie = 'output'"
        if self.tie in ("inputs", "all") and pairs and not isinstance(self.input, Tokens):
            yield ("tie",), f"an input of {self.input.kind} has no token vectors to share; use tie = 'output'"
        if not pairs and not isinstance(self.input, Tokens):
            yield ("tie",), f"an input of {self.input.kind} has no token vectors to share"
        if pairs and not isinstance(self.decoder_input, Tokens):
            yield ("tie",), f"what is read back are {self.decoder_input.kind}, which have no token vectors to share"
        for name in ("encoder", "decoder"):
            narrow = name in self.family and concatenates(self.side(name).positions)
            if narrow and (self.tie != "output" or not pairs or name == "decoder"):
                yield ("tie",), "with concatenated positions token vectors are narrower than the output: not shareable"

    def _inputs(self) -> Conflicts:
        for name, side in ("input", self.input), ("target_input", self.target_input):
            reads_back = self.family == "decoder-only" or name == "target_input"
            if isinstance(side, Patches | Images) and reads_back:
                yield (name,), "a decoder goes step by step, and half a patch cannot be read; use vectors"
        if isinstance(self.input, Tokens) and self.input.segments and self.family == "decoder-only":
            yield ("input", "segments"), "segments are of what an encoder reads"
        if "cross" in self.encoder.model_fields_set:
            yield ("encoder", "cross"), "an encoder reads no other sequence; set it in [model.decoder]"
        if self.family != "encoder-decoder" and self.unfold is not None:
            yield ("unfold",), f"a model of family '{self.family}' has no decoder that stands on an encoder"
        if self.family != "encoder-decoder" and self.target_input is not None:
            yield ("target_input",), f"a model of family '{self.family}' reads one sequence only"

    def _outputs(self) -> Conflicts:
        if isinstance(self.output, TokensOutput) and self.output.follows and self.family != "encoder-only":
            yield ("output", "follows"), "what follows is read off an encoder: use family = 'encoder-only'"
        if isinstance(self.output, HorizonOutput) and self.family != "encoder-only":
            yield ("output",), "a horizon is read off an encoder: use family = 'encoder-only'"
        if self.family == "encoder-decoder" and isinstance(self.output, TagsOutput | ClassesOutput):
            yield ("output",), f"{self.output.kind} are read off an encoder: use family = 'encoder-only'"
