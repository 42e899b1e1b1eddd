#include <stddef.h>
#include <tl_runtime.h>

typedef struct node {
	int64_t value;
	struct node* next;
} node;

int main(void)
{
	size_t pointers[] = {offsetof(node, next)};
	tl_type_desc description = {.name = "Node", .size = sizeof(node), .pointer_offsets = pointers, .num_pointers = 1};
	tl_type type;
	tl_type_define(&description, &type);
	tl_mem_enter_scope();
	node* a = tl_object_new(type);
	a->next = tl_object_new(type); /* tl_ptr_acquire is missing */
	return tl_mem_exit_scope();
}
