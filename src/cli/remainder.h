#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"

namespace toprun::cli {

// What of the engine's own file of a job stands in no HOST.out: what its batch script and the
// engine's programs say. All lines of the ranks stand in both files, so that each is shown once, as
// its host's. How often a line stands there counts, not its place: the engine mixes the hosts.
class Remainder {
 public:
  Remainder() = default;
  Remainder(const Remainder&) = delete;
  Remainder& operator=(const Remainder&) = delete;

  // A line of a HOST.out, without its end.
  void add_host_line(std::string_view line);
  // A line of the engine's file, which was read `now`, and how it is to be shown.
  void add_engine_line(std::string_view line, std::string shown, SteadyTime now);
  // The same as what a LogTail asks of each line; not after the remainder's end. Lines of the
  // engine's file are shown by take() alone.
  std::function<bool(std::string_view)> host_lines();
  std::function<bool(std::string_view)> engine_lines(std::string prefix);
  // The engine's lines that no HOST.out has, of those read before `until`. One that is given may
  // come from a host later all the same.
  std::string take(SteadyTime until);

 private:
  struct Waiting {
    std::size_t hash;
    std::string shown;
    SteadyTime read;
  };
  std::unordered_map<std::size_t, std::uint64_t> of_hosts_;  // not yet found in the engine's file
  std::vector<Waiting> waiting_;
};

}  // namespace toprun::cli
