"""What the search knows of the networks of a task: several write together."""

from collections.abc import Sequence

import torch

from seqloom.generation import PairScorer, Scorer, TextScorer
from seqloom.generation.ensemble import Ensemble
from seqloom.models.build import Model as Network
from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.tasks.joined import JoinedTask
from seqloom.tasks.language import LanguageTask
from seqloom.tasks.translate import TranslateTask
from seqloom.text import BEGIN, END, MASK, SEPARATOR, UNKNOWN

MARKS = (BEGIN, MASK, SEPARATOR)
"""They stand for no text, and are not written."""


def scorer_of(
    task: TranslateTask | LanguageTask,
    networks: Sequence[Network],
    *,
    unknown: bool = False,
    marks: bool = False,
    half: torch.dtype | None = None,
) -> Scorer:
    """unknown: the unknown token may be written, because it will be replaced.

    marks: all may be written, for samples that are as likely as the model says. half: the networks are `in_half`.
    """
    never = () if marks else MARKS if unknown else (*MARKS, UNKNOWN)
    each = [_scorer(task, network, never, half) for network in networks]
    return each[0] if len(each) == 1 else Ensemble(each)


def _scorer(
    task: TranslateTask | LanguageTask, network: Network, never: Sequence[int], half: torch.dtype | None
) -> Scorer:
    match task:
        case JoinedTask():
            assert isinstance(network, DecoderOnly)
            reverse = task.settings.reverse
            return TextScorer(network, BEGIN, END, never=never, separator=SEPARATOR, reverse=reverse, half=half)
        case TranslateTask():
            assert isinstance(network, EncoderDecoder)
            return PairScorer(network, BEGIN, END, never=never, reverse=task.settings.reverse, half=half)
        case LanguageTask():
            assert isinstance(network, DecoderOnly)
            # prompts come with what stands before them
            return TextScorer(network, BEGIN, END, never=never, framed=False, half=half)
