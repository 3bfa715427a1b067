"""Twelve kinds of hang of two ranks: the truth beside toprun's verdict and PyTorch's own analyser's."""

import json
import os
import signal

from .findings import CANNOT_TELL, DIFFERS, OK
from .scene import NotHere, own_lines, shown

START_S = 60
LIMIT_S = 4  # of --hang-timeout
END_S = 30   # from the limit to the end of the run
# Kind: what hangs, whether Gloo can hang so too. The last rank is guilty; of two that call something else, none stands out.
RANKS_OF = {"order": 3}
KINDS = {
    "sleeps": ("a rank that sleeps before all_reduce", True),
    "order": ("another order of collectives on one rank", True),
    "size": ("another size on one rank", False),
    "type": ("another type on one rank", False),
    "loads": ("a rank stuck in a data loader", True),
    "locks": ("a rank in a lock", True),
    "stopped": ("a rank stopped by SIGSTOP", True),
    "spins": ("a rank that spins", True),
    "child": ("a rank that waits for a child", True),
    "init": ("init_process_group without one rank", True),
    "recv": ("a recv whose sender sleeps", True),
    "kernel": ("a rank whose GPU computes for ever", False),
}


def hang(kind):
    what, with_gloo = KINDS[kind]
    ranks = RANKS_OF.get(kind, 2)

    def check(scene):
        scene.needs_torch()
        if not with_gloo:
            scene.needs_gpu("Gloo ends the rank in place of hanging" if kind != "kernel" else "no kernel")
        folder, dumps = scene.folder(), scene.folder(keep_as=f"hang-{kind}")
        report = dumps / "report.json"
        words, env = scene.job(f"hang:{kind}", "--hang-timeout", LIMIT_S, "--on-hang", "abort", "--report", report,
                               "--log-dir", dumps / "logs", ranks=ranks, folder=folder)
        run = scene.start(*words, env=env)
        if kind == "stopped":
            try:
                scene.until((folder / "begun").exists, START_S, "the job runs")
                os.kill(int((folder / "begun").read_text()), signal.SIGSTOP)
            except TimeoutError:
                pass  # what follows says so
        done = run.wait(min(START_S + LIMIT_S + END_S, scene.left()))
        verdict, said = judged(kind, ranks - 1, done, report)
        said += f"\nfr_trace: {analysed(scene, dumps)}"
        return verdict, f"rank {ranks - 1} is named", f"{said}\n{own_lines(done.text)}", shown(words, env)
    check.__doc__ = f"hang: {what}"
    return check


def judged(kind, guilty, done, report):
    attempts = json.loads(report.read_text())["attempts"] if report.exists() else []
    found = attempts[-1]["hang"] if attempts else None
    if found is None:
        if kind in ("size", "type") and '"done"' in done.out:
            return CANNOT_TELL, "NCCL did not mind: the job ended by itself"
        if f"rank {guilty} " in own_lines(done.text):
            return OK, "no hang, but a failure that names the rank"
        return DIFFERS, f"no hang was seen; exit code {done.code}"
    suspects = {one["rank"] for one in found["suspects"]}
    said = f"suspects {sorted(suspects)}: {found['what']}\nevidence: {json.dumps(found.get('evidence'))}"
    if suspects == {guilty}:
        return OK, said
    return (CANNOT_TELL if not suspects or guilty in suspects else DIFFERS), said


def analysed(scene, dumps):
    """PyTorch's own analyser of the recorders' dumps, and toprun's, of the same files."""
    folders = [folder for folder in dumps.rglob("*_dumps") if any(folder.iterdir())]
    if not folders:
        return "the recorders left no dumps"
    ours = scene.run(scene.toprun, "stacks", "--dumps", folders[0], limit=10)
    names = sorted(one.name for one in folders[0].iterdir())
    prefix = names[0].rstrip("0123456789")
    theirs = scene.run(scene.python, "-m", "torch.distributed.flight_recorder.fr_trace", folders[0], "-p", prefix,
                       limit=30)
    return f"{theirs.text.strip()}\nstacks --dumps: {ours.text.strip()}"


def watchdog(scene):
    """NCCL's time-out: the rank that never came is named, and the dumps are kept."""
    scene.needs_torch()
    scene.needs_gpu("Gloo has no watchdog")
    dumps = scene.folder(keep_as="watchdog")
    command, done = scene.run_job("hang:sleeps", "--hang-timeout", "120", "--log-dir", dumps, limit=START_S + 45,
                                env={"GPU_CHECK_TIMEOUT_S": "10"})
    text = own_lines(done.text)
    good = done.code not in (0, None) and "rank 1" in text
    return ((OK if good else DIFFERS), "toprun looks at once when exception_dump is written, and names rank 1",
            f"{text}\nfr_trace: {analysed(scene, dumps)}", command)


def ras(scene):
    """NCCL's RAS thread is asked in a hang, and what it says is in the report."""
    scene.needs_torch()
    scene.needs_gpu("Gloo has no RAS")
    report = scene.folder(keep_as="ras") / "report.json"
    words, env = scene.job("hang:recv", "--hang-timeout", LIMIT_S, "--on-hang", "abort", "--report", report, "-v")
    done = scene.run(*words, limit=START_S + LIMIT_S + END_S, env=env)
    if not report.exists():
        raise NotHere(f"no report was written: {own_lines(done.text)}")
    evidence = (json.loads(report.read_text())["attempts"][-1]["hang"] or {}).get("evidence") or []
    asked = [one for one in evidence if "nccl" in str(one.get("source", "")).lower()]
    return ((OK if asked else CANNOT_TELL), "evidence of NCCL's RAS (JSON from NCCL 2.28.7 on)",
            f"{json.dumps(evidence)}\n{own_lines(done.text)}", shown(words, env))


def stacks(scene):
    """stacks of a rank that waits for its GPU: the line that waits is named."""
    scene.needs_torch()
    folder = scene.folder()
    report = folder / "report.json"
    words, env = scene.job("waits_for_the_gpu", "--report", report, ranks=1, folder=folder)
    run = scene.start(*words, env=env)
    try:
        scene.until((folder / "ready0").exists, START_S, "the rank runs")
        asks = [scene.toprun, "stacks", report]
        looked = scene.until(lambda: (one := scene.run(*asks, limit=15)).code == 0 and "waits_for_the_gpu" in one.out
                             and one, 20, "stacks names the line")
    finally:
        scene.end(run)
    return OK, "ranks.py in waits_for_the_gpu", looked.out, shown(asks)
