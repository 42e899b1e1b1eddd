/* How a program that defines TL_INLINE finds its context: by the word that tl_context_address names. The library does not
 * compile this file, see client.h. */
#ifndef TL_INLINE_NAMES_H
#define TL_INLINE_NAMES_H

/* One for each thread and each program or library that is linked. */
#ifdef __cplusplus
extern "C" {
#endif
__extension__ __attribute__((weak, visibility("hidden"), tls_model("initial-exec"))) __thread void* const* tlc_address;
#ifdef __cplusplus
}
#endif

static __attribute__((noinline, cold, unused)) void* const* tlc_find_address(void)
{
	return tlc_address = tl_context_address(TL_INLINE_VERSION);
}

static inline tl_context* tlc_here(void)
{
	void* const* address = tlc_address;
	if (TLC_UNLIKELY(address == NULL)) address = tlc_find_address();
	return (tl_context*)*address;
}

#endif
