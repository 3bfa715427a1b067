#include "cli/options/command_lines.h"

#include <fmt/format.h>

#include <algorithm>

namespace toprun::options {
namespace {

using Count = Operand::Count;

constexpr Operand script = {"SCRIPT", Count::script, "SCRIPT", ""};
constexpr const char* reported_job =
    "Its id as `toprun jobs` shows it, or the file of its --report";

constexpr std::string_view setup_grammar =
    "Write the options before the first PACKAGE, which is anything that pip installs. They may be "
    "written with underscores. A variable in brackets gives the value if the command line does "
    "not. pip takes its index and proxies from its own variables and pip.conf.";
constexpr std::string_view shell_grammar =
    "Long options may be written with underscores. A variable in brackets gives the value if "
    "the command line does not.";
constexpr std::string_view script_grammar =
    "Long options may be written with underscores, and torchrun's own may be shortened while they "
    "stay "
    "unambiguous. A variable in brackets gives the value if the command line does not. "
    "Everything after SCRIPT goes to the script unchanged; write a script with a verb's name as "
    "./topo or -- "
    "topo.";
constexpr std::string_view file_grammar =
    "Options that neither the command line nor a variable gives come from toprun.toml: in this "
    "folder or "
    "the nearest folder above it, then the user's, then the system's. toprun config show tells "
    "which.";
constexpr std::string_view launch_grammar =
    "Options that are not given come from where a launch takes them: the variable in "
    "brackets, else toprun.toml. --topology - reads standard input.";
constexpr std::string_view unnamed_hosts =
    "Without --hosts the hosts are those of the Slurm job, else all hosts of the topology.";

const std::vector<CommandLine>& lines_of_launchers() {
  static const std::vector<CommandLine> lines = {
      {Command::run,
       "",
       "Starts a distributed PyTorch job; takes every option of torchrun.",
       {{"toprun train.py --epochs 3", "one process per GPU of this machine"},
        {"toprun --nproc-per-node 4 train.py", "four processes here"},
        {"srun -N 8 toprun train.py", "eight nodes, ranks in network order"},
        {"toprun submit --nodes 8 train.py", "the same as a Slurm job"},
        {"toprun --hosts 'a,b[3-9]' train.py", "on these hosts, started by ssh"},
        {"toprun --container pytorch.sif train.py", "in a container on each node"},
        {"toprun --via mpirun --hosts a,b train.py", "on these hosts, started by mpirun"},
        {"toprun --in dev train.py", "in the pods of a job that sleeps"},
        {"toprun -m package.train", "a module instead of a file"},
        {"toprun --no-python ./program", "a program that is not Python"},
        {"toprun --nnodes 2 --node-rank R --rdzv-backend c10d --rdzv-endpoint HOST train.py",
         "by hand, on every node; R is 0, 1 …"}},
       {script},
       {script_grammar, file_grammar},
       {"--nproc-per-node", "--nnodes", "--order", "--dry-run", "--verbose"}},
      {Command::torchrun,
       "torchrun",
       "This is toprun under torchrun's name: torchrun's options only, and no verbs.",
       {{"torchrun --nproc-per-node 4 train.py", "four processes here"},
        {"torchrun --nnodes 2 --node-rank R --master-addr HOST --master-port 29500 train.py",
         "the same line on both nodes; R is 0 and 1"}},
       {script},
       {script_grammar},
       {"--nproc-per-node", "--nnodes", "--order", "--log-dir", "--dry-run", "--verbose"}},
      {Command::submit,
       "submit",
       "Writes a batch script that runs SCRIPT with toprun, keeps it beside the logs and submits "
       "it. Every option of toprun run goes into the script's last line.",
       {{"toprun submit -N 8 --gpus-per-node 8 -t 2:00:00 train.py --epochs 3",
         "eight nodes for two hours"},
        {"toprun submit --dry-run -N 8 train.py", "the exact script, and why it says what it says"},
        {"id=$(toprun submit -N 1 prepare.py)", "the job's id, for the next line"},
        {"toprun submit --after $id -N 8 train.py", "starts when that job has ended with 0"},
        {"toprun submit --array 0-4 --wait train.py",
         "five jobs; exits with the highest exit code"},
        {"toprun submit --on kubernetes --interactive -N 2 --container docker://IMAGE",
         "pods that sleep, for toprun run --in JOB and toprun shell --attach JOB"}},
       {script},
       {script_grammar, file_grammar},
       {"--nodes", "--gpus-per-node", "--time", "--partition", "--account", "--after", "--log-dir",
        "--follow", "--dry-run"}},
      {Command::shell,
       "shell",
       "Opens a shell on the first node of a new allocation. In that shell, toprun uses all nodes.",
       {{"toprun shell -N 2 --gpus-per-node 4 -t 60", "then, in it: toprun train.py"},
        {"toprun shell -q debug -A NAME --gres gpu:2 -c 40", "one node, with Slurm's own options"},
        {"toprun shell --attach 1234", "on the first node of a running job"},
        {"toprun shell --attach dev/1", "in the second pod of a Kubernetes job"}},
       {},
       {shell_grammar, file_grammar},
       {"--nodes", "--gpus-per-node", "--time", "--partition", "--account", "--attach",
        "--dry-run"}},
      {Command::setup,
       "setup",
       "Builds a virtual environment or an image in a job, on a node of the kind that will use it.",
       {{"toprun setup -C a100 --modules python/3.11.2,cuda/12.4 --venv env torch",
         "in a job on such a node, with these modules"},
        {"toprun submit --after setup --venv env -N 4 train.py",
         "waits for it and loads the same modules"},
        {"toprun setup --follow --venv env -r requirements.txt", "shows what pip prints"},
        {"toprun setup --on local --venv env -r requirements.txt", "here, without a job"},
        {"toprun setup --container t.sif --from docker://pytorch/pytorch",
         "an image, by Apptainer"}},
       {{"PACKAGE", Count::any, "PACKAGE", ""}},
       {setup_grammar, file_grammar},
       {"--venv", "--requirement", "--modules", "--import", "--time", "--partition", "--constraint",
        "--follow", "--dry-run"}},
  };
  return lines;
}

const std::vector<CommandLine>& lines_about_jobs() {
  static const std::vector<CommandLine> lines = {
      {Command::jobs,
       "jobs",
       "Shows your waiting and running jobs, and why they wait.",
       {{"toprun jobs --all", ""}, {"toprun jobs --recent", "what has ended, and why"}}},
      {Command::status,
       "status",
       "Shows one job: its state and the reason, its nodes and ranks, its files.",
       {{"toprun status 17", ""},
        {"toprun status", "your latest job in this folder"},
        {"toprun status report.json", "by the file of --report"}},
       {{"JOB", Count::at_most_one, "ID|FILE",
         "Its id as `toprun jobs` shows it, or the file of its --report; without it the job that "
         "you submitted last from this folder"}}},
      {Command::logs,
       "logs",
       "Shows what a job has printed: each host's file, then what only the engine's file has.",
       {{"toprun logs -f 17", "until the job ends"},
        {"toprun logs --rank 3 17", "one rank's files"}},
       {{"ID", Count::at_most_one, "ID",
         "As `toprun jobs` shows it: 17, or 12_3 for an array's task; without it the job that you "
         "submitted last from this folder"}},
       {"Lines of several hosts begin with the host's name. Of a job that has failed the last "
        "line, on stderr, says what broke."}},
      {Command::stacks,
       "stacks",
       "Shows what every rank of a running job does, with its Python stack; ranks in the "
       "same place are one entry. The job does not stop or change.",
       {{"toprun stacks 17", "a Slurm job, by its id"},
        {"toprun stacks report.json", "any other, by the file of its --report"},
        {"toprun stacks", "the only job of yours whose root agent is on this host"},
        {"toprun stacks --dumps ~/.cache/torch", "which ranks were behind when a job timed out"}},
       {{"JOB", Count::at_most_one, "ID|FILE|PID",
         "Its id as `toprun jobs` shows it, the file of its --report, or its process on the "
         "root's host, such as $! of a shell"}}},
      {Command::report,
       "report",
       "Shows what happened in a job, from its report: every attempt, which ranks failed, the "
       "nodes in "
       "their order. Prints JSON, or one HTML file.",
       {{"toprun report 17 --html -o 17.html", ""},
        {"toprun report report.json --html > job.html", "from the file of --report"}},
       {{"JOB", Count::one, "ID|FILE", reported_job}}},
      {Command::top,
       "top",
       "Shows a running job live on the terminal: its ranks by rack and node and what they use, "
       "which nodes "
       "it waits for while it starts, failures as they happen.",
       {{"toprun top 17", "a Slurm job, by its id"},
        {"toprun top", "the only job of yours whose root agent is on this host"},
        {"toprun top --json 17 | head -1", "one picture, for programs"}},
       {{"JOB", Count::at_most_one, "ID|FILE|PID",
         "Its id as `toprun jobs` shows it, the file of its --report, or its process on the "
         "root's host, such as $! of a shell"}},
       {"? shows the keys. Without a terminal it prints one picture and ends."}},
      {Command::eta,
       "eta",
       "Shows when waiting jobs are expected to start, and what they wait for.",
       {{"toprun eta 17", ""}},
       {{"ID", Count::at_most_one, "ID", "One job; without it all your waiting jobs"}}},
      {Command::cancel,
       "cancel",
       "Ends waiting or running jobs, or sends them a signal.",
       {{"toprun cancel 17 12_3", ""},
        {"toprun cancel --signal USR1 17", "the ranks' handlers run, the job goes on"}},
       {{"ID", Count::some, "ID",
         "As `toprun jobs` shows it: 17, 12_3 for an array's task, 12_[4-9] for several"}}},
      {Command::grow,
       "grow",
       "Lets the waiting nodes join a job that runs with --nnodes MIN:MAX --grow on-signal; all "
       "its workers restart.",
       {{"toprun grow 17", ""}},
       {{"JOB", Count::one, "ID|FILE",
         "Its id as `toprun jobs` shows it, or the file of its --report"}}},
      {Command::cluster,
       "cluster",
       "Shows Slurm's partitions, or the node pools of Kubernetes or Run:AI, and what is free in "
       "them; queues and projects; the largest sets of idle nodes that are close to each other; "
       "file systems and their free space.",
       {{"toprun cluster", ""}, {"toprun cluster --on runai", "its projects too"}},
       {},
       {launch_grammar}},
  };
  return lines;
}

const std::vector<CommandLine>& lines_about_networks() {
  static const std::vector<CommandLine> lines = {
      {Command::topo,
       "topo",
       "Shows the network, the order that toprun gives the nodes, and what that order costs.",
       {{"toprun topo show --topology racks.txt", "the domains of a file"}},
       {{"VERB", Count::one, "", ""}}},
      {Command::topo_show,
       "topo show",
       "Shows the domains of the network, how many nodes each holds, and what is not known.",
       {{"toprun topo show --topology racks.txt", ""}},
       {},
       {launch_grammar, unnamed_hosts}},
      {Command::topo_order,
       "topo order",
       "Shows the job's nodes in topology order, with their ranks and what the order saves.",
       {{"toprun topo order --topology racks.txt --hosts 'n[0-7]' --nproc-per-node 8", ""},
        {"toprun topo order --nproc-per-node 8 --format slurm > order", ""},
        {"SLURM_HOSTFILE=order srun -n 64 ./program", "ranks in that order"}},
       {},
       {launch_grammar, unnamed_hosts}},
      {Command::topo_draw,
       "topo draw",
       "Draws the network's domains and the ring that the order of the nodes makes.",
       {{"toprun topo draw --topology racks.txt -o ring.svg", ""},
        {"toprun topo draw --topology racks.txt --nproc-per-node 8 --parallel tp=8,pp=4 -o "
         "ring.png",
         ""},
        {"toprun topo draw --topology racks.txt --order given --format dot | dot -Tpdf > ring.pdf",
         ""}},
       {},
       {launch_grammar, unnamed_hosts}},
      {Command::topo_score,
       "topo score",
       "Shows what an order of the nodes costs: the given one, by name, torchrun's and toprun's.",
       {{"toprun topo score --topology racks.txt --hosts 'n[0-7]' --link rack=400", ""}},
       {},
       {launch_grammar, unnamed_hosts}},
      {Command::topo_convert,
       "topo convert",
       "Writes the network in a form that Slurm or Kubernetes reads.",
       {{"toprun topo convert --topology fabric.txt -o topology.conf", ""},
        {"toprun topo convert --topology racks.txt --to labels | kubectl apply -f -", ""}},
       {},
       {launch_grammar, unnamed_hosts}},
      {Command::net,
       "net",
       "Shows which network of this machine a job uses, and which NCCL_* variables toprun sets for "
       "it.",
       {{"toprun net show", "its RDMA ports and interfaces"}},
       {{"VERB", Count::one, "", ""}}},
      {Command::net_show,
       "net show",
       "Shows the machine's RDMA ports and network interfaces, which of them a job uses, and why "
       "not the "
       "others.",
       {{"toprun net show", ""},
        {"toprun net show --to node8", "with the route to that node of the job"},
        {"toprun net show --root sos/node7", "a copy of its /sys"}}},
      {Command::net_env,
       "net env",
       "Shows the variables that toprun sets here for NCCL, Gloo and UCX in a job of several "
       "machines, and why. Variables that you set yourself stay.",
       {{"toprun net env", ""}, {"eval \"$(toprun net env --shell)\"", "the same in a shell"}}},
      {Command::bench,
       "bench",
       "Measures a collective between the ranks of a job, which starts like any other: how long "
       "it takes, and the bandwidths algbw and busbw as nccl-tests defines them. The ranks use TCP "
       "connections of their own, in a ring where the collective has one. toprun help bench pairs, "
       "bench compare, bench import and bench history tell how to find a slow node and what to do "
       "with files.",
       {{"toprun bench all_reduce --nproc-per-node 4", "four ranks here, 32 MiB"},
        {"srun -N 8 toprun bench all_reduce -b 8 -e 1G -f 2",
         "eight nodes, sizes from 8 B to 1 GiB"},
        {"toprun bench all_reduce --hosts 'n[0-7]' --orders topology,hostname",
         "two orders of the ranks, alternating"}},
       {{"COLLECTIVE", Count::one,
         "all_reduce|all_gather|reduce_scatter|broadcast|reduce|alltoall|sendrecv|gather|scatter|"
         "barrier",
         "One of these"}},
       {"Long options may be written with underscores. Besides those of the measurement it takes "
        "the "
        "options of a launch, by their long names.",
        file_grammar},
       {"--minbytes", "--maxbytes", "--stepfactor", "--iters", "--orders", "--nodes", "--format",
        "--save", "--nproc-per-node", "--nnodes", "--hosts"}},
      {Command::bench_pairs,
       "bench pairs",
       "Measures the job's ranks in pairs, many pairs at the same time, and says which node, "
       "uplink or link hangs or is slower than others of its kind, and in which direction. The "
       "exit "
       "code tells whether there is one.",
       {{"srun -N 64 --ntasks-per-node 1 toprun bench pairs --nproc-per-node 1", "64 nodes"},
        {"toprun bench pairs --hosts 'n[0-7]' --nproc-per-node 1 --exclude-bad bad", "by ssh"}},
       {},
       {"Long options may be written with underscores. Besides those of the measurement it takes "
        "the "
        "options of a launch, by their long names.",
        file_grammar},
       {"--minbytes", "--iters", "--rounds", "--exclude-bad", "--nproc-per-node", "--nnodes",
        "--hosts"}},
      {Command::bench_compare,
       "bench compare",
       "Shows which figures differ between two files by more than their own spread. It compares "
       "rows "
       "that agree in size, type, operation and root. Output of nccl-tests has no spread: then "
       "only less than 75 % of the speed before counts as slower, a line says what could not be "
       "judged, and --fail-below RATIO sets another limit.",
       {{"toprun bench compare before.json after.json", ""},
        {"toprun bench compare before.log after.log --fail-below 0.9", "of nccl-tests' output"}},
       {{"BEFORE", Count::one, "FILE", "A file that bench import reads"},
        {"AFTER", Count::one, "FILE", "A file of the same collectives"}}},
      {Command::bench_import,
       "bench import",
       "Reads the results of toprun bench --save, nccl-tests (its printed table or its "
       "JSON), all_reduce_bench.py or SuperBench.",
       {{"toprun bench import all_reduce_perf.log --format markdown", ""}},
       {{"FILE", Count::one, "FILE", "The file; toprun recognizes its kind by the content"}}},
      {Command::bench_history,
       "bench history",
       "Compares each result that bench --history recorded with the median of the "
       "earlier "
       "ones. Reads bench.jsonl in $XDG_STATE_HOME/toprun or ~/.local/state/toprun.",
       {{"toprun bench history --plot history.svg", ""}},
       {{"FILE", Count::at_most_one, "FILE", "Another file of that kind"}}},
      {Command::doctor,
       "doctor",
       "Finds what is wrong with this machine, or with a job's hosts, for distributed training: "
       "RDMA "
       "ports and GIDs, limits, shared memory, ports, names, GPUs. Starts no job and sends no "
       "traffic. It also compares the hosts and names one that differs from the others.",
       {{"toprun doctor", "this machine, or all nodes of the allocation around it"},
        {"toprun doctor --hosts 'n[0-511]'", "these hosts, by ssh"},
        {"toprun doctor --fix", "the commands that fix it"}}},
  };
  return lines;
}

const std::vector<CommandLine>& lines_about_toprun() {
  static const std::vector<CommandLine> lines = {
      {Command::config,
       "config",
       "Shows or writes the settings in toprun.toml.",
       {{"toprun config show submit", "every setting that a submission uses"}},
       {{"VERB", Count::one, "", ""}}},
      {Command::config_show,
       "config show",
       "Shows which settings a verb takes from files and variables, and from where.",
       {{"toprun config show submit --profile debug", ""}},
       {{"VERB", Count::at_most_one, "run|submit|shell|setup", "One of these; without it run"}}},
      {Command::config_init,
       "config init",
       "Writes a toprun.toml for this cluster: for Slurm its partitions, GPUs and limits, "
       "of "
       "Kubernetes its pools, operators, queues and claims, of Run:AI its pools and projects.",
       {{"toprun config init", ""}, {"toprun config init --on runai", ""}}},
      {Command::store,
       "store",
       "Serves PyTorch's TCPStore without a job.",
       {{"toprun store --port 29500 --max-memory 1G", ""}},
       {},
       {"Sizes in bytes may end in K, M or G."}},
      {Command::completion,
       "completion",
       "Prints a shell completion script for toprun's verbs, options, jobs and partitions.",
       {{"eval \"$(toprun completion bash)\"", "in ~/.bashrc"},
        {"eval \"$(toprun completion zsh)\"", "in ~/.zshrc, after compinit"},
        {"toprun completion fish > ~/.config/fish/conf.d/toprun.fish",
         "once; behind srun and mpirun too"},
        {"toprun completion tcsh >> ~/.tcshrc", "once"}},
       {{"SHELL", Count::one, "bash|zsh|fish|tcsh", "One of these"}}},
      {Command::man,
       "man",
       "Prints the manual page of toprun and all of its verbs.",
       {{"toprun man | man -l -", "read it"},
        {"toprun man > ~/.local/share/man/man1/toprun.1", "then: man toprun"}}},
      {Command::help,
       "help",
       "Shows the help of toprun or of one of its verbs.",
       {{"toprun help submit", "the same as toprun submit --help"}, {"toprun help topo order", ""}},
       {{"VERB", Count::any, "", "A verb; after topo, net, bench or config one of theirs"}}},
      {Command::version, "version", "Shows the version of toprun.", {{"toprun version -v", ""}}},
  };
  return lines;
}

}  // namespace

std::span<const CommandLine> command_lines() {
  static const std::vector<CommandLine> all = [] {
    std::vector<CommandLine> lines;
    for (const auto* part : {&lines_of_launchers(), &lines_about_jobs(), &lines_about_networks(),
                             &lines_about_toprun()}) {
      lines.insert(lines.end(), part->begin(), part->end());
    }
    return lines;
  }();
  return all;
}

const CommandLine& line_of(Command command) {
  return *std::ranges::find(command_lines(), command, &CommandLine::command);
}

std::string full_name(const CommandLine& line) {
  if (line.command == Command::torchrun) return "torchrun";
  return line.name.empty() ? "toprun" : fmt::format("toprun {}", line.name);
}

bool ends_at_first_operand(Command command) {
  const Commands those =
      of(Command::torchrun, Command::run, Command::submit, Command::shell, Command::setup);
  return (those & of(command)) != 0;
}

}  // namespace toprun::options
