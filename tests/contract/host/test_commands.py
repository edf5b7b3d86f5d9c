from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time

import pytest

from mco.host.commands import Commands, trimmed
from mco.host.errors import CommandError


def test_output_is_captured_and_input_given() -> None:
    assert Commands().run("cat", stdin="héllo\n") == "héllo\n"
    assert Commands().run("cat") == ""


def test_bytes_that_are_not_utf_8_survive() -> None:
    output = Commands().run("printf", r"\351")
    assert os.fsencode(output) == b"\xe9"


def test_a_failure_can_be_replayed_in_a_shell() -> None:
    argv = ("sh", "-c", "echo 'no way' >&2; echo >&2; echo \"because $0\" >&2; exit 3", "it's")
    with pytest.raises(CommandError) as caught:
        Commands().run(*argv)
    error = caught.value
    assert (error.status, error.stderr, error.argv) == (3, "no way; because it's", argv)
    line = str(error).removeprefix("running ").partition(" failed: ")[0]
    assert tuple(shlex.split(line)) == argv
    assert subprocess.run(line, shell=True, capture_output=True, check=False).returncode == 3


def test_attempt_gives_the_status() -> None:
    output = Commands().attempt("sh", "-c", "echo out; echo err >&2; exit 4")
    assert (output.status, output.ok, output.stdout, output.stderr) == (4, False, "out\n", "err\n")


def test_a_signal_is_named() -> None:
    with pytest.raises(CommandError, match="signal SIGKILL"):
        Commands().run("sh", "-c", "kill -9 $$")


def test_a_missing_program_is_named_with_what_to_do() -> None:
    with pytest.raises(CommandError, match="running no-such-program x failed: No such file") as caught:
        Commands().run("no-such-program", "x")
    assert (caught.value.status, caught.value.hint) == (None, "install the program no-such-program")


def test_the_time_limit_ends_the_command_and_its_children() -> None:
    marker = f"0.{os.getpid()}"
    begin = time.monotonic()
    with pytest.raises(CommandError, match=r"no end after 0\.3 seconds") as caught:
        Commands().run("sh", "-c", f"echo waiting >&2; sleep 60.{marker[2:]} & wait", timeout=0.3)
    assert caught.value.status is None
    assert time.monotonic() - begin < 10
    assert f"sleep 60.{marker[2:]}" not in subprocess.run(["ps", "ax"], capture_output=True, text=True).stdout


def test_the_prefix_comes_first_and_is_part_of_the_message() -> None:
    assert Commands(["env", "X=1"]).run("sh", "-c", "echo $X") == "1\n"
    with pytest.raises(CommandError, match=r"^running env X=1 false failed: exit status 1$"):
        Commands(["env", "X=1"]).run("false")


def test_output_can_be_parsed_whatever_the_locale() -> None:
    code = "import os; print(os.environ['LC_ALL'], os.environ['SYSTEMD_COLORS'])"
    assert Commands().run(sys.executable, "-c", code) == "C 0\n"


def test_long_complaints_keep_their_end() -> None:
    text = trimmed("x" * 5000 + "\nthe reason\n")
    assert len(text) < 2100
    assert text.startswith("...")
    assert text.endswith("; the reason")
