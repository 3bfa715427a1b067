#include "node/output/own_lines.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/os/line_state.h"
#include "base/os/log_sink.h"
#include "base/text/clock.h"

namespace toprun::output {

class OwnLines::Carrier : public LogSink {
 public:
  Carrier(std::shared_ptr<Writer> shown, int shown_fd, std::shared_ptr<Writer> copy)
      : shown_{std::move(shown)}, copy_{std::move(copy)}, shown_fd_(shown_fd) {}

  void write(int fd, std::string text) override {
    if (fd == STDERR_FILENO) {
      put(shown_, shown_fd_, std::move(text));
    } else {
      put(copy_, fd, std::move(text));
    }
  }

  bool flush(std::chrono::milliseconds limit) override {
    const SteadyTime deadline = std::chrono::steady_clock::now() + limit;
    const bool shown = shown_.writer->flush(deadline);
    return copy_.writer->flush(deadline) && shown;
  }

  Writer& copy() { return *copy_.writer; }

 private:
  struct Target {
    std::shared_ptr<Writer> writer;
    std::atomic<std::size_t> dropped{0};
  };

  static void put(Target& target, int fd, std::string text) {
    const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
    const std::size_t dropped = target.dropped.exchange(0);
    if (dropped > 0) {
      text.insert(0, fmt::format("toprun: {} lines of toprun's own are missing here\n", dropped));
    }
    if (target.writer->offer(fd, std::move(text), most_waiting_bytes)) return;
    target.dropped += dropped + lines;
  }

  Target shown_;
  Target copy_;
  const int shown_fd_;
};

OwnLines::OwnLines(boost::asio::io_context& io, Terminal& terminal)
    : terminal_(terminal),
      carrier_(std::make_shared<Carrier>(terminal.writer(true), terminal.descriptor(true),
                                         Writer::create(io, {[this] { check_copy(); }, {}},
                                                        Writer::Limits{}, &unfinished_in_copy()))) {
  set_log_sink(carrier_);
}

OwnLines::~OwnLines() {
  if (!given_up_) carrier_->flush(last_words_limit);
  set_log_sink(nullptr);
  carrier_->copy().abandon();
}

void OwnLines::when_written(std::function<void()> written) {
  terminal_.when_written([this, written = std::move(written)]() mutable {
    written_ = std::move(written);
    check_copy();
  });
}

void OwnLines::check_copy() {
  if (written_ && carrier_->copy().idle()) std::exchange(written_, {})();
}

}  // namespace toprun::output
