import { closeSync, constants, fstatSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { errorCode, messageOf } from '@bulkhead/kit/error-message'
import { makeFolder } from '@bulkhead/kit/folders'
import { parseJson } from '@bulkhead/kit/json'
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

/**
 * The tokens for one server, in a file that only this user can read. It is read for each request, because another
 * process may have refreshed the tokens. Without a folder they are kept in memory.
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

  /** Throws StoreUnavailable. */
  change(change: (before: Omit<Credentials, 'url'>) => Omit<Credentials, 'url'>): void {
    const next: Credentials = { ...change(this.read() ?? {}), url: this.#url }
    this.#memory = next
    if (this.#folder === undefined) return
    const draft = `${this.#file}.${process.pid}.tmp`
    try {
      makeFolder(this.#folder, 0o700)
      rmSync(draft, { force: true })
      writeFileSync(draft, JSON.stringify(next), { mode: 0o600, flag: 'wx' })
      renameSync(draft, this.#file)
    } catch (error) {
      rmSync(draft, { force: true })
      throw this.#unavailable(`cannot be written: ${messageOf(error)}`)
    }
  }

  /** Resolves to whether there was anything to remove. */
  remove(): boolean {
    const found = this.#folder === undefined ? this.#memory !== undefined : this.#readFile() !== undefined
    this.#memory = undefined
    if (this.#folder !== undefined) rmSync(this.#file, { force: true })
    return found
  }

  get #file(): string {
    return join(this.#folder!, `${sha512(this.#url).slice(0, 64)}.json`)
  }

  #readFile(): string | undefined {
    let descriptor: number
    try {
      descriptor = openSync(this.#file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0))
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return undefined
      throw this.#unavailable(`cannot be read: ${messageOf(error)}`)
    }
    try {
      const { mode, uid } = fstatSync(descriptor)
      const isOpen = process.platform !== 'win32' && ((mode & 0o077) !== 0 || uid !== process.getuid?.())
      if (isOpen) throw this.#unavailable('has tokens and other users can access it. Delete it, then sign in again')
      return readFileSync(descriptor, 'utf8')
    } finally {
      closeSync(descriptor)
    }
  }

  #unavailable(what: string): BulkheadError {
    return new BulkheadError('StoreUnavailable', `The file ${this.#file} ${what}.`)
  }
}
