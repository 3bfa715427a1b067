#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"
#include "decide/topology/position.h"

namespace toprun::topology {

inline constexpr std::size_t max_pairs_per_line = 32;  // Slurm's own lines have up to six pairs

// A line "Key=value Key=value", as in Slurm's configuration files (man slurm.conf) and in the
// output of `scontrol show`. Keys are case-insensitive. Blanks around "=" are allowed; values with
// blanks are in double quotes. "#" starts a comment, "\#" does not. A line that ends with "\"
// continues on the next line.
class SlurmLine {
 public:
  struct Pair {
    std::string key;  // in lower case
    std::string value;
    std::size_t key_offset;    // in the line, for where()
    std::size_t value_offset;  // of the value's first character
  };

  const std::vector<Pair>& pairs() const { return pairs_; }
  // Returns the pair with this key (in lower case); null: no such pair.
  const Pair* find(std::string_view key) const;
  // Returns the position in the file of the character at `offset`. The offset counts from the
  // line's start, across its continuation lines.
  Position where(std::size_t offset) const;
  // Returns the path of an "Include PATH" line, which has no pairs.
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

// Parses all lines that are not empty. Errors: a line of another form, with file:line:column; a
// duplicate key in one line; too many keys in one line.
Result<std::vector<SlurmLine>> parse_slurm_lines(std::string_view text, std::string_view file);

}  // namespace toprun::topology
