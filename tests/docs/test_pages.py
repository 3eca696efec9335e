"""What runs the pages finds what is wrong with them."""

from pathlib import Path

import pytest

from seqloom.jobs.recipes.recipe import Recipe
from seqloom.settings import loads
from tests.docs.pages import PAGES, ROOT, anchors, blocks, filled, lost_links, programs, run

PAGE = """# A page

```python
x = 6 * 7
print(x)
```

```text
42
```

```python
assert x == 42
```
"""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "page.md"
    monkeypatch.setitem(PAGES, file, PAGE)
    return file


def test_a_page_runs_as_one_program(page: Path) -> None:
    assert run(page)["x"] == 42


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("42\n```\n\n```python", "43\n```\n\n```python"), ("print(x)\n", ""), ("assert x == 42", "print(x)")],
    ids=["shows another", "prints nothing", "prints what is not shown"],
)
def test_what_is_printed_must_be_what_is_shown(
    page: Path, monkeypatch: pytest.MonkeyPatch, right: str, wrong: str
) -> None:
    assert PAGE.count(right) == 1
    monkeypatch.setitem(PAGES, page, PAGE.replace(right, wrong))
    with pytest.raises(AssertionError, match=r"page\.md:\d+ prints something else than it shows"):
        run(page)


def test_a_traceback_tells_the_line_of_the_page(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PAGES, page, PAGE.replace("x == 42", "x == 43"))
    with pytest.raises(AssertionError) as caught:
        run(page)
    assert caught.traceback[-1].lineno + 1 == PAGE.splitlines().index("assert x == 42") + 1


def test_a_block_can_be_wrong_where_it_asserts_or_shows() -> None:
    assert [program.claims for program in programs(PAGE)] == [True, True]
    assert [program.claims for program in programs("```python\nx = 1  # assert\n```\n")] == [False]


def test_what_is_shown_belongs_to_a_program() -> None:
    with pytest.raises(ValueError, match="line 5: shown, but no block of Python right before it prints it"):
        programs("```python\nx = 1\n```\nwords\n```text\n1\n```\n")


def test_a_page_is_filled_with_what_comes_out() -> None:
    assert filled(PAGE.replace("\n42\n```", "\n```"), "page") == PAGE


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "tasks").glob("*.md")), ids=lambda page: page.stem)
def test_recipes_that_a_page_of_a_task_shows_can_be_trained_with(page: Path) -> None:
    """Those that begin with a section; others are a line of one."""
    for recipe in blocks(PAGES[page], "toml"):
        if recipe.startswith("["):
            loads(recipe, Recipe, (), page.name)


def test_anchors_are_those_of_headings_outside_code() -> None:
    assert anchors("# One, two\n```python\n# none\n```\n## `a.b` and c\n") == {"one-two", "ab-and-c"}


def test_lost_links_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "there.md").write_text("# Here\n")
    page = tmp_path / "page.md"
    text = "# Own\n[a](there.md#here) [b](there.md#gone) [c](gone.md) [d](#own) [e](#gone) [f](https://x.example/y)\n"
    page.write_text(text)
    monkeypatch.setitem(PAGES, page, text)
    assert lost_links(page) == ["there.md#gone", "gone.md", "#gone"]
