#include "engines/slurm/shell.h"

#include "base/process/command.h"
#include "base/text/text.h"
#include "engines/slurm/facts.h"
#include "engines/slurm/script.h"

namespace toprun::engines {
namespace {

// A step of one task that leaves all resources to the steps that toprun starts beside it.
const std::vector<std::string> step_command = {
    "srun", "--nodes=1", "--ntasks=1", "--ntasks-per-node=1", "--pty", "--overlap", "--mpi=none"};

}  // namespace

std::vector<std::string> salloc_command(const JobRequest& request,
                                        const std::vector<std::string>& shell) {
  std::vector<std::string> command = {"salloc"};
  for (std::string& word : option_words(request)) command.push_back(std::move(word));
  command.insert(command.end(), step_command.begin(), step_command.end());
  command.insert(command.end(), {"--preserve-env", "env", "--unset=SLURM_STEP_ID",
                                 "--unset=SLURM_STEPID", "--unset=SLURM_PTY_PORT"});
  command.insert(command.end(), shell.begin(), shell.end());
  return command;
}

std::vector<std::string> attach_command(const std::vector<std::string>& job,
                                        const std::vector<std::string>& shell) {
  std::vector<std::string> command = step_command;
  command.insert(command.end(), job.begin(), job.end());
  command.insert(command.end(), shell.begin(), shell.end());
  return command;
}

std::optional<std::string> surrounding_job(const Environment& environment) {
  const auto id = environment.non_empty("SLURM_JOB_ID");
  if (!id) return std::nullopt;
  const auto state = process::output_of({"squeue", "--noheader", "--jobs=" + *id, "-o", "%T"},
                                        environment, slurm_answer_limit(environment));
  if (!state || trim(*state) != "RUNNING") return std::nullopt;
  return id;
}

}  // namespace toprun::engines
