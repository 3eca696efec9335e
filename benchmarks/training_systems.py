"""What trains in benchmarks/training_step.py: seqloom and its peers, each built to the same sizes.

A system is a model and a function from a batch to its loss. Peers are used as their manuals say: SDPA where they have
it, batches padded to their longest row, the mean loss over real tokens. All have tied vectors. Where they drop differs:
torch.nn.Transformer and OpenNMT-py drop the feed-forward part's hidden layer too, x-transformers that instead of the
sums.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from race.work import Size

Pair = tuple[list[int], list[int]]
Step = Callable[[Any], Tensor]  # the loss of a batch
START, PAD, NO = 0, 1, -100


@dataclass(frozen=True)
class Trained(Size):
    """context: of a language model; 0: a translation model."""

    dropout: float
    context: int = 0


def padded(rows: list[list[int]], fill: int) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([row + [fill] * (width - len(row)) for row in rows])


def sides(batch: list[Pair]) -> tuple[Tensor, Tensor, Tensor]:
    """Sources, targets as they are given, targets as they are wanted."""
    sources, targets = [source for source, _ in batch], [target for _, target in batch]
    return padded(sources, PAD), padded([[START, *row[:-1]] for row in targets], PAD), padded(targets, NO)


def seqloom(size: Trained) -> tuple[nn.Module, Step]:
    from seqloom.layers.layout import Packed, Padded
    from seqloom.models.build import build_model
    from seqloom.models.settings import ModelSettings
    from seqloom.models.sizes import Sizes
    from seqloom.training.freed_memory import keep_freed_memory

    keep_freed_memory()  # as every run of seqloom on a CPU does
    translates = not size.context
    settings = {
        "family": "encoder-decoder" if translates else "decoder-only",
        "width": size.width,
        "depth": size.depth,
        "mixer": {"kind": "attention", "heads": size.heads, "dropout": size.dropout},
        "feed_forward": {"kind": "dense", "activation": "relu" if translates else "gelu-tanh"},
        "norm": {"kind": "layer", "place": "post" if translates else "pre"},
        "positions": {"kind": "sinusoidal"} if translates else {"kind": "learned", "length": size.context},
        "input": {"kind": "tokens", "scale": translates},
        "dropout": size.dropout,
        "tie": "all",
    }
    model: Any = build_model(ModelSettings.model_validate(settings), Sizes(size.vocabulary, size.vocabulary)).train()

    def translated(batch: list[Pair]) -> Tensor:
        sources, targets = zip(*batch, strict=True)
        source, goal = (torch.tensor([token for row in rows for token in row]) for rows in (sources, targets))
        given = torch.tensor([token for row in targets for token in [START, *row[:-1]]])
        source_layout, target_layout = (Packed.of([len(row) for row in rows]) for rows in (sources, targets))
        output = model(source, source_layout, given, target_layout)
        loss: Tensor = model.head.loss(output.hidden, target_layout, goal) / len(goal)
        return loss

    def continued(batch: Tensor) -> Tensor:
        x_BT, goal_BT = batch[:, :-1], batch[:, 1:]
        output = model(x_BT, Padded.whole(*x_BT.shape))
        loss: Tensor = model.head.loss(output.hidden, output.layout, goal_BT) / goal_BT.numel()
        return loss

    return model, translated if translates else continued


def marian(size: Trained) -> tuple[nn.Module, Step]:
    from transformers import MarianConfig, MarianMTModel

    parts = {
        f"{side}_{what}": value
        for side in ("encoder", "decoder")
        for what, value in (("layers", size.depth), ("attention_heads", size.heads), ("ffn_dim", 4 * size.width))
    }
    config = MarianConfig(
        vocab_size=size.vocabulary,
        d_model=size.width,
        activation_function="relu",
        dropout=size.dropout,
        attention_dropout=size.dropout,
        activation_dropout=0.0,
        scale_embedding=True,
        pad_token_id=PAD,
        decoder_start_token_id=START,
        eos_token_id=2,
        attn_implementation="sdpa",
        use_cache=False,
        **parts,
    )
    model = MarianMTModel(config).train()

    def step(batch: list[Pair]) -> Tensor:
        source, given, labels = sides(batch)
        mask = (source != PAD).long()
        loss: Tensor = model(input_ids=source, attention_mask=mask, decoder_input_ids=given, labels=labels).loss
        return loss

    return model, step


class TorchTransformer(nn.Module):
    def __init__(self, size: Trained) -> None:
        super().__init__()
        self.width = size.width
        self.tokens = nn.Embedding(size.vocabulary, size.width)
        self.body = nn.Transformer(
            size.width, size.heads, size.depth, size.depth, 4 * size.width, size.dropout, batch_first=True
        )
        # with torch's own deviation of 1 the scores lie so far apart that products meet numbers too small to be normal,
        # which take many times as long
        nn.init.normal_(self.tokens.weight, std=size.width**-0.5)
        self.dropout = nn.Dropout(size.dropout)
        self.register_buffer("at_TD", torch.randn(512, size.width))

    def read(self, tokens: Tensor) -> Tensor:
        return self.dropout(self.tokens(tokens) * self.width**0.5 + self.at_TD[: tokens.shape[1]])

    def forward(self, source: Tensor, given: Tensor) -> Tensor:
        hidden, causal = source == PAD, nn.Transformer.generate_square_subsequent_mask(given.shape[1], dtype=torch.bool)
        made = self.body(
            self.read(source),
            self.read(given),
            tgt_mask=causal,
            src_key_padding_mask=hidden,
            tgt_key_padding_mask=given == PAD,
            memory_key_padding_mask=hidden,
            tgt_is_causal=True,
        )
        return F.linear(made, self.tokens.weight)


def torch_nn(size: Trained) -> tuple[nn.Module, Step]:
    model = TorchTransformer(size).train()

    def step(batch: list[Pair]) -> Tensor:
        source, given, labels = sides(batch)
        return F.cross_entropy(model(source, given).flatten(0, 1), labels.flatten())

    return model, step


def gpt2(size: Trained) -> tuple[nn.Module, Step]:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=size.vocabulary,
        n_positions=size.context,
        n_embd=size.width,
        n_layer=size.depth,
        n_head=size.heads,
        activation_function="gelu_pytorch_tanh",  # the same function as its default, in one kernel
        resid_pdrop=size.dropout,
        embd_pdrop=size.dropout,
        attn_pdrop=size.dropout,
        attn_implementation="sdpa",
        use_cache=False,
        bos_token_id=0,
        eos_token_id=0,
    )
    model = GPT2LMHeadModel(config).train()

    def step(batch: Tensor) -> Tensor:
        return F.cross_entropy(model(batch[:, :-1]).logits.flatten(0, 1), batch[:, 1:].flatten())

    return model, step


class PlainBlock(nn.Module):
    """As small GPT trainings are written by hand: one map for queries, keys and values, torch's own attention."""

    def __init__(self, size: Trained) -> None:
        super().__init__()
        self.heads, self.dropout = size.heads, size.dropout
        self.norms = nn.ModuleList([nn.LayerNorm(size.width) for _ in range(2)])
        self.qkv, self.joined = nn.Linear(size.width, 3 * size.width), nn.Linear(size.width, size.width)
        self.wide, self.narrow = nn.Linear(size.width, 4 * size.width), nn.Linear(4 * size.width, size.width)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(self.norms[0](x)).chunk(3, -1)
        )
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout, is_causal=True)
        x = x + F.dropout(self.joined(y.transpose(1, 2).flatten(2)), self.dropout)
        y = self.narrow(F.gelu(self.wide(self.norms[1](x)), approximate="tanh"))
        return x + F.dropout(y, self.dropout)


class PlainGPT(nn.Module):
    def __init__(self, size: Trained) -> None:
        super().__init__()
        self.tokens, self.places = (
            nn.Embedding(size.vocabulary, size.width),
            nn.Embedding(size.context, size.width),
        )
        self.blocks = nn.Sequential(*(PlainBlock(size) for _ in range(size.depth)))
        self.norm, self.dropout = nn.LayerNorm(size.width), size.dropout
        nn.init.normal_(self.tokens.weight, std=0.02)

    def forward(self, tokens: Tensor, goal: Tensor) -> Tensor:
        x = self.tokens(tokens) + self.places.weight[: tokens.shape[1]]
        scores = F.linear(self.norm(self.blocks(F.dropout(x, self.dropout))), self.tokens.weight)
        return F.cross_entropy(scores.flatten(0, 1), goal.flatten())


def plain_gpt(size: Trained, compiled: bool = False) -> tuple[nn.Module, Step]:
    model = PlainGPT(size).train()
    called: Callable[..., Tensor] = torch.compile(model) if compiled else model
    return model, lambda batch: called(batch[:, :-1], batch[:, 1:])


def compiled_gpt(size: Trained) -> tuple[nn.Module, Step]:
    return plain_gpt(size, compiled=True)


def x_transformers(size: Trained) -> tuple[nn.Module, Step]:
    from x_transformers import Decoder, Encoder, TransformerWrapper

    dropped = {"attn_dropout": size.dropout, "ff_dropout": size.dropout, "attn_flash": True}
    shape = {"dim": size.width, "depth": size.depth, "heads": size.heads, "attn_dim_head": size.width // size.heads}
    wrapped = {"num_tokens": size.vocabulary, "max_seq_len": size.context or 128, "tie_embedding": True}
    writer = Decoder(**shape, **dropped, cross_attend=not size.context)
    decoder = TransformerWrapper(**wrapped, emb_dropout=size.dropout, attn_layers=writer)
    if size.context:

        def continued(batch: Tensor) -> Tensor:
            return F.cross_entropy(decoder(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())

        return decoder.train(), continued
    reader = Encoder(**shape, **dropped)
    encoder = TransformerWrapper(**wrapped, emb_dropout=size.dropout, attn_layers=reader)
    encoder.token_emb = decoder.token_emb

    def step(batch: list[Pair]) -> Tensor:
        source, given, labels = sides(batch)
        seen = source != PAD
        memory = encoder(source, mask=seen, return_embeddings=True)
        scores = decoder(given, mask=given != PAD, context=memory, context_mask=seen)
        return F.cross_entropy(scores.flatten(0, 1), labels.flatten(), ignore_index=NO)

    return nn.ModuleList([encoder, decoder]).train(), step


def joeynmt(size: Trained) -> tuple[nn.Module, Step]:
    from joeynmt.model import build_model
    from joeynmt.vocabulary import Vocabulary

    names = {"unk": "<unk>", "pad": "<pad>", "bos": "<s>", "eos": "</s>"}
    special = {f"{name}_token": text for name, text in names.items()} | {f"{n}_id": i for i, n in enumerate(names)}
    special |= {"sep_token": None, "sep_id": None, "lang_tags": []}
    words = Vocabulary([f"w{i}" for i in range(size.vocabulary - 4)], SimpleNamespace(**special))
    side = {
        "type": "transformer",
        "num_layers": size.depth,
        "num_heads": size.heads,
        "embeddings": {"embedding_dim": size.width, "scale": True, "dropout": size.dropout},
        "hidden_size": size.width,
        "ff_size": 4 * size.width,
        "dropout": size.dropout,
        "layer_norm": "post",
    }
    model: Any = build_model(
        {"encoder": side, "decoder": side, "tied_embeddings": True, "tied_softmax": True}, words, words
    )
    model.loss_function = ("crossentropy", 0.0)
    model.train()

    def step(batch: list[Pair]) -> Tensor:
        source, given, _ = sides(batch)
        wanted = padded([target for _, target in batch], PAD)
        lengths = torch.tensor([len(row) for row, _ in batch])
        made = model(
            return_type="loss",
            src=source,
            trg_input=given,
            trg=wanted,
            src_mask=(source != PAD)[:, None],
            src_length=lengths,
            trg_mask=(given != PAD)[:, None],
        )
        loss: Tensor = made[0] / int((wanted != PAD).sum())
        return loss

    return model, step


def opennmt(size: Trained) -> tuple[nn.Module, Step]:
    with suppress(ImportError):
        import_module("spacy")
    # only a way to prepare terms needs it, and its newer builds cannot be imported everywhere
    sys.modules.setdefault("spacy", ModuleType("spacy"))
    from onmt.decoders.transformer import TransformerDecoder
    from onmt.encoders.transformer import TransformerEncoder
    from onmt.models import NMTModel
    from onmt.modules import Embeddings

    made = [
        Embeddings(size.width, size.vocabulary, PAD, position_encoding=True, dropout=size.dropout) for _ in range(2)
    ]
    made[1].word_lut.weight = made[0].word_lut.weight
    shape = size.depth, size.width, size.heads, 4 * size.width
    rates = size.dropout, size.dropout
    encoder = TransformerEncoder(*shape, *rates, made[0], 0, 0, add_qkvbias=True)
    absolute, unaligned = (0, 0), (False, False, 0, 0)
    decoder = TransformerDecoder(
        *shape, False, "scaled-dot-flash", *rates, made[1], *absolute, *unaligned, add_qkvbias=True
    )
    model: Any = NMTModel(encoder, decoder).train()
    scores = nn.Linear(size.width, size.vocabulary)
    scores.weight = made[0].word_lut.weight
    for part in model.modules():
        if isinstance(part, nn.Linear):
            part.reset_parameters()  # it leaves that to whoever builds it
    nn.init.xavier_uniform_(scores.weight)  # its option param_init_glorot

    def step(batch: list[Pair]) -> Tensor:
        source, given, labels = sides(batch)
        lengths = torch.tensor([len(row) for row, _ in batch])
        # it takes the target with its end, which it cuts off
        hidden, _ = model(source[:, :, None], F.pad(given, (0, 1), value=PAD)[:, :, None], lengths)
        return F.cross_entropy(scores(hidden).flatten(0, 1), labels.flatten(), ignore_index=NO)

    return nn.ModuleList([model, scores]), step


SYSTEMS: dict[str, Callable[[Trained], tuple[nn.Module, Step]]] = {
    "seqloom": seqloom,
    "transformers (Marian, SDPA)": marian,
    "torch.nn.Transformer": torch_nn,
    "x-transformers": x_transformers,
    "JoeyNMT": joeynmt,
    "OpenNMT-py": opennmt,
    "transformers (GPT-2, SDPA)": gpt2,
    "nanoGPT-like": plain_gpt,
    "nanoGPT-like, compiled": compiled_gpt,
}
