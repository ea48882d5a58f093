// Kubernetes quantities.
#include "aliquot/base/quantity.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aliquot;
  const std::string text = fuzz::Text(data, size);
  const std::optional<Quantity> quantity = Quantity::Parse(text);
  if (!quantity) return 0;
  if (const std::optional<int64_t> whole = quantity->AsInt64())
    fuzz::Require(*whole == quantity->Value(), "a whole number is its own rounding");
  return 0;
}
