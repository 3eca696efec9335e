import re

import pytest

from seqloom.jobs.demos import Demo, Example
from seqloom.jobs.demos.phonemes import make_phonemes


@pytest.fixture(scope="module")
def demo() -> Demo:
    return make_phonemes()


def everything(demo: Demo) -> dict[str, Example]:
    return {example.source: example for example in (*demo.train, *demo.valid, *demo.test)}


def test_no_word_is_there_twice(demo: Demo) -> None:
    assert len(everything(demo)) == len(demo.train) + len(demo.valid) + len(demo.test) > 100_000
    assert (len(demo.valid), len(demo.test)) == (1_000, 3_000)


def test_words_are_letters_and_sounds_have_no_stress(demo: Demo) -> None:
    for word, example in everything(demo).items():
        assert re.fullmatch("[a-z]+", word)
        for said in (example.target, *example.also):
            assert re.fullmatch("[A-Z]{1,2}( [A-Z]{1,2})*", said)


def test_several_pronunciations(demo: Demo) -> None:
    tomato = everything(demo)["tomato"]
    assert (tomato.target, tomato.also) == ("T AH M EY T OW", ("T AH M AA T OW",))
    assert all(example.target not in example.also for example in everything(demo).values())


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("word", "1–4 letters"),
        ("words", "5–7 letters"),
        ("tomatoes", "8–10 letters"),
        ("disappointed", "11 letters and more"),
    ],
)
def test_slices(word: str, name: str, demo: Demo) -> None:
    assert everything(demo)[word].slice == name


def test_stress_is_kept_where_asked_for(demo: Demo) -> None:
    stressed = make_phonemes(train=1, stress=True).test
    assert all(re.search(r"\d", example.target) for example in stressed if len(example.source) > 4)
    assert [re.sub(r"\d", "", example.target) for example in stressed] == [example.target for example in demo.test]
