// What the API server does to objects of each kind on their way in: it reads
// them into its types, fills in defaults, and checks them.
#pragma once

#include <optional>
#include <string>

#include "aliquot/base/clock.h"
#include "cluster/resources.h"

namespace aliquot::cluster {

// Checks the types of fields that matter here, writes quantities and times in
// canonical form, drops nulls and fills in defaults. The error is what the JSON
// decoder would say.
std::optional<std::string> Decode(const Resource& resource, Json& object);

// The part of it that concerns metadata, and its validation; of a Binding it is
// all.
std::optional<std::string> DecodeMeta(Json& object);
std::vector<FieldError> ValidateMeta(const Json& meta);

// A new object as it begins its life: a status that others write is taken away,
// what admission adds is added.
void PrepareNew(const Resource& resource, Json& object, WallTime now);

// Part of what the update brings is not for it to change: the status, or in
// /status the spec.
void PrepareUpdate(const Resource& resource, const Json& old, Json& object, bool status);

// `old`: null for a new object.
std::vector<FieldError> Validate(const Resource& resource, const Json* old, const Json& object);

// The seconds that a deletion gives the object; `asked`: in the request.
int64_t GracePeriod(const Resource& resource, const Json& object, std::optional<int64_t> asked);

}  // namespace aliquot::cluster
