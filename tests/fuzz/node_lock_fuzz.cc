// The lock of a node.
#include "aliquot/codec/node_lock.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aliquot;
  const std::string text = fuzz::Text(data, size);
  const Result<codec::NodeLock> lock = codec::ParseNodeLock(text);
  if (!lock) {
    fuzz::RequireMessage(lock.error());
    return 0;
  }
  fuzz::Require(codec::NodeLockBelongsTo(text, lock->ns, lock->name) != lock->legacy,
                "its owner is the one that it names");
  if (lock->legacy) return 0;
  codec::NodeLock whole = *lock;
  whole.time = std::chrono::floor<std::chrono::seconds>(whole.time);
  const Result<codec::NodeLock> again = codec::ParseNodeLock(codec::FormatNodeLock(whole));
  fuzz::Require(again.ok() && *again == whole, "it is read as it is written");
  return 0;
}
