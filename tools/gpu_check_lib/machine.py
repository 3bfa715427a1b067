"""What this machine is: its GPUs by its own words, and a Python that has torch."""

import glob
import json
import os
import platform
import shutil
import subprocess

ASKS_TORCH = """
import json, torch
cuda = torch.cuda.is_available()
print(json.dumps({"torch": torch.__version__, "cuda": torch.version.cuda, "gpus": torch.cuda.device_count(),
                  "name": torch.cuda.get_device_name(0) if cuda else None,
                  "nccl": ".".join(map(str, torch.cuda.nccl.version())) if cuda else None}))
"""
LIMIT_S = 60


def answer(argv, **options):
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL, **options)
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, str(error)
    return (done.stdout if done.returncode == 0 else None), done.stdout + done.stderr


def pythons(named):
    folders = [os.environ.get("VIRTUAL_ENV"), os.environ.get("CONDA_PREFIX"), "/opt/conda", "/opt/venv", "/usr/local"]
    found = [named] if named else [f"{folder}/bin/python3" for folder in folders if folder]
    found += [] if named else [shutil.which("python3"), shutil.which("python")]
    return list(dict.fromkeys(path for path in found if path and os.path.exists(path)))


def find_torch(named):
    """A Python with torch, best one that sees a GPU, and what torch says of itself; (None, why) without."""
    best, why = None, []
    for python in pythons(named):
        out, text = answer([python, "-c", ASKS_TORCH])
        try:
            facts = json.loads((out or "").splitlines()[-1])
        except (IndexError, ValueError):
            why.append(f"{python}: {(text.strip().splitlines() or ['no answer'])[-1]}")
            continue
        if facts["gpus"]:
            return python, facts
        best = best or (python, facts)
    return best or (None, {"why": "; ".join(why) or "no Python was found"})


def devices():
    """GPUs by the driver's device files, which nothing of ours or of torch's has counted."""
    return len(glob.glob("/dev/nvidia[0-9]*"))


def describe(toprun, python, torch_facts, environment):
    version, _ = answer([toprun, "version"])
    smi, why = answer(["nvidia-smi", "--query-gpu=name,driver_version,memory.total,pci.bus_id", "--format=csv,noheader"],
                      env=environment)
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    return {
        "toprun": (version or "?").splitlines()[0], "host": platform.node(),
        "system": f"{platform.platform()}, {platform.machine()}", "CPU": f"{len(os.sched_getaffinity(0))} × {cpu}",
        "GPU, by nvidia-smi": smi.strip() if smi else f"none: {why.strip()}", "device files": devices(),
        "Python": python or "none with torch",
        **({f"torch: {name}": value for name, value in torch_facts.items()}),
    }
