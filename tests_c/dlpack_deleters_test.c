/* Section DLPack: deleters of imported tensors, which the fast path calls itself. */
#include "dl.h"

#include "check.h"

static int deleted;
static double numbers[4];
static int64_t extents[2] = {2, 2};

static void count(DLManagedTensorVersioned* self)
{
	(void)self;
	deleted++;
}

static DLManagedTensorVersioned foreign(void (*deleter)(DLManagedTensorVersioned*))
{
	return (DLManagedTensorVersioned){{1, 0}, NULL, deleter, 0, {numbers, {1, 0}, 2, {2, 64, 1}, extents, NULL, 0}};
}

/* A tensor that the caller holds. */
static tl_tensor* import(DLManagedTensorVersioned* managed)
{
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_tensor_acquire(tl_tensor_from_dlpack(managed));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(tensor, 1);
	return tensor;
}

static void use_the_library(DLManagedTensorVersioned* self)
{
	const int64_t four = 4;
	(void)self;
	deleted++;
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 1, &four) != NULL);
	CHECK(tl_view_reshape(tl_tensor_empty(TL_DTYPE_F32, 0, 1, &four), 1, &four) != NULL);
	CHECK_OK(tl_mem_exit_scope());
}

TEST(a_deleter_that_uses_the_library)
{
	for (int i = 0; i < 100; i++) {
		DLManagedTensorVersioned managed = foreign(use_the_library);
		tl_tensor* tensor = import(&managed);
		deleted = 0;
		CHECK_OK(tl_tensor_release(tensor));
		CHECK_INT(deleted, 1);
		CHECK_STATUS(tl_tensor_release(tensor), TL_E_NOT_LIVE);
		CHECK_INT(deleted, 1);
	}
}

/* A tensor over memory whose deleter drops the next one of a chain. */
typedef struct part {
	DLManagedTensorVersioned managed;
	tl_tensor* next;
} part;

static void drop_next(DLManagedTensorVersioned* self)
{
	tl_tensor* next = ((part*)(void*)self)->next;
	deleted++;
	if (next != NULL) CHECK_OK(tl_tensor_release(next));
	free(self);
}

/* No chain is too long: deleters are not nested. */
TEST(a_chain_of_imported_tensors)
{
	enum { PARTS = 100000 };
	tl_tensor* last = NULL;
	deleted = 0;
	for (int i = 0; i < PARTS; i++) {
		part* p = malloc(sizeof *p);
		p->managed = foreign(drop_next);
		p->next = last;
		last = import(&p->managed);
	}
	CHECK_OK(tl_tensor_release(last));
	CHECK_INT(deleted, PARTS);
	CHECK_DEAD(last);
}

/* No function of the program's is called in the child, so it gets no memory to end, either. */
TEST(imports_in_a_forked_child)
{
	DLManagedTensorVersioned managed = foreign(count), other = foreign(count);
	tl_tensor* tensor = import(&managed);
	deleted = 0;
	pid_t child = fork();
	if (child == 0) {
		bool refused = tl_tensor_from_dlpack(&other) == NULL && tl_last_status() == TL_E_FORKED;
		tl_tensor_release(tensor);
		_exit(refused && deleted == 0 ? 42 : 1);
	}
	CHECK_INT(check_exit_of(child), 42);
	CHECK_OK(tl_tensor_release(tensor));
	CHECK_INT(deleted, 1);
}

int main(void) { return check_tests(); }
