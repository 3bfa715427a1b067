#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/environment.h"
#include "base/error.h"

namespace toprun::rendezvous {

// What lets the agents of one job trust each other, and where it comes from.
class Secret {
 public:
  enum class Origin {
    given,    // TOPRUN_SECRET, TOPRUN_SECRET_FILE or the channel that launched us
    munge,    // a random one, sent by the root in a munge credential that only its own uid can read
    derived,  // from the job's name alone: keeps jobs apart, keeps nobody out who can guess it
  };

  static Secret given(std::string text);
  static Secret derived(std::string_view job);
  // Root: draws a secret and wraps it for agents of this job. Member: the secret is known once the
  // root has sent it.
  static Result<Secret> munge_root(std::string_view job, std::string socket);
  static Secret munge_member(std::string_view job, std::string socket);

  Origin origin() const { return origin_; }
  // The last field of our preamble.
  std::string proof(bool root) const;
  // What to use against a root whose preamble ends in `root_proof`: for munge the credential is
  // unwrapped, and it has to be our own uid's and for this job.
  Result<std::string> against(std::string_view root_proof) const;
  const std::string& text() const { return text_; }

 private:
  // How a secret is wrapped by munge.
  struct Munge {
    std::string label;       // what stands before the secret: for which job it is
    std::string socket;      // munged's
    std::string credential;  // the root's
  };
  explicit Secret(Origin origin, std::string text = {}) : origin_(origin), text_(std::move(text)) {}
  Result<std::string> unwrap(std::string_view credential) const;

  Origin origin_;
  std::string text_;
  Munge munge_;
};

inline constexpr const char* secret_file_variable = "TOPRUN_SECRET_FILE";

// The rule of who trusts whom, in this order: TOPRUN_SECRET, TOPRUN_SECRET_FILE, `launched_with`
// (what our launcher wrote to our standard input), munge in a Slurm job where its socket exists,
// the job's id.
Result<Secret> choose_secret(const Environment& environment,
                             const std::optional<std::string>& launched_with, bool slurm, bool root,
                             std::string_view job);

}  // namespace toprun::rendezvous
