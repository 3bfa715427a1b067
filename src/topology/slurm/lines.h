#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "topology/position.h"

namespace toprun::topology {

inline constexpr std::size_t max_pairs_per_line = 32;  // Slurm's own lines have up to six

// The lines of "Key=value Key=value" in which Slurm's configuration files (man slurm.conf) and
// `scontrol show` are written: keys in any case, blanks around "=" allowed, values in double quotes
// where they contain blanks, "#" to the end of the line is a comment ("\#" is not), a line that
// ends with "\" goes on in the next one.
class SlurmLine {
 public:
  struct Pair {
    std::string key;  // in lower case
    std::string value;
    std::size_t key_offset;    // into the line, for where()
    std::size_t value_offset;  // of the value's first character
  };

  const std::vector<Pair>& pairs() const { return pairs_; }
  // The value's pair, if the key (in lower case) is there.
  const Pair* find(std::string_view key) const;
  // Where in the file a character of the joined line stands.
  Position where(std::size_t offset) const;
  // The path of an "Include PATH" line, which has no pairs.
  const std::string& include() const { return include_; }

 private:
  friend class SlurmLineReader;
  struct Segment {
    std::size_t offset;  // in the joined line
    Position position;   // in the file
  };
  std::string text_;
  std::vector<Segment> segments_;
  std::vector<Pair> pairs_;
  std::string include_;
};

// All lines that are not empty. Error: a line that is not of this form, at file:line:column; a key
// that stands twice in one line; too many keys in one line.
Result<std::vector<SlurmLine>> parse_slurm_lines(std::string_view text, std::string_view file);

}  // namespace toprun::topology
