"""TSV and CSV: columns by place and by name, rows that do not fit."""

from pathlib import Path
from typing import Any

import pytest

from seqloom.data.reading import Shape, table
from seqloom.data.settings import Bad
from tests.data.reading.examples import blocks, corpus, fault, rows, skipped, write


class TestTSV:
    def test_the_first_two_columns(self, tmp_path: Path) -> None:
        name = write(tmp_path / "a.tsv", 'Haus\thouse\tCC-BY\r\n"Hund\tdog\tCC-BY\nno\tlicence\n')
        assert rows(name) == [(1, "Haus", "house"), (2, '"Hund', "dog"), (3, "no", "licence")]

    @pytest.mark.parametrize("header", ["source\ttarget\tid", "tgt\tid\tsrc", "Input\tOutput\t"])
    def test_usual_names_are_a_header(self, tmp_path: Path, header: str) -> None:
        name = write(tmp_path / "a.tsv", f"{header}\na\tb\tc\n")
        assert rows(name) == [(2, *(("c", "a") if "tgt" in header else ("a", "b")))]

    def test_a_header_can_be_denied_and_demanded(self, tmp_path: Path) -> None:
        name = write(tmp_path / "a.tsv", "source\ttarget\na\tb\n")
        assert len(rows(name, header=False)) == 2
        name = write(tmp_path / "b.tsv", "en\tde\na\tb\n")
        assert rows(name, header=True) == [(2, "a", "b")]

    def test_columns_by_name_and_number(self, tmp_path: Path) -> None:
        name = write(tmp_path / "a.tsv", "id\ten\tde\n1\ta\tb\n")
        assert rows(name, source="de", target="en") == [(2, "b", "a")]
        assert rows(name, source="3", target="2") == [(1, "de", "en"), (2, "b", "a")]

    def test_an_absent_column(self, tmp_path: Path) -> None:
        name = write(tmp_path / "a.tsv", "english\tgerman\na\tb\n")
        assert (
            fault(name, source="engilsh", target="german") == f"{name}:1: no column 'engilsh'; did you mean 'english'?"
        )
        assert fault(name, source="fr", target="german") == f"{name}:1: no column 'fr'; the columns are english, german"
        assert fault(name, source="1", target="3") == f"{name}:1: no column 3 for the target; there are 2"
        assert fault(name, source="0") == f"{name}:1: no column 0 for the source; columns are numbered from 1"
        said = f"{name}:1: no column 'english' for the source: header = false; give the column's number"
        assert fault(name, source="english", header=False) == said

    def test_too_few_columns(self, tmp_path: Path) -> None:
        name = write(tmp_path / "a.tsv", "a\tb\nc d\n\ne\tf\n")
        assert fault(name) == (
            f"{name}:2: expected 2 columns with a tab between them, found 1; mend the line, or pass --skip-bad"
        )
        assert rows(name, bad="skip") == [(1, "a", "b"), (4, "e", "f")]
        assert skipped(name) == {"too few columns": 1, "blank line": 1}

    @pytest.mark.parametrize("bad", ["stop", "skip"])
    @pytest.mark.parametrize(
        ("shape", "told"),
        [
            (
                "pairs",
                "reads pairs; for plain text take a language model such as rnn-lm-small, or give pairs: two columns "
                "with a tab between them, or two aligned files",
            ),
            (
                "classes",
                "reads texts and their classes; for plain text take a language model such as rnn-lm-small, or put a "
                "tab and its class behind each text",
            ),
        ],
    )
    def test_plain_text(self, tmp_path: Path, shape: Shape, told: str, bad: Bad) -> None:
        name = write(tmp_path / "a.txt", "to be\n\nor not\nto be\nthat is\nthe question\n")
        plain = "looks like plain text (no tab in its first 5 lines)"
        assert fault(name, shape=shape, bad=bad) == f"{name}: {plain}, but this task {told}"
        mended = write(tmp_path / "b.txt", "to be\n\nor not\nto be\nthat is\nthe\tquestion\n")
        assert rows(mended, shape=shape, bad="skip") == [(6, "the", "question")]

    @pytest.mark.parametrize("first", ["he went\til alla", "source\ttarget"])
    def test_too_many_columns(self, tmp_path: Path, first: str) -> None:
        name = write(tmp_path / "a.tsv", f"{first}\nhe said\toh really\tlui\n\t\t\ne\tf\n")
        assert fault(name) == (
            f"{name}:2: expected 2 columns, as in the first row, found 3; "
            "take out the tab that is too many, or pass --skip-bad"
        )
        assert rows(name, bad="skip")[-1] == (4, "e", "f")
        assert skipped(name) == {"too many columns": 1, "blank line": 1}
        assert (2, "he said", "oh really") in rows(name, source="1", target="2", bad="skip")

    def test_one_side_empty(self, tmp_path: Path) -> None:
        name = write(tmp_path / "a.tsv", "\tb\na\t\n")
        said = f"{name}:1: the source is empty, but the target is not; remove the line, or pass --skip-bad"
        assert fault(name) == said
        assert "all" not in fault(name, bad="skip")
        assert "no example in it (1 left out: the source is empty (" in fault(name, bad="skip")

    def test_wrong_encoding(self, tmp_path: Path) -> None:
        name = write(tmp_path / "a.tsv", b"a\tb\n\xff\tc\n")
        assert fault(name).startswith(f"{name}:2: not UTF-8 text (byte 0xff at column 1)")
        assert rows(name, bad="skip") == [(1, "a", "b")]

    def test_texts_classes_and_tags(self, tmp_path: Path) -> None:
        name = write(tmp_path / "a.tsv", "text\tlabel\nso good\tpositive\n")
        assert rows(name, shape="text") == [(2, "so good")]
        assert rows(name, shape="classes") == [(2, "so good", "positive")]
        name = write(tmp_path / "b.tsv", "the house\tDET NOUN\n")
        assert rows(name, shape="tags") == [(1, ["the", "house"], ["DET", "NOUN"])]

    def test_many_blocks_behind_a_header(self, tmp_path: Path) -> None:
        name = write(tmp_path / "a.tsv", "src\ttgt\n" + "".join(f"{n}\t-{n}\n" for n in range(2, 9_000)))
        assert len(blocks(name)) > 1
        assert rows(name) == [(n, str(n), f"-{n}") for n in range(2, 9_000)]

    def test_plain_text_with_tabs(self, tmp_path: Path) -> None:
        assert rows(write(tmp_path / "a.txt", "a\tb\n")) == [(1, "a", "b")]
        assert fault(write(tmp_path / "b.txt", "a b\n")).startswith(f"{tmp_path / 'b.txt'}:1: expected 2 columns")


def _numbered(head: str, count: int = 9, separator: str = "\t") -> str:
    return head + "".join(f"{n}{separator}so it was {n}{separator}it was so {n}\n" for n in range(1, count))


class TestUnusualNames:
    NAMES = 'id,English sentence,"Reversed ""words"", yes"\n'

    def test_a_name_above_numbers(self, tmp_path: Path) -> None:
        name = write(tmp_path / "a.tsv", "points\ttext\n" + "".join(f"{n},5\tso good\n" for n in range(9)))
        assert rows(name)[0] == (2, "0,5", "so good")
        found = table(corpus(name), "pairs")
        assert found is not None
        assert list(found.notes()) == [
            f"{name}:1: taken as the names of the columns ('points', 'text'); "
            "if it is an example: header = false in the recipe's [[data.corpora]]"
        ]
        assert rows(name, header=False)[0] == (1, "points", "text")

    def test_words_above_sentences(self, tmp_path: Path) -> None:
        lines = "it was not so bad\tes war nicht so schlimm\n" * 20
        assert rows(write(tmp_path / "a.tsv", "Original\tTranslated\n" + lines))[0][0] == 2
        assert rows(write(tmp_path / "b.tsv", "Hello!\tHallo!\n" + lines))[0][0] == 1
        assert rows(write(tmp_path / "c.tsv", "Original\tTranslated\n" + lines + "no\tnein\n"))[0][0] == 1

    def test_examples_are_no_names(self, tmp_path: Path) -> None:
        assert rows(write(tmp_path / "a.tsv", "eleven 11\t11\n" + "ten\t10\n" * 9))[0][0] == 1
        assert rows(write(tmp_path / "b.tsv", "eleven\tnone\n" + "ten\t10\n" * 3))[0][0] == 1

    @pytest.mark.parametrize(
        "first",
        ["How are you today, my dear old friend?\tn/a", "jbeb\t-", "half\t½", "infinity\t∞", "so,so\tunknown"],
    )
    def test_what_stands_above_numbers_need_not_be_a_name(self, tmp_path: Path, first: str) -> None:
        name = write(tmp_path / "a.tsv", f"{first}\n" + "".join(f"words {n}\t{n}\n" for n in range(20)))
        assert len(rows(name)) == 21

    def test_lines_that_cannot_be_read_are_no_header(self, tmp_path: Path) -> None:
        file = tmp_path / "a.tsv"
        file.write_bytes("gr\xfcn\tgr\xfcn\n".encode("latin-1") * 40)
        assert fault(str(file)).startswith(f"{file}:1:")

    def test_more_columns_with_names_that_say_nothing(self, tmp_path: Path) -> None:
        name = write(tmp_path / "a.csv", _numbered(self.NAMES, separator=","))
        listed = """3 columns (1: 'id', 2: 'English sentence', 3: 'Reversed "words", yes')"""
        assert fault(name) == (
            f"{name}:1: {listed}; which is the source and which the target? Say --source COL --target COL "
            "(a name, or a number from 1), or source = … and target = … in the recipe's [[data.corpora]]"
        )
        assert "which is the target? Say --target COL (a name" in fault(name, source="English sentence")
        readings = write(tmp_path / "b.csv", "x,y,z,what\n" + "1.5,2,-3,up\n2.5,1,0.5,down\n" * 5)
        assert "if these are readings of which each series has a label: --set task.kind=classify" in fault(readings)
        assert rows(name, source="2", target="3")[0] == (2, "so it was 1", "it was so 1")

    def test_more_columns_without_names(self, tmp_path: Path) -> None:
        assert "which is the source and which the target?" in fault(write(tmp_path / "a.tsv", _numbered("")))
        name = write(tmp_path / "b.tsv", "so\tis\tlicence\n")
        found = table(corpus(name), "pairs")
        assert found is not None
        assert list(found.notes()) == [
            f"{name}:1: 3 columns (1: 'so', 2: 'is', 3: 'licence'): 1 and 2 are read; others: --source COL --target COL"
        ]

    @pytest.mark.parametrize("names", ["English,Arabic", "en,de_DE", "German sentence,French sentence", "eng,deu"])
    def test_names_of_languages_are_a_header(self, tmp_path: Path, names: str) -> None:
        name = write(tmp_path / "a.csv", f"{names}\nso it is,so ist es\n")
        assert rows(name) == [(2, "so it is", "so ist es")]

    @pytest.mark.parametrize("first", ["English,English", "no,nein", "the English,Arabic", "en,so"])
    def test_words_that_are_no_two_languages_are_none(self, tmp_path: Path, first: str) -> None:
        assert len(rows(write(tmp_path / "a.csv", f"{first}\nso it is,so ist es\n"))) == 2

    @pytest.mark.parametrize(
        "names",
        [
            "中文\t英文", "英文\t日文", "中文（简体）\t英文句子", "英語\t日本語", "영어\t한국어",
            "Английский\tРусский язык",
            "англійська\tукраїнська", "ΑΓΓΛΙΚΑ\tΕλληνικά", "الإنجليزية\tالعربية", "انگلیسی\tفارسی", "אנגלית\tעברית",
            "अंग्रेज़ी\tहिन्दी", "ภาษาอังกฤษ\tไทย", "Tiếng Anh\tTiếng Việt", "İngilizce\tTürkçe", "Anglais\tFrancais",
            "English\t中文", "中文\ttranslation", "原文\t译文", "源语言\t目标语言", "исходный\tперевод", "원문\t번역",
            "المصدر\tالهدف", "Texto\tEtiqueta",
        ],
    )  # fmt: skip
    def test_names_in_other_scripts_are_a_header(self, tmp_path: Path, names: str) -> None:
        name = write(tmp_path / "a.tsv", f"{names}\n你好\thello\n")
        assert rows(name) == [(2, "你好", "hello")]
        found = table(corpus(name), "pairs")
        assert found is not None
        assert [note.startswith(f"{name}:1: taken as the names") for note in found.notes()] == [True]
        assert len(rows(name, header=False)) == 2

    @pytest.mark.parametrize(
        "text",
        [
            "German\tDeutsch\nhouse\tHaus\n",
            "中文\tChinese\n你好\thello\n",
            "английский\tEnglish\nдом\thouse\n",
            "中文\t好\n你好\thello\n",
            "English\tGerman\nFrench\tSpanish\nGreek\tLatin\n",
            "English\tquestion\nso it is\tanswer\nis it\tquestion\n",
            "原文\t译文\n",
        ],
    )
    def test_names_of_one_language_and_lists_of_names_are_examples(self, tmp_path: Path, text: str) -> None:
        assert rows(write(tmp_path / "a.tsv", text))[0][0] == 1

    def test_a_dictionary_may_hold_the_names_above_it(self, tmp_path: Path) -> None:
        name = write(tmp_path / "a.tsv", "English\tGerman\nEnglish\tEnglisch\nGerman\tDeutsch\n")
        assert [line for line, *_ in rows(name)] == [2, 3]

    @pytest.mark.parametrize("names", ["中文\t英文", "原文\t译文", "中文\ttranslation"])
    def test_names_may_stand_again_where_files_were_joined(self, tmp_path: Path, names: str) -> None:
        name = write(tmp_path / "a.tsv", f"{names}\n你好\thello\n" * 2)
        assert [line for line, *_ in rows(name)] == [2, 3, 4]

    def test_the_words_tell_which_is_the_source(self, tmp_path: Path) -> None:
        name = write(tmp_path / "a.tsv", "编号\t译文\t原文\n7\thello\t你好\n")
        assert rows(name) == [(2, "你好", "hello")]
        name = write(tmp_path / "b.tsv", "метка\tтекст\nхорошо\tвсё было так\n")
        assert rows(name, shape="classes") == [(2, "всё было так", "хорошо")]

    @pytest.mark.parametrize("names", ["英文\t中文\t备注", "English\t中文\tpage number", "en\tzh\tid"])
    def test_of_more_columns_two_languages_are_read(self, tmp_path: Path, names: str) -> None:
        name = write(tmp_path / "a.tsv", f"{names}\nso it is now\t就是这样\tno\n")
        assert rows(name) == [(2, "so it is now", "就是这样")]

    def test_which_of_three_languages_is_asked(self, tmp_path: Path) -> None:
        name = write(tmp_path / "a.tsv", "英文\t中文\t日文\nso it is\t就是这样\tそうです\n")
        assert "which is the source and which the target?" in fault(name)

    def test_codes_above_sentences_without_spaces(self, tmp_path: Path) -> None:
        assert len(rows(write(tmp_path / "a.tsv", "zh\tja\n我们今天去学校。\t今日は学校に行きます。\n"))) == 1

    def test_what_may_be_names_is_told(self, tmp_path: Path) -> None:
        lines = "".join(f"就是这样，没有别的办法了{n}。\tit was so, and no other way {n}.\n" for n in range(20))
        name = write(tmp_path / "a.tsv", "甲方\tmy side\n" + lines)
        assert rows(name)[0] == (1, "甲方", "my side")
        found = table(corpus(name), "pairs")
        assert found is not None
        assert list(found.notes()) == [
            f"{name}:1: read as an example, but looks like the names of the columns; "
            "if it is: --source '甲方' --target 'my side'"
        ]
        assert rows(name, source="甲方", target="my side")[0][0] == 2

    @pytest.mark.parametrize(
        "first", ["甲方\tno other", "甲方。\tmy side", "甲方\tmy side, which is as long as the others are"]
    )
    def test_what_is_like_the_others_is_no_doubt(self, tmp_path: Path, first: str) -> None:
        lines = "".join(f"就是这样，没有别的办法了{n}。\tit was so, and no other way {n}.\n" for n in range(20))
        found = table(corpus(write(tmp_path / "a.tsv", f"{first}\n{lines}")), "pairs")
        assert found is not None
        assert list(found.notes()) == []

    def test_above_words_codes_of_languages_are_words(self, tmp_path: Path) -> None:
        assert len(rows(write(tmp_path / "a.csv", "it,es\nhouse,Haus\ncat,Katze\n"))) == 3

    def test_labels_are_known_by_name_before_the_task_is(self, tmp_path: Path) -> None:
        name = write(tmp_path / "a.tsv", "idx\tsentence\tlabel\n" + "1\tso good\t1\n" * 9)
        assert rows(name)[0] == (2, "so good", "1")

    def test_one_of_two_columns_is_named(self, tmp_path: Path) -> None:
        name = write(tmp_path / "a.tsv", "a\tb\n")
        assert rows(name, source="2") == [(1, "b", "a")]
        assert rows(name, target="1") == [(1, "b", "a")]


class TestCSV:
    def test_quotes_commas_and_line_ends(self, tmp_path: Path) -> None:
        name = write(tmp_path / "a.csv", '"a, b","say ""hi"""\r\n"two\r\nlines",c\r\n\r\nd,e\r\n')
        assert rows(name) == [(1, "a, b", 'say "hi"'), (2, "two\r\nlines", "c"), (5, "d", "e")]
        assert skipped(name) == {"blank line": 1}

    def test_a_byte_order_mark_and_a_header(self, tmp_path: Path) -> None:
        name = write(tmp_path / "a.csv", "\ufeffid,text,label\n1,so good,pos\n")
        assert rows(name, shape="classes") == [(2, "so good", "pos")]
        assert rows(name, shape="classes", source="text", target="label") == [(2, "so good", "pos")]

    def test_semicolons(self, tmp_path: Path) -> None:
        assert rows(write(tmp_path / "a.csv", "a;b\nc, d;e\n")) == [(1, "a", "b"), (2, "c, d", "e")]
        assert rows(write(tmp_path / "b.csv", "a;b\n"), shape="text") == [(1, "a;b")]

    def test_tabs(self, tmp_path: Path) -> None:
        """As programs write it that quote: in TSV the quotes would be text."""
        name = write(tmp_path / "a.csv", 'text\tlabel\n"say ""hi"",\tthen\nleave"\tpos\nb\tneg\n')
        assert rows(name, shape="classes") == [(2, 'say "hi",\tthen\nleave', "pos"), (4, "b", "neg")]

    def test_ragged_rows_behind_a_row_of_several_lines(self, tmp_path: Path) -> None:
        name = write(tmp_path / "a.csv", 'a,b\n"c\nc",d\ne,f,g\nh\ni,j\n')
        assert fault(name) == (
            f'{name}:4: expected 2 columns, found 3; quote text that holds commas, as in "a, b", or pass --skip-bad'
        )
        assert rows(name, bad="skip") == [(1, "a", "b"), (2, "c\nc", "d"), (6, "i", "j")]
        assert skipped(name) == {"another number of columns": 2}

    def test_one_column(self, tmp_path: Path) -> None:
        assert "expected 2 columns, found 1" in fault(write(tmp_path / "a.csv", "a\nb\n"))

    def test_a_quote_that_is_never_closed(self, tmp_path: Path) -> None:
        name = write(tmp_path / "a.csv", 'a,b\n"c,d\ne,f\n')
        assert fault(name).startswith(f"{name}:2: a quote that begins in this row is never closed; ")
        assert rows(name, bad="skip") == [(1, "a", "b")]
        assert skipped(name) == {"broken quotes": 1, "lines behind broken quotes": 1}, "what is lost with it is counted"
        name = write(tmp_path / "b.csv", 'a,b\n"c,d\n' + "e,f\n" * 300_000)
        assert fault(name).startswith(f"{name}:2: a quote that is never closed, or more than 1,048,576 characters")

    def test_an_article_in_a_cell(self, tmp_path: Path) -> None:
        name = write(tmp_path / "a.csv", 'a,b\n"' + "c " * 200_000 + '",d\n')
        assert [len(source) for _, source, _ in rows(name)] == [1, 400_000]

    def test_text_behind_a_quote(self, tmp_path: Path) -> None:
        name = write(tmp_path / "a.csv", 'a,b\n"c"c,d\ne,f\n')
        assert fault(name).startswith(f"{name}:2: text behind a closing quote; ")
        assert rows(name, bad="skip") == [(1, "a", "b"), (3, "e", "f")]
        assert skipped(name) == {"broken quotes": 1}

    def test_lines_that_end_with_carriage_returns_only(self, tmp_path: Path) -> None:
        name = write(tmp_path / "a.csv", "a,b\rc,d")
        said = f"{name}:1: a carriage return outside of quotes; end lines with line feeds, e.g. tr '\\r' '\\n', or"
        assert fault(name).startswith(said)

    @pytest.mark.parametrize("between", [",", ";"])
    def test_names_in_another_encoding(self, tmp_path: Path, between: str) -> None:
        """They still say how many columns there are, so that the rows below them are no faults."""
        text = between.join(("größe", "source", "target")) + "\n" + f"1{between}a{between}b\n"
        name = write(tmp_path / "a.csv", text.encode("latin-1"))
        assert fault(name).startswith(f"{name}:1: not UTF-8 text (byte 0xf6 at column 3)")
        assert rows(name, bad="skip") == [(2, "a", "b")]
        assert skipped(name) == {"not UTF-8 text": 1}
        name = write(tmp_path / "a.tsv", text.replace(between, "\t").encode("latin-1"))
        assert fault(name).startswith(f"{name}:1: not UTF-8 text")
        assert rows(name, bad="skip") == [(2, "a", "b")]

    def test_wrong_encoding_within_quotes(self, tmp_path: Path) -> None:
        name = write(tmp_path / "a.csv", b'a,b\n"K\xe4se\nbrot",c\nd,e\n')
        assert fault(name).startswith(f"{name}:2: not UTF-8 text (byte 0xe4 at column 3)")
        assert rows(name, bad="skip") == [(1, "a", "b"), (4, "d", "e")]

    def test_many_blocks(self, tmp_path: Path) -> None:
        name = write(tmp_path / "a.csv", "".join(f"{n},-{n}\n" for n in range(1, 9_000)))
        assert len(blocks(name)) > 1
        assert rows(name) == [(n, str(n), f"-{n}") for n in range(1, 9_000)]
        assert sum(block.bytes for block in blocks(name)) == Path(name).stat().st_size


@pytest.mark.parametrize("settings", [{}, {"source": "a", "target": "b"}])
@pytest.mark.parametrize("ending", ["tsv", "csv", "jsonl", "txt"])
def test_an_empty_file(tmp_path: Path, ending: str, settings: dict[str, Any]) -> None:
    name = write(tmp_path / f"a.{ending}", "")
    assert fault(name, **settings) == f"{name}: no example in it (empty); is it the right file?"
