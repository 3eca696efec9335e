"""OpenNMT-py. Its norms stand before the layers, its weights are its own, and it drops the hidden layer too."""

import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from race.systems.learning import steps
from race.systems.own import BATCHES
from race.work import Job, Size, TrainPairs, Turn, UnableError, given, padded, pair_batches

PAD = 0  # it hides each token like this one, so it must not be the mark that a sentence begins with


def ready(job: Job, folder: Path, device: str) -> Turn:
    torch.manual_seed(0)
    match job:
        case TrainPairs():
            return _train(job, device)
        case _:
            raise UnableError("it is raced in training only")


def _model(size: Size, dropout: float) -> tuple[nn.Module, nn.Linear]:
    """What reads and writes, and what its states are scored with."""
    with suppress(ImportError):
        import_module("spacy")
    # only a way to prepare terms needs it, and its newer builds cannot be imported everywhere
    sys.modules.setdefault("spacy", ModuleType("spacy"))
    from onmt.decoders.transformer import TransformerDecoder
    from onmt.encoders.transformer import TransformerEncoder
    from onmt.models import NMTModel
    from onmt.modules import Embeddings

    made = [Embeddings(size.width, size.vocabulary, PAD, position_encoding=True, dropout=dropout) for _ in range(2)]
    made[1].word_lut.weight = made[0].word_lut.weight
    shape, rates = (size.depth, size.width, size.heads, 4 * size.width), (dropout, dropout)
    encoder = TransformerEncoder(*shape, *rates, made[0], 0, 0, add_qkvbias=True)
    absolute, unaligned = (0, 0), (False, False, 0, 0)
    decoder = TransformerDecoder(
        *shape, False, "scaled-dot-flash", *rates, made[1], *absolute, *unaligned, add_qkvbias=True
    )
    model = NMTModel(encoder, decoder)
    scores = nn.Linear(size.width, size.vocabulary)
    scores.weight = made[0].word_lut.weight
    for part in model.modules():
        if isinstance(part, nn.Linear):
            part.reset_parameters()  # it leaves that to whoever builds it
    nn.init.xavier_uniform_(scores.weight)  # its option param_init_glorot
    return model, scores


def _train(job: TrainPairs, device: str) -> Turn:
    work, (model, scores) = pair_batches(job, BATCHES), _model(job.size, job.dropout)
    both = nn.ModuleList([model, scores]).to(device).train()

    def loss(i: int) -> Tensor:
        sources, targets = zip(*work[i], strict=True)
        lengths = torch.tensor([len(row) for row in sources], device=device)
        # it takes the target with its end, which it cuts off
        read = F.pad(padded(given(targets), PAD, device), (0, 1), value=PAD)
        hidden, _ = model(padded(sources, PAD, device)[:, :, None], read[:, :, None], lengths)
        return F.cross_entropy(scores(hidden).flatten(0, 1), padded(targets, -100, device).flatten())

    return steps(both, loss, [sum(len(target) for _, target in batch) for batch in work], device)
