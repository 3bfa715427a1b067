# ctest: TIMEOUT 300 EMULATED LABELS cluster
"""`toprun topo order` as other programs use it: a real srun and a real mpirun put their ranks where it
says, on four hosts in two racks whose names interleave. The order of the network is n0 n2 n1 n3."""

import re
import shlex
import unittest

import cluster
import support
from cluster import column, shown

TOPRUN = support.TOPRUN
BY_TOPOLOGY = ["n0", "n2", "n1", "n3"]
BY_NAME = ["n0", "n1", "n2", "n3"]
TASK = "echo shown RANK=$SLURM_PROCID NODE=$(hostname)"
RANK = "echo shown RANK=$OMPI_COMM_WORLD_RANK NODE=$(hostname)"


def twice(nodes):
    return [node for node in nodes for _ in range(2)]


class Tour(support.TestCase):
    def test_its_lines_of_topo_work_with_the_file_that_it_describes(self):
        page = (support.REPOSITORY / "docs/start/tour.md").read_text()
        self.assertRegex(page, r"`racks\.txt` contains one line such\s+as `n0 /cluster/rack0/n0` for each node")
        lines = re.findall(r"(?m)^toprun (topo .*?)(?:  +#.*)?$", page)
        self.assertGreater(len(lines), 5)
        folder = self.folder()
        (folder / "racks.txt").write_text("".join(f"n{i} /cluster/rack{i % 4}/n{i}\n" for i in range(8)))
        for line in lines:
            with self.subTest(line):
                self.assert_ok(self.toprun(*shlex.split(line), cwd=folder))


class Order(cluster.SlurmCase):
    UP = ("--hosts", "4", "--racks", "2", "--slurm")

    def test_slurm_hostfile_in_the_shell_of_salloc(self):
        order = self.folder() / "order"
        finished = self.on("ctl", "salloc", "-N4", "--ntasks-per-node=2", "bash", "-c", f"""
            set -e
            srun -n 8 bash -c '{TASK} BY=slurm'
            {TOPRUN} topo order --nproc-per-node 2 --format slurm > {order}
            SLURM_HOSTFILE={order} srun -n 8 bash -c '{TASK} BY=toprun'""")
        self.assert_ok(finished)
        rows = shown(finished.out)
        nodes = {by: [row["NODE"] for row in rows if row["BY"] == by] for by in ("slurm", "toprun")}
        self.assertEqual(nodes, {"slurm": twice(BY_NAME), "toprun": twice(BY_TOPOLOGY)})

    def test_slurm_hostfile_in_a_batch_script(self):
        order = self.folder() / "order"
        code, out = self.sbatch(
            "--nodes=4 --ntasks-per-node=1",
            f"{TOPRUN} topo order --format slurm > {order}",
            f"SLURM_HOSTFILE={order} srun -n 4 bash -c {shlex.quote(TASK)}")
        self.assertEqual(code, 0, out)
        self.assertEqual(column(shown(out), "NODE"), BY_TOPOLOGY)

    # Where no job is.

    def test_a_login_node_finds_what_a_job_would(self):
        for verb in (["order", "--format", "hosts"], ["show"], ["score"]):
            finished = self.on("ctl", TOPRUN, "topo", *verb)
            self.assert_ok(finished)
            if verb[0] == "order":
                self.assertEqual(finished.out.split(), BY_TOPOLOGY)
        shown_tree = self.on("ctl", TOPRUN, "topo", "show").out
        self.assertRegex(shown_tree, r"leaf r0 +2 nodes +n\[0,2\]")

    def test_slurms_own_output_by_a_pipe(self):
        orders = f"{TOPRUN} topo order --format hosts --topology"
        for line in (f"scontrol show topology | {orders} -",
                     f"{orders} <(scontrol show topology)",
                     f"scontrol show topology | {orders} /dev/stdin",
                     f"{{ printf '\\xef\\xbb\\xbf'; scontrol show topology; }} | {orders} -",
                     f"{{ echo '$ scontrol show topology'; scontrol show topology; }} | {orders} -"):
            with self.subTest(line=line):
                finished = self.on("ctl", "bash", "-c", line)
                self.assert_ok(finished)
                self.assertEqual(finished.out.split(), BY_TOPOLOGY)
        refused = self.on("ctl", "bash", "-c", f"{TOPRUN} --topology <(true) --no-python true")
        self.assertEqual(refused.code, 2, refused)
        self.assertIn("save the topology in a file", refused.err)

    # Open MPI starts its daemons over what it takes for ssh: a command on the virtual host.

    def mpirun(self, form, *options):
        """The nodes of eight ranks, started with what `topo order --format FORM` printed."""
        support.needs_program("mpirun")
        folder = self.folder()
        order, remote = folder / "order", folder / "remote"
        on_host = shlex.join([*cluster.VCLUSTER, "exec", "--name", self.cluster.name])
        remote.write_text(f'#!/bin/sh\nhost=$1; shift\nexec {on_host} "$host" sh -c "$*"\n')
        remote.chmod(0o755)
        places = folder / "places"
        places.write_text("".join(f"{node} /core/r{int(node[1:]) % 2}/{node}\n" for node in BY_NAME))
        printed = self.toprun("topo", "order", "--topology", places, "--hosts", "n[0-3]",
                              "--nproc-per-node", "2", "--format", form)
        self.assert_ok(printed)
        order.write_text(printed.out)
        finished = self.on(
            "ctl", "mpirun", "--allow-run-as-root", "--mca", "plm_rsh_agent", remote,
            *options, order, "-n", "8", "bash", "-c", RANK)
        self.assert_ok(finished)
        return column(shown(finished.out), "NODE")

    def test_open_mpi_by_a_sequence(self):
        self.assertEqual(self.mpirun("seq", "--map-by", "seq", "--bind-to", "none", "--hostfile"),
                         twice(BY_TOPOLOGY))

    def test_open_mpi_by_a_rankfile(self):
        self.assertEqual(self.mpirun("rankfile", "--rankfile"), twice(BY_TOPOLOGY))

    def test_open_mpi_by_a_hostfile(self):
        self.assertEqual(self.mpirun("hostfile", "--map-by", "slot", "--bind-to", "none",
                                     "--hostfile"), twice(BY_TOPOLOGY))


if __name__ == "__main__":
    unittest.main()
