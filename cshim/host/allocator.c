#define _GNU_SOURCE
#include "allocator.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "start.h"
#include "valgrind.h"

/* A program that is linked without shared libraries and brings its own malloc need not have these. A strong
 * reference would link the C library's malloc, too. */
#pragma weak malloc_usable_size
#pragma weak posix_memalign
extern void* __libc_malloc(size_t) __attribute__((weak)); /* in the file of the C library that has its malloc */
extern int __sanitizer_get_ownership(const volatile void*) __attribute__((weak));

/* Others align requests of up to 8 bytes to 8. Those of sanitizers do not, and end the process that measures what is no
 * block. */
enum { LIBC_MISALIGNED = 15, OTHER_MISALIGNED = 7 };

static size_t unknown(void* block)
{
	(void)block;
	return 0;
}

static int no_memory(void** block, size_t alignment, size_t bytes)
{
	(void)block;
	(void)alignment;
	(void)bytes;
	return ENOMEM;
}

tlc_host_malloc tlc_host = {malloc, calloc, realloc, free, unknown, no_memory, free, OTHER_MISALIGNED, false, false};

/* ---- aligned blocks of the C library ----------------------------------------------------------- */

/* glibc's posix_memalign cuts each block out of a larger one, and uses none of those that a thread keeps, as malloc does.
 * malloc has a word in front of each block. Where all requests are for whole lines, that word included, a block lies
 * behind others of whole lines, and malloc's result is aligned as a rule. Where it is not, it is freed, and
 * posix_memalign is called. Under valgrind posix_memalign is called always: valgrind checks each size as it was asked
 * for.
 *
 * From MAPPED bytes on posix_memalign is called, too. malloc would map such a block, a word behind the edge of a page, and
 * the first of them that is freed raises malloc's limit to its size, so that later ones stay in its heap (mallopt(3)). */
enum { LINE = 64, MAPPED = 128 * 1024 };

static int (*libc_aligned)(void** block, size_t alignment, size_t bytes) = no_memory;

static int whole_lines(void** block, size_t alignment, size_t bytes)
{
	if (alignment > LINE || bytes > MAPPED - LINE - sizeof(size_t)) return libc_aligned(block, alignment, bytes);
	bytes = ((bytes + sizeof(size_t) + LINE - 1) & -(size_t)LINE) - sizeof(size_t);
	void* p = tlc_host.malloc(bytes);
	if (p != NULL && ((uintptr_t)p & (alignment - 1)) == 0) {
		*block = p;
		return 0;
	}
	tlc_host.free(p);
	return libc_aligned(block, alignment, bytes);
}

/* ---- finding functions at load ---------------------------------------------------------------- */

typedef void function(void);

/* The program, whose objects are searched in the order of its own calls. NULL: the loader knows no symbols of a
 * static program, and a library in a namespace of its own serves the code that is there. */
static struct link_map* find_program(void)
{
	Dl_info at;
	void* own = NULL;
	Lmid_t name_space;
	if (dladdr1(&tlc_host, &at, &own, RTLD_DL_LINKMAP) == 0 || own == NULL) return NULL;
	if (dlinfo(own, RTLD_DI_LMID, &name_space) != 0 || name_space != LM_ID_BASE) return NULL;
	return dlopen(NULL, RTLD_LAZY);
}

#ifdef __aarch64__
#define LIBC_VERSION "GLIBC_2.17"
#else
#define LIBC_VERSION "GLIBC_2.2.5"
#endif

static function* of_libc(const char* name)
{
	void* libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	if (libc == NULL) return NULL;
	void* found = dlsym(libc, name);
	dlclose(libc);
	return (function*)(uintptr_t)found;
}

/* A call names the C library's version of a function, and dlsym no version: it passes over a library that has that
 * version alone, as the malloc has that the C library brings for debugging. */
static function* find(struct link_map* program, const char* name, function* by_name)
{
	void* found = program != NULL ? dlsym(program, name) : NULL;
	if (found == NULL) return by_name;
	void* versioned = (function*)(uintptr_t)found == of_libc(name) ? dlvsym(program, name, LIBC_VERSION) : NULL;
	return (function*)(uintptr_t)(versioned != NULL ? versioned : found);
}

/* The first object behind the program that has the function itself. */
static const void* home_behind(const struct link_map* program, const char* name)
{
	const void* home = NULL;
	for (const struct link_map* m = program->l_next; m != NULL && home == NULL; m = m->l_next) {
		Dl_info at;
		/* What the kernel brings has no file. A call that fails would leave a message, which the next one frees by
		 * the program's function. */
		void* library = strchr(m->l_name, '/') != NULL ? dlopen(m->l_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
		if (library == NULL) continue;
		const void* found = dlsym(library, name);
		if (found != NULL && dladdr(found, &at) != 0 && (uintptr_t)at.dli_fbase == m->l_addr) home = at.dli_fbase;
		dlclose(library);
	}
	return home;
}

/* The object that has a function; a static program is one object. Where a program was linked for a fixed address and
 * takes the function's, that is a jump of the program's, under an undefined symbol. */
static const void* home_of(const struct link_map* program, const char* name, function* f)
{
	Dl_info at;
	void* symbol = NULL;
	if (f == NULL) return NULL;
	if (dladdr1((void*)(uintptr_t)f, &at, &symbol, RTLD_DL_SYMENT) == 0) return &tlc_host;
	const ElfW(Sym)* s = symbol;
	return program != NULL && s != NULL && s->st_shndx == SHN_UNDEF ? home_behind(program, name) : at.dli_fbase;
}

/* A program may replace malloc alone. Then aligned memory is the C library's, and so is the function that frees it. */
static void use_libc_for_aligned(void)
{
	function *aligned = of_libc("posix_memalign"), *release = of_libc("free");
	if (aligned == NULL || release == NULL) return;
	tlc_host.aligned = (__typeof__(tlc_host.aligned))aligned;
	tlc_host.free_aligned = (__typeof__(tlc_host.free_aligned))release;
}

#define FIND(name) ((__typeof__(&(name)))find(program, #name, (function*)(name)))
#define HOME(name, f) home_of(program, #name, (function*)(f))

/* Constructors of the program, which may register blocks, come later. */
__attribute__((constructor(TLC_BEFORE_GO))) static void find_malloc(void)
{
	struct link_map* program = find_program();
	tlc_host.malloc = FIND(malloc);
	tlc_host.calloc = FIND(calloc);
	tlc_host.realloc = FIND(realloc);
	tlc_host.free = tlc_host.free_aligned = FIND(free);
	size_t (*usable)(void*) = FIND(malloc_usable_size);
	int (*aligned)(void**, size_t, size_t) = FIND(posix_memalign);
	const void* home = HOME(malloc, tlc_host.malloc);
	tlc_host.tells = home != NULL && home == HOME(malloc_usable_size, usable);
	if (tlc_host.tells) tlc_host.usable = usable;
	const bool aligns = home != NULL && home == HOME(posix_memalign, aligned);
	if (aligns) tlc_host.aligned = aligned;
	else use_libc_for_aligned();
	tlc_host.has_headers =
		home != NULL && __libc_malloc != NULL && home == HOME(gnu_get_libc_version, FIND(gnu_get_libc_version));
	if (tlc_host.has_headers || __sanitizer_get_ownership != NULL) tlc_host.misaligned = LIBC_MISALIGNED;
	if (tlc_host.has_headers && aligns && tlc_ask_valgrind(TLC_VALGRIND_RUNS, 0, 0) == 0) {
		libc_aligned = aligned;
		tlc_host.aligned = whole_lines;
	}
	if (program != NULL) dlclose(program);
}
