#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace toprun::doctor {

enum class Severity : std::uint8_t { ok, note, warning, error };
std::string_view name_of(Severity severity);  // "warning"
Severity severity_of(std::string_view name);  // unknown name, from a later version: a
                                              // note

// The result of one check on this machine.
struct Finding {
  std::string id;  // the check's id: "open-files"
  Severity severity = Severity::ok;
  std::string evidence;  // what the check found
  std::string fix = {};  // how to correct the problem; empty: nothing has to be done
  std::vector<std::string> commands = {};  // for --fix: commands that correct the problem; all but
                                           // `ulimit` need root
  bool is_idle = false;                    // the severity is ok because this machine has nothing to
                                           // check
  bool is_unknown = false;                 // is_idle, because a copy lacks the files
};

}  // namespace toprun::doctor
