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
    derived,  // from the job's id alone: keeps jobs apart, keeps nobody out
  };

  static Secret given(std::string text);
  static Secret derived(std::string_view job);
  // Root: draws a secret and wraps it. Member: the secret is known once the root has sent it.
  static Result<Secret> munge_root();
  static Secret munge_member();

  Origin origin() const { return origin_; }
  // The last field of our preamble.
  std::string proof(bool root) const;
  // What to use against a root whose preamble ends in `root_proof`: for munge the credential is
  // unwrapped, and its sender has to be our own uid.
  Result<std::string> against(std::string_view root_proof) const;
  const std::string& text() const { return text_; }

 private:
  Secret(Origin origin, std::string text, std::string credential)
      : origin_(origin), text_(std::move(text)), credential_(std::move(credential)) {}
  Origin origin_;
  std::string text_;
  std::string credential_;
};

// The rule of who trusts whom, in this order: TOPRUN_SECRET, TOPRUN_SECRET_FILE, `launched_with`
// (what our launcher wrote to our standard input), munge in a Slurm job where its socket exists,
// the job's id.
Result<Secret> choose_secret(const Environment& environment,
                             const std::optional<std::string>& launched_with, bool slurm, bool root,
                             std::string_view job);

}  // namespace toprun::rendezvous
