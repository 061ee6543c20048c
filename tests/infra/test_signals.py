"""Ctrl-C while a command is at work: what it tidies up then is not cut short."""

import signal

import pytest

from duebell_infra.local.signals import Ended, ended_by_signal


def test_a_second_signal_does_not_cut_short_what_the_first_one_began() -> None:
    before, tidied = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGINT)
            tidied.append("all")

    with pytest.raises(Ended), ended_by_signal():
        work()
    assert tidied == ["all"]
    assert signal.getsignal(signal.SIGINT) is before
