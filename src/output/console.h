#pragma once

#include <unistd.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/environment.h"
#include "output/display.h"
#include "output/writer.h"

namespace toprun::output {

// Where the lines that workers print are shown: one place for their stdout and one for their
// stderr, which may be the same. It outlives the attempts of a run; one Output at a time listens.
//
// Whoever writes stops while room() is false and goes on when told; that is what bounds memory.
class Console {
 public:
  static constexpr int no_terminal = -1;

  virtual ~Console() = default;

  // Queues what Display made with cursor().
  virtual void write(bool is_err, std::string text) = 0;
  virtual bool room(bool is_err) const = 0;
  // True once everything given is written or has failed; else the listener is told when it is.
  virtual bool idle() = 0;
  // Whether it shows colours: it is a terminal whose user wants them.
  virtual bool shows_colours(bool is_err) const = 0;
  // The terminal that lines go to as they are; none if they go elsewhere, or there and elsewhere.
  virtual int terminal(bool) const { return no_terminal; }
  // What follows there starts on a line of its own.
  virtual void end_line() = 0;
  virtual Cursor& cursor(bool is_err) = 0;

  // Names a further source of lines, for a Display.
  int new_source() { return sources_++; }
  // `changed` is called when room() or an idle() that was asked for turned true, until the same
  // listener has enough or another takes its place.
  void listen(const void* listener, std::function<void()> changed) {
    listener_ = listener;
    changed_ = std::move(changed);
  }
  void ignore(const void* listener) {
    if (listener_ == listener) changed_ = {};
  }

 protected:
  void tell() {
    const auto changed = changed_;  // it may end this
    if (changed) changed();
  }

 private:
  int sources_ = 0;
  const void* listener_ = nullptr;
  std::function<void()> changed_;
};

// toprun's own stdout and stderr.
struct ConsoleDescriptors {
  int out = STDOUT_FILENO;
  int err = STDERR_FILENO;
};

// toprun's own stdout and stderr as a console. A closed one is said once; what is printed there is
// then dropped.
class Terminal : public Console {
 public:
  // A line of another worker waits behind no more than this, however slow the terminal.
  static constexpr Writer::Limits limits{.high_bytes = 1u << 18, .low_bytes = 1u << 17};

  // `colours`: shown where it is a terminal.
  Terminal(boost::asio::io_context& io, ConsoleDescriptors descriptors, bool colours);
  ~Terminal() override;  // what is not written yet is lost
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void write(bool is_err, std::string text) override;
  bool room(bool is_err) const override;
  bool idle() override;
  bool shows_colours(bool is_err) const override;
  int terminal(bool is_err) const override;
  void end_line() override;
  Cursor& cursor(bool is_err) override { return place(is_err).cursor; }

  // Shows what another node's Relay delivered. `taken` is called, here or later, when there is room
  // for more from that node.
  void show(const std::string& node, bool is_err, std::string lines, std::function<void()> taken);
  // Calls `written` once, here or later, when everything given so far is written or has failed.
  void when_written(std::function<void()> written);
  // Who else may write there, in order with what is shown.
  std::shared_ptr<Writer> writer(bool is_err) const { return place(is_err).writer; }
  int descriptor(bool is_err) const { return is_err ? descriptors_.err : descriptors_.out; }

 private:
  struct Place {
    int fd;
    std::shared_ptr<Writer> writer;
    Cursor cursor;
  };
  struct Waiting {
    bool is_err;
    std::function<void()> taken;
  };

  Place& place(bool is_err) { return is_err && !shared_ ? err_ : out_; }
  const Place& place(bool is_err) const { return is_err && !shared_ ? err_ : out_; }
  Writer::Observer observer();
  void on_room();
  void failed(int fd, int code);

  ConsoleDescriptors descriptors_;
  bool colours_;
  bool shared_;  // both are the same terminal, pipe or file
  Place out_;
  Place err_;                         // unused if shared
  std::map<std::string, int> nodes_;  // as sources
  std::vector<Waiting> waiting_;
  std::vector<std::function<void()>> written_;
};

}  // namespace toprun::output
