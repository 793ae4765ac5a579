"""XFS in a sparse file, mounted by a loop device, able to grow while mounted.

The mounts live in the cluster's mount namespace and the loop devices clear themselves, so that
both end with the cluster. (ext4 would do, but growing it while mounted takes a capability that
a sandboxed root may lack.)
"""

import asyncio
import os
from pathlib import Path


class LoopError(Exception):
    """A command failed; the message is the command and what it printed."""


class LoopFileSystems:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, name: str) -> Path:
        return self._folder / name

    async def make(self, name: str, size: int) -> None:
        """Create and mount, or go on where an earlier try was cut off."""
        path, image = self.path(name), self._image(name)
        if path.is_mount():
            return
        fresh = image.with_suffix(".new")
        if not image.exists():
            _sparse(fresh, size)
            await _run("mkfs.xfs", "-q", "-f", str(fresh))
            fresh.rename(image)
        path.mkdir(exist_ok=True)
        await _run("mount", "-o", "loop,discard", str(image), str(path))

    async def grow(self, name: str, size: int) -> None:
        path, image = self.path(name), self._image(name)
        if image.stat().st_size < size:
            os.truncate(image, size)
        devices = await _run("losetup", "--noheadings", "--output", "NAME", "-j", str(image))
        for device in devices.split():
            await _run("losetup", "--set-capacity", device)
        await _run("xfs_growfs", str(path))

    async def remove(self, name: str) -> None:
        path = self.path(name)
        if path.is_mount():
            await _run("umount", str(path))
        self._image(name).unlink(missing_ok=True)
        if path.exists():
            path.rmdir()

    def _image(self, name: str) -> Path:
        return self._folder / f"{name}.img"


def _sparse(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)


async def _run(*command: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await process.communicate()
    if process.returncode != 0:
        raise LoopError(f"`{' '.join(command)}` failed: {err.decode(errors='replace').strip()}")
    return out.decode()
