"""Running one job: a few commands at once, their output, an end in any case."""

import dataclasses
import os
import shlex
import signal
import subprocess
import tempfile
import time

JOB_LIMIT_S = 150
STOP_S = 5
POLL_S = 0.05
TAIL_LINES = 15


class DemoError(Exception):
    """What failed and where, why, what to do."""


@dataclasses.dataclass
class Command:
    argv: list[str]
    environment: dict[str, str] = dataclasses.field(default_factory=dict)  # added to ours


def run_job(commands: list[Command]) -> str:
    """Runs all at once to their ends; gives back what they wrote to stdout."""
    with tempfile.TemporaryDirectory() as folder:
        running = []
        for index, command in enumerate(commands):
            outputs = [open(f"{folder}/{index}.{kind}", "w+b") for kind in ("out", "err")]
            process = subprocess.Popen(
                command.argv,
                stdin=subprocess.DEVNULL,
                stdout=outputs[0],
                stderr=outputs[1],
                env={**os.environ, **command.environment},
                start_new_session=True,
            )
            running.append((command, process, outputs))
        try:
            _wait([process for _, process, _ in running])
            for command, process, outputs in running:
                if process.returncode != 0:
                    raise DemoError(_failure(command, process.returncode, outputs))
            return "".join(_text(outputs[0]) for _, _, outputs in running)
        finally:
            _end([process for _, process, _ in running])
            for _, _, outputs in running:
                for file in outputs:
                    file.close()


def _wait(processes: list[subprocess.Popen]) -> None:
    """Until all have ended, one has failed, or the limit is over."""
    deadline = time.monotonic() + JOB_LIMIT_S
    while time.monotonic() < deadline:
        codes = [process.poll() for process in processes]
        if all(code == 0 for code in codes) or any(codes):
            return
        time.sleep(POLL_S)


def _end(processes: list[subprocess.Popen]) -> None:
    """SIGTERM, so that a launcher can end its workers; then SIGKILL."""
    for sent, patience_s in ((signal.SIGTERM, STOP_S), (signal.SIGKILL, STOP_S)):
        left = [process for process in processes if process.poll() is None]
        for process in left:
            os.killpg(process.pid, sent)
        deadline = time.monotonic() + patience_s
        for process in left:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                pass


def _text(file) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _failure(command: Command, code: int | None, outputs) -> str:
    ended = f"not done after {JOB_LIMIT_S} s" if code is None else f"exit code {code}"
    tail = (_text(outputs[0]) + _text(outputs[1])).splitlines()[-TAIL_LINES:]
    return "\n  ".join([f"{ended}: {shlex.join(command.argv)}", *tail])
