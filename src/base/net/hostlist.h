#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"

namespace toprun::hosts {

// Of one expanded list or one file. Large machines have 10,000 hosts, the largest ever built had
// 158,976; a few bytes such as "n[0-999]x[0-999]" must not cost seconds.
inline constexpr std::size_t max_hosts = 262'144;
inline constexpr std::size_t max_name_bytes = 255;  // of one host name, as in DNS

// An error in a list, and its position.
struct ListFault {
  std::size_t column = 1;  // of the first wrong character, from 1
  std::string why;
  std::string fix;
};

// Slurm's hostlist grammar (src/common/hostlist.c, scontrol(1) "show hostnames"): items separated
// by commas, blanks or newlines; an item is text with any number of bracketed lists of numbers and
// ranges, as in "a[01-03,7]b[1-2],c". A range is padded to the width of its first number. Of
// several brackets the last varies fastest, then the first, the second …, as Slurm's own expansion
// does. Order and duplicates are kept; an empty list has no hosts. At most `limit` hosts: a larger
// list is refused before memory is allocated for it.
std::expected<std::vector<std::string>, ListFault> parse_hostlist(std::string_view text,
                                                                  std::size_t limit = max_hosts);

// The same, with an error (exit_usage) that quotes the list and names the column.
Result<std::vector<std::string>> expand_hostlist(std::string_view text);

// A short list for these hosts in this order, for messages: "n[0-3,7],login". Neighbours that
// differ only in the last number of their first label share a bracket. expand_hostlist gives
// `hosts` back for all names without commas, blanks, brackets and braces.
std::string compress_hostlist(const std::vector<std::string>& hosts);

// For a message: the hosts in natural order, each once, the first 32 by name: "n[0-31] and 9 more".
std::string short_list(std::vector<std::string> hosts);

// Slurm's counts per node, as in SLURM_TASKS_PER_NODE: "2(x3),1" is 2 2 2 1. At most max_hosts
// counts, each ≥ 0.
Result<std::vector<int>> expand_counts(std::string_view text);

}  // namespace toprun::hosts
