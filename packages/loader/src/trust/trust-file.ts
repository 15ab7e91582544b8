import { closeSync, constants, fstatSync, fsyncSync, openSync, readSync, writeSync, type Stats } from 'node:fs'
import { dirname } from 'node:path'
import { BulkheadError, TRUST_DECISIONS, type TrustRecord } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { makeFolder } from '@bulkhead/kit/folders'
import { isJsonObject } from '@bulkhead/kit/json'
import { findOwnershipFault, readDescriptor } from '../files/read-file.ts'
import { parseStrictJson } from '../files/strict-json.ts'

/** In the folder of the global layer. */
export const TRUST_FILE = 'trust.jsonl'
const MAX_BYTES = 16 * 1024 * 1024
const LF = 0x0a

export interface BrokenLine {
  /** From 1. */
  readonly line: number
  readonly message: string
}

export interface TrustLines {
  readonly lines: readonly (TrustEntry | BrokenLine)[]
  /** Why nothing could be read, in words that go on after the name of the file. */
  readonly unavailable?: string
}

export const isBroken = (line: TrustEntry | BrokenLine): line is BrokenLine => 'line' in line

/** Every line in order. A record that is not there says nothing. Contract: never throws. */
export function readTrustFile(file: string): TrustLines {
  let descriptor: number
  try {
    descriptor = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { lines: [] }
    return { lines: [], unavailable: `cannot be opened: ${messageOf(error)}` }
  }
  try {
    const foreign = findOwnershipFault(fstatSync(descriptor))
    if (foreign !== undefined) return { lines: [], unavailable: foreign }
    const read = readDescriptor(descriptor, MAX_BYTES)
    return read.ok ? { lines: split(read.bytes) } : { lines: [], unavailable: read.message }
  } catch (error) {
    return { lines: [], unavailable: `cannot be read: ${messageOf(error)}` }
  } finally {
    closeSync(descriptor)
  }
}

/** Adds one line, whole or not at all as far as any reader can tell. Throws TrustStoreUnavailable. */
export function appendTrustEntry(file: string, entry: TrustEntry): void {
  try {
    makeFolder(dirname(file), 0o700)
    const descriptor = openSync(file, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT, 0o600)
    try {
      const stat = fstatSync(descriptor)
      const foreign = findOwnershipFault(stat)
      if (foreign !== undefined) throw new Error(`it ${foreign}`)
      // One write at the end of the file: others who add at the same time come before or after it, never in between.
      const line = Buffer.from((endsInLine(descriptor, stat) ? '' : '\n') + writeEntry(entry))
      if (writeSync(descriptor, line) < line.length) throw new Error('there was room for a part of the line only')
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    throw new BulkheadError('TrustStoreUnavailable', `The record "${file}" cannot be written: ${messageOf(error)}.`, { cause: error })
  }
}

/** A line that was cut short, by a full disk or a fall of the machine, must not take the next one with it. */
function endsInLine(descriptor: number, { size }: Stats): boolean {
  const last = new Uint8Array(1)
  return size === 0 || (readSync(descriptor, last, 0, 1, size - 1) === 1 && last[0] === LF)
}

function split(bytes: Uint8Array): readonly (TrustEntry | BrokenLine)[] {
  const lines: (TrustEntry | BrokenLine)[] = []
  let line = 1
  for (let start = 0; start < bytes.length; line++) {
    const end = bytes.indexOf(LF, start)
    const text = bytes.subarray(start, end < 0 ? bytes.length : end)
    start += text.length + 1
    if (text.length === 0) continue
    const entry = end < 0 ? 'was cut short' : parseEntry(text)
    lines.push(typeof entry === 'string' ? { line, message: entry } : entry)
  }
  return lines
}

/** One line of the record. `used` says that a decision for one start was taken up by the start of that id. */
export interface TrustEntry extends Omit<TrustRecord, 'decision'> {
  readonly decision: TrustRecord['decision'] | 'used'
  readonly id: string
}

const VERSION = 1
const DECISIONS: ReadonlySet<unknown> = new Set([...TRUST_DECISIONS, 'used'])
const KEYS: ReadonlySet<string> = new Set(['version', 'id', 'path', 'decision', 'decidedAt', 'digest'])

export const isDigest = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f]{128}$/.test(value)

export const writeEntry = ({ id, path, decision, decidedAt, digest }: TrustEntry): string =>
  `${JSON.stringify({ version: VERSION, id, path, decision, decidedAt, digest })}\n`

/** The entry, or what is wrong with the line in words that go on after its number. */
export function parseEntry(line: Uint8Array): TrustEntry | string {
  const parsed = parseStrictJson(line)
  if (!parsed.ok) return parsed.message
  if (!isJsonObject(parsed.value)) return 'is not an object'
  const { version, id, path, decision, decidedAt, digest } = parsed.value
  if (version !== VERSION) return `is not of version ${VERSION}`
  const unknown = Object.keys(parsed.value).find((key) => !KEYS.has(key))
  if (unknown !== undefined) return 'has an unknown key'
  if (typeof id !== 'string' || id === '') return 'has no id'
  if (typeof path !== 'string' || path === '') return 'has no path'
  if (!DECISIONS.has(decision)) return 'has no decision that is known'
  if (typeof decidedAt !== 'string' || Number.isNaN(Date.parse(decidedAt))) return 'does not say when'
  if (digest !== null && !isDigest(digest)) return 'has no digest'
  // Trust in a path alone would be trust in whatever comes to stand there.
  if (digest === null && (decision === 'trusted' || decision === 'once')) return 'trusts without saying what'
  return { id, path, decision: decision as TrustEntry['decision'], decidedAt, digest }
}

/** What was said last of one project. */
export interface LatestDecision {
  readonly record: TrustRecord
  /** The start that took it up, where it was for one start. */
  readonly usedBy?: string
}

/**
 * Later lines over earlier ones. A line that cannot be read may have taken back any trust before it: such trust is gone
 * and must be given again, while whatever was declined stays so.
 */
export function latestDecisions(lines: TrustLines['lines']): ReadonlyMap<string, LatestDecision> {
  const words = new Map<string, LatestDecision>()
  for (const line of lines) {
    if (isBroken(line)) {
      for (const [path, { record }] of words) if (record.decision !== 'declined') words.delete(path)
    } else {
      const word = follow(words.get(line.path), line)
      if (word !== undefined) words.set(line.path, word)
    }
  }
  return words
}

function follow(before: LatestDecision | undefined, { decision, path, decidedAt, digest, id }: TrustEntry): LatestDecision | undefined {
  if (decision !== 'used') return { record: Object.freeze({ path, decision, decidedAt, digest }) }
  // The first who takes it up has it.
  if (before?.record.decision !== 'once' || before.usedBy !== undefined) return before
  return { ...before, usedBy: id }
}
