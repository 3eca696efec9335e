"""Writes that happen whole or not at all, also when the machine stops in the middle."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from seqloom.settings import FailedError, UserError
from seqloom.store.digest import KEY, digest

PARTIAL = ".partial"


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


_MASK = _umask()  # to be told of it one has to change it, which no other thread should see


def write_text(path: Path, text: str) -> None:
    _write(path, lambda partial: partial.write_bytes(text.encode()))


def write_bytes(path: Path, data: bytes) -> None:
    _write(path, lambda partial: partial.write_bytes(data))


def write_tensors(path: Path, tensors: Mapping[str, Tensor], known: str | None = None) -> None:
    """A safetensors file, with the digest of what is in it. known: this digest, where it is."""
    whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    about = {KEY: known or digest(whole)}  # one entry: safetensors writes several in an order of chance
    _write(path, lambda partial: save_file(whole, partial, about))


def _write(path: Path, fill: Callable[[Path], object]) -> None:
    partial = path.with_name(path.name + PARTIAL)
    with reported(path):
        try:
            fill(partial)
            partial.chmod(0o666 & ~_MASK)  # safetensors would keep it to its owner
            to_disk(partial)
            partial.replace(path)
            to_disk(path.parent)
        finally:
            partial.unlink(missing_ok=True)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder that appears under its name when all that is written into it is on the disk."""
    partial = path.with_name(path.name + PARTIAL)
    with reported(path, beside=True):
        try:
            remove_folder(partial)
            partial.mkdir(parents=True)
            yield partial
            for file in partial.iterdir():
                to_disk(file)
            to_disk(partial)
            partial.replace(path)
            to_disk(path.parent)
        finally:
            remove_folder(partial)


def remove_folder(path: Path) -> None:
    """Under another name first, so that a folder that is half removed is never taken for a whole one."""
    if not path.exists():
        return
    if not path.name.endswith(PARTIAL):
        gone = path.with_name(path.name + PARTIAL)
        shutil.rmtree(gone, ignore_errors=True)
        path = path.rename(gone)
    shutil.rmtree(path)


def add_text(path: Path, text: str) -> None:
    """Put at the end of a file; the one write here that may happen in part."""
    with reported(path), path.open("a", encoding="utf-8") as file:
        file.write(text)


def to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def reported(path: Path, beside: bool = False) -> Iterator[None]:
    """A write that fails is told as a FailedError. beside: what was saved before lies beside it, not in its place."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        saved = _saved_before(path, beside)
        then = "what was saved before is still there" if saved else "name another place to write to"
        raise FailedError(f"{path}: cannot be written: {_reason(error)}; {then}") from None


def _saved_before(path: Path, beside: bool) -> bool:
    """Whether something is there; of a file in a folder that is being made, whether another such folder is."""
    if path.parent.name.endswith(PARTIAL):
        path, beside = path.parent, True
    place = path.parent if beside else path
    try:
        if place.is_dir():
            return any(not one.name.endswith(PARTIAL) for one in place.iterdir())
        return place.stat().st_size > 0
    except OSError:
        return False


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """A read that fails is told as a UserError, of the file that it was."""
    try:
        yield
    except OSError as error:
        name = path if error.filename is None else error.filename
        raise UserError(f"{name}: cannot be read: {_reason(error)}; see who may read it (ls -l)") from None


def _reason(error: OSError | SafetensorError) -> str:
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.ENOSPC or "No space left" in str(error):
        return "the disk is full"
    if number == errno.EROFS:
        return "the disk is read-only"
    if number in (errno.EACCES, errno.EPERM):
        return "no permission"
    return (error.strerror if isinstance(error, OSError) and error.strerror else None) or str(error)
