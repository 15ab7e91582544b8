/** Imported before the thread of schemas by a test: tells over a port of its own which files it can open. */
import { readFileSync, writeFileSync } from 'node:fs'
import { workerData, type MessagePort } from 'node:worker_threads'

export interface ProbedData {
  readonly port: MessagePort
}

const { port } = workerData as ProbedData
const codeOf = (work: () => unknown): string => {
  try {
    work()
    return 'done'
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code)
  }
}
port.on('message', (file: string) => port.postMessage([codeOf(() => readFileSync(file)), codeOf(() => writeFileSync(file, ''))]))
port.unref()
