"""Where what can be made again is kept between runs."""

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """$SEQLOOM_CACHE, or `seqloom` in the platform's folder for caches. It may not exist yet."""
    if own := os.environ.get("SEQLOOM_CACHE"):
        return Path(own).expanduser()
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "seqloom" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "seqloom"
    shared = os.environ.get("XDG_CACHE_HOME", "")
    # the XDG rules say that a relative path is to be ignored
    return (Path(shared) if shared.startswith("/") else Path.home() / ".cache") / "seqloom"
