/** The thread that a stranger's document is read in. Whoever started it ends it when it takes too long. */
import { parentPort, workerData } from 'node:worker_threads'
import { messageOf } from '@bulkhead/contract/plain'
import { Unusable } from './described.ts'
import { isJson, parseDocument } from './document-text.ts'
import { readOperations } from './operations.ts'
import type { DocumentAnswer, DocumentQuestion } from './document-thread.ts'

const { text, wanted } = workerData as DocumentQuestion

async function answer(): Promise<DocumentAnswer> {
  try {
    return { ok: true, api: readOperations(await parseDocument(text), wanted) }
  } catch (error) {
    return { ok: false, message: error instanceof Unusable ? error.message : `could not be read: ${messageOf(error)}` }
  }
}

// What is needed for anything but JSON is loaded before, so that nothing can be read any more when a stranger is.
if (!isJson(text)) await import('yaml')
process.permission.drop('fs')
parentPort?.postMessage(await answer())
