"""What the long job's agents and keepers hold, what lies in the soak's folders, and whether any of it grows."""

import os
import pathlib
import statistics

from soak_lib import apart

TOLERANCE_KIB, TOLERANCE_SHARE = 256, 0.02  # of one process's memory
OF_CLUSTER = "/tmp/toprun-vcluster-"
TOLERANCES = {"private": TOLERANCE_KIB, "pss": TOLERANCE_KIB, "descriptors": 0, "threads": 0}


def processes():
    return {int(path.name) for path in pathlib.Path("/proc").iterdir() if path.name.isdigit()}


def alive(pid):
    """Neither gone nor a zombie, and no thread of the kernel."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def words(pid):
    """Its command line; empty if it is gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
    except OSError:
        return []


def parent(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def of_process(pid):
    """{what: amount}, memory in KiB."""
    proc = pathlib.Path("/proc", str(pid))
    rows = dict(line.split(":", 1) for line in (proc / "smaps_rollup").read_text().splitlines()[1:])
    kib = {name: int(text.split()[0]) for name, text in rows.items()}
    return {"private": kib["Private_Clean"] + kib["Private_Dirty"], "pss": kib["Pss"],
            "descriptors": len(os.listdir(proc / "fd")), "threads": len(os.listdir(proc / "task"))}


def files():
    """Every path in the soak's own folders but the cluster's, whose Slurm writes its state there."""
    return {path for folder in apart.OWN_FOLDERS for above, folders, names in os.walk(folder)
            for name in (*folders, *names) if not (path := os.path.join(above, name)).startswith(OF_CLUSTER)}


def growth(values):
    """The last third's median, less the second third's."""
    third = len(values) // 3
    return statistics.median(values[-third:]) - statistics.median(values[-2 * third:-third])


def most(what, values):
    """The most that it may grow by."""
    share = TOLERANCE_SHARE if what in ("private", "pss") else 0
    return max(TOLERANCES[what], share * statistics.median(values))


def worst(samples, what):
    """(growth, limit, role) of the process that grows most beyond its limit. PSS depends on who else
    runs the same binary, so it is shown and not judged."""
    rows = []
    for role in samples[0]["of"]:
        values = [sample["of"][role][what] for sample in samples]
        rows.append((growth(values), most(what, values), role))
    return max(rows, key=lambda row: row[0] - row[1])
