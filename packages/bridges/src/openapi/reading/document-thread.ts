import type { Worker } from 'node:worker_threads'
import { messageOf } from '@bulkhead/kit/error-message'
import { ThreadImage } from '@bulkhead/kit/thread-image'
import type { DescribedApi, Wanted } from './api-description.ts'
import type { DocumentFiles } from './bundle.ts'

export interface DocumentQuestion extends DocumentFiles {
  readonly wanted: Wanted
}

export type DocumentAnswer =
  | { readonly ok: true; readonly api: DescribedApi }
  /** The message is the end of a sentence. */
  | { readonly ok: false; readonly message: string }

/** Much more than a valid document needs, even on a busy machine. */
const READ_MS = 30_000
const HEAP_MB = 512

/** The code of the thread. */
export const documentThread = new ThreadImage(new URL('./document-worker.ts', import.meta.url))

/** Parses a document in its own thread, without permissions and with limited time and memory. Never rejects. */
export function readDocument(question: DocumentQuestion, readMs = READ_MS): Promise<DocumentAnswer> {
  const { promise, resolve } = Promise.withResolvers<DocumentAnswer>()
  const refuse = (message: string): void => resolve({ ok: false, message })
  let worker: Worker
  try {
    worker = documentThread.start(question, {
      env: {}, execArgv: ['--permission', '--allow-fs-read=*'],
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    })
  } catch (error) {
    refuse(`cannot be read, because no thread could be started: ${messageOf(error)}`)
    return promise
  }
  const late = setTimeout(() => refuse(`could not be read within ${readMs} ms`), readMs)
  worker.once('message', (answer: DocumentAnswer) => resolve(answer))
  worker.once('error', (error) => refuse(`could not be read: ${messageOf(error)}`))
  worker.once('exit', () => refuse('could not be read: its thread ended'))
  return promise.finally(() => {
    clearTimeout(late)
    return worker.terminate()
  })
}
