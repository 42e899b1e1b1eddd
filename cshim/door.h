/* Go functions that the shim itself calls (capi/door.go), and locks for fork. */
#ifndef TL_DOOR_H
#define TL_DOOR_H

#include "generated_slow.h"

void tldoor_wait(void);
int32_t tldoor_open(uintptr_t out_globals);
uintptr_t tldoor_attach(void);
uintptr_t tldoor_shared(void);
int32_t tldoor_refuse(uintptr_t context);
void tldoor_poll(uintptr_t context);
uint8_t tldoor_pump_step(uintptr_t context);
void tldoor_close(uintptr_t context, uint64_t target);
void tldoor_release_entry(uintptr_t context, uintptr_t object, uint32_t record, uint32_t gen);
void tldoor_drop_field(uintptr_t context, uintptr_t pointer);
void tldoor_recycle(uintptr_t context, uintptr_t object, uint32_t record, uint32_t gen);
void tldoor_trim(uintptr_t context);
void tldoor_show_stats(void);
int32_t tldoor_check_option(uintptr_t key, uintptr_t value);
uintptr_t tldoor_device_allocate(uintptr_t context, uintptr_t which, uintptr_t bytes);
uint8_t tldoor_numpy_free(uintptr_t context, uintptr_t block);
void tldoor_torch_free(uintptr_t context, uintptr_t block, int32_t cuda, uintptr_t stream);
void tldoor_device_deallocate(uintptr_t context, uintptr_t which, uintptr_t block, uintptr_t bytes);

void tldoor_sampled(uintptr_t context, uint32_t kind, uintptr_t address, uint64_t bytes);
void tldoor_settle(uintptr_t context, uintptr_t stack, uint64_t frames, uint32_t thread);
void tldoor_forget_block(uintptr_t address);
int64_t tldoor_leaks(uintptr_t context);
int64_t tldoor_check_at_end(uintptr_t c);
void tldoor_end_trace(uintptr_t context);

void tlc_pool_lock_all(void);
void tlc_pool_unlock_all(void);

void tlc_memory_pools_attach(uintptr_t table, bool fast);
void tlc_memory_pools_lock_all(void);
void tlc_memory_pools_unlock_all(void);

#endif
