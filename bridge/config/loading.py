"""Finds the configuration, reads it, and checks it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from agent.config import AgentConfig
from bridge.config.document import Document, KeyPath, read_document
from bridge.config.environment import Resolved, read_environment, resolve
from bridge.config.missing import MissingVariables, is_enabled_channel
from bridge.config.problems import Problem, dotted, refuse
from bridge.config.sections import Config, HouseSections
from bridge.config.validation import Explainer
from channels.registry import PLUGINS

CONFIG_PATH_VARIABLE = "THREADBRIDGE_CONFIG_PATH"
HOME_VARIABLE = "THREADBRIDGE_HOME"
OVERRIDES: Mapping[str, KeyPath] = {
    HOME_VARIABLE: ("home",),
    "THREADBRIDGE_ACCESS_TOKEN": ("gateway", "access_token"),
    # Not THREADBRIDGE_PORT: Kubernetes sets that itself, to an address, beside a service of the name.
    "THREADBRIDGE_GATEWAY_HOST": ("gateway", "host"),
    "THREADBRIDGE_GATEWAY_PORT": ("gateway", "port"),
    "THREADBRIDGE_DATABASE_URL": ("database", "url"),
}
"""The variables that win over the file, and the keys they stand for."""

Section = TypeVar("Section", bound=BaseModel)


def load_config(path: Path | None, environ: Mapping[str, str]) -> Config:
    """The configuration in `path`, else in $THREADBRIDGE_CONFIG_PATH, else in ./config.yaml, else the built-in defaults.

    Raises ConfigError, which lists every mistake with its place.
    """
    source = find_config(path, environ)
    environment = read_environment(folder_of(source), environ)
    document = read_document(source) if source else Document({})
    resolved = resolve(_with_overrides(_without_empty_sections(document.values), environment), environment)
    # A relative home is meant from where it was written: the file's folder, or the shell's.
    base = Path() if environment.get(HOME_VARIABLE) else folder_of(source)
    return _Check(source, document, resolved).config(base.resolve())


def find_config(path: Path | None, environ: Mapping[str, str]) -> Path | None:
    """The file to read, None for the defaults; raises ConfigError if one was named and is not there."""
    named = environ.get(CONFIG_PATH_VARIABLE)
    wanted = path or (Path(named) if named else None)
    if wanted is None:
        usual = Path("config.yaml")
        return usual if usual.is_file() else None
    if not wanted.is_file():
        said_by = "--config" if path else f"${CONFIG_PATH_VARIABLE}"
        raise refuse(None, [Problem((), f"{said_by} names {wanted}, and there is no such file")])
    return wanted


def folder_of(source: Path | None) -> Path:
    """Where `.env` is looked for: beside the file, or in the working directory."""
    return source.parent if source else Path()


def _without_empty_sections(values: Mapping[str, Any]) -> dict[str, Any]:
    """A section with nothing under it, or all of it commented out, is a section that is not there."""
    kept = {str(key): value for key, value in values.items() if value is not None}
    if isinstance(channels := kept.get("channels"), dict):
        kept["channels"] = {key: value for key, value in channels.items() if value is not None}
    return kept


def _with_overrides(values: dict[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    """The variables of our own win over the file; as references, so that the rest treats them like any other."""
    for name, path in OVERRIDES.items():
        if environment.get(name):
            values = _with_value(values, path, f"${name}")
    return values


def _with_value(values: Any, path: KeyPath, value: str) -> Any:
    if not path:
        return value
    if not isinstance(values, dict):
        return values  # no section, which the check will say
    return {**values, path[0]: _with_value(values.get(str(path[0]), {}), path[1:], value)}


@dataclass(frozen=True, slots=True)
class _Check:
    source: Path | None
    document: Document
    resolved: Resolved

    def config(self, base: Path) -> Config:
        values = self.resolved.values
        missing = MissingVariables.among(self.resolved.missing, values)
        problems = [*self._not_set(missing), *self._unknown_sections(), *self._doorless()]
        house, house_problems = self._validated(HouseSections, missing)
        agent, agent_problems = self._validated(AgentConfig, missing)
        problems += [*house_problems, *agent_problems]
        if problems or house is None or agent is None:
            raise refuse(self.source, problems)
        models = [model for index, model in enumerate(agent.models) if index not in missing.spare_models]
        parts = {**dict(house), "home": base / house.home.expanduser()}
        return Config(
            **parts,
            source=self.source,
            agent=agent.model_copy(update={"models": tuple(models)}),
            warnings=tuple(self._left_out(missing)),
        )

    def _validated(self, model: type[Section], missing: MissingVariables) -> tuple[Section | None, list[Problem]]:
        values = {key: value for key, value in self.resolved.values.items() if key in model.model_fields}
        try:
            return model.model_validate(values), []
        except ValidationError as error:
            found = Explainer(self.document, values, self.resolved.used).problems(error, model)
            return None, [problem for problem in found if not missing.covers(problem.path)]

    def _unknown_sections(self) -> Iterator[Problem]:
        known = (*HouseSections.model_fields, *AgentConfig.model_fields)
        explainer = Explainer(self.document, self.resolved.values, self.resolved.used)
        for key in self.resolved.values:
            if key not in known:
                yield explainer.unknown_key((), key, known)

    def _doorless(self) -> Iterator[Problem]:
        """Channels that are switched on and cannot be built yet."""
        for name, plugin in PLUGINS.items():
            if plugin.adapter is None and is_enabled_channel(name, self.resolved.values.get("channels")):
                path = ("channels", name, "enabled")
                message = f"{name} is not there yet: this version only checks its section, a later one brings it; set it to false"
                yield Problem(path, message, self.document.value_position(path))

    def _not_set(self, missing: MissingVariables) -> Iterator[Problem]:
        env_file = folder_of(self.source) / ".env"
        for path, name in missing.needed.items():
            message = f"the environment variable {name} is not set; export it or write {name}=… into {env_file}"
            yield Problem(path, message, self.document.value_position(path))

    def _left_out(self, missing: MissingVariables) -> Iterator[str]:
        for path, name in missing.spare.items():
            position = self.document.value_position(path)
            line = f" (line {position.line})" if position else ""
            yield f"{dotted(path[:2])} is left out: its {dotted(path[2:])} needs {name}, which is not set{line}"
