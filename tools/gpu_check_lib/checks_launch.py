"""Checks of launches: how many ranks, what they compute, how they end and start again."""

import json
import os
import pathlib
import time

from . import machine
from .findings import CANNOT_TELL, DIFFERS, OK
from .scene import HERE, OVER_SOCKETS, RANKS, NotHere, free_port, own_lines, rows, shown

DOCTORS_ERROR = 4
DOCTORS_CODES = (0, 3, DOCTORS_ERROR)
START_S = 60  # import torch, a CUDA context and NCCL, on a busy machine
SHOW_RANK = 'echo "{\\"local_rank\\": $LOCAL_RANK, \\"world\\": $WORLD_SIZE, \\"cpus\\": \\"$(taskset -pc $$)\\"}"'


def count(scene):
    """As many ranks as there are GPUs, by `auto` and by `gpu`."""
    gpus = 0 if scene.rehearsal else machine.devices()
    expected = gpus or len(os.sched_getaffinity(0))
    words = [scene.toprun, "--standalone", "--nproc-per-node", "auto", "--no-python", "sh", "-c", SHOW_RANK]
    done = scene.run(*words, limit=20)
    worlds = {row["world"] for row in rows(done.out)}
    seen = done.text
    good = done.code == 0 and worlds == {expected} and len(rows(done.out)) == expected
    if gpus:
        words[4] = "gpu"
        again = scene.run(*words, limit=20)
        seen += again.text
        good = good and again.code == 0 and len(rows(again.out)) == gpus
    return (OK if good else DIFFERS), f"{expected} ranks, exit code 0", seen, shown(words)


def binding(scene):
    """--numa-binding node: ranks run on the CPUs near their GPU, as /sys tells."""
    scene.needs_gpu("nothing to be near to")
    out, _ = machine.answer(["nvidia-smi", "--query-gpu=pci.bus_id", "--format=csv,noheader"])
    if not out:
        raise NotHere("nvidia-smi does not tell the GPU's address")
    address = out.split()[0].lower()[-12:]
    near = pathlib.Path(f"/sys/bus/pci/devices/{address}/local_cpulist")
    if not near.exists():
        raise NotHere(f"{near} is not there")
    words = [scene.toprun, "--standalone", "--nproc-per-node", "1", "--numa-binding", "node", "--no-python", "sh", "-c",
             SHOW_RANK]
    done = scene.run(*words, limit=20)
    cpus = {row["cpus"].rsplit(": ", 1)[-1] for row in rows(done.out)}
    allowed = cpu_set(near.read_text().strip()) & os.sched_getaffinity(0)
    good = done.code == 0 and len(cpus) == 1 and cpu_set(cpus.pop()) <= allowed
    return (OK if good else DIFFERS), f"CPUs of {near.read_text().strip()} (those allowed here)", done.text, shown(words)


def cpu_set(text):
    found = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def trains(ranks):
    def check(scene):
        scene.needs_torch()
        command, done = scene.run_job("train", ranks=ranks, limit=START_S)
        found = rows(done.out)
        apart = [row["apart"] for row in found if "apart" in row]
        good = done.code == 0 and len(apart) == ranks and max(apart) < 1e-4
        return ((OK if good else DIFFERS), f"exit code 0, {ranks} × DDP as one process alone has it (apart < 1e-4)",
                done.text, command)
    check.__doc__ = f"DDP, {ranks} rank{'s of which each is a host to NCCL' if ranks > 1 else ''}"
    return check


def warm(scene):
    """--warm: ranks are forks of a parent that has imported torch and not touched CUDA."""
    scene.needs_torch()
    command, done = scene.run_job("train", "--warm", "-v", limit=START_S)
    left_out = "--warm is left out" in done.text
    good = done.code == 0 and len(rows(done.out)) == 2 and not left_out
    return (OK if good else DIFFERS), "exit code 0, and no line says that --warm is left out", done.text, command


def warm_cuda_at_import(scene):
    """--warm with an import that initialises CUDA: the ranks start cold, and a line says so."""
    scene.needs_torch()
    env = {"PYTHONPATH": str(HERE / "installed")}
    words = [scene.toprun, "--standalone", "--nproc-per-node", "1", "--warm=torch,opens_the_gpu",
             HERE / "initialises_cuda.py"]
    done = scene.run(*words, limit=START_S, env=env)
    if not scene.on_gpu:
        return CANNOT_TELL, "exit code 0; without a GPU nothing is initialised", done.text, shown(words, env)
    good = done.code == 0 and "8.0" in done.out and "--warm is left out" in done.text
    return (OK if good else DIFFERS), "exit code 0, 8.0, and why --warm is left out", done.text, shown(words, env)


def restart(scene):
    """A device-side assertion in the first attempt, one restart."""
    scene.needs_torch()
    report = scene.folder() / "report.json"
    command, done = scene.run_job("fails_once", "--max-restarts", "1", "--report", report, limit=2 * START_S)
    attempts = json.loads(report.read_text())["attempts"] if report.exists() else []
    cause = attempts[0]["cause"] if attempts else None
    good = (done.code == 0 and len(attempts) == 2 and cause["rank"] == 1
            and sum("done" in row for row in rows(done.out)) == 2
            and "assert" in (json.dumps(cause) + done.text))
    return ((OK if good else DIFFERS), "rank 1 is the cause, its words tell of the assertion, the second attempt ends with 0",
            f"{json.dumps(cause)}\n{done.text}", command)


def killed(scene):
    """SIGKILL for a rank: 137, its name, and the GPU's memory is free again."""
    scene.needs_torch()
    before = memory_used()
    command, done = scene.run_job("is_killed", limit=START_S)
    time.sleep(1 if scene.on_gpu else 0)
    after = memory_used()
    good = done.code == 137 and "rank 1" in done.text and "SIGKILL" in done.text
    return ((OK if good else DIFFERS), "exit code 137, rank 1 was killed by SIGKILL",
            f"exit code {done.code}; GPU memory {before} before, {after} MiB after (others may use it too)\n{done.text}",
            command)


def memory_used():
    out, _ = machine.answer(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"])
    return out.strip() if out else None


def terminated(scene):
    """SIGTERM for toprun while its rank uses the GPU: 143, nothing is left."""
    scene.needs_torch()
    folder = scene.folder()
    words, env = scene.job("works", ranks=1, folder=folder)
    run = scene.start(*words, env=env)
    try:
        scene.until((folder / "ready0").exists, START_S, "the rank runs")
    finally:
        began = time.monotonic()
        done = scene.end(run)
    seen = f"exit code {done.code} {time.monotonic() - began:.1f} s later\n{done.text}"
    return (OK if done.code == 143 else DIFFERS), "exit code 143", seen, shown(words, env)


def proof(scene):
    """--fabric-proof on real NCCL lines: two agents, a rank each, over sockets."""
    scene.needs_torch()
    port = str(free_port())
    logs = scene.folder(keep_as="nccl")
    runs = []
    for node in ("0", "1"):
        words = [scene.toprun, "--nnodes", "2", "--nproc-per-node", "1", "--node-rank", node, "--master-addr", "127.0.0.1",
                 "--master-port", port, "--fabric-proof", "on", RANKS, "train", scene.folder()]
        env = {**OVER_SOCKETS, "NCCL_DEBUG": "INFO", "NCCL_DEBUG_FILE": str(logs / f"nccl-{node}.txt")}
        runs.append(scene.start(*words, env={**env, "NCCL_HOSTID": f"host-{node}"}))
    done = [run.wait(min(START_S, scene.left())) for run in runs]
    text = "".join(one.text for one in done)
    if not scene.on_gpu:
        good = all(one.code == 0 for one in done)
        return (OK if good else DIFFERS), "exit code 0; without NCCL nothing to prove", own_lines(text), shown(words, env)
    good = all(one.code == 0 for one in done) and "communicated by Socket" in text
    return ((OK if good else DIFFERS), "2 ranks on 2 nodes communicated by Socket",
            own_lines(text), shown(words, env))


def doctor(scene):
    """doctor and net show: they end, and what they say of the GPU is read by a person."""
    done = scene.run(scene.toprun, "doctor", "--json", limit=30)
    found = parsed(done.out)
    net = scene.run(scene.toprun, "net", "show", "--json", limit=30)
    table = scene.run(scene.toprun, "doctor", limit=30)
    good = done.code in DOCTORS_CODES and "findings" in found and net.code == 0 and "devices" in parsed(net.out)
    verdict = DIFFERS if not good else CANNOT_TELL if done.code == DOCTORS_ERROR else OK
    return (verdict, "exit code 0 or 3 (4: an error, which a person has to judge), JSON; net show: 0, JSON with devices",
            table.text + net.text, shown([scene.toprun, "doctor", "--json"]))


def parsed(text):
    try:
        return json.loads(text)
    except ValueError:
        return {}
