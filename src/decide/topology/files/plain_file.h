#pragma once

#include <string>

#include "decide/topology/files/data_tree.h"
#include "decide/topology/tree.h"

namespace toprun::topology {

// Converts a topology that a person wrote in TOML, JSON or YAML, host by host or domain by domain,
// or both:
//
//   levels = ["cluster", "rack"]     # names of the levels, outermost first; may be left out
//
//   [hosts]                          # the domains that a host is in
//   n0 = "/c/b"
//   "n[1-3]" = ["c", "a"]            # hostlists and arrays too; "" is an unknown level, "-" none
//   n4 = "/c/b/4711"                 # with `levels`: also the host's own id (physical_host)
//
//   [domains.c]                      # the hosts that a domain has, domains within domains
//   b = "n[5-6]"
//   a = ["n7", "n[8-9]"]
//
//   [links]                          # of a domain to the outside, in each direction
//   rack = 400                       # gigabits per second
//   host = {gbps = 100, latency_us = 5}  # each host's adapters together
//
// Unknown keys cause a warning. Errors (file:line:column): a value of a wrong type, a path whose
// length differs from `levels` or the first path, a duplicate host, a link for a level that does
// not exist, an invalid number.
Result<Map> map_of_plain(const DataNode& root, const std::string& file);

}  // namespace toprun::topology
