#include "decide/topology/slurm/lines.h"

#include <algorithm>
#include <optional>

#include "base/text/text.h"

namespace toprun::topology {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

bool is_key_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

constexpr std::string_view include_word = "include";

bool starts_with_key(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && is_key_character(text[n])) ++n;
  return n > 0 && n < text.size() && text[n] == '=';
}

// The position of the backslash that continues the line: the last character except for blanks, and
// not itself escaped.
std::optional<std::size_t> continuation(std::string_view line) {
  std::size_t end = line.size();
  while (end > 0 && is_blank(line[end - 1])) --end;
  std::size_t start = end;
  while (start > 0 && line[start - 1] == '\\') --start;
  if ((end - start) % 2 == 0) return std::nullopt;
  return end - 1;
}

// The line without its comment.
std::string_view without_comment(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (line[i] == '#') {
      return line.substr(0, i);
    }
  }
  return line;
}

}  // namespace

const SlurmLine::Pair* SlurmLine::find(std::string_view key) const {
  const auto found = std::ranges::find(pairs_, key, &Pair::key);
  return found == pairs_.end() ? nullptr : &*found;
}

Position SlurmLine::where(std::size_t offset) const {
  const auto after = std::ranges::upper_bound(segments_, offset, {}, &Segment::offset);
  const Segment& segment = *std::prev(after);
  return {segment.position.line, segment.position.column + (offset - segment.offset)};
}

class SlurmLineReader {
 public:
  SlurmLineReader(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  Result<std::vector<SlurmLine>> run() {
    std::vector<SlurmLine> lines;
    while (!text_.empty()) {
      SlurmLine line = join_physical_lines();
      TRY(parse(line));
      if (!line.pairs_.empty() || !line.include_.empty()) lines.push_back(std::move(line));
    }
    return lines;
  }

 private:
  SlurmLine join_physical_lines() {
    SlurmLine line;
    for (bool more = true; more && !text_.empty();) {
      const std::size_t end = std::min(text_.find('\n'), text_.size());
      std::string_view physical = without_comment(text_.substr(0, end));
      text_.remove_prefix(std::min(end + 1, text_.size()));
      ++line_number_;
      const auto backslash = continuation(physical);
      if (backslash) physical = physical.substr(0, *backslash);
      append_unescaped(line, physical);
      more = backslash.has_value();
    }
    return line;
  }

  void append_unescaped(SlurmLine& line, std::string_view physical) {
    line.segments_.push_back({line.text_.size(), {line_number_, 1}});
    for (std::size_t i = 0; i < physical.size(); ++i) {
      if (physical[i] == '\\' && i + 1 < physical.size()) {
        ++i;
        line.segments_.push_back({line.text_.size(), {line_number_, i + 1}});
      }
      line.text_ += physical[i];
    }
  }

  std::unexpected<Error> refuse(const SlurmLine& line, std::size_t offset, std::string why,
                                std::string fix) {
    return usage(at(file_, line.where(offset)), std::move(why), std::move(fix));
  }

  Result<void> parse(SlurmLine& line) {
    const std::string_view text = line.text_;
    std::size_t i = 0;
    const auto skip_blanks = [&] {
      while (i < text.size() && is_blank(text[i])) ++i;
    };
    skip_blanks();
    const std::size_t word_end = i + include_word.size();
    if (word_end < text.size() && is_blank(text[word_end]) &&
        lower(text.substr(i, include_word.size())) == include_word &&
        !trim(text.substr(word_end)).starts_with('=')) {
      line.include_ = trim(text.substr(word_end));
      if (line.include_.empty())
        return refuse(line, i, "this Include line does not name a file",
                      "write the name of a file");
      return {};
    }
    for (; i < text.size(); skip_blanks()) {
      const std::size_t key_start = i;
      while (i < text.size() && is_key_character(text[i])) ++i;
      const std::string key = lower(text.substr(key_start, i - key_start));
      skip_blanks();
      if (key.empty() || i == text.size() || text[i] != '=') {
        return refuse(line, key.empty() ? key_start : i, "expected Key=value",
                      "see man topology.conf");
      }
      const std::size_t behind = ++i;
      skip_blanks();
      // "Nodes= Switches=s0" in scontrol's output is an empty value, not a value with "=" in it.
      if (i > behind && starts_with_key(text.substr(i))) i = behind;
      if (auto read = read_value(line, key, key_start, i); !read) return read;
    }
    return {};
  }

  // Reads the value at `i` and moves `i` behind it.
  Result<void> read_value(SlurmLine& line, const std::string& key, std::size_t key_start,
                          std::size_t& i) {
    const std::string_view text = line.text_;
    const bool quoted = i < text.size() && text[i] == '"';
    if (quoted) ++i;
    const std::size_t start = i;
    while (i < text.size() && (quoted ? text[i] != '"' : !is_blank(text[i]))) ++i;
    if (quoted && i == text.size()) {
      return refuse(line, start - 1, "the quotation mark is never closed",
                    "close the quotation mark");
    }
    if (line.find(key)) {
      return refuse(line, key_start, fmt::format("{} appears twice in this line", key),
                    "remove one of the two");
    }
    if (line.pairs_.size() == max_pairs_per_line) {
      return refuse(line, key_start,
                    fmt::format("the line has more than {} keys", max_pairs_per_line),
                    "is this a topology.conf?");
    }
    line.pairs_.push_back({key, std::string(text.substr(start, i - start)), key_start, start});
    if (quoted) ++i;
    return {};
  }

  std::string_view text_;
  std::string_view file_;
  std::size_t line_number_ = 0;
};

Result<std::vector<SlurmLine>> parse_slurm_lines(std::string_view text, std::string_view file) {
  return SlurmLineReader(text, file).run();
}

}  // namespace toprun::topology
