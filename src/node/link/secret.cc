#include "node/link/secret.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <munge.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "base/os/fd.h"
#include "base/os/files.h"
#include "base/os/trust.h"
#include "base/text/text.h"
#include "node/link/preamble.h"

namespace toprun::link {
namespace {

constexpr std::size_t max_secret_bytes = 4096;
constexpr std::string_view munge_prefix = "munge:";

struct MungeContext {
  munge_ctx_t context = munge_ctx_create();
  explicit MungeContext(const std::string& socket) {
    munge_ctx_set(context, MUNGE_OPT_SOCKET, socket.c_str());
  }
  MungeContext(const MungeContext&) = delete;
  MungeContext& operator=(const MungeContext&) = delete;
  ~MungeContext() { munge_ctx_destroy(context); }
};

// libmunge has no variable for the path of a socket in an unusual place.
std::string munge_socket(const Environment& environment) {
  return environment.non_empty("MUNGE_SOCKET").value_or("/run/munge/munge.socket.2");
}

std::string label_of(std::string_view job) {
  return fmt::format("toprun {} ", job_hash(job));
}

// Whether the credential was valid when it was made, regardless of time. A node that joins late
// sees an expired credential, a node whose clock is behind sees a future one, and several ranks of
// one node decode the same one. Replaying an old credential gains nothing: only its maker's uid can
// read the secret in it, a root proves nothing without that secret, and it is valid for one job
// only.
bool is_genuine(munge_err_t error) {
  return error == EMUNGE_SUCCESS || error == EMUNGE_CRED_EXPIRED || error == EMUNGE_CRED_REWOUND ||
         error == EMUNGE_CRED_REPLAYED;
}

Result<std::string> secret_in(const std::string& path) {
  const std::string what = "TOPRUN_SECRET_FILE " + path;
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  struct stat status {};
  if (file && ::fstat(file.get(), &status) == 0) {
    if (auto why = distrust_secret(status, ::geteuid()); !why.empty()) {
      return fail(what, std::move(why),
                  "the file must belong to you and be readable only by you: use chmod 600");
    }
  }
  const auto content = TRY(read_open_file(file, what, max_secret_bytes));
  if (trim(content).empty()) return fail(what, "is empty");
  return std::string(trim(content));
}

}  // namespace

Secret Secret::given(std::string text) {
  return Secret(Origin::given, std::move(text));
}

Secret Secret::derived(std::string_view job) {
  return Secret(Origin::derived, fmt::format("toprun job {}", job));
}

Secret Secret::munge_member(std::string_view job, std::string socket) {
  Secret secret(Origin::munge);
  secret.munge_ = {label_of(job), std::move(socket), {}};
  return secret;
}

Result<Secret> Secret::munge_root(std::string_view job, std::string socket) {
  Secret secret(Origin::munge, random_hex(16));
  secret.munge_ = {label_of(job), std::move(socket), {}};
  const MungeContext munge(secret.munge_.socket);
  const std::string payload = secret.munge_.label + secret.text_;
  munge_ctx_set(munge.context, MUNGE_OPT_UID_RESTRICTION, geteuid());
  char* credential = nullptr;
  const munge_err_t error =
      munge_encode(&credential, munge.context, payload.data(), static_cast<int>(payload.size()));
  const std::unique_ptr<char, decltype(&std::free)> owner(credential, &std::free);
  if (error != EMUNGE_SUCCESS) {
    return fail("cannot make a munge credential", munge_strerror(error),
                "start munge on this node, or set TOPRUN_SECRET");
  }
  secret.munge_.credential = credential;
  return secret;
}

Result<std::string> Secret::unwrap(std::string_view credential) const {
  const MungeContext munge(munge_.socket);
  void* data = nullptr;
  int size = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  const munge_err_t error =
      munge_decode(std::string(credential).c_str(), munge.context, &data, &size, &uid, &gid);
  const std::unique_ptr<void, decltype(&std::free)> owner(data, &std::free);
  if (!is_genuine(error)) {
    return fail(
        "cannot read the munge credential of the job's root agent (the toprun to which the others "
        "connect)",
        munge_strerror(error),
        "check that munge runs on both nodes with the same key, or set TOPRUN_SECRET");
  }
  if (uid != geteuid()) {
    return fail(
        "the job's root agent (the toprun to which the others connect) has another user's munge "
        "credential",
        fmt::format("uid {} instead of {}", uid, geteuid()));
  }
  const std::string_view payload(static_cast<const char*>(data), static_cast<std::size_t>(size));
  if (!payload.starts_with(munge_.label)) {
    return fail(
        "the root agent (the toprun to which the others connect) has a munge credential for "
        "another job");
  }
  return std::string(payload.substr(munge_.label.size()));
}

std::string Secret::proof(bool root) const {
  switch (origin_) {
    case Origin::given:
      return "secret";
    case Origin::derived:
      return "derived";
    case Origin::munge:
      break;
  }
  return root ? std::string(munge_prefix) + munge_.credential : "munge";
}

Result<std::string> Secret::against(std::string_view root_proof) const {
  if (origin_ == Origin::munge) {
    if (!root_proof.starts_with(munge_prefix)) {
      return fail(
          "this agent uses munge, but the job's root agent does not",
          fmt::format("the root agent offers \"{}\"", root_proof.substr(0, root_proof.find(':'))),
          "make munge's socket visible on all nodes or on none, or set TOPRUN_SECRET");
    }
    return unwrap(root_proof.substr(munge_prefix.size()));
  }
  if (root_proof != proof(false)) {
    return fail("this toprun and the job's root agent use different kinds of secret",
                fmt::format("the root agent has \"{}\", this agent has \"{}\"",
                            root_proof.substr(0, root_proof.find(':')), proof(false)),
                "set the same TOPRUN_SECRET for all agents, or set it for none");
  }
  return text_;
}

Result<Secret> choose_secret(const Environment& environment,
                             const std::optional<std::string>& launched_with, bool slurm, bool root,
                             std::string_view job) {
  if (const auto text = environment.non_empty("TOPRUN_SECRET")) return Secret::given(*text);
  if (const auto path = environment.non_empty(secret_file_variable)) {
    auto text = TRY(secret_in(*path));
    return Secret::given(std::move(text));
  }
  if (launched_with) return Secret::given(*launched_with);
  const std::string socket = munge_socket(environment);
  if (slurm && ::access(socket.c_str(), R_OK | W_OK) == 0) {
    if (root) return Secret::munge_root(job, socket);
    return Secret::munge_member(job, socket);
  }
  return Secret::derived(job);
}

}  // namespace toprun::link
