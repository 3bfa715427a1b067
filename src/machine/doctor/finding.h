#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace toprun::doctor {

enum class Severity : std::uint8_t { ok, note, warning, error };
std::string_view name_of(Severity severity);  // "warning"
Severity severity_of(std::string_view name);  // a later version's other name: note

// What one check says of this machine.
struct Finding {
  std::string id;  // "open-files": of the check
  Severity severity = Severity::ok;
  std::string evidence;                    // what was seen
  std::string fix = {};                    // what to do; empty: nothing has to be done
  std::vector<std::string> commands = {};  // that do it, as root, for --fix
  bool is_idle = false;                    // ok, because there is nothing here to look at
};

}  // namespace toprun::doctor
