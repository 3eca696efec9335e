"""JoeyNMT. Its weights are its own, and what it writes means nothing: a batch gets the steps that its longest needs."""

from pathlib import Path
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from joeynmt.model import Model, build_model
from joeynmt.search import beam_search, greedy
from joeynmt.vocabulary import Vocabulary
from torch import Tensor

from race.systems.learning import steps
from race.systems.own import BATCHES
from race.work import (  # fmt: skip
    FIRST,
    PAD,
    Job,
    Size,
    Told,
    TrainPairs,
    Turn,
    UnableError,
    Write,
    given,
    padded,
    pair_batches,
    token_batches,
    word,
)


def ready(job: Job, folder: Path, device: str) -> Turn:
    torch.manual_seed(0)
    match job:
        case TrainPairs():
            return _train(job, device)
        case Write():
            return _write(job, device)
        case _:
            raise UnableError("it has no language models")


def _model(size: Size, dropout: float) -> Model:
    marks = SimpleNamespace(
        unk_token="<unk>", pad_token="<pad>", bos_token="<s>", eos_token="</s>", sep_token=None, lang_tags=[],
        unk_id=0, pad_id=PAD, bos_id=2, eos_id=3, sep_id=None,
    )  # fmt: skip
    words = Vocabulary([word(token) for token in range(FIRST - 1, size.vocabulary)], marks)
    side = {
        "type": "transformer",
        "num_layers": size.depth,
        "num_heads": size.heads,
        "hidden_size": size.width,
        "ff_size": 4 * size.width,
        "dropout": dropout,
        "layer_norm": "post",
        "embeddings": {"embedding_dim": size.width, "scale": True, "dropout": dropout},
    }
    kinds = {"encoder": side, "decoder": side, "tied_embeddings": True, "tied_softmax": True}
    return build_model({**kinds, "initializer": "xavier_uniform", "embed_initializer": "xavier_uniform"}, words, words)


def _train(job: TrainPairs, device: str) -> Turn:
    work, model = pair_batches(job, BATCHES), _model(job.size, job.dropout).to(device).train()

    def loss(i: int) -> Tensor:
        sources, targets = zip(*work[i], strict=True)
        real = padded([[True] * len(row) for row in sources], False, device)[:, None]
        read = padded([[True] * len(row) for row in targets], False, device)[:, None]
        lengths = torch.tensor([len(row) for row in sources], device=device)
        said, *_ = model._encode_decode(
            padded(sources, PAD, device), padded(given(targets), PAD, device), real, lengths, trg_mask=read
        )
        return F.cross_entropy(said.flatten(0, 1), padded(targets, -100, device).flatten())

    return steps(model, loss, [sum(len(target) for _, target in batch) for batch in work], device)


def _write(job: Write, device: str) -> Turn:
    model = _model(job.size, 0.0).to(device).eval()
    parts = token_batches(job)

    @torch.inference_mode()
    def turn(i: int) -> Told:
        for part in parts:
            real = padded([[True] * len(row) for row in part], False, device)[:, None]
            lengths, longest = torch.tensor([len(row) for row in part], device=device), max(map(len, part))
            memory, hidden = model._encode(padded(part, PAD, device), lengths, real)
            if job.beam == 1:
                greedy(real, longest, model, memory, hidden, min_output_length=longest)
            else:
                beam_search(model, job.beam, memory, hidden, real, longest, alpha=1.0, min_output_length=longest)
        return Told(sum(len(row) for part in parts for row in part))

    return turn
