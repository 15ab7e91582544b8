import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { LockError, withFileLock } from '@bulkhead/kit/file-lock'
import { makeFolder } from '@bulkhead/kit/folders'
import { parseJson } from '@bulkhead/kit/json'
import { ExposedFileError, readPrivateFile, writePrivateFile } from '@bulkhead/kit/private-file'
import { z } from 'zod'
import { sha512 } from '../../../connected/entries.ts'

const text = z.string().max(64 * 1024)

/** The issuer binds a registration and its tokens to one authorization server. */
const credentials = z.object({
  url: text,
  client: z.looseObject({ client_id: text, client_secret: text.optional(), issuer: text }).exactOptional(),
  /** The redirect address that the client was registered with. */
  redirectUri: text.exactOptional(),
  tokens: z.object({
    access_token: text, token_type: text, refresh_token: text.exactOptional(), scope: text.exactOptional(), issuer: text,
  }).exactOptional(),
  /** Scopes that the server demanded since the last sign-in. */
  scope: text.exactOptional(),
})

/** What is known about the account at one server. */
export type Credentials = z.output<typeof credentials>

/** What a change replaces. */
type Change = (before: Omit<Credentials, 'url'>) => Omit<Credentials, 'url'>

/** A refresh asks several addresses, each with a timeout. */
const LOCK_WAIT_MS = 60_000

/**
 * The tokens for one server, in a file that only this user can read. It is read for each request, because another
 * process may have refreshed the tokens, and changed under a lock. Without a folder they are kept in memory.
 */
export class CredentialFile {
  readonly #url: string
  readonly #folder: string | undefined
  #memory: Credentials | undefined

  constructor(folder: string | undefined, url: URL) {
    this.#folder = folder
    this.#url = url.href
  }

  /** Throws StoreUnavailable if others could read or replace the file. A damaged file counts as absent. */
  read(): Credentials | undefined {
    if (this.#folder === undefined) return this.#memory
    const parsed = parseJson(this.#readFile() ?? '')
    const found = parsed.ok ? credentials.safeParse(parsed.value) : undefined
    return found?.success && found.data.url === this.#url ? found.data : undefined
  }

  /**
   * Runs `work` while no other process changes the credentials. It must read them itself: they may have changed during
   * the wait. Rejects with StoreUnavailable.
   */
  async alone<Value>(work: (change: (change: Change) => void) => Value | Promise<Value>): Promise<Value> {
    const alone = () => work((change) => this.#write(change))
    if (this.#folder === undefined) return alone()
    try {
      return await withFileLock(this.#lock, alone, { waitMs: LOCK_WAIT_MS })
    } catch (error) {
      throw error instanceof LockError ? this.#unavailable(`cannot be changed. ${error.message}`) : error
    }
  }

  /** Rejects with StoreUnavailable. */
  change(change: Change): Promise<void> {
    return this.alone((write) => write(change))
  }

  /** Resolves to whether there was anything to remove. */
  remove(): Promise<boolean> {
    return this.alone(() => {
      const found = this.#folder === undefined ? this.#memory !== undefined : this.#readFile() !== undefined
      this.#memory = undefined
      if (this.#folder !== undefined) rmSync(this.#file, { force: true })
      return found
    })
  }

  get #name(): string {
    return sha512(this.#url).slice(0, 64)
  }

  get #file(): string {
    return join(this.#folder!, `${this.#name}.json`)
  }

  /** Beside the folder, which has tokens only. */
  get #lock(): string {
    return join(dirname(this.#folder!), 'locks', `oauth-${this.#name}`)
  }

  #write(change: Change): void {
    const next: Credentials = { ...change(this.read() ?? {}), url: this.#url }
    this.#memory = next
    if (this.#folder === undefined) return
    try {
      makeFolder(this.#folder, 0o700)
      writePrivateFile(this.#file, JSON.stringify(next))
    } catch (error) {
      throw this.#unavailable(`cannot be written: ${messageOf(error)}`)
    }
  }

  #readFile(): string | undefined {
    try {
      return readPrivateFile(this.#file)
    } catch (error) {
      const isExposed = error instanceof ExposedFileError
      const why = isExposed ? 'has tokens and other users can access it. Delete it, then sign in again'
        : `cannot be read: ${messageOf(error)}`
      throw this.#unavailable(why)
    }
  }

  #unavailable(what: string): BulkheadError {
    return new BulkheadError('StoreUnavailable', `The file ${this.#file} ${what}.`)
  }
}
