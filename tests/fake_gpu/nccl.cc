// A libnccl.so.2 without a GPU: its ranks are processes of one host that exchange their data
// through a file. Only what nccl.h says of the functions is pretended, nothing of NCCL's ways.
//
// FAKE_NCCL_VERSION (22703), FAKE_NCCL_INIT_ERROR and FAKE_NCCL_ASYNC_ERROR (codes) and
// FAKE_NCCL_WRONG change what it does; FAKE_NCCL_OTHER_RANK (a RANK) limits them to one rank. Its
// files are in FAKE_NCCL_DIR; rank 0 adds a byte to `all_reduces` there for each that it is given.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int success = 0;
constexpr int internal_error = 3;
constexpr int most_ranks = 16;
constexpr std::size_t most_bytes = std::size_t{64} << 20;  // of one rank's message

enum Type { int8, uint8, int32, uint32, int64, uint64, half, float32, float64, bfloat16 };
enum Op { sum, prod, max, min, avg };

struct Id {
  char bytes[128];
};

int setting(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  const char* const rank = std::getenv("FAKE_NCCL_OTHER_RANK");
  const char* const own = std::getenv("RANK");
  if (text == nullptr || (rank != nullptr && own != nullptr && std::strcmp(rank, own) != 0)) {
    return otherwise;
  }
  return std::atoi(text);
}

// All ranks of a communicator map it.
struct Board {
  std::atomic<int> arrived[2];
  std::atomic<int> turn;
};

void count_all_reduce() {
  const std::string path = std::string(std::getenv("FAKE_NCCL_DIR")) + "/all_reduces";
  std::FILE* const file = std::fopen(path.c_str(), "a");
  std::fputc('.', file);
  std::fclose(file);
}

struct Message {
  bool is_sent;
  char* data;
  std::size_t bytes;
  int peer;
};

struct Comm {
  int rank = 0;
  int size = 1;
  Board* board = nullptr;
  char* slots = nullptr;  // of each rank: most_bytes
  std::vector<Message> group;
  bool is_slow = false;

  char* slot(int of) const { return slots + static_cast<std::size_t>(of) * most_bytes; }

  void barrier() const {
    const int turn = board->turn.load();
    if (board->arrived[turn % 2].fetch_add(1) + 1 == size) {
      board->arrived[(turn + 1) % 2] = 0;
      board->turn = turn + 1;
    } else {
      while (board->turn.load() == turn) usleep(20);
    }
  }
};

thread_local int group_depth = 0;
thread_local Comm* of_group = nullptr;

std::size_t bytes_of(int type) {
  constexpr std::size_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return bytes[type];
}

template <class T>
T combined(T a, T b, int op) {
  switch (op) {
    case prod:
      return static_cast<T>(a * b);
    case max:
      return a < b ? b : a;
    case min:
      return b < a ? b : a;
    default:
      return static_cast<T>(a + b);
  }
}

template <class T>
void reduce_as(const Comm& comm, T* out, std::size_t first, std::size_t count, int op) {
  for (std::size_t i = 0; i < count; ++i) {
    T value = reinterpret_cast<const T*>(comm.slot(0))[first + i];
    for (int rank = 1; rank < comm.size; ++rank) {
      value = combined(value, reinterpret_cast<const T*>(comm.slot(rank))[first + i], op);
    }
    out[i] = op == avg ? static_cast<T>(value / static_cast<T>(comm.size)) : value;
  }
}

int reduce_any(const Comm& comm, void* out, std::size_t first, std::size_t count, int type,
               int op) {
  switch (type) {
    case int8:
      reduce_as(comm, static_cast<std::int8_t*>(out), first, count, op);
      break;
    case uint8:
      reduce_as(comm, static_cast<std::uint8_t*>(out), first, count, op);
      break;
    case int32:
      reduce_as(comm, static_cast<std::int32_t*>(out), first, count, op);
      break;
    case uint32:
      reduce_as(comm, static_cast<std::uint32_t*>(out), first, count, op);
      break;
    case int64:
      reduce_as(comm, static_cast<std::int64_t*>(out), first, count, op);
      break;
    case uint64:
      reduce_as(comm, static_cast<std::uint64_t*>(out), first, count, op);
      break;
    case float32:
      reduce_as(comm, static_cast<float*>(out), first, count, op);
      break;
    case float64:
      reduce_as(comm, static_cast<double*>(out), first, count, op);
      break;
    default:
      return internal_error;  // a host has no arithmetic of 16 bits
  }
  return success;
}

// Every rank lays its data out, takes what is its own, and waits until all have taken theirs.
template <class Take>
int exchange(Comm* comm, const void* send, std::size_t bytes, Take take) {
  if (bytes > most_bytes) return internal_error;
  std::memcpy(comm->slot(comm->rank), send, bytes);
  comm->barrier();
  const int code = take();
  comm->barrier();
  return code;
}

// All ranks' messages of a group, one round per distance between sender and receiver.
int end_group(Comm* comm) {
  for (int distance = 0; distance < comm->size; ++distance) {
    const int to = (comm->rank + distance) % comm->size;
    const int from = (comm->rank + comm->size - distance) % comm->size;
    for (const Message& one : comm->group) {
      if (one.is_sent && one.peer == to) std::memcpy(comm->slot(comm->rank), one.data, one.bytes);
    }
    comm->barrier();
    for (const Message& one : comm->group) {
      if (!one.is_sent && one.peer == from) std::memcpy(one.data, comm->slot(from), one.bytes);
    }
    comm->barrier();
  }
  comm->group.clear();
  return success;
}

int add(Comm* comm, bool is_sent, void* data, std::size_t bytes, int peer) {
  if (group_depth == 0 || bytes > most_bytes) return internal_error;
  of_group = comm;
  comm->group.push_back({is_sent, static_cast<char*>(data), bytes, peer});
  return success;
}

}  // namespace

extern "C" {

int ncclGetVersion(int* version) {
  *version = setting("FAKE_NCCL_VERSION", 22703);
  return success;
}

int ncclGetUniqueId(Id* id) {
  std::memset(id, 0, sizeof *id);
  std::snprintf(id->bytes, sizeof id->bytes, "%s/fake-nccl-%d-XXXXXX", std::getenv("FAKE_NCCL_DIR"),
                getpid());
  const int file = mkstemp(id->bytes);
  if (file < 0) return internal_error;
  const std::size_t bytes = sizeof(Board) + most_ranks * most_bytes;
  if (ftruncate(file, static_cast<off_t>(bytes)) != 0) return internal_error;
  close(file);
  return success;
}

int ncclCommInitRank(Comm** made, int size, Id id, int rank) {
  if (const int code = setting("FAKE_NCCL_INIT_ERROR", success)) return code;
  if (size > most_ranks) return internal_error;
  const int file = open(id.bytes, O_RDWR);
  if (file < 0) return internal_error;
  const std::size_t bytes = sizeof(Board) + most_ranks * most_bytes;
  void* const start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (start == MAP_FAILED) return internal_error;
  *made = new Comm{
      rank, size, static_cast<Board*>(start), static_cast<char*>(start) + sizeof(Board), {}, false};
  (*made)->barrier();
  return success;
}

// Of the configuration only the network's name counts: over Socket all_reduce takes 5 ms longer.
struct Config {
  std::size_t size;
  unsigned magic;
  unsigned version;
  int numbers[4];
  const char* network;
  int last;
};

int ncclCommInitRankConfig(Comm** made, int size, Id id, int rank, const Config* config) {
  if (config->size != sizeof(Config) || config->magic != 0xcafebeef) return 4;
  const int code = ncclCommInitRank(made, size, id, rank);
  if (code == success && config->network != nullptr) {
    (*made)->is_slow = std::strcmp(config->network, "Socket") == 0;
  }
  return code;
}

int ncclCommGetAsyncError(Comm* /*comm*/, int* code) {
  *code = setting("FAKE_NCCL_ASYNC_ERROR", success);
  return success;
}
int ncclCommAbort(Comm* comm) {
  delete comm;
  return success;
}
const char* ncclGetErrorString(int code) {
  return code == 6 ? "remote process exited or there was a network error" : "internal error";
}
const char* ncclGetLastError(Comm* /*comm*/) {
  return "the fake was told to fail";
}

int ncclAllReduce(const void* send, void* receive, std::size_t count, int type, int op, Comm* comm,
                  void* /*stream*/) {
  if (comm->rank == 0) count_all_reduce();
  const int code = exchange(comm, send, count * bytes_of(type),
                            [&] { return reduce_any(*comm, receive, 0, count, type, op); });
  if (comm->is_slow) usleep(5000);
  usleep(static_cast<useconds_t>(setting("FAKE_NCCL_LATE_US", 0)));
  if (setting("FAKE_NCCL_WRONG", 0) != 0) static_cast<char*>(receive)[1] ^= 1;
  return code;
}
int ncclReduce(const void* send, void* receive, std::size_t count, int type, int op, int root,
               Comm* comm, void* /*stream*/) {
  return exchange(comm, send, count * bytes_of(type), [&] {
    return comm->rank == root ? reduce_any(*comm, receive, 0, count, type, op) : success;
  });
}
int ncclReduceScatter(const void* send, void* receive, std::size_t count, int type, int op,
                      Comm* comm, void* /*stream*/) {
  const auto size = static_cast<std::size_t>(comm->size);
  return exchange(comm, send, size * count * bytes_of(type), [&] {
    return reduce_any(*comm, receive, static_cast<std::size_t>(comm->rank) * count, count, type,
                      op);
  });
}
int ncclAllGather(const void* send, void* receive, std::size_t count, int type, Comm* comm,
                  void* /*stream*/) {
  const std::size_t bytes = count * bytes_of(type);
  return exchange(comm, send, bytes, [&] {
    for (int rank = 0; rank < comm->size; ++rank) {
      std::memcpy(static_cast<char*>(receive) + static_cast<std::size_t>(rank) * bytes,
                  comm->slot(rank), bytes);
    }
    return success;
  });
}
int ncclBroadcast(const void* send, void* receive, std::size_t count, int type, int root,
                  Comm* comm, void* /*stream*/) {
  const std::size_t bytes = count * bytes_of(type);
  return exchange(comm, send, bytes, [&] {
    std::memcpy(receive, comm->slot(root), bytes);
    return success;
  });
}

int ncclGroupStart() {
  ++group_depth;
  return success;
}
int ncclGroupEnd() {
  return --group_depth == 0 && of_group != nullptr ? end_group(of_group) : success;
}
int ncclSend(const void* data, std::size_t count, int type, int peer, Comm* comm,
             void* /*stream*/) {
  return add(comm, true, const_cast<void*>(data), count * bytes_of(type), peer);
}
int ncclRecv(void* data, std::size_t count, int type, int peer, Comm* comm, void* /*stream*/) {
  return add(comm, false, data, count * bytes_of(type), peer);
}

}  // extern "C"
