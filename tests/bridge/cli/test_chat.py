"""The agent in the terminal, with the demo model."""

import os
import pty
import select
import subprocess
import sys
import time


def test_it_answers_asks_with_numbered_options_takes_a_number_and_hands_over_a_file(threadbridge, tmp_path):
    done = threadbridge("chat", said="hello\nmake a report\n2\n")
    assert done.returncode == 0, done.stderr
    assert "demo model" in done.stdout
    assert "2. A detailed report" in done.stdout
    assert "· write_file" in done.stdout
    report = tmp_path / ".threadbridge/threads/terminal-default/outputs/demo-report.md"
    assert f"📎 {report}" in done.stdout
    assert "detailed" in report.read_text(encoding="utf-8"), (
        "the number must reach the agent as the option it stands for"
    )


def test_a_thread_is_gone_on_with_by_its_name(threadbridge):
    threadbridge("chat", "--thread", "report", said="make a report\n")
    done = threadbridge("chat", "--thread", "report", said="A short summary\n")
    assert "📎" in done.stdout, "the answer to the question of the process before must lead to the report"


def test_a_model_that_is_not_reached_is_named_with_its_host(threadbridge, tmp_path):
    (tmp_path / "config.yaml").write_text(
        "models: [{name: main, model: m, api_key: sk-none, base_url: 'http://127.0.0.1:9/v1'}]\n"
        "llm_call: {retry_max_attempts: 1}\n"
    )
    done = threadbridge("chat", said="hello\n")
    assert "The model could not be reached." in done.stderr
    assert "127.0.0.1:9" in done.stderr
    assert "sk-none" not in done.stdout + done.stderr


def test_a_name_that_makes_no_thread_is_refused(threadbridge):
    done = threadbridge("chat", "--thread", "../x")
    assert done.returncode == 2
    assert "a name is made of" in done.stderr


def test_ctrl_c_stops_the_answer_and_not_the_program(tmp_path, environment):
    terminal, inner = pty.openpty()
    # The terminal must be the program's own, or Ctrl-C would mean nothing to it: the child opens it as its first.
    opening = f"import os, runpy; os.open({os.ttyname(inner)!r}, os.O_RDWR); runpy.run_module('bridge', alter_sys=True)"
    program = subprocess.Popen(
        [sys.executable, "-c", opening, "chat"], cwd=tmp_path, env={**environment, "TERM": "dumb"},
        stdin=inner, stdout=inner, stderr=inner, start_new_session=True,
    )  # fmt: skip
    os.close(inner)
    try:
        _read_until(terminal, "› ")
        os.write(terminal, b"help\n")
        _read_until(terminal, "demo model")
        os.write(terminal, b"\x03")
        assert "stopped" in _read_until(terminal, "› ")
        os.write(terminal, b"help\n")
        assert "gpt-5" in _read_until(terminal, "› "), "the next answer must come whole"
        os.write(terminal, b"\x04")
        assert program.wait(timeout=30) == 0
    finally:
        program.kill()
        program.wait()
        os.close(terminal)


def _read_until(terminal: int, mark: str) -> str:
    read, deadline = b"", time.monotonic() + 60
    while mark.encode() not in read:
        assert time.monotonic() < deadline, read.decode(errors="replace")
        if select.select([terminal], [], [], 0.2)[0]:
            read += os.read(terminal, 4096)
    return read.decode(errors="replace")
