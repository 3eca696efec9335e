"""Another engine writes only where it says the same as ours and is faster; ours always can."""

import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import seqloom
from seqloom.export.ctranslate2_engine import Line
from seqloom.generation.contract import Item, Written
from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.answering import engine_trial, engines
from seqloom.jobs.answering.answer import Answer
from seqloom.jobs.answering.engine_trial import Write
from seqloom.jobs.answering.generation import generation_of
from seqloom.jobs.lines.answer_lines import AnswerLines
from seqloom.jobs.model import Model
from seqloom.jobs.predict import Asking, predict
from seqloom.settings import SettingsError, UserError
from tests.jobs.asked_runs import Runs
from tests.jobs.engine import Fake, put_in_place

NEEDS = "ctranslate2 is not installed: its answers are not compared with ours (pip install 'seqloom[fast]')"
PLAIN = ["generation.beam=1", "generation.shortest=0"]
OWN, OTHER = 'generation.engine="own"', 'generation.engine="ctranslate2"'


def lines(count: int = 120, longest: int = 7) -> list[str]:
    """Some are empty, some hold characters that the model never saw."""
    draw = random.Random(5)
    letters = "abcdefghéß☃"
    made = ["".join(draw.choices(letters, k=draw.randint(1, longest))) for _ in range(count)]
    return [*made, "", "  ", "☃☃☃", "ab" * 500]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> type[Fake]:
    return put_in_place(monkeypatch)


@pytest.fixture
def model(runs: Runs) -> Model:
    return seqloom.load(runs["pairs"], device="cpu")


def asked(model: Model, texts: Sequence[str], *changes: str) -> list[Answer]:
    return model.predict(list(texts), changes=[*PLAIN, *changes])


def texts_of(answers: Sequence[Answer]) -> list[tuple[str, bool, int]]:
    """What engines must agree in; a score's last digits tell who was written together."""
    return [(one.text, one.ended, one.cut) for one in answers]


def test_the_other_writes_what_comes_later(model: Model, fake: type[Fake]) -> None:
    texts = lines()
    ours = asked(model, texts, OWN)
    assert not fake.wrote
    said = asked(model, texts)
    assert [one.text for one in said] == [one.text for one in ours]
    assert len(set(fake.wrote)) > len(texts) / 2
    (note,) = model.engine_notes()
    assert note.startswith("CTranslate2 0.0 writes: ")
    assert model.engine_notes() == [], "it is told once"
    for one, two in zip(said, ours, strict=True):
        assert (one.tokens, one.ended) == (two.tokens, two.ended)
        assert one.score == pytest.approx(two.score, abs=1e-3)
        assert [piece.log_prob for piece in one.pieces] == pytest.approx(
            [piece.log_prob for piece in two.pieces], abs=1e-3
        )


def test_slower_is_not_taken(model: Model, fake: type[Fake], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "FASTER", math.inf)
    asked(model, lines())
    tried = len(fake.wrote)
    asked(model, lines())
    assert 0 < tried == len(fake.wrote)
    assert model.engine_notes() == []


def test_little_to_write_is_not_worth_it(model: Model, fake: type[Fake], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "PATIENCE", 1e9)
    asked(model, lines())
    assert not fake.wrote


@pytest.mark.parametrize("engine", ["auto", "ctranslate2"])
def test_another_answer_and_ours_goes_on(model: Model, fake: type[Fake], engine: str) -> None:
    fake.lies = True
    texts = lines()
    ours = texts_of(asked(model, texts, OWN))
    assert texts_of(asked(model, texts, f'generation.engine="{engine}"')) == ours
    tried = len(fake.wrote)
    assert texts_of(asked(model, texts, f'generation.engine="{engine}"')) == ours
    assert 0 < tried == len(fake.wrote)
    notes = model.engine_notes()
    assert notes == (
        ["CTranslate2 says something else than this model: seqloom's own engine writes"] * (engine != "auto")
    )


@pytest.mark.parametrize("when", ["making", "writing"])
def test_a_failure_and_ours_goes_on(model: Model, fake: type[Fake], when: str) -> None:
    fake.fails = when
    texts = lines()
    assert texts_of(asked(model, texts)) == texts_of(asked(model, texts, OWN))
    (note,) = model.engine_notes()
    assert note.startswith("CTranslate2 is installed, but fails here (no ")


def test_one_after_the_other(model: Model, fake: type[Fake]) -> None:
    texts = lines()[:40]
    ours = [asked(model, [text], OWN)[0].text for text in texts]
    assert [asked(model, [text])[0].text for text in texts] == ours
    assert len(fake.wrote) >= 16 + len(texts) - 20


def test_wishes_go_our_own_way(model: Model, fake: type[Fake]) -> None:
    asked(model, lines())
    fake.wrote.clear()
    said = model.predict(["abc", "bcd"], changes=PLAIN, prefix="d")
    assert all(one.text.startswith("d") for one in said)
    model.predict(["abc"] * 40, changes=PLAIN, attention=True)
    model.predict(["abc"] * 40, changes=[PLAIN[1]], beam=2)
    assert not fake.wrote


def test_a_file_is_the_same_wherever_it_stopped(
    model: Model, fake: type[Fake], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written by ours and gone on with by the other; with scores, whose last digits differ, ours writes all."""
    file, out, whole = tmp_path / "in.txt", tmp_path / "out.txt", tmp_path / "whole.txt"
    file.write_text("".join(f"{line}\n" for line in lines(300)), encoding="utf-8")
    settings = generation_of(model.opened[0], [*PLAIN, "generation.batch=8"])

    def said(where: Path, scores: bool, engine: str) -> None:
        changed = settings.model_copy(update={"engine": engine})
        predict(model, Asking(str(file), changed, AnswerLines(scores=scores), out=where), lambda note: None)

    said(whole, False, "own")
    real, calls = model.answer, 0

    def stops(*words: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return real(*words)

    with monkeypatch.context() as patch:
        patch.setattr(model, "answer", stops)
        with pytest.raises(KeyboardInterrupt):
            said(out, False, "own")
    said(out, False, "auto")
    assert out.read_bytes() == whole.read_bytes()
    assert fake.wrote
    fake.wrote.clear()
    said(tmp_path / "scores.txt", True, "auto")
    assert not fake.wrote


# -- the choice, by a clock that stands still where nobody writes


class Timed:
    """Ours and another engine take so many seconds an item; ours some more a call."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, ours: float, theirs: float, call: float = 0.0) -> None:
        self.now, self.ours, self.theirs, self.call = 0.0, ours, theirs, call
        self.asked: list[int] = []
        for module in (engines, engine_trial):
            monkeypatch.setattr(module, "perf_counter", lambda: self.now)
        monkeypatch.setattr(engine_trial, "process_time", lambda: self.now)
        monkeypatch.setattr(engines, "installed", lambda: True)
        monkeypatch.setattr(engines, "Engine", self.engine)

    def engine(self, *_: Any) -> Any:
        class Made:
            version = "0.0"

            @staticmethod
            def write(items: Sequence[Item], rows: int, kind: str) -> Iterator[list[Line]]:
                self.now += self.theirs * len(items)
                return iter([[Line(item, (7,), 0.0) for item in items]])

        return Made

    def own(self, settings: GenerationSettings) -> Write:
        def write(items: Sequence[Item]) -> Iterator[tuple[int, list[Written]]]:
            self.asked.append(len(items))
            self.now += (self.call + self.ours * len(items)) if items else 0.0
            yield from ((item.number, [Written((7,), 0.0, 0.0, (), True)]) for item in items)

        return write

    def write(self, chooses: engines.Engines, count: int) -> None:
        self.asked.clear()
        items, settings = [Item([3], number, 5) for number in range(count)], GenerationSettings(beam=1)
        found = dict(chooses.write(items, settings, self.own, pieces=False))
        assert found.keys() == set(range(count))
        self.asked = [size for size in self.asked if size]

    def winner(self, chooses: engines.Engines) -> set[str | None]:
        return {trial.winner for trial in chooses._trials.values()}


def test_ours_is_not_measured_while_its_kernels_are_compiled(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without them it takes ten times as long: another engine was chosen that is three times as slow."""
    timed = Timed(monkeypatch, ours=0.1, theirs=0.03)

    def compiled() -> None:
        timed.ours = 0.01

    monkeypatch.setattr(engines, "wait_for_begun", compiled)
    chooses = model.writer.engines  # type: ignore[union-attr]
    timed.write(chooses, 256)
    assert timed.winner(chooses) == {"own"}
    assert model.engine_notes() == []


def test_many_are_tried_with_many(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call takes ours 1 s more: with 16 items the other is faster, with 256 it is not."""
    timed = Timed(monkeypatch, ours=0.02, theirs=0.04, call=1.0)
    chooses = model.writer.engines  # type: ignore[union-attr]
    timed.write(chooses, 256)
    assert timed.asked[0] == 64
    assert timed.winner(chooses) == {"own"}


def test_what_is_faster_is_taken(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    timed = Timed(monkeypatch, ours=0.03, theirs=0.01)
    chooses = model.writer.engines  # type: ignore[union-attr]
    timed.write(chooses, 256)
    assert timed.winner(chooses) == {"other"}
    assert timed.asked == [64, 64, 64], "and ours writes no more than what is tried"
    timed.write(chooses, 256)
    assert timed.asked == []


def test_as_long_as_nothing_is_tried_nothing_is_cut_into_parts(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first time, when nobody knows how long it takes: parts take longer than the whole."""
    timed = Timed(monkeypatch, ours=0.001, theirs=0.01)
    chooses = model.writer.engines  # type: ignore[union-attr]
    timed.write(chooses, 256)
    assert timed.asked == [64, 192]
    for _ in range(18):
        timed.write(chooses, 256)
        assert timed.asked == [256]
    timed.write(chooses, 256)  # 5 s are sure to come now
    assert timed.asked == [64, 64, 192]
    assert timed.winner(chooses) == {"own"}


# -- refusals


def refused(model: Model, *changes: str, **more: Any) -> str:
    with pytest.raises((UserError, SettingsError)) as error:
        model.predict(["abc"], changes=[*PLAIN, OTHER, *changes], **more)
    return str(error.value)


def test_what_it_cannot_do_is_told(runs: Runs, model: Model, fake: type[Fake]) -> None:
    assert "heeds no beam; set beam = 1, or engine = 'auto'" in refused(model, "generation.beam=2")
    assert "heeds no no_repeat; set no_repeat = 0" in refused(model, "generation.no_repeat=2")
    assert "heeds no replace_unknown; set replace_unknown = false" in refused(model, "generation.replace_unknown=true")
    assert "heeds no sample; leave sample out" in refused(model, sample=True)
    assert "tells neither alignment nor attention" in refused(model, attention=True)
    assert "with an encoder and a decoder" in refused(seqloom.load(runs["text"], device="cpu"))
    both = seqloom.load([runs["pairs"], runs["other"]], device="cpu")
    assert "it asks one model, not several together" in refused(both)
    fake.fails = "making"
    assert "it fails here: no such instruction; pip install -U 'seqloom[fast]'" in refused(model)


def test_not_installed(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "installed", lambda: False)
    monkeypatch.setattr(engines, "PATIENCE", 0.0)
    said = refused(model)
    assert said == "generation.engine = 'ctranslate2': it is not installed; pip install 'seqloom[fast]'"
    assert asked(model, lines()) == asked(model, lines(), OWN)


# -- CTranslate2 itself


@pytest.mark.parametrize("name", ["pairs", "short", "sentences", "backwards"])
def test_ctranslate2_says_the_same(runs: Runs, name: str) -> None:
    pytest.importorskip("ctranslate2", reason=NEEDS)
    model = seqloom.load(runs[name], device="cpu")
    texts = (
        lines() if name in ("pairs", "short") else [*(f"the {a} so good {b}" for a in "abcdef" for b in lines(9)), ""]
    )
    ours, said = asked(model, texts, OWN), asked(model, texts, OTHER)
    assert texts_of(said) == texts_of(ours)
    assert model.engine_notes()[0].startswith("CTranslate2 ")
    for one, two in zip(said, ours, strict=True):
        assert one.score == pytest.approx(two.score, abs=1e-3)
        assert len(one.pieces) == len(two.pieces)
    read = [(text, one) for text, one in zip(texts, said, strict=True) if not one.cut]
    for (_, one), scored in zip(read, model.score(*map(list, zip(*read, strict=True))), strict=True):
        assert one.log_prob == pytest.approx(scored.log_prob, abs=1e-3)


def test_scores_without_pieces(model: Model) -> None:
    pytest.importorskip("ctranslate2", reason=NEEDS)
    settings = generation_of(model.opened[0], [*PLAIN, OTHER, "generation.longest=4"])
    prepared = [model.prepare(seqloom.Question(text), at, settings) for at, text in enumerate(lines(200))]
    said = {number: one for number, (one,) in model.answer(prepared, settings, wanted="score")}
    ours = asked(model, lines(200), OWN, "generation.longest=4")
    assert sum(not one.pieces for one in said.values()) > 100
    assert {one.ended for one in said.values()} == {True, False}
    for number, one in said.items():
        assert one.text == ours[number].text
        assert one.score == pytest.approx(ours[number].score, abs=1e-3)
        assert one.log_prob == pytest.approx(ours[number].log_prob, abs=1e-3)


def test_wrong_weights_are_found_out(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ctranslate2", reason=NEEDS)
    from seqloom.export import ctranslate2_model

    real = ctranslate2_model._places
    monkeypatch.setattr(ctranslate2_model, "_places", lambda ours, width: 0 * real(ours, width))
    assert texts_of(asked(model, lines(), OTHER)) == texts_of(asked(model, lines(), OWN))
    assert "says something else" in model.engine_notes()[0]


def test_eight_bits(model: Model) -> None:
    pytest.importorskip("ctranslate2", reason=NEEDS)
    texts, int8 = lines(), 'generation.precision="int8"'
    ours, said = asked(model, texts, OWN), asked(model, texts, OTHER, int8)
    assert model.engine_notes()[0].startswith("CTranslate2 ")
    assert sum(one.text == two.text for one, two in zip(ours, said, strict=True)) > 0.6 * len(texts)
