#pragma once

#include <string>

#include "base/text/text.h"
#include "engines/engine.h"

namespace toprun::engines::kubernetes {

// Hints from PET_ variables, as the options module computes them without command-line options.
inline Hints hints_of(const Environment& environment) {
  Hints hints;
  if (const auto nodes = environment.non_empty("PET_NNODES")) {
    const auto parts = split(*nodes, ':');
    hints.nnodes = static_cast<int>(parse_int(parts.back()).value());
    hints.nnodes_source = "PET_NNODES";
    if (parts.size() == 2) hints.min_nodes = static_cast<int>(parse_int(parts[0]).value());
  }
  if (const auto index = environment.non_empty("PET_NODE_RANK")) {
    hints.node_index = static_cast<int>(parse_int(*index).value());
  }
  for (const char* name : {"PET_RDZV_ENDPOINT", "PET_MASTER_ADDR"}) {
    const auto host = environment.non_empty(name);
    if (!host || !hints.endpoint_source.empty()) continue;
    hints.endpoint_source = name;
    hints.endpoint_host = host->substr(0, host->rfind(':'));
  }
  return hints;
}

// A pod in the form in which the kubelet starts it.
struct PodInTest {
  std::string host;
  Environment environment;
  std::string domain = {};

  Result<Allocation> place(Hints hints) const {
    Environment all = environment;
    all.set("KUBERNETES_SERVICE_HOST", "10.96.0.1");
    all.set("HOSTNAME", host);
    hints.host_name = host;
    hints.host_domain = domain;
    return detect(all, hints);
  }
  Result<Allocation> place() const { return place(hints_of(environment)); }
};

}  // namespace toprun::engines::kubernetes
