#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace toprun::hosts {

inline constexpr std::size_t max_hosts = 1'000'000;           // in one expanded list
inline constexpr std::size_t max_hosts_per_range = 65'536;    // Slurm's MAX_RANGE: "n[0-65535]"
inline constexpr std::size_t max_name_bytes = 255;            // of one host name, as in DNS
inline constexpr std::size_t max_expanded_bytes = 64u << 20;  // of all names of one list

// What is wrong with a list and where.
struct ListFault {
  std::size_t column = 1;  // of the first character that cannot stand, from 1
  std::string why;
  std::string fix;
};

// Slurm's hostlist grammar (src/common/hostlist.c, scontrol(1) "show hostnames"): items separated
// by commas, blanks or newlines; an item is text with any number of bracketed lists of numbers and
// ranges, as in "a[01-03,7]b[1-2],c". A range is padded to the width of its first number. Of
// several brackets the last varies fastest, then the first, the second …, as Slurm's own expansion
// does. Order and duplicates are kept; an empty list has no hosts. At most `limit` hosts: what is
// too large is refused before anything is allocated for it.
std::expected<std::vector<std::string>, ListFault> parse_hostlist(std::string_view text,
                                                                  std::size_t limit = max_hosts);

// The same for a list that stands alone; the error (exit_usage) quotes it and names the column.
Result<std::vector<std::string>> expand_hostlist(std::string_view text);

// A short list for these hosts in this order, for messages: "n[0-3,7],login". Neighbours that
// differ only in the last number of their first label share a bracket. expand_hostlist gives
// `hosts` back for all names without commas, blanks, brackets and braces.
std::string compress_hostlist(const std::vector<std::string>& hosts);

// Slurm's counts per node, as in SLURM_TASKS_PER_NODE: "2(x3),1" is 2 2 2 1. At most max_hosts
// counts, each ≥ 0.
Result<std::vector<int>> expand_counts(std::string_view text);

}  // namespace toprun::hosts
