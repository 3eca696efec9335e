"""What is kept from training, for validation, where no file is named for it."""

from collections.abc import Sequence
from dataclasses import dataclass

from seqloom.data.prepare import HeldOut, checksums
from seqloom.data.reading import Block, Shape
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.settings import UserError
from seqloom.tasks import Language

LINE = 100  # characters; of running text so many are an example, as a whole book may be one line
LEAST = 4  # characters that can be split into two texts

FIX = "a file of their own: --valid FILE"


class NoSplitError(UserError):
    """Data of which nothing can be held out."""


@dataclass
class Count:
    """What a corpus holds, as far as it matters for splitting it."""

    examples: int = 0
    characters: int = 0
    """Of running text, line ends included."""
    lowest: int | None = None
    """Checksums of the sources of other shapes."""
    highest: int | None = None

    def add(self, block: Block, shape: Shape, mixed: bool = False) -> None:
        """mixed: texts that do not follow each other."""
        self.examples += len(block.lines)
        if shape == "text" and not mixed:
            self.characters += sum(map(len, block.columns[0])) + len(block.lines)
        elif block.lines:
            sums = checksums(block)
            low, high = int(sums.min()), int(sums.max())
            self.lowest = low if self.lowest is None else min(low, self.lowest)
            self.highest = high if self.highest is None else max(high, self.highest)


def held_out(recipe: Recipe, counts: Sequence[Count], names: str) -> list[HeldOut]:
    """One for each corpus. Raises NoSplitError; names: of the files, for its message."""
    task, data = recipe.task, recipe.data
    running = isinstance(task, Language) and task.lines == "text"
    sizes = [max(count.examples, count.characters // LINE) if running else count.examples for count in counts]
    share = min(data.held_out, data.held_out_most / max(sum(sizes), 1))
    if running:
        if max(count.characters for count in counts) < LEAST:
            raise NoSplitError(f"{names}: too short a text to keep some of it for validation; give more, or {FIX}")
        return [HeldOut(share, count.examples, characters=count.characters) for count in counts]
    total = sum(count.examples for count in counts)
    if total < 2 or (isinstance(task, Language) and max(count.examples for count in counts) < 2):
        raise NoSplitError(f"{names}: too few examples ({total}) to keep some for validation; give more, or {FIX}")
    lows = [count.lowest for count in counts if count.lowest is not None]
    highs = [count.highest for count in counts if count.highest is not None]
    if not lows:
        return [HeldOut(share, count.examples) for count in counts]
    if min(lows) == max(highs):
        raise NoSplitError(
            f"{names}: all {total:,} examples have the same source, so that what is kept for validation would be "
            f"learnt too; give {FIX}"
        )
    return [HeldOut(share, count.examples, sums=(min(lows), max(highs))) for count in counts]
