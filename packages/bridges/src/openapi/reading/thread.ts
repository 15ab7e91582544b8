/** The thread that a stranger's document is read in. Whoever started it ends it when it takes too long. */
import { parentPort, workerData } from 'node:worker_threads'
import { messageOf } from '@bulkhead/kit/error-message'
import { Unusable } from './described.ts'
import { isJson, parseDocument } from './document-text.ts'
import { readOperations } from './operations.ts'
import type { DocumentAnswer, DocumentQuestion } from './document-thread.ts'

const { text, wanted } = workerData as DocumentQuestion
// Loaded now, since nothing can be any more by the time a stranger is heard.
const yaml = isJson(text) ? undefined : await import('yaml')

function answer(): DocumentAnswer {
  try {
    return { ok: true, api: readOperations(parseDocument(text, yaml), wanted) }
  } catch (error) {
    return { ok: false, message: error instanceof Unusable ? error.message : `could not be read: ${messageOf(error)}` }
  }
}

process.permission.drop('fs')
parentPort?.postMessage(answer())
