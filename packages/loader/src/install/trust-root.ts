import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { makeFolder } from '@bulkhead/kit/folders'
import { isJsonObject, parseJson, type Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { checkUrl } from './bounded-fetch.ts'

export interface RefreshOptions {
  /** Where what was fetched is kept, so that the repository can never go back behind what it once said. */
  readonly cacheFolder: string
  /** A TUF repository; by default that of the public-good sigstore instance. */
  readonly mirror?: string
  /** Path of the root metadata to begin with, which another repository than the public one needs. */
  readonly initialRoot?: string
}

const TARGET = 'trusted_root.json'
const TIMEOUT_MS = 30_000
const WANTED = 'Name a trusted root of sigstore, as JSON.'

const WANTED_TO_BEGIN = 'Name the root metadata of the repository, its root.json.'

/**
 * The newest trusted root that a TUF repository has: signed by whom the last one named, not older than the last one, and not
 * out of date. Rejects with InstallSourceUnavailable where it cannot be had or proven, with SignatureInvalid where it is no root, and
 * with InstallSourceInvalid for options that cannot be used.
 */
export async function refreshTrustRoot({ cacheFolder, mirror, initialRoot }: RefreshOptions): Promise<Json> {
  // Loaded late: nearly nobody needs it.
  const tuf = await import('@sigstore/tuf')
  const mirrorURL = checkUrl(mirror ?? tuf.DEFAULT_MIRROR_URL, 'the TUF repository').href.replace(/\/$/, '')
  const place = join(cacheFolder, encodeURIComponent(mirrorURL))
  const isKnown = existsSync(place)
  if (!isKnown && initialRoot !== undefined) checkInitialRoot(initialRoot)
  let text: string
  let tried: string | undefined
  try {
    makeFolder(cacheFolder)
    // What it begins with is kept once something was proven by it: kept before, a wrong one would be begun with for ever.
    if (!isKnown) tried = mkdtempSync(`${place}-`)
    const client = await tuf.initTUF({
      cachePath: tried ?? place, timeout: TIMEOUT_MS, retry: 1, mirrorURL, ...(initialRoot !== undefined && { rootPath: initialRoot }),
    })
    text = await client.getTarget(TARGET)
    if (tried !== undefined) renameSync(tried, place)
  } catch (error) {
    if (tried !== undefined) rmSync(tried, { recursive: true, force: true })
    const { cause, code } = error as { readonly cause?: unknown; readonly code?: unknown }
    if (code === 'TUF_INIT_CACHE_ERROR') {
      throw new BulkheadError('InstallSourceInvalid', `Nothing is known of the repository ${visibleText(mirrorURL)} to begin with. ${WANTED_TO_BEGIN}`, { cause: error })
    }
    const words = [messageOf(error), ...(cause === undefined ? [] : [messageOf(cause)])].join(': ')
    throw new BulkheadError('InstallSourceUnavailable', `The trust root cannot be refreshed: ${visibleText(words)}`, { cause: error })
  }
  return parseTrustRoot(text)
}

function checkInitialRoot(path: string): void {
  const unusable = (why: string, cause?: unknown) =>
    new BulkheadError('InstallSourceInvalid', `"${visibleText(path)}" ${why}. ${WANTED_TO_BEGIN}`, { cause })
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw unusable(`cannot be read: ${messageOf(error)}`, error)
  }
  const parsed = parseJson(text)
  if (!parsed.ok) throw unusable(visibleText(parsed.fault.message))
  const { signed } = isJsonObject(parsed.value) ? parsed.value : {}
  if (!isJsonObject(signed) || signed['_type'] !== 'root') throw unusable('is no root metadata of TUF')
}

/** Rejects with SignatureInvalid for a text that is no trusted root. */
export async function parseTrustRoot(text: string): Promise<Json> {
  const { BundleVerifier } = await import('../signature/sigstore.ts')
  const parsed = parseJson(text)
  if (!parsed.ok) throw new BulkheadError('SignatureInvalid', `The trust root ${visibleText(parsed.fault.message)}. ${WANTED}`)
  const opened = BundleVerifier.open(parsed.value)
  if (!opened.ok) throw new BulkheadError('SignatureInvalid', `The trust root ${opened.fault.message}. ${WANTED}`)
  return parsed.value
}
