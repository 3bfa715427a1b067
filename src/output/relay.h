#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "output/console.h"

namespace toprun::output {

// A console that is elsewhere (--gather-output): lines are delivered in batches to whoever carries
// them there, and what was delivered counts until the other side has taken it. While the credit is
// used up, nothing more is delivered, and nothing is read from the workers.
//
//   open --close()--> closed: what comes is dropped, nobody waits
class Relay : public Console, public std::enable_shared_from_this<Relay> {
 public:
  // Small pieces wait so long for company.
  static constexpr std::chrono::milliseconds gather_time{10};
  static constexpr std::size_t batch_bytes = 64 * 1024;  // delivered at once from here on
  static constexpr std::size_t default_credit_bytes = 1u << 20;
  // What the other side may hold of all relays to it, and the least that each of them needs.
  static constexpr std::size_t total_credit_bytes = 64u << 20;
  static constexpr std::size_t least_credit_bytes = 4u << 10;

  // The credit of each of so many relays.
  static std::size_t credit_among(std::size_t relays);

  // Whole prefixed lines, in order; bytes as the workers wrote them, so not always UTF-8. A line
  // that no worker goes on with for a while may come without its end.
  using Deliver = std::function<void(bool is_err, std::string lines)>;

  // `colours`: the console at the other end shows them. The other side never holds more than the
  // credit, but for one line that is longer. The io_context must outlive the relay.
  static std::shared_ptr<Relay> create(boost::asio::io_context& io, Deliver deliver, bool colours,
                                       std::size_t credit_bytes = default_credit_bytes);

  // The other side has taken so much of what was delivered.
  void sent(std::size_t bytes);
  // The other side is gone.
  void close();

  void write(bool is_err, std::string text) override;
  bool room(bool is_err) const override;
  bool idle() override;
  bool shows_colours(bool) const override { return colours_; }
  void end_line() override {}  // the other side knows what follows there
  Cursor& cursor(bool is_err) override { return is_err ? err_cursor_ : out_cursor_; }

 private:
  struct Batch {
    bool is_err;
    std::string lines;
  };

  Relay(boost::asio::io_context& io, Deliver deliver, bool colours, std::size_t credit_bytes);
  void deliver();
  std::string take_deliverable();
  void run_timer();

  boost::asio::steady_timer timer_;
  bool timer_runs_ = false;
  Deliver deliver_;  // empty: closed
  bool colours_;
  std::size_t credit_bytes_;
  std::size_t owed_bytes_ = 0;  // given to us and not yet taken by the other side
  std::deque<Batch> batches_;   // not yet delivered
  std::size_t batched_bytes_ = 0;
  bool due_ = false;  // what is batched has waited long enough, or is much
  bool crowded_ = false;
  bool idle_awaited_ = false;
  Cursor out_cursor_;
  Cursor err_cursor_;
};

}  // namespace toprun::output
