// The one header of this system library, for Swift.
#include <expat.h>
