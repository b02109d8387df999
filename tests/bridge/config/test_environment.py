"""`$NAME`, `.env`, and the variables of our own."""

import pytest

from bridge.config import load_config
from bridge.errors import ConfigError

TELEGRAM = "channels:\n  telegram:\n    enabled: {enabled}\n    bot_token: $TG_TOKEN\n"


@pytest.mark.parametrize("written", ["$TG_TOKEN", "${TG_TOKEN}"])
def test_a_whole_value_is_taken_from_the_environment(load, written):
    config = load(f"channels: {{telegram: {{enabled: true, bot_token: '{written}'}}}}", {"TG_TOKEN": "1:abc"})
    assert config.channels.telegram.bot_token.get_secret_value() == "1:abc"


def test_a_dollar_within_a_value_is_only_a_dollar(load):
    config = load("channels: {telegram: {bot_token: a$TG_TOKEN}}", {"TG_TOKEN": "1:abc"})
    assert config.channels.telegram.bot_token.get_secret_value() == "a$TG_TOKEN"


def test_what_a_variable_holds_is_not_resolved_again(load):
    config = load("channels: {telegram: {bot_token: $A}}", {"A": "$B", "B": "no"})
    assert config.channels.telegram.bot_token.get_secret_value() == "$B"


def test_numbers_and_switches_may_come_from_the_environment(load):
    config = load("gateway: {port: $PORT}\ntitle: {enabled: $TITLES}", {"PORT": "9000", "TITLES": "false"})
    assert config.gateway.port == 9000
    assert config.agent.title.enabled is False


@pytest.mark.parametrize("environ", [{}, {"TG_TOKEN": ""}], ids=["unset", "empty"])
def test_a_missing_variable_is_named_with_its_key_and_line(complaint, environ, tmp_path):
    said = complaint(TELEGRAM.format(enabled="true"), environ)
    assert (
        f"{tmp_path}/config.yaml:4:16: channels.telegram.bot_token: the environment variable TG_TOKEN is not set"
        in said
    )
    assert f"write TG_TOKEN=… into {tmp_path}/.env" in said
    assert "\n" not in said, "the missing token must not be complained about twice"


@pytest.mark.parametrize("enabled", ["false", "no", "'off'"])
def test_a_missing_variable_of_a_channel_that_is_off_does_not_matter(load, enabled):
    assert load(TELEGRAM.format(enabled=enabled)).channels.telegram.bot_token is None


def test_a_channel_that_says_nothing_about_enabled_is_off_if_that_is_its_default(load):
    assert load("channels: {telegram: {bot_token: $TG_TOKEN}}").channels.telegram.bot_token is None


def test_the_variable_that_switches_a_channel_on_is_needed(complaint):
    said = complaint("channels: {telegram: {enabled: $ON, bot_token: x}}")
    assert "channels.telegram.enabled: the environment variable ON is not set" in said


def test_the_default_models_key_is_needed(complaint):
    assert "models[0].api_key: the environment variable K is not set" in complaint("models: [{name: a, api_key: $K}]")


def test_another_model_without_its_key_is_left_out_with_a_warning(load):
    config = load("models:\n- {name: a}\n- {name: b, api_key: $K}\n- {name: c}\n")
    assert [model.name for model in config.agent.models] == ["a", "c"]
    assert config.warnings == ("models[1] is left out: its api_key needs K, which is not set (line 3)",)


def test_env_file_beside_the_configuration_is_read_and_the_real_environment_wins(load, tmp_path):
    (tmp_path / ".env").write_text("TG_TOKEN='from file $x'\nPORT=1\n", encoding="utf-8")
    config = load("channels: {telegram: {bot_token: $TG_TOKEN}}\ngateway: {port: $PORT}", {"PORT": "2"})
    assert config.channels.telegram.bot_token.get_secret_value() == "from file $x"
    assert config.gateway.port == 2


def test_home_is_meant_from_the_file_that_says_it(load, tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    assert load("home: data").home == tmp_path / "data"
    assert load("{}").home == tmp_path / ".threadbridge"


def test_the_home_of_the_environment_wins_and_is_meant_from_the_working_directory(load, tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert load("home: $NOT_SET", {"THREADBRIDGE_HOME": "h"}).home == elsewhere / "h"


def test_the_access_token_of_the_environment_wins(load):
    config = load("gateway: {host: 0.0.0.0, access_token: $NOT_SET}", {"THREADBRIDGE_ACCESS_TOKEN": "$tok"})
    assert config.gateway.access_token.get_secret_value() == "$tok"


def test_where_the_gateway_listens_and_the_database_may_come_from_the_environment(load):
    environ = {
        "THREADBRIDGE_GATEWAY_HOST": "0.0.0.0",
        "THREADBRIDGE_GATEWAY_PORT": "9000",
        "THREADBRIDGE_DATABASE_URL": "postgresql+psycopg://bot@db/bot",
        "THREADBRIDGE_ACCESS_TOKEN": "tok",
    }
    for text in ("{}", "gateway: {host: 127.0.0.1, port: 1, keepalive_seconds: 7}\ndatabase: {url: null}"):
        config = load(text, environ)
        assert (config.gateway.host, config.gateway.port) == ("0.0.0.0", 9000)
        assert config.database.address == "postgresql+psycopg://bot@db/bot"
    assert config.gateway.keepalive_seconds == 7, "the section's other keys stay"
    assert load("gateway: {port: 1}", dict.fromkeys(environ, "")).gateway.port == 1


def test_a_wrong_variable_is_named_and_an_open_port_refused(complaint):
    assert "must be a whole number (it comes from $THREADBRIDGE_GATEWAY_PORT)" in complaint(
        "{}", {"THREADBRIDGE_GATEWAY_PORT": "tcp://10.0.0.1:8001"}
    )
    assert "set gateway.access_token or $THREADBRIDGE_ACCESS_TOKEN" in complaint(
        "{}", {"THREADBRIDGE_GATEWAY_HOST": "0.0.0.0"}
    )
    assert "gateway: must be a section" in complaint("gateway: 8001", {"THREADBRIDGE_GATEWAY_PORT": "8001"})


def test_the_file_is_searched_where_the_caller_says_then_the_variable_then_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert load_config(None, {}).source is None
    for number, name in enumerate(("config.yaml", "second.yaml", "third.yaml")):
        (tmp_path / name).write_text(f"gateway: {{port: {number}}}", encoding="utf-8")
    by_variable = {"THREADBRIDGE_CONFIG_PATH": "second.yaml"}
    assert load_config(None, {}).gateway.port == 0
    assert load_config(None, by_variable).gateway.port == 1
    assert load_config(tmp_path / "third.yaml", by_variable).gateway.port == 2


@pytest.mark.parametrize(
    ("path", "environ", "said"),
    [
        ("no.yaml", {}, "--config names .*no.yaml"),
        (None, {"THREADBRIDGE_CONFIG_PATH": "no.yaml"}, r"\$THREADBRIDGE_CONFIG_PATH names no.yaml"),
    ],
)
def test_a_file_that_was_named_and_is_not_there_is_refused(tmp_path, path, environ, said):
    with pytest.raises(ConfigError, match=said):
        load_config(tmp_path / path if path else None, environ)


def test_no_file_at_all_is_the_page_with_the_demo_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = load_config(None, {})
    assert list(config.channels.enabled()) == ["web"]
    assert config.agent.models == ()
    assert config.home == tmp_path / ".threadbridge"


def test_an_empty_section_is_one_that_is_not_there(load):
    config = load("gateway:\nmodels:\nchannels:\n  web:\n  telegram:\n")
    assert config.gateway.port == 8001
    assert config.channels.web.enabled
