#include "engines/slurm/own_job.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/process/command.h"
#include "base/text/text.h"
#include "engines/engine.h"
#include "engines/slurm/scontrol_record.h"
#include "engines/slurm/variables.h"

namespace toprun::engines::slurm {
namespace {

// srun takes the program's name, salloc and sbatch --wrap these.
constexpr std::array<std::string_view, 3> unchosen = {"toprun", "interactive", "wrap"};

}  // namespace

std::optional<std::string> own_job_id(const Environment& environment) {
  const auto number = environment.non_empty("SLURM_JOB_ID");
  const auto array = environment.non_empty("SLURM_ARRAY_JOB_ID");
  const auto task = environment.non_empty("SLURM_ARRAY_TASK_ID");
  return number && array && task ? *array + '_' + *task : number;
}

std::optional<std::string> own_job_name(const Environment& environment) {
  if (!environment.has("SLURM_JOB_ID")) return std::nullopt;
  auto name = environment.non_empty("SLURM_JOB_NAME");
  if (name && std::ranges::find(unchosen, *name) != unchosen.end()) return std::nullopt;
  return name;
}

std::vector<std::string> other_nodes_of_own_job(const Environment& environment,
                                                const std::vector<std::string>& nodes) {
  if (!environment.has("SLURM_JOB_ID")) return {};
  auto others = job_nodes(environment);
  if (!others) return {};
  std::erase_if(*others, [&](const std::string& node) {
    return std::ranges::find(nodes, node) != nodes.end();
  });
  return *std::move(others);
}

std::optional<WallTime> job_end_in(std::string_view job, const Environment& environment) {
  const Record record(job);
  if (record.get("TimeLimit") == "UNLIMITED") return std::nullopt;
  if (!record.get("JobId").empty()) return moment(record.get("EndTime"));
  const auto seconds = parse_int(environment.get("SLURM_JOB_END_TIME").value_or(""));
  // A job without a limit gets a time in the far future, or the time a year after its start.
  constexpr std::int64_t latest = 1LL << 32;
  constexpr std::int64_t year = 365 * 24 * 3'600;
  if (!seconds || *seconds <= 0 || *seconds >= latest) return std::nullopt;
  const auto began = parse_int(environment.get("SLURM_JOB_START_TIME").value_or(""));
  if (began && *seconds - *began == year) return std::nullopt;
  return WallTime(std::chrono::seconds(*seconds));
}

std::optional<WallTime> own_job_end(const Environment& environment) {
  const auto id = environment.non_empty("SLURM_JOB_ID");
  if (!id) return std::nullopt;
  const auto shown =
      process::output_of({"scontrol", "show", "job", "-o", *id}, environment, engine_answer_limit);
  return job_end_in(shown.value_or(""), environment);
}

}  // namespace toprun::engines::slurm
