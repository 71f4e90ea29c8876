// Boxes and plans as text for users.
#pragma once

#include <string>

#include "pack/plan.hpp"

namespace tempi::pack {

std::string describe_boxes(const Plan& plan);                // of one element, from the buffer to the packed bytes
std::string describe_plan(const Plan& plan, Repeat repeat);  // word, tiles and launches on 16-byte aligned GPU buffers

}  // namespace tempi::pack
