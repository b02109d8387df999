"""Every mistake in the file is told with its place and a way out."""

import pytest

from bridge.config import load_config
from bridge.errors import ConfigError


def test_a_wrong_section_is_pointed_at_and_the_right_one_suggested(complaint, tmp_path):
    said = complaint("home: x\ngatway: {port: 1}\n")
    assert said == f"{tmp_path}/config.yaml:2:1: gatway: there is no such key. Did you mean 'gateway'?"


def test_a_wrong_key_of_the_agents_section_is_pointed_at(complaint):
    said = complaint("title:\n  enabled: true\n  max_word: 3\n")
    assert ":3:3: title.max_word: there is no such key. Did you mean 'max_words'?" in said


def test_a_key_like_no_other_gets_the_list_of_those_there_are(complaint):
    said = complaint("inbox: {zzzzzz: 1}\n")
    assert (
        "inbox.zzzzzz: there is no such key. Possible: album_seconds, ask_when_older_than_seconds, debounce_seconds,"
        in said
    )


def test_agent_is_no_section_though_the_program_has_one_inside(complaint):
    assert "agent: there is no such key" in complaint("agent: {}\n")


def test_an_unknown_channel_is_refused(complaint):
    assert ":2:3: channels.telegrm: there is no such key. Did you mean 'telegram'?" in complaint(
        "channels:\n  telegrm: {}\n"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("channels: {telegram: {busy: que}}", "channels.telegram.busy: must be one of queue, steer, interrupt, collect, not 'que'. Did"),
        ("channels: {web: {access: Opne}}", "must be one of members, pairing, list, open, not 'Opne'. Did you mean 'open'?"),
        ("gateway: {port: eighty}", ":1:17: gateway.port: must be a whole number, not 'eighty'"),
        ("gateway: {port: 70000}", ":1:17: gateway.port: input should be less than or equal to 65535"),
        ("title: {enabled: perhaps}", "title.enabled: must be true or false, not 'perhaps'"),
        ("title: 3", ":1:8: title: must be a section of `key: value` lines, not 3"),
        ("models: {name: a}", ":1:9: models: must be a list"),
        ("models: [{name: a}, {nam: b}]", "models[1].name: this key is needed; is 'nam' meant to be it?"),
        ("checkpoints: {keep_turns: some}", "keep_turns: must be a whole number, not 'some'; or must be one of all, not 'some'."),
        ("runs: {lease_seconds: 10, heartbeat_seconds: 9}", ":1:27: runs: heartbeat_seconds must be at most half of lease_seconds"),
        ("runs: {question_expiry_seconds: .inf}", ":1:33: runs.question_expiry_seconds: input should be less than or equal to 315360000"),
        ("inbox: {forget_asked_after_seconds: 1e300}", "inbox.forget_asked_after_seconds: input should be less than or equal to 315360000"),
        ("database: {url: 'sqlite:///x.db'}", "database.url: must begin with postgresql+psycopg://; for SQLite in `home` leave it null"),
        ("channels: {telegram: {access: members}}", "access: members is not possible on Telegram"),
        ("channels: {telegram: {enabled: true}}", "bot_token is missing; get one from @BotFather"),
        ("channels: {slack: {enabled: true}}", ":1:29: channels.slack.enabled: slack is not there yet"),
        ("channels: {feishu: {enabled: true}}", "channels.feishu.enabled: feishu is not there yet"),
        ("gateway: {host: 0.0.0.0}", ":1:11: gateway: host 0.0.0.0 is reachable from other machines: set gateway.access_token"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_told_with_what_is_possible(complaint, text, said):
    assert said in complaint(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [1\nb: 2\n", "this is not YAML"),
        ("gateway:\n\tport: 1\n", ":2:1: this is not YAML: lines are indented with spaces, and here is a tab"),
        ("home: @me\n", ":1:7: this is not YAML: a value that begins with '@' must be in quotes"),
        ("home: a\nhome: b\n", ":2:1: home: the key stands already in line 1"),
        ("- a\n", "the file must consist of `key: value` lines"),
        ("title: &t {x: *t}\n", "title.x: the value refers to itself"),
        ("home: 2024-99-99\n", "this is not YAML"),
        ("home: a\0b\n", "this is not YAML"),
        ("title: " + "[" * 3000, "its values are nested too deeply"),
    ],
)
def test_a_file_that_is_no_set_of_sections_is_refused_with_the_place(complaint, text, said):
    assert said in complaint(text)


def test_all_mistakes_are_listed_in_the_order_of_the_file(complaint):
    said = complaint("titel: {}\nruns: {max_attempts: 0}\nchannels: {slack: {enabled: true}}\ngateway: {prt: 1}\n")
    assert said.startswith("the configuration has 4 mistakes:")
    lines = said.splitlines()[1:]
    assert all(key in line for key, line in zip(("titel", "max_attempts", "slack", "prt"), lines, strict=True))


def test_a_file_that_is_not_text_is_refused(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="it is not UTF-8 text"):
        load_config(path, {})
