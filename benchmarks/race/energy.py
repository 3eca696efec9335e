"""Energy that was used, where the machine says so: RAPL of Intel's and AMD's processors, NVML of NVIDIA's GPUs."""

import ctypes
from collections.abc import Callable
from pathlib import Path

POWERCAP = Path("/sys/class/powercap")


class Rapl:
    """Joules of whole processor packages, from counters that start again at zero now and then."""

    def __init__(self, folder: Path = POWERCAP) -> None:
        zones = sorted(folder.glob("*-rapl:*")) if folder.is_dir() else []
        # intel-rapl:0 is a package, and intel-rapl:0:0 a part of it
        self._zones = [zone for zone in zones if zone.name.count(":") == 1 and _number(zone / "energy_uj") is not None]
        self._last = [_number(zone / "energy_uj") or 0 for zone in self._zones]
        self._joules = 0.0

    def __bool__(self) -> bool:
        return bool(self._zones)

    def __call__(self) -> float:
        """Since this was made. It must be asked at least once while a counter goes round, which takes minutes."""
        for place, zone in enumerate(self._zones):
            now = _number(zone / "energy_uj") or 0
            went = now - self._last[place]
            self._joules += (went if went >= 0 else went + (_number(zone / "max_energy_range_uj") or 0)) / 1e6
            self._last[place] = now
        return self._joules


class Nvml:
    """Joules of the first GPU, by its own count."""

    def __init__(self) -> None:
        self._handle = None
        try:
            self._library = ctypes.CDLL("libnvidia-ml.so.1")
            handle = ctypes.c_void_p()
            if self._library.nvmlInit_v2() == 0 and self._library.nvmlDeviceGetHandleByIndex_v2(
                0, ctypes.byref(handle)
            ) == 0:  # fmt: skip
                self._handle = handle
        except OSError:
            return
        if self._handle is not None and self._read() is None:
            self._handle = None

    def __bool__(self) -> bool:
        return self._handle is not None

    def _read(self) -> float | None:
        count = ctypes.c_ulonglong()
        failed = self._library.nvmlDeviceGetTotalEnergyConsumption(self._handle, ctypes.byref(count))
        return None if failed else count.value / 1e3

    def __call__(self) -> float:
        return self._read() or 0.0


def meter(device: str) -> tuple[Callable[[], float] | None, str]:
    """What tells the joules so far, if anything does, and how that is to be read."""
    found: Rapl | Nvml = Nvml() if device == "cuda" else Rapl()
    if found:
        return found, "energy: of the whole GPU (NVML)" if device == "cuda" else "energy: of the whole processor (RAPL)"
    where = "NVML" if device == "cuda" else f"no counter under {POWERCAP}"
    return None, f"energy: cannot be read here ({where})"


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None
