"""The whole of gpu_check: options, checks by a few at a time, the report."""

import argparse
import concurrent.futures
import os
import pathlib
import signal
import sys
import tarfile
import tempfile
import time
import traceback

from . import checks_figures, checks_hangs, checks_launch, findings, machine, rehearsal
from .findings import CANNOT_TELL, DIFFERS, NOT_RUN, Finding
from .scene import NotHere, Scene

BUDGET_S = 330
MOST_EVIDENCE_BYTES = 20_000_000
# In order of worth: what comes last is left out when the time is over. The first ones measure, so they run alone.
ALONE = {
    "count": checks_launch.count, "doctor": checks_launch.doctor, "binding": checks_launch.binding,
    "ddp-1": checks_launch.trains(1), "bench-1": checks_figures.bench_one, "bench-2": checks_figures.bench_two,
    "bench-torch": checks_figures.beside_torch, "figures": checks_figures.figures,
}
TOGETHER = {
    "ddp-4": checks_launch.trains(4), "proof": checks_launch.proof,
    **{f"hang-{kind}": checks_hangs.hang(kind) for kind in checks_hangs.KINDS},
    "watchdog": checks_hangs.watchdog, "ras": checks_hangs.ras, "stacks": checks_hangs.stacks,
    "restart": checks_launch.restart, "warm": checks_launch.warm, "warm-cuda": checks_launch.warm_cuda_at_import,
    "killed": checks_launch.killed, "terminated": checks_launch.terminated,
}
CHECKS = {**ALONE, **TOGETHER}


def program(word):
    """A path from the current folder, as the checks run in folders of their own; a bare name is looked up in PATH."""
    return os.path.abspath(word) if "/" in word else word


def arguments(words):
    parser = argparse.ArgumentParser(prog="gpu_check", description=(
        "Tries toprun with a real GPU, NCCL and CUDA, and writes report.md, report.json and the evidence into a folder. "
        f"It takes {BUDGET_S // 60 + 1} minutes at most, needs toprun (and toprun-bench beside it) and a Python with torch, "
        "and leaves nothing running. The exit code is 0 if nothing differs, 1 if something does, 2 if it could not begin."))
    parser.add_argument("folder", help="the report and the evidence go there; it is made")
    here = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--toprun", type=program, default=os.environ.get("TOPRUN", str(here / "build/release/toprun")))
    parser.add_argument("--python", type=program, default=os.environ.get("PYTHON", ""), help="a Python with torch (default: found)")
    parser.add_argument("--rehearse", action="store_true", help="without a GPU: Gloo and stand-ins in its place")
    parser.add_argument("--only", metavar="CHECK,...", help=f"of {', '.join(CHECKS)}")
    parser.add_argument("--budget", metavar="SECONDS", type=int, default=BUDGET_S, help="for all checks (%(default)s)")
    return parser.parse_args(words)


def chosen(only):
    names = only.split(",") if only else list(CHECKS)
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        raise SystemExit(f"gpu_check: there is no check {unknown[0]}; --help lists them")
    return names


def tried(name, scene):
    check = CHECKS[name]
    what = " ".join((check.__doc__ or name).split())
    began = time.monotonic()

    def finding(verdict, expected="", seen="", command=""):
        return Finding(name, what, verdict, expected, seen, command, time.monotonic() - began)

    if scene.stopped or scene.left() <= 0:
        return finding(NOT_RUN, seen="the time was over")
    try:
        return finding(*check(scene))
    except NotHere as error:
        return finding(NOT_RUN, seen=str(error))
    except TimeoutError as error:
        return finding(DIFFERS if scene.left() > 0 else NOT_RUN, seen=str(error))
    except Exception:  # a check that is broken is a finding too, and stops no other
        return finding(CANNOT_TELL, "the check ends", traceback.format_exc())


def try_all(names, scene, tell):
    found = []

    def done(one):
        found.append(one)
        tell(one)

    for name in names:
        if name in ALONE:
            done(tried(name, scene))
    workers = max(1, min(4, len(os.sched_getaffinity(0)) // 2 + 1))
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        jobs = [pool.submit(tried, name, scene) for name in names if name in TOGETHER]
        for job in concurrent.futures.as_completed(jobs):
            done(job.result())
    return sorted(found, key=lambda one: names.index(one.check))


def write(folder, scene, facts, found, seconds):
    (folder / "report.md").write_text(findings.as_text(facts, found, seconds, scene.rehearsal))
    (folder / "report.json").write_text(findings.as_json(facts, found, seconds, scene.rehearsal))
    (folder / "log.txt").write_text(scene.log.text()[:MOST_EVIDENCE_BYTES])
    smi, why = machine.answer(["nvidia-smi", "-q"], env=scene.environment)
    (folder / "nvidia-smi.txt").write_text(smi or why)
    room = MOST_EVIDENCE_BYTES
    with tarfile.open(folder / "evidence.tar.gz", "w:gz") as archive:
        for name, kept in scene.kept_folders:
            for path in sorted(kept.rglob("*")):
                if path.is_file() and not path.is_symlink() and path.stat().st_size <= room:
                    room -= path.stat().st_size
                    archive.add(path, f"{name}/{path.relative_to(kept)}")


def main(words):
    options = arguments(words)
    names = chosen(options.only)
    folder = pathlib.Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(options.toprun, os.X_OK):
        print(f"gpu_check: {options.toprun} is not a program; build it by `make`, or name it by --toprun", file=sys.stderr)
        return 2
    began = time.monotonic()
    python, torch_facts = machine.find_torch(options.python)
    with tempfile.TemporaryDirectory(prefix="gpu-check-bin-") as stand_ins:
        extra = {}
        if options.rehearse:
            extra = rehearsal.environment(pathlib.Path(stand_ins), options.toprun, os.environ["PATH"])
        scene = Scene(options.toprun, python, torch_facts, options.rehearse, began + options.budget, extra)
        signal.signal(signal.SIGTERM, lambda *_: scene.stop())
        signal.signal(signal.SIGINT, lambda *_: scene.stop())
        facts = machine.describe(options.toprun, python, torch_facts, scene.environment)

        def tell(one):
            print(f"gpu_check: {time.monotonic() - began:4.0f} s  {one.check}: {one.verdict}", file=sys.stderr, flush=True)

        found = try_all(names, scene, tell)
        seconds = time.monotonic() - began
        write(folder, scene, facts, found, seconds)
        left = scene.close()
    print(f"{folder}/report.md: {findings.summary(found)}; {seconds:.0f} s")
    if left:
        print(f"gpu_check: {len(left)} processes were left and have been killed", file=sys.stderr)
    return 1 if left or any(one.verdict == DIFFERS for one in found) else 0
