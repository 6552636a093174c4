// The one header of this system library, for Swift.
#pragma once
#include <bzlib.h>
