#include "node/output/folding.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/text.h"
#include "node/output/lines.h"

namespace toprun::output {
namespace {

// The memory cost of a held line besides its text.
constexpr std::size_t bytes_per_group = 256;

}  // namespace

void Fold::join(int rank) {
  positions_[rank] = next_number_;
  sorted_positions_.insert(next_number_);
}

void Fold::leave(int rank) {
  const auto found = positions_.find(rank);
  if (found == positions_.end()) return;
  sorted_positions_.erase(sorted_positions_.find(found->second));
  positions_.erase(found);
}

void Fold::add(int rank, std::string_view lines, SteadyTime now) {
  while (!lines.empty()) {
    const std::size_t end = end_of_first_line(lines);
    add_line(rank, lines.substr(0, end), now);
    lines.remove_prefix(end);
  }
}

void Fold::add_line(int rank, std::string_view line, SteadyTime now) {
  const std::uint64_t position = std::max(positions_.at(rank), first_number());
  if (const auto known = by_text_.find(line); known != by_text_.end()) {
    const auto number = std::ranges::lower_bound(known->second, position);
    if (number != known->second.end()) {
      groups_[*number - first_number()].ranks.push_back(rank);
      return move(rank, *number + 1);
    }
  }
  groups_.push_back({std::string(line), {rank}, now});
  by_text_[groups_.back().text].push_back(next_number_);
  held_bytes_ += line.size() + bytes_per_group;
  move(rank, ++next_number_);
}

void Fold::move(int rank, std::uint64_t position) {
  std::uint64_t& old = positions_.at(rank);
  auto node = sorted_positions_.extract(sorted_positions_.find(old));
  node.value() = old = position;
  sorted_positions_.insert(std::move(node));
}

bool Fold::everyone_is_past_the_first() const {
  return sorted_positions_.empty() || *sorted_positions_.begin() > first_number();
}

std::string Fold::take(SteadyTime now) {
  std::string out;
  while (!groups_.empty() && (everyone_is_past_the_first() || held_bytes_ > most_held_bytes ||
                              now - groups_.front().since >= window)) {
    show_first(out);
  }
  return out;
}

std::optional<SteadyTime> Fold::due() const {
  if (groups_.empty()) return std::nullopt;
  return groups_.front().since + window;
}

void Fold::show_first(std::string& out) {
  const Group& group = groups_.front();
  const auto known = by_text_.find(group.text);
  known->second.pop_front();
  const std::uint64_t next_alike = known->second.empty() ? 0 : known->second.front();
  auto node = by_text_.extract(known);
  if (!node.mapped().empty()) {
    node.key() = groups_[next_alike - first_number()].text;
    by_text_.insert(std::move(node));
  }
  held_bytes_ -= group.text.size() + bytes_per_group;
  out += label(group.ranks);
  out += group.text;
  if (!ends_line(group.text.back())) out += '\n';
  groups_.pop_front();
}

std::string Fold::label(std::vector<int> ranks) const {
  std::ranges::sort(ranks);
  const std::string plain =
      fmt::format("[rank{} {}]", ranks.size() == 1 ? "" : "s", ranges_text(ranks));
  return (colours_ ? coloured(plain, ranks.front()) : plain) + ' ';
}

Folding::Folding(boost::asio::io_context& io, std::shared_ptr<Console> console)
    : console_(std::move(console)),
      out_(console_->shows_colours(false)),
      err_(console_->shows_colours(true)),
      timer_(io),
      self_(std::make_shared<Folding*>(this)) {}

void Folding::leave(bool is_err, int rank) {
  fold(is_err).leave(rank);
  show(is_err);
}

void Folding::add(bool is_err, int rank, std::string_view lines) {
  fold(is_err).add(rank, lines, SteadyClock::now());
  show(is_err);
}

void Folding::show(bool is_err) {
  std::string text = fold(is_err).take(SteadyClock::now());
  Cursor& cursor = console_->cursor(is_err);
  // Folded lines are always complete; they must not continue a line that another source left open.
  if (!text.empty() && std::exchange(cursor.owner, Cursor::no_owner) != Cursor::no_owner) {
    text.insert(0, 1, '\n');
  }
  console_->write(is_err, std::move(text));
  run_timer();
}

void Folding::run_timer() {
  const SteadyTime due =
      std::min(out_.due().value_or(SteadyTime::max()), err_.due().value_or(SteadyTime::max()));
  if (due == SteadyTime::max() || std::exchange(timer_runs_, true)) return;
  timer_.expires_at(due);
  timer_.async_wait([weak = std::weak_ptr(self_)](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (!self || error) return;
    Folding& folding = **self;
    folding.timer_runs_ = false;
    folding.show(false);
    folding.show(true);
  });
}

}  // namespace toprun::output
