/** The schema thread. Also reports on a port which files it can open. */
import { readFileSync, writeFileSync } from 'node:fs'
import type { MessagePort } from 'node:worker_threads'
import { run as runThread } from '../../src/schema/schema-worker.ts'

export interface ProbedData {
  readonly port: MessagePort
}

const codeOf = (work: () => unknown): string => {
  try {
    work()
    return 'done'
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code)
  }
}
export function run({ port }: ProbedData): void {
  port.on('message', (file: string) => port.postMessage([
    codeOf(() => readFileSync(file)), codeOf(() => writeFileSync(file, '')),
  ]))
  port.unref()
  runThread()
}
