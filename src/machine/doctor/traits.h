#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "machine/doctor/facts.h"
#include "machine/doctor/finding.h"

namespace toprun::doctor {

// A property of a host that is expected to be the same on all hosts of a job.
struct Trait {
  std::string id;          // "mtu": of the row below
  std::string subject;     // which of several, as the name that was looked up; mostly empty
  std::string value;       // "1500"
  std::string place = {};  // where it was seen, which may differ: "eth0"; mostly empty
};

// What a difference in one trait means, to the doctor and to a launch.
struct TraitRow {
  std::string_view id;
  std::string_view what;  // "the MTU"; {}: the subject
  Severity severity;      // of a host that differs
  std::string_view fix;
  std::string (*value)(const Facts&);  // empty: unknown here
  // What a launch says of nodes that differ, whose values take the place of {}; empty: a launch
  // does not compare it.
  std::string_view in_launch = {};
  std::string (*place)(const Facts&) = nullptr;  // Trait::place; null: empty
  // For --fix: a command with the place and the value of most hosts for its two {}; empty: none.
  std::string_view command = {};
};
std::span<const TraitRow> trait_rows();

// The known traits of a host: of each row, and the addresses that it finds for its peers' names.
std::vector<Trait> traits_of(const Facts& facts);

}  // namespace toprun::doctor
