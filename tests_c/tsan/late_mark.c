/* A release or an acquire by a stale reference may reach the slot's next object, or the owner has stored over what it did.
 * A mark that is there gives the next object one reference more; a count that is there is taken back. What is gone
 * changes nothing. */
#include <stdio.h>

#include "fake.h"

#include "heap/nodes.h"
#include "object/inbox.h"

static int failures;

#define EXPECT(condition)                                       \
	do {                                                        \
		if (condition) break;                                   \
		fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
		failures++;                                             \
	} while (0)

int main(void)
{
	EXPECT(tl_init() == TL_OK);
	void* object = tl_mem_alloc(FAKE_BYTES);
	const tl_ref old = tl_ref_of(object);
	EXPECT(tl_ref_release(old) == TL_OK);
	EXPECT(tl_mem_alloc(FAKE_BYTES) == object);
	const tl_ref later = tl_ref_of(object);
	EXPECT(later != old && (uint32_t)later == (uint32_t)old);

	tl_record* r = &tlc_g.records[(uint32_t)old];
	const uint32_t gen = (uint32_t)(later >> 32);
	EXPECT(TLC_LOAD(r->sh) == TL_SH_ALIVE);
	EXPECT(!tlc_give_to_later(r, gen));
	EXPECT(TLC_LOAD(r->sh) == TL_SH_ALIVE);

	/* Nor does an object get it that was queued after the one that was marked has ended. */
	TLC_STORE(r->sh, TL_SH_ALIVE | TL_SH_QUEUED);
	EXPECT(!tlc_give_to_later(r, (uint32_t)(old >> 32)));
	EXPECT(TLC_LOAD(r->sh) == (TL_SH_ALIVE | TL_SH_QUEUED));
	EXPECT(tlc_give_to_later(r, gen));
	EXPECT(TLC_LOAD(r->sh) == (TL_SH_ALIVE | TL_SH_QUEUED) + TL_SH_ONE);
	EXPECT(tlc_address_of(tlc_g.heap, (uint32_t)later, gen & 0xFF) == (uintptr_t)object);

	/* What an acquire by the old reference has counted is taken back where it is to be seen. */
	TLC_STORE(r->sh, TL_SH_ALIVE + TL_SH_ONE);
	tlc_take_back(r);
	EXPECT(TLC_LOAD(r->sh) == TL_SH_ALIVE);
	tlc_take_back(r);
	EXPECT(TLC_LOAD(r->sh) == TL_SH_ALIVE);
	EXPECT(tl_ref_release(later) == TL_OK);
	printf("%d failures\n", failures);
	return failures != 0;
}
