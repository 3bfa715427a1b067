#include "engines/mpi/mpirun_output.h"

#include <optional>
#include <utility>

#include "base/text/text.h"

namespace toprun::engines {
namespace {

constexpr std::size_t longest_tag_bytes = 40;

struct Tag {
  int rank = 0;
  std::size_t bytes = 0;
};

// The tag at the beginning of a text.
std::optional<Tag> tag_of(std::string_view text) {
  const std::size_t comma = text.find(',');
  const std::size_t close = text.find(']');
  if (!text.starts_with('[') || comma == text.npos || close == text.npos || comma > close) {
    return std::nullopt;
  }
  const auto job = parse_int(text.substr(1, comma - 1));
  const auto rank = parse_int(text.substr(comma + 1, close - comma - 1));
  if (!job || !rank || *rank < 0 || *rank > (1 << 30)) return std::nullopt;
  for (const std::string_view name : {"<stdout>:", "<stderr>:", "<stddiag>:"}) {
    if (text.substr(close + 1).starts_with(name)) {
      return Tag{static_cast<int>(*rank), close + 1 + name.size()};
    }
  }
  return std::nullopt;
}

// Whether this text, which has no tag, could become one with more bytes.
bool may_become_tag(std::string_view text) {
  constexpr std::string_view letters = "[0123456789,]<stdouterrdiag>:";
  return text.size() < longest_tag_bytes && text.find_first_not_of(letters) == text.npos;
}

}  // namespace

std::string MpirunOutput::add(std::string_view bytes) {
  std::string out;
  std::string all = std::move(held_);
  held_.clear();
  all += bytes;
  for (std::string_view rest = all; !rest.empty();) {
    const std::size_t bracket = rest.find('[');
    take(rest.substr(0, bracket), out);
    if (bracket == rest.npos) break;
    rest.remove_prefix(bracket);
    const std::string_view head = rest.substr(0, longest_tag_bytes);
    if (const auto tag = tag_of(head)) {
      rank_ = tag->rank;
      rest.remove_prefix(tag->bytes);
    } else if (head.size() == rest.size() && may_become_tag(rest)) {
      held_ = rest;
      break;
    } else {
      take(rest.substr(0, 1), out);
      rest.remove_prefix(1);
    }
  }
  return out;
}

void MpirunOutput::take(std::string_view piece, std::string& out) {
  while (!piece.empty()) {
    std::string& line = unfinished_[rank_];
    const std::size_t end = piece.find_first_of("\r\n");
    line += piece.substr(0, end == piece.npos ? end : end + 1);
    if (end != piece.npos || line.size() >= longest_line_bytes) {
      out += line;
      line.clear();
    }
    if (end == piece.npos) return;
    // After the end of a line, text of a rank begins with another tag.
    if (piece[end] == '\n') rank_ = no_rank;
    piece.remove_prefix(end + 1);
  }
}

std::string MpirunOutput::rest() {
  std::string out;
  take(std::exchange(held_, {}), out);
  for (auto& [rank, line] : unfinished_) out += std::exchange(line, {});
  return out;
}

std::map<int, std::string> texts_by_rank(std::string_view tagged) {
  std::map<int, std::string> texts;
  int rank = by_mpirun;
  while (!tagged.empty()) {
    if (const auto tag = tag_of(tagged.substr(0, longest_tag_bytes))) {
      rank = tag->rank;
      tagged.remove_prefix(tag->bytes);
      continue;
    }
    const std::size_t bracket = tagged.find('[', 1);
    const std::size_t line = tagged.find('\n');
    const bool ends = line < bracket;
    const std::string_view piece = tagged.substr(0, ends ? line + 1 : bracket);
    texts[rank] += piece;
    if (ends) rank = by_mpirun;
    tagged.remove_prefix(piece.size());
  }
  return texts;
}

}  // namespace toprun::engines
