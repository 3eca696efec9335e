"""Written answers, looked at: forced, changed, and written by a changed model."""

import pytest

import seqloom
from seqloom.inspect.changes import HeadChange, LayerChange, MaskChange, TokenChange, WeightChange
from seqloom.jobs.look import Look, LookRequest, kind_of
from seqloom.jobs.looking.writing import changed_scorer, reading_of, written
from seqloom.settings import UserError
from seqloom.text import BEGIN, END, SEPARATOR
from tests.jobs.asked_runs import Runs
from tests.jobs.look_checks import check_documents

NAMES = ["pairs", "sentences", "backwards", "joined", "joined-short", "text", "words", "documents", "window"]


@pytest.mark.parametrize("name", NAMES)
def test_every_model_that_writes(runs: Runs, name: str) -> None:
    model = seqloom.load(runs[name])
    given = "abc" if name == "pairs" else "so dull"
    look = Look(model, LookRequest(given))
    answer, said = look.answer(), model.predict(given)
    assert (answer.text, answer.score) == (said.text, pytest.approx(said.score, abs=1e-4))
    assert [step.token.text for step in answer.steps] == [piece.text for piece in said.pieces]
    assert kind_of(model) == ("pairs" if model.recipe.task.kind == "translate" else "prompt")
    check_documents(look)
    trace = look.trace()
    assert len(trace.target) == len(trace.written)
    assert [place.text for place in trace.written[-len(answer.steps) :]] == [one.token.text for one in answer.steps]


@pytest.mark.parametrize("name", NAMES)
def test_a_changed_model_that_is_not_changed_writes_the_same(runs: Runs, name: str) -> None:
    """Read anew in each step, with beams too."""
    model = seqloom.load(runs[name])
    assert model.writer is not None
    given = "abc" if name == "pairs" else "so dull"
    look = Look(model, LookRequest(given))
    network = look.network
    layer = next(name for name, module in network.named_modules() if type(module).__name__ == "SelfAttention")
    row = look.traced.parts(layer).weights_BHTS[0, 0, 0]
    nothing = WeightChange(layer=layer, head=0, row=0, column=0, value=float(row[0]))
    beam = look.settings.model_copy(update={"beam": 3, "longest": 8})
    for settings in look.settings.model_copy(update={"longest": 8}), beam:
        plain = Look(model, LookRequest(given, settings=settings)).answer()
        same = Look(model, LookRequest(given, changes=(nothing,), settings=settings)).answer()
        assert same.text == plain.text
        assert same.score == pytest.approx(plain.score, abs=1e-4)


def test_what_is_read_before_an_answer(runs: Runs) -> None:
    known = {}
    for name in "sentences", "backwards", "joined-short", "documents":
        model = seqloom.load(runs[name])
        assert model.writer is not None
        asked = model.prepare(seqloom.Question("so dull"), 0, Look(model, LookRequest("so")).settings)
        assert asked.item is not None
        known[name] = reading_of(model.writer, asked.item), list(asked.item.source)
    reading, ids = known["sentences"]
    assert (reading.source, reading.first) == ((*ids, END), (BEGIN,))
    reading, ids = known["backwards"]
    assert (reading.source, reading.first) == ((*ids[::-1], END), (BEGIN,))
    reading, ids = known["joined-short"]
    assert (reading.source, reading.first) == (None, (*ids[::-1], SEPARATOR))
    reading, ids = known["documents"]
    assert (reading.source, reading.first) == (None, tuple(ids))


def test_places_of_a_source_that_is_read_backwards(runs: Runs) -> None:
    """A place is where the page shows it: as the model reads it."""
    model = seqloom.load(runs["backwards"])
    answer = Look(model, LookRequest("so dull", changes=(TokenChange(place=0, text="good"),))).answer()
    assert [place.text for place in answer.source] == ["good", "so", "</s>"]
    assert answer == Look(model, LookRequest("so good")).answer()


def test_a_changed_token_of_the_answer_is_gone_on_from(runs: Runs) -> None:
    model = seqloom.load(runs["pairs"])
    before = Look(model, LookRequest("abc")).answer()
    other = "b" if before.steps[0].token.text != "b" else "c"
    after = Look(model, LookRequest("abc", changes=(TokenChange(side="target", place=0, text=other),))).answer()
    assert after.steps[0].token.text == other
    assert after.text.startswith(other)
    assert after.text == model.predict("abc", prefix=other).text


def test_the_end_mark_can_become_a_token(runs: Runs) -> None:
    model = seqloom.load(runs["pairs"])
    before = Look(model, LookRequest("abc")).answer()
    last = len(before.steps) - 1
    after = Look(model, LookRequest("abc", changes=(TokenChange(side="target", place=last, text="b"),))).answer()
    assert after.text.startswith(f"{before.text}b")
    with pytest.raises(UserError, match="an end mark within an answer ends it"):
        Look(model, LookRequest("abc", changes=(TokenChange(side="target", place=0, text="</s>"),))).answer()


def test_a_changed_token_of_a_target(runs: Runs) -> None:
    model = seqloom.load(runs["pairs"])
    changed = Look(model, LookRequest("abc", target="ab", changes=(TokenChange(side="target", place=1, text="c"),)))
    plain = Look(model, LookRequest("abc", target="ac"))
    assert changed.answer().text == "ac"
    assert changed.answer() == plain.answer()


def test_changes_show_in_answers_and_are_gone_afterwards(runs: Runs) -> None:
    model = seqloom.load(runs["pairs"])
    before = Look(model, LookRequest("abc")).answer()
    for change in (
        HeadChange(layer="decoder.blocks.0.cross", head=0),
        LayerChange(box="encoder.blocks.0.feed_forward"),
        WeightChange(layer="decoder.blocks.0.cross", head=0, row=0, column=1, value=1.0),
    ):
        after = Look(model, LookRequest("abc", changes=(change,))).answer()
        assert after.steps[0].probability != before.steps[0].probability
    assert Look(model, LookRequest("abc")).answer() == before


def test_without_the_mask_a_forced_target_gives_itself_away(runs: Runs) -> None:
    model = seqloom.load(runs["pairs"])
    plain = Look(model, LookRequest("abc", target="abcab")).answer()
    other = Look(model, LookRequest("abc", target="abcac")).answer()
    seen = [Look(model, LookRequest("abc", target=t, changes=(MaskChange(),))).answer() for t in ("abcab", "abcac")]
    assert plain.steps[0].probability == pytest.approx(other.steps[0].probability, abs=1e-7)
    assert seen[0].steps[0].probability != pytest.approx(seen[1].steps[0].probability, abs=1e-7)


def test_a_forced_target_scores_itself(runs: Runs) -> None:
    model = seqloom.load(runs["pairs"])
    answer = Look(model, LookRequest("abc", target="cab")).answer()
    assert (answer.text, answer.score) == ("cab", pytest.approx(model.score("abc", "cab").log_prob, abs=1e-5))


def test_a_prompt_and_what_follows(runs: Runs) -> None:
    model = seqloom.load(runs["documents"])
    look = Look(model, LookRequest("so d", target="ull"))
    scored = model.score("so d", "ull")
    loss = look.answer().loss
    assert loss is not None
    assert loss.total == pytest.approx(-scored.log_prob, abs=1e-5)
    assert look.trace().source == ()
    shown = look.traced.values("head.loss")[-1].matrix[:, 0]
    assert len(shown) == len(look.trace().written) > len(loss.tokens)
    assert float(shown[-len(loss.tokens) :].sum()) == pytest.approx(loss.total, abs=1e-4)


def test_wishes_of_the_input(runs: Runs) -> None:
    model = seqloom.load(runs["pairs"])
    answer = Look(model, LookRequest({"source": "abc", "prefix": "c", "must_not": ["a"]})).answer()
    assert answer.text == model.predict("abc", prefix="c", must_not=["a"]).text
    assert "a" not in answer.text


def test_the_search_of_a_changed_model_can_be_had(runs: Runs) -> None:
    """For those who draw its tree: the same scorer as the answer's."""
    model = seqloom.load(runs["pairs"])
    assert model.writer is not None
    look = Look(model, LookRequest("abc"))
    asked = model.prepare(seqloom.Question("abc"), 0, look.settings)
    assert asked.item is not None
    changes = (LayerChange(box="encoder.blocks.0.mixer"),)
    scorer = changed_scorer(model.writer, asked.item, look.settings, changes)
    state, last = scorer.start([asked.item])
    log_probs, _, _ = scorer.step(last, state, False)
    answer = Look(model, LookRequest("abc", changes=changes)).answer()
    first = answer.steps[0]
    assert float(log_probs[0, first.token.id].exp()) == pytest.approx(first.probability, abs=1e-6)
    assert written(model.writer, asked, look.settings, changes).text == answer.text


def test_several_runs_have_no_one_inside(runs: Runs) -> None:
    model = seqloom.load([runs["pairs"], runs["other"]])
    with pytest.raises(UserError, match="look at one of them"):
        Look(model, LookRequest("abc"))
