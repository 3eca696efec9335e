"""The models that are served: loaded when asked for, put away for others, loaded anew when their run has changed."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seqloom.jobs import lecture
from seqloom.jobs.answering.generation import generation_of, used_changes
from seqloom.jobs.look import entry, to_json
from seqloom.jobs.looking.progress import Progress, examples
from seqloom.jobs.model import Model, load
from seqloom.jobs.opened import still_training
from seqloom.serving.counts import Counts
from seqloom.serving.desk import Desk
from seqloom.serving.log import Log
from seqloom.serving.refusal import RefusalError
from seqloom.serving.settings import ServingSettings
from seqloom.serving.weight import weight, weight_in
from seqloom.settings import FailedError, UserError
from seqloom.settings.words import nearest
from seqloom.store import RunFolder

GB = 1e9
LATEST = ":latest"  # what clients of Ollama put behind every name
Signature = tuple[tuple[str, int, int], ...]


@dataclass(eq=False)
class Book:
    """A run that is served. desk: None while its model is put away, or while a training has not made one yet."""

    name: str
    path: Path
    kind: str
    parameters: int
    bytes: int
    """Of its weights as they were loaded last; 0: they never were."""
    file: int
    """Of the weights in its file then: a CPU also holds a copy of those that an output shares."""
    signature: Signature
    entry: dict[str, Any] = field(default_factory=dict)
    """What the studio's list says of it."""
    desk: Desk | None = None
    used: float = 0.0
    put_off: bool = False
    """Its new model waits for room, which was told."""
    progress: Progress | None = None
    """Of its training, once somebody has asked."""
    loading: asyncio.Lock = field(default_factory=asyncio.Lock)
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    def trains(self) -> bool:
        """Whether a process trains it at the moment. Looks at a file."""
        return not self.lecture and RunFolder(self.path).busy()

    @property
    def lecture(self) -> bool:
        """It came along, and is no run of anybody."""
        return self.path == lecture.FOLDER

    @property
    def changed(self) -> float:
        """When its weights were written, in seconds since 1970."""
        return max((entry[1] for entry in self.signature), default=0) / 1e9


class NoRoomError(Exception):
    """In serving.memory, while others are asked."""


class Shelf:
    """Only the event loop's thread changes it, once it is filled."""

    def __init__(
        self, runs: Mapping[str, Path], settings: ServingSettings, changes: Sequence[str], device: str, log: Log
    ) -> None:
        """changes: how all of them write, as for --set."""
        self.settings, self.changes, self.device, self.log = settings, tuple(changes), device, log
        self.counts = Counts()
        self.users: dict[Desk, int] = {}
        self._one_at_a_time = asyncio.Lock()
        self._freed = asyncio.Event()
        self._closing = set[asyncio.Task[None]]()
        self._several, self._others = len(runs) > 1, bool(runs)
        self.books: dict[str, Book] = {}
        for name, path in runs.items():
            self.books[name] = self._opened(name, path)
        if settings.lecture and lecture.NAME not in self.books:
            self.books[lecture.NAME] = self._opened(lecture.NAME, lecture.FOLDER)
        if not self.books:
            raise UserError("no run is named, and serving.lecture = false: there is nothing to serve")

    def _opened(self, name: str, path: Path) -> Book:
        """Every run is opened once before anybody asks, for its faults; kept as long as there is room."""
        signature, file = signature_of(path), weight_in(path)
        if self._begins(path):
            self.log(f"{path}: is still training, and has no model before its first validation; it is served then")
            about = {"name": name, "task": "", "family": "", "kind": "", "examples": [], "lecture": False}
            return Book(name, path, "", 0, 0, 0, (), about)
        self._refuse_large(path, file)
        model, changes = self._load(path)
        book = Book(name, path, "", 0, weight(model), file, signature)
        self._refuse_large(path, book.bytes)
        self._describe(book, model)
        if self._fits(book.bytes):
            self._give_desk(book, model, changes, file)
        return book

    def _load(self, path: Path) -> tuple[Model, Sequence[str]]:
        """The model, and which of the changes are for it: labels are not written."""
        if path == lecture.FOLDER:
            model = lecture.lecture()
            return model, () if self._others else self.changes
        model = load(path, self.device)
        changes = used_changes(model.recipe.task, self.changes) if self._several else self.changes
        generation_of(model.opened[0], changes)  # for its faults
        for text in still_training(model.opened):
            self.log(text)
        return model, changes

    @staticmethod
    def _describe(book: Book, model: Model) -> None:
        book.kind = model.recipe.task.kind
        book.parameters = sum(one.parameters for one in model.opened)
        given = [source for source, _ in lecture.pairs()] if book.lecture else examples(RunFolder(book.path))
        book.entry = to_json(entry(model, book.name, given, book.lecture))

    @staticmethod
    def _begins(path: Path) -> bool:
        """Whether it trains, and has no model yet."""
        run = RunFolder(path)
        return run.busy() and not run.model.exists()

    def _give_desk(self, book: Book, model: Model, changes: Sequence[str], file: int) -> None:
        room = self.settings.look_memory * GB
        book.desk = Desk(book.name, model, changes, self.settings.queue, self.counts, room)
        book.bytes, book.file = book.desk.bytes, file
        self.users[book.desk] = 0

    @property
    def held(self) -> int:
        """Bytes of all weights that are loaded, also of old models that are still in use."""
        return sum(desk.bytes for desk in self.users)

    @property
    def _most(self) -> float:
        return math.inf if self.settings.memory is None else self.settings.memory * GB

    def _fits(self, size: int, old: Desk | None = None) -> bool:
        """Beside all that is loaded; old: but for this one, whose place it takes."""
        return self.held - (old.bytes if old is not None else 0) + size <= self._most

    def _refuse_large(self, path: Path, size: int) -> None:
        if size > self._most:
            raise UserError(
                f"{path}: its weights take {size / GB:.3g} GB, but serving.memory = {self.settings.memory:g}; "
                "raise it, or leave the run out"
            )

    @property
    def runs(self) -> list[Book]:
        """What lists of models tell: the lecture only if there is nothing else."""
        return [book for book in self.books.values() if not book.lecture] or list(self.books.values())

    def find(self, name: str | None) -> Book:
        """A RefusalError if there is none of that name. None: the first of all."""
        if name is None:
            return next(iter(self.books.values()))
        short = name.removesuffix(LATEST)
        if short in self.books:
            return self.books[short]
        near = nearest(short, list(self.books))
        fix = f"did you mean {near!r}?" if near else f"there are {', '.join(list(self.books)[:10])}"
        raise RefusalError(404, f"there is no model {name[:100]!r}; {fix}")

    @asynccontextmanager
    async def use(self, book: Book) -> AsyncIterator[Desk]:
        """Its desk, which stays as long as somebody uses it."""
        async with book.loading:
            if book.desk is None:
                await self._fetch(book)
            desk = book.desk
            assert desk is not None
            self.users[desk] += 1
        book.used = time.monotonic()
        try:
            yield desk
        finally:
            self.users[desk] -= 1
            self._freed.set()
            if not self.users[desk] and desk is not book.desk:
                self._close(desk)

    async def _fetch(self, book: Book) -> None:
        async with self._one_at_a_time:
            signature = await asyncio.to_thread(signature_of, book.path)
            try:
                model, changes, file = await self._read(book)
            except Exception as error:  # whatever it is, it is this book's
                if await asyncio.to_thread(self._begins, book.path):
                    raise RefusalError(
                        503,
                        f"model {book.name!r}: is still training, and has no model before its first validation",
                        {"Retry-After": "10"},
                    ) from None
                self.log(f"{book.name}: cannot be loaded: {_why(error)}")
                raise RefusalError(503, f"model {book.name!r}: cannot be loaded; the server's log says why") from None
            book.signature, book.put_off = signature, False
            self._describe(book, model)
            self._give_desk(book, model, changes, file)
            self.log(f"{book.name}: loaded")

    async def _read(self, book: Book, old: Desk | None = None) -> tuple[Model, Sequence[str], int]:
        """Its model, once there is room for it, and the bytes of the weights in its file.

        old: which it takes the place of. That one goes on answering until then, and is held beside it for a moment: if
        there had to be room for both, one that takes more than half of serving.memory could never be loaded anew.
        """
        file = await asyncio.to_thread(weight_in, book.path)
        size = file + book.bytes - book.file
        while True:
            self._refuse_large(book.path, size)
            await self._make_room(size, old)
            model, changes = await asyncio.to_thread(self._load, book.path)
            size = weight(model)
            if self._fits(size, old):
                return model, changes, file
            del model  # it takes more than its file: there is to be room for that first

    async def _make_room(self, size: int, old: Desk | None) -> None:
        """Waits until others are no longer in use; not in place of an old model, which can go on answering."""
        while not self._fits(size, old):
            idle = [(book, desk) for book, desk in self._desks() if not self.users[desk] and desk is not old]
            if old is not None and not self._fits(size - sum(desk.bytes for _, desk in idle), old):
                raise NoRoomError
            if idle:
                self._put_away(*min(idle, key=lambda one: one[0].used))
            else:
                self._freed.clear()
                await self._freed.wait()

    def _desks(self) -> Iterator[tuple[Book, Desk]]:
        return ((book, book.desk) for book in self.books.values() if book.desk is not None)

    def _put_away(self, book: Book, desk: Desk) -> None:
        self._close(desk)
        book.desk = None
        self.log(f"{book.name}: put away, to make room")

    def _close(self, desk: Desk) -> None:
        """Not in the event loop's thread: the engine ends its step first."""
        del self.users[desk]
        task = asyncio.create_task(asyncio.to_thread(desk.close))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def watch(self) -> None:
        """Load anew what has changed, from time to time, for ever."""
        while True:
            await asyncio.sleep(self.settings.watch)
            await self.reload(all_of_them=False)

    async def reload(self, all_of_them: bool = True) -> None:
        """Those that are loaded. Requests that are under way end with the model that they began with."""
        for book in [book for book, _ in self._desks()]:
            try:
                signature = await asyncio.to_thread(signature_of, book.path)
                if signature and (all_of_them or book.put_off or signature != book.signature):
                    await self._replace(book, signature)
            except Exception as error:  # whatever it is, it is this book's: others are loaded, and this one next time
                why = _why(error)
                self.log(f"{book.name}: the old model goes on answering, as the new one cannot be loaded: {why}")

    async def _replace(self, book: Book, signature: Signature) -> None:
        async with book.loading, self._one_at_a_time:
            old = book.desk
            if old is None:  # it was put away meanwhile
                return
            book.signature = signature  # what fails is tried again when it has changed again
            told, book.put_off = book.put_off, False
            try:
                model, changes, file = await self._read(book, old)
            except NoRoomError:
                book.put_off = True
                if not told:
                    self.log(f"{book.name}: the old model answers until there is room for the new one (serving.memory)")
                return
            self._describe(book, model)
            self._give_desk(book, model, changes, file)
            if not self.users[old]:
                self._close(old)
            self.log(f"{book.name}: loaded anew")

    async def close(self) -> None:
        for desk in list(self.users):
            self._close(desk)
        await asyncio.gather(*self._closing)


def _why(error: Exception) -> str:
    """What is no message for users says of which kind it is, too."""
    return str(error) if isinstance(error, UserError | FailedError | OSError) else f"{type(error).__name__}: {error}"


def signature_of(path: Path) -> Signature:
    """Other than before when a file that the model is made of was written anew; empty while one is missing."""
    run = RunFolder(path)
    try:
        return tuple(_entry(file) for file in _files(run))
    except OSError:
        return ()


def _files(run: RunFolder) -> Iterator[Path]:
    yield run.model
    yield run.recipe
    yield from sorted(run.vocabulary.iterdir())


def _entry(file: Path) -> tuple[str, int, int]:
    found = file.stat()
    return file.name, found.st_mtime_ns, found.st_size
