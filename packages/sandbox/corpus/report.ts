// Runs the whole corpus, each attack by itself and again with each layer of the worker gone, writes down what it came to,
// and brings the security page up to date: `node corpus/report.ts`.
import { writeRecord, writeSection } from './record.ts'
import type { Record } from './run/measure.ts'
import { notContainedInThread, reachedWithout, runAll } from './run/measure.ts'
import { renderSection } from './section.ts'

const lanes = 2
let count = 0
const onObservation = (): void => {
  if (++count % 50 === 0) process.stderr.write(`${count} attacks\n`)
}

const record: Record = {
  node: process.versions.node,
  notContainedInThread: notContainedInThread(await runAll({ lanes, onObservation })),
  withoutLockdown: await reachedWithout('lockdown', { lanes, onObservation }),
  withoutPermission: await reachedWithout('native', { lanes, onObservation }),
}
await writeRecord(record)
await writeSection(renderSection(record))
