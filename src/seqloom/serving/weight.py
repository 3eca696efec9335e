"""How much memory the weights of a model take: of one that is loaded, and of a run before it is."""

from pathlib import Path

from seqloom.jobs.model import Model
from seqloom.store import RunFolder

LENGTH = 8  # bytes that a safetensors file begins with: how long its header is, which the weights follow


def weight(model: Model) -> int:
    """Bytes of its weights; those that several layers share are counted once."""
    tensors = (each for network in model.networks for each in network.state_dict().values())
    storages = (tensor.untyped_storage() for tensor in tensors)
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())


def weight_in(run: Path) -> int:
    """Bytes of the weights in its file, which are not read; 0 of a file that is missing or damaged."""
    model = RunFolder(run).model
    try:
        with model.open("rb") as file:
            header = int.from_bytes(file.read(LENGTH), "little")
        return max(0, model.stat().st_size - LENGTH - header)
    except OSError:
        return 0
