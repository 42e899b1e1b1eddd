/* The driver of the matrix: starts workers, watches them, and has their records compared.
 *
 *     matrix                  the cells that PROVE_SCALE and PROVE_SEED choose
 *     matrix CELL [PLACE]     one cell, in one place or all, through each path
 *     matrix 'NAME*' [PLACE]  all cells whose names begin so
 *
 * With a cell given, what workers write to standard error is shown.
 *     matrix cells            the names of all cells */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "matrix.h"

enum { PATIENCE = 30, WORKERS = 2 }; /* seconds without a move; at once */

/* What is chosen: a sample, or one cell. */
typedef struct selection {
	double scale;
	uint64_t seed;
	const char* name; /* of one cell, or how names begin; NULL */
	cell* cells;
	int count;
} selection;

static selection select_cells(double scale, uint64_t seed, const char* name)
{
	selection s = {.scale = scale, .seed = seed, .name = name};
	if (name == NULL) {
		s.cells = cells_choose(scale, seed, &s.count);
		return s;
	}
	s.cells = cells_named(name, &s.count);
	if (s.count > 0) return s;
	fprintf(stderr, "matrix: there is no cell %s\n", name);
	exit(2);
}

/* ---- a worker, seen from outside ---------------------------------------------------------------- */

typedef struct worker {
	job job;
	pid_t process;        /* 0: none runs */
	int file;             /* progress and records */
	int64_t begun, moves; /* progress at the start, and when it was last looked at */
	time_t moved;
	bool done;
} worker;

static size_t shared_bytes(int count) { return sizeof(progress) + (size_t)count * sizeof(record); }

static void map_job(job* j, int file)
{
	j->progress = mmap(NULL, shared_bytes(j->count), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (j->progress == MAP_FAILED) {
		perror("matrix: mmap");
		exit(2);
	}
	j->records = (record*)(j->progress + 1);
}

static worker* new_workers(const selection* s)
{
	worker* all = calloc(PLACES * PATHS, sizeof *all);
	for (int i = 0; i < PLACES * PATHS; i++) {
		worker* w = &all[i];
		w->job = (job){.place = (place)(i / PATHS), .path = (path)(i % PATHS), .cells = s->cells, .count = s->count};
		w->file = memfd_create("matrix", 0);
		if (w->file < 0 || ftruncate(w->file, (off_t)shared_bytes(s->count)) != 0) {
			perror("matrix: memfd");
			exit(2);
		}
		map_job(&w->job, w->file);
	}
	return all;
}

/* Options of the library come from the matrix alone, and devices from no driver. */
static void set_environment(path d)
{
	extern char** environ;
	for (int i = 0; environ[i] != NULL;) {
		char name[64] = "";
		if (strncmp(environ[i], "TL_", 3) == 0) sscanf(environ[i], "%63[^=]", name);
		if (name[0] != 0) unsetenv(name);
		else i++;
	}
	setenv("TL_FASTPATH", d == PATH_SLOW ? "0" : "1", 1);
	setenv("TL_CUDA_LIBRARY", "/dev/null", 1);
	setenv("TL_OPENCL_LIBRARY", "/dev/null", 1);
	setenv("TL_DEBUG", d == PATH_DEBUG ? "1" : "0", 1);
}

static void become_worker(const worker* w, const selection* s)
{
	char file[16], where[16], path[16], scale[32], seed[32];
	int quiet = open("/dev/null", O_WRONLY);
	setpgid(0, 0);
	set_environment(w->job.path);
	if (s->name == NULL) dup2(quiet, STDERR_FILENO);
	snprintf(file, sizeof file, "%d", w->file);
	snprintf(where, sizeof where, "%d", (int)w->job.place);
	snprintf(path, sizeof path, "%d", (int)w->job.path);
	snprintf(scale, sizeof scale, "%.17g", s->scale);
	snprintf(seed, sizeof seed, "%" PRIu64, s->seed);
	execl("/proc/self/exe", "matrix", "worker", file, where, path, scale, seed, s->name, (char*)NULL);
	_exit(4);
}

static void start(worker* w, const selection* s)
{
	fflush(NULL);
	w->begun = w->moves = w->job.progress->moves;
	w->moved = time(NULL);
	w->process = fork();
	if (w->process == 0) become_worker(w, s);
	if (w->process < 0) {
		perror("matrix: fork");
		exit(2);
	}
}

/* The cell at which a worker ended is told, and the next worker begins behind it. */
static void ended(worker* w, int status)
{
	progress* p = w->job.progress;
	w->process = 0;
	if (p->finished) {
		w->done = true;
		return;
	}
	if (p->moves == w->begun) {
		fprintf(stderr, "matrix: a worker ended before its first cell, with status %#x\n", (unsigned)status);
		exit(2);
	}
	record* r = &w->job.records[p->current];
	if (r->state != HUNG) r->state = CRASHED;
	r->signal = WIFSIGNALED(status) ? (uint8_t)WTERMSIG(status) : 0;
	p->next = p->current + 1;
	w->done = p->next >= w->job.count;
}

static void watch(worker* w)
{
	int status;
	if (waitpid(w->process, &status, WNOHANG) == w->process) {
		kill(-w->process, SIGKILL); /* its children, if any are left */
		ended(w, status);
		return;
	}
	if (w->job.progress->moves != w->moves) {
		w->moves = w->job.progress->moves;
		w->moved = time(NULL);
	}
	if (time(NULL) - w->moved < PATIENCE) return;
	w->job.records[w->job.progress->current].state = HUNG;
	kill(-w->process, SIGKILL);
	w->moved = time(NULL);
}

static void run_all(worker* all, const selection* s, int only)
{
	for (bool going = true; going;) {
		int running = 0;
		going = false;
		for (int i = 0; i < PLACES * PATHS; i++) {
			worker* w = &all[i];
			if (w->done || (only >= 0 && (int)w->job.place != only)) continue;
			going = true;
			if (running == WORKERS) continue;
			running++;
			if (w->process == 0) start(w, s);
			else watch(w);
		}
		nanosleep(&(struct timespec){0, 5000000}, NULL);
	}
}

/* What calls write goes into a folder that is gone afterwards. */
static void make_folder(void)
{
	static char folder[] = "/tmp/matrix.XXXXXX";
	if (mkdtemp(folder) == NULL) {
		perror("matrix: mkdtemp");
		exit(2);
	}
	setenv(WORLD_FOLDER, folder, 1);
}

static void remove_folder(void)
{
	DIR* folder = opendir(getenv(WORLD_FOLDER));
	for (struct dirent* e; folder != NULL && (e = readdir(folder)) != NULL;) unlinkat(dirfd(folder), e->d_name, 0);
	if (folder != NULL) closedir(folder);
	rmdir(getenv(WORLD_FOLDER));
}

static int drive(const selection* s, int only)
{
	worker* all = new_workers(s);
	record* records[PLACES][PATHS] = {{NULL}};
	make_folder();
	run_all(all, s, only);
	remove_folder();
	for (int i = 0; i < PLACES * PATHS; i++)
		if (only < 0 || i / PATHS == only) records[i / PATHS][i % PATHS] = all[i].job.records;
	return report(s->cells, s->count, records, s->scale, s->seed);
}

/* ---- the program ------------------------------------------------------------------------------- */

static int work(char** argv)
{
	selection s = select_cells(strtod(argv[5], NULL), strtoull(argv[6], NULL, 10), argv[7]);
	job j = {.place = (place)atoi(argv[3]),
	         .path = (path)atoi(argv[4]),
	         .cells = s.cells,
	         .count = s.count,
	         .alone = s.count == 1};
	map_job(&j, atoi(argv[2]));
	worker_run(&j);
	free(s.cells);
	return 0;
}

static int list_cells(void)
{
	selection s = select_cells(1, 0, NULL);
	for (int i = 0; i < s.count; i++) {
		char name[CELL_NAME_BYTES];
		cell_name(&s.cells[i], name);
		puts(name);
	}
	free(s.cells);
	return 0;
}

static int place_named(const char* name)
{
	for (int i = 0; name != NULL && i < PLACES; i++)
		if (strcmp(place_names[i], name) == 0) return i;
	return -1;
}

int main(int argc, char** argv)
{
	const char *scale = getenv("PROVE_SCALE"), *seed = getenv("PROVE_SEED");
	selection s;
	if (argc > 6 && strcmp(argv[1], "worker") == 0) return work(argv);
	if (argc > 1 && strcmp(argv[1], "cells") == 0) return list_cells();
	s = select_cells(scale == NULL ? 1 : strtod(scale, NULL), seed == NULL ? 1 : strtoull(seed, NULL, 10),
	                 argc > 1 ? argv[1] : NULL);
	return drive(&s, argc > 2 ? place_named(argv[2]) : -1);
}
