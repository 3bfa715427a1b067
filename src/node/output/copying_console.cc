#include "node/output/copying_console.h"

#include <fmt/format.h>

#include "base/os/console.h"
#include "base/os/line_state.h"
#include "base/text/error.h"
#include "node/output/lines.h"

namespace toprun::output {

CopyingConsole::CopyingConsole(boost::asio::io_context& io, std::shared_ptr<Console> shown, Fd file,
                               std::string path)
    : shown_(std::move(shown)),
      file_(file.release()),
      path_(std::move(path)),
      writer_(Writer::create(io,
                             {[this] { notify(); },
                              [this](int, int code) {
                                say(fmt::format("cannot write {}: {}; the job goes on", path_,
                                                errno_text(code)));
                              }},
                             {}, &unfinished_in_copy())) {
  shown_->listen(this, [this] { notify(); });
}

CopyingConsole::~CopyingConsole() {
  shown_->ignore(this);
  writer_->close(file_);
  writer_->abandon();
}

void CopyingConsole::write(bool is_err, std::string text) {
  if (!text.empty()) {
    // If both streams are one terminal, that console has already added a newline.
    const bool breaks = unfinished_ && *unfinished_ != is_err && text.front() != '\n';
    unfinished_ = ends_line(text.back()) ? std::nullopt : std::optional(is_err);
    writer_->write(file_, breaks ? '\n' + text : text);
  }
  shown_->write(is_err, std::move(text));
}

bool CopyingConsole::idle() {
  const bool shown = shown_->idle();  // ask both, so that both report when they become idle
  return writer_->idle() && shown;
}

}  // namespace toprun::output
