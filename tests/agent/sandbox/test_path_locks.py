"""One writer per path, and no table that grows."""

from __future__ import annotations

import threading
import time

import pytest

from agent.sandbox.path_locks import PathLocks


def test_one_path_has_one_holder_and_others_do_not_wait() -> None:
    locks, inside, most = PathLocks(), 0, 0

    def work(key: str) -> None:
        nonlocal inside, most
        with locks.hold(key):
            inside += 1
            most = max(most, inside)
            time.sleep(0.01)
            inside -= 1

    threads = [threading.Thread(target=work, args=("same",)) for _ in range(5)]
    for thread in threads:
        thread.start()
    with locks.hold("other"):
        assert len(locks) >= 1
    for thread in threads:
        thread.join()
    assert most == 1
    assert len(locks) == 0


def test_a_failure_lets_go() -> None:
    locks = PathLocks()
    with pytest.raises(ValueError, match="x"), locks.hold("key"):
        raise ValueError("x")
    assert len(locks) == 0
    with locks.hold("key"):
        pass
