"""The README's tour, run exactly as printed: its blocks are taken from the page and given to bash in their order.

A block that begins with "# terminal N" runs beside the others until the end, when it gets what Ctrl-C sends. The rest
share one shell, as the reader's third terminal does. Where a text block follows, it is what the commands print: every
line of it has to come, with the same fields and values. Ids, hashes, times and durations differ from run to run and are
compared by their form; "…" stands for any text within a line. `verify.py` sets `Tour.work`, a folder for the logs.
"""

import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import time
import unittest
import urllib.request

from readme import blocks

ROOT = pathlib.Path(__file__).resolve().parents[2]
PORTS = (8080, 9000)  # the tour's
BUILDING = 600  # seconds, until howk answers: `cargo run` builds it first
ANSWERING = 60  # seconds, for one block; the longest waits for a retry, ten seconds
STOPPING = 45  # seconds, for howk to work off what is pending

# What differs from run to run: an id, a hash, a time, a duration. Printed and real ones have the same form.
VARYING = [
    r"wh_[0-9A-Z]{26}",
    r'"[0-9a-f]{32}"',
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z",
    r'"duration_ms":\d+',
]
ELLIPSIS = "…"


def pattern(line):
    """A printed line as the pattern of what may come for it."""
    forms = [*VARYING, ELLIPSIS]
    result, read_to = "", 0
    for match in re.finditer("|".join(f"({form})" for form in forms), line):
        form = forms[match.lastindex - 1]
        result += re.escape(line[read_to : match.start()]) + (".*" if form == ELLIPSIS else form)
        read_to = match.end()
    return rf"\A{result}{re.escape(line[read_to:])}\Z"


def free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return probe.connect_ex(("127.0.0.1", port)) != 0


class Tour(unittest.TestCase):
    def test_the_readme_as_printed(self):
        for port in PORTS:
            self.assertTrue(free(port), f"the tour needs port {port}, which something listens on")
        tour = blocks("A tour")
        besides = [text for language, text in tour if language == "bash" and text.startswith("# terminal ")]
        rest = [block for block in tour if block[1] not in besides]
        self.assertEqual(len(besides), 2, "howk and the receiver")
        with contextlib.ExitStack() as terminals:
            started = [terminals.enter_context(self.terminal(number, text)) for number, text in enumerate(besides, 1)]
            self.until_serving(started)
            shell = terminals.enter_context(self.shell())
            self.walk(shell, rest)
        # Ctrl-C ends howk in good order once it has delivered what was pending.
        self.assertEqual(started[0].returncode, 0, (self.work / "terminal-1.log").read_text())

    def walk(self, shell, tour):
        compared = 0
        for (language, commands), following in zip(tour, [*tour[1:], ("", "")], strict=True):
            if language != "bash":
                self.assertEqual(language, "text", f"a block of the tour is neither commands nor output:\n{commands}")
                continue
            came = self.run_block(shell, commands)
            if following[0] != "text":
                continue
            expected = following[1].splitlines()
            self.assertEqual(len(came), len(expected), "lines, for\n" + commands + "\n" + "\n".join(came))
            for line, printed in zip(came, expected, strict=True):
                self.assertRegex(line, pattern(printed), f"README.md prints\n{printed}")
                compared += 1
        self.assertGreater(compared, 10, "the tour prints hardly anything")

    def run_block(self, shell, commands):
        """Gives the block to the shell, and returns the lines that it printed."""
        mark = f"-- end of block {time.monotonic_ns()}"
        shell.stdin.write(f"{commands}\nprintf '%s, %s\\n' '{mark}' \"$?\"\n")
        shell.stdin.flush()
        give_up_at, log, start = time.monotonic() + ANSWERING, self.work / "terminal-3.log", shell.read_to
        while mark not in (text := log.read_text()[start:]):
            if time.monotonic() > give_up_at or shell.poll() is not None:
                self.fail(f"no end within {ANSWERING} s of\n{commands}\nwhich printed\n{text}")
            time.sleep(0.02)
        printed, _, code = text.partition(mark)
        shell.read_to = start + len(printed) + len(mark) + len(", 0\n")
        self.assertEqual(code.strip(" ,\n"), "0", f"{commands}\nprinted\n{printed}")
        return [line for line in printed.splitlines() if line]

    @contextlib.contextmanager
    def terminal(self, number, commands):
        """One block in a shell of its own, and what Ctrl-C does at the end."""
        with (self.work / f"terminal-{number}.log").open("w") as log:
            process = subprocess.Popen(
                ["bash", "-euc", commands],
                cwd=ROOT,
                env=plain_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                yield process
            finally:
                end(process, signal.SIGINT)

    @contextlib.contextmanager
    def shell(self):
        with (self.work / "terminal-3.log").open("w") as log:
            # Both streams through one pipe, in order, as a terminal shows them.
            shell = subprocess.Popen(
                ["bash", "-c", "exec bash 2>&1 | cat"],
                cwd=ROOT,
                env=plain_environment(),
                stdin=subprocess.PIPE,
                stdout=log,
                text=True,
                start_new_session=True,
            )
            shell.read_to = 0
            try:
                yield shell
            finally:
                shell.stdin.close()
                end(shell, signal.SIGTERM)

    def until_serving(self, started):
        give_up_at = time.monotonic() + BUILDING
        while not all(map(answers, ("http://127.0.0.1:8080/ready", "http://127.0.0.1:9000/"))):
            logs = "\n".join((self.work / f"terminal-{number}.log").read_text() for number in (1, 2))
            if time.monotonic() > give_up_at or any(process.poll() is not None for process in started):
                self.fail(f"howk or the receiver does not serve:\n{logs}")
            time.sleep(0.1)


def plain_environment():
    """This process's environment without howk's variables: the tour is howk with its defaults."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("HOWK_")}
    return {**own, "NO_COLOR": "1"}


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError as error:
        return getattr(error, "code", 0) == 501  # the receiver knows no GET


def end(process, how):
    """Sends the group of a process that is started here a signal, and waits for its end."""
    if process.poll() is None:
        os.killpg(process.pid, how)
    try:
        process.wait(STOPPING)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
