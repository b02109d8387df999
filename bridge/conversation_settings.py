"""What people have chosen for one conversation; what they have not follows the configuration."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from channels.contract import BusyPolicy, Speaks


class ConversationSettings(BaseModel):
    """One conversation's choices; None means as configured."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    busy: BusyPolicy | None = None
    speaks: Speaks | None = None
    assistant: str | None = None
    model: str | None = None
    thinking: bool | None = None
    plan: bool | None = None
    subagents: bool | None = None
    streaming: bool | None = None

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "ConversationSettings":
        """Read what `as_stored` gave; a choice that this version does not know counts as none."""
        try:
            return cls.model_validate(stored)
        except ValidationError as error:
            unknown = {detail["loc"][0] for detail in error.errors()}
            return cls.model_validate({name: value for name, value in stored.items() if name not in unknown})

    def as_stored(self) -> dict[str, Any]:
        """The choices that were made, as JSON values."""
        return self.model_dump(mode="json", exclude_none=True)

    def with_choice(self, name: str, value: object) -> "ConversationSettings":
        """The same with one choice made, or with None taken back."""
        return ConversationSettings.model_validate({**self.model_dump(), name: value})

    @property
    def run_context(self) -> dict[str, Any]:
        """What a run is told of them, in the words of its context."""
        context = {
            "model_name": self.model,
            "thinking_enabled": self.thinking,
            "is_plan_mode": self.plan,
            "subagent_enabled": self.subagents,
        }
        return {name: value for name, value in context.items() if value is not None}
