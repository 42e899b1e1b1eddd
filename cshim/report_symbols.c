/* Names of code addresses, for reports: the file of an address, and its function by the file's
 * symbol tables. This is not fast, and only one thread at a time calls it. */
#define _GNU_SOURCE
#include "report_symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The symbols of the file that was used last. */
static struct {
	char path[PATH_MAX];
	Elf64_Sym* symbols;
	size_t count;
	char* strings;
	size_t string_bytes;
} table;

/* Bytes [offset, offset + bytes) of a file and a zero behind them; NULL: the file does not have
 * them. */
static void* read_part(int file, uint64_t offset, uint64_t bytes)
{
	struct stat s;
	if (fstat(file, &s) != 0 || offset > (uint64_t)s.st_size || bytes > (uint64_t)s.st_size - offset) return NULL;
	char* part = malloc(bytes + 1);
	if (part == NULL) return NULL;
	if (pread(file, part, bytes, (off_t)offset) != (ssize_t)bytes) {
		free(part);
		return NULL;
	}
	part[bytes] = 0;
	return part;
}

/* The section with the most names: .symtab, or .dynsym where that was stripped. */
static const Elf64_Shdr* find_symbols(const Elf64_Shdr* sections, size_t n)
{
	const Elf64_Shdr* found = NULL;
	for (size_t i = 0; i < n; i++) {
		if (sections[i].sh_type == SHT_SYMTAB) return &sections[i];
		if (sections[i].sh_type == SHT_DYNSYM) found = &sections[i];
	}
	return found;
}

static void read_table(int file)
{
	Elf64_Ehdr* head = read_part(file, 0, sizeof *head);
	if (head == NULL) return;
	bool usable = memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_ident[EI_CLASS] == ELFCLASS64 &&
	              head->e_shentsize == sizeof(Elf64_Shdr);
	Elf64_Shdr* sections = usable ? read_part(file, head->e_shoff, head->e_shnum * sizeof *sections) : NULL;
	const Elf64_Shdr* s = sections != NULL ? find_symbols(sections, head->e_shnum) : NULL;
	if (s != NULL && s->sh_link < head->e_shnum) {
		const Elf64_Shdr* names = &sections[s->sh_link];
		table.symbols = read_part(file, s->sh_offset, s->sh_size);
		table.strings = read_part(file, names->sh_offset, names->sh_size);
		table.count = table.symbols != NULL ? s->sh_size / sizeof *table.symbols : 0;
		table.string_bytes = table.strings != NULL ? names->sh_size : 0;
	}
	free(sections);
	free(head);
}

static void load_table(const char* path)
{
	if (strcmp(table.path, path) == 0) return;
	free(table.symbols);
	free(table.strings);
	memset(&table, 0, sizeof table);
	snprintf(table.path, sizeof table.path, "%s", path);
	int file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0) return;
	read_table(file);
	close(file);
}

/* The function at an address of the file; NULL: the table has none. */
static const char* find_function(uint64_t address)
{
	for (size_t i = 0; i < table.count; i++) {
		const Elf64_Sym* s = &table.symbols[i];
		if (ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_shndx != SHN_UNDEF && address - s->st_value < s->st_size &&
		    s->st_name < table.string_bytes)
			return table.strings + s->st_name;
	}
	return NULL;
}

static void set(char* to, const char* text) { snprintf(to, TLC_SYMBOL_BYTES, "%s", text != NULL ? text : ""); }

/* The file that an object was loaded from; the program's own has no name there. */
static void set_module(tlc_symbol* out, const char* name)
{
	set(out->module, name);
	if (name[0] != 0) return;
	ssize_t n = readlink("/proc/self/exe", out->module, TLC_SYMBOL_BYTES - 1);
	out->module[n > 0 ? n : 0] = 0;
}

typedef char* demangle_f(const char*, char*, size_t*, int*);

/* A process with C++ code has loaded the C++ library, but its symbols may not be visible to all. */
static demangle_f* find_demangle(void)
{
	static const char* const libraries[] = {"libstdc++.so.6", "libc++abi.so.1", "libc++.so.1"};
	demangle_f* found = NULL;
	*(void**)&found = dlsym(RTLD_DEFAULT, "__cxa_demangle");
	for (size_t i = 0; found == NULL && i < sizeof libraries / sizeof *libraries; i++) {
		void* library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
		if (library == NULL) continue;
		*(void**)&found = dlsym(library, "__cxa_demangle");
		dlclose(library); /* its owner keeps it */
	}
	return found;
}

char* tlc_demangle(const char* symbol)
{
	demangle_f* demangle = find_demangle();
	int status = 0;
	return demangle != NULL ? demangle(symbol, NULL, NULL, &status) : NULL;
}

void tlc_symbolize(uintptr_t pc, tlc_symbol* out)
{
	static void* own;
	Dl_info at;
	struct link_map* map = NULL;
	memset(out, 0, sizeof *out);
	if (own == NULL && dladdr((void*)(uintptr_t)tlc_symbolize, &at) != 0) own = at.dli_fbase;
	if (dladdr1((void*)pc, &at, (void**)&map, RTLD_DL_LINKMAP) == 0 || map == NULL) return;
	out->own = at.dli_fbase == own;
	out->offset = pc - map->l_addr;
	set_module(out, map->l_name);
	if (out->own) return;
	load_table(out->module);
	const char* function = find_function(out->offset);
	set(out->function, function != NULL ? function : at.dli_sname);
}
