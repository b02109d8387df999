"""The configuration: YAML and `.env` in, one frozen `Config` out, and mistakes that point at their line."""

from bridge.config.loading import find_config, folder_of, load_config
from bridge.config.sections import ChannelSections, Config

__all__ = ["ChannelSections", "Config", "find_config", "folder_of", "load_config"]
