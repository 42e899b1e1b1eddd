/* The statistics that are printed when the process ends. */
#include "../base/go.h"
#include "../guard/guard.h"

/* Prints the statistics if TL_SHOW_STATS asks for it. No context is entered, so no dead object is
 * destroyed and no function of the program is called. */
__attribute__((destructor)) static void show_at_exit(void)
{
	if (tlc_shared == &tlc_g || tlc_forked() || TLC_LOAD(tlc_shared->show_stats) == 0) return;
	tlentry_show_stats();
}
