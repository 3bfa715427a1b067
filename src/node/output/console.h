#pragma once

#include <unistd.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/os/environment.h"
#include "base/os/fd.h"
#include "base/text/clock.h"
#include "node/output/lines.h"
#include "node/output/writer.h"

namespace toprun::output {

// Shows the lines that workers print. A console has one destination for the workers' stdout and one
// for their stderr; the two destinations may be the same. A console is used for all attempts of a
// run. At any time, at most one Output (output.h) is the console's listener.
//
// The callers of write() stop while room() is false and continue when the listener is called, so
// the memory for queued text is limited.
class Console {
 public:
  static constexpr int no_terminal = -1;

  virtual ~Console() = default;

  // Queues text that Display has composed with cursor().
  virtual void write(bool is_err, std::string text) = 0;
  virtual bool room(bool is_err) const = 0;
  // True if all text is written or has failed. If false, the listener (see listen()) is called when
  // idle() becomes true.
  virtual bool idle() = 0;
  // Whether the destination is a terminal and the user wants colours.
  virtual bool shows_colours(bool is_err) const = 0;
  // Returns the descriptor of the terminal that shows the lines unchanged. Returns no_terminal if
  // the lines go to a file or another node, even if a terminal shows them too.
  virtual int terminal(bool) const { return no_terminal; }
  // Makes the next text start on a new line. A destination that other programs use too, such as a
  // terminal, gets the line end at once. In other destinations, the line end is added only if more
  // text follows.
  virtual void end_line() = 0;
  virtual Cursor& cursor(bool is_err) = 0;

  // Returns the number of a new source of lines (a worker's stream), for a Display (lines.h).
  int new_source() { return sources_++; }
  // From now on, calls `changed` when room() becomes true again, or when idle() becomes true after
  // it was false. The calls end when the same listener calls ignore(), or another listener replaces
  // it.
  void listen(const void* listener, std::function<void()> changed) {
    listener_ = listener;
    changed_ = std::move(changed);
  }
  void ignore(const void* listener) {
    if (listener_ == listener) changed_ = {};
  }

 protected:
  void notify() {
    const auto changed = changed_;  // the callback may destroy this console
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
  // Whether other programs may write to the same files, such as srun or other nodes' agents.
  bool shared_with_others = false;
};

// toprun's own stdout and stderr as a console. A closed stream is reported once; later text for
// that stream is dropped.
class Terminal : public Console {
 public:
  // Limits for queued bytes. Because of `high_bytes`, a worker's new line waits for at most this
  // number of earlier bytes, even on a slow terminal.
  static constexpr Writer::Limits limits{.high_bytes = 1u << 18, .low_bytes = 1u << 17};

  // `colours`: whether a stream that is a terminal shows colours.
  Terminal(boost::asio::io_context& io, ConsoleDescriptors descriptors, bool colours);
  ~Terminal() override;  // unwritten text is lost
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void write(bool is_err, std::string text) override;
  bool room(bool is_err) const override;
  bool idle() override;
  bool shows_colours(bool is_err) const override;
  int terminal(bool is_err) const override;
  void end_line() override;
  Cursor& cursor(bool is_err) override { return stream(is_err).cursor; }

  // Shows lines that another node's Relay delivered. Calls `taken` once that node may send more
  // lines, before or after show() returns.
  void show(const std::string& node, bool is_err, std::string lines, std::function<void()> taken);
  // Shows a line from toprun itself below all other text, until more text or the next such line is
  // shown. Empty: removes the line. The line is not shown if stderr is not a terminal, or while a
  // line of other text is unfinished.
  void show_below(std::string line);
  // The time when output of a rank was last written; unset if none was.
  std::optional<SteadyTime> last_output() const { return last_output_; }
  // Calls `written` once, as soon as all text so far is written or has failed.
  void when_written(std::function<void()> written);
  // Returns the stream's writer, for other text that must stay in order with the console's lines.
  std::shared_ptr<Writer> writer(bool is_err) const { return stream(is_err).writer; }
  int descriptor(bool is_err) const { return is_err ? descriptors_.err : descriptors_.out; }

 private:
  struct Stream {
    int fd;
    std::shared_ptr<Writer> writer;
    Cursor cursor;
    bool begins_line = false;  // the next text starts on a new line
  };
  struct Waiting {
    bool is_err;
    std::function<void()> taken;
  };

  Stream& stream(bool is_err) { return is_err && !shared_ ? err_ : out_; }
  const Stream& stream(bool is_err) const { return is_err && !shared_ ? err_ : out_; }
  Writer::Observer observer();
  void on_room();
  void failed(int fd, int code);

  ConsoleDescriptors descriptors_;
  bool colours_;
  bool shared_;  // both streams are the same terminal, pipe or file
  Stream out_;
  Stream err_;                        // unused if shared
  std::map<std::string, int> nodes_;  // node name -> source number
  std::vector<Waiting> waiting_;
  std::vector<std::function<void()>> written_;
  std::optional<SteadyTime> last_output_;
};

// Shows lines on another console and also copies them to a file. In the file, the lines of stdout
// and stderr are in order of arrival. Workers wait until both the console and the file accept their
// output, so a blocked disk stops them, as with a log file. A full disk is reported once.
class CopyingConsole : public Console {
 public:
  // `file` is open for appending, because toprun's own lines are written to the same file. The
  // io_context must outlive this object.
  CopyingConsole(boost::asio::io_context& io, std::shared_ptr<Console> shown, Fd file,
                 std::string path);
  ~CopyingConsole() override;  // unwritten text is lost
  CopyingConsole(const CopyingConsole&) = delete;
  CopyingConsole& operator=(const CopyingConsole&) = delete;

  void write(bool is_err, std::string text) override;
  bool room(bool is_err) const override { return shown_->room(is_err) && writer_->room(); }
  bool idle() override;
  bool shows_colours(bool is_err) const override { return shown_->shows_colours(is_err); }
  void end_line() override;
  Cursor& cursor(bool is_err) override { return shown_->cursor(is_err); }

 private:
  std::shared_ptr<Console> shown_;
  const int file_;  // the writer closes this descriptor
  const std::string path_;
  std::shared_ptr<Writer> writer_;
  // True: the last line of the file is unfinished and from stderr. False: the last line is
  // unfinished and from stdout. Unset: the last line is complete.
  std::optional<bool> unfinished_;
  bool ends_within_line_ = false;  // also after \r
};

// While this object exists, toprun's own lines (say()) pass through the terminal's writer, in order
// with the workers' lines. Copies to a file pass through a second writer. So a blocked terminal or
// disk never blocks the caller of say().
class OwnLines {
 public:
  // If more bytes than this are waiting to be written, new lines are dropped. Once fewer bytes are
  // waiting, a line says how many lines were dropped.
  static constexpr std::size_t most_waiting_bytes = 4u << 20;

  // The io_context and the terminal must outlive this object.
  OwnLines(boost::asio::io_context& io, Terminal& terminal);
  // Waits until all lines are written, for at most last_words_limit (base/os/console.h); does not
  // wait after give_up().
  ~OwnLines();
  OwnLines(const OwnLines&) = delete;
  OwnLines& operator=(const OwnLines&) = delete;

  // Calls `written` once, as soon as all own lines and all workers' lines are written.
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
