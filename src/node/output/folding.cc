#include "node/output/folding.h"

#include <algorithm>

namespace toprun::output {

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
