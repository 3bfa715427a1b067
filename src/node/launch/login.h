#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "engines/login/login.h"
#include "node/agent/publish/launch_line.h"
#include "node/output/console.h"
#include "node/output/lines.h"
#include "node/worker/spawn/spawn.h"

namespace toprun::launch {

// A toprun program that can be copied to hosts: this process's own, or one for another kind of
// machine.
struct LoginProgram {
  engines::Binary binary;
  std::string path;
};

// Returns the programs, with this process's own first. A program for another kind of machine is a
// file `toprun-MACHINE` in the same folder, as toprun-aarch64. Without that file, hosts of that
// kind cannot take part in the job. Error: toprun's own program cannot be read, or has no build id.
Result<std::vector<LoginProgram>> login_programs();

// Returns the message for a host whose kind of machine (`machine`) has no program.
engines::LoginTrouble no_program_for(std::string_view machine);

inline constexpr std::chrono::seconds login_limit{30};  // time limit from the start of the login to
                                                        // the host's first message
// Time limit from the host's message "need" (it lacks the program) until the program has arrived.
inline constexpr std::chrono::seconds login_copy_limit{300};
// Time limit from the host's message "run" (it starts the program) to the agent's first message.
inline constexpr std::chrono::seconds login_program_limit{30};
inline constexpr std::size_t max_login_words_bytes = 64u << 10;  // limit for the output that is
                                                                 // stored until the agent is up

// A login and the agent that it starts. A login is an ssh connection, an `exec` into a pod, or an
// agent on the launcher's own host. Before the agent is up, the launcher reads the output of the
// login. Afterwards all output is from the agent, and goes to the terminal in whole lines.
//
//   waiting --start--> connecting --need--> copying --run--> starting --up--> up
//   connecting --run--> starting; any but waiting --end, time, abandon()--> over
//
// The object lives as long as the event loop runs. The code that reaps child processes must call
// ended().
class Login : public std::enable_shared_from_this<Login> {
 public:
  enum class State { waiting, connecting, copying, starting, up, over };
  using Bytes = std::shared_ptr<const std::string>;

  // `engine`: ssh or exec. `program` returns the program for a kind of machine, when a host
  // requests a copy. `changed` is called at every change of state.
  Login(boost::asio::io_context& io, output::Terminal& terminal, engines::EngineKind engine,
        std::string name, std::function<Bytes(std::string_view)> program,
        std::function<void()> changed);

  void start(const std::vector<std::string>& argv, const Environment& environment,
             const spawn::Inherited& inherited);
  void tell(Bytes bytes);
  // Ends the connection. `why`: the reason to report; empty: nothing is reported.
  void abandon(std::string why = {});
  void ended(int status);
  // Call hold_complaints() when the run is over. From then on, the login's stderr is shown only
  // when the login ends, and only if the agent ended the login. If the connection broke instead,
  // the text is ssh's complaint and is not needed, because the run's end has been reported already.
  void hold_complaints() { holds_ = true; }

  const std::string& name() const { return name_; }
  State state() const { return state_; }
  pid_t pid() const { return pid_; }
  bool is_up() const { return state_ == State::up; }
  bool is_over() const { return state_ == State::over; }
  // The addresses of the login's two ends, from $SSH_CONNECTION; empty if unknown. For a pod, the
  // server's address is the address that the pod's agent reports.
  const std::string& client() const { return client_; }
  const std::string& server() const { return server_; }
  // Identifies the host's machine (engines::login_up()); empty if unknown.
  const std::string& machine() const { return machine_; }
  // The reason why the login ended, if it ended before the agent was up.
  const std::optional<engines::LoginTrouble>& trouble() const { return trouble_; }
  // The agent's exit code, if the login ended after the agent was up. nullopt if the connection
  // broke.
  std::optional<int> exit_code() const { return exit_code_; }
  // Whether the agent is certain to join the run. If the login has ended and joins() is false, the
  // agent has reported why.
  bool joins() const { return joins_; }

 private:
  struct Stream {
    Stream(boost::asio::io_context& io, bool err) : pipe(io), is_err(err) {}
    boost::asio::posix::stream_descriptor pipe;
    bool is_err;
    bool open = false;
    bool waits = false;  // true: waits until the terminal accepts the text that was read
    output::Lines lines;
    std::array<char, 16 * 1024> buffer;
  };

  void become(State state, std::chrono::seconds limit);
  void read(Stream& stream);
  void took(Stream& stream, std::string_view bytes);
  void show(Stream& stream, std::string text);
  void take_marks(std::string& text);
  std::optional<int> code_of_agent() const;
  engines::LoginTrouble why_not_up() const;
  void show_unfinished_soon();
  void write_next();
  std::size_t heard(std::string_view words);
  void obey(std::string_view line);
  void end_when_drained();
  void await_drained();
  void end();

  output::Terminal& terminal_;
  const engines::EngineKind engine_;
  const std::string name_;
  const std::function<Bytes(std::string_view)> program_;
  const std::function<void()> changed_;
  State state_ = State::waiting;
  pid_t pid_ = -1;
  std::string client_, server_, machine_, path_;
  std::optional<engines::LoginTrouble> trouble_;
  std::optional<int> exit_code_;
  bool joins_ = false;
  std::optional<int> reported_code_;  // the exit code in the agent's last message
  publish::ToldLaunch launch_;
  std::optional<int> status_;
  std::string words_;      // output on stdout before the agent is up
  std::string complaint_;  // output on stderr before the agent is up
  bool holds_ = false;
  std::string held_;  // output on stderr after hold_complaints()
  Stream out_, err_;
  boost::asio::posix::stream_descriptor in_;
  std::deque<Bytes> unsent_;
  boost::asio::steady_timer limit_, unfinished_, drained_;
};

}  // namespace toprun::launch
