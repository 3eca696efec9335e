"""What is chosen for who names no recipe."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqloom.data.reading import read
from seqloom.data.settings import Corpus, corpora_of
from seqloom.jobs.deciding.asked import Asked, Command, asked
from seqloom.jobs.deciding.chosen import with_model
from seqloom.jobs.deciding.default import Look, default_settings, look
from seqloom.jobs.deciding.sizes import SIZES, model_of, picture_input
from seqloom.jobs.train import train
from seqloom.layers.images import Images
from seqloom.settings import SettingsError, UserError
from seqloom.text import BPE
from tests.jobs.run import write_pairs
from tests.jobs.shapes import write_conllu, write_labels, write_sentences, write_text

SHAPES: list[tuple[Callable[[Path], Path], str, str, str, str]] = [
    (write_pairs, "a.tsv", "translate", "characters", "encoder-decoder"),
    (write_sentences, "a.tsv", "translate", "bpe", "encoder-decoder"),
    (write_labels, "a.tsv", "classify", "bpe", "encoder-only"),
    (write_text, "a.txt", "language", "characters", "decoder-only"),
    (write_conllu, "a.conllu", "tag", "bpe", "encoder-only"),
]


def _asked(*data: str, **more: Any) -> Asked:
    return asked(Command(data=data, **more))


@pytest.mark.parametrize(
    ("write", "name", "task", "pieces", "family"), SHAPES, ids=[f"{shape[2]}-{shape[3]}" for shape in SHAPES]
)
def test_what_is_chosen(
    place: Path, write: Callable[[Path], Path], name: str, task: str, pieces: str, family: str
) -> None:
    wish = _asked(str(write(place / name)))
    recipe = wish.recipe
    assert (recipe.task.kind, recipe.text.source.kind, recipe.model.family) == (task, pieces, family)
    assert wish.model_open
    assert wish.notes == (
        f"no recipe named: the data looks like {task} ({pieces}); another task: --set task.kind=…, or a recipe",
    )
    assert wish.out == Path("runs") / "a"


@pytest.mark.parametrize(
    ("picture", "patch"), [((8, 8, 1), 1), ((28, 28, 1), 4), ((32, 32, 3), 4), ((224, 224, 3), 28), ((30, 31, 1), 1)]
)
def test_patches_of_a_picture(picture: tuple[int, int, int], patch: int) -> None:
    """Some 64, whatever the size; a width that nothing divides has pixels."""
    chosen = picture_input(picture)
    assert chosen == {"kind": "images", "patch": patch, "columns": picture[1], "channels": picture[2]}


@pytest.mark.parametrize("part", ["", "[data]\nheld_out = 0.2\n", "[data]\nlongest = 5000\n"])
def test_pictures_are_read_by_patches_and_none_is_too_long(place: Path, part: str) -> None:
    """Whatever their size: a picture of 24 · 32 has more pixels than an example has tokens unless that is set."""
    pixels_NRC3 = np.random.default_rng(1).integers(0, 100, (40, 24, 32, 3))
    pixels_NRC3[::2, :12] += 100  # bright above, or below
    pixels_NRC3[1::2, 12:] += 100
    np.savez(place / "a.npz", images=pixels_NRC3.astype(np.uint8), labels=np.array(["above", "below"] * 20))
    (place / "r.toml").write_text(part)
    command = Command("r.toml" if part else None, ("a.npz",), changes=("training.steps=60", "training.threads=1"))
    trained = train(command, view="none")
    recipe = trained.recipe
    assert isinstance(recipe.model.input, Images)
    assert (recipe.model.input.patch, recipe.model.input.columns, recipe.model.input.channels) == (4, 32, 3)
    assert (recipe.data.longest, recipe.training.batch) == (5000 if "longest" in part else 768, 32 * 768)
    assert trained.scores["accuracy"] == 100


@pytest.mark.parametrize("kind", ["translate", "classify"])
def test_another_task_as_the_note_says(place: Path, kind: str) -> None:
    write_labels(place / "a.tsv")
    recipe = _asked("a.tsv", changes=(f"task.kind={kind}",)).recipe
    assert recipe.task.kind == kind
    assert recipe.model.family == ("encoder-decoder" if kind == "translate" else "encoder-only")


def test_a_variant_is_exchanged_by_its_kind_alone(place: Path) -> None:
    write_pairs(place / "a.tsv")
    changes = ("text.source.kind=bytes", "training.schedule.kind=constant", "training.optimiser.kind=sgd")
    recipe = _asked("a.tsv", changes=changes).recipe
    kinds = (recipe.text.source.kind, recipe.training.schedule.kind, recipe.training.optimiser.kind)
    assert kinds == ("bytes", "constant", "sgd")
    larger = model_of(SIZES[1], "pairs", 0.1, shared=True)
    again = with_model(recipe, larger, (*changes, "model.positions.kind=learned"))
    assert again.model.width == SIZES[1].width
    assert again.model.positions.kind == "learned"
    assert again.training == recipe.training


def test_a_task_that_there_is_not(place: Path) -> None:
    write_labels(place / "a.tsv")
    with pytest.raises(SettingsError, match="dance"):
        _asked("a.tsv", changes=("task.kind=dance",))


def test_two_aligned_files(place: Path) -> None:
    (place / "a.en").write_text("one two three\n" * 20)
    (place / "a.de").write_text("eins zwei drei\n" * 20)
    recipe = _asked("a.en", "a.de").recipe
    assert [corpus.files for corpus in recipe.data.corpora] == [("a.en", "a.de")]
    assert recipe.task.kind == "translate"


def test_how_many_there_are_is_estimated_from_the_first(place: Path) -> None:
    write_sentences(place / "a.tsv", 20_000)
    seen = look(corpora_of([str(place / "a.tsv")]), "stop")
    assert seen.examples == pytest.approx(20_000, rel=0.05)
    assert seen.words == pytest.approx(5, rel=0.1)


def test_more_data_more_pieces() -> None:
    sizes = [
        default_settings(Look("pairs", examples, 10.0, 10**6))["text"]["source"]["size"]
        for examples in (1000, 5000, 20_000, 50_000, 1_000_000)
    ]
    assert sizes == [1000, 2000, 4000, 8000, 16_000]
    large = default_settings(Look("text", 10**6, 10.0, 10**8))
    assert large["text"]["source"]["kind"] == "bpe"


def test_letters_that_would_take_the_pieces_come_on_top(place: Path) -> None:
    """3,000 letters, where 400 examples want 1,000 pieces."""
    lines = [
        f"{' '.join(chr(0x4E00 + (7 * n + k) % 3000) for k in range(8))}\tone two three four\n" for n in range(400)
    ]
    (place / "a.tsv").write_text("".join(lines), encoding="utf-8")
    seen = look(corpora_of([str(place / "a.tsv")]), "stop")
    assert seen.letters == len(set("".join(lines)) - set("\t\n"))
    assert _asked("a.tsv").recipe.text.source == BPE(size=1000 + seen.letters)
    words = Look("tags", 1000, 10.0, 10**6, letters=2001)
    assert default_settings(words)["text"]["source"]["size"] == 4000 + 2001
    assert default_settings(replace(words, letters=2000))["text"]["source"]["size"] == 4000


def _write_numbers(path: Path, words: int, count: int = 400) -> Path:
    """A few words that come again and again; a number that is another each time."""
    lines = [f"{' '.join(['one', 'hundred', 'ten'][n % 3] for n in range(words))}\t{7919 * n}\n" for n in range(count)]
    path.write_text("".join(lines))
    return path


def test_words_that_never_come_again_are_read_by_characters(place: Path) -> None:
    recipe = _asked(str(_write_numbers(place / "a.tsv", 5))).recipe
    assert recipe.text.source.kind == "characters"
    long = _asked(str(_write_numbers(place / "b.tsv", 30))).recipe.text.source
    assert isinstance(long, BPE)
    assert long.size == 1000


def test_a_script_without_spaces_has_no_words_to_count(place: Path) -> None:
    lines = [f"the house number {n % 9} is very far\t第{n}号的房子很远\n" for n in range(400)]
    (place / "a.tsv").write_text("".join(lines), encoding="utf-8")
    assert look(corpora_of([str(place / "a.tsv")]), "stop").rare == 0


def test_pairs_are_judged_by_what_is_written(place: Path) -> None:
    assert _asked(str(write_pairs(place / "a.tsv"))).recipe.training.best == "exact"
    assert _asked(str(write_sentences(place / "b.tsv"))).recipe.training.best == "chrf"
    assert _asked(str(write_text(place / "c.txt"))).recipe.training.best == "loss"


def _write_labels_first(path: Path, head: str = "") -> Path:
    lines = [f"{['NUM:date', 'HUM:ind', 'LOC:city'][n % 3]}\tWhat is the name of {n} ?\n" for n in range(90)]
    path.write_text(head + "".join(lines))
    return path


def test_labels_in_the_first_column(place: Path) -> None:
    _write_labels_first(place / "a.tsv")
    wish = _asked("a.tsv", valid=("a.tsv",))
    assert (wish.recipe.task.kind, wish.recipe.model.family) == ("classify", "encoder-only")
    data = wish.recipe.data
    assert [(corpus.source, corpus.target) for corpus in (*data.corpora, *data.valid)] == [("2", "1")] * 2
    assert wish.notes[1] == (
        "a.tsv: the first column holds labels (NUM:date, HUM:ind, LOC:city, …): it is the target, "
        "the second column the source; otherwise: --source 1 --target 2"
    )
    assert _asked("a.tsv", changes=("task.kind=classify",)).recipe.data.corpora[0].source == "2"
    several = _asked("a.tsv", "./a.tsv").recipe.data.corpora
    assert [corpus.source for corpus in several] == ["2", "2"]


@pytest.mark.parametrize("head", ["text,label\n", ""])
def test_a_column_with_one_value_holds_labels(place: Path, head: str) -> None:
    """A classifier is told that it has nothing to learn, where a translator would learn to say that one word."""
    (place / "a.csv").write_text(head + "".join(f"it was film {n},only\n" for n in range(100)))
    assert _asked("a.csv").recipe.task.kind == "classify"
    with pytest.raises(UserError, match=r"a\.csv: all examples to train on are of one class, 'only', .*right column\?"):
        train(Command(data=("a.csv",), out=place / "run"))
    assert _asked("a.csv", changes=("task.kind=translate",)).recipe.task.kind == "translate"


LABELLED_BY_NAME = "the data looks like classify (bpe), as its column {!r} says; another task: --set task.kind=…"


@pytest.mark.parametrize(
    "head", ["text,label", "Text,LABEL", "text,labels", "sentence,class", "text,intent", "text,tag", "文本,标签"]
)
def test_a_column_called_label_holds_labels(place: Path, head: str) -> None:
    """However many there are, or however rare they are."""
    many = [f"l{n * 7 % 500}" for n in range(1000)]
    for labels in many, ["usual"] * 240 + [f"rare{n}" for n in range(60)]:
        rows = "".join(f"it was film {n},{label}\n" for n, label in enumerate(labels))
        (place / "a.csv").write_text(f"{head}\n{rows}")
        wish = _asked("a.csv")
        assert wish.recipe.task.kind == "classify"
        assert LABELLED_BY_NAME.format(head.partition(",")[2]) in wish.notes[0]
        (place / "a.csv").write_text(rows)
        assert _asked("a.csv").recipe.task.kind == "translate"
    lines = [{"text": f"it was film {n}", "label": label} for n, label in enumerate(many)]
    (place / "a.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert LABELLED_BY_NAME.format("label") in _asked("a.jsonl").notes[0]
    (place / "once.csv").write_text(head + "\n" + "".join(f"it was film {n},film {n} it was\n" for n in range(300)))
    assert _asked("once.csv").recipe.task.kind == "translate"


@pytest.mark.parametrize("head", ["source,target", "src,tgt", "Quelle,Ziel"])
def test_one_target_for_all_sources_may_be_a_translation(place: Path, head: str) -> None:
    (place / "a.csv").write_text(head + "\n" + "".join(f"it was film {n},ok\n" for n in range(100)))
    assert _asked("a.csv").recipe.task.kind == "translate"
    (place / "a.csv").write_text(head + "\n" + "".join(f"film {n},{['bad', 'good'][n % 2]}\n" for n in range(100)))
    wish = _asked("a.csv")
    assert (wish.recipe.task.kind, "says" in wish.notes[0]) == ("classify", False)


def test_words_of_one_tag(place: Path) -> None:
    """A column of CoNLL-U that nobody filled in: a score of 100 % would say nothing."""
    (place / "a.conll").write_text("".join(f"it _\nwas _\nfilm{n} _\n\n" for n in range(40)))
    with pytest.raises(UserError) as caught:
        train(Command(data=("a.conll",), out=place / "run"))
    assert str(caught.value) == (
        "a.conll: all words to train on have one tag, '_', so that there is nothing to tell apart; is it the right "
        "column? Otherwise add words with another tag"
    )


def test_labels_first_beside_labels_last(place: Path) -> None:
    """Each file by itself; and the files of a recipe as those of a command line."""
    _write_labels_first(place / "a.tsv")
    rows = "".join(f"what of {n} ?,{['NUM', 'HUM'][n % 2]}\n" for n in range(60))
    (place / "b.csv").write_text("text,label\n" + rows)
    corpora = _asked("a.tsv", "b.csv").recipe.data.corpora
    assert [(corpus.source, corpus.target) for corpus in corpora] == [("2", "1"), (None, None)]
    (place / "r.toml").write_text('[data]\ncorpora = [{files = ["a.tsv"]}]\nvalid = [{files = ["a.tsv"]}]\n')
    data = asked(Command("r.toml")).recipe.data
    assert [corpus.source for corpus in (*data.corpora, *data.valid)] == ["2", "2"]


@pytest.mark.parametrize("head", ["question,answer", "answer,question", "input,output"])
def test_usual_names_of_pairs_hold_for_labels_too(place: Path, head: str) -> None:
    """What looks like pairs by its names may turn out to be classes."""
    rows = [(f"is {n} right ?", ["yes", "no"][n % 2]) for n in range(60)]
    turned = head == "answer,question"
    lines = [",".join(reversed(row) if turned else row) for row in rows]
    (place / "a.csv").write_text("\n".join([head, *lines, ""]))
    recipe = _asked("a.csv").recipe
    assert recipe.task.kind == "classify"
    block = next(iter(read(recipe.data.corpora[0], "classes", "stop")))
    assert (block.columns[0][0], block.columns[1][0]) == rows[0]


def test_separate_vocabularies_without_a_recipe(place: Path) -> None:
    write_pairs(place / "a.tsv")
    recipe = _asked("a.tsv", changes=("text.shared=false",)).recipe
    assert (recipe.text.shared, recipe.model.tie) == (False, "output")


def test_an_empty_table_of_training_changes_nothing(place: Path) -> None:
    write_sentences(place / "a.tsv")
    (place / "r.toml").write_text("[training]\n")
    assert asked(Command("r.toml", data=("a.tsv",))).recipe.training == _asked("a.tsv").recipe.training


def test_labels_in_the_first_column_that_are_meant_as_a_source(place: Path) -> None:
    _write_labels_first(place / "a.tsv")
    assert _asked("a.tsv", source="1", target="2").recipe.task.kind == "translate"
    assert _asked("a.tsv", changes=("task.kind=translate",)).recipe.data.corpora[0].source is None
    _write_labels_first(place / "b.tsv", "source\ttarget\n")
    assert _asked("b.tsv").recipe.task.kind == "translate"


def test_three_plain_files_are_told(place: Path) -> None:
    for name in "a.en", "b.en", "c.en":
        write_text(place / name)
    assert _asked("a.en", "b.en", "c.en").notes[1] == (
        "3 files of plain text are 3 corpora of one language model; "
        "pairs are two files whose lines belong together, or a file with columns"
    )


def test_nothing_to_train_on(place: Path) -> None:
    with pytest.raises(UserError, match="nothing to train on: name a file with --data"):
        _asked()
    (place / "r.toml").write_text("")
    with pytest.raises(UserError, match=r"name a file with --data, or corpora in the recipe's \[data\]"):
        asked(Command("r.toml"))


@pytest.mark.parametrize(("width", "why"), [("63", "must be even, not 63"), ("0", r"--set model\.width=0: ")])
def test_a_width_that_cannot_be_is_told(place: Path, width: str, why: str) -> None:
    write_pairs(place / "a.tsv")
    with pytest.raises(SettingsError, match=why):
        _asked("a.tsv", changes=(f"model.width={width}",))


def test_a_header_holds_for_files_that_are_too_small_to_tell(place: Path) -> None:
    rows = "it was not so bad\tes war nicht so schlimm\n"
    (place / "a.tsv").write_text("Original\tTranslated\n" + rows * 40)
    (place / "b.tsv").write_text("Original\tTranslated\n" + rows * 3)
    (place / "c.tsv").write_text(rows * 3)
    data = _asked("a.tsv", valid=("b.tsv",), test=("c.tsv",)).recipe.data
    assert [corpus.header for corpus in (*data.corpora, *data.valid, *data.test)] == [None, True, None]


def test_words_and_tags_of_json_are_recognised(tmp_path: Path) -> None:
    line = '{"id": 1, "tokens": ["a", "b]"], "ner_tags": ["O", "B-x"]}\n'
    (tmp_path / "a.jsonl").write_text(line * 20)
    assert look([Corpus(files=(str(tmp_path / "a.jsonl"),))], "stop").shape == "tags"
    (tmp_path / "b.jsonl").write_text('{"tokens": "a b", "tags": "O O"}\n' * 20)
    assert look([Corpus(files=(str(tmp_path / "b.jsonl"),))], "stop").shape != "tags"


@pytest.mark.parametrize("labels", [("0", "1"), ("true", "false")])
def test_labels_that_are_numbers(place: Path, labels: tuple[str, str]) -> None:
    rows = "".join(f'{{"text": "a word {n}", "label": {labels[n % 2]}}}\n' for n in range(40))
    (place / "a.jsonl").write_text(rows)
    assert _asked("a.jsonl").recipe.task.kind == "classify"
