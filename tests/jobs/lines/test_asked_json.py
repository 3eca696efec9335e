"""Lines of JSON: wishes, or rows of a table such as one trains on."""

import json
from pathlib import Path
from typing import Any

import pytest

from seqloom.data.reading.block import Shape
from seqloom.data.reading.source_column import Wanted
from seqloom.data.settings import Corpus
from seqloom.jobs.answering.answer import Question
from seqloom.jobs.lines.asked_json import JsonQuestions
from seqloom.settings import UserError
from tests.jobs.echo import BATCH, answered


def of(fields: dict[str, Any], shape: Shape = "classes", column: str | None = None, **learnt: Any) -> Any:
    """The source, or why there is none."""
    corpora = [Corpus(files=("train.jsonl",), **learnt)] if learnt else []
    question, _ = JsonQuestions(Wanted(column, corpora, shape)).read(json.dumps(fields))
    return question.source if isinstance(question, Question) else question


@pytest.mark.parametrize(
    ("fields", "how"),
    [
        ({"source": "a"}, {}),
        ({"source": "a", "target": "b"}, {"shape": "pairs"}),
        ({"Text": "a", "label": 1, "idx": 7, "length": 3}, {}),
        ({"text": "a", "label": 1, "source": "a newspaper"}, {}),
        ({"source": "a", "text": "b", "prefix": "c"}, {}),
        ({"review": "a", "stars": 3}, {}),
        ({"translation": {"de": "a", "en": "b"}, "id": {"de": 1}}, {"shape": "pairs"}),
        ({"text": "b", "label": "c", "body": "a"}, {"source": "body"}),
        ({"text": "b", "pair": {"de": "a"}}, {"source": "de"}),
        ({"source": "a", "text": "b"}, {"source": "body"}),
        ({"text": "b", "body": "a"}, {"column": "body"}),
        ({"text": "b", "pair": {"de": "a"}}, {"column": "pair.de"}),
        ({"text": "b", "body": "a"}, {"column": "2"}),
        ({"prefix": "a", "text": "b"}, {"column": "prefix"}),
        ({"id": "a", "text": "b"}, {"column": "id"}),
        ({"q": "a", "r": "b"}, {"weight": 2.0}),  # training takes them by their order
    ],
)
def test_the_source_is_found(fields: dict[str, Any], how: dict[str, Any]) -> None:
    assert of(fields, **how) == "a"


@pytest.mark.parametrize(
    ("fields", "how", "what"),
    [
        ({"q": "a"}, {}, "which key is the source? There are 'q'; say it with --column NAME"),
        (
            {"text": "a", "label": "b"},
            {"source": "body"},
            "which key is the source? There are 'text', 'label'; say it with --column NAME",
        ),
        ({"text": "a"}, {"column": "txt"}, "no key 'txt'; did you mean 'text'?"),
        ({"text": "a", "label": 1}, {"column": "body"}, "no key 'body'; there are 'text', 'label'"),
        ({}, {"column": "body"}, "no key 'body'; there are none"),
        ({"sorce": "a", "target": "b"}, {}, "unknown key 'sorce'; did you mean 'source'?"),
        ({"text": "a", "label": 1, "prefx": "b"}, {}, "unknown key 'prefx'; did you mean 'prefix'?"),
        ({"text": "a", "must-not": ["b"]}, {}, "unknown key 'must-not'; did you mean 'must_not'?"),
        ({"text": "a", "Longest": 3}, {}, "unknown key 'Longest'; did you mean 'longest'?"),
        ({"text": 3, "label": 1}, {}, "the source should be text, but is 3"),
        ({"id": 3}, {}, "the source should be text, but is missing"),
    ],
)
def test_it_is_not_found(fields: dict[str, Any], how: dict[str, Any], what: str) -> None:
    assert of(fields, **how) == what


def test_other_keys_are_told_once(tmp_path: Path) -> None:
    line = json.dumps({"text": "ab", "label": 1} | {f"k{at}": at for at in range(12)})
    out, notes = answered(f"{line}\n".encode() * 3 * BATCH, tmp_path, input="jsonl")
    assert out == b"ba\n" * 3 * BATCH
    listed = "'label', " + ", ".join(f"'k{at}'" for at in range(9))
    assert notes == [f"{tmp_path / 'in.txt'}: the source is 'text'; other keys are not read: {listed}, 3 more"]
    assert answered(b'{"text": "ab", "id": 1}\n', tmp_path, input="jsonl") == (b"ba\n", [])
    assert answered(b'{"text": "ab", "b": 1}\n', tmp_path, input="jsonl", column="text")[0] == b"ba\n"


def test_half_a_character_in_a_key_harms_no_message(tmp_path: Path) -> None:
    _, notes = answered(b'{"text": "ab", "\\ud800": 1}\n', tmp_path, input="jsonl")
    assert notes[0].endswith("other keys are not read: '\\ud800'")
    with pytest.raises(UserError, match=r"which key is the source\? There are '\\ud800'; say it"):
        answered(b'{"text": "ab"}\n{"\\ud800": 1}\n', tmp_path, input="jsonl")
