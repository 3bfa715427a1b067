# ctest: TIMEOUT 300 LABELS cluster
"""Heterogeneous jobs (sbatch's ":") on a real Slurm of four virtual hosts in two racks."""

import re
import shlex

import cluster
import support
from cluster import column, shown, shows

TOPRUN = support.TOPRUN
CONNECTS = "exec 3<>/dev/tcp/$MASTER_ADDR/$MASTER_PORT && echo connected"
COMPONENTS = ["-N1 --nodelist=n2 --ntasks-per-node=2", "#SBATCH hetjob",
              "#SBATCH -N2 --nodelist=n[0-1] --ntasks-per-node=1"]


class HetJob(cluster.SlurmCase):
    UP = ("--hosts", "4", "--racks", "2", "--slurm")

    def job(self, *lines):
        return self.sbatch(COMPONENTS[0], *COMPONENTS[1:], *lines)

    def worker(self, *words):
        script = shows("RANK", "LOCAL_RANK", "WORLD_SIZE", "TOPRUN_NODE_NAME", then=CONNECTS)
        return " ".join(f"'{word}'" for word in [TOPRUN, *words, *script[:-1]]) + f" '{script[-1]}'"

    def test_one_agent_on_every_node_of_all_components(self):
        code, text = self.job(self.worker("--order", "scheduler"))
        self.assertEqual(code, 0, text)
        rows = shown(text)
        self.assertEqual(column(rows, "RANK"), ["0", "1", "2", "3"])
        self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), ["n2", "n2", "n0", "n1"])
        self.assertEqual(text.count("connected"), 4)

    def test_ranks_in_place_in_a_step_of_all_components(self):
        code, text = self.job("srun --het-group=0-1 " + self.worker("--order", "scheduler"))
        self.assertEqual(code, 0, text)
        rows = shown(text)
        self.assertEqual(column(rows, "WORLD_SIZE"), ["4"] * 4)
        self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), ["n2", "n2", "n0", "n1"])
        self.assertEqual(column(rows, "LOCAL_RANK"), ["0", "1", "0", "0"])
        self.assertEqual(text.count("connected"), 4)

    def test_a_notice_reaches_the_ranks_of_all_components(self):
        """What the starter passes on by standard input reaches one component only."""
        folder = self.folder()
        script = folder / "handles.sh"
        script.write_text(f'cd {folder}; trap "touch told.$RANK; exit 0" USR1; touch up.$RANK; '
                          f"{support.OBEDIENT}\n")
        code, text = self.job(f"{TOPRUN} --no-python bash {script} & starter=$!",
                              f"until [ $(ls {folder} | grep -c up) = 4 ]; do sleep 0.1; done",
                              "kill -USR1 $starter", "wait $starter")
        self.assertEqual(code, 0, text)
        self.assertEqual(sorted(path.name for path in folder.glob("told.*")),
                         [f"told.{rank}" for rank in range(4)])

    def test_stacks_and_top_of_each_component_s_id(self):
        """The root agent is in the first component; the login host has none of its sockets."""
        hosts = ["n0", "n1", "n2"]
        for host in hosts:
            self.assert_ok(self.on(host, "sh", "-c", "mkdir -p /run/user && mount -t tmpfs none /run/user && "
                                                     "mkdir -m 700 /run/user/0"))
        folder = self.folder()
        script = folder / "job.sh"
        words = self.worker("--order", "scheduler").replace(CONNECTS, "exec sleep 100")
        script.write_text("#!/bin/bash\n" + "\n".join(
            line if line.startswith("#") else f"#SBATCH {line}" for line in COMPONENTS) + f"\n{words}\n")
        submitted = self.login("sbatch", "--parsable", "-o", folder / "out", script)
        self.assert_ok(submitted)
        number = submitted.out.strip()
        for id in number, f"{number}+0", f"{number}+1", str(int(number) + 1):
            with self.subTest(id=id):
                cluster.wait_for(lambda: "4 ranks: 4 run" in self.login(TOPRUN, "top", id).out, "all run", 30)
                asked = self.login(TOPRUN, "stacks", id)
                self.assert_ok(asked)
                self.assertEqual(asked.out, "ranks 0-3: sleep\n")
        status = self.login(TOPRUN, "status", number).out
        self.assertEqual(re.findall(r"(?m)^job (\S+)", status), [f"{number}+{part}" for part in range(status.count("\njob ") + 1)])
        self.assertGreater(status.count("\njob "), 0, status)
        for id, part, host in (number, 0, "n2"), (f"{number}+1", 1, "n0"):
            with self.subTest(attach=id):
                shell = self.login(TOPRUN, "shell", "--dry-run", "--attach", id)
                self.assert_ok(shell)
                self.assertIn(f"--jobid={number} --het-group={part} ", shell.out)
                command = shlex.split(shell.out)
                command[command.index("--pty"):command.index("--pty") + 1] = []
                place = self.login(*command[:command.index(f"--het-group={part}") + 1], "hostname")
                self.assertEqual(place.out, f"{host}\n", place)
        self.assert_ok(self.login(TOPRUN, "cancel", number))

    def test_a_failure_is_reported_as_in_any_job(self):
        code, text = self.job(self.worker("--order", "scheduler").replace(
            CONNECTS, "[ $RANK != 3 ] || exit 7; sleep 30"))
        self.assertEqual(code, 7, text)
        self.assertIn("rank 3 on ", text)
