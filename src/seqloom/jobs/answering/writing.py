"""Answers that are written token by token: translations, continuations."""
# T written tokens  S source positions

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch

from seqloom.generation.contract import Item, Scorer, Written
from seqloom.generation.drawing import Drawing, is_drawn
from seqloom.generation.greedy import Greedy, is_greedy
from seqloom.generation.scorer import PairScorer, TextScorer, shortlist_of
from seqloom.generation.search import impossible_item, write, write_steps
from seqloom.generation.settings import LONGEST, GenerationSettings
from seqloom.generation.static_writing import Static, is_static
from seqloom.generation.unknown import decode_replacing
from seqloom.generation.writing import Writing
from seqloom.jobs.answering.alignment import word_pairs
from seqloom.jobs.answering.answer import CERTAIN, EMPTY, Answer, Piece, Question, Scored, TextError, Wanted, settled
from seqloom.jobs.answering.engine_trial import Write
from seqloom.jobs.answering.engines import Engines
from seqloom.jobs.answering.forbidden_text import ForbiddenText
from seqloom.jobs.answering.precisions import Precisions
from seqloom.jobs.answering.reranking import candidates_of, reranked
from seqloom.jobs.answering.scorer import scorer_of
from seqloom.jobs.answering.scoring import Given, score
from seqloom.jobs.answering.streaming import behind
from seqloom.jobs.answering.wishes import must_not_of, must_of, prefix_of
from seqloom.jobs.recipes.recipe import learned_positions
from seqloom.layers.shortlist import Shortlist
from seqloom.models.build import Model as Network
from seqloom.settings import UserError
from seqloom.settings.words import show
from seqloom.tasks.language import LanguageTask
from seqloom.tasks.music import MusicTask
from seqloom.tasks.translate import TranslateTask
from seqloom.text import END, SEPARATOR, UNKNOWN, Vocabulary

BUDGET = 32_768
"""Source tokens before the eyes of all hypotheses together: a very long line is written with few others, or alone."""
GPU_ROWS, GPU_TIMES = 4096, 16  # hypotheses that a GPU writes together by heart, and times that budget
MANY = 64  # questions; for fewer it takes longer to make a shortlist than it saves
MORE, TIMES = 50, 2  # how long an answer may get, if nothing is said: see `usual`


@dataclass(frozen=True)
class Prepared:
    """A question as the search takes it. item: None: there is nothing to answer. cut: tokens that were left out."""

    number: int
    question: Question
    item: Item | None
    cut: int = 0

    @property
    def tokens(self) -> Sequence[int]:
        """Of the source, where there is something to answer."""
        assert self.item is not None
        return self.item.source


def part_empty(
    asked: Sequence[Prepared], answer: Answer = EMPTY
) -> tuple[list[tuple[int, list[Answer]]], list[Prepared]]:
    """The answers where there is nothing to answer, by number; and the others."""
    empty = [(one.number, [answer]) for one in asked if one.item is None]
    return empty, [one for one in asked if one.item is not None]


def nothing_said(asked: Prepared) -> Answer:
    """The answer where there is nothing to answer; it meets no wish."""
    wished = (asked.question.prefix, *asked.question.must)
    return replace(EMPTY, unmet=tuple(phrase for phrase in wished if phrase))


class Writer:
    """networks: several write together, by the mean of their probabilities. seen: tokens that an example had at most
    when they learnt. reads: tokens of a source at most. half: they learnt in bf16. longest: of an answer, as their
    recipe says."""

    def __init__(
        self,
        task: TranslateTask | LanguageTask,
        networks: Sequence[Network],
        device: torch.device,
        seen: int,
        reads: int | None = None,
        half: bool = False,
        longest: int | None = None,
    ) -> None:
        self.task, self.networks, self.device, self.seen = task, networks, device, seen
        self.target: Vocabulary = task.target if isinstance(task, TranslateTask) else task.vocabulary
        self.longest = longest
        self.precisions = Precisions(networks, device, half)
        self._asked = 0
        self._scorers: dict[tuple[object, ...], Scorer] = {}
        self._statics: dict[tuple[int, ...], Static] = {}
        self._shortlists: dict[tuple[int, ...], Shortlist | None] = {}
        self.engines = Engines(task, networks, device)
        self.most_read = sys.maxsize if reads is None else reads
        self.reads = room(networks, "encoder") - 1  # an end mark follows
        self.writes = room(networks, "decoder") - 1  # a begin mark goes before, or a separator

    def prepare(self, question: Question, number: int, settings: GenerationSettings) -> Prepared:
        """A UserError if the answer cannot be as it is wished."""
        if not isinstance(question.source, str):
            raise UserError("the source should be text, but is a list")
        if isinstance(self.task, LanguageTask):
            whole = self._prompt(self.task, question.source)
        elif question.source.strip():
            whole = self.task.codecs.vocabulary.encode([question.source])[0]
        else:
            return Prepared(number, question, None)
        longest = min(question.longest or settings.longest or usual(len(whole), self.seen), LONGEST)
        source, longest = self._fitting(whole, longest)
        shortest, must_not = min(settings.shortest, longest), must_not_of(question, self.target)
        wishes = prefix_of(question, self.target), must_of(question, self.target), must_not
        # a limit that somebody wishes for now cuts; that of a recipe only ends a search
        cuts = question.longest is not None or settings.longest not in (None, self.longest)
        item = Item(source, number, longest, shortest, *wishes, cuts=cuts)
        why = impossible_item(item, candidates_of(settings), lambda phrase: repr(self.target.decode(phrase)))
        if why is not None:
            raise UserError(why)
        if must_not:
            item = replace(item, refuses=self._refuses(item))
        marks = len(self.task.encoder.before) if isinstance(self.task, LanguageTask) else 0
        return Prepared(number, question, item, max(0, len(whole) - len(source) - marks))

    def _refuses(self, item: Item) -> Callable[[Sequence[int]], bool]:
        """Whether an answer holds what it must not, with whatever tokens. A UserError, if it has to hold it."""
        forbidden = ForbiddenText.of(self.target.decode_many(item.must_not), self.target)
        for phrase in filter(None, (item.prefix, *item.must)):
            text = self.target.decode(phrase)
            for held in forbidden.held(text):
                raise UserError(f"{text!r} must be there, but holds {held!r}, which must not")
        return lambda tokens: bool(forbidden.held(self.text(item, tokens)))

    def _prompt(self, task: LanguageTask, text: str) -> list[int]:
        """Never empty: a text alone is scored behind the same mark, so that its parts' scores add up to its own."""
        ids = task.encoder.begun(text)
        if UNKNOWN in ids and isinstance(task, MusicTask):  # which no piece of music holds, whatever was learnt
            strange = next(word for word in text.split() if UNKNOWN in task.vocabulary.encode([word])[0])
            known = task.vocabulary.pieces([SEPARATOR + 1])[0]
            raise UserError(f"{show(strange)} is no event of music, such as {known}; prompts are events, or MIDI files")
        return [*task.encoder.before, *ids]

    @property
    def _reversed(self) -> bool:
        return isinstance(self.task, TranslateTask) and self.task.settings.reverse

    def _fitting(self, source: Sequence[int], longest: int) -> tuple[Sequence[int], int]:
        """What learned positions, and data.longest_source, leave room for: the beginning of a source, the end of a
        prompt and its answer.
        """
        if isinstance(self.task, TranslateTask):
            source = source[: self.most_read]
            if not self.task.joined:
                return source[: self.reads], min(longest, self.writes)
        longest = min(longest, max(1, self.writes // 2, self.writes - len(source)))
        room = max(1, self.writes - longest)
        if self.task.joined:
            return source[:room], longest
        return (source if len(source) <= room else source[len(source) - room :]), longest

    def answer(
        self,
        asked: Sequence[Prepared],
        settings: GenerationSettings,
        attention: bool = False,
        wanted: Wanted = "pieces",
    ) -> Iterator[tuple[int, list[Answer]]]:
        """Each number with its answers, best first, in whatever order they are done."""
        known = {one.number: one for one in asked}
        self._asked += len(asked)
        for one in asked:
            if one.item is None:
                yield one.number, [nothing_said(one)]
        candidates, look = candidates_of(settings), attention or settings.replace_unknown

        def own(asked: GenerationSettings) -> Write:
            scorer = self.scorer(asked)
            likely = wanted != "text" or not is_greedy(asked, look)
            shortlist = None if likely else self._shortlist(scorer)
            static = self._static(scorer) if is_static(asked, look) else None
            return lambda items: write(
                scorer, iter(items), asked, attention=look, shortlist=shortlist, static=static, likely=likely
            )

        other = self.engines.used(settings, look)
        items = [one.item for one in asked if one.item is not None]
        many = is_static(candidates, look) and self._static(self.scorer(candidates)) is not None
        for rows, group in _groups(items, settings, many):
            batched = candidates.model_copy(update={"batch": rows})
            found = self.engines.write(group, batched, own, wanted == "pieces") if other else own(batched)(group)
            for number, written in found:
                yield number, self.said(known[number], written, settings, attention)

    def writing(self, settings: GenerationSettings, attention: bool = False, plain: bool = False) -> Writing | Greedy:
        """What writes, for whoever lets questions in one by one; `said` makes answers of what it writes.

        plain: none of them has wishes.
        """
        scorer, candidates, look = self.scorer(settings), candidates_of(settings), attention or settings.replace_unknown
        if plain and is_greedy(candidates, look):
            return Greedy(scorer, candidates)
        if plain and is_drawn(candidates, look):
            return Drawing(scorer, candidates)
        return Writing(scorer, candidates, look)

    def other_engine(self, items: Sequence[Item], settings: GenerationSettings, attention: bool = False) -> bool:
        """Whether `answer` has all of them written by another engine, or tries it. `writing` never does."""
        used = self.engines.used(settings, attention or settings.replace_unknown)
        return used and self.engines.open(items, settings, pieces=True)

    def scorer(self, settings: GenerationSettings) -> Scorer:
        """Kept: for one short line it takes as long to make as a step."""
        networks, half = self.precisions.of(settings.precision)
        key = (settings.replace_unknown, half, *map(id, networks))
        if key not in self._scorers:
            self._scorers[key] = scorer_of(self.task, networks, unknown=settings.replace_unknown, half=half)
        return self._scorers[key]

    def said(
        self, asked: Prepared, written: Sequence[Written], settings: GenerationSettings, attention: bool = False
    ) -> list[Answer]:
        """Best first."""
        return reranked([self._answer(asked, one, settings.replace_unknown, attention) for one in written], settings)

    def stream(self, asked: Prepared, settings: GenerationSettings) -> Generator[str, None, Answer]:
        """The answer's text piece by piece, then the answer. A beam says what all its hypotheses begin with."""
        if asked.item is None or settings.rerank is not None or settings.replace_unknown:  # known at the end only
            ((_, (answer, *_)),) = self.answer([asked], settings)
            yield answer.text
            return answer
        steps, said = write_steps(self.scorer(settings), asked.item, settings), ""
        while True:
            try:
                tokens = next(steps)
            except StopIteration as end:
                answer = self._answer(asked, end.value[0], replaced=False, attention=False)
                if answer.text != said:
                    yield answer.text.removeprefix(said)
                return answer
            if more := behind(self.text(asked.item, tokens), said):
                said += more
                yield more

    def _shortlist(self, scorer: Scorer) -> Shortlist | None:
        """Made when it is first asked for, of each set of tokens that may be written."""
        if not isinstance(scorer, PairScorer | TextScorer) or self._asked < MANY:
            return None
        never = (id(scorer.model), *scorer.never_N.tolist())
        if never not in self._shortlists:
            self._shortlists[never] = shortlist_of(scorer)
        return self._shortlists[never]

    def _static(self, scorer: Scorer) -> Static | None:
        """On a GPU, what writes there by heart; for a few questions it takes longer to make than it saves."""
        if self.device.type != "cuda" or self._asked < MANY or not isinstance(scorer, PairScorer | TextScorer):
            return None
        key = (id(scorer.model), *scorer.never_N.tolist())
        if key not in self._statics:
            self._statics[key] = Static(scorer, note=lambda text: self.engines.notes.append(text))
        static = self._statics[key]
        return static if static.works else None

    def _answer(self, asked: Prepared, written: Written, replaced: bool, attention: bool) -> Answer:
        assert asked.item is not None
        ids = [*written.tokens, END] if written.ended else list(written.tokens)
        pieces = zip(self.target.pieces(ids), written.log_probs, strict=True) if written.log_probs else ()
        answer = Answer(
            self.text(asked.item, written.tokens),
            written.score,
            written.log_prob,
            tuple(Piece(text, log_prob) for text, log_prob in pieces),
            written.tokens,
            written.ended,
            asked.cut,
            tuple(self.target.decode_many(written.unmet)),
        )
        if written.attention_TS is None or isinstance(self.task, LanguageTask):
            if replaced:
                raise UserError("generation.replace_unknown: the model looks at no source; set it to false")
            return answer
        attention_TS = written.attention_TS[:, : len(asked.item.source) + 1].cpu()
        source, text = self.task.codecs.vocabulary, str(asked.question.source)
        if replaced:
            whole = decode_replacing(self.target, written.tokens, attention_TS, source, text)
            held = ForbiddenText.of(asked.question.must_not, self.target).held(whole)
            answer = replace(answer, text=whole, unmet=(*answer.unmet, *held))
        if not attention:
            return answer
        pairs = word_pairs(attention_TS, text, written.tokens, source, self.target)
        return replace(answer, alignment=pairs, attention_TS=attention_TS)

    def score(self, pairs: Sequence[tuple[str, str | Answer | None]]) -> list[Scored]:
        """Of pairs of a source, or a prompt, and a target; of a text alone, where the model is of language."""
        given, places = list[Given](), list[int]()
        for number, (source, target) in enumerate(pairs, 1):
            if isinstance(self.task, TranslateTask) and settled(source, target):
                continue
            one = self._given(source, target)
            two = isinstance(self.task, TranslateTask) and not self.task.joined
            read, wrote = (len(one.source), len(one.target)) if two else (0, 0)
            wrote = wrote or len(one.source) + len(one.target) - 1
            if read > self.reads or wrote > self.writes + 1:
                positions = min(self.reads, self.writes) + 1
                why = f"too long to be scored: the model's learned positions end at {positions}; give a shorter text"
                raise TextError(number, why)
            given.append(one)
            places.append(number - 1)
        found = dict(zip(places, score(self.networks, given, self.target, self.device), strict=True))
        return [found.get(place, CERTAIN) for place in range(len(pairs))]

    def _given(self, source: str, target: str | Answer | None) -> Given:
        if isinstance(self.task, LanguageTask):
            running, encoder = self.task.encoder.running, self.task.encoder
            if target is None:
                return Given(encoder.before, [*encoder.begun(source), *([] if running else [END])])
            prompt = self._prompt(self.task, source)
            ends = not running and not isinstance(target, Answer)
            ids = self._ids(target) if isinstance(target, Answer) else self._behind(prompt, source + target)
            return Given(prompt, [*ids, END] if ends else ids)
        if target is None:
            raise UserError("score needs a target too: score(source, target)")
        ids = self._ids(target) if isinstance(target, Answer) else [*self.target.encode([target])[0], END]
        read = self.task.codecs.vocabulary.encode([source])[0][: self.most_read]
        read = read[::-1] if self._reversed else read
        return Given([*read, SEPARATOR] if self.task.joined else read, ids)

    def target_ids(self, source: str, target: str) -> list[int]:
        """Of a target as it is scored, with its end mark where there is one."""
        return list(self._given(source, target).target)

    def _ids(self, answer: Answer) -> list[int]:
        return [*answer.tokens, END] if answer.ended else list(answer.tokens)

    def _behind(self, prompt: Sequence[int], text: str) -> list[int]:
        """A continuation's tokens; the prompt must not be cut otherwise because of it."""
        assert isinstance(self.task, LanguageTask)
        whole = self._prompt(self.task, text)
        if whole[: len(prompt)] != list(prompt):
            raise UserError("the target goes on within the prompt's last piece; end the prompt behind a word")
        return whole[len(prompt) :]

    def text(self, item: Item, tokens: Sequence[int]) -> str:
        """Of a continuation what follows the prompt, with the space between them."""
        if isinstance(self.task, TranslateTask):
            return self.target.decode(tokens)
        before, whole = (self.task.encoder.text(ids) for ids in (item.source, [*item.source, *tokens]))
        return whole.removeprefix(before)


def usual(tokens: int, seen: int) -> int:
    """How long the answer to so many tokens may get, if nothing is said.

    A model hardly ends what goes far beyond all that it learnt from: a line of 10,000 tokens would be babbled at for
    20,000 steps, while all others wait.
    """
    return TIMES * min(tokens, seen) + MORE


def room(networks: Sequence[Network], side: Literal["encoder", "decoder"]) -> int:
    """How many positions all of them have, where they are learned."""
    return min((length for one in networks for length in learned_positions(one.settings, side)), default=sys.maxsize)


def together(item: Item, settings: GenerationSettings, many: bool = False) -> int:
    """How many that read as much as this one may be written together. many: on a GPU, by heart."""
    candidates = candidates_of(settings)
    each = candidates.beam if candidates.sample is None else candidates.n_best
    size = 1 << (len(item.source) - 1).bit_length()
    most = max(1, GPU_ROWS // each) if many and settings.batch == "auto" else settings.together
    return max(1, min(most, BUDGET * (GPU_TIMES if many else 1) // (size * each)))


def _groups(items: Sequence[Item], settings: GenerationSettings, many: bool) -> Iterator[tuple[int, list[Item]]]:
    """How many may be written together, and those for which it holds."""
    groups: dict[int, list[Item]] = {}
    for item in items:
        groups.setdefault(together(item, settings, many), []).append(item)
    yield from groups.items()
