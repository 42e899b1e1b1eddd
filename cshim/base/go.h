/* Go functions that the shim itself calls (capi/entry.go), and locks for fork. */
#pragma once

#include "layout.h"

#include "generated_slow.h"

void tlentry_wait(void);
int32_t tlentry_open(uintptr_t out_globals);
uintptr_t tlentry_attach(void);
uintptr_t tlentry_shared(void);
int32_t tlentry_refuse(uintptr_t context);
void tlentry_poll(uintptr_t context);
uint8_t tlentry_drain_step(uintptr_t context);
void tlentry_close(uintptr_t context, uint64_t target);
void tlentry_release_entry(uintptr_t context, uintptr_t object, uint32_t record, uint32_t gen);
void tlentry_drop_field(uintptr_t context, uintptr_t pointer);
void tlentry_recycle(uintptr_t context, uintptr_t object, uint32_t record, uint32_t gen);
void tlentry_cool(uintptr_t context);
void tlentry_trim(uintptr_t context);
void tlentry_show_stats(void);
int32_t tlentry_configure(uintptr_t key, uintptr_t value);
uintptr_t tlentry_device_allocate(uintptr_t context, uintptr_t which, uintptr_t bytes);
uint8_t tlentry_numpy_free(uintptr_t context, uintptr_t block);
void tlentry_torch_free(uintptr_t context, uintptr_t block, int32_t cuda, uintptr_t stream);
void tlentry_device_deallocate(uintptr_t context, uintptr_t which, uintptr_t block, uintptr_t bytes);

void tlentry_sampled(uintptr_t context, uint32_t kind, uintptr_t address, uint64_t bytes);
void tlentry_settle(uintptr_t context, uintptr_t stack, uint64_t frames);
uint32_t tlentry_python_name(uintptr_t function, uintptr_t file);
void tlentry_python_site(uintptr_t context, uintptr_t pointer, uintptr_t stack, uint64_t frames);
void tlentry_forget_block(uintptr_t address);
int64_t tlentry_leaks(uintptr_t context);
uint64_t tlentry_leak_list(uintptr_t context, uint8_t asks);
int64_t tlentry_leak_narrow(uintptr_t context, uint64_t list, uintptr_t held, uintptr_t n);
int64_t tlentry_leak_report(uintptr_t c, uint64_t list, uintptr_t path, uint64_t mark, uintptr_t held, uintptr_t n);
int64_t tlentry_check_at_end(uintptr_t c);
void tlentry_end_trace(uintptr_t context);

void tlc_memory_pools_attach(uintptr_t table, bool fast);
void tlc_memory_pools_lock_all(void);
void tlc_memory_pools_unlock_all(void);
