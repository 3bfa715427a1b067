#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/clock.h"

namespace toprun::engines::slurm {

inline constexpr std::size_t max_records = 1'000'000;        // of one answer; the rest is left out
inline constexpr std::size_t max_fields_per_record = 1'000;  // of one record; likewise

// One line that `scontrol show … -o` prints: "JobId=17 JobName=a b UserId=…". A value ends where
// a blank and the next KEY= follow, so values with blanks in them are whole; one that itself holds
// " Key=" is not.
class Record {
 public:
  struct Field {
    std::string_view key;
    std::string_view value;
  };
  explicit Record(std::string_view line);

  // The value of the first (last) field of this name; empty if there is none, or it stands for
  // none: "(null)", "N/A", "n/a", "None".
  std::string_view get(std::string_view key) const;
  std::string_view last(std::string_view key) const;

 private:
  std::vector<Field> fields_;
};

// The records of an answer: each begins on a line of its own with "KEY=", and a line that does not
// belongs to the one before (names may hold line ends). Refers to the text.
std::vector<std::string_view> record_lines(std::string_view text, std::string_view key);

// Pieces between separators of several characters, without the last one if it is empty.
std::vector<std::string_view> pieces(std::string_view text, std::string_view separator);

// "2-03:04:05", "03:04:05", "04:05"; unset for UNLIMITED, INVALID and what is not a duration.
std::optional<std::chrono::seconds> duration(std::string_view text);
// Seconds since 1970, as SLURM_TIME_FORMAT=%s asks for, or local time as 2026-11-22T03:26:11; unset
// for Unknown, N/A and what is not a time.
std::optional<WallTime> moment(std::string_view text);
// A number that may be followed by other text ("1-4", "2G"); unset if there is none in front.
std::optional<std::int64_t> leading_number(std::string_view text);

}  // namespace toprun::engines::slurm
