#pragma once

#include <functional>
#include <memory>

#include <boost/asio/io_context.hpp>

#include "node/output/console.h"

namespace toprun::output {

// While this object exists, toprun's own lines (say()) pass through the terminal's writer, in order
// with the workers' lines. Copies to a file pass through a second writer. So a blocked terminal or
// disk never blocks the caller of say().
class OwnLines {
 public:
  // If more bytes than this are waiting, new lines are dropped. When there is room again, a line
  // says how many lines were dropped.
  static constexpr std::size_t most_waiting_bytes = 4u << 20;

  // The io_context and the terminal must outlive this object.
  OwnLines(boost::asio::io_context& io, Terminal& terminal);
  // Waits for unwritten lines for at most last_words_limit (base/os/log_sink.h), unless give_up()
  // was called.
  ~OwnLines();
  OwnLines(const OwnLines&) = delete;
  OwnLines& operator=(const OwnLines&) = delete;

  // Calls `written` once, now or later, when all own lines and all workers' lines are written.
  void when_written(std::function<void()> written);
  // After this call, the destructor does not wait.
  void give_up() { given_up_ = true; }

 private:
  class Carrier;
  void check_copy();

  Terminal& terminal_;
  std::shared_ptr<Carrier> carrier_;
  std::function<void()> written_;  // called once the copy in the file is written
  bool given_up_ = false;
};

}  // namespace toprun::output
