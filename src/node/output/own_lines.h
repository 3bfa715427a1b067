#pragma once

#include <functional>
#include <memory>

#include <boost/asio/io_context.hpp>

#include "node/output/console.h"

namespace toprun::output {

// While this object exists, toprun's own lines (say()) pass through the terminal's writer, in order
// with the workers' lines; copies to a file pass through a second writer. So a blocked terminal or
// disk never blocks the caller of say().
class OwnLines {
 public:
  // The most bytes that may wait ahead of a new line. Beyond it lines are dropped; once there is
  // room again, a line reports their number.
  static constexpr std::size_t most_waiting_bytes = 4u << 20;

  // The io_context and the terminal must outlive this.
  OwnLines(boost::asio::io_context& io, Terminal& terminal);
  // Waits for unwritten lines up to last_words_limit (base/os/voice.h), unless give_up() was
  // called.
  ~OwnLines();
  OwnLines(const OwnLines&) = delete;
  OwnLines& operator=(const OwnLines&) = delete;

  // Calls `written` once, now or later, when all own lines and all workers' lines are written.
  void when_written(std::function<void()> written);
  // The destructor will not wait.
  void give_up() { given_up_ = true; }

 private:
  class Carrier;
  void check_copy();

  Terminal& terminal_;
  std::shared_ptr<Carrier> carrier_;
  std::function<void()> written_;  // called once the copy is written
  bool given_up_ = false;
};

}  // namespace toprun::output
