"""Who takes part: one file a library. Each makes itself ready for a job, and then does it turn by turn."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from race.work import Job, Turn


@dataclass(frozen=True)
class System:
    """file: of this folder. package: what must be installed, by the name that pip knows. ways: what `ready` is told."""

    name: str
    file: str
    package: str
    module: str
    ways: tuple[str, ...] = ()

    @property
    def version(self) -> str | None:
        """None: not installed."""
        if find_spec(self.module) is None:
            return None
        try:
            return version(self.package)
        except PackageNotFoundError:
            return "of unknown version"

    def ready(self, job: Job, folder: Path, device: str) -> Turn:
        make: Callable[..., Turn] = import_module(f"race.systems.{self.file}").ready
        return make(job, folder, device, *self.ways)


SYSTEMS = {
    system.name: system
    for system in (
        System("seqloom", "own", "seqloom", "seqloom", ("own", "full")),
        System("seqloom int8", "own", "seqloom", "seqloom", ("own", "int8")),
        System("seqloom, engine chosen", "own", "ctranslate2", "ctranslate2", ("auto", "full")),
        System("transformers", "hugging_face", "transformers", "transformers"),
        System("transformers, compiled", "hugging_face", "transformers", "transformers", ("compiled",)),
        System("torch.nn.Transformer", "torch_nn", "torch", "torch"),
        System("torch.nn, compiled", "torch_nn", "torch", "torch", ("compiled",)),
        System("x-transformers", "x_transformer", "x-transformers", "x_transformers"),
        System("JoeyNMT", "joey", "joeynmt", "joeynmt"),
        System("OpenNMT-py", "open_nmt", "OpenNMT-py", "onmt"),
        System("Eole", "eole_nmt", "eole", "eole"),
        System("CTranslate2", "ctranslate", "ctranslate2", "ctranslate2", ("float32",)),
        System("CTranslate2 int8", "ctranslate", "ctranslate2", "ctranslate2", ("int8",)),
    )
}
OURS = tuple(name for name in SYSTEMS if name.startswith("seqloom"))
