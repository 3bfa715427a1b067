#pragma once

#include <string>

#include "base/os/fd.h"
#include "base/text/error.h"

namespace toprun::stage {

// The folder of one user's environment copies on a node, BASE/toprun-stage-UID. For each
// environment, the folder contains
//   KEY.lock           held while its copies are examined or made
//   KEY-DIGEST         a whole copy: `tree` and `stamps`; locked, shared, by each job that uses it
//   KEY-DIGEST.part    a copy that is being made, or that was left unfinished
// where KEY identifies the environment's path and DIGEST its content. A whole copy is never
// changed. The next version is made beside the whole copy and shares identical files with this
// copy.
class CopyCache {
 public:
  // Creates the folder if it is missing. Errors: the folder belongs to another user; other users
  // may access or replace it; it is not writable; its file system does not allow running programs.
  static Result<CopyCache> open(const std::string& base);

  int folder() const { return folder_.get(); }
  const std::string& path() const { return path_; }

  // Opens a folder inside the cache's folder. The returned descriptor is not open if the inner
  // folder is missing or belongs to another user.
  Fd open_own(const std::string& name) const;
  // Like open_own(), but creates the folder if it is missing.
  Result<Fd> make_own(const std::string& name) const;
  // Takes the lock KEY.lock. The returned descriptor is not open if another process holds the lock.
  Result<Fd> try_lock(const std::string& key) const;
  // Removes a copy unless a job uses it.
  void remove_unused(const std::string& name) const;

 private:
  CopyCache(Fd folder, std::string path) : folder_(std::move(folder)), path_(std::move(path)) {}

  Fd folder_;
  std::string path_;  // contains no links
};

// Returns KEY, which identifies an environment by its path.
std::string key_of(const std::string& environment);

}  // namespace toprun::stage
