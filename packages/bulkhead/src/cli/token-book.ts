import { createHash, randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TokenClient } from '@bulkhead/bridges/mcp'
import { BulkheadError, TOOL_NAME_PATTERN } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { withFileLock } from '@bulkhead/kit/file-lock'
import { isJsonObject, type Json, parseJson } from '@bulkhead/kit/json'
import { readPrivateFile, writePrivateFile } from '@bulkhead/kit/private-file'
import { homeFolder } from '../facade/folders.ts'

/** A token of `mcp --http`. Only its digest is stored. */
export interface TokenEntry {
  readonly name: string
  readonly role?: string
  readonly sha256: string
  /** When it was added. */
  readonly created: string
}

/** 256 random bits, so a plain digest cannot be reversed. */
export const newToken = (): string => randomBytes(32).toString('base64url')

export const digestOfToken = (token: string): string => createHash('sha256').update(token).digest('hex')

export const tokenFile = (home: string | undefined): string => join(homeFolder(home), 'mcp-tokens.json')

/** Throws StoreUnavailable if the file cannot be understood, or other users can access it. */
export function readTokens(file: string): readonly TokenEntry[] {
  try {
    const text = readPrivateFile(file)
    if (text === undefined) return []
    const parsed = parseJson(text)
    const tokens = parsed.ok && isJsonObject(parsed.value) ? parsed.value['tokens'] : undefined
    if (!Array.isArray(tokens) || !tokens.every(isEntry)) throw new Error('it is not a list of tokens')
    return tokens
  } catch (error) {
    const cure = 'Restore it with mode 0600, or delete it and add the tokens again.'
    throw new BulkheadError('StoreUnavailable', `The tokens in ${file} cannot be used: ${messageOf(error)}. ${cure}`)
  }
}

/** The roles of the clients of `mcp --http`. A file that cannot be used has none: `doctor` checks it by itself. */
export function tokenRoles(home: string | undefined): readonly string[] {
  try {
    return readTokens(tokenFile(home)).flatMap(({ role }) => role ?? [])
  } catch {
    return []
  }
}

/** A role is part of the name of a flag. */
export const isRole = (text: string): boolean => /^[A-Za-z0-9_-]+$/.test(text)

function isEntry(value: Json): value is Json & TokenEntry {
  if (!isJsonObject(value)) return false
  const { name, role, sha256, created } = value
  return typeof name === 'string' && TOOL_NAME_PATTERN.test(name) && typeof created === 'string'
    && typeof sha256 === 'string' && /^[0-9a-f]{64}$/.test(sha256)
    && (role === undefined || (typeof role === 'string' && isRole(role)))
}

/** Replaces the tokens. Two commands at the same time lose none. Rejects with StoreUnavailable. */
export async function changeTokens(
  file: string, change: (before: readonly TokenEntry[]) => readonly TokenEntry[],
): Promise<void> {
  try {
    await withFileLock(join(dirname(file), 'locks', 'mcp-tokens'), () => {
      const tokens = change(readTokens(file))
      writePrivateFile(file, `${JSON.stringify({ tokens }, null, 2)}\n`)
    })
  } catch (error) {
    if (BulkheadError.is(error)) throw error
    throw new BulkheadError('StoreUnavailable', `The tokens in ${file} cannot be changed: ${messageOf(error)}`)
  }
}

interface KnownToken {
  readonly entry: TokenEntry
  readonly client: TokenClient
  readonly revoke: () => void
}

/** How often a server looks for revoked tokens, besides each request. */
const LOOK_MS = 1_000

/** The tokens as a running server sees them. */
export class TokenBook {
  readonly #file: string
  readonly #onFault: (error: Error) => void
  #stamp = ''
  /** By digest. */
  #known: ReadonlyMap<string, KnownToken> = new Map()

  /** Throws StoreUnavailable. Later, a file that cannot be used revokes all tokens. */
  constructor(file: string, onFault: (error: Error) => void) {
    this.#file = file
    this.#onFault = onFault
    this.#stamp = stampOf(file)
    this.#take(readTokens(file))
  }

  get names(): readonly string[] {
    return [...this.#known.values()].map(({ entry }) => entry.name)
  }

  clientOf(token: string): TokenClient | undefined {
    this.#look()
    return this.#known.get(digestOfToken(token))?.client
  }

  /** Ends the clients of revoked tokens also between requests. Returns a disposer. */
  watch(): () => void {
    const timer = setInterval(() => this.#look(), LOOK_MS).unref()
    return () => clearInterval(timer)
  }

  #look(): void {
    const stamp = stampOf(this.#file)
    if (stamp === this.#stamp) return
    this.#stamp = stamp
    try {
      this.#take(readTokens(this.#file))
    } catch (error) {
      this.#take([])
      this.#onFault(error as Error)
    }
  }

  #take(entries: readonly TokenEntry[]): void {
    const before = this.#known
    this.#known = new Map(entries.map((entry) => {
      const known = before.get(entry.sha256)
      return [entry.sha256, known && isSame(known.entry, entry) ? known : knownOf(entry)]
    }))
    for (const [digest, known] of before) if (this.#known.get(digest) !== known) known.revoke()
  }
}

const isSame = (one: TokenEntry, other: TokenEntry): boolean => one.name === other.name && one.role === other.role

function knownOf(entry: TokenEntry): KnownToken {
  const { name, role } = entry
  const ending = new AbortController()
  const client = { name, ...(role !== undefined && { role }), revoked: ending.signal }
  return { entry, client, revoke: () => ending.abort() }
}

/** Changes with the file. */
function stampOf(file: string): string {
  try {
    const { ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true })
    return [ino, size, mtimeNs, ctimeNs].join(' ')
  } catch (error) {
    return messageOf(error)
  }
}
