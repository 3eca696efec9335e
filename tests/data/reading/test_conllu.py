"""Words with tags, line by line."""

from pathlib import Path

from tests.data.reading.examples import fault, rows, skipped, write

GERMAN = """# sent_id = 1
# text = Er geht zum Haus
1\tEr\ter\tPRON\tPPER\t_\t2\tnsubj\t_\t_
2\tgeht\tgehen\tVERB\tVVFIN\t_\t0\troot\t_\t_
3-4\tzum\t_\t_\t_\t_\t_\t_\t_\t_
3\tzu\tzu\tADP\tAPPR\t_\t5\tcase\t_\t_
4\tdem\tder\tDET\tART\t_\t5\tdet\t_\t_
5\tHaus\tHaus\tNOUN\tNN\t_\t2\tobl\t_\t_
5.1\tist\t_\tAUX\t_\t_\t_\t_\t_\t_

# sent_id = 2
1\t#\t#\tSYM\tXY\t_\t0\troot\t_\t_
"""
WORDS = ["Er", "geht", "zu", "dem", "Haus"]


def test_universal_dependencies(tmp_path: Path) -> None:
    name = write(tmp_path / "a.conllu", GERMAN)
    assert rows(name, shape="tags") == [(3, WORDS, ["PRON", "VERB", "ADP", "DET", "NOUN"]), (12, ["#"], ["SYM"])]
    assert rows(name, shape="tags", target="XPOS")[0][2] == ["PPER", "VVFIN", "APPR", "ART", "NN"]
    assert rows(name, shape="tags", source="lemma", target="4")[0][1] == ["er", "gehen", "zu", "der", "Haus"]
    assert rows(name)[1] == (12, "#", "SYM")
    assert rows(name, shape="text")[0] == (3, " ".join(WORDS))
    assert fault(name, shape="tags", target="upso") == f"{name}:3: no column 'upso'; did you mean 'upos'?"
    assert "words with tags, but this task reads texts with labels" in fault(name, shape="classes")


def test_two_columns(tmp_path: Path) -> None:
    text = "EU\tB-ORG\r\nrejects\tO\r\n\r\n\r\n#\tO\r\n2\tO"
    said = [(1, ["EU", "rejects"], ["B-ORG", "O"]), (5, ["#", "2"], ["O", "O"])]
    for ending in ("conll", "bio", "tsv", "txt"):
        assert rows(write(tmp_path / f"a.{ending}", text), shape="tags") == said


def test_spaces_between_the_columns(tmp_path: Path) -> None:
    name = write(tmp_path / "a.conll", "-DOCSTART- -X- O O\n\n# a comment\nEU NNP B-NP B-ORG\n# SYM O O\n")
    assert rows(name, shape="tags") == [(4, ["EU", "#"], ["B-ORG", "O"])]  # where a document begins is no sentence
    assert rows(name, shape="tags", target="2")[0][2] == ["NNP", "SYM"]


def test_faults(tmp_path: Path) -> None:
    name = write(tmp_path / "a.conllu", GERMAN + "\n1\tx\tX\n\n" + GERMAN)
    said = f"{name}:14: expected 10 columns, found 3; mend the sentence, or pass --skip-bad"
    assert fault(name, shape="tags") == said
    assert len(rows(name, shape="tags", bad="skip")) == 4
    assert skipped(name, shape="tags") == {"another number of columns": 1}
    name = write(tmp_path / "b.conllu", GERMAN.replace("2\tgeht", "zwei\tgeht"))
    assert f"{name}:4: expected a word's number first, found 'zwei'" in fault(name, shape="tags")
    name = write(tmp_path / "c.conll", "a\tX\nb\t\n")
    assert f"{name}:2: an empty word or tag" in fault(name, shape="tags")
    name = write(tmp_path / "d.conll", "just some text\nword\n")
    assert f"{name}:2: expected 3 columns, found 1" in fault(name, shape="tags")
    name = write(tmp_path / "e.conll", "word\n")
    assert fault(name, shape="tags") == f"{name}:1: expected a word and its tag with a tab between them, found 'word'"


def test_words_out_of_order(tmp_path: Path) -> None:
    """An empty line that is missing would make one sentence of two; a line that is, a sentence without its word."""
    name = write(tmp_path / "a.conllu", GERMAN.replace("\n\n# sent_id = 2", ""))
    fix = "put an empty line between the sentences, or pass --skip-bad"
    assert fault(name, shape="tags") == f"{name}:10: expected word 6, found word 1; {fix}"
    name = write(tmp_path / "b.conllu", GERMAN.replace("3\tzu\t", "4\tzu\t"))
    said = f"{name}:6: expected word 3, found word 4; mend the sentence, or pass --skip-bad"
    assert fault(name, shape="tags") == said
    assert rows(name, shape="tags", bad="skip") == [(12, ["#"], ["SYM"])]
    assert skipped(name, shape="tags") == {"words out of order": 1}
    name = write(tmp_path / "c.conllu", GERMAN.replace("1\t#", "2\t#"))
    assert fault(name, shape="tags").startswith(f"{name}:12: expected word 1, found word 2")


def test_wrong_encoding(tmp_path: Path) -> None:
    name = write(tmp_path / "a.conll", b"a\tX\nK\xe4se\tY\n\nb\tX\n")
    assert fault(name, shape="tags").startswith(f"{name}:2: not UTF-8 text (byte 0xe4 at column 2)")
    assert rows(name, shape="tags", bad="skip") == [(4, ["b"], ["X"])]


def test_many_blocks(tmp_path: Path) -> None:
    name = write(tmp_path / "a.conll", "".join(f"w{n}\tT\n\n" for n in range(9_000)))
    assert [words for _, words, _ in rows(name, shape="tags")] == [[f"w{n}"] for n in range(9_000)]


def test_words_that_are_numbered_from_0(tmp_path: Path) -> None:
    words = "".join(f"{number}\t{word}\t_\tX" + "\t_" * 6 + "\n" for number, word in enumerate("abc"))
    name = write(tmp_path / "a.conllu", f"{words}\n{words}")
    assert [found for _, found, _ in rows(name, shape="tags")] == [["a", "b", "c"]] * 2
    name = write(tmp_path / "b.conllu", words + words)
    fix = "put an empty line between the sentences, or pass --skip-bad"
    assert fault(name, shape="tags") == f"{name}:4: expected word 3, found word 0; {fix}"
