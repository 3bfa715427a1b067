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
  std::string id;          // "mtu": the id of its TraitRow
  std::string subject;     // which value, if a host has several: for an address, the name that
                           // was looked up; often empty
  std::string value;       // "1500"
  std::string place = {};  // where the value was read: "eth0"; not compared between hosts; often
                           // empty
};

// The value of this trait if a host's name does not resolve to an address.
constexpr std::string_view unknown_address = "unknown";

// How `toprun doctor` and a launch compare one trait, and what they report if hosts differ in it.
struct TraitRow {
  std::string_view id;
  std::string_view what;  // "the MTU"; {} is replaced by the subject
  Severity severity;      // for a host that differs
  std::string_view fix;
  std::string (*value)(const Facts&);  // returns an empty text if unknown on this machine
  // What a launch prints if its nodes differ in this trait; their values replace {}. Empty: a
  // launch does not compare this trait.
  std::string_view in_launch = {};
  std::string (*place)(const Facts&) = nullptr;  // Trait::place; null: empty
  // The command for `toprun doctor --fix`, with {} at two places. Trait::place replaces the first
  // {}, and the value that most hosts have replaces the second. Empty: no command.
  std::string_view command = {};
};
std::span<const TraitRow> trait_rows();

// Returns the known traits of a host: one for each row of the table of traits, and one for the
// addresses of each peer's name.
std::vector<Trait> traits_of(const Facts& facts);

}  // namespace toprun::doctor
