#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/os/environment.h"

namespace toprun::engines::kubernetes {

// A PersistentVolumeClaim that pods of the namespace can mount.
struct ClaimChoice {
  std::string name;
  std::string size;        // "1Ti"
  bool is_shared = false;  // pods on several nodes can mount it
};

// The values that a user can choose from for a job of pods.
struct PodChoices {
  std::string space;                   // namespace of kubectl's context; empty: "default"
  std::vector<std::string> operators;  // installed operators, as in --operator
  std::vector<ClaimChoice> claims;
};

// Queries kubectl. Facts that kubectl does not report stay empty, and a line in `trouble` says why.
PodChoices ask_pod_choices(const Environment& environment, std::vector<std::string>& trouble);

// Parses the output of `kubectl api-resources -o name`: names of kinds, "pytorchjobs.kubeflow.org".
// Pure function.
std::vector<std::string> parse_operators(std::string_view text);

// The PersistentVolumeClaims in a list. Pure function.
std::vector<ClaimChoice> claims_in(const nlohmann::json& list);

}  // namespace toprun::engines::kubernetes
