import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { BulkheadError, makeFolder, messageOf, parseJson, visibleText, type Json } from '@bulkhead/contract'
import { checkUrl } from '../registry/bounded-fetch.ts'

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

/**
 * The newest trusted root that a TUF repository has: signed by whom the last one named, not older than the last one, and not
 * out of date. Rejects with InstallSourceUnavailable where it cannot be had or proven, and with SignatureInvalid where it is no root.
 */
export async function refreshTrustRoot({ cacheFolder, mirror, initialRoot }: RefreshOptions): Promise<Json> {
  // Loaded late: nearly nobody needs it.
  const tuf = await import('@sigstore/tuf')
  let text: string
  try {
    makeFolder(cacheFolder, { mkdirSync, statSync, dirname })
    const client = await tuf.initTUF({
      cachePath: cacheFolder, timeout: TIMEOUT_MS, retry: 1,
      ...(mirror !== undefined && { mirrorURL: checkUrl(mirror, 'the TUF repository').href.replace(/\/$/, '') }),
      ...(initialRoot !== undefined && { rootPath: initialRoot }),
    })
    text = await client.getTarget(TARGET)
  } catch (error) {
    if (BulkheadError.is(error)) throw error
    const { cause } = error as { readonly cause?: unknown }
    const words = [messageOf(error), ...(cause === undefined ? [] : [messageOf(cause)])].join(': ')
    throw new BulkheadError('InstallSourceUnavailable', `The trust root cannot be refreshed: ${visibleText(words)}`, { cause: error })
  }
  return parseTrustRoot(text)
}

/** Rejects with SignatureInvalid for a text that is no trusted root. */
export async function parseTrustRoot(text: string): Promise<Json> {
  const { BundleVerifier } = await import('./sigstore.ts')
  const parsed = parseJson(text)
  if (!parsed.ok) throw new BulkheadError('SignatureInvalid', `The trust root ${parsed.fault.message}. ${WANTED}`)
  const opened = BundleVerifier.open(parsed.value)
  if (!opened.ok) throw new BulkheadError('SignatureInvalid', `The trust root ${opened.fault.message}. ${WANTED}`)
  return parsed.value
}
