#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/os/console.h"
#include "base/text/secrets.h"
#include "base/text/text.h"
#include "cli/pods/running.h"
#include "engines/programs.h"
#include "node/plan/kept_run.h"

namespace toprun::pods {
namespace {

constexpr const char* best_shell = "command -v bash >/dev/null && exec bash; exec sh";

Result<engines::JobPod> chosen(const plan::JobOfPods& found, const std::string& which) {
  const auto number = parse_int(which.empty() ? "0" : which);
  auto pod = std::ranges::find(found.pods, which, &engines::JobPod::name);
  if (number && *number >= 0 && *number < std::ssize(found.pods)) {
    pod = found.pods.begin() + *number;
  }
  const std::string option = "--attach " + found.job.id;
  if (pod == found.pods.end()) {
    return usage(which.empty() ? option : fmt::format("{}/{}", option, which),
                 fmt::format("the job has {}, and no pod has this number",
                             counted(std::ssize(found.pods), "pod")),
                 "pods are numbered from 0");
  }
  if (pod->trouble.empty()) return *pod;
  return fail(option, fmt::format("pod {} does not run: {}", pod->name, pod->trouble),
              "see toprun status " + found.job.id);
}

}  // namespace

Result<int> open_pod_shell(const std::string& text, bool dry_run, const Environment& environment) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::string job = text.substr(0, slash);
  const std::string which = slash < text.size() ? text.substr(slash + 1) : std::string();
  const auto found = plan::find_pods("--attach " + job, job, environment);
  // "job/foo", as kubectl writes it; the job called "job" may have a pod 0.
  if (!found && !parse_int(which) && !engines::name_behind_kind(text).empty()) {
    return std::unexpected(engines::parse_job_id(text).error());
  }
  if (!found) return std::unexpected(found.error());
  const auto pod = TRY(chosen(*found, which));
  const bool on_terminal = ::isatty(STDIN_FILENO) != 0;
  std::vector<std::string> words = found->queue->exec_command(
      found->job, pod, on_terminal ? engines::Terminal::yes : engines::Terminal::no);
  words.insert(words.end(), {"sh", "-c", best_shell});
  if (dry_run) return print_bytes(shown_command(words) + '\n');
  say(
      fmt::format("this shell runs in pod {}: its programs end when the connection ends, but a run "
                  "of toprun run --in {} --detach continues",
                  pod.name, job));
  const auto ended = TRY(engines::run_on_terminal(words, environment, {}));
  return ended.code;
}

}  // namespace toprun::pods
