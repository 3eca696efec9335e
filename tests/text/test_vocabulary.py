"""Text to ids and back."""

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from seqloom.settings import UserError
from seqloom.text import (
    BEGIN,
    BPE,
    END,
    MASK,
    SEPARATOR,
    SPECIALS,
    UNKNOWN,
    Bytes,
    Characters,
    Normalise,
    PieceSettings,
    Unigram,
    Vocabulary,
    Words,
)
from tests.text.corpus import ALL, LINES, LOSSLESS, SUBWORDS, TEXTS, name

TRAINED = {name(kind): Vocabulary.train(kind, TEXTS) for kind in ALL}
KNOWN = sorted(set("".join(LINES)) | {" "})
EDGES = [
    "",
    " ",
    "  ",
    "\n",
    "\t a",
    " a ",
    "a  b",
    "a\u00a0b",
    "\u3000a",
    "<s>",
    "<unk>",
    " </s> ",
    "<\\s>",
    "<\\\\s>",
    "a",
]

every = pytest.mark.parametrize("vocabulary", TRAINED.values(), ids=TRAINED)
lossless = pytest.mark.parametrize("vocabulary", [TRAINED[name(kind)] for kind in LOSSLESS], ids=map(name, LOSSLESS))


def plain(vocabulary: Vocabulary, texts: list[str]) -> list[list[int]]:
    """As the saved file alone would cut them."""
    return [code.ids for code in Tokenizer.from_str(vocabulary._text).encode_batch(texts, add_special_tokens=False)]


@lossless
@settings(max_examples=60)
@given(text=st.text(st.sampled_from(KNOWN), max_size=40) | st.sampled_from(EDGES))
def test_known_characters_come_back(vocabulary: Vocabulary, text: str) -> None:
    known = Vocabulary.normalise(vocabulary, text)
    (ids,) = vocabulary.encode([text])
    if UNKNOWN not in ids:  # NFC may join two known characters to one that was never seen
        assert vocabulary.decode(ids) == known


@pytest.mark.parametrize("vocabulary", [TRAINED["bytes"], TRAINED["bpe-bytes"]], ids=["bytes", "bpe-bytes"])
@settings(max_examples=100)
@given(text=st.text(max_size=40))
def test_with_bytes_everything_comes_back(vocabulary: Vocabulary, text: str) -> None:
    (ids,) = vocabulary.encode([text])
    assert min(ids, default=99) >= len(SPECIALS)
    assert vocabulary.decode(ids) == vocabulary.normalise(text)


@lossless
def test_lines_come_back(vocabulary: Vocabulary) -> None:
    assert vocabulary.decode_many(vocabulary.encode(LINES)) == [vocabulary.normalise(line) for line in LINES]
    assert vocabulary.unknown(LINES)[0] == 0


@every
@settings(max_examples=60)
@given(texts=st.lists(st.text(max_size=30) | st.sampled_from(EDGES + LINES), max_size=6))
def test_the_quick_way_is_the_files_way(vocabulary: Vocabulary, texts: list[str]) -> None:
    assert vocabulary.encode(texts) == plain(vocabulary, texts)


@pytest.mark.parametrize("spaces", ["keep", "collapse"])
@pytest.mark.parametrize("form", ["none", "nfc", "nfkc"])
@pytest.mark.parametrize("kind", [Characters, Bytes, Words, BPE, Unigram])
def test_the_quick_way_with_every_normalisation(kind: Callable[..., PieceSettings], form: str, spaces: str) -> None:
    normalise = Normalise.model_validate({"form": form, "lowercase": True, "spaces": spaces})
    vocabulary = Vocabulary.train(kind(normalise=normalise), TEXTS)
    texts = [*LINES, *EDGES, "A ´B ¨", "e\u0301 \u0301x", "ﷺ ﷺ", "İ ΑΣ K", "a\x1cb\x85c"]
    assert vocabulary.encode(texts) == plain(vocabulary, texts)
    if kind is Bytes:
        assert vocabulary.decode_many(vocabulary.encode(texts)) == [vocabulary.normalise(text) for text in texts]


def test_normalisation_does_what_it_says() -> None:
    wide = Vocabulary.train(Bytes(normalise=Normalise(form="nfkc", lowercase=True, spaces="collapse")), [])
    assert wide.normalise(" ﬁNE\t\n² ") == "fine 2"
    assert Vocabulary.train(Bytes(normalise=Normalise(form="none")), []).normalise("e\u0301") == "e\u0301"
    assert TRAINED["bytes"].normalise("e\u0301  ") == "é  "


@every
def test_no_text_is_a_special_piece(vocabulary: Vocabulary) -> None:
    texts = [*SPECIALS, " ".join(SPECIALS), "".join(SPECIALS), "a<s>b", "<s", "s>"]
    for kind in (vocabulary.settings, vocabulary.settings.model_copy(update={"size": 450})):
        learnt = Vocabulary.train(kind, texts * 50)
        ids, _ = learnt.encode_arrays(texts)
        assert ids.min() >= len(SPECIALS)
        if not (isinstance(kind, Words) and kind.split == "punctuation"):
            assert learnt.decode_many(learnt.encode(texts)) == texts


@every
def test_the_first_ids_are_the_same_everywhere(vocabulary: Vocabulary) -> None:
    ids = [UNKNOWN, BEGIN, END, MASK, SEPARATOR]
    assert ids == [0, 1, 2, 3, 4]
    assert vocabulary.pieces(ids) == ["<unk>", "<s>", "</s>", "<mask>", "<sep>"]
    assert vocabulary.decode(ids) == "⁇"


def test_what_was_never_seen_is_unknown() -> None:
    for kind in (Characters(), Words(), BPE(), Unigram()):
        vocabulary = Vocabulary.train(kind, ["abc"])
        (ids,) = vocabulary.encode(["ж"])
        assert ids[-1] == UNKNOWN
        assert vocabulary.decode(ids).endswith("⁇")
        assert vocabulary.unknown(["ж"])[0] == 1


def test_rare_ones_are_unknown() -> None:
    assert Vocabulary.train(Characters(least=2), ["aab"]).encode(["ab"]) == [[5, UNKNOWN]]
    assert Vocabulary.train(Words(least=2), ["a a b"]).encode(["a b"]) == [[5, UNKNOWN]]
    assert Vocabulary.train(Words(size=6), ["b a a"]).encode(["a b"]) == [[5, UNKNOWN]]


def test_bytes_are_their_numbers() -> None:
    assert Vocabulary.train(Bytes(), []).encode(["aé"]) == [[5 + byte for byte in "aé".encode()]]


@pytest.mark.parametrize("kind", [BPE(size=40), BPE(size=261, bytes=True), Unigram(size=40), Words(size=10)], ids=name)
def test_the_size_is_never_passed(kind: BPE | Unigram | Words) -> None:
    assert len(Vocabulary.train(kind, TEXTS)) <= (kind.size or 0)


@every
def test_the_first_word_is_like_any_other(vocabulary: Vocabulary) -> None:
    if isinstance(vocabulary.settings, Characters | Bytes):
        return
    once, twice = vocabulary.encode(["the", "the the"])
    assert once + once == twice


@pytest.mark.parametrize("kind", SUBWORDS, ids=name)
def test_languages_without_spaces_have_longer_pieces(kind: PieceSettings) -> None:
    days, doings = ["今天", "明天", "昨天", "星期一"], ["天气很好", "我们去公园", "天气不好", "没有课"]
    vocabulary = Vocabulary.train(kind, [f"{day}{doing}。" for day in days for doing in doings])
    (ids,) = vocabulary.encode(["昨天我们去公园，今天没有课。"])
    assert len(ids) <= 8
    assert vocabulary.decode(ids) in ("昨天我们去公园，今天没有课。", "昨天我们去公园⁇今天没有课。")


def test_arrays() -> None:
    values, lengths = TRAINED["bpe"].encode_arrays(["the dog", "", "a  b"])
    assert values.dtype == np.int32
    assert lengths.dtype == np.int64
    assert lengths.tolist() == [len(ids) for ids in TRAINED["bpe"].encode(["the dog", "", "a  b"])]
    for vocabulary in TRAINED.values():
        values, lengths = vocabulary.encode_arrays([])
        assert (values.size, lengths.size, vocabulary.encode([])) == (0, 0, [])


@every
def test_words_that_are_split_already(vocabulary: Vocabulary) -> None:
    words = ["The", "quick", "", "dog", "doesn't"]
    ids, numbers = vocabulary.encode_words(words)
    assert sorted(set(numbers)) == [0, 1, 2, 3, 4]
    space = vocabulary.encode([" "])[0] if vocabulary.settings.kind in ("characters", "bytes") else []
    for number, word in enumerate(words):
        mine = [id for id, at in zip(ids, numbers, strict=True) if at == number]
        assert mine == (vocabulary.encode([word])[0] or [UNKNOWN]) + (space if number < 4 else [])
    assert vocabulary.encode_words([]) == ([], [])


@every
def test_words_that_are_split_already_are_read_as_their_text(vocabulary: Vocabulary) -> None:
    words = ["The", "quick", "dog"]
    assert vocabulary.encode_words(words)[0] == vocabulary.encode([" ".join(words)])[0]


def test_where_no_space_is_known_none_stands_between_words() -> None:
    vocabulary = Vocabulary.train(Characters(), ["ab"])
    assert vocabulary.encode_words(["a", "b"]) == (vocabulary.encode(["ab"])[0], [0, 1])


def test_pieces_can_be_seen() -> None:
    assert TRAINED["characters"].pieces(TRAINED["characters"].encode(["a b\n\t"])[0]) == ["a", "▁", "b", "↵", "⇥"]
    assert TRAINED["bytes"].pieces(TRAINED["bytes"].encode(["aé"])[0]) == ["a", r"\xc3", r"\xa9"]
    assert TRAINED["bpe"].pieces(TRAINED["bpe"].encode(["the"])[0]) == ["▁the"]


def test_broken_bytes_do_not_crash() -> None:
    assert TRAINED["bytes"].decode([5 + 0xC3]) == "\ufffd"


@every
def test_the_same_texts_give_the_same(vocabulary: Vocabulary) -> None:
    assert all(Vocabulary.train(vocabulary.settings, iter(TEXTS)) == vocabulary for _ in range(3))
    assert {vocabulary} == {Vocabulary.train(vocabulary.settings, TEXTS)}


@pytest.mark.parametrize("threads", ["1", "3"])
def test_the_number_of_threads_changes_nothing(threads: str) -> None:
    code = (
        "from tests.text.corpus import ALL, TEXTS; from seqloom.text import Vocabulary\n"
        "print(*[Vocabulary.train(kind, TEXTS * 20).fingerprint for kind in ALL])"
    )
    seen = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "RAYON_NUM_THREADS": threads, "PYTHONHASHSEED": threads},
        capture_output=True,
        text=True,
        check=True,
    )
    assert seen.stderr == ""
    assert seen.stdout.split() == [Vocabulary.train(kind, TEXTS * 20).fingerprint for kind in ALL]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_is_quiet_and_works() -> None:
    code = (
        "import os; from tests.text.corpus import TEXTS; from seqloom.text import BPE, Vocabulary\n"
        "vocabulary = Vocabulary.train(BPE(size=300), TEXTS); vocabulary.encode(TEXTS)\n"
        "child = os.fork()\n"
        "if not child:\n    vocabulary.encode([f'new{n} words' for n in range(999)]); os._exit(7)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600)
    assert (seen.stdout, seen.stderr) == ("7\n", "")


@every
def test_saved_and_loaded(vocabulary: Vocabulary, tmp_path: Path) -> None:
    file = tmp_path / "vocabulary" / "source.json"
    vocabulary.save(file)
    again = Vocabulary.load(file)
    assert again == vocabulary
    assert again.settings == vocabulary.settings
    assert again.encode(LINES) == vocabulary.encode(LINES)
    assert sorted(path.name for path in file.parent.iterdir()) == ["source.json", "source.settings.json"]
    assert pickle.loads(pickle.dumps(vocabulary)) == vocabulary
    elsewhere = Tokenizer.from_file(str(file))
    for line, ids in zip(LINES, vocabulary.encode(LINES), strict=True):
        assert elsewhere.encode(line).ids == ids
        assert elsewhere.decode(ids, skip_special_tokens=False) == vocabulary.decode(ids)


def test_other_content_is_another_vocabulary() -> None:
    one = Vocabulary.train(BPE(size=300), TEXTS)
    assert one != Vocabulary.train(BPE(size=301), TEXTS)
    assert one != Vocabulary.train(BPE(size=300, dropout=0.1), TEXTS)
    assert len({vocabulary.fingerprint for vocabulary in TRAINED.values()}) == len(TRAINED)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("v.json", None, "v.json: no such file; it should hold a vocabulary"),
        ("v.settings.json", None, "v.settings.json: no such file; it should hold a vocabulary's settings"),
        ("v.json", "{", "v.json: not a vocabulary ("),
        ("v.json", '{"version": "1.0"}', "v.json: not a vocabulary ("),
        ("v.settings.json", "[]", "v.settings.json: not a vocabulary's settings ("),
        ("v.settings.json", '{"settings": {"kind": "bpee"}, "fingerprint": ""}', "not a vocabulary's settings ("),
    ],
)
def test_broken_files_are_told(tmp_path: Path, file: str, text: str | None, message: str) -> None:
    TRAINED["bpe"].save(tmp_path / "v.json")
    (tmp_path / file).unlink() if text is None else (tmp_path / file).write_text(text)
    with pytest.raises(UserError) as caught:
        Vocabulary.load(tmp_path / "v.json")
    assert message in str(caught.value)
    assert text is None or "put back the file as it was saved, or train anew" in str(caught.value)


def test_files_that_do_not_belong_together_are_told(tmp_path: Path) -> None:
    TRAINED["bpe"].save(tmp_path / "v.json")
    content = json.loads((tmp_path / "v.json").read_text(encoding="utf-8"))
    content["model"]["merges"].pop()
    (tmp_path / "v.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(UserError, match=r"v\.json: not the vocabulary that v\.settings\.json belongs to"):
        Vocabulary.load(tmp_path / "v.json")


def test_ids_must_be_ours(tmp_path: Path) -> None:
    TRAINED["words-spaces"].save(tmp_path / "v.json")
    content = json.loads((tmp_path / "v.json").read_text(encoding="utf-8"))
    content["model"]["vocab"]["<s>"], content["model"]["vocab"]["</s>"] = 2, 1
    (tmp_path / "v.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(UserError, match="the first pieces are not <unk>"):
        Vocabulary.load(tmp_path / "v.json")


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        TRAINED["bpe"].save(tmp_path / "file" / "v.json")


def test_a_text_alone_is_refused() -> None:
    with pytest.raises(TypeError, match=r"give \[text\]"):
        TRAINED["bpe"].encode("text")


@every
def test_half_a_surrogate_pair_is_told(vocabulary: Vocabulary) -> None:
    with pytest.raises(UserError, match=r"text 2: half a surrogate pair"):
        vocabulary.encode(["a", "b\ud83d"])


def test_what_stands_for_the_unknown_is_said() -> None:
    words = Vocabulary.train(Words(), ["a b"])
    ids = [UNKNOWN, *words.encode(["a"])[0], UNKNOWN, END, UNKNOWN]
    assert words.decode(ids, ["x", "<s>"]) == "x a <s> ⁇"
    assert words.decode(ids) == "⁇ a ⁇ ⁇"


@every
@settings(max_examples=60)
@given(text=st.text(max_size=30) | st.sampled_from(EDGES + LINES + ["ЖЖ the Ж", "İ e\u0301Ж ﬁ"]))
def test_every_id_has_its_place(vocabulary: Vocabulary, text: str) -> None:
    (ids,) = vocabulary.encode([text])
    normal, places = vocabulary.places(text)
    assert normal == vocabulary.normalise(text)
    assert len(places) == len(ids)
    assert [first for first, _ in places] == sorted(first for first, _ in places)
    bytewise = isinstance(vocabulary.settings, Bytes) or "bytes" in name(vocabulary.settings)
    for id, (first, last) in zip(ids, places, strict=True):
        assert 0 <= first <= last <= len(normal)
        if id != UNKNOWN and not bytewise:
            own = vocabulary.decode([id])
            assert own.strip() == normal[first:last].strip() or not own.strip()


@every
def test_words_of_a_text(vocabulary: Vocabulary) -> None:
    text = "ab  c,d\n<s>"
    found = [text[first:last] for first, last in vocabulary.words(text)]
    split = isinstance(vocabulary.settings, Words) and vocabulary.settings.split == "punctuation"
    assert found == (["ab", "c", ",", "d", "<", "s", ">"] if split else ["ab", "c,d", "<s>"])


def test_whole_words_of_pieces() -> None:
    """As a file of word vectors writes them."""
    words = Vocabulary.train(Words(), ["the cat"]).whole_words()
    assert {"the", "cat"} < set(words)
    pieces = Vocabulary.train(BPE(size=300), ["the cats the cat the cat"] * 5)
    found = dict(zip(pieces.names, pieces.whole_words(), strict=True))
    assert found[" the"] == "the"
    assert found["a"] == ""
