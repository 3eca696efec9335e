"""One system of one row, in a process of its own: it does a turn for each line that it reads, and answers with a line.

    python -m race.worker ROW SYSTEM DEVICE FOLDER [processor]

Its first line says whether it is ready, and why not. processor: its seconds are told, not those of the clock.
"""

import ctypes
import json
import resource
import signal
import sys
import time
import warnings
from pathlib import Path

from race.work import Turn, UnableError


def main() -> None:
    name, system, device, folder, *how = sys.argv[1:]
    now = time.process_time if "processor" in how else time.perf_counter
    out, sys.stdout = sys.stdout, sys.stderr  # whatever a library prints is no answer

    def answer(**told: object) -> None:
        print(json.dumps(told), file=out, flush=True)

    _end_with_parent()
    warnings.filterwarnings("ignore")
    try:
        turn = _turn(name, system, device, Path(folder))
    except UnableError as error:
        answer(ready=False, why=str(error))
        return
    except Exception as error:  # a peer that breaks is told of, and the others go on
        answer(ready=False, why=" ".join([type(error).__name__, *str(error).splitlines()[:1]]))
        return
    answer(ready=True)
    for number in map(int, sys.stdin):
        began = now()
        told = turn(number)
        _wait(device)
        answer(seconds=now() - began, memory=_memory(device), **vars(told))


def _end_with_parent() -> None:
    """On Linux: who is stopped between turns would else stay for ever where the race is killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # 1: PR_SET_PDEATHSIG


def _turn(name: str, system: str, device: str, folder: Path) -> Turn:
    if system == PEAK:
        return _peak(device)
    from race.rows import rows
    from race.systems import SYSTEMS

    job = next(row.job for row in rows(device, quick=False) if row.name == name)
    return SYSTEMS[system].ready(job, folder, device)


PEAK = "a matrix product"


def _peak(device: str) -> Turn:
    import torch

    from race.work import Told
    from seqloom.training.peak import _measured, peak_flops

    def turn(number: int) -> Told:
        _measured.cache_clear()  # anew each time: what others take of the machine differs
        dtype = torch.bfloat16 if device == "cuda" else torch.float32
        return Told(0, loss=peak_flops(torch.device(device), dtype))

    return turn


def _wait(device: str) -> None:
    if device == "cuda":
        import torch

        torch.cuda.synchronize()


def _memory(device: str) -> int:
    """Bytes at the most: of this process, or of the GPU's memory."""
    if device == "cuda":
        import torch

        return torch.cuda.max_memory_allocated()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
