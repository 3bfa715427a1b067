#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>

#include "base/os/timer.h"
#include "node/output/console.h"

namespace toprun::output {

// A console whose lines are shown on another node (--gather-output). The relay delivers lines in
// batches to a callback, which sends them to the other side: the root's terminal. Delivered bytes
// use up the relay's credit until the other side has accepted them. While no credit is left, no
// batch is delivered and the workers' output is not read.
//
//   open --close()--> closed: new lines are dropped, nothing waits
class Relay : public Console, public std::enable_shared_from_this<Relay> {
 public:
  // How long small pieces wait so that they are sent together.
  static constexpr std::chrono::milliseconds gather_time{10};
  static constexpr std::size_t batch_bytes =
      64 * 1024;  // a batch of this size is delivered at once
  static constexpr std::size_t default_credit_bytes = 1u << 20;
  // The maximum number of bytes that the root should hold for all relays together. It holds
  // delivered bytes until its terminal accepts them.
  static constexpr std::size_t total_credit_bytes = 64u << 20;
  static constexpr std::size_t least_credit_bytes = 4u << 10;  // for each relay

  // Returns the credit in bytes of each relay if `relays` relays share total_credit_bytes.
  static std::size_t credit_among(std::size_t relays);

  // A callback that receives whole lines with their prefixes, in order. The bytes are unchanged
  // from the workers, so they are not always UTF-8. A line that stays unfinished for a while may
  // arrive without its line end.
  using Deliver = std::function<void(bool is_err, std::string lines)>;

  // `colours`: whether the console on the other side shows colours. The other side has to store at
  // most `credit_bytes`, unless a single line is longer. The io_context must outlive the relay.
  static std::shared_ptr<Relay> create(boost::asio::io_context& io, Deliver deliver, bool colours,
                                       std::size_t credit_bytes = default_credit_bytes);

  // Sets the credit that limits later batches. Bytes that are already delivered are not affected.
  void set_credit(std::size_t bytes) { credit_bytes_ = bytes; }
  // Call sent() when the other side has accepted `bytes` of the delivered lines.
  void sent(std::size_t bytes);
  // Call close() when the connection to the other side has ended.
  void close();

  void write(bool is_err, std::string text) override;
  bool room(bool is_err) const override;
  bool idle() override;
  bool shows_colours(bool) const override { return colours_; }
  void end_line() override {}  // the console on the other side ends its lines itself
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

  Timer timer_;
  bool timer_runs_ = false;
  Deliver deliver_;  // empty once closed
  bool colours_;
  std::size_t credit_bytes_;
  std::size_t outstanding_bytes_ = 0;  // bytes that this relay has accepted and the other side has
                                       // not accepted yet
  std::deque<Batch> batches_;          // not yet delivered
  std::size_t batched_bytes_ = 0;
  bool due_ = false;  // the batches have waited long enough or are large enough to deliver
  bool crowded_ = false;
  bool idle_awaited_ = false;
  Cursor out_cursor_;
  Cursor err_cursor_;
};

}  // namespace toprun::output
