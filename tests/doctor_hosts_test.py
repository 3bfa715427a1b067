# ctest: TIMEOUT 400 LABELS cluster
"""toprun doctor on eight virtual hosts, by ssh and in a Slurm allocation: the host that differs is
named, and no other."""

import json
import os
import pathlib
import re
import resource
import shutil
import signal
import tempfile
import unittest

import cluster
import support
from vcluster_lib import namespaces

HEALTHY_RUNS = 20
# Of this machine, and so on every host.
OF_ALL = {"clock", "own-name", "open-files"}


class Hosts(cluster.TestCase):
    UP = ("--hosts", "8", "--racks", "4", "--slurm", "--ssh")

    def by_ssh(self, hosts="n[0-7]"):
        return self.on("n0", support.binary(), "doctor", "--hosts", hosts, "--json", limit=90)

    def by_slurm(self):
        return self.on("ctl", "salloc", "--quiet", "-N8", support.binary(), "doctor", "--json")

    def found(self, finished):
        """(severity, id, hosts, evidence) of the findings that are not of the whole machine."""
        document = json.loads(finished.out)
        self.assertEqual(document["schema"], "toprun.doctor_hosts/1", finished)
        return [(one["severity"], one["id"], one["hosts"], one["evidence"])
                for one in document["findings"]
                if one["id"] not in OF_ALL or len(one["hosts"]) < len(document["hosts"])
                if one["id"] != "python" or one["severity"] != "note"]  # this machine's has no PyTorch

    def assert_found(self, finished, *expected):
        self.assertEqual(self.found(finished), list(expected), finished)

    def inside(self, host, script):
        finished = self.on(host, "sh", "-ec", script)
        self.assert_ok(finished)

    def sshd_of(self, host):
        state = cluster.state.load(self.cluster.name)
        here = namespaces.netns_of(state.holders[host])
        for pid, space in namespaces.processes(state).items():
            if space == here and pathlib.Path(f"/proc/{pid}/comm").read_text() == "sshd\n":
                return pid
        raise AssertionError(f"no sshd on {host}")

    def test_each_of_a_step_s_answers_names_its_host(self):
        """As people type it first: four machines print to one terminal."""
        finished = self.on("ctl", "srun", "-N4", support.binary(), "doctor", "--here")
        ends = re.findall(r"(?m)^(n\d): \d+ checks? found nothing; \d+ do not apply$", finished.out)
        self.assertEqual(len(set(ends)), 4, finished)
        for line in finished.out.splitlines():
            self.assertRegex(line, r"\An\d: ")
        self.assertNotIn("without srun", finished.err)
        unaware = self.on("ctl", "srun", "-N4", support.binary(), "doctor")
        self.assertEqual(unaware.err.count("each of the 4 hosts prints its own report"), 1, unaware)
        self.assertIn("salloc -N 4 toprun doctor", unaware.err)

    def test_healthy_hosts_by_slurm(self):
        for _ in range(HEALTHY_RUNS):
            self.assert_found(self.by_slurm())

    def test_a_host_whose_answer_was_lost_is_asked_again(self):
        """As srun loses it now and then: nothing is said of it, and the step ends well."""
        with tempfile.TemporaryDirectory() as folder:
            losing = pathlib.Path(folder, "srun")
            losing.write_text('#!/bin/sh\n[ -e "$0.was" ] && exec {srun} "$@"\n: > "$0.was"\n'
                              '{srun} "$@" | grep -v \'"host":"n3"\'\n'
                              .format(srun=shutil.which("srun")))
            losing.chmod(0o755)
            finished = self.on("ctl", "salloc", "--quiet", "-N8", "env", f"PATH={folder}:{os.environ['PATH']}",
                               support.binary(), "doctor", "--json")
            self.assertTrue(pathlib.Path(folder, "srun.was").exists())
        self.assert_found(finished)
        self.assertEqual(len(json.loads(finished.out)["hosts"]), 8)

    def test_a_step_that_cannot_run_toprun(self):
        """srun ends with 2 then, as toprun does for a wrong command line; the report is written."""
        with tempfile.TemporaryDirectory() as folder:
            failing = pathlib.Path(folder, "srun")
            failing.write_text("#!/bin/sh\necho 'slurmstepd: error: execve(): toprun: No such file or directory' >&2\nexit 2\n")
            failing.chmod(0o755)
            finished = self.on("ctl", "salloc", "--quiet", "-N8", "env", f"PATH={folder}:{os.environ['PATH']}",
                               support.binary(), "doctor", "--json")
        self.assertEqual([one[:3] for one in self.found(finished)],
                         [("error", "no-answer", [f"n{i}" for i in range(8)])], finished)
        self.assertEqual(finished.code, 4)
        self.assertNotIn("no host was examined", finished.err)

    def test_healthy_hosts_by_ssh(self):
        finished = self.by_ssh()
        self.assert_found(finished)
        self.assertEqual(finished.err, "")

    def test_one_host(self):
        finished = self.on("n0", support.binary(), "doctor", "--hosts", "n1", limit=90)
        self.assertNotIn("no agent", finished.err)
        self.assertIn("n1", finished.out)

    def test_all_shows_what_found_nothing_too(self):
        for words in ([], ["--all"]):
            shown = self.on("n0", support.binary(), "doctor", "--hosts", "n[0-1]", *words, limit=90)
            self.assertEqual(bool(re.search(r"(?m)^ok +\S+ +n\[0-1\]: ", shown.out)), bool(words), shown)
            self.assertRegex(shown.out, r"(?m)^2 hosts examined and compared")
            as_json = self.on("n0", support.binary(), "doctor", "--hosts", "n[0-1]", "--json", *words, limit=90)
            found = {one["id"]: one for one in json.loads(as_json.out)["findings"]}
            self.assertEqual("addresses" in found, bool(words), as_json)
            if words:
                self.assertEqual(found["addresses"]["hosts"], ["n0", "n1"], as_json)

    def test_another_mtu(self):
        self.inside("n3", "ip link set dev eth0 mtu 1400")
        try:
            odd = ("warning", "mtu", ["n3"], "the MTU of eth0 is 1400, and 1500 on 7 hosts")
            for run in (self.by_slurm, self.by_ssh):
                finished = run()
                self.assert_found(finished, odd)
                self.assertEqual(finished.code, 3)
        finally:
            self.inside("n3", "ip link set dev eth0 mtu 1500")

    def test_a_lower_limit_on_open_files(self):
        sshd = self.sshd_of("n5")
        limit = resource.prlimit(sshd, resource.RLIMIT_NOFILE)
        resource.prlimit(sshd, resource.RLIMIT_NOFILE, (5000, limit[1]))
        try:
            finished = self.by_ssh()
            self.assert_found(finished, ("warning", "open-files-limit", ["n5"],
                                         f"the limit on open files is 5000, and {limit[0]} on 7 hosts"))
        finally:
            resource.prlimit(sshd, resource.RLIMIT_NOFILE, limit)

    def test_a_skewed_resolver(self):
        self.inside("n2", "cp /etc/hosts /run/hosts.was && "
                          "sed 's/^[0-9.]*\\(.*\\bn6\\b\\)/10.99.0.6\\1/' /run/hosts.was > /etc/hosts")
        try:
            for run in (self.by_slurm, self.by_ssh):
                [(severity, name, hosts, evidence)] = self.found(run())
                self.assertEqual((severity, name, hosts), ("warning", "addresses", ["n2"]))
                self.assertRegex(evidence, r"^the address of n6 is 10\.99\.0\.6, and 10\.77\.\S+ on 6 hosts$")
        finally:
            self.inside("n2", "cat /run/hosts.was > /etc/hosts")

    def test_a_full_shared_memory(self):
        self.inside("n6", "mount -t tmpfs -o size=128k tmpfs /dev/shm; head -c 128k /dev/zero > /dev/shm/old")
        try:
            for run in (self.by_slurm, self.by_ssh):
                finished = run()
                self.assertEqual(finished.code, 4)
                [(severity, name, hosts, evidence)] = self.found(finished)
                self.assertEqual((severity, name, hosts), ("error", "shared-memory", ["n6"]))
                self.assertIn("(0 MiB)", evidence)
        finally:
            self.inside("n6", "umount /dev/shm")

    def test_a_host_that_does_not_answer(self):
        self.cluster.cut("n4")
        try:
            finished = self.by_ssh("n[0-4]")
        finally:
            self.cluster.join("n4")
        self.assertEqual(finished.code, 4)
        self.assertEqual([one[:3] for one in self.found(finished)], [("error", "no-answer", ["n4"])])
        self.assertRegex(finished.err, r"^toprun: no agent on n4: ")
        [(_, _, _, evidence)] = self.found(finished)
        why = re.search(r"^toprun: no agent on n4: ([^;]+);", finished.err)[1]
        self.assertEqual(evidence, f"`toprun doctor` could not run on this host: {why}")

    def test_a_host_that_has_no_name(self):
        finished = self.on("n0", support.binary(), "doctor", "--hosts", "n[0,97]", limit=90)
        self.assertEqual(finished.code, 4)
        self.assertRegex(finished.out, r"(?m)^error +no-answer +n97: `toprun doctor` could not run on this host: .*(name|resolve).*\n +\S")

    def test_no_host_answers(self):
        for hosts, said in (("n97", "0 of 1 host answered"), ("n9[7-8]", "0 of 2 hosts answered")):
            finished = self.by_ssh(hosts)
            self.assertEqual(finished.code, 4)
            self.assertIn(f"toprun: {said}: see the messages above\n", finished.err)
            self.assertNotIn("job", finished.err)

    def test_a_host_that_hangs(self):
        """Its resolver's file is a pipe that nobody writes: the others' answers do not wait for it."""
        self.inside("n1", "cp /etc/hosts /run/hosts.was; mkfifo /run/pipe; mount --bind /run/pipe /etc/hosts")
        try:
            finished = self.by_ssh("n[0-3]")
        finally:
            self.inside("n1", "umount /etc/hosts; rm /run/pipe")
        self.assertEqual(finished.code, 4)
        self.assertEqual([one[:3] for one in self.found(finished)], [("error", "no-answer", ["n1"])])
        self.assertIn("doctor: not done after 20 s: a file system, a name server or a driver hangs", finished.err)
        self.assertLess(finished.seconds, 40)

    def test_the_starter_is_killed(self):
        """Nothing goes on without it."""
        self.inside("n1", "mkfifo /run/pipe; mount --bind /run/pipe /etc/hosts")
        try:
            run = self.start("n0", support.binary(), "doctor", "--hosts", "n[1-3]")
            cluster.wait_for(lambda: any("ssh" in line for line in run.processes().values()), "logins")
            os.kill(run.process.pid, signal.SIGKILL)
            run.wait(8)  # long before n1 gives up by itself
            cluster.wait_for(lambda: not run.processes(), "all are gone", 8)
        finally:
            self.inside("n1", "umount /etc/hosts; rm /run/pipe")

    def test_in_slurms_prolog_it_looks_at_its_own_node(self):
        """The page's script as the Prolog of a real Slurm: a node that is unfit is drained."""
        folder = self.folder()
        page = (support.REPOSITORY / "docs/guides/doctor.md").read_text()
        script = re.search(r"```sh\n(#!/bin/sh\n.*?)```", page, re.S)[1]
        prolog = folder / "prolog"
        path = f"PATH={folder}:{os.environ['PATH']}"
        prolog.write_text(script.replace("PATH=/usr/local/bin:/usr/bin:/bin", path).replace(
            "PATH=", f"export SLURM_CONF={self.conf()}; PATH=", 1).replace("/run/", f"{folder}/$SLURMD_NODENAME."))
        prolog.chmod(0o755)
        (folder / "toprun").symlink_to(os.path.realpath(support.binary()))
        conf = pathlib.Path(self.conf())
        before = conf.read_text()
        try:
            conf.write_text(f"{before}\nProlog={prolog}\n")
            self.assert_ok(self.on("ctl", "scontrol", "reconfigure"))
            self.assert_ok(self.on("ctl", "srun", "-w", "n7", "true"))
            self.assertIn("checks found nothing", (folder / "n7.toprun-doctor").read_text())
            self.inside("n7", "mount -t tmpfs -o size=64k tmpfs /dev/shm")
            self.on("ctl", "srun", "--immediate=5", "-w", "n7", "true")
            node = lambda: self.on("ctl", "scontrol", "show", "node", "n7").out
            shown = cluster.wait_for(lambda: text if "DRAIN" in (text := node()) else None, "n7 is drained")
            self.assertIn("toprun doctor: error", shown)
        finally:
            conf.write_text(before)
            self.on("ctl", "scontrol", "reconfigure")
            self.on("ctl", "scontrol", "update", "nodename=n7", "state=resume")
            self.on("n7", "umount", "/dev/shm")

    def conf(self):
        return self.on("ctl", "sh", "-c", "echo $SLURM_CONF").out.strip()

    def test_options_that_contradict(self):
        for words in (["--here"], ["--json-lines"], ["--root", "/"]):
            finished = self.on("n0", support.binary(), "doctor", "--hosts", "n1", *words)
            self.assertEqual(finished.code, 2)
            self.assert_one_line(finished, rf"--hosts and {words[0]}: .*")

    def test_the_page_for_people(self):
        finished = self.on("n0", support.binary(), "doctor", "--hosts", "n[0-1]")
        self.assertRegex(finished.out, r"2 hosts examined and compared(: nothing found)?\n$")

    def test_here_is_this_host_alone(self):
        finished = self.on("ctl", "salloc", "--quiet", "-N8", support.binary(), "doctor", "--here", "--json")
        self.assertEqual(json.loads(finished.out)["schema"], "toprun.doctor/1")

    def test_a_name_that_is_no_host_list(self):
        finished = self.on("n0", support.binary(), "doctor", "--hosts", "n[0-")
        self.assertEqual(finished.code, 2)
        self.assert_one_line(finished, r"--hosts, item 1, column 2 .*")


if __name__ == "__main__":
    unittest.main()
