#include <array>

#include "cli/options/flag_rows.h"

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
          "Generic resources of each node, such as gpu:4"),
    slurm("--cpus-per-task", 'c', "N", "",
          "CPUs on each node (Slurm runs one task per node, toprun's agent)"),
    slurm("--mem", 0, "SIZE", "SBATCH_MEM_PER_NODE",
          "Memory of each node, such as 64G; 0 is all of it"),
    optional_value(slurm("--exclusive", 0, "user|mcs", "SBATCH_EXCLUSIVE",
                         "Do not share the nodes with other jobs")),
    slurm("--time", 't', "TIME", "SBATCH_TIMELIMIT", "Time limit: minutes, H:MM:SS or D-HH:MM:SS"),
    slurm("--partition", 'p', "PARTITION,...", "SBATCH_PARTITION", "Slurm partition to submit to"),
    slurm("--account", 'A', "NAME", "SBATCH_ACCOUNT", "Slurm account to charge"),
    slurm("--qos", 'q', "NAME", "SBATCH_QOS", "Quality of service of the job"),
    slurm("--constraint", 'C', "FEATURES", "SBATCH_CONSTRAINT",
          "Features that the nodes must have"),
    slurm("--reservation", 0, "NAME", "SBATCH_RESERVATION", "Slurm reservation to use"),
    slurm("--nodelist", 'w', "HOSTS", "", "Nodes that the job must get"),
    slurm("--exclude", 'x', "HOSTS", "", "Nodes that the job must not get"),
    only(nodes, slurm("--switches", 0, "N[@TIME]", "SBATCH_REQ_SWITCH",
                      "Maximum number of leaf switches that connect the job's nodes, if Slurm uses "
                      "topology/tree; when the job has waited for TIME, Slurm ignores this limit")),
    only(nodes, slurm("--contiguous", 0, "", "",
                      "Use nodes that are adjacent in Slurm's list of nodes; this option has an "
                      "effect only if Slurm has no topology plugin")),
    slurm("--job-name", 'J', "NAME", "SBATCH_JOB_NAME",
          "Name of the job in the queue (default: the script's name)"),
    slurm("--chdir", 'D', "DIR", "", "Folder in which the job runs (default: the current folder)"),
    slurm("--begin", 'b', "TIME", "", "Start the job at TIME or later, such as 16:00 or now+1hour"),
    slurm("--dependency", 'd', "TYPE:ID,...", "",
          "Start the job only after other jobs have started or ended, in the format of sbatch's "
          "option; the option --after has a simpler format"),
    slurm("--mail-type", 0, "EVENT,...", "",
          "Events about which Slurm sends mail, such as END,FAIL; possible values: NONE, BEGIN, "
          "END, FAIL, REQUEUE, ALL, INVALID_DEPEND, STAGE_OUT, TIME_LIMIT, TIME_LIMIT_90, "
          "TIME_LIMIT_80, TIME_LIMIT_50, ARRAY_TASKS"),
    slurm("--mail-user", 0, "ADDRESS", "", "Address that gets the mail"),
    only(of(Command::submit),
         slurm("--output", 'o', "PATTERN", "SBATCH_OUTPUT",
               "File for the batch script's output (default: LOGDIR/%x.%j.out)")),
    only(
        of(Command::submit),
        slurm(
            "--error", 0, "PATTERN", "SBATCH_ERROR",
            "File for the batch script's stderr (default: the file of the batch script's stdout)")),
    only(of(Command::submit), slurm("--array", 'a', "INDEXES", "SBATCH_ARRAY_INX",
                                    "Submit one job per index; 0-9%2 submits ten jobs, and at most "
                                    "two of them run at a time")),
    only(of(Command::submit),
         slurm("--signal", 0, "[B:]SIGNAL[@SECONDS]", "SBATCH_SIGNAL",
               "Send this signal to the workers SECONDS before the time limit")),
    only(batch, optional_value(
                    slurm("--requeue", 0, "expedite", "SBATCH_REQUEUE",
                          "Put the job back into the queue after a node failure or a preemption"))),
    only(of(Command::shell),
         slurm("--segment", 0, "N", "",
               "Keep each group of N nodes inside one block of Slurm's topology/block")),
    repeatable(only(allocations,
                    ours(FlagId::slurm_arg, "--slurm-arg", 0, "OPTION", "", Group::allocation,
                         "Any other option of Slurm's command, such as --slurm-arg=--nice=100"))),

    only(of(Command::submit), ours(FlagId::on, "--on", 0, "slurm|kubernetes|runai", "TOPRUN_ON",
                                   Group::submission, "Engine to submit to", "slurm")),
    only(of(Command::cluster, Command::config_init),
         ours(FlagId::on, "--on", 0, "slurm|kubernetes|runai", "TOPRUN_ON", Group::submission,
              "Engine that toprun asks about the cluster",
              "the first of these engines whose programs are installed")),
    only(of(Command::setup),
         ours(FlagId::on, "--on", 0, "slurm|local", "TOPRUN_ON", Group::submission,
              "Build the environment or image in a Slurm job, or at once on this machine",
              "slurm if sbatch is installed, else local")),
    of_one_call(repeatable(
        only(batch, ours(FlagId::after, "--after", 0, "ID[:ok|any|notok]", "", Group::submission,
                         "Start this job after the job ID has ended with exit code 0 (:ok, the "
                         "default), with any exit code (:any), or with a nonzero exit code "
                         "(:notok). The word `setup` as ID means the job of `toprun setup` that "
                         "builds the folder of --venv or the image of --container")))),
    only(batch, ours(FlagId::wait, "--wait", 'W', "", "", Group::submission,
                     "Wait until the job ends, then exit with the job's exit code")),
    only(batch,
         ours(FlagId::follow, "--follow", 0, "", "", Group::submission,
              "Show the job's output until the job ends, then exit with the job's exit code")),
    of_one_call(
        only(of(Command::shell),
             ours(FlagId::attach, "--attach", 0, "ID[/POD]", "", Group::submission,
                  "Open a shell on the first node of the running job ID, or in one of the job's "
                  "pods; POD is the pod's name or number (the first pod has number 0)"))),
    of_one_call(only(
        of(Command::submit),
        optional_value(
            ours(FlagId::job_dry_run, "--dry-run", 0, "client|server|json", "", Group::submission,
                 "Print what toprun would submit, and submit nothing; with =server toprun also "
                 "asks the engine whether it would accept the job, and when the job could start; "
                 "=json prints Kubernetes' object as JSON instead of YAML")))),
    of_one_call(
        only(allocations & ~of(Command::submit),
             optional_value(ours(FlagId::job_dry_run, "--dry-run", 0, "client|server", "",
                                 Group::submission,
                                 "Print what toprun would submit, and submit nothing; with =server "
                                 "toprun also asks Slurm whether and when the job could start")))),

};

}  // namespace

std::span<const Flag> allocation_rows() {
  return allocation_flags;
}

}  // namespace toprun::options
