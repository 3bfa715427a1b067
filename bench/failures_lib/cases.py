"""One function per case: plays it once with a launcher and returns {figure: value}. Seconds are
floats: inf if the case was cut short at its cap, nan if it ended without coming that far."""

import os
import pathlib
import signal
import subprocess
import tempfile
import time

import support

from . import jobs

NEVER = float("inf")
FAILED = float("nan")
RANKS = 4
SET_DOWN_S = 15    # for a launcher to exit once its workers are gone
QUICK_JOIN_S = 5   # join_timeout, where a case has to end by it
GRACE_S = 2
SILENT = ("import socket, time; s = socket.create_server(('', {port})); c = [s.accept()[0] "
          "for _ in iter(int, 1)]")


def or_never(seconds):
    return NEVER if seconds is None else seconds


def gone(ends, pids, since):
    return or_never(ends.last(pids, since))


def codes(job, limit_s):
    """Exit codes of its launchers, "-" for one that still runs at the limit."""
    deadline = time.monotonic() + limit_s
    found = [run.ended(deadline - run.start)[1] for run in job.runs]
    return ", ".join("-" if code is None else str(code) for code in found)


def by_host(job):
    return [job.pids_on(host) for host in ("n0", "n1")]


def rank_fails(hosts, launcher, cap):
    """Rank 3, on n1, exits 7; the others obey SIGTERM."""
    with jobs.Job(hosts, launcher).idle() as job:
        n0, n1 = by_host(job)
        failing = job.workers()[3][0]
        ends = jobs.Ends(n0 + n1)
        (job.root / "fail.3").touch()
        ends.wait(cap, until=[failing])
        since = ends.at[failing]
        ends.wait(cap)
        found = {"gone": gone(ends, n0, since), "codes": codes(job, 1 if ends.open else SET_DOWN_S)}
        told = [host for host, run in zip(("n0", "n1"), job.runs)
                if jobs.names_the_failure(run.text())]
        ends.close()
        return {**found, "named": ", ".join(told) or "neither"}


def launcher_is_killed(hosts, launcher, cap):
    """SIGKILL to what the user started on n1."""
    with jobs.Job(hosts, launcher).idle() as job:
        n0, n1 = by_host(job)
        ends = jobs.Ends(n0 + n1)
        since = time.monotonic()
        jobs.kill(job.runs[1].process.pid)
        ends.wait(cap)
        found = {"own": gone(ends, n1, since), "others": gone(ends, n0, since)}
        ends.close()
        return found


def node_is_cut_off(hosts, launcher, cap):
    """n1's link goes down; heartbeats as they are by default."""
    with jobs.Job(hosts, launcher).idle() as job:
        n0, n1 = by_host(job)
        ends = jobs.Ends(n0 + n1)
        since = time.monotonic()
        try:
            hosts.cut("n1")
            ends.wait(cap)
        finally:
            hosts.join("n1")
        found = {"n0": gone(ends, n0, since), "n1": gone(ends, n1, since)}
        named = "n1" in job.runs[0].text()
        ends.close()
        return {**found, "named": "yes" if named else "no"}


def sigterm_is_ignored(hosts, launcher, cap):
    """SIGTERM to n0's launcher while workers ignore it, with a grace of 2 s."""
    with jobs.Job(hosts, launcher) as job:
        # torchrun 2.13 knows the variable only.
        ours = launcher.name == "toprun"
        job.idle(on_term="''", options=("--shutdown-timeout", str(GRACE_S)) if ours else (),
                 environment={} if ours else {"TORCH_ELASTIC_SHUTDOWN_TIMEOUT": str(GRACE_S)})
        n0, n1 = by_host(job)
        ends = jobs.Ends(n0 + n1)
        since = time.monotonic()
        job.runs[0].signal(signal.SIGTERM)
        ends.wait(cap)
        found = {"n0": gone(ends, n0, since), "n1": gone(ends, n1, since)}
        ends.close()
        if NEVER not in found.values():
            codes(job, 10)
            time.sleep(0.1)
            found["left"] = sum(len(run.processes()) for run in job.runs)
        return found


def no_meeting(job, cap, word):
    """How an attempt to meet ended that cannot succeed."""
    run = job.runs[0]
    seconds, code = run.ended(cap)
    return {"said": or_never(run.first(word)), "ended": or_never(seconds),
            "lines": len(run.lines), "code": "-" if code is None else str(code)}


def name_does_not_resolve(hosts, launcher, cap):
    with jobs.Job(hosts, launcher) as job:
        job.start("--no-python", "true", endpoint="nosuchhost.invalid", hosts=["n0"],
                  options=["--rdzv-conf", f"join_timeout={QUICK_JOIN_S}"])
        return no_meeting(job, cap, r"nosuchhost\.invalid")


def port_is_silent(hosts, launcher, cap):
    """Something listens on the port that never says a word."""
    with jobs.Job(hosts, launcher) as job:
        stranger = support.Run(hosts.on("n0", "python3", "-c", SILENT.format(port=job.port)))
        try:
            time.sleep(1)
            job.start("--no-python", "true", options=["--rdzv-conf", f"join_timeout={QUICK_JOIN_S}"])
            return no_meeting(job, cap, rf"\b{job.port}\b")
        finally:
            stranger.kill_all()
            stranger.process.communicate()


def own_name_is_unknown(hosts, launcher, cap):
    """On hosts whose own name does not resolve: from the start to the last worker's exec."""
    with jobs.Job(hosts, launcher) as job:
        began = jobs.boot_time()
        job.start_idle(endpoint="10.77.0.1")
        deadline = time.monotonic() + cap
        while len(workers := job.workers()) < 2 * jobs.NPROC:
            ended = all(run.process.poll() is not None for run in job.runs)
            if ended or time.monotonic() > deadline:
                return {"started": FAILED if ended else NEVER, "codes": codes(job, 0)}
            time.sleep(0.02)
        return {"started": max(jobs.started_at(pid) for pid, _ in workers.values()) - began,
                "codes": "started"}


def local(launcher, *words):
    return [*launcher.command, "--nnodes", "1", "--nproc-per-node", str(RANKS), *words]


def script_is_missing(_, launcher, cap):
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "TMPDIR": folder,
                       "PYTHON_EXEC": support.python()}
        start = time.perf_counter()
        done = subprocess.run(local(launcher, f"{folder}/missing.py"), env=environment, text=True,
                              capture_output=True, timeout=cap)
        return {"ended": time.perf_counter() - start, "code": str(done.returncode),
                "lines": len((done.stdout + done.stderr).splitlines())}


def folders_left(_, launcher, cap):
    """What one start leaves in the folder for temporary files."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "TMPDIR": folder}
        subprocess.run(local(launcher, "--no-python", "true"), env=environment, timeout=cap,
                       capture_output=True, check=True)
        return {"left": len(list(pathlib.Path(folder).iterdir()))}
