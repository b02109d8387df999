"""Which variables of the environment a configuration lacks, and whether that matters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bridge.config.document import KeyPath
from channels.registry import PLUGINS

_OFF = {"false", "no", "off", "0", "f", "n"}  # pydantic's words


@dataclass(frozen=True, slots=True)
class MissingVariables:
    """Variables that are not set, by the key that names them.

    `needed` stop the program. `spare` belong to models other than the first, which are left out then. What stands in a section
    that is switched off (`enabled: false`) is in neither.
    """

    needed: Mapping[KeyPath, str]
    spare: Mapping[KeyPath, str]

    @classmethod
    def among(cls, missing: Mapping[KeyPath, str], values: Any) -> "MissingVariables":
        """Sort `missing` by what the sections of `values` say."""
        used = {path: name for path, name in missing.items() if not _is_switched_off(path, values)}
        spare = {path: name for path, name in used.items() if _is_spare_model(path)}
        return cls({path: name for path, name in used.items() if path not in spare}, spare)

    @property
    def spare_models(self) -> frozenset[int]:
        """The places in the list `models` that are left out."""
        return frozenset(int(path[1]) for path in self.spare)

    def covers(self, path: KeyPath) -> bool:
        """Whether a mistake at `path` only repeats that a variable is missing there or below."""
        return any(missing[: len(path)] == path for missing in self.needed)


def _is_spare_model(path: KeyPath) -> bool:
    match path:
        case ("models", int(index), *_):
            return index > 0
    return False


def is_enabled_channel(name: str, channels: Any) -> bool:
    """Whether the section `channels`, as it was written, switches the channel on."""
    section = channels.get(name) if isinstance(channels, dict) else None
    return not _says_off(section if isinstance(section, dict) else {}, default=_default_of(("channels", name)))


def _is_switched_off(path: KeyPath, values: Any) -> bool:
    section = values
    for depth, step in enumerate(path[:-1], start=1):
        section = section[step]
        if isinstance(section, dict) and _says_off(section, default=_default_of(path[:depth])):
            return path[depth:] != ("enabled",)
    return False


def _default_of(section: KeyPath) -> bool:
    match section:
        case ("channels", str(name)) if name in PLUGINS:
            return PLUGINS[name].config_model()().enabled
    return True


def _says_off(section: Mapping[str, Any], *, default: bool) -> bool:
    return str(section.get("enabled", default)).casefold() in _OFF
