#include "cli/options/command_lines.h"

#include <fmt/format.h>

#include <algorithm>

namespace toprun::options {
namespace {

using Count = Operand::Count;

constexpr Operand script = {"SCRIPT", Count::script, "SCRIPT", ""};
constexpr const char* reported_job =
    "Job id as in `toprun jobs`, or the file of the job's --report (default: the job that you "
    "submitted last from this folder)";

constexpr std::string_view setup_grammar =
    "Write the options before the first PACKAGE; a PACKAGE is anything that pip can install. Long "
    "options may be written with underscores. If an option is not on the command line, the "
    "variable in brackets sets the option. pip reads its index and proxies from its own variables "
    "and pip.conf.";
constexpr std::string_view shell_grammar =
    "Long options may be written with underscores. If an option is not on the command line, the "
    "variable in brackets sets the option.";
constexpr std::string_view script_grammar =
    "Long options may be written with underscores, and torchrun's options may be shortened if they "
    "stay unambiguous. If an option is not on the command line, the variable in brackets sets the "
    "option. Everything after SCRIPT goes to the script unchanged. If the script has a verb's "
    "name, such as topo, write -- topo or ./topo.";
constexpr std::string_view file_grammar =
    "An option that is not set elsewhere comes from the first toprun.toml that sets it: the file "
    "in this folder or in the nearest folder above it, the user's file, the system's file. `toprun "
    "config show` shows the options that are set, and where.";
constexpr std::string_view launch_grammar =
    "An option that is not on the command line comes from the variable in brackets, else from "
    "toprun.toml. `--topology -` reads the topology from standard input.";
constexpr std::string_view unnamed_hosts =
    "Without --hosts, toprun uses the hosts of the Slurm job, or else all hosts of the topology.";

const std::vector<CommandLine>& lines_of_launchers() {
  static const std::vector<CommandLine> lines = {
      {Command::run,
       "",
       "Starts a distributed PyTorch job. Every option of torchrun works.",
       {{"toprun train.py --epochs 3", "one process per GPU of this machine"},
        {"toprun --nproc-per-node 4 train.py", "four processes here"},
        {"srun -N 8 toprun train.py", "eight nodes, ranks in network order"},
        {"toprun submit --nodes 8 train.py", "the same as a Slurm job"},
        {"toprun --hosts 'a,b[3-9]' train.py", "on these hosts, started by ssh"},
        {"toprun --container pytorch.sif train.py", "in a container on each node"},
        {"toprun --via mpirun --hosts a,b train.py", "on these hosts, started by mpirun"},
        {"toprun --in dev train.py", "in the sleeping pods of a job"},
        {"toprun -m package.train", "a module instead of a file"},
        {"toprun --no-python ./program", "a program that is not Python"},
        {"toprun --nnodes 2 --node-rank R --rdzv-backend c10d --rdzv-endpoint HOST train.py",
         "by hand, on every node; R is 0, 1 …"}},
       {script},
       {script_grammar, file_grammar},
       {"--nproc-per-node", "--nnodes", "--order", "--dry-run", "--verbose"}},
      {Command::torchrun,
       "torchrun",
       "This is toprun under torchrun's name. It has torchrun's options and no verbs.",
       {{"torchrun --nproc-per-node 4 train.py", "four processes here"},
        {"torchrun --nnodes 2 --node-rank R --master-addr HOST --master-port 29500 train.py",
         "on both nodes; R is 0 on one node and 1 on the other"}},
       {script},
       {script_grammar},
       {"--nproc-per-node", "--nnodes", "--order", "--log-dir", "--dry-run", "--verbose"}},
      {Command::submit,
       "submit",
       "Writes a batch script that runs SCRIPT with toprun, and submits it. The batch script stays "
       "in the log folder. Slurm's options become its #SBATCH lines, and its last line calls "
       "toprun with the options of `toprun run`.",
       {{"toprun submit -N 8 --gpus-per-node 8 -t 2:00:00 train.py --epochs 3",
         "eight nodes for two hours"},
        {"toprun submit --dry-run -N 8 train.py",
         "the exact script, and the reasons for its lines"},
        {"id=$(toprun submit -N 1 prepare.py)", "the job's id, for the next line"},
        {"toprun submit --after $id -N 8 train.py",
         "starts when that job has ended with exit code 0"},
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
       {{"toprun shell -N 2 --gpus-per-node 4 -t 60", "in that shell, type: toprun train.py"},
        {"toprun shell -q debug -A NAME --gres gpu:2 -c 40", "one node, with Slurm's own options"},
        {"toprun shell --attach 1234", "on the first node of a running job"},
        {"toprun shell --attach dev/1", "in the second pod of a Kubernetes job"}},
       {},
       {shell_grammar, file_grammar},
       {"--nodes", "--gpus-per-node", "--time", "--partition", "--account", "--attach", "--on",
        "--dry-run"}},
      {Command::setup,
       "setup",
       "Builds a virtual environment or an image in a job, on the kind of node that will use the "
       "result.",
       {{"toprun setup -C a100 --modules python/3.11.2,cuda/12.4 --venv env torch",
         "in a job on a node with an A100, with these modules"},
        {"toprun submit --after setup --venv env -N 4 train.py",
         "waits for that job and loads the same modules"},
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
       "Shows your waiting and running jobs, and why jobs wait.",
       {{"toprun jobs --all", ""}, {"toprun jobs --recent", "jobs that have ended, and why"}}},
      {Command::status,
       "status",
       "Shows one job: its state and the reason for it, its nodes, ranks and files.",
       {{"toprun status 17", ""},
        {"toprun status", "your latest job in this folder"},
        {"toprun status report.json", "a job, by the file of the job's --report"}},
       {{"JOB", Count::at_most_one, "ID|FILE", reported_job}}},
      {Command::logs,
       "logs",
       "Shows what a job has printed: the output file of each host, then the lines that only "
       "Slurm's output file or the pods' logs contain.",
       {{"toprun logs -f 17", "until the job ends"},
        {"toprun logs --rank 3 17", "one rank's files"}},
       {{"ID", Count::at_most_one, "ID",
         "Job id as in `toprun jobs`: 17, or 12_3 for a task of an array (default: the job that "
         "you submitted last from this folder)"}},
       {"With several hosts, each line begins with its host's name. If the job has failed, the "
        "last line, on stderr, states the cause."}},
      {Command::stacks,
       "stacks",
       "Shows what every rank of a running job does, with its Python stack. Ranks with the same "
       "stack share one entry. The job does not stop or change.",
       {{"toprun stacks 17", "a Slurm job, by its id"},
        {"toprun stacks report.json", "any other job, by the file of the job's --report"},
        {"toprun stacks", "your job, if it is the only one whose first node is this host"},
        {"toprun stacks --dumps ~/.cache/torch", "which ranks were behind when a job timed out"}},
       {{"JOB", Count::at_most_one, "ID|FILE|PID",
         "Job id as in `toprun jobs`, the file of the job's --report, or the process id of toprun "
         "on the job's first node ($! in the shell after `toprun ... &`)"}}},
      {Command::report,
       "report",
       "Shows what happened in a job, from its report: every attempt, the ranks that failed, and "
       "the nodes in their order. Prints JSON or, with --html or "
       "-o FILE.html, one HTML page.",
       {{"toprun report 17 -o 17.html", "an HTML page, because the name ends in .html"},
        {"toprun report", "your latest job in this folder"},
        {"toprun report report.json --html > job.html", "from a report file"}},
       {{"JOB", Count::at_most_one, "ID|FILE", reported_job}}},
      {Command::top,
       "top",
       "Shows a running job live on the terminal: its ranks by rack and node, the resources that "
       "they use, the nodes that have not arrived yet, and failures when they happen.",
       {{"toprun top 17", "a Slurm job, by its id"},
        {"toprun top", "your job, if it is the only one whose first node is this host"},
        {"toprun top --json 17 | head -1", "one snapshot, for programs"}},
       {{"JOB", Count::at_most_one, "ID|FILE|PID",
         "Job id as in `toprun jobs`, the file of the job's --report, or the process id of toprun "
         "on the job's first node ($! in the shell after `toprun ... &`)"}},
       {"Press ? to list the keys. Without a terminal, `toprun top` prints one snapshot and "
        "exits."}},
      {Command::eta,
       "eta",
       "Shows when waiting jobs are expected to start, and what they wait for.",
       {{"toprun eta 17 12_3", ""}},
       {{"ID", Count::any, "ID", "Job id as in `toprun jobs` (default: all your waiting jobs)"}}},
      {Command::cancel,
       "cancel",
       "Ends waiting or running jobs, or sends them a signal. The ranks of a running job get "
       "SIGTERM. After the job's --shutdown-timeout (25 s if it is not set), toprun kills the "
       "ranks that have not ended. Slurm kills them earlier if its limit KillWait is shorter.",
       {{"toprun cancel 17 12_3", ""},
        {"toprun cancel --signal USR1 17", "the ranks' signal handlers run, the job continues"}},
       {{"ID", Count::some, "ID",
         "Job id as in `toprun jobs`: 17, 12_3 for a task of an array, or 12_[4-9] for several "
         "tasks"}}},
      {Command::grow,
       "grow",
       "Lets the waiting nodes join a job that runs with --nnodes MIN:MAX --grow on-signal. All "
       "workers of the job restart.",
       {{"toprun grow 17", ""}},
       {{"JOB", Count::one, "ID|FILE",
         "Job id as in `toprun jobs`, or the file of the job's --report"}}},
      {Command::cluster,
       "cluster",
       "Shows Slurm's partitions, or the node pools of Kubernetes or Run:AI, and their free nodes. "
       "It also shows queues and projects, the largest sets of idle nodes that are close to each "
       "other in the network, and file systems with their free space.",
       {{"toprun cluster", ""}, {"toprun cluster --on runai", "also Run:AI's projects"}},
       {},
       {launch_grammar}},
  };
  return lines;
}

const std::vector<CommandLine>& lines_about_networks() {
  static const std::vector<CommandLine> lines = {
      {Command::topo,
       "topo",
       "Shows the network, the order in which toprun numbers the nodes, and what that order costs.",
       {{"toprun topo show --topology racks.txt", "the domains in this file"}},
       {{"VERB", Count::one, "", ""}}},
      {Command::topo_show,
       "topo show",
       "Shows the domains of the network, the number of nodes in each, and what is "
       "unknown about them.",
       {{"toprun topo show --topology racks.txt", ""}},
       {},
       {launch_grammar, unnamed_hosts}},
      {Command::topo_order,
       "topo order",
       "Shows the job's nodes in topology order, with their ranks and what the order saves.",
       {{"toprun topo order --topology racks.txt --hosts 'n[0-7]' --nproc-per-node 8", ""},
        {"toprun topo order --nproc-per-node 8 --format slurm > order", ""},
        {"SLURM_HOSTFILE=order srun -n 64 ./program", "ranks in the order of this file"}},
       {},
       {launch_grammar, unnamed_hosts}},
      {Command::topo_draw,
       "topo draw",
       "Draws the network's domains and the ring through the nodes in their order.",
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
       "Compares the costs of four orders of the nodes: the given order, the order by name, "
       "torchrun's order and toprun's order.",
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
       "this network.",
       {{"toprun net show", "this machine's RDMA ports and interfaces"}},
       {{"VERB", Count::one, "", ""}}},
      {Command::net_show,
       "net show",
       "Shows the machine's RDMA ports and network interfaces, which of them a job uses, and why "
       "it does not use the others.",
       {{"toprun net show", ""},
        {"toprun net show --to node8", "with the route to node8"},
        {"toprun net show --root sos/node7", "from a copy of node7's /sys"}}},
      {Command::net_env,
       "net env",
       "Shows the variables that toprun sets here for NCCL, Gloo and UCX in a job of several "
       "machines, and why. Variables that you set yourself stay unchanged.",
       {{"toprun net env", ""},
        {"eval \"$(toprun net env --shell)\"", "sets the variables in this shell"}}},
      {Command::bench,
       "bench",
       "Measures a collective between the ranks of a job: its time, and the bandwidths algbw and "
       "busbw as nccl-tests defines them. The ranks start as with `toprun run`: on this machine, "
       "under srun, or on the hosts of --hosts. With --backend tcp, the ranks use TCP connections "
       "of their own, in a ring if the collective can use one. See `toprun help bench pairs` to "
       "find a slow node, and `toprun help bench compare`, `toprun help bench import` and `toprun "
       "help bench history` to work with files of results.",
       {{"toprun bench all_reduce --nproc-per-node 4", "four ranks here, 32 MiB"},
        {"srun -N 8 toprun bench all_reduce -b 8 -e 1G -f 2",
         "eight nodes, sizes from 8 B to 1 GiB"},
        {"toprun bench all_reduce --hosts 'n[0-7]' --orders topology,hostname",
         "two orders of the ranks, alternating"}},
       {{"COLLECTIVE", Count::one,
         "all_reduce|all_gather|reduce_scatter|broadcast|reduce|alltoall|sendrecv|gather|scatter|"
         "barrier",
         "One of these"}},
       {"Long options may be written with underscores. The options of `toprun run` work too, but "
        "the letters -e and -r have the meanings that are listed here. nccl-tests' options -g "
        "(GPUs) and -t (threads) do not exist: toprun starts one rank for each GPU, and -t means "
        "--tee.",
        file_grammar},
       {"--minbytes", "--maxbytes", "--stepfactor", "--iters", "--orders", "--nodes", "--format",
        "--save", "--nproc-per-node", "--nnodes", "--hosts"}},
      {Command::bench_pairs,
       "bench pairs",
       "Measures the job's ranks in pairs, many pairs at the same time, over TCP connections of "
       "toprun's own. Prints which node, uplink or link hangs or is slower than others of its "
       "kind, and in which direction. The exit code shows whether there is such a node, uplink or "
       "link.",
       {{"srun -N 64 --ntasks-per-node 1 toprun bench pairs --nproc-per-node 1", "64 nodes"},
        {"toprun bench pairs --hosts 'n[0-7]' --nproc-per-node 1 --exclude-bad bad", "by ssh"}},
       {},
       {"Long options may be written with underscores. The options of a launch work too.",
        file_grammar},
       {"--minbytes", "--iters", "--rounds", "--exclude-bad", "--nproc-per-node", "--nnodes",
        "--hosts"}},
      {Command::bench_compare,
       "bench compare",
       "Shows which results differ between two files. Compares rows with the same size, type, "
       "operation and root. Two runs without a change may differ by more than their iterations, so "
       "a result counts as slower only if its 95 % interval is below 75 % of its earlier speed; "
       "--fail-below RATIO sets another limit. Output of nccl-tests has no spread, so for it the "
       "ratio itself decides, and a line names the results that could not be judged.",
       {{"toprun bench compare before.json after.json", ""},
        {"toprun bench compare before.log after.log --fail-below 0.9",
         "two outputs of nccl-tests"}},
       {{"BEFORE", Count::one, "FILE", "A file that `toprun bench import` can read"},
        {"AFTER", Count::one, "FILE", "A file with results of the same collectives"}}},
      {Command::bench_import,
       "bench import",
       "Reads the results of toprun bench --save, nccl-tests (its printed table or its "
       "JSON), all_reduce_bench.py or SuperBench.",
       {{"toprun bench import all_reduce_perf.log --format markdown", ""}},
       {{"FILE", Count::one, "FILE",
         "File with results; toprun recognizes its format by the content"}}},
      {Command::bench_history,
       "bench history",
       "Compares each result that `toprun bench --history` recorded with the median of the earlier "
       "results on the same hosts. Reads bench.jsonl in $XDG_STATE_HOME/toprun, or else in "
       "~/.local/state/toprun.",
       {{"toprun bench history --plot history.svg", ""}},
       {{"FILE", Count::at_most_one, "FILE", "Another file to read instead of bench.jsonl"}}},
      {Command::doctor,
       "doctor",
       "Finds problems of this machine, or of a job's hosts, that affect distributed training: "
       "RDMA ports and GIDs, resource limits, /dev/shm, TCP ports, host name lookup, GPUs. Starts "
       "no job and sends no traffic. It also compares the hosts and names each host that differs "
       "from the others.",
       {{"toprun doctor", "this machine, or in an allocation all of its nodes"},
        {"toprun doctor --hosts 'n[0-511]'", "these hosts, by ssh"},
        {"toprun doctor --fix", "prints the commands that fix the problems"}}},
  };
  return lines;
}

const std::vector<CommandLine>& lines_about_toprun() {
  static const std::vector<CommandLine> lines = {
      {Command::config,
       "config",
       "Shows or writes the settings in toprun.toml.",
       {{"toprun config show submit", "the settings of `toprun submit`"}},
       {{"VERB", Count::one, "", ""}}},
      {Command::config_show,
       "config show",
       "Shows the settings that a verb reads from files and variables, and where each setting "
       "comes from.",
       {{"toprun config show submit --profile debug", ""}},
       {{"VERB", Count::at_most_one, "run|submit|shell|setup", "Verb (default: run)"}}},
      {Command::config_init,
       "config init",
       "Writes a toprun.toml for this cluster: for Slurm with its partitions, GPUs and limits, for "
       "Kubernetes with its pools, operators, queues and claims, for Run:AI with its pools and "
       "projects.",
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
         "once; completion also works after srun and mpirun"},
        {"toprun completion tcsh >> ~/.tcshrc", "once"}},
       {{"SHELL", Count::one, "bash|zsh|fish|tcsh", "One of these"}}},
      {Command::man,
       "man",
       "Shows the manual page of toprun or of one of its verbs. If the output is not a terminal, "
       "prints the page's man(7) source.",
       {{"toprun man submit", "read it"},
        {"toprun man -o ~/.local/share/man/man1",
         "after this, `man toprun` and `man toprun-submit` show the pages"}},
       {{"VERB", Count::any, "",
         "A verb, such as submit, or a verb and its subcommand, such as topo order (topo, net, "
         "bench and config have subcommands)"}}},
      {Command::help,
       "help",
       "Shows the help of toprun, of one of its verbs, or of one option.",
       {{"toprun help submit", "the same as toprun submit --help"},
        {"toprun help topo order", ""},
        {"toprun help --nnodes", "the option, for each verb that has it"},
        {"toprun help submit --nodes", "the option of this verb"}},
       {{"VERB", Count::any, "",
         "A verb, such as submit, or a verb and its subcommand, such as topo order (topo, net, "
         "bench and config have subcommands), or an option, such as --nnodes"}}},
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
