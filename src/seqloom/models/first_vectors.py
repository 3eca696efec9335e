"""Begin from word vectors that a recipe names."""

from collections.abc import Sequence

from seqloom.layers.embedding import TokenEmbedding, Tokens
from seqloom.layers.images import ImageEmbedding
from seqloom.layers.word_vectors import start_from_file
from seqloom.models.build import Model
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.input import Input


def start_vectors(model: Model, words: Sequence[str], target_words: Sequence[str] | None = None) -> dict[str, int]:
    """Copy word vectors from the files that the settings name into a new model; word i is token i.

    Returns how many words of each input were found: {} if no file is named. A model that is loaded from a run has its
    vectors already and needs no file.
    """
    found = {}
    for name, part, settings, known in _inputs(model, words, target_words):
        if isinstance(part.embedding, ImageEmbedding) and known is not None:
            part.embedding.learn(known)
        if isinstance(settings, Tokens) and settings.vectors is not None:
            if known is None:
                raise ValueError(f"the {name} begins from {settings.vectors}, so its words are needed")
            assert isinstance(part.embedding, TokenEmbedding)
            found[name] = start_from_file(part.embedding, settings.vectors, known)
    return found


def _inputs(
    model: Model, words: Sequence[str], target_words: Sequence[str] | None
) -> list[tuple[str, Input, object, Sequence[str] | None]]:
    if not isinstance(model, EncoderDecoder):
        return [("input", model.input, model.settings.input, words)]
    source = ("source", model.source, model.settings.input, words)
    # what is read back begins from a file only if its own settings name one: its words may be of another language
    if model.settings.tie in ("inputs", "all") or model.settings.target_input is None:
        return [source]
    return [source, ("target", model.target, model.settings.target_input, target_words)]
