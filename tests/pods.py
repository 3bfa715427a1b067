"""Pods as operators start them, and a cluster that runs them on virtual hosts.

No Kubernetes runs here: a pod is a process in a mount and UTS namespace of its own on a virtual host,
with the host name, the /etc/hosts and resolv.conf that kubelet writes, and the variables that the
operator sets. A DNS server on one more host knows the pods' names, as the cluster's does. Virtual hosts
run on one kernel: the boot id that a pod reads, and the GPUs that it sees, are files of the test's.
"""

import dataclasses
import os
import re
import sys

import cluster
import support

SERVICE = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}
SUFFIX = "default.svc.cluster.local"
# /etc/resolv.conf may be a link into /run, which is empty on a virtual host.
ENTER = """hostname "$1" && mount --bind "$2/hosts" /etc/hosts || exit
to=$(readlink -m /etc/resolv.conf) && mkdir -p "${to%/*}" && { [ -e "$to" ] || >"$to"; }
mount --bind "$2/resolv.conf" "$to" && mount --bind "$2/boot_id" /proc/sys/kernel/random/boot_id || exit
if [ -e "$2/driver" ]; then
  mount --bind "$2/driver" /proc/driver && mount --bind "$2/drivers" /sys/bus/pci/drivers || exit
fi
shift 2 && exec "$@"
"""
RESOLV = f"""search {SUFFIX} svc.cluster.local cluster.local
nameserver %s
options ndots:5
"""
# Answers A by a file of `NAME ADDRESS` lines, AAAA with nothing, and what is not there with NXDOMAIN
# (RFC 1035 section 4).
DNS = """
import pathlib, socket, sys
names = pathlib.Path(sys.argv[1])
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("", 53))
names.with_suffix(".up").touch()
while True:
    query, client = server.recvfrom(512)
    end, labels = 12, []
    while query[end]:
        labels.append(query[end + 1:end + 1 + query[end]].decode().lower())
        end += 1 + query[end]
    question, is_a = query[12:end + 5], query[end + 1:end + 3] == bytes([0, 1])
    address = dict(line.split() for line in names.read_text().splitlines()).get(".".join(labels))
    answer = b""
    if address and is_a:
        answer = bytes([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4]) + socket.inet_aton(address)
    flags = bytes([0x85, 0x80 if address else 0x83])
    server.sendto(query[:2] + flags + bytes([0, 1, 0, bool(answer), 0, 0, 0, 0]) + question + answer, client)
"""


@dataclasses.dataclass
class Pod:
    name: str
    env: dict
    service: str = ""       # the headless service that names it
    per_pod: int = 1        # processes that the environment asks for
    machine: str = ""       # whose kernel it runs on; else the virtual host's own
    gpus: int = 0           # that it has …
    machine_gpus: int = 0   # … of so many that its machine has

    def dns_name(self):
        """That of the operator's Service of the pod's own name, or of the headless service."""
        return ".".join(filter(None, [self.name, self.service, SUFFIX]))


def role(i, job="job"):
    return f"{job}-master-0" if i == 0 else f"{job}-worker-{i - 1}"


def hosts(pattern, count):
    return ",".join(pattern.format(i) for i in range(count))


def pytorchjob_1_6(n, i, job="job"):
    """training-operator v1.6, pkg/controller.v1/pytorch/envvar.go: WORLD_SIZE is pods"""
    return Pod(role(i, job), {"PYTHONUNBUFFERED": "0", "MASTER_PORT": "23456", "MASTER_ADDR": role(0, job),
                              "WORLD_SIZE": n, "RANK": i})


def pytorchjob_1_7(n, i, job="job", per_pod="2"):
    """training-operator v1.7 to v1.9 with nprocPerNode 2: WORLD_SIZE is pods times that"""
    pod = pytorchjob_1_6(n, i, job)
    is_number = per_pod.isdigit()
    pod.env.update(WORLD_SIZE=int(per_pod) * n if is_number else n, PET_MASTER_PORT=23456,
                   PET_MASTER_ADDR=role(0, job), PET_NPROC_PER_NODE=per_pod, PET_NODE_RANK=i, PET_NNODES=n)
    pod.per_pod = int(per_pod) if is_number else len(os.sched_getaffinity(0))
    return pod


def pytorchjob_1_7_cpu(n, i):
    """… with nprocPerNode cpu: WORLD_SIZE is pods"""
    return pytorchjob_1_7(n, i, per_pod="cpu")


def pytorchjob_elastic(n, i, job="job", least=None, restarts=3):
    """… with an elasticPolicy (elastic.go) and no Master"""
    return Pod(f"{job}-worker-{i}", {
        "PET_RDZV_ENDPOINT": f"{job}-worker-0:23456", "PET_RDZV_BACKEND": "c10d", "PET_RDZV_ID": job,
        "PET_NNODES": f"{least or n}:{n}", "PET_MAX_RESTARTS": restarts, "PET_STANDALONE": ""})


def runai(n, i):
    """Run:AI 2.13 (docs: best-practices/env-variables), WORLD_SIZE is pods"""
    pod = pytorchjob_1_6(n, i)
    pod.env.update(JOB_NAME="job", JOB_UUID="5f0c", POD_UUID=f"77{i}", POD_INDEX=i, RUNAI_NUM_OF_GPUS=0)
    return pod


def trainjob(n, i, job="job", per_pod="2"):
    """trainer v2.0, pkg/runtime/framework/plugins/torch/torch.go"""
    return Pod(f"{job}-node-0-{i}", {
        "PET_NNODES": n, "PET_NPROC_PER_NODE": per_pod, "PET_NODE_RANK": i, "PET_MASTER_PORT": 29500,
        "PET_MASTER_ADDR": f"{job}-node-0-0.{job}", "JOB_COMPLETION_INDEX": i}, job,
        int(per_pod) if per_pod.isdigit() else 1)


def volcano(n, i):
    """Volcano 1.8, plugins pytorch, svc and env"""
    return Pod(role(i), {
        "MASTER_ADDR": "job-master-0.job", "MASTER_PORT": 23456, "WORLD_SIZE": n, "RANK": i,
        "VC_MASTER_HOSTS": "job-master-0.job", "VC_MASTER_NUM": 1, "VC_WORKER_NUM": n - 1,
        "VC_WORKER_HOSTS": hosts("job-worker-{}.job", n - 1), "VC_TASK_INDEX": max(0, i - 1)}, "job")


def volcano_one_task(n, i):
    """… svc and env, one task"""
    return Pod(f"job-train-{i}", {"VC_TRAIN_HOSTS": hosts("job-train-{}.job", n), "VC_TRAIN_NUM": n,
                                  "VC_TASK_INDEX": i, "VK_TASK_INDEX": i}, "job")


def leader_worker_set(n, i):
    """LeaderWorkerSet v0.6"""
    return Pod("set-0" if i == 0 else f"set-0-{i}", {
        "LWS_LEADER_ADDRESS": "set-0.set.default", "LWS_GROUP_SIZE": n, "LWS_WORKER_INDEX": i}, "set")


def jobset(n, i):
    """JobSet v0.8; the manifest says how many"""
    return Pod(f"set-workers-0-{i}", {"JOB_COMPLETION_INDEX": i, "PET_NNODES": n}, "set")


def indexed_job(n, i):
    """batch/v1, completionMode Indexed, with subdomain; the manifest says how many"""
    return Pod(f"train-{i}", {"JOB_COMPLETION_INDEX": i, "PET_NNODES": n}, "peers")


def stateful_set(n, i):
    """apps/v1; the manifest says how many"""
    return Pod(f"web-{i}", {"PET_NNODES": n}, "peers")


KINDS = [pytorchjob_1_6, pytorchjob_1_7, pytorchjob_1_7_cpu, pytorchjob_elastic, runai, trainjob, volcano,
         volcano_one_task, leader_worker_set, jobset, indexed_job, stateful_set]


class PodCase(cluster.TestCase):
    UP = ("--hosts", "4", "--racks", "1")

    @classmethod
    def setUpClass(cls):
        support.needs_root()
        super().setUpClass()

    def setUp(self):
        self.place = self.folder()
        self.names = self.place / "names"
        self.pods = 0
        self.forget_pods()
        self.start("ctl", sys.executable, "-c", DNS, self.names)
        hosts = self.on("n0", "cat", "/etc/hosts").out
        server = re.search(r"(?m)^(\S+)\s+ctl\b", hosts)[1]
        (self.place / "resolv.conf").write_text(RESOLV % server)
        cluster.wait_for(self.names.with_suffix(".up").exists, "the DNS server")

    def forget_pods(self):
        self.resolved = {}      # name → address
        self.write_names()

    def publish(self, pod, node):
        """From now on every pod finds this one on host n<node>."""
        self.resolved[pod.dns_name()] = f"10.77.0.{node + 1}"
        self.write_names()

    def write_names(self):
        new = self.names.with_suffix(".new")
        new.write_text("".join(f"{name} {address}\n" for name, address in self.resolved.items()))
        new.rename(self.names)

    def start_pod(self, pod, node, *words, program=support.TOPRUN):
        """Starts toprun in the pod, on host n<node>; its name resolves from then on."""
        variables = {**SERVICE, "HOSTNAME": pod.name, "OMP_NUM_THREADS": 1, **pod.env}
        return self.start(f"n{node}", *self.pod_words(pod, node), "env",
                          *(f"{name}={value}" for name, value in variables.items()), program, *words)

    def pod_words(self, pod, node):
        """What comes before a command on host n<node> to run it in the pod, whose name resolves from now on."""
        self.publish(pod, node)
        own = self.place / f"pod-{self.pods}"
        self.pods += 1
        own.mkdir()
        (own / "resolv.conf").write_text((self.place / "resolv.conf").read_text())
        full = pod.dns_name() + "\t" if pod.service else ""
        (own / "hosts").write_text(f"127.0.0.1\tlocalhost\n10.77.0.{node + 1}\t{full}{pod.name}\n")
        (own / "boot_id").write_text(f"{pod.machine or node}\n")
        if pod.machine_gpus:
            for place, count in [("driver/nvidia/gpus", pod.gpus), ("drivers/nvidia", pod.machine_gpus)]:
                for gpu in range(count):
                    (own / place / f"0000:{gpu}0:00.0").mkdir(parents=True)
        return ["unshare", "--mount", "--uts", "sh", "-c", ENTER, "pod", pod.name, own]

    def start_job(self, kind, count, *words):
        pods = [kind(count, i) for i in range(count)]
        for i, pod in enumerate(pods):
            self.publish(pod, i)
        return [self.start_pod(pod, i, *words) for i, pod in enumerate(pods)]

    def ends(self, runs, limit=60):
        finished = [run.wait(limit) for run in runs]
        for run in runs:
            self.assert_nothing_left(run)
        return finished
