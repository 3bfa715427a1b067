#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::link {

// The secret with which the agents of one job authenticate each other, and its source.
class Secret {
 public:
  enum class Origin {
    // From TOPRUN_SECRET, from TOPRUN_SECRET_FILE, or from the launcher that started this process.
    given,
    munge,  // random; the root sends it in a munge credential that only the root's own uid can read
    // From the job's name alone. Such a secret separates jobs, but protects a job only if its name
    // cannot be guessed.
    derived,
  };

  static Secret given(std::string text);
  static Secret derived(std::string_view job);
  // munge_root() creates a random secret and encrypts it for agents of this job. A Secret from
  // munge_member() has no secret at first: against() decrypts the root's secret from the root's
  // credential.
  static Result<Secret> munge_root(std::string_view job, std::string socket);
  static Secret munge_member(std::string_view job, std::string socket);

  Origin origin() const { return origin_; }
  // Returns the PROOF field of this agent's preamble (preamble.h). `root`: whether this agent is
  // the root.
  std::string proof(bool root) const;
  // Returns the secret to use with a root whose preamble ends in `root_proof`. For munge, decodes
  // the credential, which must be from our own uid and for this job. Error: the root uses another
  // source of the secret.
  Result<std::string> against(std::string_view root_proof) const;
  const std::string& text() const { return text_; }

 private:
  // What is needed to read or make the munge credential that contains a secret.
  struct Munge {
    std::string label;       // the text before the secret, with the job's name
    std::string socket;      // munged's socket
    std::string credential;  // the credential that the root sent
  };
  explicit Secret(Origin origin, std::string text = {}) : origin_(origin), text_(std::move(text)) {}
  Result<std::string> unwrap(std::string_view credential) const;

  Origin origin_;
  std::string text_;
  Munge munge_;
};

inline constexpr const char* secret_file_variable = "TOPRUN_SECRET_FILE";

// Chooses the secret. Tries the sources in this order: TOPRUN_SECRET, TOPRUN_SECRET_FILE,
// `launched_with` (what the launcher wrote to this process's standard input), munge in a Slurm job
// if munged's socket exists, and the job's name.
Result<Secret> choose_secret(const Environment& environment,
                             const std::optional<std::string>& launched_with, bool slurm, bool root,
                             std::string_view job);

}  // namespace toprun::link
