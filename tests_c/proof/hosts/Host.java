// Host ROUNDS: calls from eight threads, between garbage and exceptions, some of which the machine raises by SIGSEGV.
public final class Host {
	static native long work(long rounds);

	static native long live();

	static long length(String text) {
		return text.length();
	}

	static long run(long rounds) {
		long failed = 0;
		for (long i = 0; i < rounds; i++) {
			failed += work(1);
			StringBuilder garbage = new StringBuilder();
			for (int k = 0; k < 1000; k++) garbage.append(k);
			for (int k = 0; k < 100; k++) {
				try {
					failed += length((k & 15) == 0 ? null : garbage.toString()) == 0 ? 1 : 0;
				} catch (NullPointerException expected) {
					if ((k & 15) != 0) failed++;
				}
			}
		}
		return failed;
	}

	public static void main(String[] arguments) throws InterruptedException {
		System.loadLibrary("host");
		long rounds = Long.parseLong(arguments[0]);
		long[] failures = new long[8];
		Thread[] threads = new Thread[failures.length];
		for (int i = 0; i < threads.length; i++) {
			int own = i;
			threads[i] = new Thread(() -> failures[own] = run(rounds));
			threads[i].start();
		}
		long failed = 0;
		for (int i = 0; i < threads.length; i++) {
			threads[i].join();
			failed += failures[i];
		}
		System.gc();
		if (live() != 0) failed++;
		// One write with a line of its own: the machine may be in the middle of a report on signal handlers.
		System.out.print("\nproof: " + threads.length * rounds + " rounds in Java tried, " + failed + " failed: "
				+ System.getProperty("java.vm.version") + ", -Xcheck:jni\n");
		System.exit(failed == 0 ? 0 : 1);
	}
}
