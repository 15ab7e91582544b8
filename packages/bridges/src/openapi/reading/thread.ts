/** The thread that reads a third-party document. `readDocument` ends it when it takes too long. */
import { parentPort } from 'node:worker_threads'
import { messageOf } from '@bulkhead/kit/error-message'
import * as yaml from 'yaml'
import { Unusable } from './described.ts'
import { isJson, parseDocument } from './document-text.ts'
import { readOperations } from './operations.ts'
import type { DocumentAnswer, DocumentQuestion } from './document-thread.ts'

export function run({ text, wanted }: DocumentQuestion): void {
  process.permission.drop('fs')
  parentPort?.postMessage(answer(text, wanted))
}

function answer(text: string, wanted: DocumentQuestion['wanted']): DocumentAnswer {
  try {
    return { ok: true, api: readOperations(parseDocument(text, isJson(text) ? undefined : yaml), wanted) }
  } catch (error) {
    return { ok: false, message: error instanceof Unusable ? error.message : `could not be read: ${messageOf(error)}` }
  }
}
