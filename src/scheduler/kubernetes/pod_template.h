#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

#include "scheduler/kubernetes/workload.h"

namespace toprun::scheduler::kubernetes {

using Json = nlohmann::ordered_json;

// Parts of manifests that the kinds share.

Json metadata_of(const Workload& job);
Json variables_of(const Workload& job);  // [{name, value}]
Json command_of(const Workload& job);
Json resources_of(const Workload& job);  // {limits}: requests follow from them
Json volumes_of(const Workload& job);
Json mounts_of(const Workload& job);
// A PodTemplateSpec whose only container has this name.
Json pod_template(const Workload& job, std::string_view container);

}  // namespace toprun::scheduler::kubernetes
