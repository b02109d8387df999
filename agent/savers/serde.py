"""CompressedSerializer: LangGraph's serializer, compressed where it pays."""

from __future__ import annotations

import zlib
from typing import Any

from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

SUFFIX = "+zlib"
WORTH_IT_BYTES = 512
FASTEST = 1


class CompressedSerializer(SerializerProtocol):
    """Compresses what is larger than half a kilobyte; reads what is not compressed as well."""

    def __init__(self) -> None:
        self._inner = JsonPlusSerializer()

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Serialize; the type says whether the bytes are compressed."""
        kind, data = self._inner.dumps_typed(obj)
        if len(data) < WORTH_IT_BYTES:
            return kind, data
        return kind + SUFFIX, zlib.compress(data, FASTEST)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Deserialize what either form of `dumps_typed` gave."""
        kind, body = data
        if kind.endswith(SUFFIX):
            return self._inner.loads_typed((kind.removesuffix(SUFFIX), zlib.decompress(body)))
        return self._inner.loads_typed(data)
