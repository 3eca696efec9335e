"""How the server bears a load: many clients against one, and memory over many requests.

python benchmarks/serving.py RUN FILE [--clients 64] [--seconds 60] [--requests 10000] [--set A.B=C]…

FILE has a text a line. Starts `seqloom serve RUN` by itself, on this machine. Fails if anything but 200, 429 and 503
comes back. Its time of CPUs tells of the server also where others use the machine.
"""

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import seqloom
from machine import describe

ALLOWED = {200, 429, 503}


@dataclass
class Load:
    """What came back. seconds: of each request that was answered."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    unlike: int = 0
    took: float = 0.0

    def percentile(self, share: float) -> float:
        return sorted(self.seconds)[min(len(self.seconds) - 1, int(share * len(self.seconds)))]

    @property
    def rate(self) -> float:
        return len(self.seconds) / self.took

    def __str__(self) -> str:
        p50, p99 = (1000 * self.percentile(share) for share in (0.5, 0.99))
        return f"{self.rate:7.1f} requests/s   p50 {p50:6.0f} ms   p99 {p99:6.0f} ms   {dict(self.statuses)}"


async def client(port: int, texts: list[str], places: "count[int]", stop: float, most: int, load: Load) -> None:
    """Asks one text after the other over one connection. A library would take more time than the server."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.perf_counter() < stop and (place := next(places)) < most:
        text = texts[place % len(texts)]
        body = json.dumps({"inputs": [text]}).encode()
        head = f"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        began = time.perf_counter()
        writer.write(head.encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", answer)
        assert length
        content = await reader.readexactly(int(length[1]))
        status = int(answer[9:12])
        load.statuses[status] += 1
        if status == 200:
            load.seconds.append(time.perf_counter() - began)
            said = json.loads(content)["outputs"][0][0]["text"]
            load.unlike += load.texts.setdefault(text, said) != said
        else:
            await asyncio.sleep(0.1)
    writer.close()


async def loaded(port: int, texts: list[str], clients: int, seconds: float, most: int = 2**62) -> Load:
    load, places, began = Load(), count(), time.perf_counter()
    await asyncio.gather(*(client(port, texts, places, began + seconds, most, load) for _ in range(clients)))
    load.took = time.perf_counter() - began
    return load


def resident(process: subprocess.Popen[str]) -> float:
    """MB of memory that a process has."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", status)
    return int(found[1]) / 1024 if found else 0.0


def used(process: subprocess.Popen[str]) -> float:
    """Seconds of CPUs that a process took."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(process: subprocess.Popen[str], port: int, texts: list[str], clients: int, seconds: float) -> Load:
    before = used(process)
    load = asyncio.run(loaded(port, texts, clients, seconds))
    each = 1000 * (used(process) - before) / max(1, len(load.seconds))
    print(f"{clients:4} client(s)  {load}   {each:.1f} ms of CPUs each", flush=True)
    return load


def started(asked: argparse.Namespace) -> tuple[subprocess.Popen[str], int]:
    words = ["serve", asked.run, "--port", "0", "--set", "serving.log=problems"]
    words += [word for change in asked.changes for word in ("--set", change)]
    code = "import sys; from seqloom.cli import main; sys.argv[0] = 'seqloom'; main()"
    process = subprocess.Popen([sys.executable, "-c", code, *words], stderr=subprocess.PIPE, text=True)
    assert process.stderr
    said = ""
    for line in process.stderr:
        said += line
        if found := re.search(r"http://[\d.]+:(\d+)", line):
            threading.Thread(target=sys.stderr.writelines, args=(process.stderr,), daemon=True).start()
            return process, int(found[1])
    raise SystemExit(said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("file", type=Path)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--set", action="append", default=[], dest="changes")
    asked = parser.parse_args()
    texts = [line for line in asked.file.read_text(encoding="utf-8").splitlines() if line.strip()][:2000]
    print(describe())
    process, port = started(asked)
    try:
        asyncio.run(loaded(port, texts, 8, 2))  # what is made once
        alone = measured(process, port, texts, 1, asked.seconds / 4)
        many = measured(process, port, texts, asked.clients, asked.seconds)
        print(f"{many.rate / alone.rate:.1f} × one request at a time", flush=True)
        memory = [resident(process)]
        for part in range(4):
            part_load = asyncio.run(loaded(port, texts, asked.clients, 3600, asked.requests // 4))
            memory.append(resident(process))
            done = (part + 1) * (asked.requests // 4)
            print(f"after {done:,} further requests: {memory[-1]:.1f} MB; {part_load}", flush=True)
    finally:
        process.terminate()
    statuses = set(alone.statuses + many.statuses + part_load.statuses)
    expected = [
        one.text
        for one in seqloom.load(asked.run).predict(
            list(many.texts), changes=[change for change in asked.changes if change.startswith("generation.")]
        )
    ]
    differ = sum(one != other for one, other in zip(many.texts.values(), expected, strict=True))
    print(f"{differ} of {len(expected)} answers differ from model.predict's; {many.unlike} from one time to the next")
    print(f"memory: {memory[0]:.1f} MB before, {memory[1]:.1f} after a quarter, {memory[-1]:.1f} after all")
    if statuses - ALLOWED or process.wait() != 0:
        sys.exit(f"statuses {statuses - ALLOWED}, exit code {process.returncode}")


if __name__ == "__main__":
    main()
