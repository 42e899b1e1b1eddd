/* Names of code addresses, for reports: the file of an address, and its function by the file's
 * symbol tables. This is not fast. Only one thread at a time demangles. */
#define _GNU_SOURCE
#include "symbols.h"

#include <dlfcn.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void set(char* to, const char* text) { snprintf(to, TLC_SYMBOL_BYTES, "%s", text != NULL ? text : ""); }

/* The file that an object was loaded from; the program's own has no name there. */
static void set_module(tlc_symbol* out, const char* name)
{
	set(out->module, name);
	if (name[0] != 0) return;
	ssize_t n = readlink("/proc/self/exe", out->module, TLC_SYMBOL_BYTES - 1);
	out->module[n > 0 ? n : 0] = 0;
}

/* Where there is C++ its library is in the process, if not always for everybody to see:
 * a plug-in may have been loaded privately, as Python loads its extensions. */
void* tlc_find_cxx(const char* name, void** library)
{
	static const char* const runtimes[] = {"libstdc++.so.6", "libc++abi.so.1", "libc++.so.1"};
	void* found = dlsym(RTLD_DEFAULT, name);
	*library = NULL;
	for (size_t i = 0; found == NULL && i < sizeof runtimes / sizeof *runtimes; i++) {
		*library = dlopen(runtimes[i], RTLD_LAZY | RTLD_NOLOAD);
		if (*library == NULL) continue;
		found = dlsym(*library, name);
		if (found == NULL) dlclose(*library);
	}
	if (found != NULL) return found;
	*library = NULL;
	dlerror(); /* no message is left for the program's next one */
	return NULL;
}

char* tlc_demangle(const char* symbol)
{
	char* (*demangle)(const char*, char*, size_t*, int*) = NULL;
	void* library;
	int status = 0;
	*(void**)&demangle = tlc_find_cxx("__cxa_demangle", &library);
	char* name = demangle != NULL ? demangle(symbol, NULL, NULL, &status) : NULL;
	if (library != NULL) dlclose(library);
	return name;
}

/* The code of the static library, which is one section of the program; NULL in the shared one. */
extern const char __start_tl_text[] __attribute__((weak, visibility("hidden")));
extern const char __stop_tl_text[] __attribute__((weak, visibility("hidden")));

static bool is_own(uintptr_t pc, const void* module)
{
	static void* own;
	Dl_info at;
	if (__start_tl_text != NULL) return pc - (uintptr_t)__start_tl_text < (uintptr_t)(__stop_tl_text - __start_tl_text);
	if (__atomic_load_n(&own, __ATOMIC_RELAXED) == NULL && dladdr((void*)(uintptr_t)tlc_symbolize, &at) != 0)
		__atomic_store_n(&own, at.dli_fbase, __ATOMIC_RELAXED);
	return module == __atomic_load_n(&own, __ATOMIC_RELAXED);
}

static bool describe(uintptr_t pc, const struct link_map* map, const void* base, tlc_symbol* out)
{
	out->own = is_own(pc, base);
	out->offset = pc - map->l_addr;
	set_module(out, map->l_name);
	return !out->own;
}

void tlc_symbolize(uintptr_t pc, tlc_symbol* out)
{
	Dl_info at;
	struct link_map* map = NULL;
	memset(out, 0, sizeof *out);
	if (dladdr1((void*)pc, &at, (void**)&map, RTLD_DL_LINKMAP) == 0 || map == NULL) return;
	if (describe(pc, map, at.dli_fbase, out)) set(out->function, at.dli_sname);
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
/* The C library finds the file of an address without a lock since glibc 2.35. Older ones are not asked for the name: a search
 * that fails leaves a message, which the next one frees by the program's free(). */
static bool find_file(uintptr_t pc, tlc_symbol* out)
{
	static void* known; /* the same for every thread that finds it */
	int (*find)(void*, struct dl_find_object*);
	struct dl_find_object at;
	void* name = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
	if (name == NULL && strverscmp(gnu_get_libc_version(), "2.35") >= 0) {
		name = dlsym(RTLD_DEFAULT, "_dl_find_object");
		__atomic_store_n(&known, name, __ATOMIC_RELEASE);
	}
	*(void**)&find = name;
	if (find == NULL || find((void*)pc, &at) != 0) return false;
	describe(pc, at.dlfo_link_map, at.dlfo_map_start, out);
	return true;
}
#else
static bool find_file(uintptr_t pc, tlc_symbol* out)
{
	(void)pc;
	(void)out;
	return false;
}
#endif

void tlc_locate(uintptr_t pc, tlc_symbol* out)
{
	memset(out, 0, sizeof *out);
	if (!find_file(pc, out)) tlc_symbolize(pc, out);
}
