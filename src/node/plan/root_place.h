#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/net/address.h"
#include "engines/allocation.h"
#include "node/plan/options.h"

namespace toprun::plan {

// The host that the user chose for the processes of the job to meet: --rdzv-endpoint, else
// --master-addr.
struct NamedEndpoint {
  std::string host;
  std::string source;
};
std::optional<NamedEndpoint> named_endpoint(const Options& options);

// Which process is the root, and where the other processes look for it.
struct RootPlace {
  // Whether this process is the root; unset: the owner of the endpoint's address is the root.
  std::optional<bool> is_root;
  std::string host;                 // where the root listens; empty with one node
  std::vector<std::string> others;  // … or where it may listen, if that is uncertain
  // The engine's root host, if the endpoint is an address that may belong to another host; else
  // empty.
  std::string beside_endpoint;
  // This process is the engine's first process and may not own the endpoint's address. This process
  // becomes the root if no other process does.
  bool if_no_other = false;
  bool endpoint_is_meant = true;  // false: no process may use the endpoint
  std::string note;               // a note to the user, printed only by the root; empty: no note
};

// An engine that has started agents on several hosts knows their names. If no other node can reach
// the endpoint (localhost, Debian's 127.0.1.1), the endpoint is ignored and the engine's first node
// is the root.
//
// That node is also the root if the endpoint is an address that may not belong to any of the job's
// nodes (such as the address of a login node). The other nodes then try the endpoint first, because
// its network may be better, and then that node.
//
// The processes of an mpirun do not know all hosts. For them, the owner of the address is the root,
// or rank 0 if no owner joins. Pure.
RootPlace place_root(const Options& options, const engines::Allocation& place, hosts::Reach reach);

}  // namespace toprun::plan
