"""What the search knows of our models: where to begin, and the scores of the next token."""
# B items  R rows that are being written  V tokens  S source positions

from collections.abc import Sequence

import torch
from torch import Tensor

from seqloom.generation.contract import Item, Scorer
from seqloom.inspect import watch_attention
from seqloom.inspect.alignment import reading
from seqloom.layers.layout import Packed, Padded
from seqloom.models.build import Model as Network
from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.output import DecoderState, Output
from seqloom.text import BEGIN, END

Stepped = tuple[Tensor, Tensor | None, DecoderState]


class PairScorer:
    """Reads a source, behind which an end mark stands, and writes behind a begin mark."""

    begin, end = BEGIN, END

    def __init__(self, model: EncoderDecoder, device: torch.device) -> None:
        self.model, self.device, self.size = model, device, model.sizes.target

    @torch.no_grad()
    def start(self, items: Sequence[Item]) -> tuple[DecoderState, Tensor]:
        rows = [[*item.source, END] for item in items]
        layout = Packed.of([len(row) for row in rows], device=self.device)
        tokens_N = torch.tensor([token for row in rows for token in row], device=self.device)
        state = self.model.start(self.model.encode(tokens_N, layout))
        return state, torch.full((len(rows),), BEGIN, device=self.device)

    @torch.no_grad()
    def step(self, last_R: Tensor, state: DecoderState, attention: bool) -> Stepped:
        layout = Padded.whole(len(last_R), 1, device=last_R.device)
        if not attention:
            return _stepped(self.model, self.model.step(last_R[:, None], layout, state), None)
        with watch_attention(self.model, reading) as seen:
            output = self.model.step(last_R[:, None], layout, state)
        # of all layers and heads, as which one aligns is not known beforehand
        each = [parts[0].mean(1)[:, 0] for parts in seen.values()]
        return _stepped(self.model, output, torch.stack(each).mean(0) if each else None)


class LanguageScorer:
    """Writes behind a prompt, which is never empty: it begins with a begin mark or the end of a line."""

    begin, end = BEGIN, END

    def __init__(self, model: DecoderOnly, device: torch.device) -> None:
        self.model, self.device, self.size = model, device, model.sizes.target

    @torch.no_grad()
    def start(self, items: Sequence[Item]) -> tuple[DecoderState, Tensor]:
        lengths = [len(item.source) - 1 for item in items]  # the last token is what the first step reads
        state, longest = self.model.start(len(items)), max(lengths)
        if longest:
            rows = [[*item.source[:-1], *[END] * (longest - len(item.source) + 1)] for item in items]
            layout = Padded.of(lengths, device=self.device)
            output = self.model(torch.tensor(rows, device=self.device), layout, state)
            assert output.state is not None
            state = output.state
        return state, torch.tensor([item.source[-1] for item in items], device=self.device)

    @torch.no_grad()
    def step(self, last_R: Tensor, state: DecoderState, attention: bool) -> Stepped:
        layout = Padded.whole(len(last_R), 1, device=last_R.device)
        return _stepped(self.model, self.model(last_R[:, None], layout, state), None)


def _stepped(model: EncoderDecoder | DecoderOnly, output: Output, attention_RS: Tensor | None) -> Stepped:
    assert output.state is not None
    return model.scores(output)[:, 0].float().log_softmax(-1), attention_RS, output.state


def scorer_of(networks: Sequence[Network], device: torch.device) -> Scorer:
    """Several networks score together."""
    each = [_scorer(network, device) for network in networks]
    if len(each) > 1:
        raise NotImplementedError
    return each[0]


def _scorer(network: Network, device: torch.device) -> Scorer:
    match network:
        case EncoderDecoder():
            return PairScorer(network, device)
        case DecoderOnly():
            return LanguageScorer(network, device)
        case _:
            raise TypeError(f"{type(network).__name__} writes nothing")
