"""HTTP for tests."""

from typing import Any

import aiohttp


async def http(method: str, url: str, **options: Any) -> tuple[int, Any]:
    """One request with a deadline: the status, and the body as JSON where it is JSON."""
    timeout = aiohttp.ClientTimeout(total=20)
    async with (
        aiohttp.ClientSession(timeout=timeout) as session,
        session.request(method, url, **options) as answer,
    ):
        if "json" in answer.headers.get("Content-Type", ""):
            return answer.status, await answer.json()
        return answer.status, await answer.text()
