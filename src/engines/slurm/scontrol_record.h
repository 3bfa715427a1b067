#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text/clock.h"

namespace toprun::engines::slurm {

inline constexpr std::size_t max_records = 1'000'000;        // of one answer; further records are
                                                             // dropped
inline constexpr std::size_t max_fields_per_record = 1'000;  // of one record; further fields are
                                                             // dropped

// One line of `scontrol show … -o`: "JobId=17 JobName=a b UserId=…". A value ends before the next "
// KEY=". So a value may contain blanks, but if a value contains " Key=", the rest of the value is
// lost.
class Record {
 public:
  struct Field {
    std::string_view key;
    std::string_view value;
  };
  explicit Record(std::string_view line);

  // Returns the value of the first field with this name. Empty if the field is missing or has a
  // placeholder: "(null)", "N/A", "n/a", "None".
  std::string_view get(std::string_view key) const;
  // Returns the value of the last field with this name, like get().
  std::string_view last(std::string_view key) const;

 private:
  std::vector<Field> fields_;
};

// Splits an answer into records. Each record starts on its own line with "KEY=". A line with
// another beginning belongs to the record before it, because names may contain line ends. The views
// refer to `text`.
std::vector<std::string_view> record_lines(std::string_view text, std::string_view key);

// Splits a text at separators of several characters. An empty last piece is omitted.
std::vector<std::string_view> pieces(std::string_view text, std::string_view separator);

// Slurm's time limit for a running job that was submitted without a limit.
inline constexpr std::chrono::hours days_of_unlimited{365 * 24};

// Parses "2-03:04:05", "03:04:05", "04:05"; unset for UNLIMITED, INVALID and any other form.
std::optional<std::chrono::seconds> duration(std::string_view text);
// Parses seconds since 1970, as SLURM_TIME_FORMAT=%s requests, or local time such as
// 2026-11-22T03:26:11. Unset for Unknown, N/A and any text in another form.
std::optional<WallTime> moment(std::string_view text);
// Returns the number at the start of a text ("1-4", "2G"); unset if the text starts differently.
std::optional<std::int64_t> leading_number(std::string_view text);

}  // namespace toprun::engines::slurm
