#include "engines/kubernetes/api.h"

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/os/files.h"
#include "base/process/command.h"
#include "base/text/text.h"
#include "engines/kubernetes/json_object.h"
#include "engines/kubernetes/kubectl.h"
#include "engines/kubernetes/object_name.h"

namespace toprun::engines::kubernetes {

using nlohmann::json;

namespace {

constexpr int most_beginnings = 3;         // of a list whose pages outlive the server's history
constexpr std::size_t most_pages = 2'000;  // a million objects
constexpr const char* namespace_of_pod = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
constexpr std::size_t longest_namespace = 63;

std::string_view plural_of(const Resource& resource) {
  return resource.name.substr(0, resource.name.find('.'));
}

// "/apis/kubeflow.org/v1", and "/api/v1" of the kinds that every cluster has.
std::string group_path(const Resource& resource, std::string_view version) {
  const std::size_t dot = resource.name.find('.');
  return dot == std::string_view::npos
             ? fmt::format("/api/{}", version)
             : fmt::format("/apis/{}/{}", resource.name.substr(dot + 1), version);
}

bool says_too_old(std::string_view stderr_text) {
  return stderr_text.contains("(Expired)") || stderr_text.contains("(Gone)");
}

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

}  // namespace

struct Api::Raw {
  Answer answer;
  json value;
  bool is_too_old = false;  // its continue token
};

std::string escaped(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (is_unreserved(c)) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

bool says_not_found(std::string_view stderr_text) {
  return stderr_text.contains("(NotFound)") ||
         stderr_text.contains("could not find the requested resource");
}

bool says_forbidden(std::string_view stderr_text) {
  return stderr_text.contains("(Forbidden)");
}

Api::Api(const Environment& environment, std::chrono::milliseconds limit)
    : environment_(environment), limit_(limit) {}

Result<Api::Raw> Api::raw(const std::string& path, const Resource& resource) const {
  const auto done = process::run({"kubectl", "get", "--raw", path}, environment_, limit_);
  if (!done) {
    return fail("cannot ask Kubernetes", done.error()->why,
                "check with kubectl get pods that Kubernetes answers; set "
                "TOPRUN_ENGINE_TIMEOUT=SECONDS to wait longer");
  }
  Raw raw;
  if (done->code == 0) {
    raw.value = TRY(parse_object(done->out));
    return raw;
  }
  Error refused = refusal(fmt::format("kubectl get {}", resource.name), done->err);
  if (says_too_old(done->err)) {
    raw.is_too_old = true;
  } else if (says_not_found(done->err)) {
    raw.answer.kind = Answer::Kind::absent;
  } else if (says_forbidden(done->err)) {
    raw.answer = {Answer::Kind::forbidden, std::move(refused)};
  } else {
    return std::unexpected(std::move(refused));
  }
  return raw;
}

// Where rights are missing the cluster does not say whether it has the kind at all. Which kinds it
// has may be asked by every user (ClusterRole system:discovery).
bool Api::has(const Resource& resource, std::string_view version) const {
  if (!resource.name.contains('.')) return true;
  const auto group = raw(group_path(resource, version), resource);
  if (!group || group->answer.is_forbidden()) return true;
  const json& listed = at(group->value, {"resources"});
  return listed.is_array() && std::ranges::any_of(listed, [&](const json& one) {
           return text_at(one, {"name"}) == plural_of(resource);
         });
}

Result<Api::Raw> Api::first_version(
    const Resource& resource,
    const std::function<Result<Raw>(std::string_view version)>& ask) const {
  Raw last;
  last.answer.kind = Answer::Kind::absent;
  for (const std::string_view version : words(resource.versions)) {
    auto reported = ask(version);
    if (!reported || reported->answer.is_reported()) return reported;
    if (reported->answer.is_forbidden() && has(resource, version)) return reported;
  }
  return last;
}

Result<Api::Raw> Api::pages(const std::string& path, const Resource& resource,
                            std::string_view query, const TakePage& take) const {
  const std::string first =
      fmt::format("{}?limit={}{}{}", path, page_size, query.empty() ? "" : "&", query);
  int beginnings = 1;
  std::string token;
  for (std::size_t page = 0; page < most_pages; ++page) {
    auto reported =
        raw(token.empty() ? first : fmt::format("{}&continue={}", first, escaped(token)), resource);
    if (!reported || !reported->answer.is_reported()) return reported;
    if (reported->is_too_old && beginnings++ < most_beginnings) {
      token.clear();
      continue;
    }
    if (reported->is_too_old) break;
    const bool goes_on = take(reported->value, token.empty());
    token = text_at(reported->value, {"metadata", "continue"});
    if (!goes_on || token.empty()) return reported;
  }
  return fail(fmt::format("kubectl get {}", resource.name), "the list is too long for toprun",
              "choose a smaller namespace with --namespace");
}

Result<Answer> Api::list(const Resource& resource, Scope scope, std::string_view query,
                         const TakePage& take) const {
  std::string place;
  if (scope == Scope::own_namespace) {
    const auto own = TRY(space());
    place = "/namespaces/" + own;
  }
  const auto reported = TRY(first_version(resource, [&](std::string_view version) {
    return pages(group_path(resource, version) + place + "/" + std::string(plural_of(resource)),
                 resource, query, take);
  }));
  return reported.answer;
}

Result<Answer> Api::get(const Resource& resource, const std::string& name, json& object) const {
  const auto own = TRY(space());
  auto reported = TRY(first_version(resource, [&](std::string_view version) {
    return raw(fmt::format("{}/namespaces/{}/{}/{}", group_path(resource, version), own,
                           plural_of(resource), name),
               resource);
  }));
  if (reported.answer.is_reported()) object = std::move(reported.value);
  return reported.answer;
}

Result<std::string> Api::space() const {
  std::call_once(asked_, [this] {
    space_ = environment_.get("TOPRUN_NAMESPACE").value_or("");
    if (space_.empty()) space_ = context_namespace();
  });
  if (is_label(space_)) return space_;
  return usage("namespace " + space_, "this namespace does not exist",
               "check TOPRUN_NAMESPACE and kubectl config view --minify");
}

// Where kubectl has no configuration it asks as the pod that it is in.
std::string Api::context_namespace() const {
  const auto reported =
      process::run({"kubectl", "config", "view", "--minify", "-o", "jsonpath={..namespace}"},
                   environment_, limit_);
  std::string space(reported && reported->code == 0 ? trim(reported->out) : std::string_view());
  if (space.empty() && environment_.non_empty("KUBERNETES_SERVICE_HOST")) {
    space = trim(read_file(namespace_of_pod, longest_namespace + 1).value_or(""));
  }
  return space.empty() ? "default" : space;
}

}  // namespace toprun::engines::kubernetes
