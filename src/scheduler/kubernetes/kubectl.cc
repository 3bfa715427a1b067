#include "scheduler/kubernetes/kubectl.h"

#include <array>
#include <vector>

#include "base/text.h"
#include "process/command.h"
#include "process/program.h"
#include "scheduler/kubernetes/object_name.h"
#include "scheduler/refusal.h"

namespace toprun::scheduler::kubernetes {
namespace {

constexpr std::size_t most_shown = 80;  // bytes of what is no name

// The status reasons of the API (apimachinery, pkg/apis/meta/v1/types.go) and of kubectl itself.
constexpr std::array advices = {
    Advice{"AlreadyExists", "choose another --job-name, or leave it out"},
    Advice{"Forbidden", "ask who runs the cluster; kubectl auth can-i --list tells your rights"},
    Advice{"no matches for kind",
           "this operator is not installed: kubectl api-resources tells which are, see --operator"},
    Advice{"namespaces", "kubectl get namespaces tells what there is, see --namespace"},
    Advice{"Unauthorized", "log in to the cluster again"},
    Advice{"provide credentials", "log in to the cluster again"},
    Advice{"You must be logged in", "log in to the cluster again"},
    Advice{"localhost:8080 was refused",  // without any kubeconfig
           "kubectl knows no cluster here; Slurm's jobs have numbers: toprun jobs lists yours"},
    Advice{"was refused", "check the cluster's address: kubectl config view --minify"},
    Advice{"Unable to connect", "check the cluster's address: kubectl config view --minify"},
    Advice{"is invalid", "toprun submit --dry-run prints the manifest"},
};

}  // namespace

Error refusal(std::string_view command, std::string_view stderr_text) {
  return scheduler::refusal(command, stderr_text, advices);
}

std::string user_of(const Environment& environment) {
  const auto name = environment.non_empty("USER");
  return name ? nearest_label(*name) : std::string();
}

std::string_view name_in(std::string_view object) {
  return object.substr(object.rfind('/') + 1);
}

Result<void> find_kubectl(const Environment& environment) {
  if (process::find_program("kubectl", environment)) return {};
  return fail("--on kubernetes", "there is no kubectl in PATH",
              "install it, or print the manifest with --dry-run");
}

Result<std::string> create(std::string_view manifest, bool trial, const Environment& environment,
                           std::chrono::milliseconds limit) {
  if (auto found = find_kubectl(environment); !found) return std::unexpected(found.error());
  std::vector<std::string> words{"kubectl", "create", "-f", "-", "-o", "name"};
  if (trial) words.emplace_back("--dry-run=server");
  const auto done = process::run(words, environment, limit, manifest);
  if (!done) return std::unexpected(done.error());
  if (done->code != 0) return std::unexpected(refusal("kubectl create", done->err));
  const std::string_view object = trim(done->out);
  if (object.contains('/') && is_label(name_in(object))) return std::string(object);
  return fail("kubectl create", "it printed no name: " + printable(object.substr(0, most_shown)),
              "kubectl get pods tells whether it works");
}

}  // namespace toprun::scheduler::kubernetes
