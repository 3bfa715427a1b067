#pragma once

#include <memory>
#include <string_view>

#include <boost/asio/io_context.hpp>

#include "base/os/timer.h"
#include "node/output/console.h"
#include "node/output/fold.h"

namespace toprun::output {

// Shows the folded lines of several ranks on a console. stdout and stderr are folded separately.
// Runs the timer for the folding.
class Folding {
 public:
  Folding(boost::asio::io_context& io, std::shared_ptr<Console> console);

  // Adds a rank's stream. Call join() once per stream, before the stream's first line.
  void join(bool is_err, int rank) { fold(is_err).join(rank); }
  void leave(bool is_err, int rank);
  void add(bool is_err, int rank, std::string_view lines);

 private:
  Fold& fold(bool is_err) { return is_err ? err_ : out_; }
  void show(bool is_err);
  void run_timer();

  std::shared_ptr<Console> console_;
  Fold out_;
  Fold err_;
  Timer timer_;
  bool timer_runs_ = false;
  std::shared_ptr<Folding*> self_;  // lets a timer handler check whether this object still exists
};

}  // namespace toprun::output
