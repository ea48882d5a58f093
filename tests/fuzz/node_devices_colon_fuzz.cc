// The register annotation in its colon form.
#include "aliquot/codec/node_devices.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aliquot;
  const std::string text = fuzz::Text(data, size);
  // No cards are written as nothing, which is not read.
  const auto format = [](const std::vector<core::Device>& cards) {
    return cards.empty() ? std::string(":") : codec::FormatNodeDevicesColon(cards);
  };
  fuzz::RequireRoundTrip(codec::ParseNodeDevicesColon(text), codec::ParseNodeDevicesColon, format);
  return 0;
}
