"""A stream of chunks as lines, wherever the chunks were cut."""

from collections.abc import AsyncIterator

from quiver.kube.errors import Unreachable

MAX_LINE_BYTES = 16 * 1024 * 1024


async def lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Lines of any length up to the largest object, without empty ones or an unfinished last."""
    begun: list[bytes] = []
    size = 0
    async for chunk in chunks:
        end, *following = chunk.split(b"\n")
        begun.append(end)
        size += len(end)
        if size > MAX_LINE_BYTES:
            raise Unreachable("a watch event is larger than any Kubernetes object can be")
        if not following:
            continue
        if size:
            yield b"".join(begun)
        for line in following[:-1]:
            if line:
                yield line
        begun, size = [following[-1]], len(following[-1])


async def text_lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Text as written: empty lines count, and so does a last line that has no end."""
    rest = b""
    async for chunk in chunks:
        *complete, rest = (rest + chunk).split(b"\n")
        for line in complete:
            yield line.decode(errors="replace")
    if rest:
        yield rest.decode(errors="replace")
