#pragma once

#include <string>
#include <string_view>

#include "base/text/error.h"

namespace toprun::engines::kubernetes {

// Longest name of a job: pods' names ("NAME-worker-123456", "NAME-node-0-123456-abcde") have to be
// labels too, 63 bytes at most (RFC 1035 section 2.3.4).
inline constexpr std::size_t longest_job_name = 40;

// Whether the name is a label as RFC 1035 has it, in lower case: a-z first, then a-z, 0-9 and -,
// and - is not the last. What PyTorchJob's webhook and Services demand.
bool is_label(std::string_view name);

// Whether an object may have this name: labels of DNS with dots between (RFC 1123), as Secrets and
// service accounts have.
bool is_object_name(std::string_view name);

// Whether a label may have this key ("nvidia.com/gpu.clique") or value (apimachinery,
// pkg/util/validation: IsQualifiedName, IsValidLabelValue). Annotations, resources and taints have
// such keys too.
bool is_label_key(std::string_view key);
bool is_label_value(std::string_view value);

// The nearest name that is a label and no longer than a job's may be: "my_App.v2" → "my-app-v2".
std::string nearest_label(std::string_view name);

// The name, if a job may have it. Error (exit 2): it may not; with the nearest one that it may.
Result<std::string> job_name(std::string_view name, std::string_view source);

}  // namespace toprun::engines::kubernetes
