"""Eole. Its norms stand before the layers, its weights are its own, and it drops the hidden layer too."""

from pathlib import Path
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from eole.config.models import EmbeddingsConfig, TransformerModelConfig
from eole.models.model import EncoderDecoderModel
from torch import Tensor

from race.systems.learning import steps
from race.systems.own import BATCHES
from race.work import Job, Size, TrainPairs, Turn, UnableError, given, padded, pair_batches, word

PAD = 0  # it hides each token like this one, so it must not be the mark that a sentence begins with


def ready(job: Job, folder: Path, device: str) -> Turn:
    torch.manual_seed(0)
    match job:
        case TrainPairs():
            return _train(job, device)
        case _:
            raise UnableError("it is raced in training only")


def _model(size: Size, dropout: float) -> EncoderDecoderModel:
    settings = TransformerModelConfig(
        hidden_size=size.width,
        layers=size.depth,
        heads=size.heads,
        transformer_ff=4 * size.width,
        embeddings=EmbeddingsConfig(word_vec_size=size.width, position_encoding_type="SinusoidalInterleaved"),
        share_embeddings=True,
        share_decoder_embeddings=True,
        add_qkvbias=True,
        add_final_linear_bias=True,
        add_ffnbias=True,
    )
    words = {"<blank>": PAD} | {word(token): token for token in range(1, size.vocabulary)}
    running = SimpleNamespace(
        dropout=[dropout], attention_dropout=[dropout], self_attn_backend="pytorch", use_ckpting=[],
        quant_layers=[], quant_type="", lora_layers=[], lora_embedding=False, parallel_gpu=1,
        param_init_method="xavier_uniform",
    )  # fmt: skip
    model = EncoderDecoderModel.build(settings, {"src": words, "tgt": words, "specials": {}}, running)
    model.init_weights(running)
    return model


def _train(job: TrainPairs, device: str) -> Turn:
    work, model = pair_batches(job, BATCHES), _model(job.size, job.dropout).to(device).train()

    def loss(i: int) -> Tensor:
        sources, targets = zip(*work[i], strict=True)
        lengths = torch.tensor([len(row) for row in sources], device=device)
        # it takes the target with its end, which it cuts off
        read = F.pad(padded(given(targets), PAD, device), (0, 1), value=PAD)
        said = model.generator(model(padded(sources, PAD, device), read, lengths).dec_out)
        return F.cross_entropy(said.flatten(0, 1), padded(targets, -100, device).flatten())

    return steps(model, loss, [sum(len(target) for _, target in batch) for batch in work], device)
