"""One engine for every way of writing: greedy, beam, diverse beam, sampling; it knows scores and states only."""

from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from itertools import chain, islice

from seqloom.generation.ahead import Ahead
from seqloom.generation.automaton import Phrase
from seqloom.generation.beside import Dealt, Take, hands, side_by_side
from seqloom.generation.contract import Item, Scorer, Shared, Written
from seqloom.generation.draft import Draft
from seqloom.generation.drawing import Drawing, is_drawn
from seqloom.generation.greedy import Greedy, is_greedy, is_plain
from seqloom.generation.pace import LONG
from seqloom.generation.phrases import conflict
from seqloom.generation.settings import ROWS, GenerationSettings
from seqloom.generation.static_writing import Static, is_static
from seqloom.generation.tree import Tree
from seqloom.generation.writing import Writing
from seqloom.layers.shortlist import Shortlist
from seqloom.settings import UserError

WINDOW = 16  # batches read ahead, to write together what is of like length
COHORTS = 2  # parts of a batch that begin one after the other, each of them items of like length


def write(
    scorer: Scorer,
    items: Iterable[Item],
    settings: GenerationSettings,
    *,
    attention: bool = False,
    shortlist: Shortlist | None = None,
    static: Static | None = None,
    likely: bool = True,
) -> Iterator[tuple[int, list[Written]]]:
    """Each item's number and its answers, best first, in the order in which they are done. Reads a few items ahead.

    An answer ends with the end mark, or is cut at the item's `longest`, or where nothing is allowed to follow. What
    was cut stands behind all that ended, so that there is always an answer. A beam of 1 is greedy. A wider one goes on
    until no hypothesis can become better than the answers that have ended, however long it grew. With `sample` as many
    answers as `n_best` are drawn, the same one perhaps more than once.

    shortlist: of the scorer, where nobody asks how likely answers are; it is used where all is greedy.
    likely: False: nobody does, and scores may be NaN. static: of the scorer, for a GPU; it writes all that it can.

    Every answer that ended holds all phrases that it must; what was cut says in `unmet` which it lacks.
    """
    others: Iterable[Item] = (_checked(item, settings) for item in items)
    if static is not None and static.works and is_static(settings, attention):
        left: list[Item] = []
        yield from static.write(_plain(others, left), settings, left)
        others, settings = sorted(left, key=lambda item: item.number), _modest(settings)
    short, aside = is_greedy(settings, attention), list[Item]()
    if short or is_drawn(settings, attention):

        def make() -> Greedy:
            return Greedy(scorer, settings, shortlist, likely) if short else Drawing(scorer, settings)

        yield from _written(make, _plain(others, aside), settings, scorer, traced=False)
        if not aside:
            return
        others = aside
    traced = attention or settings.coverage > 0
    yield from _written(lambda: Writing(scorer, settings, attention), others, settings, scorer, traced)


def _modest(settings: GenerationSettings) -> GenerationSettings:
    """With as many answers together as are worth while without a recording."""
    return settings.model_copy(update={"batch": min(settings.together, max(1, ROWS // settings.beam))})


def _plain(items: Iterable[Item], aside: list[Item]) -> Iterator[Item]:
    for item in items:
        if is_plain(item):
            yield item
        else:
            aside.append(item)


def _written(
    make: Callable[[], Greedy | Writing],
    items: Iterable[Item],
    settings: GenerationSettings,
    scorer: Scorer,
    traced: bool,
) -> Iterator[tuple[int, list[Written]]]:
    """By several threads side by side, where there is enough for each of them.

    traced: somebody listens to where the model looks, and would hear of all of them.
    """
    items, together = iter(items), settings.together
    first = list(islice(items, together))
    shared = not traced and isinstance(scorer, Shared) and scorer.shared
    window, others, count = WINDOW * together, chain(first, items), hands(len(first)) if shared else 1
    some = None
    if count > 1:
        dealt = Dealt(others, window, count)
        some = side_by_side([partial(_steps, make(), together=together // count) for _ in range(count)], dealt.take)
    if some is None:
        some = _steps(make(), Ahead(others, window).take, together)
    for drafts in some:
        for draft in drafts:
            yield draft.item.number, draft.answers(settings.n_best, distinct=settings.sample is None)


def _steps(writing: Greedy | Writing, take: Take, together: int) -> Iterator[list[Draft]]:
    """The drafts that are complete with each step, until nothing is left to take."""
    cohort, more = -(-together // COHORTS), True
    writing.pace.turn = LONG
    while more or writing.items:
        while more and together - writing.items >= cohort:
            new = take(cohort)
            more = len(new) == cohort
            writing.begin(new)
        yield writing.step()


def write_steps(scorer: Scorer, item: Item, settings: GenerationSettings) -> Generator[list[int], None, list[Written]]:
    """One item's answers as `write` has them; and on the way, after each step, the tokens that are sure by then."""
    writing = Writing(scorer, settings, attention=False)
    writing.begin([_checked(item, settings)])
    while True:
        for draft in writing.step(1):
            return draft.answers(settings.n_best, distinct=settings.sample is None)
        yield writing.sure()


def tree_steps(
    scorer: Scorer, item: Item, settings: GenerationSettings
) -> Generator[None, None, tuple[list[Written], Tree]]:
    """One item's answers as `write` has them, and the whole search for them; a step at a time."""
    if settings.sample is not None:
        raise UserError("tokens that are drawn by chance are not searched for: there is no tree; leave sample out")
    tree = Tree(settings.length)
    writing = Writing(scorer, settings, attention=False, tree=tree)
    writing.begin([_checked(item, settings)])
    while True:
        for draft in writing.step():
            return draft.answers(settings.n_best, distinct=True), tree
        yield


def write_tree(scorer: Scorer, item: Item, settings: GenerationSettings) -> tuple[list[Written], Tree]:
    """The same at once."""
    steps = tree_steps(scorer, item, settings)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: tuple[list[Written], Tree] = end.value
            return found


def impossible_item(item: Item, settings: GenerationSettings, shown: Callable[[Phrase], object] = list) -> str | None:
    """Why no answer can be as the item asks; None if one can. `write` refuses such an item. shown: see `conflict`."""
    if item.shortest > item.longest:
        return f"at least {item.shortest} tokens, but at most {item.longest}; change shortest or longest"
    if len(item.prefix) > item.longest:
        return f"a prefix of {len(item.prefix)} tokens, but at most {item.longest}; raise longest or shorten the prefix"
    if item.must and settings.sample is not None:
        return "phrases that must be there need a search; with sample there is none"
    if item.must and settings.groups > 1:
        return "phrases that must be there share a beam among themselves; set groups = 1"
    if not item.must and not item.must_not:
        return None
    return conflict(item.must, item.must_not, item.longest, item.prefix, shown)


def _checked(item: Item, settings: GenerationSettings) -> Item:
    why = impossible_item(item, settings)
    if why is not None:
        raise UserError(f"input {item.number + 1}: {why}")
    return item
