// The annotations of Enflame and MetaX nodes, which we only read.
#include "aliquot/codec/vendor_texts.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aliquot;
  const std::string text = fuzz::Text(data, size);
  if (const auto slices = codec::ParseDrsCapacity(text); !slices)
    fuzz::RequireMessage(slices.error());
  if (const auto cards = codec::ParseMetaxDevices(text); !cards)
    fuzz::RequireMessage(cards.error());
  if (const auto table = codec::ParseCountTable(text); !table) fuzz::RequireMessage(table.error());
  return 0;
}
