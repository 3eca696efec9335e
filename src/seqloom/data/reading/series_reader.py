"""A corpus of series and labels → rows, whatever its format."""

from collections.abc import Iterator

from seqloom.data.reading.block import Rows
from seqloom.data.reading.faults import DataError
from seqloom.data.reading.format_choice import format_of
from seqloom.data.reading.hub import read_hub
from seqloom.data.reading.image_folder import read_images
from seqloom.data.reading.json_lines import read_jsonl
from seqloom.data.reading.numpy_file import read_npz
from seqloom.data.reading.parquet import read_parquet
from seqloom.data.reading.series_rows import UNLABELLED
from seqloom.data.reading.series_table import read_series_table
from seqloom.data.reading.stored_file import shown
from seqloom.data.reading.ts_file import read_ts
from seqloom.data.settings import Corpus


def series_rows(corpus: Corpus, labelled: bool = True) -> Iterator[Rows]:
    """labelled: every series must have a label; if not, one that is there is not looked at."""
    form = format_of(corpus, "series")
    match form:
        case "ts":
            return read_ts(corpus.files[0], labelled)
        case "npz":
            return read_npz(corpus, labelled)
        case "images":
            return read_images(corpus.files[0], labelled)
        case "csv" | "tsv" | "text":
            return read_series_table(corpus, "\t;," if form != "csv" else ",;\t", labelled)
        case "jsonl":
            return read_jsonl(corpus, "series", None if labelled else UNLABELLED)
        case "parquet":
            return read_parquet(corpus, "series")
        case "hub":
            return read_hub(corpus, "series")
        case _:
            raise DataError(
                f"{' and '.join(map(shown, corpus.files))}: {form} holds texts, but this task reads series of numbers; "
                "give CSV, JSONL, .ts, .npz or a folder of images, each as a corpus of its own"
            )
