"""Which engine writes greedily on a CPU: ours, or CTranslate2 where it is installed, says the same, and is faster."""

from collections.abc import Callable, Iterator, Sequence
from math import inf
from time import perf_counter

import torch

from seqloom.export.ctranslate2_engine import Compute, Engine, EngineFault, Limits, Line, Marks, installed
from seqloom.export.ctranslate2_fit import misfit
from seqloom.generation.contract import Item, Written
from seqloom.generation.greedy import is_greedy
from seqloom.generation.length import penalty
from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.answering.engine_trial import TRIAL, Trial, Write
from seqloom.jobs.answering.scorer import MARKS
from seqloom.jobs.answering.scoring import Given, score
from seqloom.layers.native.library import wait_for_begun
from seqloom.models.build import Model as Network
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.settings import UserError
from seqloom.tasks.joined import JoinedTask
from seqloom.tasks.language import LanguageTask
from seqloom.tasks.translate import TranslateTask
from seqloom.text import BEGIN, END, UNKNOWN, Vocabulary

PATIENCE = 5.0  # seconds of writing by which another engine must be worth its making
SHARE = 4  # of what is there at once, one part in so many is written by both,
MOST = 64  # and no more items: as many as show how fast each is with many
FASTER = 1.1  # times as fast, or ours goes on: a busy machine measures no finer;
LIGHTER = 1.0  # and with no more seconds of the processor, which count on a machine that others use

Own = Callable[[GenerationSettings], Write]
"""Our own engine, with settings."""


class Engines:
    """Ours writes what comes first, what has wishes, and whatever the other cannot."""

    def __init__(self, task: TranslateTask | LanguageTask, networks: Sequence[Network], device: torch.device) -> None:
        self.task, self.networks, self.device = task, networks, device
        self.notes: list[str] = []
        """What should be told: which engine writes, where it is not ours."""
        self._trials: dict[tuple[object, ...], Trial] = {}
        self._seconds = 0.0  # that ours wrote, or would
        self._engines: dict[str, Engine] = {}
        network = networks[0]
        self._limits = Limits.of(network) if isinstance(network, EncoderDecoder) else None
        self._broken = self._told = False

    def used(self, settings: GenerationSettings, attention: bool) -> bool:
        """Whether there is another engine than ours for this. A UserError, if it is asked for and cannot be used."""
        if settings.engine == "own" or self._broken:
            return False
        if settings.engine == "auto" and not (is_greedy(settings, attention) and installed()):
            return False
        why = self._refusal(settings, attention)
        if why is not None and settings.engine == "ctranslate2":
            raise UserError(f"generation.engine = 'ctranslate2': {why}")
        return why is None

    def _refusal(self, settings: GenerationSettings, attention: bool) -> str | None:
        leave = "leave generation.engine out"
        if not installed():
            return "it is not installed; pip install 'seqloom[fast]'"
        if self.device.type != "cpu":
            return f"it writes on a CPU here, and this model runs on {self.device.type}; {leave}, or ask --device cpu"
        if len(self.networks) > 1:
            return f"it asks one model, not several together; {leave}"
        if attention or not is_greedy(settings, attention):
            return f"it writes greedily, and tells neither alignment nor attention; set beam = 1, or {leave}"
        network = self.networks[0]
        if isinstance(self.task, LanguageTask | JoinedTask) or not isinstance(network, EncoderDecoder):
            return f"it writes with an encoder and a decoder; {leave}"
        why = misfit(network.settings)
        return None if why is None else f"it has no place for {why}; {leave}"

    def write(
        self, items: Sequence[Item], settings: GenerationSettings, own: Own, pieces: bool
    ) -> Iterator[tuple[int, list[Written]]]:
        """Where `used` says so. pieces: each token's log_prob is asked for, which costs another reading."""
        assert self._limits is not None
        ours = own(settings)
        fit = [item for item in items if self._limits.takes(item)]
        yield from ours([item for item in items if not self._limits.takes(item)])
        if not fit:
            return
        size, trial = self._trial(len(fit), settings, pieces)
        if trial.winner is None and self._too_early(trial, len(fit), settings):
            yield from self._counted(ours(fit))
            return
        if trial.winner is None:
            part = trial.ours(ours, fit[:size])
            yield from part.answers.items()
            fit = fit[size:]
            # all that is left, too, if ours goes on
            self._seconds += part.taken.clock * (1 + len(fit) / len(part.items))
            if settings.engine == "ctranslate2" or (self._seconds >= PATIENCE and trial.count >= TRIAL):
                self._decide(trial, settings, own, pieces)
        engine = self._engine(settings) if trial.winner == "other" and not self._broken else None
        yield from (ours if engine is None else self._theirs(engine, settings, own, pieces))(fit)

    def _too_early(self, trial: Trial, count: int, settings: GenerationSettings) -> bool:
        """Whether it is known that ours needs too little time for all these to have others tried."""
        expected = inf if trial.each is None else self._seconds + count * trial.each
        return settings.engine != "ctranslate2" and expected < PATIENCE

    def _counted(self, answers: Iterator[tuple[int, list[Written]]]) -> Iterator[tuple[int, list[Written]]]:
        """Its seconds, without those of whoever takes the answers."""
        while True:
            began = perf_counter()
            one = next(answers, None)
            self._seconds += perf_counter() - began
            if one is None:
                return
            yield one

    def open(self, items: Sequence[Item], settings: GenerationSettings, pieces: bool) -> bool:
        """Whether all these are written by the other engine, or nobody knows yet whether they should be."""
        fit = self._limits is not None and all(map(self._limits.takes, items))
        return fit and not self._broken and self._trial(len(items), settings, pieces)[1].winner != "own"

    def _trial(self, count: int, settings: GenerationSettings, pieces: bool) -> tuple[int, Trial]:
        """Of so many how many both write, and the trial of about as many: who is faster depends on it."""
        size = min(settings.together, max(TRIAL, min(count // SHARE, MOST)), count)
        return size, self._trials.setdefault((settings.precision, pieces, size.bit_length() // 2), Trial())

    def _decide(self, trial: Trial, settings: GenerationSettings, own: Own, pieces: bool) -> None:
        engine = self._engine(settings)
        if engine is None:
            trial.winner = "own"
            return
        timed = settings.engine != "ctranslate2"
        wait_for_begun()  # ours without its kernels is another engine
        found = trial.compared(
            own(settings), self._theirs(engine, settings, own, pieces), timed, settings.precision != "int8"
        )
        same = found.same
        if settings.precision == "int8":  # eight bits change some answers: what must be the same is the model
            full = settings.model_copy(update={"precision": "full"})
            plain = Trial()
            plain.ours(own(full), trial.parts[-1].items[:TRIAL])
            same = plain.compared(own(full), self._theirs(engine, full, own, pieces), timed=False).same
        faster = not timed or (found.faster >= FASTER and found.lighter >= LIGHTER)
        trial.winner = "other" if same and faster and not self._broken else "own"
        trial.parts.clear()
        if trial.winner == "other":
            than = (
                f"{found.faster:.1f} times as fast here as seqloom's own engine, and the same" if timed else "the same"
            )
            self._tell(
                f"CTranslate2 {engine.version} writes: {than} in {found.count} answers; "
                "--set generation.engine=own does without"
            )
        elif settings.engine == "ctranslate2" and not same:
            self._tell("CTranslate2 says something else than this model: seqloom's own engine writes")

    def _tell(self, note: str) -> None:
        """Once, however many kinds of work there are."""
        if not self._told:
            self.notes.append(note)
        self._told = True

    def _engine(self, settings: GenerationSettings) -> Engine | None:
        """Made when it is first needed. None where it fails; a UserError, where it is asked for."""
        network = self.networks[0]
        assert isinstance(network, EncoderDecoder)
        assert isinstance(self.task, TranslateTask)
        made = self._engines.get(settings.precision)
        if made is None and not self._broken:
            kinds: tuple[Compute, ...] = ("float32", "int8") if settings.precision == "int8" else ("float32",)
            marks = Marks(BEGIN, END, UNKNOWN, frozenset((*MARKS, UNKNOWN)))
            try:
                made = self._engines[settings.precision] = Engine(network, marks, self.task.settings.reverse, kinds)
            except EngineFault as error:
                if settings.engine == "ctranslate2":
                    fix = "pip install -U 'seqloom[fast]', or leave generation.engine out"
                    raise UserError(f"generation.engine = 'ctranslate2': it fails here: {error}; {fix}") from None
                self._fail(error)
        return made

    def _fail(self, error: EngineFault) -> None:
        self._told = self._told and self._broken  # that it writes may have been told
        self._broken = True
        self._tell(f"CTranslate2 is installed, but fails here ({error}): seqloom's own engine writes")

    def _theirs(self, engine: Engine, settings: GenerationSettings, own: Own, pieces: bool) -> Write:
        """What CTranslate2 must not write, or fails to, is written by ours."""
        kind: Compute = "int8" if settings.precision == "int8" else "float32"

        def write(items: Sequence[Item]) -> Iterator[tuple[int, list[Written]]]:
            left = {item.number: item for item in items}
            try:
                for lines in engine.write(items, settings.together, kind):
                    for written, number in self._written(lines, settings, pieces):
                        del left[number]
                        yield number, [written]
            except EngineFault as error:
                self._fail(error)
            yield from own(settings)(list(left.values()))

        return write

    def _written(
        self, lines: Sequence[Line], settings: GenerationSettings, pieces: bool
    ) -> Iterator[tuple[Written, int]]:
        """With numbers. What was cut was written on beyond its end: its log_prob is read anew."""
        again = [line for line in lines if pieces or line.log_prob is None]
        given = [Given(self._read(line.item), [*line.tokens, END] if line.ended else line.tokens) for line in again]
        scored = score(self.networks, given, self._target, self.device)
        known = {line.item.number: one for line, one in zip(again, scored, strict=True)}
        for line in lines:
            read = known.get(line.item.number)
            log_prob = line.log_prob if read is None else read.log_prob
            assert log_prob is not None
            length = float(max(1, len(line.tokens) + line.ended))
            each = () if read is None or not pieces else tuple(piece.log_prob for piece in read.pieces)
            found = Written(line.tokens, log_prob / penalty(settings.length, length), log_prob, each, line.ended)
            yield found, line.item.number

    def _read(self, item: Item) -> Sequence[int]:
        assert isinstance(self.task, TranslateTask)
        return item.source[::-1] if self.task.settings.reverse else item.source

    @property
    def _target(self) -> Vocabulary:
        assert isinstance(self.task, TranslateTask)
        return self.task.target
