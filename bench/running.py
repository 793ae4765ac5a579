"""A program under measurement: started, watched through /proc, asked to end."""

import asyncio
import os
import signal
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from bench.benchmark import BenchError
from bench.processes import Usage, usage_of_tree
from bench.programs import ROOT

PATIENCE = 20.0
LOOK_EVERY = 0.1
QUIET_SECONDS = 2.0
# Leases and bookmarks cost every operator a little all the time.
QUIET_SHARE = 0.03


class Program:
    def __init__(self, name: str, process: asyncio.subprocess.Process, log: Path) -> None:
        self.name = name
        self.started = time.monotonic()
        self._process = process
        self._log = log

    def usage(self) -> Usage:
        if self._process.returncode is not None:
            raise BenchError(f"{self.name} ended by itself, its log is {self._log}")
        return usage_of_tree(self._process.pid)

    async def quiet(self, within: float = 120.0) -> Usage:
        """What it used, as soon as it does next to nothing for a while."""
        try:
            await until_quiet(lambda: self.usage().cpu, share=QUIET_SHARE, within=within)
        except TimeoutError as error:
            raise BenchError(
                f"{self.name} was not quiet within {within:.0f} s, its log is {self._log}"
            ) from error
        return self.usage()

    async def end(self) -> None:
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(self._process.wait(), PATIENCE)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()


@asynccontextmanager
async def running(
    name: str, argv: Sequence[str], environ: Mapping[str, str], log: Path
) -> AsyncIterator[Program]:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            *argv, cwd=ROOT, env=os.environ | environ, stdout=output, stderr=output
        )
    program = Program(name, process, log)
    try:
        yield program
    finally:
        await program.end()


async def until_quiet(cpu: Callable[[], float], *, share: float, within: float) -> None:
    """Wait until less than `share` of a core was used for a while."""
    looks: deque[float] = deque(maxlen=int(QUIET_SECONDS / LOOK_EVERY))
    async with asyncio.timeout(within):
        while True:
            used = cpu()
            if len(looks) == looks.maxlen and used - looks[0] < share * QUIET_SECONDS:
                return
            looks.append(used)
            await asyncio.sleep(LOOK_EVERY)
