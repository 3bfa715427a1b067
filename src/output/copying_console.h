#pragma once

#include <memory>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>

#include "base/fd.h"
#include "output/console.h"
#include "output/writer.h"

namespace toprun::output {

// A console whose lines also go to a file, stdout's and stderr's in the order in which they come.
// Who writes waits for both: while the file's disk takes nothing, workers wait as they do for a log
// file. A disk that is full is said once.
class CopyingConsole : public Console {
 public:
  // `file` is opened to append: toprun's own lines come between. The io_context must outlive this.
  CopyingConsole(boost::asio::io_context& io, std::shared_ptr<Console> shown, Fd file,
                 std::string path);
  ~CopyingConsole() override;  // what is not written yet is lost
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
  const int file_;  // the writer's to close
  const std::string path_;
  std::shared_ptr<Writer> writer_;
  std::optional<bool> unfinished_;  // of which stream the file's last line is, if it has no end yet
};

}  // namespace toprun::output
