#include "scheduler/kubernetes/kubectl.h"

#include <array>
#include <vector>

#include "base/text.h"
#include "process/command.h"
#include "process/program.h"
#include "scheduler/kubernetes/object_name.h"

namespace toprun::scheduler::kubernetes {
namespace {

constexpr std::size_t most_lines = 4;  // of a refusal

struct Advice {
  std::string_view words;  // in what kubectl says
  std::string_view fix;
};
// The status reasons of the API (apimachinery, pkg/apis/meta/v1/types.go) and of kubectl itself.
constexpr std::array advices = {
    Advice{"AlreadyExists", "choose another --job-name, or leave it out"},
    Advice{"Forbidden", "ask who runs the cluster; kubectl auth can-i --list tells your rights"},
    Advice{"no matches for kind",
           "this operator is not installed: kubectl api-resources tells which are, see --operator"},
    Advice{"namespaces", "kubectl get namespaces tells what there is, see --namespace"},
    Advice{"Unauthorized", "log in to the cluster again"},
    Advice{"You must be logged in", "log in to the cluster again"},
    Advice{"was refused", "check the cluster's address: kubectl config view --minify"},
    Advice{"Unable to connect", "check the cluster's address: kubectl config view --minify"},
    Advice{"is invalid", "toprun submit --dry-run prints the manifest"},
};

// A line of klog's, "E1124 17:24:18.147198 …": what kubectl tells its developers.
bool is_log_line(std::string_view line) {
  constexpr std::string_view severities = "IWEF";
  constexpr std::size_t digits = 4;
  return line.size() > digits + 1 && severities.contains(line.front()) &&
         line.substr(1, digits).find_first_not_of("0123456789") == std::string_view::npos &&
         line[digits + 1] == ' ';
}

std::string_view without_label(std::string_view line) {
  for (const std::string_view label : {"error: ", "Error from server "}) {
    if (line.starts_with(label)) line.remove_prefix(label.size());
  }
  return trim(line);
}

}  // namespace

Error refusal(std::string_view command, std::string_view stderr_text) {
  std::vector<std::string> said;
  for (const std::string_view line : split(stderr_text, '\n')) {
    const std::string_view words = without_label(trim(line));
    if (words.empty() || is_log_line(words)) continue;
    if (said.size() < most_lines) said.emplace_back(words);
  }
  Error error{std::string(command),
              said.empty() ? "it gave no reason" : printable(join(said, "; ")), "", exit_failure};
  for (const Advice& advice : advices) {
    if (stderr_text.find(advice.words) == std::string_view::npos) continue;
    error.fix = advice.fix;
    break;
  }
  return error;
}

std::string user_of(const Environment& environment) {
  const auto name = environment.non_empty("USER");
  return name ? nearest_label(*name) : std::string();
}

std::string_view name_in(std::string_view object) {
  return object.substr(object.rfind('/') + 1);
}

Result<std::string> create(std::string_view manifest, bool trial, const Environment& environment,
                           std::chrono::milliseconds limit) {
  if (!process::find_program("kubectl", environment)) {
    return fail("--on kubernetes", "there is no kubectl in PATH",
                "install it, or print the manifest with --dry-run");
  }
  std::vector<std::string> words{"kubectl", "create", "-f", "-", "-o", "name"};
  if (trial) words.emplace_back("--dry-run=server");
  const auto done = process::run(words, environment, limit, manifest);
  if (!done) return std::unexpected(done.error());
  if (done->code != 0) return std::unexpected(refusal("kubectl create", done->err));
  return std::string(trim(done->out));
}

}  // namespace toprun::scheduler::kubernetes
