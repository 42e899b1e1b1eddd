/* The native methods of Host.java. The names follow from the class; of jni.h no more is needed. */
#include "work.h"

__attribute__((visibility("default"))) int64_t Java_Host_work(void* env, void* class, int64_t rounds);
__attribute__((visibility("default"))) int64_t Java_Host_live(void* env, void* class);

int64_t Java_Host_work(void* env, void* class, int64_t rounds)
{
	(void)env;
	(void)class;
	return host_work((long)rounds);
}

int64_t Java_Host_live(void* env, void* class)
{
	(void)env;
	(void)class;
	return host_live();
}
