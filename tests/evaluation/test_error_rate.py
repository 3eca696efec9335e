"""Error rates are those of jiwer."""

import time

import jiwer
import pytest

from seqloom.evaluation import ErrorRate, total
from tests.evaluation.corpus import BAD, GOOD, MANY, MANY_BAD, OTHERS, REFERENCES


def score(metric: ErrorRate, said: list[str], *wanted: list[str]) -> float:
    return float(metric.score(total(metric.statistics(said, wanted))))


@pytest.mark.parametrize("said", [GOOD, BAD], ids=["good", "bad"])
def test_against_jiwer(said: list[str]) -> None:
    assert score(ErrorRate("word"), said, REFERENCES) == pytest.approx(100 * jiwer.wer(REFERENCES, said), abs=1e-12)
    assert score(ErrorRate("phoneme"), said, REFERENCES) == score(ErrorRate("word"), said, REFERENCES)
    assert score(ErrorRate("character"), said, REFERENCES) == pytest.approx(
        100 * jiwer.cer(REFERENCES, said), abs=1e-12
    )
    lower = 100 * jiwer.wer([text.lower() for text in REFERENCES], [text.lower() for text in said])
    assert score(ErrorRate("word", lowercase=True), said, REFERENCES) == pytest.approx(lower, abs=1e-12)


def test_of_several_references_the_nearest_counts() -> None:
    assert score(ErrorRate(), ["a b"], ["a b c d"], ["a c"]) == 50.0  # 2 of 4 and 1 of 2 are equal: the first
    assert ErrorRate().statistics(["a b"], [["a b c d"], ["a c"]]).tolist() == [[2, 4]]
    assert ErrorRate().statistics(["a b"], [["a b c d e"], ["a c"]]).tolist() == [[1, 2]]
    assert score(ErrorRate(), GOOD, OTHERS, REFERENCES) <= score(ErrorRate(), GOOD, REFERENCES)


def test_nothing_to_say() -> None:
    assert score(ErrorRate(), [""], [""]) == 0.0
    assert score(ErrorRate(), ["a b"], [""]) == 100.0
    assert score(ErrorRate(), ["a b c"], ["d"]) == 300.0
    assert ErrorRate("character").signature(2).startswith("nrefs:2|case:mixed|unit:character|version:seqloom-")


def test_words_are_split_at_every_unicode_space() -> None:
    """jiwer splits at the space of ASCII alone: its words hold the others."""
    assert score(ErrorRate(), ["10\u00a0km\u2003weit"], ["10 km weit"]) == 0.0
    assert jiwer.wer("10 km weit", "10\u00a0km\u2003weit") == 1.0
    assert ErrorRate().signature().startswith("nrefs:1|case:mixed|unit:word|split:unicode-spaces|version:")
    assert "|split:unicode-spaces|" in ErrorRate("phoneme").signature()


def test_ten_thousand_sentences_take_seconds() -> None:
    """About one, of characters; a table in Python takes minutes."""
    said, wanted = MANY_BAD * 32, MANY * 32
    began = time.process_time()
    ErrorRate("character").statistics(said, [wanted])
    assert time.process_time() - began < 10


def test_white_space_at_the_ends_is_no_character() -> None:
    said, wanted = [" ab c", "d  e\t", "f "], ["ab c ", "d e", " fg"]
    assert score(ErrorRate("character"), said, wanted) == pytest.approx(100 * jiwer.cer(wanted, said), abs=1e-12)
