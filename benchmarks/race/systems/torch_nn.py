"""torch.nn.Transformer, with seqloom's weights. It brings no search and no cache: writing reads all again each step."""
# B rows  T target  S source positions

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import seqloom
from race.copying import built, copying_run, language_model, translator
from race.systems.hugging_face import batched
from race.systems.learning import steps
from race.systems.own import BATCHES
from race.work import (  # fmt: skip
    BEGIN,
    END,
    PAD,
    Job,
    Size,
    TrainLanguage,
    TrainPairs,
    Turn,
    UnableError,
    Write,
    given,
    padded,
    pair_batches,
    windows,
)
from seqloom.models.encoder_decoder import EncoderDecoder


class Pairs(nn.Module):
    """Norms behind, ReLU, sinusoids, one matrix of tokens, as in the paper."""

    def __init__(self, size: Size, dropout: float) -> None:
        super().__init__()
        kinds = {"dim_feedforward": 4 * size.width, "dropout": dropout, "batch_first": True}
        encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(size.width, size.heads, **kinds), size.depth, enable_nested_tensor=False
        )
        decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(size.width, size.heads, **kinds), size.depth)
        self.body = nn.Transformer(
            size.width, size.heads, custom_encoder=encoder, custom_decoder=decoder, batch_first=True
        )
        self.embedding = nn.Embedding(size.vocabulary, size.width)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("places_TD", torch.zeros(1, size.width))

    def enter(self, tokens_BT: Tensor) -> Tensor:
        x = self.embedding(tokens_BT) * self.embedding.embedding_dim**0.5
        return self.dropout(x + self.places_TD[: tokens_BT.shape[1]])

    def read(self, source_BS: Tensor, none_BS: Tensor) -> Tensor:
        return self.body.encoder(self.enter(source_BS), src_key_padding_mask=none_BS)

    def say(self, given_BT: Tensor, memory_BSD: Tensor, none_BS: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(
            given_BT.shape[1], device=given_BT.device, dtype=torch.bool
        )
        return self.body.decoder(
            self.enter(given_BT), memory_BSD, tgt_mask=mask, tgt_is_causal=True, memory_key_padding_mask=none_BS
        )

    def scores(self, hidden: Tensor) -> Tensor:
        return F.linear(hidden, self.embedding.weight)


@torch.no_grad()
def same(ours: EncoderDecoder, size: Size, dropout: float) -> Pairs:
    """The same model as torch.nn has it."""
    theirs = Pairs(size, dropout)
    theirs.embedding.weight.copy_(ours.source.vectors)
    theirs.places_TD = ours.source.positions._sines(torch.arange(256), torch.float32)
    for side in "encoder", "decoder":
        for of, to in zip(getattr(ours, side).blocks, getattr(theirs.body, side).layers, strict=True):
            _attention(of.mixer.heads.qkv, of.mixer.heads.out, to.self_attn)
            pairs = [(of.feed_forward.layer.inputs, to.linear1), (of.feed_forward.layer.out, to.linear2)]
            norms = [(of.around_mixer, to.norm1)]
            if side == "decoder":
                cross = of.cross.heads
                _attention(cross.q, cross.out, to.multihead_attn, cross.kv)
                norms.append((of.around_cross, to.norm2))
            norms.append((of.around_feed_forward, to.norm3 if side == "decoder" else to.norm2))
            pairs += [(around.norm_sum, norm) for around, norm in norms]
            for mine, its in pairs:
                its.weight.copy_(mine.gain_D if hasattr(mine, "gain_D") else mine.weight)
                its.bias.copy_(mine.bias_D if hasattr(mine, "bias_D") else mine.bias)
    return theirs


def _attention(first: nn.Linear, out: nn.Linear, to: nn.MultiheadAttention, more: nn.Linear | None = None) -> None:
    parts = [first] if more is None else [first, more]
    to.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
    to.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
    to.out_proj.weight.copy_(out.weight)
    to.out_proj.bias.copy_(out.bias)


def ready(job: Job, folder: Path, device: str, way: str = "") -> Turn:
    match job:
        case TrainPairs():
            return _train_pairs(job, device)
        case TrainLanguage():
            return _train_language(job, device, way == "compiled")
        case Write() if job.beam == 1:
            return _write(job, folder, device)
        case _:
            raise UnableError("it brings no search")


def _train_pairs(job: TrainPairs, device: str) -> Turn:
    work = pair_batches(job, BATCHES)
    ours = built(translator(job.size, job.dropout), job.size.vocabulary)
    model = same(ours, job.size, job.dropout).to(device).train()

    def loss(i: int) -> Tensor:
        sources, targets = zip(*work[i], strict=True)
        none_BS = padded([[False] * len(row) for row in sources], True, device)
        memory = model.read(padded(sources, PAD, device), none_BS)
        hidden = model.say(padded(given(targets), PAD, device), memory, none_BS)
        return F.cross_entropy(model.scores(hidden).flatten(0, 1), padded(targets, -100, device).flatten())

    return steps(model, loss, [sum(len(target) for _, target in batch) for batch in work], device)


class Text(nn.Module):
    """A decoder alone, which for torch.nn is an encoder with a mask; norms before, GELU."""

    def __init__(self, job: TrainLanguage) -> None:
        super().__init__()
        size = job.size
        layer = nn.TransformerEncoderLayer(
            size.width, size.heads, 4 * size.width, job.dropout, nn.GELU("tanh"), batch_first=True, norm_first=True
        )
        self.body = nn.TransformerEncoder(layer, size.depth, nn.LayerNorm(size.width), enable_nested_tensor=False)
        self.embedding, self.places = nn.Embedding(size.vocabulary, size.width), nn.Embedding(job.context, size.width)
        self.dropout = nn.Dropout(job.dropout)

    def forward(self, x_BT: Tensor) -> Tensor:
        x = self.dropout(self.embedding(x_BT) + self.places.weight[: x_BT.shape[1]])
        mask = nn.Transformer.generate_square_subsequent_mask(x_BT.shape[1], device=x_BT.device)
        return F.linear(self.body(x, mask, is_causal=True), self.embedding.weight)


def _train_language(job: TrainLanguage, device: str, compiled: bool) -> Turn:
    work = [rows_BT.to(device) for rows_BT in windows(job, BATCHES)]
    torch.manual_seed(0)
    model = Text(job)
    ours = built(language_model(job.size, job.context, job.dropout), job.size.vocabulary)
    _same_text(ours, model)
    model = model.to(device).train()
    run = torch.compile(model) if compiled else model

    def loss(i: int) -> Tensor:
        return F.cross_entropy(run(work[i][:, :-1]).flatten(0, 1), work[i][:, 1:].flatten())

    return steps(model, loss, [job.rows * job.context] * len(work), device)


@torch.no_grad()
def _same_text(ours: nn.Module, theirs: Text) -> None:
    theirs.embedding.weight.copy_(ours.input.embedding.weight_VD)
    theirs.places.weight.copy_(ours.input.positions.weight_PD)
    for of, to in zip(ours.decoder.blocks, theirs.body.layers, strict=True):
        _attention(of.mixer.heads.qkv, of.mixer.heads.out, to.self_attn)
        inner = of.feed_forward.layer
        for mine, its in (inner.inputs, to.linear1), (inner.out, to.linear2):
            its.load_state_dict(mine.state_dict())
        for around, norm in (of.around_mixer, to.norm1), (of.around_feed_forward, to.norm2):
            norm.weight.copy_(around.norm_in.gain_D)
            norm.bias.copy_(around.norm_in.bias_D)
    theirs.body.norm.weight.copy_(ours.decoder.norm.gain_D)
    theirs.body.norm.bias.copy_(ours.decoder.norm.bias_D)


def _write(job: Write, folder: Path, device: str) -> Turn:
    opened = seqloom.load(copying_run(job.size, folder), device="cpu")
    ours = built(translator(job.size), job.size.vocabulary)
    ours.load_state_dict(opened.networks[0].state_dict())
    model, task = same(ours, job.size, 0.0).to(device).eval(), opened.task

    @torch.inference_mode()
    def write(texts: list[str]) -> list[str]:
        rows = [[*row, END] for row in task.codecs.source.encode(list(texts))]
        none_BS = padded([[False] * len(row) for row in rows], True, device)
        memory = model.read(padded(rows, PAD, device), none_BS)
        said_BT = torch.full((len(rows), 1), BEGIN, device=device)
        done_B = torch.zeros(len(rows), dtype=torch.bool, device=device)
        while not done_B.all() and said_BT.shape[1] <= 101:
            next_B = model.scores(model.say(said_BT, memory, none_BS)[:, -1]).argmax(-1)
            said_BT = torch.cat((said_BT, next_B.masked_fill(done_B, END)[:, None]), 1)
            done_B = done_B | (next_B == END)
        return task.target.decode_many([[token for token in row if token > END] for row in said_BT.tolist()])

    return batched(job, write)
