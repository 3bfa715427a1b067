#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"

namespace toprun::engines::kubernetes {

// The longest name of a job. The names of the job's pods ("NAME-worker-123456",
// "NAME-node-0-123456-abcde") are labels too, so they have at most 63 bytes (RFC 1035 section
// 2.3.4).
inline constexpr std::size_t longest_job_name = 40;

// Whether the name is an RFC 1035 label in lower case: it starts with a-z, contains a-z, 0-9 and -,
// and does not end with -. PyTorchJob's webhook and Services require such names.
bool is_label(std::string_view name);

// Whether an object, such as a Secret or a service account, may have this name. Such a name
// consists of DNS labels joined by dots (RFC 1123).
bool is_object_name(std::string_view name);

// Whether a label may have this key ("nvidia.com/gpu.clique") or value (IsQualifiedName and
// IsValidLabelValue in apimachinery, pkg/util/validation). The rule for keys is the same for
// annotations, resources and taints.
bool is_label_key(std::string_view key);
bool is_label_value(std::string_view value);

// Returns the nearest valid label, at most as long as a job's name: "my_App.v2" → "my-app-v2".
std::string nearest_label(std::string_view name);

// Returns the name if it is valid for a job. Error (exit 2): the name is invalid; the message
// suggests the nearest valid name.
Result<std::string> job_name(std::string_view name, std::string_view source);

std::string_view first_label(std::string_view name);  // "web-1" of "web-1.web"

// Returns "web.default.svc.cluster.local" from "web-1.web.default.svc.cluster.local", the form in
// which a headless service names a pod. Empty for another form.
std::string service_domain(std::string_view name);

// A name such as "web-1", split into "web" and 1. numbered() returns nullopt for another form. The
// number is below a million.
struct Numbered {
  std::string base;
  int number = 0;
};
std::optional<Numbered> numbered(std::string_view name);

// A Kubeflow pod: "job-master-0" or "job-worker-3".
struct Role {
  std::string job;
  bool is_master = false;
  int number = 0;
};
std::optional<Role> role_in(std::string_view name);

// Returns the names of `count` pods, derived from pod 0's name "web-0.web". Empty if `own`, the
// name of pod `index`, does not have this form.
std::vector<std::string> numbered_like(const std::string& first, std::string_view own, int index,
                                       int count);

}  // namespace toprun::engines::kubernetes
