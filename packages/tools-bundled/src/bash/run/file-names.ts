import { ToolError, type FileReader } from '@bulkhead/contract'
import { errorCode } from '@bulkhead/kit/error-message'
import { matchRow } from '@bulkhead/kit/glob'
import type { PatternPart, Word } from '../parse/plan.ts'
import type { StdinArgs } from '../policy/known-uses.ts'

type Lister = Pick<FileReader, 'list'>

export interface Expanded {
  readonly path: string
  /** Possibly a symbolic link, so its target must be checked. */
  readonly linked: boolean
}

const MAX_MATCHES = 10_000

/**
 * Expands a pattern as a shell does: sorted, hidden files only if the pattern starts with a dot, and the pattern itself
 * if nothing matches. Searches only folders that the tool may read.
 */
export async function expandPattern({ text, pattern }: Word, folder: string, fs: Lister): Promise<readonly Expanded[]> {
  const segments = pattern === undefined ? [] : splitSegments(pattern)
  let found: readonly Expanded[] = [{ path: '', linked: false }]
  for (const [index, segment] of segments.entries()) {
    const isLast = index === segments.length - 1
    found = (await Promise.all(found.map((at) => matches(at, segment, isLast, folder, fs)))).flat()
    if (found.length > MAX_MATCHES) {
      throw new ToolError(
        'InputInvalid', `The pattern ${text} matches more than ${MAX_MATCHES} files. Use a narrower pattern.`,
      )
    }
  }
  return found.length === 0 ? [{ path: text, linked: false }] : found
}

async function matches(
  at: Expanded, segment: readonly PatternPart[], isLast: boolean, folder: string, fs: Lister,
): Promise<readonly Expanded[]> {
  const literal = segment.every(({ kind }) => kind === 'text')
  const name = segment.map((part) => part.kind === 'text' ? part.text : '').join('')
  if (literal && (name === '' || !isLast)) return [{ ...at, path: `${at.path}${name}${isLast ? '' : '/'}` }]
  const entries = await fs.list(`${folder}/${at.path}`).catch(() => [])
  return entries
    .filter((entry) => literal ? entry.name === name : matchName(segment, entry.name))
    .filter((entry) => isLast || entry.kind !== 'file')
    .map((entry) => ({ path: `${at.path}${entry.name}${isLast ? '' : '/'}`, linked: entry.kind === 'other' }))
    .toSorted((a, b) => a.path < b.path ? -1 : 1)
}

function splitSegments(pattern: readonly PatternPart[]): readonly (readonly PatternPart[])[] {
  const segments: PatternPart[][] = [[]]
  for (const part of pattern) {
    if (part.kind !== 'text') {
      segments.at(-1)!.push(part)
      continue
    }
    part.text.split('/').forEach((text, index) => {
      if (index > 0) segments.push([])
      if (text !== '') segments.at(-1)!.push({ kind: 'text', text })
    })
  }
  return segments
}

const STAR: PatternPart = { kind: 'star' }

/** Matches a file name against one segment of a pattern. */
function matchName(segment: readonly PatternPart[], name: string): boolean {
  const first = segment[0]
  if (name.startsWith('.') && !(first?.kind === 'text' && first.text.startsWith('.'))) return false
  const tokens = segment.flatMap((part): readonly PatternPart[] => {
    if (part.kind === 'text') return Array.from(part.text, (text) => ({ kind: 'text', text }))
    return [part.kind === 'star' ? STAR : part]
  })
  return matchRow(tokens, Array.from(name), STAR, matchChar)
}

function matchChar(token: PatternPart, char: string): boolean {
  if (token.kind === 'any') return true
  if (token.kind === 'text') return token.text === char
  return token.kind === 'set' && inSet(token.chars, char) !== token.negated
}

function inSet(chars: string, char: string): boolean {
  for (let index = 0; index < chars.length; index++) {
    const last = chars[index + 1] === '-' ? chars[index + 2] : undefined
    if (last === undefined ? chars[index] === char : chars[index]! <= char && char <= last) return true
    if (last !== undefined) index += 2
  }
  return false
}

type Files = Pick<FileReader, 'stat'>

/** Rejects with CapabilityDenied if a path, after following links, is outside of what the tool may read. */
export async function checkInside(path: string, folder: string, fs: Files): Promise<void> {
  try {
    await fs.stat(path.startsWith('/') ? path : `${folder}/${path}`)
  } catch (error) {
    // The program itself reports missing files.
    if (errorCode(error) === 'CapabilityDenied') throw error
  }
}

export function refuseOption(text: string, what: string, hint: string): void {
  if (text.startsWith('-')) throw new ToolError('InputInvalid', `${what}, which looks like an option. ${hint}`)
}

const PARALLEL_CHECKS = 32

/** Removes the names that lead out of the workspace, and reports them to `note`. */
export async function keepInside(
  names: readonly string[], folder: string, fs: Files, note: (text: string) => void,
): Promise<readonly string[]> {
  const inside: string[] = []
  for (let at = 0; at < names.length; at += PARALLEL_CHECKS) {
    const some = names.slice(at, at + PARALLEL_CHECKS)
    const checks = await Promise.allSettled(some.map((name) => checkInside(name, folder, fs)))
    checks.forEach(({ status }, index) => {
      if (status === 'fulfilled') inside.push(some[index]!)
      else note(`${some[index]!}: left out, because it is outside the workspace\n`)
    })
  }
  return inside
}

/** The input for `xargs`, without the names that lead out of the workspace. */
export async function checkedInput(
  text: string, { isNul, areFiles }: StdinArgs, folder: string, fs: Files, note: (text: string) => void,
): Promise<string> {
  if (!isNul && /["'\\]/.test(text)) {
    const why = 'The input of xargs contains quotes or backslashes.'
    throw new ToolError('InputInvalid', `${why} Separate the names with NUL: find -print0 | xargs -0.`)
  }
  const words = text.split(isNul ? '\0' : /\s+/).filter((word) => word !== '')
  for (const word of words) {
    refuseOption(word, `The input of xargs contains "${word}"`, 'Use names that start with ./ instead.')
  }
  if (!areFiles) return text
  return (await keepInside(words, folder, fs, note)).map((word) => `${word}${isNul ? '\0' : '\n'}`).join('')
}
