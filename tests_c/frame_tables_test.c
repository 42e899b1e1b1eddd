/* Stacks of tracked allocations through frames whose tables are unusual: that of a signal, which may say anything of where
 * the interrupted code goes on, and one that ends by another register than the stack's and the frame's, so that the caller
 * may be on another stack each time. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include "check.h"

enum { ROUNDS = 3 };

static void allocate(void)
{
	void* object = (tl_mem_alloc)(32);
	void* vec = tl_vec_new(4);
	CHECK_OK(tl_ptr_release(object));
	CHECK_OK(tl_ptr_release(vec));
}

static void tracked(void (*body)(void))
{
	CHECK_OK(tl_configure("TL_TRACK", "1"));
	body();
	CHECK_OK(tl_configure("TL_TRACK", "0"));
	CHECK_OK(tl_configure("TL_TRACK_SAMPLE", "64"));
	body();
	CHECK_OK(tl_configure("TL_TRACK_SAMPLE", "0"));
}

#if defined(__x86_64__)
/* They call with a word on top of the stack, and say that a signal has come there: the frame ends where the word tells;
 * where the word at that address tells; and the return address is counted from a register that holds the word. */
void ends_at_word(uintptr_t word, void (*call)(void));
void ends_at_word_of_word(uintptr_t word, void (*call)(void));
void returns_by_register(uintptr_t word, void (*call)(void));
/* Calls on another stack. The frame ends where rbx says. */
void call_on_stack(char* top, void (*call)(void));

#define SIGNAL_FRAME(name, rule)                     \
	__asm__(".text\n"                                \
	        ".globl " name "\n"                      \
	        ".type " name ", @function\n" name ":\n" \
	        ".cfi_startproc\n"                       \
	        ".cfi_signal_frame\n"                    \
	        "	push %rbx\n"                           \
	        "	push %rdi\n"                           \
	        "	mov %rdi, %rbx\n"                      \
	        "	push %rdi\n"                           \
	        ".cfi_escape " rule "\n"                 \
	        "	call *%rsi\n"                          \
	        "	pop %rdi\n"                            \
	        "	pop %rdi\n"                            \
	        "	pop %rbx\n"                            \
	        "	ret\n"                                 \
	        ".cfi_endproc\n"                         \
	        ".size " name ", . - " name "\n")
SIGNAL_FRAME("ends_at_word", "0x0f, 3, 0x77, 0, 6");
SIGNAL_FRAME("ends_at_word_of_word", "0x0f, 4, 0x77, 0, 6, 6");
SIGNAL_FRAME("returns_by_register", "0x0c, 7, 32, 0x10, 16, 2, 0x73, 0");

__asm__(".text\n"
        ".globl call_on_stack\n"
        ".type call_on_stack, @function\n"
        "call_on_stack:\n"
        ".cfi_startproc\n"
        "	push %rbx\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbx, -16\n"
        "	mov %rsp, %rbx\n"
        ".cfi_def_cfa_register %rbx\n"
        "	mov %rdi, %rsp\n"
        "	call *%rsi\n"
        "	mov %rbx, %rsp\n"
        ".cfi_def_cfa_register %rsp\n"
        "	pop %rbx\n"
        ".cfi_def_cfa_offset 8\n"
        "	ret\n"
        ".cfi_endproc\n"
        ".size call_on_stack, . - call_on_stack\n");

static void signal_frames(void)
{
	const uintptr_t words[] = {8, 4096, 1, 0x4141414141414140, UINTPTR_MAX - 7, (uintptr_t)&words, (uintptr_t)allocate};
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
			ends_at_word(words[i], allocate);
			ends_at_word_of_word(words[i], allocate);
			returns_by_register(words[i], allocate);
		}
}

static void a_signal_frame_is_checked_before_the_step(void) { tracked(signal_frames); }

enum { STACK_BYTES = 256 << 10 };
static char* inner_stack;

static void* call_on_inner_stack(void* unused)
{
	(void)unused;
	for (int i = 0; i < 20; i++) call_on_stack(inner_stack + STACK_BYTES - 64, allocate);
	return NULL;
}

static void on_a_thread_with_stack(void* low)
{
	pthread_t thread;
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	CHECK_INT(pthread_attr_setstack(&attributes, low, STACK_BYTES), 0);
	CHECK_INT(pthread_create(&thread, &attributes, call_on_inner_stack, NULL), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
}

/* The first caller's stack lies right above the inner one, so the step is made. Then it is gone. */
static void stacks_that_end(void)
{
	enum { FLAGS = MAP_PRIVATE | MAP_ANONYMOUS };
	inner_stack = mmap(NULL, 2 * (size_t)STACK_BYTES, PROT_READ | PROT_WRITE, FLAGS, -1, 0);
	char* elsewhere = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, FLAGS, -1, 0);
	on_a_thread_with_stack(inner_stack + STACK_BYTES);
	CHECK_INT(mprotect(inner_stack + STACK_BYTES, STACK_BYTES, PROT_NONE), 0);
	on_a_thread_with_stack(elsewhere);
	munmap(inner_stack, 2 * (size_t)STACK_BYTES);
	munmap(elsewhere, STACK_BYTES);
}

static void a_caller_on_another_stack_is_looked_for_each_time(void) { tracked(stacks_that_end); }
#else
static void a_signal_frame_is_checked_before_the_step(void) { printf("skip: the frames are x86-64's\n"); }
static void a_caller_on_another_stack_is_looked_for_each_time(void) { printf("skip: the frames are x86-64's\n"); }
#endif

static char report[] = "/tmp/tl_frame_tables_XXXXXX";

static void write_report(int number)
{
	(void)number;
	allocate();
	void* object = (tl_mem_alloc)(32);
	CHECK_INT(tl_leak_report(report), 1);
	CHECK_OK(tl_ptr_release(object));
}

/* The tables of the frame of a real signal are understood. */
OWN_FRAME static void a_handler_s_stack_has_what_was_interrupted(void)
{
	static char text[1 << 14];
	int file = mkstemp(report);
	CHECK_OK(tl_configure("TL_TRACK", "1"));
	CHECK(signal(SIGUSR1, write_report) != SIG_ERR);
	CHECK_INT(raise(SIGUSR1), 0);
	CHECK_OK(tl_configure("TL_TRACK", "0"));
	close(file);
	file = open(report, O_RDONLY);
	CHECK(file >= 0 && read(file, text, sizeof text - 1) > 0);
	CHECK(strstr(text, " in a_handler_s_stack_has_what_was_interrupted ") != NULL);
	close(file);
	unlink(report);
}

int main(void)
{
	RUN(a_handler_s_stack_has_what_was_interrupted);
	RUN(a_signal_frame_is_checked_before_the_step);
	RUN(a_caller_on_another_stack_is_looked_for_each_time);
	return check_finish();
}
