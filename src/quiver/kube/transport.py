"""Requests as HTTP over a keep-alive pool: credentials, deadlines, repetition, typed errors.

A deadline covers everything about a request: the wait for a free connection, the credential
plugin, every attempt and the pauses between them. A write whose answer is lost is not repeated
unless repeating it changes nothing (`Request.may_repeat`).
"""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self, TypeAlias, TypeVar

import aiohttp
from aiohttp.client_middlewares import ClientHandlerType
from multidict import CIMultiDictProxy
from yarl import URL

from quiver.kube import tls
from quiver.kube.backoff import Backoff
from quiver.kube.config import KubeConfig
from quiver.kube.connector import Connector
from quiver.kube.credentials import Credential, credentials_for
from quiver.kube.errors import (
    ConfigError,
    CredentialError,
    KubeError,
    Timeout,
    Unauthorized,
    Unreachable,
    error_from,
)
from quiver.kube.interceptor import Interceptor
from quiver.kube.request import Answer, Request
from quiver.kube.warning import warnings_in
from quiver.kube.wire import Wire

Result = TypeVar("Result")
_Attempt: TypeAlias = Callable[[Request, Credential], Awaitable[Result]]

_REPEATED_BY_AIOHTTP = frozenset({"PUT", "DELETE"})
_NO_LIMIT = aiohttp.ClientTimeout(total=None)


class Transport:
    def __init__(
        self,
        config: KubeConfig,
        *,
        connections: int = 64,
        backoff: Backoff | None = None,
        interceptor: Interceptor | None = None,
        on_warning: Callable[[str], None] | None = None,
    ) -> None:
        self._config = config
        self._backoff = backoff or Backoff()
        self._interceptor = interceptor
        self._on_warning = on_warning
        self._credentials = credentials_for(config)
        # Watches hold a connection each for hours; only the short requests are limited.
        self._free = asyncio.Semaphore(connections)
        self._proxy, self._proxy_headers = _proxy(config.proxy_url)
        self._session: aiohttp.ClientSession | None = None
        self._connector: Connector | None = None
        self._wire: Wire | None = None

    async def __aenter__(self) -> Self:
        if self._speaks_tls:
            # What is wrong with the configuration is told here, not by the first request.
            self._config.tls()
        self._connector = Connector(limit=0)
        if self._proxy is None:
            name = self._config.tls_server_name
            self._wire = Wire(self._config.server, server_hostname=name)
        self._session = aiohttp.ClientSession(
            connector=self._connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": "quiver"},
            timeout=_NO_LIMIT,
            read_bufsize=256 * 1024,
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._wire:
            await self._wire.close()
        if self._session and self._connector:
            await self._connector.settled()
            await self._session.close()

    async def exchange(self, request: Request) -> bytes:
        """The whole body of the answer."""
        return await self._persist(request, self._read_once)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[AsyncIterator[bytes]]:
        """The body as it comes. The deadline is for its start, `request.idle` for each silence."""
        answer = await self._persist(request, self._accepted_once)
        try:
            yield answer.chunks()
        except (aiohttp.ClientError, OSError) as error:
            raise self._lost(request, error) from error
        finally:
            answer.close()

    async def _persist(self, request: Request, attempt: "_Attempt[Result]") -> Result:
        clock = asyncio.get_running_loop().time
        until = clock() + request.deadline
        number, renewed = 0, False
        while True:
            error: KubeError
            credential: Credential | None = None
            try:
                async with asyncio.timeout_at(until):
                    credential = await self._credentials.current()
                    return await attempt(request, credential)
            except KubeError as refusal:
                error = refusal
            except (aiohttp.ClientError, OSError) as failure:
                error = self._lost(request, failure)
                error.__cause__ = failure
            if isinstance(error, Unauthorized) and credential is not None and not renewed:
                renewed = True
                if self._credentials.reject(credential):
                    continue
            pause = self._backoff.pause_after(request, error, number)
            if pause is None or clock() + pause >= until:
                raise error
            await self._backoff.sleep(pause)
            number += 1

    async def _read_once(self, request: Request, credential: Credential) -> bytes:
        async with self._free:
            answer = await self._send(request, credential, in_one_piece=True)
            try:
                body = await answer.read()
            except BaseException:
                answer.close()
                raise
        self._check(request, answer, body)
        return body

    async def _accepted_once(self, request: Request, credential: Credential) -> Answer:
        answer = await self._send(request, credential)
        if answer.status >= 300:
            try:
                self._check(request, answer, await answer.read())
            finally:
                answer.close()
        return answer

    def _check(self, request: Request, answer: Answer, body: bytes) -> None:
        if self._on_warning is not None:
            for warning in warnings_in(answer.headers):
                self._on_warning(warning)
        if answer.status >= 300:
            asked = _seconds(answer.headers.get("Retry-After"))
            raise error_from(answer.status, body, subject=str(request), retry_after=asked)

    async def _send(
        self, request: Request, credential: Credential, *, in_one_piece: bool = False
    ) -> Answer:
        wire = self._wire if in_one_piece else None

        async def send(passed: Request) -> Answer:
            if wire is None:
                return await self._http(passed, credential)
            context = self._tls(credential) if self._speaks_tls else None
            return await wire.send(passed, _headers(passed, credential), context)

        if self._interceptor is None:
            return await send(request)
        return await self._interceptor(request, send)

    async def _http(self, request: Request, credential: Credential) -> Answer:
        idle = request.idle
        answer = await self._open().request(
            request.method,
            URL(self._config.server + request.target),
            data=request.body,
            headers=_headers(request, credential),
            ssl=self._tls(credential) if self._speaks_tls else True,
            server_hostname=self._config.tls_server_name,
            proxy=self._proxy,
            proxy_headers=self._proxy_headers,
            allow_redirects=False,
            timeout=_NO_LIMIT if idle is None else aiohttp.ClientTimeout(sock_read=idle),
            middlewares=(_once_only,) if request.method in _REPEATED_BY_AIOHTTP else None,
        )
        return _HttpAnswer(answer)

    def _tls(self, credential: Credential) -> ssl.SSLContext:
        try:
            return tls.context_for(
                ca=credential.ca,
                certificate=credential.certificate,
                key=credential.key,
                verify=not self._config.insecure_skip_tls_verify,
            )
        except ConfigError as error:
            # A certificate and a key that are being replaced do not match for a moment.
            raise CredentialError(str(error)) from error

    @property
    def _speaks_tls(self) -> bool:
        return self._config.server.startswith("https:")

    def _lost(self, request: Request, error: Exception) -> Unreachable:
        kind = Timeout if isinstance(error, TimeoutError) else Unreachable
        return kind(f"{request} on {self._config.server} failed: {_described(error)}")

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise RuntimeError("use the client as a context: `async with Client(config) as client`")
        return self._session


class _HttpAnswer:
    __slots__ = ("_response",)

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    @property
    def status(self) -> int:
        return self._response.status

    @property
    def headers(self) -> CIMultiDictProxy[str]:
        return self._response.headers

    async def read(self) -> bytes:
        return await self._response.read()

    def chunks(self) -> AsyncIterator[bytes]:
        return self._response.content.iter_any()

    def close(self) -> None:
        # A connection in the middle of an answer is dropped: a polite end of TLS would wait for
        # the server, which may be dead, and hold the socket meanwhile.
        connection = self._response.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()
        self._response.close()


class _AnswerLost(aiohttp.ClientError):
    """Not one of the errors after which aiohttp silently sends a PUT or DELETE again."""


async def _once_only(
    request: aiohttp.ClientRequest, handler: ClientHandlerType
) -> aiohttp.ClientResponse:
    try:
        return await handler(request)
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _AnswerLost(_described(error)) from error


def _headers(request: Request, credential: Credential) -> list[tuple[str, str]]:
    headers = [("Accept", request.accept), *request.headers]
    if request.body is not None:
        headers.append(("Content-Type", request.content_type))
    if credential.token:
        headers.append(("Authorization", f"Bearer {credential.token}"))
    return headers


def _described(error: Exception) -> str:
    """Without repr: aiohttp's errors carry headers and proxy URLs, which hold secrets."""
    if isinstance(error, aiohttp.ClientResponseError):
        return f"{type(error).__name__}: {error.status} {error.message}"
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def _proxy(url: str | None) -> tuple[URL | None, dict[str, str] | None]:
    """The proxy without the password in its URL, which aiohttp's errors would show."""
    if url is None:
        return None, None
    proxy = URL(url)
    if proxy.user is None:
        return proxy, None
    pair = base64.b64encode(f"{proxy.user}:{proxy.password or ''}".encode()).decode()
    return proxy.with_user(None), {"Proxy-Authorization": f"Basic {pair}"}


def _seconds(retry_after: str | None) -> float | None:
    return float(retry_after) if retry_after and retry_after.strip().isdecimal() else None
