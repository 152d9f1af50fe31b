"""A model behind an address: its connection, its key, and what its server has shown of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import errors
from voirdire.models import connection as http
from voirdire.models.errors import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import Any, TypeAlias

    from voirdire.models.port import ChatRequest

    Making: TypeAlias = Callable[..., errors.ModelCallError]


class ServedModel:
    """What models of every interface have in common; `voirdire.models.load_model` makes them."""

    is_remote = True
    settings: dict[str, Any]

    def __init__(
        self,
        name: str,
        base_url: str,
        path: str,
        *,
        api_key_env: str | None = None,
        key_header: str | None = None,
        reads_keys: bool = True,
        connection: http.HttpConnection | None = None,
    ) -> None:
        self.name = name
        if reads_keys and connection is None:
            keys = http.read_keys(api_key_env, header=key_header)
            connection = http.HttpConnection(base_url, path, name=name, keys=keys)
            connection.variable = api_key_env
        self._connection = connection
        keys = connection.keys if connection else http.Keys({})
        self._server = Server(name, keys, connection.variable if connection else None)
        self.adaptations: Sequence[str] = self._server.adaptations

    @property
    def connection(self) -> http.HttpConnection:
        """The way to its server; another may take its place."""
        if self._connection is None:
            msg = f"{self.name!r} was made without keys, for estimates: it can be asked nothing."
            raise errors.InputError(msg)
        return self._connection

    @connection.setter
    def connection(self, connection: http.HttpConnection) -> None:
        self._connection = connection

    async def close(self) -> None:
        """Close this event loop's connections; the model can be used again after it."""
        if self._connection is not None:
            await self._connection.close()

    async def _post(
        self, body: bytes, request: ChatRequest, list_sent: Callable[[], Collection[str]]
    ) -> tuple[bytes, Making] | errors.ModelCallError:
        """Send a body; return that of the answer, and what makes an error of a part of it."""
        server = self._server
        answer = await self.connection.send(body)

        def error(told: object, *, status: int = 0) -> errors.ModelCallError:
            about: dict[str, Any] = {"request": request, "list_sent": list_sent}
            return server.error(told, status=status, headers=answer.headers, **about)

        if not 200 <= answer.status < 300:
            return error(answer.body, status=answer.status)
        if server.keys.are_in(answer.body):  # a reply is stored, and shown in part
            what = "sent a key back that it was called with; its reply is not kept"
            return server.fail(errors.ServerError, what)
        return answer.body, error
