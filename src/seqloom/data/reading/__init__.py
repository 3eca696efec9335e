"""Files of any format → blocks of examples; every fault with its file and line."""

from seqloom.data.reading.block import FIELDS, Block, Shape
from seqloom.data.reading.content_hash import fingerprint
from seqloom.data.reading.faults import DataError, Skipped
from seqloom.data.reading.format_choice import shape_of
from seqloom.data.reading.quoted_tsv import quoted_rows
from seqloom.data.reading.reader import read, size, table

__all__ = [
    "FIELDS",
    "Block",
    "DataError",
    "Shape",
    "Skipped",
    "fingerprint",
    "quoted_rows",
    "read",
    "shape_of",
    "size",
    "table",
]
