"""Dumps of Gloo's ranks in the form that ProcessGroupNCCL gives them, and what PyTorch's own analyser finds in these.

NCCL's dumps cannot be made without a GPU. By PyTorch's source they differ from Gloo's in this:
- pg_config has each group whose communicator was made, by name, with its ranks; Gloo's has one without a name;
- a send or receive is an entry: it counts in p2p_seq_id, and bears the number of the last collective. Those of a batch
  count once and have no state of their own; an entry `nccl:coalesced` behind them has it, and is_p2p = False;
- an entry is "completed" when its end was seen; Gloo's stay "scheduled" and are retired when they end;
- pg_status has the number of the last call, collective or not, where Gloo counts both together.
"""

import argparse
import json
import logging
import pickle

from torch.distributed.flight_recorder.components import builder, utils

utils.tabulate = lambda table, headers=None: ""  # a package that it needs for calls that were started at once


def transfer_entry(like, transfer, group, number, collective):
    return {**like, "pg_id": group["pg_id"], "process_group": group["process_group"],
            "profiling_name": "nccl:" + transfer["name"],
            "collective_seq_id": collective, "p2p_seq_id": number, "is_p2p": True,
            "input_sizes": transfer["sizes"], "output_sizes": transfer["sizes"],
            "input_dtypes": ["Float"], "output_dtypes": ["Float"]}


class Rank:
    """Turns what Gloo recorded of a rank into NCCL's form."""

    def __init__(self, dump, noted):
        self.dump, self.noted = dump, noted
        self.entries, self.ids, self.p2p, self.collectives, self.status = [], {}, {}, {}, {}
        for entry in dump["entries"]:
            self.ids[entry["process_group"]] = entry["pg_id"]
        self.batch = []

    def form(self):
        left = list(self.noted["transfers"])
        for place, entry in enumerate(self.dump["entries"]):
            while left and left[0]["before"] <= place:
                self.add_transfer(left.pop(0), left)
            self.add_collective(entry)
        while left:
            self.add_transfer(left.pop(0), left)
        for number, entry in enumerate(self.entries):
            entry["record_id"] = number
        return {**self.dump, "entries": self.entries, "pg_config": self.config(), "pg_status": self.status}

    def note_status(self, entry, number):
        status = self.status.setdefault(str(entry["pg_id"]), {
            "last_enqueued_collective": -1, "last_started_collective": -1, "last_completed_collective": -1})
        status["last_enqueued_collective"] = number
        if entry["state"] == "completed":
            status["last_completed_collective"] = number

    def add_collective(self, entry):
        entry = {**entry, "profiling_name": entry["profiling_name"].replace("gloo:", "nccl:"),
                 "p2p_seq_id": self.p2p.get(entry["pg_id"], 0),
                 "state": "completed" if entry["retired"] else "scheduled"}
        self.collectives[entry["pg_id"]] = entry["collective_seq_id"]
        self.note_status(entry, entry["collective_seq_id"])
        self.entries.append(entry)

    def add_transfer(self, transfer, left):
        group = (transfer["group"], transfer["description"])
        id = self.ids.setdefault(group, 100 + len(self.ids))
        is_first = not self.batch
        if transfer["batch"] is None or is_first:
            self.p2p[id] = self.p2p.get(id, 0) + 1
        like = {"pg_id": id, "process_group": group, "op_id": 0, "thread_name": "", "thread_id": "",
                "time_created_ns": 0, "timeout_ms": 0, "state": "scheduled", "retired": False,
                "time_discovered_started_ns": None, "time_discovered_completed_ns": None}
        entry = transfer_entry(like, transfer, like, self.p2p[id], self.collectives.get(id, 0))
        if transfer["batch"] is None:
            entry["state"] = "completed" if transfer["ended"] else "scheduled"
            entry["retired"] = transfer["ended"]
            self.note_status(entry, self.p2p[id])
            self.entries.append(entry)
            return
        self.entries.append(entry)
        self.batch.append(transfer)
        if left and left[0]["batch"] == transfer["batch"]:
            return
        ended = all(one["ended"] for one in self.batch)
        end = {**entry, "profiling_name": "nccl:coalesced", "is_p2p": False, "input_sizes": [], "output_sizes": [],
               "input_dtypes": [], "output_dtypes": [], "state": "completed" if ended else "scheduled",
               "retired": ended}
        self.note_status(end, self.p2p[id])
        self.entries.append(end)
        self.batch = []

    def config(self):
        """The newest of a name; the recorder keys them by name and description, and gives the first description."""
        config = {}
        for name, made in self.noted["groups"].items():
            description, ranks = made[-1]
            config[name] = {"name": name, "desc": description, "ranks": str(ranks)}
        return config


def write_forms(folder):
    """FOLDER/raw/JOB/rank_N.{pickle,json} → FOLDER/gloo/JOB/rank_N and FOLDER/nccl/JOB/rank_N."""
    for job in sorted((folder / "raw").iterdir()):
        for form in "gloo", "nccl":
            (folder / form / job.name).mkdir(parents=True)
        for file in job.glob("rank_*.pickle"):
            (folder / "gloo" / job.name / file.stem).write_bytes(file.read_bytes())
            formed = Rank(pickle.loads(file.read_bytes()), json.loads(file.with_suffix(".json").read_text())).form()
            (folder / "nccl" / job.name / file.stem).write_bytes(pickle.dumps(formed, protocol=2))


OPTIONS = argparse.Namespace(verbose=False, just_print_entries=False, allow_incomplete_ranks=True, mismatch_cap=10)


def analysed(folder):
    """What fr_trace says of the dumps in a folder: of each call that it does not match, in its order."""
    logging.disable(logging.CRITICAL)
    details = {}
    for file in folder.iterdir():
        dump = pickle.loads(file.read_bytes())
        details[file.name] = {"host_name": file.name, "rank": int(file.name.split("_")[1]), "entries": dump["entries"],
                              "version": dump["version"], "pg_config": dump["pg_config"]}
    try:
        found = builder.build_db(dict(sorted(details.items())), OPTIONS, "2.10")
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:120]}
    return {"calls": [{
        "group": one.pg_desc, "operation": one.collective_name, "sequence": one.collective_seq_id,
        "missing": sorted(one.missing_ranks or ()),
        "mismatch": {str(rank): str(other.type_of_mismatch)
                     for rank, other in (one.mismatch_collectives or {}).items()},
    } for one in found.collectives if one.missing_ranks or one.mismatch_collectives]}


def analyse_all(folder):
    all = {job.name: analysed(job) for job in sorted((folder / "nccl").iterdir())}
    (folder / "fr_trace.json").write_text(json.dumps(all, indent=1))
