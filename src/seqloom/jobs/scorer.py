"""What the search knows of the networks of a task: several write together."""

from collections.abc import Sequence

from seqloom.generation import PairScorer, Scorer, TextScorer
from seqloom.generation.ensemble import Ensemble
from seqloom.models.build import Model as Network
from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.tasks.language import LanguageTask
from seqloom.tasks.translate import TranslateTask
from seqloom.text import BEGIN, END


def scorer_of(task: TranslateTask | LanguageTask, networks: Sequence[Network]) -> Scorer:
    each = [_scorer(task, network) for network in networks]
    return each[0] if len(each) == 1 else Ensemble(each)


def _scorer(task: TranslateTask | LanguageTask, network: Network) -> Scorer:
    match task:
        case TranslateTask():
            assert isinstance(network, EncoderDecoder)
            return PairScorer(network, BEGIN, END, reverse=task.settings.reverse)
        case LanguageTask():
            assert isinstance(network, DecoderOnly)
            return TextScorer(network, BEGIN, END, framed=False)  # prompts come with what stands before them
