"""x-transformers, with flash attention (SDPA). Its weights are its own: no biases, and scaled sinusoids.

So what it writes means nothing, and each batch gets as many steps as the longest of its sentences needs.
"""

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper, XTransformer

from race.systems.learning import steps
from race.systems.own import BATCHES
from race.work import (  # fmt: skip
    BEGIN,
    PAD,
    Job,
    Sample,
    Size,
    Told,
    TrainLanguage,
    TrainPairs,
    Turn,
    UnableError,
    Write,
    given,
    padded,
    pair_batches,
    token_batches,
    windows,
)


def ready(job: Job, folder: Path, device: str) -> Turn:
    torch.manual_seed(0)
    match job:
        case TrainPairs():
            return _train_pairs(job, device)
        case TrainLanguage():
            work = [rows_BT.to(device) for rows_BT in windows(job, BATCHES)]
            model = _text(job.size, job.context, job.dropout).to(device).train()

            def loss(i: int) -> Tensor:
                return F.cross_entropy(model(work[i][:, :-1]).flatten(0, 1), work[i][:, 1:].flatten())

            return steps(model, loss, [job.rows * job.context] * len(work), device)
        case Write() if job.beam == 1:
            return _write(job, device)
        case Write():
            raise UnableError("it brings no beam search that keeps its cache")
        case Sample():
            model = AutoregressiveWrapper(_text(job.size, job.context, 0.0)).to(device).eval()
            x_BT = torch.randint(5, job.size.vocabulary, (job.streams, job.prompt + 1), device=device)

            def turn(i: int) -> Told:
                out = model.generate(x_BT, job.tokens, cache_kv=True, filter_logits_fn=lambda logits: logits)
                return Told(out.numel())

            return turn


def _stack(size: Size, dropout: float, prefix: str = "") -> dict[str, object]:
    kinds = {"depth": size.depth, "heads": size.heads, "attn_dim_head": size.width // size.heads, "attn_flash": True}
    kinds |= {"attn_dropout": dropout, "ff_dropout": dropout}
    return {prefix + name: value for name, value in kinds.items()}


def _text(size: Size, context: int, dropout: float) -> TransformerWrapper:
    return TransformerWrapper(
        num_tokens=size.vocabulary,
        max_seq_len=context,
        emb_dropout=dropout,
        tie_embedding=True,
        attn_layers=Decoder(dim=size.width, **_stack(size, dropout)),
    )


def _pairs(size: Size, dropout: float) -> XTransformer:
    ends = {"num_tokens": size.vocabulary, "max_seq_len": 256, "emb_dropout": dropout, "scaled_sinu_pos_emb": True}
    both = {f"{side}_{name}": value for side in ("enc", "dec") for name, value in ends.items()}
    both |= _stack(size, dropout, "enc_") | _stack(size, dropout, "dec_")
    return XTransformer(dim=size.width, tie_token_emb=True, pad_value=PAD, **both)


def _train_pairs(job: TrainPairs, device: str) -> Turn:
    work, model = pair_batches(job, BATCHES), _pairs(job.size, job.dropout).to(device).train()

    def loss(i: int) -> Tensor:
        sources, targets = zip(*work[i], strict=True)
        real = padded([[True] * len(row) for row in sources], False, device)
        memory = model.encoder(padded(sources, PAD, device), mask=real, return_embeddings=True)
        said = model.decoder.net(padded(given(targets), PAD, device), context=memory, context_mask=real)
        return F.cross_entropy(said.flatten(0, 1), padded(targets, -100, device).flatten())

    return steps(model, loss, [sum(len(target) for _, target in batch) for batch in work], device)


def _write(job: Write, device: str) -> Turn:
    model = _pairs(job.size, 0.0).to(device).eval()
    parts = token_batches(job)

    def turn(i: int) -> Told:
        for part in parts:
            real = padded([[True] * len(row) for row in part], False, device)
            begin = torch.full((len(part), 1), BEGIN, device=device)
            model.generate(
                padded(part, PAD, device), begin, max(map(len, part)), mask=real, temperature=0.0, cache_kv=True
            )
        return Told(sum(len(row) for part in parts for row in part))

    return turn
