#pragma once

#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/text/error.h"
#include "engines/kubernetes/workload.h"

namespace toprun::engines::kubernetes {

// An object in the API server that owns other objects.
struct Owner {
  std::string api_version;  // "kubeflow.org/v1"
  std::string kind;
  std::string name;
  std::string uid;
};

// The owner from the output of `kubectl create -o json`. Pure function. Error: the output names no
// owner.
Result<Owner> parse_owner(std::string_view text);

// The Secret `Workload::own_secret` with these values, by variable name. Kubernetes deletes the
// Secret together with its owner. A Secret without an owner is only for a trial. Values may contain
// any bytes. Pure function.
nlohmann::ordered_json secret_object(const Workload& job,
                                     const std::map<std::string, std::string>& values,
                                     const Owner* owner);

}  // namespace toprun::engines::kubernetes
