#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/net/address.h"
#include "base/os/environment.h"
#include "base/text/error.h"
#include "engines/allocation.h"
#include "engines/mpi/pmi.h"
#include "node/plan/options.h"

namespace toprun::plan {

// Returns the hosts from --hosts or from the file of --hostfile; empty if neither option was given.
// Adds warnings about the file to `notes`.
Result<std::vector<engines::Node>> named_hosts(const Options& options,
                                               std::vector<std::string>& notes);

// If Hydra's mpiexec started this process, exchanges the job's name and the address of rank 0 with
// all other processes of this mpiexec. Blocks until all these processes have called meet(). Returns
// nullopt if mpiexec did not start this process.
Result<std::optional<engines::PmiMeeting>> meet(const Environment& environment);

// The host at which the job's processes meet, if the user chose it by --rdzv-endpoint, else by
// --master-addr. `source`: the option or variable that named the host, for messages.
struct NamedEndpoint {
  std::string host;
  std::string source;
};
std::optional<NamedEndpoint> named_endpoint(const Options& options);

// Which process is the root, and where the other processes look for it.
struct RootPlace {
  // Whether this process is the root, if this is known already. Unset: the root is the process
  // whose host has the endpoint's address.
  std::optional<bool> is_root;
  std::string host;                 // where the root listens; empty with one node
  std::vector<std::string> others;  // other hosts on which the root may listen, if this is
                                    // uncertain
  // A second host on which to look for the root: the engine's first node, if the endpoint is an
  // address that may belong to another host. Otherwise empty.
  std::string beside_endpoint;
  // True: this process is the engine's first process, and the endpoint's address may belong to
  // another host. If no other process becomes the root, this process becomes the root.
  bool if_no_other = false;
  bool endpoint_is_meant = true;  // false: no process may use the endpoint
  std::string note;               // a note to the user, printed only by the root; empty: no note
};

// Determines which process is the root, from the options and the engine's data. If the engine has
// started agents on several hosts and no other node can reach the endpoint (localhost, Debian's
// 127.0.1.1), the endpoint is ignored and the engine's first node is the root.
//
// The engine's first node is also the root if the endpoint is an address that may belong to none of
// the job's nodes (such as the address of a login node). In this case, the other nodes try the
// endpoint first, because its network may be better. After the endpoint, the other nodes try the
// engine's first node.
//
// Processes that mpirun started do not know all hosts. Among them, the process whose host has the
// endpoint's address is the root; if there is no such process, rank 0 is the root. Pure.
RootPlace place_root(const Options& options, const engines::Allocation& place, hosts::Reach reach);

}  // namespace toprun::plan
