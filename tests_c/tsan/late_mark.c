/* A release or an acquire by a stale reference may reach the slot's next object, or the owner has stored over what it did.
 * A mark that is there gives the next object one reference more; a count that is there is taken back. What is gone
 * changes nothing. */
#include <stdio.h>

#include "fake.h"

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
	const tl_entry meant = {(uintptr_t)object, (uint32_t)old, (uint32_t)(old >> 32)};
	tl_entry e = meant;
	EXPECT(TLC_LOAD(r->sh) == TL_SH_ALIVE);
	EXPECT(!tlc_give_to_later(tlc_tls, r, &e));
	EXPECT(TLC_LOAD(r->sh) == TL_SH_ALIVE && e.gen == meant.gen);

	TLC_STORE(r->sh, TL_SH_ALIVE | TL_SH_QUEUED);
	EXPECT(tlc_give_to_later(tlc_tls, r, &e));
	EXPECT(TLC_LOAD(r->sh) == (TL_SH_ALIVE | TL_SH_QUEUED) + TL_SH_ONE);
	EXPECT(e.object == meant.object && e.record == meant.record && e.gen == (uint32_t)(later >> 32));

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
