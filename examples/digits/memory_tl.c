#include "memory.h"

uint64_t memory_tensors_created, memory_slots_used;
