"""How likely a model finds the examples of a corpus, one by one."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from seqloom.data.cache import Examples
from seqloom.jobs.answering.answer import Scored, TextError
from seqloom.jobs.answering.scoring import Given, score
from seqloom.jobs.evaluating.carried_text import carried_log_probs
from seqloom.jobs.evaluating.scored_windows import Windows
from seqloom.jobs.model import Model
from seqloom.jobs.progress import share_bar
from seqloom.settings import UserError
from seqloom.tasks.language import LanguageTask
from seqloom.tasks.music import MusicTask
from seqloom.text import UNKNOWN, Vocabulary

TOGETHER = 256  # examples that are scored at once
ANSWERS_ALONE = ", or name metrics that need answers alone: --metrics exact"


@dataclass(frozen=True)
class Likelihood:
    """Of each example: its log-probability, tokens (end marks included) and characters (the line's end included).

    vocabulary: which one the tokens are of. lost: characters of all examples that it cannot write.
    reading: of running text, how it was read, in words. context: tokens that the model can read together.
    """

    log_probs: list[float]
    tokens: list[float]
    characters: list[float]
    vocabulary: str = ""
    lost: int = 0
    reading: str = ""
    context: int = 0

    @property
    def fault(self) -> str | None:
        """Why there are no bits per character: whoever need not tell characters apart would be paid for them."""
        if not self.lost:
            return None
        share = f"{100 * self.lost / sum(self.characters):.2g} %"
        return f"no bits/char: {share} of the characters cannot be written by its vocabulary"


def of_pairs(model: Model, sources: Sequence[str], targets: Sequence[str], places: Sequence[str]) -> Likelihood:
    """Of targets, given their sources. places: where each stands, for messages."""
    with share_bar("scoring the references") as moved:
        found = _scored(model, (sources, targets), places, ANSWERS_ALONE, moved)
    return _likelihood(model, [one.log_prob for one in found], [len(one.pieces) for one in found], targets)


def of_texts(model: Model, texts: Sequence[str], places: Sequence[str], windows: Windows | None = None) -> Likelihood:
    """Of lines; where they are parts of a running text, given what goes before them in a window."""
    task = model.task
    if isinstance(task, LanguageTask) and task.encoder.running:
        return _running(model, task, texts, windows)
    if isinstance(task, MusicTask):
        return _music(model, task, texts)
    with share_bar("scoring") as moved:
        found = _scored(model, (texts,), places, "", moved)
    return _likelihood(model, [one.log_prob for one in found], [len(one.pieces) for one in found], texts)


def _scored(
    model: Model,
    columns: Sequence[Sequence[str]],
    places: Sequence[str],
    more: str,
    moved: Callable[[float], None],
) -> list[Scored]:
    """more: what else can be done where a text cannot be scored."""
    found: list[Scored] = []
    for begin in range(0, len(places), TOGETHER):
        part = slice(begin, begin + TOGETHER)
        try:
            found += model.score(*(column[part] for column in columns))
        except TextError as error:
            raise UserError(f"{places[begin + error.number - 1]}: {error.why}{more}") from None
        moved(len(places[part]) / len(places))
    return found


def _running(model: Model, task: LanguageTask, texts: Sequence[str], windows: Windows | None) -> Likelihood:
    """Also the first token of all, which a validation takes as given. Models that carry their state on read the text as
    one, unless somebody asks for windows.
    """
    rows = task.encoder([list(texts)])["target"]
    ids_N, context = rows.values_N.astype(np.int64), task.settings.context
    carry = windows is None and all(one.task.streams is not None for one in model.opened)
    windows = windows or Windows(context)
    with share_bar("scoring") as moved:
        if carry:
            mark = task.encoder.before[-1]
            log_probs = carried_log_probs(model.networks, ids_N, mark, context, model.device, moved).tolist()
        else:
            log_probs = _in_windows(model, task, ids_N, windows, moved)
    ends, sums = np.cumsum(rows.lengths_B), np.concatenate(([0.0], np.cumsum(log_probs)))
    sums_B = sums[ends] - sums[ends - rows.lengths_B]
    found = _likelihood(model, sums_B.tolist(), rows.lengths_B.tolist(), texts)
    return replace(found, reading="as one text" if carry else windows.words, context=context)


def readings(likely: Mapping[str, Likelihood | None]) -> Iterator[str]:
    """That systems read the same running text in unlike ways, if they do."""
    each = {name: one for name, one in likely.items() if one is not None and one.reading}
    if len({one.reading for one in each.values()}) > 1:
        how = ", ".join(f"{name} {one.reading}" for name, one in each.items())
        least = min(one.context for one in each.values())
        yield (
            f"the text is read in unlike ways, and who sees more before a token foretells it better: {how}; "
            f"all in the same: --set evaluation.context={least} --set evaluation.stride={-(-least // 2)}"
        )


def _in_windows(
    model: Model, task: LanguageTask, ids_N: NDArray[np.int64], windows: Windows, moved: Callable[[float], None]
) -> list[float]:
    given = [Given(task.encoder.before[-1:], ids_N[:1].tolist()), *windows(ids_N)]
    log_probs: list[float] = []
    for begin in range(0, len(given), TOGETHER):
        part = given[begin : begin + TOGETHER]
        found = score(model.networks, part, task.vocabulary, model.device)
        log_probs += [piece.log_prob for one in found for piece in one.pieces]
        moved(len(part) / len(given))
    return log_probs


def _music(model: Model, task: MusicTask, texts: Sequence[str]) -> Likelihood:
    """In the parts of a validation: of a long piece, each part is read without what goes before it."""
    rows = task.encoder([list(texts)])["target"]
    number_B = np.arange(len(rows))
    parts = task.parts(Examples({"target": rows}, np.zeros_like(number_B), number_B), None)
    log_probs, tokens = np.zeros(len(rows)), np.zeros(len(rows))
    with share_bar("scoring") as moved:
        for part in range(len(parts)):
            first, *rest = parts.columns["target"][part].tolist()
            (found,) = score(model.networks, [Given([first], rest)], task.vocabulary, model.device)
            log_probs[parts.line_B[part]] += found.log_prob
            tokens[parts.line_B[part]] += len(rest)
            moved(1 / len(parts))
    return _likelihood(model, log_probs.tolist(), tokens.astype(int).tolist(), texts)


def _likelihood(model: Model, log_probs: Sequence[float], tokens: Sequence[int], texts: Sequence[str]) -> Likelihood:
    vocabulary = model.task.codecs.target
    assert isinstance(vocabulary, Vocabulary)
    return Likelihood(
        list(log_probs),
        [float(count) for count in tokens],
        [float(len(text) + 1) for text in texts],
        vocabulary.fingerprint,
        sum(lost_characters(vocabulary, texts)),
    )


def lost_characters(vocabulary: Vocabulary, texts: Sequence[str]) -> list[int]:
    """Of each text, how many the vocabulary does not give back: those of unknown pieces, capitals made small.

    White space does not count, nor which of Unicode's equal forms an accent has.
    """
    found = list[int]()
    for text, ids in zip(texts, vocabulary.encode(texts), strict=True):
        whole, back = _letters(text), _letters(vocabulary.decode(id for id in ids if id != UNKNOWN))
        same = back == whole and UNKNOWN not in ids
        # one at least: an unknown space is one, and so are letters that changed their places
        found.append(0 if same else max(1, (Counter(whole) - Counter(back)).total()))
    return found


def _letters(text: str) -> str:
    return "".join(unicodedata.normalize("NFC", text).split())
