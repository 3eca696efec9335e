"""Tables of series that come as a list of rows."""

import csv
from collections.abc import Sequence
from io import StringIO
from typing import Any

from seqloom.settings import UserError
from seqloom.settings.words import show


def rows_text(name: str, rows: Sequence[dict[str, Any]], decimal: str) -> str:
    """As a file would hold them, so that one reader tells of every fault. The first row names the columns."""
    file = StringIO()
    writer = csv.writer(file, lineterminator="\n")
    names = list(rows[0])
    writer.writerow(names)
    for number, row in enumerate(rows, 1):
        strange = [one for one in row if one not in names]
        if strange:
            raise UserError(
                f"{name}: row {number} has {show(strange[0])}, which the first row has not; name all columns there"
            )
        writer.writerow([_cell(row.get(one), decimal) for one in names])
    return file.getvalue()


def _cell(value: str | float | None, decimal: str) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else repr(value).replace(".", decimal)
