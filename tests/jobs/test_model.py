"""`seqloom.load`: a run is asked without its data: one in, one out, and what may be wished."""

from collections import Counter

import pytest
import torch

import seqloom
from seqloom import Question
from seqloom.generation.contract import Item, Written
from seqloom.jobs.answering.answer import Answer
from seqloom.jobs.answering.generation import generation_of
from seqloom.jobs.answering.writing import Writer
from seqloom.jobs.model import Model
from seqloom.settings import UserError
from seqloom.tasks.translate import TranslateTask
from seqloom.text import SPECIALS, UNKNOWN
from tests.jobs.asked_runs import Runs


@pytest.fixture(scope="module")
def pairs(runs: Runs) -> Model:
    return seqloom.load(runs["pairs"])


@pytest.mark.parametrize(
    ("question", "changes", "cuts"),
    [
        (Question("abc"), [], False),
        (Question("abc", longest=3), [], True),
        (Question("abc"), ["generation.longest=3"], True),
    ],
)
def test_a_limit_is_a_wish_where_somebody_says_it(
    pairs: Model, question: Question, changes: list[str], cuts: bool
) -> None:
    item = pairs.prepare(question, 0, generation_of(pairs.opened[0], changes, None)).item
    assert item is not None
    assert item.cuts == cuts


def test_the_recipe_s_own_limit_is_no_wish(pairs: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(pairs._answerer, Writer)
    monkeypatch.setattr(pairs._answerer, "longest", 3)
    item = pairs.prepare(Question("abc"), 0, generation_of(pairs.opened[0], ["generation.longest=3"], None)).item
    assert item is not None
    assert not item.cuts


def test_what_is_cut_by_a_wish_is_ranked_with_what_ends(pairs: Model) -> None:
    whole = pairs.predict("abcdef", n_best=1)[0]
    cut = pairs.predict("abcdef", n_best=4, changes=["generation.longest=2", "generation.beam=4"])
    assert [one.score for one in cut] == sorted((one.score for one in cut), reverse=True)
    assert whole.text.startswith(cut[0].text)
    assert cut[0].text


def test_a_forbidden_word_is_not_spelt_with_other_pieces(runs: Runs) -> None:
    """Chance finds ways that a likely answer never takes."""
    model = seqloom.load(runs["sentences"])
    assert isinstance(model.task, TranslateTask)
    wild = ["generation.sample.temperature=3.0", "generation.longest=12"]
    said = model.predict(["the good film"] * 20, n_best=20, sample=True, changes=wild)
    words = Counter(word for answers in said for one in answers for word in one.text.split() if len(word) > 2)
    for word, times in words.most_common(5):
        assert times > 5
        outs = model.predict(["the good film"] * 20, n_best=20, sample=True, changes=wild, must_not=[word])
        assert not any(word in one.text.split() for answers in outs for one in answers)


def test_a_prefix_that_spells_what_is_forbidden(runs: Runs) -> None:
    model = seqloom.load(runs["sentences"])
    writer = model._answerer
    assert isinstance(writer, Writer)
    one_way = writer.target.encode(["film"])[0]
    pieces = writer.target.pieces(range(len(writer.target)))
    other_way = tuple(pieces.index(piece) for piece in ("▁f", "i", "l", "m"))
    assert tuple(one_way) != other_way
    with pytest.raises(UserError, match="'film' must be there, but holds 'film', which must not"):
        writer._refuses(Item([5], 0, 9, prefix=other_way, must_not=(tuple(one_way),)))


def test_one_in_one_out_many_in_many_out(pairs: Model) -> None:
    one = pairs.predict("abc")
    assert isinstance(one, Answer)
    assert str(one) == one.text
    many = pairs.predict(["abc", "hh"])
    assert [type(answer) for answer in many] == [Answer, Answer]
    assert many[0].text == one.text
    assert pairs.predict([]) == []
    several = pairs.predict(["abc", "hh"], n_best=3)
    assert [len(answers) for answers in several] == [3, 3]
    assert several[0][0].text == one.text
    assert all(first.score >= second.score for first, second, _ in several)
    assert len(pairs.predict("abc", n_best=6)) == 6  # more than the beam, which grows


def test_answers_in_eight_bits(runs: Runs) -> None:
    model, changes = seqloom.load(runs["pairs"], device="cpu"), ['generation.precision="int8"']
    full, int8 = model.predict("abcde"), model.predict("abcde", changes=changes)
    assert int8.score != full.score
    assert int8.score == pytest.approx(full.score, abs=0.2)
    assert model.predict("abcde") == full, "only who asks for it gets it"
    writer = model._answerer
    assert isinstance(writer, Writer)
    writer.precisions.device = torch.device("cuda")
    with pytest.raises(UserError, match=r"generation\.precision: int8 is for a CPU, and this model runs on cuda"):
        model.predict("abcde", changes=changes)


def test_half_precision_is_for_a_gpu(runs: Runs) -> None:
    model = seqloom.load(runs["pairs"], device="cpu")
    with pytest.raises(UserError, match=r"generation\.precision: bf16 is for a GPU, and this model runs on cpu"):
        model.predict("abcde", changes=['generation.precision="bf16"'])


def test_an_empty_text_has_an_empty_answer(runs: Runs) -> None:
    for name in ("pairs", "tags", "classes"):
        model = seqloom.load(runs[name])
        assert [str(answer) for answer in model.predict(["", " ", "\t"])] == ["", "", ""]


def test_an_empty_answer_holds_nothing_that_is_wished(pairs: Model) -> None:
    assert pairs.predict("", prefix="ab", must=["c"]).unmet == ("ab", "c")


def test_tags_are_one_a_word(runs: Runs) -> None:
    model = seqloom.load(runs["tags"])
    for source in ("good film so", "so  nice", "unheard-of wörds 1234 ☃", " so "):
        answer = model.predict(source)
        assert len(answer.text.split(" ")) == len(source.split()) == len(answer.pieces)
        assert 0 < answer.score == answer.probability <= 1
        assert model.score(source.strip(), answer).log_prob == pytest.approx(answer.log_prob, abs=1e-5)
    assert model.predict(Question(["so so", "nice"])).text.count(" ") == 1  # split already
    whole = model.predict(["good film", "so"])
    assert [str(answer) for answer in whole] == [str(model.predict(text)) for text in ("good film", "so")]


def test_classes_have_probabilities(runs: Runs) -> None:
    model = seqloom.load(runs["classes"])
    best, other = model.predict("good film", n_best=5)
    assert {best.text, other.text} == {"pos", "neg"}
    assert best.probability + other.probability == pytest.approx(1.0)
    assert best.score == best.probability >= other.probability == other.score
    assert model.score("good film", "pos").log_prob == pytest.approx(
        {best.text: best, other.text: other}["pos"].log_prob
    )
    with pytest.raises(UserError, match="a label is chosen"):
        model.predict("good film", prefix="p")


def test_a_continuation_fits_its_prompt(runs: Runs) -> None:
    """Prompt and answer together are the text of all tokens; no space is lost between them, none is added."""
    for name in ("text", "words", "documents", "window"):
        model = seqloom.load(runs[name])
        encoder = model.task.encoder
        for prompt in ("good film", "so\nnot", "very "):
            answer = model.predict(prompt, changes=["generation.longest=8"])
            ids = [*encoder.begun(prompt), *answer.tokens]  # type: ignore[attr-defined]
            begun = encoder.text(encoder.begun(prompt))  # type: ignore[attr-defined]
            assert begun + answer.text == encoder.text(ids)  # type: ignore[attr-defined]
        assert model.predict("", changes=["generation.longest=5"]).tokens


def test_where_characters_are_written_a_space_is_a_wish_too(runs: Runs) -> None:
    model, short = seqloom.load(runs["documents"]), ["generation.longest=5"]
    assert model.predict("good", prefix=" ", changes=short).text.startswith(" ")
    assert " " not in model.predict("good", must_not=[" "], changes=short).text
    with pytest.raises(UserError, match="must_not holds an empty phrase"):
        model.predict("good", must_not=[""])


def test_a_prefix_and_phrases(pairs: Model) -> None:
    assert pairs.predict("abc", prefix="gh").text.startswith("gh")
    assert "dd" in pairs.predict("abc", must=["dd"]).text
    plain = pairs.predict("abcd").text
    assert plain
    assert plain[0] not in pairs.predict("abcd", must_not=[plain[0]]).text
    own = pairs.predict(["abc", Question("abc", prefix="ee")])
    assert own[1].text.startswith("ee")
    assert own[0].text == pairs.predict("abc").text


@pytest.mark.parametrize(
    ("question", "match"),
    [
        (Question("a", prefix="xyz"), "prefix 'xyz': the model cannot write it, as its vocabulary has no 'x'"),
        (Question("a", must=("ab", "aZ")), "must 'aZ': .* no 'Z'"),
        (Question("a", must=("",)), "must holds an empty phrase"),
        (Question("a", must=("abc",), must_not=("b",)), "'abc' must be there, but holds 'b', which must not"),
        (Question("a", prefix="ab", must_not=("b",)), "the prefix holds 'b', which must not be there"),
        (Question("a", prefix="abcdef", longest=3), "tokens"),
        (Question(["a"]), "the source should be text, but is a list"),
    ],
)
def test_wishes_that_cannot_be_met(pairs: Model, question: Question, match: str) -> None:
    with pytest.raises(UserError, match=rf"text 2: .*{match}"):
        pairs.predict(["a", question])


def test_what_cannot_be_written_need_not_be_forbidden(pairs: Model) -> None:
    assert pairs.predict("abc", must_not=["XYZ"]).text == pairs.predict("abc").text


def test_settings(pairs: Model) -> None:
    assert len(pairs.predict("abcde", changes=["generation.longest=2"]).tokens) <= 2
    longest = pairs.predict("abcde", changes=["generation.shortest=9", "generation.longest=9"])
    assert len(longest.tokens) == 9
    with pytest.raises(UserError, match=r"--set generation.longest=1: .*at least 2 tokens, but longest = 1"):
        pairs.predict("a", changes=["generation.longest=1"])
    with pytest.raises(UserError, match=r"--set model.width=3: a run is what it is"):
        pairs.predict("a", changes=["model.width=3"])
    with pytest.raises(UserError, match=r"generation.beem.*did you mean 'beam'"):
        pairs.predict("a", changes=["generation.beem=3"])


def test_chance_is_the_same_for_the_same_seed(pairs: Model) -> None:
    texts = ["abc", "def", "abc"]
    first = pairs.predict(texts, sample=True)
    assert [str(one) for one in first] == [str(one) for one in pairs.predict(texts, sample=True)]
    other = pairs.predict(texts, sample=True, changes=["generation.seed=7", "generation.sample.temperature=2.0"])
    assert [str(one) for one in first] != [str(one) for one in other]


def test_a_source_longer_than_the_positions(runs: Runs) -> None:
    model = seqloom.load(runs["short"])
    answer = model.predict("abcdefgh" * 10)
    assert answer.cut == 80 - 11  # of 12 positions one is the end mark's
    assert len(answer.tokens) <= 11
    assert answer.text == model.predict(("abcdefgh" * 10)[:11]).text
    prompt = seqloom.load(runs["window"]).predict("good film " * 100, changes=["generation.longest=9"])
    assert prompt.cut > 0
    assert len(prompt.tokens) <= 9


def test_ten_thousand_tokens(runs: Runs) -> None:
    model = seqloom.load(runs["pairs"])
    long = "abcdefgh" * 1250
    answers = model.predict(["abc", long, "abc"], changes=["generation.longest=5"])
    assert answers[0] == answers[2]
    assert answers[1].cut == 0


def test_how_long_an_answer_may_get_if_nothing_is_said(runs: Runs) -> None:
    """A line that is longer than all that was learnt from is read whole, but not answered at twice its length."""
    for name, seen in ("pairs", 512), ("documents", 512), ("text", 256):
        model = seqloom.load(runs[name])
        for text in "ab", "good film " * 1000:
            asked = model.prepare(Question(text), 0, model.recipe.generation)
            assert asked.item is not None
            assert asked.item.longest == 2 * min(len(asked.item.source), seen) + 50
            assert not asked.cut
        wished = model.prepare(Question("good film " * 1000, longest=9), 0, model.recipe.generation)
        assert wished.item is not None
        assert wished.item.longest == 9


def test_attention_and_alignment(runs: Runs) -> None:
    for name in ("sentences", "backwards"):
        model = seqloom.load(runs[name])
        answer = model.predict("good film so nice", attention=True, changes=["generation.shortest=3"])
        assert answer.attention_TS is not None
        rows, columns = answer.attention_TS.shape
        assert rows == len(answer.pieces)
        assert columns == len(model.task.codecs.source.encode(["good film so nice"])[0]) + 1
        assert answer.attention_TS.sum(-1).tolist() == pytest.approx([1.0] * rows, abs=1e-4)
        assert answer.alignment is not None
        assert [target for _, target in answer.alignment] == list(range(len(answer.text.split())))
        assert all(0 <= source < 4 for source, _ in answer.alignment)
        assert model.predict("good film").alignment is None


def test_of_many_the_one_most_like_the_others(pairs: Model) -> None:
    changes = ["generation.rerank.kind=mbr", "generation.rerank.candidates=8"]
    best = pairs.predict("abcd", changes=changes)
    assert best == pairs.predict("abcd", changes=changes)
    assert 0 <= best.score <= 100
    several = pairs.predict("abcd", n_best=3, changes=changes)
    assert len({answer.text for answer in several}) == len(several)
    assert [answer.score for answer in several] == sorted((answer.score for answer in several), reverse=True)
    beam = pairs.predict("abcd", beam=8, changes=[*changes, "generation.rerank.of=n-best"])
    assert beam.text in {answer.text for answer in pairs.predict("abcd", n_best=8)}


def test_unknown_words_are_replaced_through_the_alignment(runs: Runs) -> None:
    model = seqloom.load(runs["backwards"])
    writer, settings = model._answerer, generation_of(model.opened[0])
    assert isinstance(writer, Writer)
    prepared = model.prepare(Question("good Überraschung so"), 0, settings)
    looked_TS = torch.tensor([[0.1, 0.8, 0.1, 0.0], [0.9, 0.1, 0.0, 0.0]])
    written = Written((UNKNOWN,), -1.0, -1.0, (-0.5, -0.5), True, looked_TS)
    assert writer._answer(prepared, written, False, True).text == "⁇"
    mended = writer._answer(prepared, written, True, True)
    assert (mended.text, mended.alignment) == ("Überraschung", ((1, 0),))
    wished = model.prepare(Question("good Überraschung so", must_not=("Überraschung", "so")), 0, settings)
    assert writer._answer(wished, written, True, False).unmet == ("Überraschung",)
    assert "⁇" not in model.predict("good Überraschung", changes=["generation.replace_unknown=true"]).text
    with pytest.raises(UserError, match="replace_unknown: the model looks at no source"):
        seqloom.load(runs["text"]).predict("good", changes=["generation.replace_unknown=true"])


def test_marks_are_never_written(runs: Runs) -> None:
    """However hot chance runs: they stand for no text."""
    for name in ("pairs", "text", "words"):
        model = seqloom.load(runs[name])
        changes = ["generation.sample={temperature = 50.0}", "generation.longest=40", "generation.shortest=30"]
        answers = model.predict(["abc", "d"], n_best=5, changes=changes)
        tokens = {token for some in answers for answer in some for token in answer.tokens}
        assert len(tokens) > 5
        assert not tokens & set(range(len(SPECIALS)))


def test_no_answer_is_longer_than_any_can_be(pairs: Model) -> None:
    with pytest.raises(UserError, match="100000"):
        pairs.predict("abc", changes=["generation.longest=1000000000"])
    assert pairs.prepare(Question("abc", longest=10**30), 0, pairs.recipe.generation).item.longest == 100_000  # type: ignore[union-attr]
