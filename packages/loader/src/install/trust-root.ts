import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { makeFolder } from '@bulkhead/kit/folders'
import { isJsonObject, parseJson, type Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { checkUrl } from './bounded-fetch.ts'

export interface RefreshOptions {
  /** Stores fetched metadata, so that the repository cannot be rolled back. */
  readonly cacheFolder: string
  /** A TUF repository. Default: the public-good sigstore instance. */
  readonly mirror?: string
  /** Path of the initial root metadata. Required for a repository other than the public one. */
  readonly initialRoot?: string
}

const TARGET = 'trusted_root.json'
const TIMEOUT_MS = 30_000
const ROOT_CURE = 'Use a sigstore trusted root as JSON.'
const INITIAL_ROOT_CURE = 'Use the root metadata of the repository, its root.json.'

/**
 * The current trusted root of a TUF repository, verified by TUF against the last known metadata. Rejects with
 * InstallSourceUnavailable if it cannot be fetched or verified, with SignatureInvalid if it is not a trusted root, and
 * with InstallSourceInvalid for invalid options.
 */
export async function refreshTrustRoot({ cacheFolder, mirror, initialRoot }: RefreshOptions): Promise<Json> {
  // Imported on use, because it is rarely needed.
  const tuf = await import('@sigstore/tuf')
  const mirrorURL = checkUrl(mirror ?? tuf.DEFAULT_MIRROR_URL, 'the TUF repository').href.replace(/\/$/, '')
  const place = join(cacheFolder, encodeURIComponent(mirrorURL))
  const isKnown = existsSync(place)
  if (!isKnown && initialRoot !== undefined) checkInitialRoot(initialRoot)
  let text: string
  let tried: string | undefined
  try {
    makeFolder(cacheFolder)
    // Stored only after it verified a target, so that a wrong initial root is not reused.
    if (!isKnown) tried = mkdtempSync(`${place}-`)
    const client = await tuf.initTUF({
      cachePath: tried ?? place, timeout: TIMEOUT_MS, retry: 1, mirrorURL,
      ...(initialRoot !== undefined && { rootPath: initialRoot }),
    })
    text = await client.getTarget(TARGET)
    if (tried !== undefined) renameSync(tried, place)
  } catch (error) {
    if (tried !== undefined) rmSync(tried, { recursive: true, force: true })
    const { cause, code } = error as { readonly cause?: unknown; readonly code?: unknown }
    if (code === 'TUF_INIT_CACHE_ERROR') {
      throw new BulkheadError(
        'InstallSourceInvalid',
        `There is no initial root for the repository ${visibleText(mirrorURL)}. ${INITIAL_ROOT_CURE}`, { cause: error },
      )
    }
    const words = [messageOf(error), ...(cause === undefined ? [] : [messageOf(cause)])].join(': ')
    throw new BulkheadError(
      'InstallSourceUnavailable', `The trust root cannot be refreshed: ${visibleText(words)}`, { cause: error },
    )
  }
  return parseTrustRoot(text)
}

function checkInitialRoot(path: string): void {
  const unusable = (why: string, cause?: unknown) =>
    new BulkheadError('InstallSourceInvalid', `"${visibleText(path)}" ${why}. ${INITIAL_ROOT_CURE}`, { cause })
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw unusable(`cannot be read: ${messageOf(error)}`, error)
  }
  const parsed = parseJson(text)
  if (!parsed.ok) throw unusable(visibleText(parsed.fault.message))
  const { signed } = isJsonObject(parsed.value) ? parsed.value : {}
  if (!isJsonObject(signed) || signed['_type'] !== 'root') throw unusable('is not TUF root metadata')
}

/** Rejects with SignatureInvalid for text that is not a trusted root. */
export async function parseTrustRoot(text: string): Promise<Json> {
  const { BundleVerifier } = await import('../signature/sigstore.ts')
  const parsed = parseJson(text)
  if (!parsed.ok) {
    throw new BulkheadError('SignatureInvalid', `The trust root ${visibleText(parsed.fault.message)}. ${ROOT_CURE}`)
  }
  const opened = BundleVerifier.open(parsed.value)
  if (!opened.ok) throw new BulkheadError('SignatureInvalid', `The trust root ${opened.fault.message}. ${ROOT_CURE}`)
  return parsed.value
}
