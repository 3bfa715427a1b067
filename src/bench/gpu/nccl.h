#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <string>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "bench/gpu/device.h"
#include "bench/measure/element.h"

namespace toprun::gpu {

// The functions of NCCL or RCCL, loaded at run time (nccl.h of 2.10 and later).
class Nccl {
 public:
  static constexpr std::size_t id_bytes = 128;
  struct Id {
    std::array<char, id_bytes> bytes;
  };
  using Comm = void*;
  // ncclConfig_t in nccl.h of 2.18. Later NCCL versions add fields at the end of this struct, and
  // still accept this older form.
  struct Config {
    static constexpr int unset = std::numeric_limits<int>::min();
    std::size_t size = sizeof(Config);
    unsigned magic = 0xcafebeef;
    unsigned version = 21801;
    int blocking = unset;
    int cluster_size = unset;
    int least_blocks = unset;
    int most_blocks = unset;
    const char* network = nullptr;  // "Socket", "IB" or a plugin's name
    int share_at_split = unset;
  };

  // Opens the library and loads its functions. Error: the library was not found (with the searched
  // folders), lacks a function, or is older than 2.10.
  static Result<Nccl> open(Vendor vendor, const Environment& environment);

  int version() const { return version_; }  // 22703 for 2.27.3
  std::string version_text() const;         // "2.27.3"
  const std::string& path() const { return library_.path(); }

  Result<void> check(int code, std::string_view what, Comm comm = nullptr) const;

  int (*get_version)(int* version) = nullptr;
  int (*get_id)(Id* id) = nullptr;
  int (*init_rank)(Comm* comm, int ranks, Id id, int rank) = nullptr;
  // Null if the library is older than 2.18.
  int (*init_rank_with)(Comm* comm, int ranks, Id id, int rank, const Config* config) = nullptr;
  int (*async_error)(Comm comm, int* code) = nullptr;
  int (*abort)(Comm comm) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*all_reduce)(const void* send, void* receive, std::size_t count, int type, int op, Comm comm,
                    void* stream) = nullptr;
  int (*all_gather)(const void* send, void* receive, std::size_t count, int type, Comm comm,
                    void* stream) = nullptr;
  int (*reduce_scatter)(const void* send, void* receive, std::size_t count, int type, int op,
                        Comm comm, void* stream) = nullptr;
  int (*broadcast)(const void* send, void* receive, std::size_t count, int type, int root,
                   Comm comm, void* stream) = nullptr;
  int (*reduce)(const void* send, void* receive, std::size_t count, int type, int op, int root,
                Comm comm, void* stream) = nullptr;
  int (*send)(const void* data, std::size_t count, int type, int peer, Comm comm,
              void* stream) = nullptr;
  int (*receive)(void* data, std::size_t count, int type, int peer, Comm comm,
                 void* stream) = nullptr;

 private:
  explicit Nccl(Library library) : library_(std::move(library)) {}

  const char* (*error_text_)(int code) = nullptr;
  const char* (*last_error_)(Comm comm) = nullptr;  // since 2.13
  Library library_;
  int version_ = 0;
};

}  // namespace toprun::gpu
