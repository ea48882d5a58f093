// MIG instances that a pod was promised.
#include "aliquot/codec/vendor_texts.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aliquot;
  Result<std::vector<core::Instance>> parsed = codec::ParseMigReservations(fuzz::Text(data, size));
  if (!parsed) {
    fuzz::RequireMessage(parsed.error());
    return 0;
  }
  // What the device plugin has added is not ours to write.
  for (core::Instance& instance : *parsed) instance.identity = {};
  fuzz::RequireRoundTrip(parsed, codec::ParseMigReservations, codec::FormatMigReservations);
  return 0;
}
