import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { addressKind } from '@bulkhead/kit/addresses'
import { findParts, type PartFile } from '@bulkhead/kit/document-parts'
import { messageOf } from '@bulkhead/kit/error-message'
import { isThisMachine } from '@bulkhead/kit/hosts'
import { sha512 } from '../../connected/entries.ts'
import { keepFile } from '../../connected/file-cache.ts'
import { checkedLookup, readBody } from '../../connected/guarded-request.ts'
import { MOST_BYTES, type PinnedUrl, type SourceRead, textOfBytes } from './source.ts'

const FETCH_MS = 15_000

/**
 * Reads a document at a URL, and its parts. Each has a digest in the configuration, so that it is fetched once and kept
 * in `cache`, and never changes. Never rejects.
 */
export async function readUrlSource(
  { url, sha512: pinned, parts = {} }: PinnedUrl, cache?: string,
): Promise<SourceRead> {
  try {
    const files = new PinnedFiles(cache)
    const text = await files.read(new URL(url), pinned)
    const name = new URL(url).pathname.split('/').at(-1) || 'document'
    const search = findParts(name, text)
    let next = search.next()
    while (!next.done) {
      const digest = Object.hasOwn(parts, next.value) ? parts[next.value] : undefined
      const part: PartFile | null = digest === undefined
        ? null : { digest, text: await files.read(partUrl(url, next.value), digest) }
      next = search.next(part)
    }
    const texts = [...next.value].flatMap(([path, part]) => part === null ? [] : [[path, part.text] as const])
    return { ok: true, name, text, parts: texts, digest: sha512(JSON.stringify([pinned, parts])) }
  } catch (error) {
    return { ok: false, message: error instanceof Unfit ? error.message : `cannot be fetched: ${messageOf(error)}` }
  }
}

/** On the origin of the document, and below its folder. */
const partUrl = (url: string, path: string): URL =>
  new URL(path.split('/').map(encodeURIComponent).join('/'), url)

/** The message is the end of a sentence. */
class Unfit extends Error {}

class PinnedFiles {
  readonly #folder: string | undefined

  constructor(cache: string | undefined) {
    this.#folder = cache
  }

  async read(url: URL, digest: string): Promise<string> {
    const known = this.#find(digest)
    if (known !== undefined) return textOfBytes(known)
    const bytes = await get(url)
    const found = sha512(bytes)
    if (found !== digest) {
      throw new Unfit(`does not have the pinned digest: the sha512 of ${url.href} is ${found}`)
    }
    this.#keep(digest, bytes)
    return textOfBytes(bytes)
  }

  /** The file is checked again: anyone may have written to the cache. */
  #find(digest: string): Buffer | undefined {
    if (this.#folder === undefined) return undefined
    try {
      const bytes = readFileSync(join(this.#folder, digest))
      return sha512(bytes) === digest ? bytes : undefined
    } catch {
      return undefined
    }
  }

  #keep(digest: string, bytes: Buffer): void {
    if (this.#folder !== undefined) keepFile(this.#folder, digest, bytes)
  }
}

/** Follows no redirect. A name must have a public address; an address or localhost counts as it is written. */
async function get(url: URL): Promise<Buffer> {
  if (url.protocol !== 'https:' && !isThisMachine(url)) throw new Unfit('is not fetched over http; use https')
  const { get: request } = url.protocol === 'https:' ? await import('node:https') : await import('node:http')
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const signal = AbortSignal.timeout(FETCH_MS)
  request(url, { lookup: publicLookup, signal, agent: false }, resolve).on('error', reject)
  const response = await promise
  if (response.statusCode !== 200) {
    response.destroy()
    throw new Unfit(`cannot be fetched: ${url.host} answers with status ${response.statusCode}`)
  }
  return readBody(response, MOST_BYTES, () => new Unfit(`has more than ${MOST_BYTES} bytes`))
}

const publicLookup = checkedLookup((address, host) => {
  const wanted = host === 'localhost' || host.endsWith('.localhost') ? 'loopback' : 'public'
  if (addressKind(address) !== wanted) throw new Unfit(`is not fetched: ${host} has an address that is not public`)
})
