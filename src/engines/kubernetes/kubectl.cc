#include "engines/kubernetes/kubectl.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "base/process/command.h"
#include "base/text/text.h"
#include "engines/kubernetes/object_name.h"
#include "engines/programs.h"

namespace toprun::engines::kubernetes {
namespace {

constexpr std::chrono::seconds user_name_limit{5};
constexpr std::size_t most_shown = 80;  // bytes of what is not a name

constexpr std::string_view words_without_kubeconfig = "localhost:8080 was refused";

// The status reasons of the API (apimachinery, pkg/apis/meta/v1/types.go) and of kubectl itself.
constexpr std::array advices = {
    Advice{"AlreadyExists", "choose another --job-name, or leave it out"},
    Advice{"Forbidden",
           "ask the cluster's administrator; kubectl auth can-i --list shows your rights"},
    Advice{"no matches for kind",
           "this operator is not installed: kubectl api-resources lists the installed operators, "
           "--operator chooses one of them"},
    Advice{"namespaces", "kubectl get namespaces lists the namespaces, --namespace chooses one"},
    Advice{"Unauthorized", "log in to the cluster again"},
    Advice{"provide credentials", "log in to the cluster again"},
    Advice{"You must be logged in", "log in to the cluster again"},
    Advice{words_without_kubeconfig,
           "kubectl knows no cluster here: log in to a cluster, or set KUBECONFIG"},
    Advice{"was refused", "check the cluster's address: kubectl config view --minify"},
    Advice{"Unable to connect", "check the cluster's address: kubectl config view --minify"},
    Advice{"unknown field",
           "toprun does not know this version of the operator: choose another --operator"},
    Advice{"is invalid", "toprun submit --dry-run prints the manifest"},
};

Result<std::string> run_create(std::vector<std::string> words, std::string_view manifest,
                               const Environment& environment, std::chrono::milliseconds limit) {
  TRY(find_kubectl(environment));
  words.insert(words.begin(), {"kubectl", "create", "-f", "-"});
  const auto done = TRY(process::run(words, environment, limit, manifest));
  if (done.code != 0) return std::unexpected(refusal("kubectl create", done.err));
  return done.out;
}

}  // namespace

Error refusal(std::string_view command, std::string_view stderr_text) {
  return engines::refusal(command, stderr_text, advices);
}

bool is_without_cluster(const Error& refusal) {
  return refusal->why.contains(words_without_kubeconfig);
}

std::string user_of(const Environment& environment) {
  return nearest_label(user_name(environment, user_name_limit));
}

std::string_view name_in(std::string_view object) {
  return object.substr(object.rfind('/') + 1);
}

Result<void> find_kubectl(const Environment& environment) {
  if (process::find_program("kubectl", environment)) return {};
  return fail("--on kubernetes", "there is no kubectl in PATH",
              "install kubectl, or print the manifest with --dry-run");
}

Result<std::string> create(std::string_view manifest, bool trial, const Environment& environment,
                           std::chrono::milliseconds limit) {
  std::vector<std::string> words{"-o", "name"};
  if (trial) words.emplace_back("--dry-run=server");
  const auto out = TRY(run_create(std::move(words), manifest, environment, limit));
  const std::string_view object = trim(out);
  if (object.contains('/') && is_label(name_in(object))) return std::string(object);
  return fail("kubectl create",
              "kubectl did not print a name: " + printable(object.substr(0, most_shown)),
              "check with kubectl get pods that kubectl works");
}

Result<Owner> create_owner(std::string_view manifest, const Environment& environment,
                           std::chrono::milliseconds limit) {
  const auto out = TRY(run_create({"-o", "json"}, manifest, environment, limit));
  return parse_owner(out);
}

Result<void> remove(const Owner& object, const std::string& space, const Environment& environment,
                    std::chrono::milliseconds limit) {
  const std::string group = object.api_version.substr(0, object.api_version.find('/'));
  std::vector<std::string> words{"kubectl", "delete", "--wait=false",
                                 fmt::format("{}s.{}/{}", lower(object.kind), group, object.name)};
  if (!space.empty()) words.insert(words.begin() + 1, {"-n", space});
  const auto done = TRY(process::run(words, environment, limit));
  if (done.code != 0) return std::unexpected(refusal("kubectl delete", done.err));
  return {};
}

}  // namespace toprun::engines::kubernetes
