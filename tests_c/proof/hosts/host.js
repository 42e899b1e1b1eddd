// host.js ADDON ROUNDS: calls from the main thread and from four workers, between garbage and exceptions of JavaScript.
const { Worker, isMainThread, workerData, parentPort } = require('node:worker_threads');

function work(file, rounds) {
	const addon = require(file);
	let failed = 0;
	for (let i = 0; i < rounds; i++) {
		failed += addon.work(1);
		const garbage = Array.from({ length: 1000 }, (_, k) => ({ k, text: String(k) }));
		try {
			garbage[1000].text;
			failed++;
		} catch (e) {
			if (!(e instanceof TypeError)) failed++;
		}
	}
	return failed;
}

if (!isMainThread) {
	parentPort.postMessage(work(workerData.file, workerData.rounds));
} else {
	const [file, rounds] = [process.argv[2], Number(process.argv[3])];
	const workers = Array.from({ length: 4 }, () => new Promise((done, broken) => {
		const worker = new Worker(__filename, { workerData: { file, rounds } });
		let failed = rounds;
		worker.on('message', (n) => { failed = n; });
		worker.on('error', broken);
		worker.on('exit', () => done(failed));
	}));
	const own = work(file, rounds);
	Promise.all(workers).then((failures) => {
		const failed = failures.reduce((a, b) => a + b, own);
		const live = require(file).live();
		console.log(`proof: ${5 * rounds} rounds in Node tried, ${failed + (live !== 0)} failed: ${process.version}`);
		process.exit(failed === 0 && live === 0 ? 0 : 1);
	});
}
