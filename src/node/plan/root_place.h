#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/net/address.h"
#include "engines/allocation.h"
#include "node/plan/options.h"

namespace toprun::plan {

// The user's host at which the processes of the job meet: --rdzv-endpoint, else --master-addr.
struct NamedEndpoint {
  std::string host;
  std::string source;
};
std::optional<NamedEndpoint> named_endpoint(const Options& options);

// Which process is the root, and where the others look for it.
struct RootPlace {
  std::optional<bool> is_root;      // this process; unset: the owner of the endpoint's address is
  std::string host;                 // where the root listens; empty with one node
  std::vector<std::string> others;  // … or may listen, if that is uncertain
  // The engine's root, where the endpoint is an address that may be another host's; else empty.
  std::string beside_endpoint;
  // This process is the engine's first, and not known to have the endpoint's address: it is the
  // root if no other becomes it.
  bool if_no_other = false;
  bool endpoint_is_meant = true;  // false: no process is to use it
  std::string note;               // for the user, from the root alone; empty: none
};

// An engine that has started agents on several hosts knows their names. Then an endpoint that no
// other node can reach (localhost, Debian's 127.0.1.1) cannot be meant, and the engine's first node
// is the root. It is the root too where the endpoint is an address, which may be none of the job's
// nodes (that of a login node): the others try the endpoint first, for its network may be the
// better one, then that node. Of an mpirun's processes none knows all hosts: there the owner of the
// address is the root, and rank 0 if no owner comes. Pure.
RootPlace place_root(const Options& options, const engines::Allocation& place, hosts::Reach reach);

}  // namespace toprun::plan
