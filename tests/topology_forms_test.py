# ctest: TIMEOUT 120
"""Topology files in the forms in which others publish or generate them: Slurm's own test suite and manual,
topograph, slurm-gcp, azslurm, Slinky, soperator, ibnetdiscover, the APIs of clouds. The forms are theirs, the
names are ours. Each gives the tree that stands beside it, or the word that says what the file is."""

import dataclasses
import re
import unittest

import support
from foreign_topology_test import TWO_LEAVES, below_a_spine, dump


@dataclasses.dataclass(frozen=True)
class Form:
    name: str
    text: str
    tree: str = ""     # `topo show`: a line for each domain, "level name: hosts", indented as it is
    word: str = ""     # or what is said of it
    file: str = "topology.conf"
    hosts: str = ""    # of the job, where the file does not name them all


FORMS = [
    # topology.conf, of the tree plugin.
    Form("Slurm's manual: two levels",
         "SwitchName=s0 Nodes=dev[0-5]\nSwitchName=s1 Nodes=dev-[6-11]\nSwitchName=s2 Switches=s[0-1]\n",
         "spine s2\n  leaf s0: dev[0-5]\n  leaf s1: dev-[6-11]"),
    Form("with speeds, comments and other spelling",
         "# of 22.05\nSwitchname=L0  Nodes=n[0-1]\tLinkSpeed=100 # a\nswitchname=L1 nodes=n[2-3]\n"
         "SWITCHNAME=S SWITCHES=L[0-1] LinkSpeed=400\n", "spine S\n  leaf L0: n[0-1]\n  leaf L1: n[2-3]"),
    Form("a line that goes on", "SwitchName=a \\\n  Nodes=n0,\\\nn1\nSwitchName=b Nodes=n2\n",
         "leaf a: n[0-1]\nleaf b: n2"),
    Form("topograph: a tree", "SwitchName=S1 Switches=S[2-3]\nSwitchName=S2 Nodes=Node[201-202],Node205\n"
         "SwitchName=S3 Nodes=Node[304-306]\n", "spine S1\n  leaf S2: Node[201-202,205]\n  leaf S3: Node[304-306]"),
    Form("topograph: names shortened, the long ones in comments",
         "# switch.3.1=island-1\nSwitchName=switch.3.1 Switches=switch.2.[1-2]\n# switch.2.1=block-1\n"
         "SwitchName=switch.2.1 Switches=switch.1.1\nSwitchName=switch.2.2 Switches=switch.1.2\n"
         "SwitchName=switch.1.1 Nodes=node-1\nSwitchName=switch.1.2 Nodes=node-2\n",
         "core switch.3.1\n  spine switch.2.1\n    leaf switch.1.1: node-1\n"
         "  spine switch.2.2\n    leaf switch.1.2: node-2"),
    Form("slurm-gcp: a branch that lacks a level",
         "SwitchName=root Switches=s1,slim\nSwitchName=s1 Switches=l[1-2]\nSwitchName=l1 Nodes=a[1-2]\n"
         "SwitchName=l2 Nodes=a[3-4]\nSwitchName=slim Nodes=b[1-3]\n",
         "core root\n  spine s1\n    leaf l1: a[1-2]\n    leaf l2: a[3-4]\n  leaf slim: b[1-3]"),
    Form("slurm-gcp: a switch per zone and rack of an id",
         "SwitchName=slurm-root Switches=us-a,us-b\nSwitchName=us-a Switches=us-a_0\n"
         "SwitchName=us-a_0 Nodes=m22-green-[0-1]\nSwitchName=us-b Nodes=m22-blue-[0-2]\n",
         "core slurm-root\n  spine us-a\n    leaf us-a_0: m22-green-[0-1]\n  leaf us-b: m22-blue-[0-2]"),
    Form("a fat tree: two spines above each leaf",
         "SwitchName=l0 Nodes=n[0-1]\nSwitchName=l1 Nodes=n[2-3]\nSwitchName=s0 Switches=l[0-1]\n"
         "SwitchName=s1 Switches=l[0-1]\n", "spine s[0-1]\n  leaf l0: n[0-1]\n  leaf l1: n[2-3]"),
    Form("two trees without a root", "SwitchName=a Nodes=n[0-1]\nSwitchName=b Nodes=n[2-3]\n",
         "leaf a: n[0-1]\nleaf b: n[2-3]"),
    Form("scontrol show topology", "SwitchName=core Level=1 LinkSpeed=1 Nodes=n[0-3] Switches=r[0-1]\n"
         "SwitchName=r0 Level=0 LinkSpeed=1 Nodes=n[0-1]\nSwitchName=r1 Level=0 LinkSpeed=1 Nodes=n[2-3]\n",
         "spine core\n  leaf r0: n[0-1]\n  leaf r1: n[2-3]"),
    Form("… with a prompt before it", "[ada@login ~]$ scontrol show topology\nSwitchName=r0 Level=0 LinkSpeed=1 Nodes=n0\n"
         "SwitchName=r1 Level=0 LinkSpeed=1 Nodes=n1\n", "leaf r0: n0\nleaf r1: n1"),
    Form("a switch in two cases of ALL", "SwitchName=all Nodes=ALL\n", "leaf all: n[0-2]", hosts="n[0-2]"),
    # topology.conf, of the block plugin.
    Form("topograph: blocks", "BlockName=B1 Nodes=Node[104-106]\nBlockName=B2 Nodes=Node[201-202],Node205\nBlockSizes=3\n",
         "block B1: Node[104-106]\nblock B2: Node[201-202,205]"),
    Form("blocks of two sizes", "BlockName=b0 Nodes=n[0-1]\nBlockName=b1 Nodes=n[2-3]\nBlockName=b2 Nodes=n[4-5]\n"
         "BlockName=b3 Nodes=n[6-7]\nBlockSizes=2,4\n",
         "block4 b[0-1]\n  block b0: n[0-1]\n  block b1: n[2-3]\nblock4 b[2-3]\n  block b2: n[4-5]\n  block b3: n[6-7]"),
    Form("azslurm: blocks with what their hosts said",
         "# Number of Nodes in block1: 2\n# ClusterUUID and CliqueID: 5e79-1\nBlockName=block1 Nodes=hpc-1,hpc-5\n"
         "# Number of Nodes in block2: 2\n# ClusterUUID and CliqueID: 5e79-2\nBlockName=block2 Nodes=hpc-2,hpc-6\n"
         "BlockSizes=1\n", "block block1: hpc-[1,5]\nblock block2: hpc-[2,6]"),
    Form("scontrol show topology of blocks",
         "BlockName=b0 BlockIndex=0 Nodes=n[0-1] BlockSize=2\nBlockName=b1 BlockIndex=1 Nodes=n[2-3] BlockSize=2\n"
         "AggregatedBlock=b[0-1] BlockIndex=2 Nodes=n[0-3] BlockSize=4\n",
         "block4 b[0-1]\n  block b0: n[0-1]\n  block b1: n[2-3]"),
    Form("Slinky: switches and blocks in one file",
         "SwitchName=root Switches=leaf[1-2]\nSwitchName=leaf1 Nodes=n[0-3]\nSwitchName=leaf2 Nodes=n[4-7]\n"
         "BlockName=nvl0 Nodes=n[0-1]\nBlockName=nvl1 Nodes=n[2-3]\nBlockName=nvl2 Nodes=n[4-7]\n",
         "spine root\n  leaf leaf1\n    block nvl0: n[0-1]\n    block nvl1: n[2-3]\n  leaf leaf2\n    block nvl2: n[4-7]"),
    Form("a block around the leaves", "SwitchName=l0 Nodes=n[0-1]\nSwitchName=l1 Nodes=n[2-3]\n"
         "SwitchName=l2 Nodes=n[4-5]\nBlockName=x Nodes=n[0-3]\nBlockName=y Nodes=n[4-5]\n",
         "block x\n  leaf l0: n[0-1]\n  leaf l1: n[2-3]\nblock y\n  leaf l2: n[4-5]"),
    Form("a switch of ALL and blocks", "SwitchName=fabric Nodes=ALL\nBlockName=b0 Nodes=n[0-1]\nBlockName=b1 Nodes=n[2-3]\n",
         "leaf fabric\n  block b0: n[0-1]\n  block b1: n[2-3]"),
    # topology.yaml.
    Form("Slurm's manual: a tree and blocks",
         "---\n- topology: topo1\n  cluster_default: true\n  tree:\n    switches:\n      - switch: sw_root\n"
         "        children: s[1-2]\n      - switch: s1\n        nodes: node[01-02]\n      - switch: s2\n"
         "        nodes: node[03-04]\n- topology: topo2\n  cluster_default: false\n  block:\n    block_sizes:\n"
         "      - 2\n    blocks:\n      - block: b1\n        nodes: node[01-02]\n      - block: b2\n"
         "        nodes: node[03-04]\n", "spine sw_root\n  leaf s1: node[01-02]\n  leaf s2: node[03-04]",
         file="topology.yaml"),
    Form("topograph: the block names of two topologies",
         "- topology: topo1\n  cluster_default: true\n  block:\n    block_sizes:\n        - 2\n    blocks:\n"
         "        - block: block1\n          nodes: Node[104-105]\n- topology: topo2\n  cluster_default: false\n"
         "  block:\n    block_sizes:\n        - 2\n    blocks:\n        - block: block1\n          nodes: Node[301,303]\n",
         "block block1: Node[104-105]\nblock topo2:block1: Node[301,303]", file="topology.yaml"),
    Form("topograph: keys as its Go code names them",
         "- topology: a\n  clusterDefault: false\n  block:\n    blockSizes: [2]\n    blocks:\n"
         "        - {block: block1, nodes: n0}\n- topology: b\n  clusterDefault: true\n  block:\n    blockSizes: [2]\n"
         "    blocks:\n        - {block: block1, nodes: n1}\n", "block a:block1: n0\nblock block1: n1",
         file="topology.yaml"),
    Form("topograph: trees that share switches, and blocks",
         "- topology: topo1\n  tree:\n    switches:\n        - {switch: IB2, children: S1}\n        - {switch: S1, children: S3}\n"
         "        - {switch: S3, nodes: 'Node[201,205]'}\n- topology: topo2\n  tree:\n    switches:\n"
         "        - {switch: IB2, children: S1}\n        - {switch: S1, children: 'S[2-3]'}\n"
         "        - {switch: S2, nodes: 'Node[104-105]'}\n        - {switch: S3, nodes: 'Node[201,205]'}\n"
         "- topology: topo5\n  cluster_default: true\n  flat: true\n",
         "core IB2\n  spine S1\n    leaf S2: Node[104-105]\n    leaf S3: Node[201,205]", file="topology.yaml"),
    Form("soperator: flat, a tree and blocks of one set of nodes",
         "- topology: flat\n  cluster_default: true\n  flat: true\n- topology: tree-ib\n  cluster_default: false\n  tree:\n"
         "    switches:\n        - switch: block7\n          nodes: h100-[0-3]\n        - switch: leaf3\n"
         "          children: block7\n        - switch: root\n          children: leaf3\n- topology: block-nvl72\n"
         "  cluster_default: false\n  block:\n    block_sizes:\n        - 4\n        - 16\n    blocks:\n"
         "        - block: block7\n          nodes: h100-[0-3]\n", "core root\n  spine leaf3\n    leaf block7: h100-[0-3]", file="topology.yaml"),
    Form("soperator: a leaf of hosts without labels",
         "- topology: default\n  cluster_default: true\n  tree:\n    switches:\n        - switch: leaf1\n"
         "          nodes: h100-[0-1]\n        - switch: root\n          children: spine1,unknown\n        - switch: spine1\n"
         "          children: leaf1\n        - switch: unknown\n          nodes: h100-[2-3]\n",
         "core root\n  spine spine1\n    leaf leaf1: h100-[0-1]\n  spine none: h100-[2-3]", file="topology.yaml"),
    Form("nodes: ALL", "- topology: a\n  tree:\n    switches:\n      - {switch: s, nodes: ALL}\n", "leaf s: n[0-1]",
         file="topology.yaml", hosts="n[0-1]"),
    # What programs draw or print.
    Form("azslurm: a drawn tree",
         "Switch 5 (root)\n├── Switch 0 (3 nodes)\n│   ├── hpc-36\n│   ├── hpc-39\n│   └── hpc-42\n"
         "└── Switch 4 (2 nodes)\n    ├── hpc-47\n    └── hpc-48\n",
         "spine switch5\n  leaf switch0: hpc-[36,39,42]\n  leaf switch4: hpc-[47-48]", file="shown.txt"),
    Form("azslurm: tables of blocks",
         "block 1  : # of Nodes = 3\nClusterUUID + CliqueID : 5e79-1\n|--------|--------|\n| hpc-1  | hpc-5  |\n"
         "|--------|--------|\n| hpc-9  |\n|--------|--------|\n\nblock 2  : # of Nodes = 2\nClusterUUID + CliqueID : 5e79-2\n"
         "|--------|--------|\n| hpc-2  | hpc-6  |\n|--------|--------|\n",
         "block block1: hpc-[1,5,9]\nblock block2: hpc-[2,6]", file="shown.txt"),
    Form("Google: srun -l of a script that prints the place",
         "0: a3m-0 /abc/def/ghi\n1: a3m-1 /abc/def/jkl\n2: a3m-2 /abc/xyz/mno\n",
         "cluster abc\n  rack def: a3m-[0-1]\n  rack xyz: a3m-2", file="where.txt"),
    Form("… padded, several tasks of a node", " 8: n0 /c/r/0\n 9: n0 /c/r/0\n10: n1 /c/s/1\n11: n1 /c/s/1\n",
         "cluster c\n  rack r: n0\n  rack s: n1", file="where.txt"),
    Form("Google: the sorted table", "rank hostname physical_host\n0 n1 /c/a/7\n1 n0 /c/b/8\n",
         "cluster c\n  rack a: n1\n  rack b: n0", file="where.txt"),
    Form("ibnetdiscover: two leaves", TWO_LEAVES, "spine s0\n  leaf l0: n[0,2]\n  leaf l1: n[1,3]", file="fabric"),
    Form("ibnetdiscover: rails", dump(below_a_spine({"l0": ["a mlx5_0", "b mlx5_0"], "l1": ["a mlx5_1", "b mlx5_1"],
                                                     "l2": ["c mlx5_0"], "l3": ["c mlx5_1"]})),
         "spine s0\n  leaf l[0-1]: a,b\n  leaf l[2-3]: c", file="fabric"),
    Form("AWS: describe-instance-topology",
         '{"Instances": [{"InstanceId": "i-1", "NetworkNodes": ["nn-1", "nn-2", "nn-3"]},\n'
         '               {"InstanceId": "i-2", "NetworkNodes": ["nn-1", "nn-2", "nn-4"]}]}\n',
         "core nn-1\n  spine nn-2\n    leaf nn-3: i-1\n    leaf nn-4: i-2", file="aws.json"),
    # What is inside of a host.
    Form("nvidia-smi topo -m", "\tGPU0\tGPU1\tNIC0\tCPU Affinity\nGPU0\t X \tNV18\tPIX\t0-47\nGPU1\tNV18\t X \tSYS\t48-95\n"
         "\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe\n", word="a description of one host's inside", file="topo.txt"),
    Form("… of one GPU", "GPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0-47\t0\n\nLegend:\n\n  X    = Self\n",
         word="a description of one host's inside", file="topo.txt"),
    Form("NCCL_TOPO_DUMP_FILE", '<system version="1">\n  <cpu numaid="0" affinity="ff" arch="x86_64">\n'
         '    <pci busid="0000:07:00.0" class="0x030200"/>\n  </cpu>\n</system>\n', word="a description of one host's inside",
         file="topo.xml"),
    Form("NCCL_GRAPH_DUMP_FILE", '<graphs version="1">\n  <graph id="0" pattern="4"/>\n</graphs>\n',
         word="a description of one host's inside", file="graph"),
    Form("lstopo", '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n',
         word="a description of one host's inside", file="lstopo.xml"),
]


class Forms(support.TestCase):
    def tree(self, form):
        path = self.folder() / form.file
        path.write_text(form.text)
        hosts = ["--hosts", form.hosts] if form.hosts else []
        finished = self.toprun("topo", "show", "--topology", path, *hosts)
        lines = []
        for line in finished.out.splitlines():
            shown = re.fullmatch(r"( *\S+ \S+) +\d+ nodes?(?:  +(\S+))?", line)
            lines.append(line if shown is None else shown[1] + (f": {shown[2]}" if shown[2] else ""))
        return "\n".join(lines), finished

    def test_there_are_thirty_at_least(self):
        self.assertGreaterEqual(len(FORMS), 30)
        self.assertEqual(len({form.name for form in FORMS}), len(FORMS))

    def test_each_gives_its_tree_or_its_word(self):
        for form in FORMS:
            with self.subTest(form.name):
                tree, finished = self.tree(form)
                if form.word:
                    self.assertEqual((finished.code, tree), (2, ""), finished)
                    self.assertIn(form.word, finished.err)
                else:
                    self.assertEqual(tree, form.tree, finished)
                    self.assert_ok(finished)


if __name__ == "__main__":
    unittest.main()
