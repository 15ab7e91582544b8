import { hash } from 'node:crypto'
import type { Stats } from 'node:fs'
import { open, readlink } from 'node:fs/promises'
import type { FileReplacement, FileState } from '@bulkhead/contract'
import { READ } from './disk.ts'

/** What comes before a change. Every function that changes files takes one, so that no change is forgotten. */
export interface BeforeChange {
  /** Called before the change becomes visible. If it rejects, the change is not made. undefined: nothing is recorded. */
  readonly record: ((change: FileReplacement) => Promise<void>) | undefined
  /**
   * Notes that the effect begins. Called after everything is recorded, directly before the change, because with a note
   * and without a change no one knows what happened. If it throws or rejects, the change is not made.
   */
  readonly begin?: (() => Promise<void> | undefined) | undefined
}

/** The content of longer files is not kept. */
export const KEPT_BYTES = 32 * 1024 * 1024

export const ABSENT: FileState = { kind: 'absent' }
/** A folder that is about to be created. The system chooses its mode. */
export const NEW_FOLDER: FileState = { kind: 'folder', mode: 0o777 }

/** Contract: the bytes do not change later. */
export const fileState = (bytes: Uint8Array, mode: number): FileState =>
  ({ kind: 'file', digest: digestOf(bytes), size: bytes.length, mode: mode & 0o777 })

/** To hash these takes longer than to compare them. */
const COMPARED_BYTES = { least: 64 * 1024, most: 4 * 1024 * 1024 }
let last: { readonly bytes: Uint8Array; readonly digest: string } | undefined

/** An edit replaces what the one before it wrote, so the last content is kept with its digest. */
export function digestOf(bytes: Uint8Array): string {
  if (bytes.length < COMPARED_BYTES.least || bytes.length > COMPARED_BYTES.most) return hash('sha256', bytes)
  if (last === undefined || Buffer.compare(last.bytes, bytes) !== 0) last = { bytes, digest: hash('sha256', bytes) }
  return last.digest
}

/** What is there, with the content if it can be kept. */
export interface FoundFile {
  readonly state: FileState
  readonly status?: Stats | undefined
  readonly content?: Uint8Array | undefined
}

/** `path` in the syntax of the system, `found`: its status, undefined if nothing is there. */
export async function readState(path: string, found: Stats | undefined): Promise<FoundFile> {
  if (found === undefined) return { state: ABSENT }
  if (found.isDirectory()) return { state: { kind: 'folder', mode: found.mode & 0o777 } }
  if (found.isSymbolicLink()) return { state: { kind: 'link', target: await readlink(path) }, status: found }
  const content = await readWhole(path)
  if (content !== undefined) return { state: fileState(content, found.mode), status: found, content }
  return { status: found, state: { kind: 'file', digest: null, size: found.size, mode: found.mode & 0o777 } }
}

/** undefined if it is too long. */
async function readWhole(path: string): Promise<Buffer | undefined> {
  const handle = await open(path, READ)
  try {
    const { size } = await handle.stat()
    if (size > KEPT_BYTES) return undefined
    return await handle.readFile()
  } finally {
    await handle.close()
  }
}
