#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace toprun::measure {

// How far a measurement is; `done` and `total` in any unit that grows as time does.
struct Progress {
  std::string what;  // is being measured: "64 MiB", "round 3 of 63"
  double done = 0;
  double total = 0;
};

// A line now and then on how long it will still take: a measurement of many sizes or pairs prints
// nothing for minutes otherwise.
class ProgressLines {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::chrono::seconds interval{10};

  explicit ProgressLines(Time began) : last_(began) {}

  // The line that is due at `now`, if one is: "64 MiB, about 40 s left". The time left goes by the
  // pace since the last line. Of what is done there is nothing to say.
  std::optional<std::string> at(const Progress& progress, Time now);

 private:
  Time last_;
  double done_ = 0;
};

}  // namespace toprun::measure
