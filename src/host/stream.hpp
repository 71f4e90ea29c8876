// Rows whose destination is written around the caches, for transfers that are larger than the caches. Only whole cache
// lines are written this way. The bytes before the first whole line and after the last one are stored normally.
#pragma once

#include "host/rows.hpp"

namespace tempi::host {

// Null if writing around the caches gains nothing (measured).
RowsFn choose_streaming(const Rows& rows);

}  // namespace tempi::host
