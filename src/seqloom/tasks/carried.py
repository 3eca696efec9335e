"""What a model remembers of a text from one batch to the next."""

from collections.abc import Mapping

from torch import Tensor

from seqloom.layers.layout import Layout
from seqloom.layers.mixer import detached, filled, tensors_of
from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.output import DecoderState, Output


class Carried:
    """The state behind the batch that was read last. Gradients end there (truncated backpropagation)."""

    def __init__(self) -> None:
        self.state: DecoderState | None = None
        self._before: DecoderState | None = None

    def begin(self) -> None:
        """A step: `again` comes back here."""
        self._before = self.state

    def again(self) -> None:
        """What the step has read so far is forgotten: it is to be made once more."""
        self.state = self._before

    def read(self, model: DecoderOnly, tokens_N: Tensor, layout: Layout, goes_on: bool) -> Output:
        """goes_on: from that state; otherwise from none."""
        begin = self.state if goes_on and self.state is not None else model.start(layout.rows)
        output = model(tokens_N, layout, begin)
        self.state = detached(output.state)
        return output

    def tensors(self) -> dict[str, Tensor]:
        """For a checkpoint."""
        return {str(place): part.clone() for place, part in enumerate(tensors_of(self.state))}

    def load(self, model: DecoderOnly, tensors: Mapping[str, Tensor]) -> None:
        if tensors:
            parts = [tensors[str(place)] for place in range(len(tensors))]
            self.state = filled(model.start(len(parts[0])), parts)
