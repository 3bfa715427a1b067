#pragma once

#include <functional>
#include <memory>

#include <boost/asio/io_context.hpp>

#include "output/console.h"

namespace toprun::output {

// While this stands, toprun's own lines (say()) go the way of the workers': in order with them
// through the terminal's writer, and where they are copied to a file, through a writer of its own.
// So neither a terminal nor a disk that takes nothing holds up whoever says something.
class OwnLines {
 public:
  // Of what waits already, the most behind which a line may queue; beyond it lines are dropped, and
  // once there is room again it is said how many.
  static constexpr std::size_t most_waiting_bytes = 4u << 20;

  // The io_context and the terminal must outlive this.
  OwnLines(boost::asio::io_context& io, Terminal& terminal);
  // Waits for what is not written yet, unless `given_up`, up to last_words_limit (base/voice.h).
  ~OwnLines();
  OwnLines(const OwnLines&) = delete;
  OwnLines& operator=(const OwnLines&) = delete;

  // Calls `written` once, here or later, when all that was said, and all that workers printed, is
  // written.
  void when_written(std::function<void()> written);
  // Nobody is to wait any more.
  void give_up() { given_up_ = true; }

 private:
  class Carrier;
  void check_copy();

  Terminal& terminal_;
  std::shared_ptr<Carrier> carrier_;
  std::function<void()> written_;  // called once the copy is
  bool given_up_ = false;
};

}  // namespace toprun::output
