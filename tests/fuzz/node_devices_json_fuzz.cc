// The register annotation in its JSON form.
#include "aliquot/codec/node_devices.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aliquot;
  const std::string text = fuzz::Text(data, size);
  fuzz::RequireRoundTrip(codec::ParseNodeDevicesJson(text), codec::ParseNodeDevicesJson,
                         codec::FormatNodeDevicesJson);
  return 0;
}
