#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/fd.h"
#include "base/text/error.h"
#include "node/prepare/stage/copy_cache.h"
#include "node/prepare/stage/manifest.h"
#include "node/prepare/stage/open_tree.h"

namespace toprun::stage {

// A node's local copy of a staged Python environment (--stage). Use a Copy only while the lock of
// its KEY (copy_cache.h) is held.
//
//   begin() --all there--> whole
//   begin() --> unfinished --write() for each missing chunk, finish()--> whole
//
// A whole copy stays locked against removal while this object exists.
class Copy {
 public:
  // Finds out which data is already on the node: in a whole copy, in an unfinished copy, or in a
  // copy of another version. Reuses identical files from a copy of another version. Hashes a file
  // of such a copy again if the file has changed since it was copied.
  static Result<Copy> begin(const CopyCache& cache, const std::string& key,
                            std::shared_ptr<const Manifest> manifest, const Hash& digest);

  bool is_whole() const { return whole_; }
  // Whether each chunk is present, indexed by chunk. A chunk of zeros counts as present from the
  // beginning, because it becomes a hole.
  const std::vector<bool>& is_there() const { return is_there_; }
  std::uint64_t missing_bytes() const;
  // Checks the free disk space. Error: the file system has no room for the missing chunks.
  Result<void> check_room() const;
  // Writes a chunk whose hash has been checked.
  Result<void> write(std::uint32_t chunk, std::string_view bytes);
  // Call finish() when all chunks are present. Makes links, sets times and modes, renames the copy
  // to KEY-DIGEST, and removes other versions that no job uses.
  Result<void> finish();

  // Call discard() when the copy cannot be finished. Frees the disk space of the copy.
  void discard();

  // Returns the location of the copy, even while it is unfinished.
  Result<OpenTree> tree() const;
  // The path of the copy; valid once the copy is whole.
  std::string path() const { return cache_.path() + "/" + name_ + "/tree"; }

 private:
  Copy(const CopyCache& cache, std::string key, std::shared_ptr<const Manifest> manifest,
       const Hash& digest);
  bool use_whole();
  Result<void> begin_part();
  Result<void> make_folders();
  void take_from_part();
  void take_from(const std::string& version);
  bool take_file(const OpenTree& from, const Stamped& other, std::size_t theirs, std::size_t ours);
  std::vector<std::string> other_versions() const;
  Result<void> finish_links();
  Result<void> finish_files();
  Result<void> finish_folders();
  bool has_file(const Entry& entry) const;
  bool is_zeros(std::uint32_t chunk) const;
  Result<void> make_size(const Entry& entry, const std::string& path);

  const CopyCache& cache_;
  const std::string key_;
  const std::string name_;  // KEY-DIGEST
  std::shared_ptr<const Manifest> manifest_;
  std::vector<bool> is_there_;
  bool whole_ = false;
  Fd folder_;  // the copy's folder
  OpenTree tree_;
  // The file into which write() has written last; it stays open for the next chunk.
  Fd file_;
  std::size_t file_entry_ = 0;
};

}  // namespace toprun::stage
