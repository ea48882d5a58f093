// The device configuration file.
#include "aliquot/config/device_config.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aliquot;
  const std::string text = fuzz::Text(data, size);
  const Result<config::DeviceConfig> parsed = config::ParseDeviceConfig(text, "fuzz.yaml");
  if (!parsed) {
    fuzz::RequireMessage(parsed.error());
    return 0;
  }
  Result<config::DeviceConfig> again =
      config::ParseDeviceConfig(config::DeviceConfigYaml(*parsed), "fuzz.yaml");
  fuzz::Require(again.ok(), "what is written can be read");
  again->warnings = parsed->warnings;  // of keys that nobody knows; they are not written
  fuzz::Require(*again == *parsed, "it is read as it is written");
  return 0;
}
