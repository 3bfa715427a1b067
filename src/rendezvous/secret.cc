#include "rendezvous/secret.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <munge.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "base/fd.h"
#include "base/files.h"
#include "base/text.h"
#include "base/trust.h"
#include "rendezvous/preamble.h"

namespace toprun::rendezvous {
namespace {

constexpr std::size_t max_secret_bytes = 4096;
constexpr std::string_view munge_prefix = "munge:";

struct MungeContext {
  munge_ctx_t context = munge_ctx_create();
  MungeContext() = default;
  MungeContext(const MungeContext&) = delete;
  MungeContext& operator=(const MungeContext&) = delete;
  ~MungeContext() { munge_ctx_destroy(context); }
};

// MUNGE_SOCKET is munged's own variable for a socket in an unusual place.
std::string munge_socket(const Environment& environment) {
  return environment.non_empty("MUNGE_SOCKET").value_or("/run/munge/munge.socket.2");
}

Result<std::string> unwrap(std::string_view credential) {
  const MungeContext munge;
  void* payload = nullptr;
  int size = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  const munge_err_t error =
      munge_decode(std::string(credential).c_str(), munge.context, &payload, &size, &uid, &gid);
  const std::unique_ptr<void, decltype(&std::free)> owner(payload, &std::free);
  // Several ranks of one node decode the root's one credential: a replay is expected.
  if (error != EMUNGE_SUCCESS && error != EMUNGE_CRED_REPLAYED) {
    return fail("cannot read the root agent's munge credential", munge_strerror(error),
                "check that munge runs on both nodes with one key, or set TOPRUN_SECRET");
  }
  if (uid != geteuid()) {
    return fail("the root agent's munge credential is of another user",
                fmt::format("uid {} instead of {}", uid, geteuid()));
  }
  return std::string(static_cast<const char*>(payload), static_cast<std::size_t>(size));
}

Result<std::string> secret_in(const std::string& path) {
  const std::string what = "TOPRUN_SECRET_FILE " + path;
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  struct stat status {};
  if (file && ::fstat(file.get(), &status) == 0) {
    if (auto why = distrust_secret(status, ::geteuid()); !why.empty()) {
      return fail(what, std::move(why), "it has to be your own and nobody else's: chmod 600 it");
    }
  }
  const auto content = read_open_file(file, what, max_secret_bytes);
  if (!content) return std::unexpected(content.error());
  if (trim(*content).empty()) return fail(what, "is empty");
  return std::string(trim(*content));
}

}  // namespace

Secret Secret::given(std::string text) {
  return {Origin::given, std::move(text), {}};
}

Secret Secret::derived(std::string_view job) {
  return {Origin::derived, fmt::format("toprun job {}", job), {}};
}

Secret Secret::munge_member() {
  return {Origin::munge, {}, {}};
}

Result<Secret> Secret::munge_root() {
  const MungeContext munge;
  const std::string text = random_hex(16);
  munge_ctx_set(munge.context, MUNGE_OPT_UID_RESTRICTION, geteuid());
  char* credential = nullptr;
  const munge_err_t error =
      munge_encode(&credential, munge.context, text.data(), static_cast<int>(text.size()));
  const std::unique_ptr<char, decltype(&std::free)> owner(credential, &std::free);
  if (error != EMUNGE_SUCCESS) {
    return fail("cannot make a munge credential", munge_strerror(error),
                "start munge on this node, or set TOPRUN_SECRET");
  }
  return Secret(Origin::munge, text, credential);
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
  return root ? std::string(munge_prefix) + credential_ : "munge";
}

Result<std::string> Secret::against(std::string_view root_proof) const {
  if (origin_ == Origin::munge) {
    if (!root_proof.starts_with(munge_prefix)) {
      return fail("the root agent does not prove itself by munge, which this node has",
                  fmt::format("it offers \"{}\"", root_proof.substr(0, root_proof.find(':'))),
                  "make munge's socket visible on all nodes or on none, or set TOPRUN_SECRET");
    }
    return unwrap(root_proof.substr(munge_prefix.size()));
  }
  if (root_proof != proof(false)) {
    return fail("the root agent expects another kind of secret",
                fmt::format("it has \"{}\", this agent \"{}\"",
                            root_proof.substr(0, root_proof.find(':')), proof(false)),
                "give all agents the same TOPRUN_SECRET, or none of them any");
  }
  return text_;
}

Result<Secret> choose_secret(const Environment& environment,
                             const std::optional<std::string>& launched_with, bool slurm, bool root,
                             std::string_view job) {
  if (const auto text = environment.non_empty("TOPRUN_SECRET")) return Secret::given(*text);
  if (const auto path = environment.non_empty("TOPRUN_SECRET_FILE")) {
    auto text = secret_in(*path);
    if (!text) return std::unexpected(std::move(text.error()));
    return Secret::given(*std::move(text));
  }
  if (launched_with) return Secret::given(*launched_with);
  if (slurm && ::access(munge_socket(environment).c_str(), R_OK | W_OK) == 0) {
    return root ? Secret::munge_root() : Result<Secret>(Secret::munge_member());
  }
  return Secret::derived(job);
}

}  // namespace toprun::rendezvous
