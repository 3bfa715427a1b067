#include "node/agent/streams.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "node/output/lines.h"
#include "observe/report/report.h"

namespace toprun::agent {
namespace {

constexpr mode_t mode = 0666;  // less the umask

bool let_through(const plan::Options& options, int local_rank) {
  const auto& filter = options.local_ranks_filter;
  return !filter || std::ranges::find(*filter, local_rank) != filter->end();
}

// Of several ranks that draw on one terminal none could be read, so one is given the means to.
int first_shown(const plan::Options& options) {
  const auto& filter = options.local_ranks_filter;
  return filter && !filter->empty() ? filter->front() : 0;
}

// torchrun's names the local rank, which several nodes on one terminal have in common.
std::string template_of(const plan::Options& options) {
  const bool is_own = !options.prefix_template.empty();
  return options.gather_output && !is_own ? "[${role_name}${rank}]:" : options.prefix_template;
}

output::FilteredFile filtered_file(const std::vector<std::string>& needles, std::string path) {
  if (needles.empty()) return {};
  return {std::move(path), needles};
}

}  // namespace

std::optional<std::string> node_log_path(const plan::Options& options, const std::string& host) {
  if (!options.node_log) return std::nullopt;
  return report::node_log_path(*options.node_log, host);
}

Result<Fd> open_node_log(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  Fd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, mode));
  if (file) return file;
  return fail_errno("cannot open --node-log's " + path, "the job goes on without it");
}

bool ends_within_line(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  char last = '\n';
  return status.st_size > 0 && ::pread(file.get(), &last, 1, status.st_size - 1) == 1 &&
         last != '\n';
}

output::StreamPlan stream_plan(const plan::Options& options, const worker::WorkerFacts& worker,
                               plan::StreamSet stream, const std::string& log,
                               std::string_view hostname) {
  const bool redirected = (options.redirects.of(worker.local_rank) & stream) != 0;
  const bool teed = (options.tee.of(worker.local_rank) & stream) != 0;
  const bool shown = let_through(options, worker.local_rank);
  output::StreamPlan plan;
  plan.console = (!redirected || teed) && shown;
  plan.filtered = teed && shown;  // torchrun's too are lines of the console
  if ((redirected || teed) && !log.empty()) plan.file = log;
  if (teed || options.prefix) {
    plan.prefix = output::expand_prefix(template_of(options),
                                        {options.role, worker.local_rank, worker.rank, hostname});
  }
  plan.as_terminal = plan.console && !teed && plan.prefix.empty() && !options.fold &&
                     worker.local_rank == first_shown(options);
  plan.rank = worker.rank;
  // If several nodes share a terminal, each node has a colour.
  plan.colour = options.gather_output ? worker.group_rank : worker.local_rank;
  return plan;
}

bool shows_no_rank(const plan::Options& options, int local_world_size) {
  const auto& filter = options.local_ranks_filter;
  return filter && std::ranges::none_of(*filter, [&](int rank) { return rank < local_world_size; });
}

output::OutputPlan output_plan(const plan::Options& options, const worker::Logs& logs,
                               int attempt) {
  output::OutputPlan plan;
  plan.fold = options.fold;
  plan.log_max_bytes = options.log_max_bytes;
  plan.filtered_out =
      filtered_file(options.duplicate_stdout_filters, logs.filtered_log(attempt, false));
  plan.filtered_err =
      filtered_file(options.duplicate_stderr_filters, logs.filtered_log(attempt, true));
  return plan;
}

}  // namespace toprun::agent
