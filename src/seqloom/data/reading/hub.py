"""Hugging Face datasets, with the extra `hub`."""

import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from seqloom.data.file_format import HUB
from seqloom.data.reading.block import FIELDS, ROWS, Rows, Shape
from seqloom.data.reading.columns import keys
from seqloom.data.reading.faults import Broken, DataError
from seqloom.data.settings import Corpus


class Name(NamedTuple):
    path: str
    config: str | None
    split: str


def parse(name: str) -> Name:
    """hub:owner/name[/config][:split]"""
    path, _, split = name.removeprefix(HUB).partition(":")
    parts = path.split("/")
    if not all(parts) or len(parts) > 3:
        raise DataError(
            f"{name}: a dataset is written {HUB}owner/name, {HUB}owner/name:split or {HUB}owner/name/config"
        )
    return Name("/".join(parts[:2]), parts[2] if len(parts) == 3 else None, split or "train")


def read_hub(corpus: Corpus, shape: Shape) -> Iterator[Rows]:
    """Streams the dataset; its size in bytes is not known."""
    name, (path, config, split) = corpus.files[0], parse(corpus.files[0])
    datasets = _package(name)
    try:
        data = datasets.load_dataset(path, config, split=split, streaming=True)
        fields: tuple[str, ...] = ()
        done = 0
        for batch in data.iter(batch_size=ROWS):
            flat = _flat(batch)
            fields = fields or keys(corpus, shape, list(flat), name)
            columns = tuple(_named(flat[field], field, data.features) for field in fields)
            before, done = done, done + len(columns[0])
            yield Rows((name,) * len(FIELDS[shape]), range(before + 1, done + 1), columns, 0)
    except DataError:
        raise
    except Exception as error:  # the package has no base for what can go wrong on the way
        raise _unreachable(name, error) from error


def hub_fingerprint(name: str) -> str:
    """Tells versions of a dataset apart; its content is not downloaded for that."""
    path, config, split = parse(name)
    datasets = _package(name)
    try:
        builder = datasets.load_dataset_builder(path, config)
    except Exception as error:
        raise _unreachable(name, error) from error
    version = repr((path, builder.config_id, builder.hash, str(builder.info.version), split))
    return hashlib.blake2b(version.encode("utf-8"), digest_size=16).hexdigest()


def _package(name: str) -> Any:
    try:
        import datasets
    except ImportError:
        raise DataError(f"{name}: Hugging Face datasets need one more package: pip install 'seqloom[hub]'") from None
    return datasets


def _unreachable(name: str, error: Exception) -> DataError:
    reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    return DataError(
        f"{name}: cannot be read ({reason}); look up its name, config and splits on huggingface.co/datasets"
    )


def _flat(batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Columns of tables, such as translation, as one column for each of their keys."""
    flat: dict[str, list[Any]] = {}
    for name, values in batch.items():
        if values and isinstance(values[0], dict):
            flat |= {f"{name}.{key}": [value and value.get(key) for value in values] for key in values[0]}
        else:
            flat[name] = values
    return flat


def _named(values: list[Any], field: str, features: Any) -> list[Any]:
    """Classes are stored as numbers; their names say more."""
    feature = (features or {}).get(field)
    feature = getattr(feature, "feature", feature)  # of a list
    if not hasattr(feature, "int2str"):
        return values
    return [_name(value, feature) for value in values]


def _name(value: Any, feature: Any) -> Any:
    if isinstance(value, list):
        return [feature.int2str(one) for one in value]
    # datasets write -1 where the label is kept secret
    if value is None or value < 0:
        return Broken("no label", "no label", "use another split")
    return feature.int2str(value)
