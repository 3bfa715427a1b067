#pragma once

#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/text/error.h"
#include "engines/kubernetes/workload.h"

namespace toprun::engines::kubernetes {

// An object that the API server has made, for those that go with it.
struct Owner {
  std::string api_version;  // "kubeflow.org/v1"
  std::string kind;
  std::string name;
  std::string uid;
};

// The owner in what `kubectl create -o json` prints. Pure. Error: it is not there.
Result<Owner> parse_owner(std::string_view text);

// The Secret `Workload::own_secret` with these values, by names of variables, which Kubernetes
// takes away with its owner; without one, of a trial. Pure. Any bytes may be values.
nlohmann::ordered_json secret_object(const Workload& job,
                                     const std::map<std::string, std::string>& values,
                                     const Owner* owner);

}  // namespace toprun::engines::kubernetes
