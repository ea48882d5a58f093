// MIG instances that a pod was promised.
#include "aliquot/codec/vendor_texts.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aliquot;
  const std::string text = fuzz::Text(data, size);
  fuzz::RequireRoundTrip(codec::ParseMigReservations(text), codec::ParseMigReservations,
                         codec::FormatMigReservations);
  return 0;
}
