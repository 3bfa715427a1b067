#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "base/os/console.h"
#include "base/os/fd.h"
#include "base/os/files.h"
#include "cli/config/config_search.h"
#include "cli/verbs/config/draft.h"
#include "cli/verbs/run_verbs.h"

namespace toprun::cli {
namespace {

using options::FlagId;

struct InitOptions {
  std::string output;
  bool force = false;
};

// If the engine does not answer, its part of the file is left out, and a line reports that.
ClusterPicture ask(const Environment& environment) {
  ClusterPicture cluster;
  const auto queue = engines::find_queue(environment);
  if (!queue) {
    say("warning: " + queue.error().line());
    cluster.engine = engines::queue_kind(environment.get("TOPRUN_ON").value_or(""));
    return cluster;
  }
  cluster.engine = (*queue)->kind();
  auto machines = (*queue)->machines();
  if (!machines) {
    say("warning: " + machines.error().line());
    return cluster;
  }
  cluster.machines = *std::move(machines);
  std::vector<std::string> trouble = cluster.machines.untold;
  if (cluster.engine == engines::QueueKind::kubernetes) {
    cluster.pods = engines::kubernetes::ask_pod_choices(environment, trouble);
  } else if (cluster.engine == engines::QueueKind::slurm) {
    cluster.facts = engines::ask_slurm(environment, trouble);
    cluster.choices = engines::ask_choices(environment);
  }
  for (const std::string& line : trouble) say(line);
  return cluster;
}

std::unexpected<Error> is_there_already(const std::string& path) {
  return usage(path, "it already exists",
               "--force replaces the file; -o - prints the new text instead");
}

// The file is created in one step, so that only one of two calls at once succeeds, and then filled.
Result<void> write(const InitOptions& options, const std::string& text) {
  if (!options.force) {
    const Fd file(::open(options.output.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!file && errno == EEXIST) return is_there_already(options.output);
    if (!file) return fail_errno("cannot write " + options.output, "-o - prints the text instead");
  }
  auto written = write_named_file(options.output, text);
  if (!written && !options.force) ::unlink(options.output.c_str());
  return written;
}

int init(const InitOptions& options, const Environment& environment) {
  std::error_code error;
  const bool is_printed = options.output == "-";
  const auto status = std::filesystem::symlink_status(options.output, error);
  if (!is_printed && !options.force && std::filesystem::exists(status)) {
    return give_up(is_there_already(options.output).error());  // before the engine is asked
  }
  const ClusterPicture cluster = ask(environment);
  const std::string text = config_draft(cluster);
  if (is_printed) return print_bytes(text);
  if (const auto written = write(options, text); !written) return give_up(written.error());
  say(fmt::format(
      "wrote {}{}; toprun config show submit shows the effective settings", options.output,
      cluster.machines.nodes.empty() ? ", with examples to fill in, because no cluster answered"
                                     : ""));
  return 0;
}

}  // namespace

Result<int> run_config_init(const options::Call& call) {
  const InitOptions options{call.text(FlagId::output).value_or(std::string(config::config_name)),
                            call.has(FlagId::force)};
  return init(options, call.environment);
}

}  // namespace toprun::cli
