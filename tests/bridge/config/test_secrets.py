"""Secrets are known as such and are never shown."""

import pytest

EVERYTHING = """
database: {url: "postgresql+psycopg://bot:pa55word@db/threads"}
gateway: {access_token: $TOKEN}
models: [{name: a, api_key: sk-model-key, default_headers: {Authorization: Bearer abcdef}, azure_ad_token: azure-token}]
channels:
  telegram: {enabled: true, bot_token: "123:telegram"}
  slack: {bot_token: xoxb-slack, app_token: xapp-slack}
  feishu: {app_secret: feishu-secret}
"""
SECRETS = {
    "pa55word", "gateway-token", "sk-model-key", "Bearer abcdef", "azure-token", "123:telegram", "xoxb-slack", "xapp-slack",
    "feishu-secret", "postgresql+psycopg://bot:pa55word@db/threads",
}  # fmt: skip


def test_every_configured_secret_is_known(load):
    assert load(EVERYTHING, {"TOKEN": "gateway-token"}).secrets() == SECRETS


def test_a_printed_configuration_shows_no_secret_field(load):
    shown = repr(load(EVERYTHING, {"TOKEN": "gateway-token"}))
    hidden = SECRETS - {"Bearer abcdef", "azure-token"}  # a provider's own keys, which the models cannot know
    assert not [secret for secret in hidden if secret in shown]


@pytest.mark.parametrize(
    "text", ["gateway: {port: $TOKEN}", "runs: {max_attempts: $TOKEN}", "title: {enabled: $TOKEN}"]
)
def test_a_complaint_never_shows_what_came_from_the_environment(complaint, text):
    said = complaint(text, {"TOKEN": "hunter2-secret"})
    assert "hunter2-secret" not in said
    assert "$TOKEN" in said


@pytest.mark.parametrize("text", [
    "channels: {telegram: {bot_token: [hunter2-secret]}}",
    "database: {url: 'mysql://u:hunter2-secret@h/d'}",
    "gateway: {access_token: {hunter2-secret: 1}}",
])  # fmt: skip
def test_a_complaint_about_a_secret_field_never_shows_the_value(complaint, text):
    assert "hunter2-secret" not in complaint(text)
