#pragma once

#include <memory>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>

#include "base/os/fd.h"
#include "node/output/console.h"
#include "node/output/writer.h"

namespace toprun::output {

// A console that also copies its lines to a file. In the file, the lines of stdout and stderr are
// in order of arrival. Workers wait for both the console and the file: a blocked disk makes them
// wait, as with a log file. A full disk is reported once.
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
  void end_line() override { shown_->end_line(); }
  Cursor& cursor(bool is_err) override { return shown_->cursor(is_err); }

 private:
  std::shared_ptr<Console> shown_;
  const int file_;  // the writer closes this descriptor
  const std::string path_;
  std::shared_ptr<Writer> writer_;
  // True: the last line of the file is unfinished and from stderr. False: the last line is
  // unfinished and from stdout. Unset: the last line is complete.
  std::optional<bool> unfinished_;
};

}  // namespace toprun::output
