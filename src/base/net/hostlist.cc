#include "base/net/hostlist.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/text/text.h"

namespace toprun::hosts {
namespace {

constexpr std::size_t max_digits = 18;           // of a number without leading zeros: fits 64 bits
constexpr std::size_t slurm_max_range = 65'536;  // Slurm's limit MAX_RANGE
constexpr std::size_t quoted_list_bytes = 60;    // if a message quotes a list
constexpr std::string_view range_form = "write brackets as in n[0-3,7]";

bool is_separator(char c) {
  return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// A character that is allowed in a name and has no special meaning.
bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte > 0x20 && byte != 0x7f && c != ',' && c != '[' && c != ']' && c != '{' && c != '}';
}

struct Range {
  std::uint64_t first = 0;
  std::size_t count = 0;
  std::size_t width = 0;  // numbers are padded with zeros to this many digits
};

// One item of a list: literals[0] ranges[0] literals[1] … ranges[n-1] literals[n].
struct Item {
  std::vector<std::string_view> literals;
  std::vector<std::vector<Range>> brackets;
  std::size_t column = 1;
};

std::string padded(std::uint64_t number, std::size_t width) {
  std::array<char, 20> digits;  // fits any 64-bit number
  const char* end = std::to_chars(digits.begin(), digits.end(), number).ptr;
  const auto length = static_cast<std::size_t>(end - digits.data());
  std::string text(width > length ? width - length : 0, '0');
  return text.append(digits.data(), length);
}

class Parser {
 public:
  Parser(std::string_view text, std::size_t limit) : text_(text), limit_(limit) {}

  std::expected<std::vector<std::string>, ListFault> run() {
    while (at_ < text_.size()) {
      if (is_separator(text_[at_])) {
        ++at_;
        continue;
      }
      const std::optional<Item> item = read_item();
      if (!item || !append(*item)) return std::unexpected(fault_);
    }
    return std::move(hosts_);
  }

 private:
  // Records the fault at byte `at`; returns false, so that callers can return the result.
  bool refuse(std::size_t at, std::string why, std::string_view fix) {
    fault_ = {at + 1, std::move(why), std::string(fix)};
    return false;
  }

  std::optional<Item> read_item() {
    Item item;
    item.column = at_ + 1;
    std::size_t literal_start = at_;
    for (; at_ < text_.size() && !is_separator(text_[at_]); ++at_) {
      const char c = text_[at_];
      if (c == '[') {
        item.literals.push_back(text_.substr(literal_start, at_ - literal_start));
        if (!read_bracket(item.brackets.emplace_back())) return std::nullopt;
        literal_start = at_ + 1;
      } else if (!plain(c)) {
        return std::nullopt;
      }
    }
    item.literals.push_back(text_.substr(literal_start, at_ - literal_start));
    return item;
  }

  // Whether the character at at_ may be in a name; records a fault if not.
  bool plain(char c) {
    if (c == ']') return refuse(at_, "']' without a '[' before it", range_form);
    if (c == '{' || c == '}') {
      return refuse(at_, "only Slurm's server can expand a function such as switch{}",
                    "list the names with `scontrol show hostnames` and write these names instead");
    }
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      return refuse(at_, "a host name contains a control character", "remove this character");
    }
    return true;
  }

  // Parses from '[' at at_ to its ']'; at_ is then at the ']'.
  bool read_bracket(std::vector<Range>& ranges) {
    const std::size_t open = at_;
    do {
      ++at_;
      Range range;
      if (!read_range(open, range)) return false;
      ranges.push_back(range);
    } while (text_[at_] == ',');
    return true;
  }

  // Parses "N" or "LO-HI"; at_ is then at the following ',' or ']'.
  bool read_range(std::size_t open, Range& range) {
    const std::size_t start = at_;
    std::uint64_t last = 0;
    if (!read_number(open, range.first, range.width)) return false;
    if (at_ < text_.size() && text_[at_] == '-') {
      ++at_;
      std::size_t ignored_width = 0;
      if (!read_number(open, last, ignored_width)) return false;
    } else {
      last = range.first;
    }
    if (at_ == text_.size()) return refuse(open, "'[' is never closed", range_form);
    if (text_[at_] != ',' && text_[at_] != ']') {
      return refuse(at_, "only digits, '-' and ',' may stand in brackets", range_form);
    }
    const std::string_view written = text_.substr(start, at_ - start);
    if (last < range.first) {
      return refuse(start, fmt::format("the range {} descends", written),
                    "write the smaller number first");
    }
    if (last - range.first >= max_hosts) {
      return refuse(start, fmt::format("the range {} has more than {} hosts", written, max_hosts),
                    "shorten the range");
    }
    range.count = static_cast<std::size_t>(last - range.first) + 1;
    return true;
  }

  bool read_number(std::size_t open, std::uint64_t& number, std::size_t& width) {
    const std::size_t start = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    std::string_view digits = text_.substr(start, at_ - start);
    if (digits.empty()) {
      if (at_ == text_.size()) return refuse(open, "'[' is never closed", range_form);
      return refuse(at_, "a number is missing", range_form);
    }
    width = digits.size();
    while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
    if (width > max_name_bytes || digits.size() > max_digits) {
      return refuse(start, "the number is too long", fmt::format("at most {} digits", max_digits));
    }
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return true;
  }

  // Adds the names of an item after checking that they fit all limits.
  bool append(const Item& item) {
    std::size_t count = 1;
    std::size_t longest = 0;
    for (const std::string_view literal : item.literals) longest += literal.size();
    for (const std::vector<Range>& bracket : item.brackets) {
      std::size_t in_bracket = 0;
      std::size_t digits = 0;
      for (const Range& range : bracket) {
        in_bracket += range.count;
        digits = std::max({digits, range.width, padded(range.first + range.count - 1, 0).size()});
      }
      longest += digits;
      // Both factors are at most limit_ + 1, so the product fits 64 bits.
      count = std::min(count, limit_ + 1) * std::min(in_bracket, limit_ + 1);
    }
    if (longest > max_name_bytes) {
      return refuse(item.column - 1,
                    fmt::format("a host name is longer than {} bytes", max_name_bytes),
                    "is a comma missing?");
    }
    if (count > limit_ - hosts_.size()) {
      return refuse(item.column - 1,
                    fmt::format("there are too many hosts: at most {} hosts are allowed", limit_),
                    "shorten the list");
    }
    expand(item, count);
    return true;
  }

  void expand(const Item& item, std::size_t count) {
    std::vector<std::vector<std::string>> numbers;  // per bracket
    for (const std::vector<Range>& bracket : item.brackets) {
      std::vector<std::string>& texts = numbers.emplace_back();
      for (const Range& range : bracket) {
        for (std::size_t i = 0; i < range.count; ++i) {
          texts.push_back(padded(range.first + i, range.width));
        }
      }
    }
    std::vector<std::size_t> index(numbers.size(), 0);
    for (std::size_t n = 0; n < count; ++n) {
      std::string& name = hosts_.emplace_back(item.literals[0]);
      for (std::size_t b = 0; b < numbers.size(); ++b) {
        name += numbers[b][index[b]];
        name += item.literals[b + 1];
      }
      advance(index, numbers);
    }
  }

  // The last bracket varies fastest, then the first, the second, …: Slurm expands the last bracket
  // itself and recurses on the last bracket of the text before it.
  static void advance(std::vector<std::size_t>& index,
                      const std::vector<std::vector<std::string>>& numbers) {
    const std::size_t brackets = index.size();
    for (std::size_t step = 0; step < brackets; ++step) {
      const std::size_t b = step == 0 ? brackets - 1 : step - 1;
      if (++index[b] < numbers[b].size()) return;
      index[b] = 0;
    }
  }

  std::string_view text_;
  std::size_t limit_;
  std::size_t at_ = 0;
  std::vector<std::string> hosts_;
  ListFault fault_;
};

std::string quoted(std::string_view text) {
  if (text.size() <= quoted_list_bytes) return fmt::format("'{}'", text);
  return fmt::format("'{}…'", text.substr(0, quoted_list_bytes));
}

std::unexpected<Error> list_error(std::string_view kind, std::string_view text,
                                  const ListFault& fault) {
  return usage(fmt::format("{} {}, column {}", kind, quoted(text), fault.column), fault.why,
               fault.fix);
}

// A name as prefix, number and suffix; the number is the last one in the first label.
struct Numbered {
  std::string_view prefix, digits, suffix;
};

Numbered numbered(std::string_view name) {
  const std::size_t label = std::min(name.find('.'), name.size());
  std::size_t end = label;
  while (end > 0 && !is_digit(name[end - 1])) --end;
  std::size_t start = end;
  while (start > 0 && is_digit(name[start - 1])) --start;
  if (end - start > max_digits) start = end;
  return {name.substr(0, start), name.substr(start, end - start), name.substr(end)};
}

std::uint64_t value_of(std::string_view digits) {
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

// Names with the same prefix and suffix, combined into one bracket.
class Bracket {
 public:
  explicit Bracket(const Numbered& first) : first_(first) { add(first.digits); }

  bool takes(const Numbered& name) const {
    return !name.digits.empty() && !first_.digits.empty() && name.prefix == first_.prefix &&
           name.suffix == first_.suffix;
  }

  void add(std::string_view digits) {
    if (!runs_.empty()) {
      Run& run = runs_.back();
      if (run.count < slurm_max_range &&
          padded(value_of(run.first) + run.count, run.first.size()) == digits) {
        ++run.count;
        return;
      }
    }
    runs_.push_back({digits, 1});
  }

  std::string text() const {
    if (runs_.size() == 1 && runs_[0].count == 1) {
      return fmt::format("{}{}{}", first_.prefix, first_.digits, first_.suffix);
    }
    std::string list;
    for (const Run& run : runs_) {
      if (!list.empty()) list += ',';
      list += run.first;
      if (run.count > 1) {
        list += '-' + padded(value_of(run.first) + run.count - 1, run.first.size());
      }
    }
    return fmt::format("{}[{}]{}", first_.prefix, list, first_.suffix);
  }

 private:
  struct Run {
    std::string_view first;
    std::size_t count;
  };
  Numbered first_;
  std::vector<Run> runs_;
};

}  // namespace

std::expected<std::vector<std::string>, ListFault> parse_hostlist(std::string_view text,
                                                                  std::size_t limit) {
  // A fast path for one plain name, because a file may contain 100,000 of these lists.
  const bool plain = !text.empty() && text.size() <= max_name_bytes && limit > 0 &&
                     std::ranges::all_of(text, is_plain);
  if (plain) return std::vector{std::string(text)};
  return Parser(text, std::min(limit, max_hosts)).run();
}

Result<std::vector<std::string>> expand_hostlist(std::string_view text) {
  auto hosts = parse_hostlist(text);
  if (!hosts) return list_error("host list", text, hosts.error());
  return *std::move(hosts);
}

std::string compress_hostlist(const std::vector<std::string>& hosts) {
  std::string list;
  std::optional<Bracket> open;
  const auto close = [&] {
    if (!open) return;
    if (!list.empty()) list += ',';
    list += open->text();
  };
  for (const std::string& host : hosts) {
    const Numbered name = numbered(host);
    if (open && open->takes(name)) {
      open->add(name.digits);
      continue;
    }
    close();
    open.emplace(name);
  }
  close();
  return list;
}

std::string short_list(std::vector<std::string> hosts) {
  constexpr std::size_t most_named = 32;
  std::ranges::sort(hosts, natural_less);
  const auto repeated = std::ranges::unique(hosts);
  hosts.erase(repeated.begin(), repeated.end());
  const std::size_t all = hosts.size();
  hosts.resize(std::min(all, most_named));
  const std::string list = compress_hostlist(hosts);
  return all > most_named ? fmt::format("{} and {} more", list, all - most_named) : list;
}

Result<std::vector<int>> expand_counts(std::string_view text) {
  constexpr std::string_view form = "write counts as in 2(x3),1";
  std::vector<int> counts;
  std::size_t column = 1;
  for (const std::string_view item : split(text, ',')) {
    const std::size_t paren = std::min(item.find('('), item.size());
    const auto count = parse_int(item.substr(0, paren));
    if (!count || *count < 0 || *count > std::numeric_limits<int>::max() || item[0] == '-') {
      return list_error("count list", text, {column, "a count is missing", std::string(form)});
    }
    std::int64_t repeat = 1;
    if (paren < item.size()) {
      const std::string_view group = item.substr(paren);
      const bool shaped = group.starts_with("(x") && group.ends_with(")");
      const auto times = shaped ? parse_int(group.substr(2, group.size() - 3)) : std::nullopt;
      if (!times || *times < 1) {
        return list_error("count list", text,
                          {column + paren, "a repetition is malformed", std::string(form)});
      }
      repeat = *times;
    }
    if (static_cast<std::uint64_t>(repeat) > max_hosts - counts.size()) {
      return list_error(
          "count list", text,
          {column, fmt::format("more than {} counts in all", max_hosts), "shorten the list"});
    }
    counts.insert(counts.end(), static_cast<std::size_t>(repeat), static_cast<int>(*count));
    column += item.size() + 1;
  }
  return counts;
}

}  // namespace toprun::hosts
