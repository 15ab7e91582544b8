import { BulkheadError } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { MAX_BYTES } from './read-file.ts'

/** The new content of one file, and the content that it must have before. null: no file. */
export interface Update {
  readonly path: string
  readonly before: Buffer | null
  readonly after: Buffer | null
  readonly executable: boolean | undefined
  /** The file whose permissions a new file gets. */
  readonly like: string | undefined
}

const MOST_UPDATES = 1_000
/** New content of all files of one request. */
export const MAX_UPDATED_BYTES = 4 * MAX_BYTES

/** Throws InputInvalid. */
export function readUpdates(given: Json | undefined): readonly Update[] {
  if (!Array.isArray(given) || given.length > MOST_UPDATES) {
    throw invalid(`it must be a list of at most ${MOST_UPDATES} files`)
  }
  return given.map(readUpdate)
}

function readUpdate(given: Json): Update {
  const { path, before, after, executable, like } = isJsonObject(given) ? given : {}
  if (typeof path !== 'string' || /\/\.?$/.test(path)) throw invalid('each file must have the path of a file')
  if (executable !== undefined && typeof executable !== 'boolean') throw invalid('executable must be true or false')
  if (like !== undefined && typeof like !== 'string') throw invalid('like must be a path')
  const update = { path, before: content(before, path), after: content(after, path), executable, like }
  if (update.before === null && update.after === null) throw invalid(`"${path}" has neither old nor new content`)
  return update
}

function content(given: Json | undefined, path: string): Buffer | null {
  if (given === null) return null
  const [kind, text] = Array.isArray(given) ? given as readonly Json[] : []
  if (typeof text !== 'string' || text.length > 2 * MAX_BYTES) {
    throw invalid(`the content of "${path}" must be a string, bytes or null, and have at most ${MAX_BYTES} bytes`)
  }
  const bytes = Buffer.from(text, kind === 'bytes' ? 'base64' : 'utf8')
  if (bytes.length > MAX_BYTES) throw invalid(`"${path}" would have more than ${MAX_BYTES} bytes`)
  return bytes
}

const invalid = (why: string): BulkheadError => new BulkheadError('InputInvalid', `The changes are invalid: ${why}.`)
