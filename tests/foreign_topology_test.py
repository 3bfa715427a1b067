# ctest: TIMEOUT 60
"""Topology files as clusters' own tools and administrators write them, read by `toprun topo`: which
order follows, and what is said of what cannot be read."""

import json
import unittest

import support

NO_CLIQUE = "00000000-0000-0000-0000-000000000000.0"  # of a GPU without an NVLink fabric


def dump(ends):
    """`ibnetdiscover` of {switch: [each port's other end]}: a switch, or a host's "name device"."""
    switches = list(ends)
    ports = [end for row in ends.values() for end in row if end not in ends]

    def guid(name):
        return f"S-{switches.index(name) + 16:016x}"

    def cable(here, port, end):
        if end in ends:
            return f'[{port}]\t"{guid(end)}"[{ends[end].index(here) + 1}]\t\t# "{end}" lid 1 4xNDR\n'
        host = ports.index(end) + 256
        return f'[{port}]\t"H-{host:016x}"[1]({host:x}) \t\t# "{end}" lid 3 4xNDR\n'

    return "\n".join(
        f'vendid=0x2c9\nSwitch\t65 "{guid(name)}"\t\t# "{name}" enhanced port 0 lid 1 lmc 0\n' +
        "".join(cable(name, port, end) for port, end in enumerate(row, 1)) for name, row in ends.items())


def below_a_spine(leaves):
    return {**{leaf: [*ports, "s0"] for leaf, ports in leaves.items()}, "s0": list(leaves)}


def dragonfly(groups, size):
    """Groups of switches that are all cabled to each other, a cable between each two groups, a host
    at each switch."""
    ends = {f"r{i}": [f"n{i} mlx5_0"] for i in range(groups * size)}
    free = [0] * groups

    def join(a, b):
        ends[f"r{a}"].append(f"r{b}")
        ends[f"r{b}"].append(f"r{a}")

    for a in range(groups):
        for i in range(size):
            for k in range(i):
                join(a * size + i, a * size + k)
        for b in range(a):
            join(a * size + free[a] % size, b * size + free[b] % size)
            free[a], free[b] = free[a] + 1, free[b] + 1
    return ends


TWO_LEAVES = dump(below_a_spine({"l0": ["n0 mlx5_0", "n2 mlx5_0"], "l1": ["n1 mlx5_0", "n3 mlx5_0"]}))


def hyper_node(name, *hosts):
    members = ", ".join(f"{{type: Node, selector: {{exactMatch: {{name: {host}}}}}}}" for host in hosts)
    return ("apiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\n"
            f"metadata: {{name: {name}}}\nspec: {{tier: 1, members: [{members}]}}\n")


class Topo(support.TestCase):
    def topo(self, verb, text, *options, name="t"):
        path = self.folder() / name
        path.write_text(text)
        return self.run_to_end(support.binary(), "topo", verb, "--topology", path, *options)

    def domains(self, text, name="t"):
        """{host: the names of its domains}; None: not known."""
        finished = self.topo("order", text, "--json", name=name)
        self.assert_ok(finished)
        return {node["name"]: node["path"] for node in json.loads(finished.out)["nodes"]}

    def order(self, text, *options, name="t"):
        finished = self.topo("order", text, "--format", "hosts", *options, name=name)
        self.assert_ok(finished)
        return finished.out.split()


class Tree(Topo):
    def test_placeholders_are_no_domains(self):
        label = "oci.oraclecloud.com/rdma."
        for placeholder in ("no-imds-data", "unknown", "no-topology"):
            with self.subTest(placeholder):
                nodes = [{"kind": "Node", "metadata": {"name": f"n{i}", "labels": {
                    label + "hpc_island_id": "i", label + "local_block_id": block, "nvidia.com/gpu.clique": NO_CLIQUE}}}
                    for i, block in enumerate(["b0", placeholder, placeholder, "b0"])]
                found = self.domains(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))
                self.assertEqual(found, {"n0": ["i", "b0"], "n3": ["i", "b0"],
                                         "n1": ["i", None], "n2": ["i", None]})

    def test_a_level_that_a_branch_lacks_is_not_crossed(self):
        text = ("SwitchName=core Switches=p,s0,s3\nSwitchName=p Switches=s1\nSwitchName=s0 Nodes=n0,n2\n"
                "SwitchName=s1 Nodes=n1,n4\nSwitchName=s3 Nodes=n3\n")
        self.assertNotIn("unknown", self.topo("show", text).out)
        levels = json.loads(self.topo("order", text, "--json").out)["ring"]
        self.assertEqual([level["ordered"] for level in levels], [0, 2, 3])  # of 5 steps

    def test_levels_that_slurm_tells(self):
        text = ("SwitchName=c Level=2 Nodes=n[0-1] Switches=p,s1\nSwitchName=p Level=1 Nodes=n0 Switches=s0\n"
                "SwitchName=s0 Level=0 Nodes=n0\nSwitchName=s1 Level=1 Nodes=n1\n")
        self.assertEqual(self.domains(text), {"n0": ["c", "p", "s0"], "n1": ["c", "s1", None]})

    def test_documents_of_one_file(self):
        text = hyper_node("s0", "n0", "n2") + "---\n" + hyper_node("s1", "n1", "n3")
        self.assertEqual(self.order(text, name="t.yaml"), ["n0", "n2", "n1", "n3"])

    def test_tree_and_blocks_of_one_file(self):
        text = ('- {topology: a, tree: {switches: [{switch: s0, nodes: "n[0-3]"}, {switch: s1, nodes: "n[4-5]"}]}}\n'
                '- {topology: b, cluster_default: true, block: {blocks: [{block: b0, nodes: "n[0,2]"}, '
                '{block: b1, nodes: "n[1,3]"}]}}\n')
        found = self.domains(text, name="t.yaml")
        self.assertEqual((found["n0"], found["n3"], found["n4"]), (["s0", "b0"], ["s0", "b1"], ["s1", None]))


class Dumps(Topo):
    def test_a_manager_s_host_joins_no_leaves(self):
        text = dump(below_a_spine({"a": ["n0 mlx5_0", "ufm mlx5_0"], "b": ["n1 mlx5_0", "ufm mlx5_1"]}))
        found = self.domains(text)
        self.assertEqual((found["n0"], found["n1"]), (["s0", "a"], ["s0", "b"]))

    def test_what_a_terminal_put_around_it(self):
        for change in (lambda text: "[root@mgmt ~]# ibnetdiscover\nibwarn: [7] mad_rpc: failed (errno = 5)\n" + text,
                       lambda text: text.replace("\t", " "),
                       lambda text: text.replace("\t", "").replace("Switch65", "Switch 65")):
            changed = change(TWO_LEAVES)
            with self.subTest(changed[:60]):
                self.assertEqual(self.order(changed), ["n0", "n2", "n1", "n3"])

    def test_grouped_by_chassis(self):
        self.assertEqual(self.order("Non-Chassis Nodes\n\n" + TWO_LEAVES), ["n0", "n2", "n1", "n3"])

    def test_the_report_of_ports(self):
        text = "".join(f"SW    7{leaf}  {port} 0x2c5{leaf} 4x NDR - CA   64{host}  1 0xe09{host} "
                       f"( 'MF0;l{leaf}:X/U1' - 'n{host} mlx5_0' )\n"
                       for leaf in (0, 1) for port, host in ((1, leaf), (2, leaf + 2)))
        text += "".join(f"SW    7{leaf}  9 0x2c5{leaf} 4x NDR - SW    75  {leaf + 1} 0x2c60 "
                        f"( 'MF0;l{leaf}:X/U1' - 'MF0;s0:X/U1' )\n" for leaf in (0, 1))
        self.assertEqual(self.order(text), ["n0", "n2", "n1", "n3"])

    def test_of_ports_alone_nobody_knows_the_hosts(self):
        finished = self.topo("show", "SwitchName=s1 Switches=s2\nSwitchName=s2 Nodes=0x155dfffd341acb\n")
        self.assertEqual(finished.code, 2, finished)
        self.assertIn("InfiniBand ports instead of hosts", finished.err)

    def test_a_dragonfly_s_groups(self):
        found = self.domains(dump(dragonfly(3, 4)))
        self.assertEqual([found[f"n{i}"][1] for i in (0, 3, 4, 11)], ["r[0-3]", "r[0-3]", "r[4-7]", "r[8-11]"])


class TorusAndRing(Topo):
    def test_a_torus_is_passed_to_and_fro(self):
        text = ("- topology: t\n  torus3d:\n    toruses:\n    - name: t0\n"
                "      dims: {x: 2, y: 1, z: 2}\n      nodes: n[0-3]\n")
        self.assertEqual(self.order(text, name="t.yaml"), ["n0", "n1", "n3", "n2"])

    def test_a_ring_keeps_its_order(self):
        text = '- topology: r\n  ring:\n    rings:\n    - {ring: r0, nodes: "n[2,0,1]"}\n'
        self.assertEqual(self.order(text, name="t.yaml"), ["n2", "n0", "n1"])


class OwnOutput(Topo):
    def test_it_is_an_input(self):
        for verb in (("show", "--json"), ("order", "--json")):
            with self.subTest(verb):
                printed = self.topo(verb[0], TWO_LEAVES, verb[1])
                self.assert_ok(printed)
                self.assertEqual(self.order(printed.out, name="t.json"), ["n0", "n2", "n1", "n3"])


if __name__ == "__main__":
    unittest.main()
