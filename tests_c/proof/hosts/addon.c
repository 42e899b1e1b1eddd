/* An addon of Node's: work(rounds) returns how many rounds failed, live() what is live. Node's header need not be there. */
#include "work.h"

typedef struct napi_env__* napi_env;
typedef struct napi_value__* napi_value;
typedef struct napi_callback_info__* napi_callback_info;
typedef napi_value (*napi_callback)(napi_env, napi_callback_info);

extern int napi_get_cb_info(napi_env, napi_callback_info, size_t*, napi_value*, napi_value*, void**);
extern int napi_get_value_int64(napi_env, napi_value, int64_t*);
extern int napi_create_int64(napi_env, int64_t, napi_value*);
extern int napi_create_function(napi_env, const char*, size_t, napi_callback, void*, napi_value*);
extern int napi_set_named_property(napi_env, napi_value, const char*, napi_value);
__attribute__((visibility("default"))) napi_value napi_register_module_v1(napi_env env, napi_value exports);

static napi_value number(napi_env env, int64_t n)
{
	napi_value value = NULL;
	napi_create_int64(env, n, &value);
	return value;
}

static napi_value work(napi_env env, napi_callback_info info)
{
	size_t count = 1;
	napi_value argument = NULL;
	int64_t rounds = 0;
	napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
	napi_get_value_int64(env, argument, &rounds);
	return number(env, host_work((long)rounds));
}

static napi_value live(napi_env env, napi_callback_info info)
{
	(void)info;
	return number(env, host_live());
}

napi_value napi_register_module_v1(napi_env env, napi_value exports)
{
	napi_value function = NULL;
	napi_create_function(env, "work", 4, work, NULL, &function);
	napi_set_named_property(env, exports, "work", function);
	napi_create_function(env, "live", 4, live, NULL, &function);
	napi_set_named_property(env, exports, "live", function);
	return exports;
}
