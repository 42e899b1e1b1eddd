/* Stacks of tracked allocations where assembly has moved the stack pointer and its tables do not say so, as a coroutine's
 * switch or a compiler's stub may. What stands where a return address should is any word. */
#include <fcntl.h>
#include <sys/mman.h>

#include "check.h"
#include "small_stack.h"

enum { PAGE = 65536, ROUNDS = 3 };

/* Pushes `word` 2 * pairs times and calls. Meanwhile the frame pointer is `frame`. */
void moved_stack(size_t pairs, uintptr_t word, void (*call)(void), uintptr_t frame);

#if defined(__x86_64__)
__asm__(".text\n"
        ".globl moved_stack\n"
        ".type moved_stack, @function\n"
        "moved_stack:\n"
        ".cfi_startproc\n"
        "	push %rbp\n"
        "	push %rbx\n"
        "	mov %rsp, %rbx\n"
        "	and $-16, %rsp\n"
        "	mov %rcx, %rbp\n"
        "1:	push %rsi\n"
        "	push %rsi\n"
        "	dec %rdi\n"
        "	jnz 1b\n"
        "	call *%rdx\n"
        "	mov %rbx, %rsp\n"
        "	pop %rbx\n"
        "	pop %rbp\n"
        "	ret\n"
        ".cfi_endproc\n"
        ".size moved_stack, . - moved_stack\n");
#elif defined(__aarch64__)
__asm__(".text\n"
        ".globl moved_stack\n"
        ".type moved_stack, %function\n"
        "moved_stack:\n"
        ".cfi_startproc\n"
        "	stp x29, x30, [sp, #-32]!\n"
        "	str x19, [sp, #16]\n"
        "	mov x19, sp\n"
        "	mov x29, x3\n"
        "1:	stp x1, x1, [sp, #-16]!\n"
        "	subs x0, x0, #1\n"
        "	b.ne 1b\n"
        "	adr x30, 2f\n"
        "	br x2\n"
        "2:	mov sp, x19\n"
        "	ldr x19, [sp, #16]\n"
        "	ldp x29, x30, [sp], #32\n"
        "	ret\n"
        ".cfi_endproc\n"
        ".size moved_stack, . - moved_stack\n");
#endif

/* Calls. Its table has 100 bytes between its encodings and its instructions, which a reader passes over by their count;
 * compilers have 11 there for code of the large model. */
void long_table(void (*call)(void));

#if defined(__x86_64__)
#define TABLE_OF_MACHINE "	.uleb128 1\n	.sleb128 -8\n	.byte 16\n"
#define RULES_OF_MACHINE "	.byte 0x0c, 7, 8, 0x90, 1\n"
#define RULES_OF_FRAME "	.byte 0x41, 0x0e, 16, 0x83, 2\n"
__asm__(".text\n"
        ".globl long_table\n"
        ".type long_table, @function\n"
        "long_table:\n"
        "	push %rbx\n"
        "	call *%rdi\n"
        "	pop %rbx\n"
        "	ret\n"
        "long_table_end:\n"
        ".size long_table, . - long_table\n");
#elif defined(__aarch64__)
#define TABLE_OF_MACHINE "	.uleb128 4\n	.sleb128 -8\n	.byte 30\n"
#define RULES_OF_MACHINE "	.byte 0x0c, 31, 0\n"
#define RULES_OF_FRAME "	.byte 0x41, 0x0e, 16, 0x9d, 2, 0x9e, 1\n"
__asm__(".text\n"
        ".globl long_table\n"
        ".type long_table, %function\n"
        "long_table:\n"
        "	stp x29, x30, [sp, #-16]!\n"
        "	blr x0\n"
        "	ldp x29, x30, [sp], #16\n"
        "	ret\n"
        "long_table_end:\n"
        ".size long_table, . - long_table\n");
#endif

__asm__(".pushsection .eh_frame, \"a\"\n"
        "5:	.long 7f - 6f\n"
        "6:	.long 0\n"
        "	.byte 1\n"
        "	.string \"zR\"\n" TABLE_OF_MACHINE "	.uleb128 101\n"
        "	.byte 0x1b\n" /* addresses count from where they stand, in 4 bytes */
        "	.fill 100, 1, 0x41\n" RULES_OF_MACHINE "	.balign 8\n"
        "7:	.long 9f - 8f\n"
        "8:	.long 8b - 5b\n"
        "	.long long_table - .\n"
        "	.long long_table_end - long_table\n"
        "	.uleb128 0\n" RULES_OF_FRAME "	.balign 8\n"
        "9:\n"
        "	.popsection\n");

static void allocate(void)
{
	void* object = (tl_mem_alloc)(32);
	void* vec = tl_vec_new(4);
	CHECK_OK(tl_ptr_release(object));
	CHECK_OK(tl_ptr_release(vec));
}

/* An address in a function whose frame is found by its frame pointer. */
static uintptr_t inside;

OWN_FRAME static void note_caller(void) { inside = (uintptr_t)__builtin_return_address(0); }

OWN_FRAME static void with_frame_pointer(volatile size_t bytes)
{
	volatile char* room = __builtin_alloca(bytes);
	room[0] = 1;
	note_caller();
	room[1] = 1;
}

static void every_word_ends_the_stack(void)
{
	char* pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK_INT(mprotect(pages, PAGE, PROT_NONE) | mprotect(pages + 2 * PAGE, PAGE, PROT_NONE), 0);
	with_frame_pointer(100);
	const uintptr_t words[] = {1,
	                           0x1000,
	                           0x4141414141414141,
	                           UINTPTR_MAX,
	                           UINTPTR_MAX - 7,
	                           (uintptr_t)pages,
	                           (uintptr_t)pages + PAGE,
	                           (uintptr_t)pages + 2 * PAGE - 8,
	                           (uintptr_t)pages + 2 * PAGE - 1,
	                           (uintptr_t)&inside,
	                           (uintptr_t)allocate + 1,
	                           (uintptr_t)moved_stack + 1,
	                           inside};
	enum { WORDS = sizeof words / sizeof *words };
	for (int round = 0; round < ROUNDS; round++)
		for (size_t pairs = 1; pairs < 20; pairs += 3)
			for (int i = 0; i < WORDS; i++)
				for (int j = 0; j < WORDS; j++) moved_stack(pairs, words[i], allocate, words[j]);
	munmap(pages, 3 * PAGE);
}

TEST(with_every_allocation)
{
	CHECK_OK(tl_configure("TL_TRACK", "1"));
	every_word_ends_the_stack();
	CHECK_OK(tl_configure("TL_TRACK", "0"));
}

TEST(with_samples)
{
	CHECK_OK(tl_configure("TL_TRACK_SAMPLE", "64"));
	every_word_ends_the_stack();
	CHECK_OK(tl_configure("TL_TRACK_SAMPLE", "0"));
}

/* On a stack that ends right behind the words: what lies further out cannot be read. */
static void on_a_stack(void* unused)
{
	(void)unused;
	moved_stack(1, inside, allocate, 8);
}

TEST(at_the_end_of_a_stack)
{
	static small_stack s;
	small_stack_open(&s);
	CHECK_OK(tl_configure("TL_TRACK", "1"));
	for (int i = 0; i < ROUNDS; i++) small_stack_call(&s, on_a_stack, NULL);
	CHECK_OK(tl_configure("TL_TRACK", "0"));
	small_stack_close(&s);
}

static char report[] = "/tmp/tl_moved_stack_XXXXXX";

static void write_report(void)
{
	void* object = (tl_mem_alloc)(32);
	CHECK_INT(tl_leak_report(report), 1);
	CHECK_OK(tl_ptr_release(object));
}

TEST(a_long_table_is_passed_over)
{
	static char text[1 << 14];
	int file = mkstemp(report);
	CHECK_OK(tl_configure("TL_TRACK", "1"));
	long_table(write_report);
	CHECK_OK(tl_configure("TL_TRACK", "0"));
	close(file);
	file = open(report, O_RDONLY); /* a report replaces its file */
	CHECK(file >= 0 && read(file, text, sizeof text - 1) > 0);
	CHECK(strstr(text, " in long_table ") != NULL && strstr(text, " in a_long_table_is_passed_over ") != NULL);
	close(file);
	unlink(report);
}

int main(void) { return check_tests(); }
