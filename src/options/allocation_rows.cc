#include <array>

#include "options/flag_rows.h"

namespace toprun::options {
namespace {

// Options of sbatch and salloc with their names and meanings (sbatch(1)). A letter is left out if
// torchrun or toprun run uses it for an option that a job may need as well: -e, -m, -v.
constexpr Flag slurm(std::string_view name, char letter, std::string_view value,
                     std::string_view variable, std::string_view help) {
  return only(allocations,
              ours(FlagId::slurm_option, name, letter, value, variable, Group::allocation, help));
}

constexpr std::array allocation_flags = {
    against("nnodes", only(nodes, slurm("--nodes", 'N', "N|MIN-MAX", "", "Number of nodes"))),
    against("gpus gres",
            slurm("--gpus-per-node", 0, "[TYPE:]N", "SBATCH_GPUS_PER_NODE", "GPUs on each node")),
    against("gres", slurm("--gpus", 'G', "[TYPE:]N", "SBATCH_GPUS", "GPUs of the whole job")),
    slurm("--gres", 0, "NAME[:TYPE]:N,...", "SBATCH_GRES",
          "Other resources of each node, as gpu:4"),
    slurm("--cpus-per-task", 'c', "N", "", "CPUs on each node: one agent per node is the task"),
    slurm("--mem", 0, "SIZE", "SBATCH_MEM_PER_NODE", "Memory of each node, as 64G; 0 is all of it"),
    optional_value(slurm("--exclusive", 0, "user|mcs", "SBATCH_EXCLUSIVE",
                         "Whole nodes, shared with no other job")),
    slurm("--time", 't', "TIME", "SBATCH_TIMELIMIT", "Time limit: minutes, H:MM:SS or D-HH:MM:SS"),
    slurm("--partition", 'p', "PARTITION,...", "SBATCH_PARTITION", "The queue"),
    slurm("--account", 'A', "NAME", "SBATCH_ACCOUNT", "Who pays"),
    slurm("--qos", 'q', "NAME", "SBATCH_QOS", "Quality of service"),
    slurm("--constraint", 'C', "FEATURES", "SBATCH_CONSTRAINT",
          "Features that the nodes must have"),
    slurm("--reservation", 0, "NAME", "SBATCH_RESERVATION", "Nodes that are reserved for you"),
    slurm("--nodelist", 'w', "HOSTS", "", "Nodes that the job must get"),
    slurm("--exclude", 'x', "HOSTS", "", "Nodes that it must not get"),
    only(nodes,
         slurm("--switches", 0, "N[@TIME]", "SBATCH_REQ_SWITCH",
               "At most so many leaf switches, waited for no longer than TIME (topology/tree)")),
    only(nodes,
         slurm(
             "--contiguous", 0, "", "",
             "Neighbours in Slurm's list of nodes; does something without a topology plugin only")),
    slurm("--job-name", 'J', "NAME", "SBATCH_JOB_NAME", "Its name in the queue; else the script's"),
    slurm("--chdir", 'D', "DIR", "", "Where it runs; else the current directory"),
    slurm("--begin", 'b', "TIME", "", "Not before TIME, as 16:00 or now+1hour"),
    slurm("--dependency", 'd', "TYPE:ID,...", "",
          "Which jobs have to be in what state before; --after is shorter"),
    slurm("--mail-type", 0, "EVENT,...", "", "When to send mail, as END,FAIL"),
    slurm("--mail-user", 0, "ADDRESS", "", "Who gets it"),
    only(of(Command::submit),
         slurm("--output", 'o', "PATTERN", "SBATCH_OUTPUT",
               "Slurm's file for what the batch script prints; else LOGDIR/%x.%j.out")),
    only(of(Command::submit), slurm("--error", 0, "PATTERN", "SBATCH_ERROR",
                                    "The same for stderr; else both go to one file")),
    only(of(Command::submit), slurm("--array", 'a', "INDEXES", "SBATCH_ARRAY_INX",
                                    "Many jobs of one script, as 0-9%2; each a world of its own")),
    only(of(Command::submit), slurm("--signal", 0, "[B:]SIGNAL[@SECONDS]", "SBATCH_SIGNAL",
                                    "A signal to the workers so long before the time limit")),
    only(batch,
         optional_value(slurm("--requeue", 0, "expedite", "SBATCH_REQUEUE",
                              "Back into the queue after a node's failure or a preemption"))),
    only(of(Command::shell), slurm("--segment", 0, "N", "",
                                   "Keep groups of N nodes inside one block (topology/block)")),
    repeatable(
        only(allocations, ours(FlagId::slurm_arg, "--slurm-arg", 0, "OPTION", "", Group::allocation,
                               "Any other option of Slurm's command, as --slurm-arg=--nice=100"))),

    only(of(Command::submit), ours(FlagId::on, "--on", 0, "slurm|kubernetes|runai", "TOPRUN_ON",
                                   Group::submission, "The engine to submit to", "slurm")),
    only(of(Command::cluster, Command::config_init),
         ours(FlagId::on, "--on", 0, "slurm|kubernetes|runai", "TOPRUN_ON", Group::submission,
              "The engine to ask", "the first of them whose programs are there")),
    only(of(Command::setup), ours(FlagId::on, "--on", 0, "slurm|local", "TOPRUN_ON",
                                  Group::submission, "As a job of this engine, or here and now",
                                  "slurm where there is an sbatch, else local")),
    of_one_call(repeatable(
        only(batch, ours(FlagId::after, "--after", 0, "ID[:ok|any|notok]", "", Group::submission,
                         "Begin after that job has ended, with 0 unless it says otherwise; submit "
                         "also takes setup, for the job that builds this --venv or --container")))),
    only(batch, ours(FlagId::wait, "--wait", 'W', "", "", Group::submission,
                     "Wait for its end and leave with its exit code")),
    only(batch, ours(FlagId::follow, "--follow", 0, "", "", Group::submission,
                     "Show the job's output until its end and leave with its exit code")),
    of_one_call(
        only(of(Command::shell),
             ours(FlagId::attach, "--attach", 0, "ID[/POD]", "", Group::submission,
                  "A shell on the first node of a job that runs, or in a pod of it: by its name or "
                  "its number from 0"))),
    of_one_call(only(
        of(Command::submit),
        optional_value(
            ours(FlagId::job_dry_run, "--dry-run", 0, "client|server|json", "", Group::submission,
                 "Print what would be submitted; with =server ask the engine too whether "
                 "it would take it and when it could start; =json: Kubernetes' object "
                 "as JSON, not YAML")))),
    of_one_call(only(allocations & ~of(Command::submit),
                     optional_value(ours(FlagId::job_dry_run, "--dry-run", 0, "client|server", "",
                                         Group::submission,
                                         "Print what would be submitted; with =server ask Slurm "
                                         "too whether and when it could start")))),

};

}  // namespace

std::span<const Flag> allocation_rows() {
  return allocation_flags;
}

}  // namespace toprun::options
