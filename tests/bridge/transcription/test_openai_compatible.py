"""A service that speaks as OpenAI does is asked as it wants to be, and its failures have a reason people understand."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from blockbuster import blockbuster_ctx

from bridge.config import load_config
from bridge.doctor import Verdict, examine
from bridge.errors import ConfigError, TranscriptionFailed
from bridge.transcription import Transcriber, TranscriptionConfig, build_transcriber
from tests.simulators.transcription import API_KEY, TranscriptionService, transcription_service


@pytest.fixture
async def service() -> AsyncIterator[TranscriptionService]:
    async with transcription_service() as running:
        yield running


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "voice_5.ogg"
    path.write_bytes("grüezi mitenand".encode())
    return path


async def opened(service: TranscriptionService, **settings: object) -> Transcriber:
    section = {"enabled": True, "api_key": API_KEY, "base_url": service.base_url, "timeout_seconds": 5, **settings}
    transcriber = await asyncio.to_thread(build_transcriber, TranscriptionConfig.model_validate(section))
    assert transcriber is not None
    return transcriber


async def test_the_words_come_back_and_the_loop_is_not_held_up(service: TranscriptionService, recording: Path) -> None:
    transcriber = await opened(service, model="whisper-large")
    with blockbuster_ctx("bridge"):
        assert await transcriber.transcribe(recording, "audio/ogg", "de") == "grüezi mitenand"
    assert await transcriber.transcribe(recording, "audio/ogg", None) == "grüezi mitenand"
    told = {"model": "whisper-large", "name": "voice_5.ogg", "type": "audio/ogg"}
    assert [{key: value for key, value in asked.items() if key != "response_format"} for asked in service.requests] == [
        {**told, "language": "de"},
        told,
    ]
    await transcriber.close()


@pytest.mark.parametrize(
    ("statuses", "reason"),
    [
        ([413], "it is too long"),
        ([400], "does not take it"),
        ([429, 429], "is busy"),
        ([503, 503], "does not take it"),
    ],
)
async def test_a_refusal_has_a_reason(
    service: TranscriptionService, recording: Path, statuses: list[int], reason: str
) -> None:
    service.statuses = statuses
    transcriber = await opened(service)
    with pytest.raises(TranscriptionFailed) as failed:
        await transcriber.transcribe(recording, "audio/ogg", None)
    assert reason in (failed.value.user_message or "")
    assert service.statuses == []
    await transcriber.close()


async def test_one_fault_is_tried_again(service: TranscriptionService, recording: Path) -> None:
    service.statuses = [500]
    transcriber = await opened(service)
    assert await transcriber.transcribe(recording, "audio/ogg", None) == "grüezi mitenand"
    await transcriber.close()


async def test_a_wrong_key_and_an_unreachable_service_are_told_apart_and_no_key_is_shown(
    service: TranscriptionService, recording: Path
) -> None:
    for settings, reason in (
        ({"api_key": "sk-wrong"}, "refuses the key"),
        ({"base_url": "http://127.0.0.1:9/v1"}, "could not be reached"),
    ):
        transcriber = await opened(service, **settings)
        with pytest.raises(TranscriptionFailed) as failed:
            await transcriber.transcribe(recording, "audio/ogg", None)
        assert reason in (failed.value.user_message or "")
        assert "sk-" not in str(failed.value)
        await transcriber.close()


def test_it_is_off_unless_wanted_and_says_what_is_wrong_with_it() -> None:
    assert build_transcriber(TranscriptionConfig()) is None
    with pytest.raises(ConfigError, match="api_key is missing"):
        build_transcriber(TranscriptionConfig(enabled=True))
    with pytest.raises(ConfigError, match="is not a Transcriber"):
        build_transcriber(TranscriptionConfig(enabled=True, use="pathlib:Path"))
    with pytest.raises(ConfigError, match=r"transcription\.use: .* needs the package"):
        build_transcriber(TranscriptionConfig(enabled=True, use="nowhere_to_be_found.at_all:Ears"))


def test_its_key_is_a_secret_of_the_configuration_and_not_needed_while_it_is_off(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("transcription: {enabled: true, api_key: $EARS_KEY}\n")
    assert "sk-ears-7" in load_config(path, {"EARS_KEY": "sk-ears-7"}).secrets()
    path.write_text("transcription: {enabled: false, api_key: $EARS_KEY}\n")
    assert load_config(path, {}).transcription.enabled is False


async def test_doctor_looks_at_it(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    for settings, verdict, said in (
        ("enabled: true, api_key: sk-x", Verdict.OK, "built, not called"),
        ("enabled: true", Verdict.FAILED, "api_key is missing"),
    ):
        path.write_text(f"transcription: {{{settings}}}\n")
        found = await examine(load_config(path, {}))
        (finding,) = [each for each in found if each.subject == "transcription"]
        assert finding.verdict is verdict
        assert said in finding.detail
